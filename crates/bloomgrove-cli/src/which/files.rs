//! Which files a command line means, and in which directory the index of each one is.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bloomgrove::format::{Content, content_of};
use walkdir::DirEntry;

use super::INDEX_NAME;
use crate::shared::output::complain;
use crate::shared::stamp::Stamp;
use crate::shared::walk;

/// A file to search.
pub(super) struct Wanted {
    /// Where it is, as the user would write it.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    /// Who may read and write it.
    pub(super) mode: u32,
    pub(super) stamp: Stamp,
}

/// The files of one index, by their names in it.
pub(super) struct Home {
    pub(super) index: PathBuf,
    /// No index was named: it is next to the files, which may have come from anywhere.
    pub(super) is_implicit: bool,
    pub(super) files: BTreeMap<Vec<u8>, Wanted>,
    /// A whole directory: what the index has beyond `files` is gone. Otherwise the index may
    /// have other files, which are just not part of this query.
    pub(super) is_whole: bool,
}

pub(super) struct Found {
    pub(super) homes: Vec<Home>,
    /// Whether all of it could be listed; failures have been reported.
    pub(super) complete: bool,
    /// Hidden files, links and filters in directories, which are not data.
    pub(super) skipped: u64,
}

/// A directory keeps the index of everything below it; a single file is in the index of its
/// directory. With `index`, everything is in that one, under its absolute path.
pub(super) fn find(paths: &[PathBuf], index: Option<&Path>) -> Found {
    let mut homes: BTreeMap<PathBuf, Home> = BTreeMap::new();
    let mut found = Found {
        homes: Vec::new(),
        complete: true,
        skipped: 0,
    };
    for path in paths {
        let about = match std::fs::metadata(path) {
            // Read as lines, it would contain none of its keys.
            Ok(_) if content_of(path).is_ok() => {
                let with = match content_of(path) {
                    Ok(Content::Paged) => {
                        "`buffered probe` (`bloomgrove buffered info` shows what it contains)"
                    }
                    Ok(Content::Bloofi) => "`bloofi which`",
                    _ => "`filter check` or `index which`",
                };
                complain(format_args!(
                    "{}: this is a .grove file; query it with {with}",
                    path.display()
                ));
                found.complete = false;
                continue;
            }
            Ok(about) if about.is_dir() || about.is_file() => about,
            Ok(_) => {
                let what = "not a regular file; save its output to a file first";
                complain(format_args!("{}: {what}", path.display()));
                found.complete = false;
                continue;
            }
            Err(error) => {
                complain(format_args!("{}: {error}", path.display()));
                found.complete = false;
                continue;
            }
        };
        let base = match path.parent() {
            _ if about.is_dir() => path,
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let place = index.map_or_else(|| base.join(INDEX_NAME), Path::to_owned);
        let home = homes.entry(place.clone()).or_insert_with(|| Home {
            index: place,
            is_implicit: index.is_none(),
            files: BTreeMap::new(),
            is_whole: false,
        });
        let mut add = |file: PathBuf, about: &Metadata| {
            let name = match index {
                Some(_) => std::path::absolute(&file).unwrap_or(file.clone()),
                None => file.strip_prefix(base).unwrap_or(&file).to_owned(),
            };
            let wanted = Wanted {
                size: about.len(),
                mode: about.permissions().mode(),
                stamp: Stamp::of(about),
                path: file,
            };
            home.files.insert(name.into_os_string().into_vec(), wanted);
        };
        if about.is_file() {
            add(path.clone(), &about);
        } else {
            found.look_into(path, &mut add);
            home.is_whole |= index.is_none();
        }
    }
    found.homes = homes.into_values().collect();
    found
}

impl Found {
    /// Calls `add` on every data file in and below a directory.
    fn look_into(&mut self, folder: &Path, add: &mut impl FnMut(PathBuf, &Metadata)) {
        let mut skipped = 0;
        let entries = walk::files(folder, |entry| {
            let data = is_data(entry);
            skipped += u64::from(!data && entry.file_name() != INDEX_NAME);
            data
        });
        for entry in entries {
            let looked = entry.and_then(|entry| Ok((entry.metadata()?, entry)));
            match looked {
                Ok((about, entry)) => add(entry.into_path(), &about),
                // Deleted since the directory was listed.
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    complain(format_args!("{error}"));
                    self.complete = false;
                }
            }
        }
        self.skipped += skipped;
    }
}

/// Filters are not data either.
fn is_data(entry: &DirEntry) -> bool {
    let ending = entry.path().extension();
    let filter = ending.is_some_and(|ending| ending == "grove") && entry.file_type().is_file();
    walk::is_data(entry) && !filter
}

fn is_gone(error: &walkdir::Error) -> bool {
    error.depth() > 0
        && error
            .io_error()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
