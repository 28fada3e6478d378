//! Reading a whole file of any content and checking everything about it.

use std::path::Path;

use crate::Error;
use crate::format::{Content, Grove, Report, content_of};

/// Checks every byte of a `.grove` file: structure, checksums, parameters, that all padding
/// is zero, of an index that every layout says of every set what its label says, and of an index
/// of names that every name is where it belongs. Reads the whole file.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, Error> {
    let path = path.as_ref();
    let content = content_of(path)?;
    let check: fn(&Grove<'_>) -> Result<(), Error> = match content {
        Content::Index => return crate::index::check_file(path),
        Content::Names => return crate::sample::check_file(path),
        Content::Paged => return crate::buffered::check_file(path),
        Content::Filter => crate::filter::check_file,
        // What their shapes say, the crate of the trees checks.
        Content::BloomTree | Content::Bloofi | Content::BloomSampleTree => |_| Ok(()),
    };
    let grove = Grove::open(path, content)?;
    check(&grove)
        .and_then(|()| grove.check_all())
        .map_err(Error::in_file(path))
}
