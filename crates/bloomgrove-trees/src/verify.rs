//! Checks files of any content, including trees.

use std::path::Path;

use bloomgrove::Error;
use bloomgrove::format::{Content, Report, content_of};
use bloomgrove::raw::format::Grove;

use crate::bloofi::NamedBloofi;
use crate::bloom_sample_tree::BloomSampleTree;

/// Like [`bloomgrove::verify`], but also supports trees: checks every byte and the shape of a tree, and
/// that every name of a BloomSampleTree is in the filter of its leaf.
///
/// # Errors
/// The first problem found.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, Error> {
    let path = path.as_ref();
    let content = content_of(path)?;
    let check: fn(&Grove<'_>) -> Result<(), Error> = match content {
        Content::BloomTree => crate::bloom_tree::check_file,
        Content::Bloofi => |grove| NamedBloofi::read(grove).map(|_| ()),
        Content::BloomSampleTree => |grove| BloomSampleTree::read(grove)?.check_filters(),
        _ => return bloomgrove::verify(path),
    };
    let grove = Grove::open(path, content)?;
    check(&grove)
        .and_then(|()| grove.check_all())
        .map_err(|error| grove.locate(error))
}
