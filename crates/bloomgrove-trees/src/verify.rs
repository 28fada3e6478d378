//! Checking files of any content, those of trees included.

use std::path::Path;

use bloomgrove::Error;
use bloomgrove::format::{Content, Report, content_of};
use bloomgrove::raw::format::Grove;

/// As [`bloomgrove::verify`], which knows no trees: of one, checks every byte and its shape, too.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, Error> {
    let path = path.as_ref();
    if content_of(path)? != Content::Tree {
        return bloomgrove::verify(path);
    }
    let grove = Grove::open(path, Content::Tree)?;
    crate::bloom_tree::check_file(&grove)
        .and_then(|()| grove.check_all())
        .map_err(|error| grove.locate(error))
}
