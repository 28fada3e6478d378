//! Which files a command line means, and in which folder each one's index lies.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::INDEX_NAME;
use super::stamp::Stamp;
use crate::output::complain;

/// A file to ask about.
pub(super) struct Wanted {
    /// Where it is, as the user would write it.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) stamp: Stamp,
}

/// The files of one index, by their names in it.
pub(super) struct Home {
    pub(super) index: PathBuf,
    pub(super) files: BTreeMap<Vec<u8>, Wanted>,
    /// Whole folder: what the index has beyond `files` is gone. Otherwise the index
    /// may have other files that are just not asked about.
    pub(super) is_whole: bool,
}

pub(super) struct Found {
    pub(super) homes: Vec<Home>,
    /// Whether all of it could be looked at; what could not has been reported.
    pub(super) complete: bool,
}

/// A folder keeps the index of everything below it, a single file is in the index of
/// its folder; with `index`, everything is in that one, under its absolute path.
pub(super) fn find(paths: &[PathBuf], index: Option<&Path>) -> Found {
    let mut homes: BTreeMap<PathBuf, Home> = BTreeMap::new();
    let mut complete = true;
    for path in paths {
        let folder = match std::fs::metadata(path) {
            Ok(about) if about.is_dir() => Some(path.as_path()),
            Ok(_) => None,
            Err(error) => {
                complain(format_args!("{}: {error}", path.display()));
                complete = false;
                continue;
            }
        };
        let base = folder.unwrap_or_else(|| match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        });
        let place = index.map_or_else(|| base.join(INDEX_NAME), Path::to_owned);
        let home = homes.entry(place.clone()).or_insert_with(|| Home {
            index: place,
            files: BTreeMap::new(),
            is_whole: false,
        });
        home.is_whole |= folder.is_some() && index.is_none();
        for entry in WalkDir::new(path).sort_by_file_name() {
            let wanted = entry.map_err(|error| error.to_string()).and_then(|entry| {
                let is_link = entry.path_is_symlink();
                // A link named on the command line is meant; one found in a folder is not.
                let about = if is_link && entry.depth() == 0 {
                    std::fs::metadata(entry.path()).map_err(|error| error.to_string())?
                } else {
                    entry.metadata().map_err(|error| error.to_string())?
                };
                Ok((entry.into_path(), about))
            });
            match wanted {
                Err(error) => {
                    complain(format_args!("{error}"));
                    complete = false;
                }
                Ok((file, about)) => {
                    if about.is_file() && (folder.is_none() || is_data(&file, path)) {
                        let name = match index {
                            Some(_) => std::path::absolute(&file).unwrap_or(file.clone()),
                            None => file.strip_prefix(base).unwrap_or(&file).to_owned(),
                        };
                        let wanted = Wanted {
                            size: about.len(),
                            stamp: Stamp::now(&about),
                            path: file,
                        };
                        home.files
                            .insert(name.as_os_str().as_bytes().to_vec(), wanted);
                    }
                }
            }
        }
    }
    Found {
        homes: homes.into_values().collect(),
        complete,
    }
}

/// Hidden files and filters are no data; nor is what lies in a hidden folder.
fn is_data(file: &Path, root: &Path) -> bool {
    let below = file.strip_prefix(root).unwrap_or(file);
    let hidden = below
        .components()
        .any(|part| part.as_os_str().as_bytes().starts_with(b"."));
    !hidden && file.extension().is_none_or(|ending| ending != "grove")
}
