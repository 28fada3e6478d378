//! Reading a whole file of any content and checking everything about it.

use std::path::Path;

use crate::Error;
use crate::format::{Content, Grove, Report};

/// Checks every byte of a `.grove` file: structure, checksums, parameters,
/// catalogue, and that all padding is zero. Reads the whole file.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, Error> {
    let grove = Grove::open(path.as_ref())?;
    let check = || {
        let report = grove.check_all()?;
        match grove.content() {
            Content::Filter => crate::filter::check_file(&grove)?,
            Content::Shelf => crate::index::check_file(&grove)?,
        }
        Ok(report)
    };
    check().map_err(Error::in_file(grove.path()))
}
