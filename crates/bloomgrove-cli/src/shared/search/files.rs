//! Which files a command line means, and in which directory the index of each one is.
//!
//! Directories are listed on all processors; each file is looked at once, for its stamp.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use bloomgrove::format::{Content, content_of};
use bloomgrove::index::Index;
use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder};

use super::Complaints;
use super::refresh::{Old, open_old};
use crate::shared::keys::Keys;
use crate::shared::stamp::{FileTag, Stamp};
use crate::shared::walk;

/// A file to search.
pub(crate) struct Wanted {
    /// Where it is, as the user would write it.
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    /// Who may read and write it.
    pub(crate) mode: u32,
    pub(crate) stamp: Stamp,
    /// It was named itself, not found in a directory: it is searched even if it is binary.
    pub(crate) is_named: bool,
}

/// The files of one index, by their names in it.
pub(crate) struct Home {
    pub(crate) index: PathBuf,
    /// No index was named: it is next to the files, which may have come from anywhere.
    pub(crate) is_implicit: bool,
    pub(crate) files: BTreeMap<Vec<u8>, Wanted>,
    /// A whole directory: what the index has beyond `files` is gone. Otherwise the index may
    /// have other files, which are just not part of this query.
    pub(crate) is_whole: bool,
    /// The index that `files` were taken from, if it is trusted.
    pub(super) trusted: Option<Index>,
}

/// Which files of a directory are meant, and where indexes are kept.
#[derive(clap::Args)]
pub(crate) struct Chosen {
    /// Search only files whose path matches this glob; prefix with ! to exclude (repeatable)
    #[arg(short, long, value_name = "GLOB")]
    glob: Vec<String>,
    /// Search only files changed since this date (2026-11-01) or within this time (36h)
    #[arg(long, value_name = "TIME", value_parser = super::since)]
    since: Option<SystemTime>,
    /// Skip the files that .gitignore and .ignore files exclude
    #[arg(long)]
    gitignore: bool,
    /// Keep the index in this file instead of next to the files searched
    #[arg(long, value_name = "FILE", conflicts_with = "no_save")]
    pub(super) index: Option<PathBuf>,
    /// Do not keep an index: read every file each time
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Do not look for changes since the last run: new files are missed, and changed files are
    /// matched by their old content
    #[arg(long, conflicts_with_all = ["no_save", "glob", "since", "gitignore"])]
    trust: bool,
}

/// The files of a command line, by index. A directory keeps the index of everything below it; a
/// single file is in the index of its directory. With `--index`, everything is in that one, under
/// its absolute path.
pub(crate) fn find(
    paths: &[PathBuf],
    chosen: &Chosen,
    keys: &Keys,
    complaints: &mut Complaints,
) -> Result<Vec<Home>> {
    let index = chosen.index.as_deref();
    let index_name = super::index_name(keys);
    let mut homes: BTreeMap<PathBuf, Home> = BTreeMap::new();
    for path in paths {
        let Some(about) = look_at(path, complaints) else {
            continue;
        };
        let base = match path.parent() {
            _ if about.is_dir() => path,
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let place = index.map_or_else(|| base.join(&index_name), Path::to_owned);
        let home = homes.entry(place.clone()).or_insert_with(|| Home {
            index: place,
            is_implicit: index.is_none(),
            files: BTreeMap::new(),
            is_whole: false,
            trusted: None,
        });
        let name_of = |file: &Path| match index {
            Some(_) => {
                let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
                absolute.into_os_string().into_vec()
            }
            None => relative(file, base),
        };
        if about.is_file() {
            let named = Wanted::new(path.clone(), &about, true);
            home.files.insert(name_of(path), named);
            continue;
        }
        if chosen.trust
            && let Old::Usable(index) = open_old(home, keys, false)?
        {
            home.files.extend(recorded(&index, base)?);
            home.trusted = Some(index);
            continue;
        }
        let found = chosen.files_below(path, &name_of, complaints)?;
        // A map of sorted pairs is built at once.
        let mut found: BTreeMap<Vec<u8>, Wanted> = found.into_iter().collect();
        // What was named itself stays so.
        found.append(&mut home.files);
        home.files = found;
        let is_all = chosen.glob.is_empty() && chosen.since.is_none() && !chosen.gitignore;
        home.is_whole |= index.is_none() && is_all;
    }
    Ok(homes.into_values().collect())
}

/// The files that an index has in and below a directory, as they were when they were read.
fn recorded(index: &Index, directory: &Path) -> Result<Vec<(Vec<u8>, Wanted)>> {
    let below = std::path::absolute(directory)?;
    let mut files = Vec::new();
    for set in index.sets() {
        let Some(tag) = FileTag::from_bytes(set.tag()) else {
            continue;
        };
        let stamp = tag.stamp;
        let name = tag.into_path(set.name());
        // With `--index`, names are absolute, and some may lie elsewhere.
        let inner = Path::new(OsStr::from_bytes(&name));
        let path = match inner.strip_prefix(&below) {
            Ok(inner) => directory.join(inner),
            Err(_) if inner.is_absolute() => continue,
            Err(_) => directory.join(inner),
        };
        let mut wanted = Wanted {
            path,
            size: stamp.size(),
            // Nobody has looked: as private as any file.
            mode: 0o600,
            stamp,
            is_named: false,
        };
        // It changed while it was read: what the index has of it is not enough.
        if stamp == Stamp::default() {
            match std::fs::metadata(&wanted.path) {
                Ok(about) => wanted = Wanted::new(wanted.path, &about, false),
                Err(_) => continue,
            }
        }
        files.push((name.into_owned(), wanted));
    }
    Ok(files)
}

/// The path of a file below `base` from there. Comparing bytes is enough for paths that were made by
/// joining, which nearly all are.
fn relative(file: &Path, base: &Path) -> Vec<u8> {
    let bytes = file.as_os_str().as_bytes();
    match bytes.strip_prefix(base.as_os_str().as_bytes()) {
        Some([b'/', name @ ..]) if !name.starts_with(b"/") => name.to_vec(),
        _ => {
            let name = file.strip_prefix(base).unwrap_or(file);
            name.as_os_str().as_bytes().to_vec()
        }
    }
}

/// What a path of the command line is, if it can be searched.
fn look_at(path: &Path, complaints: &mut Complaints) -> Option<Metadata> {
    match std::fs::metadata(path) {
        // Read as text, it would contain none of its keys.
        Ok(_) if content_of(path).is_ok() => {
            let with = match content_of(path) {
                Ok(Content::Paged) => {
                    "`buffered probe` (`bloomgrove buffered info` shows what it contains)"
                }
                Ok(Content::Bloofi) => "`bloofi which`",
                _ => "`filter check` or `index which`",
            };
            complaints.add(format_args!(
                "{}: this is a .grove file; query it with {with}",
                path.display()
            ));
            None
        }
        Ok(about) if about.is_dir() || about.is_file() => Some(about),
        Ok(_) => {
            let what = "not a regular file; save its output to a file first";
            complaints.add(format_args!("{}: {what}", path.display()));
            None
        }
        Err(error) => {
            let hint = match error.kind() {
                std::io::ErrorKind::NotFound => complaints.if_missing,
                _ => "",
            };
            complaints.add(format_args!("{}: {error}{hint}", path.display()));
            None
        }
    }
}

impl Wanted {
    fn new(path: PathBuf, about: &Metadata, is_named: bool) -> Self {
        Self {
            size: about.len(),
            mode: about.permissions().mode(),
            stamp: Stamp::of(about),
            is_named,
            path,
        }
    }
}

impl Chosen {
    /// Every data file in and below a directory, with its name: neither hidden, nor a link, nor a
    /// filter.
    fn files_below(
        &self,
        directory: &Path,
        name_of: &(dyn Fn(&Path) -> Vec<u8> + Sync),
        complaints: &mut Complaints,
    ) -> Result<Vec<(Vec<u8>, Wanted)>> {
        let mut globs = OverrideBuilder::new(directory);
        for glob in &self.glob {
            globs.add(glob).with_context(|| format!("--glob {glob}"))?;
        }
        let mut builder = WalkBuilder::new(directory);
        builder
            .standard_filters(self.gitignore)
            .require_git(false)
            .hidden(true)
            .overrides(globs.build().context("--glob")?);
        let (found, errors) = walk::in_parallel(&builder, |entry| self.look(entry, name_of));
        for error in errors {
            complaints.add(format_args!("{error}"));
        }
        Ok(found)
    }

    fn look(
        &self,
        entry: DirEntry,
        name_of: &dyn Fn(&Path) -> Vec<u8>,
    ) -> Result<Option<(Vec<u8>, Wanted)>, ignore::Error> {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let is_filter = entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "grove");
        if !is_file || is_filter {
            return Ok(None);
        }
        let about = entry.metadata()?;
        let is_old = |since| about.modified().is_ok_and(|modified| modified < since);
        if self.since.is_some_and(is_old) {
            return Ok(None);
        }
        let name = name_of(entry.path());
        Ok(Some((name, Wanted::new(entry.into_path(), &about, false))))
    }
}
