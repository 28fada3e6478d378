//! The files of a directory, in the order of their names.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

/// The files in and below a directory. What `is_data` rejects is not entered, and not even
/// examined: it may be gone by then.
pub(crate) fn files(
    directory: &Path,
    mut is_data: impl FnMut(&DirEntry) -> bool,
) -> impl Iterator<Item = walkdir::Result<DirEntry>> {
    let entries = WalkDir::new(directory).sort_by_file_name().into_iter();
    entries
        .filter_entry(move |entry| entry.depth() == 0 || is_data(entry))
        .filter(|entry| {
            let is_file = |entry: &DirEntry| entry.file_type().is_file();
            entry.as_ref().map_or(true, is_file)
        })
}

/// Hidden files, hidden directories and links are not data.
pub(crate) fn is_data(entry: &DirEntry) -> bool {
    !entry.file_name().as_bytes().starts_with(b".") && !entry.path_is_symlink()
}
