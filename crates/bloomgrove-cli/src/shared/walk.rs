//! The files of a directory: in the order of their names, or on all processors in any order.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};
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

/// What `look` makes of every entry of a walk, on all processors, and what went wrong. An entry that was
/// deleted since its directory was listed is neither.
pub(crate) fn in_parallel<T: Send>(
    builder: &WalkBuilder,
    look: impl Fn(ignore::DirEntry) -> Result<Option<T>, ignore::Error> + Sync,
) -> (Vec<T>, Vec<ignore::Error>) {
    let mut builder = builder.clone();
    builder.threads(std::thread::available_parallelism().map_or(1, usize::from));
    let all = Mutex::new((Vec::new(), Vec::new()));
    builder.build_parallel().run(|| {
        let mut share = Share {
            all: &all,
            found: Vec::new(),
        };
        let look = &look;
        Box::new(move |entry| {
            match entry.and_then(look) {
                Ok(found) => share.found.extend(found),
                Err(error) => share.complain(error),
            }
            WalkState::Continue
        })
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What one thread found. It is handed in at the end.
struct Share<'a, T> {
    all: &'a Mutex<(Vec<T>, Vec<ignore::Error>)>,
    found: Vec<T>,
}

impl<T> Share<'_, T> {
    fn complain(&mut self, error: ignore::Error) {
        let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        if !error.io_error().is_some_and(gone)
            && let Ok(mut all) = self.all.lock()
        {
            all.1.push(error);
        }
    }
}

impl<T> Drop for Share<'_, T> {
    fn drop(&mut self) {
        if let Ok(mut all) = self.all.lock() {
            all.0.append(&mut self.found);
        }
    }
}
