//! Full check of a file of any kind.

use std::path::Path;

use crate::Error;
use crate::format::{Content, Grove, Report, content_of};

/// Checks every byte of a `.grove` file and returns a report.
///
/// This covers the structure, checksums, parameters and padding. In an index, the stored bits of
/// every set are compared with its label; in a name index, every name must be at its place. Reads
/// the whole file.
///
/// # Errors
/// Returns the first problem found.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, Error> {
    let path = path.as_ref();
    let content = content_of(path)?;
    let check: fn(&Grove<'_>) -> Result<(), Error> = match content {
        Content::Index => return crate::index::check_file(path),
        Content::Names => return crate::sample::check_file(path),
        Content::Paged => return crate::buffered::check_file(path),
        Content::Filter => crate::filter::check_file,
        // The crate `bloomgrove-trees` checks their shapes.
        Content::BloomTree | Content::Bloofi | Content::BloomSampleTree => |_| Ok(()),
    };
    let grove = Grove::open(path, content)?;
    check(&grove)
        .and_then(|()| grove.check_all())
        .map_err(Error::in_file(path))
}
