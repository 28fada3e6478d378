//! Where sets come from: files of keys, filters, other indexes, and directories of them.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::format::{Content, content_of};
use bloomgrove::raw::codec::Kind;

use super::keys;
use super::message_file;
use super::output::complain;
use super::stamp::{Place, Stamp};
use super::walk;

/// One set, or an index of many.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: Vec<u8>,
    pub(crate) path: PathBuf,
    /// Its absolute place.
    pub(crate) place: Place,
    pub(crate) size: u64,
    pub(crate) kind: SourceKind,
    /// When it was found.
    pub(crate) stamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Keys,
    /// Keys that can be read once: standard input, or a pipe.
    Stream,
    Filter,
    /// A compressed filter.
    Message,
    Index,
}

/// The sets that paths name. A set is named after its file: by its path below the directory if one
/// was given alone, otherwise as given; a filter without its extension. Returns false if something
/// could not be listed; it has been reported.
pub(crate) fn find(paths: &[PathBuf]) -> (Vec<Source>, bool) {
    let mut sources = Vec::new();
    let mut complete = true;
    let mut failed = |what: &dyn std::fmt::Display| {
        complain(format_args!("{what}"));
        complete = false;
    };
    for path in paths {
        match std::fs::metadata(path) {
            Err(_) if path == Path::new("-") => sources.push(Source::stream(path)),
            Err(error) => failed(&format_args!("{}: {error}", path.display())),
            Ok(about) if !about.is_dir() && !about.is_file() => {
                sources.push(Source::stream(path));
            }
            Ok(about) if about.is_file() => {
                let place = Place::of_file(path).with_context(|| path.display().to_string());
                match place.and_then(|place| Source::new(path, path, place, about.len())) {
                    Ok(mut source) => {
                        source.stamp = Stamp::of(&about);
                        sources.push(source);
                    }
                    Err(error) => failed(&format_args!("{error:#}")),
                }
            }
            Ok(_) => {
                let root = match std::fs::canonicalize(path) {
                    Ok(root) => root,
                    Err(error) => {
                        failed(&format_args!("{}: {error}", path.display()));
                        continue;
                    }
                };
                for entry in walk::files(path, walk::is_data) {
                    let found = entry.and_then(|entry| Ok((entry.metadata()?, entry)));
                    let (about, entry) = match found {
                        Ok(found) => found,
                        Err(error) => {
                            failed(&error);
                            continue;
                        }
                    };
                    let inside = entry.path().strip_prefix(path).unwrap_or(entry.path());
                    match Source::found(inside, entry.path(), &root, about.len()) {
                        Ok(None) => {}
                        Ok(Some(mut source)) => {
                            source.stamp = Stamp::of(&about);
                            if paths.len() > 1 {
                                let given = path.join(Path::new(OsStr::from_bytes(&source.name)));
                                source.name = given.into_os_string().into_vec();
                            }
                            sources.push(source);
                        }
                        Err(error) => failed(&format_args!("{error:#}")),
                    }
                }
            }
        }
    }
    (sources, complete)
}

/// Gives the only set another name, if one is given.
pub(crate) fn rename_only(sources: &mut [Source], name: Option<String>) -> Result<()> {
    match (sources, name) {
        (sources, None) => check_names(sources)?,
        ([one], Some(name)) if one.kind != SourceKind::Index => one.name = name.into_bytes(),
        (sources, Some(_)) => bail!(
            "--name requires a single set, but {} were given",
            sources.len()
        ),
    }
    Ok(())
}

/// Ensures that everything has a name: a stream has none of its own.
pub(crate) fn check_names(sources: &[Source]) -> Result<()> {
    match sources
        .iter()
        .find(|source| source.kind == SourceKind::Stream)
    {
        Some(stream) => bail!(
            "{} has no name of its own; name the set with `index add --name`, or save it to a file first",
            keys::shown(&stream.path)
        ),
        None => Ok(()),
    }
}

impl Source {
    fn stream(path: &Path) -> Self {
        Self {
            name: Vec::new(),
            path: path.to_owned(),
            place: Place {
                root: None,
                path: path.to_owned(),
            },
            size: 0,
            kind: SourceKind::Stream,
            stamp: Stamp::default(),
        }
    }

    /// A file found in a directory, if it is a set. An index or a Bloofi tree in there is most likely
    /// that of these files, and a name index is neither a set nor keys.
    pub(crate) fn found(
        inside: &Path,
        path: &Path,
        root: &Path,
        size: u64,
    ) -> Result<Option<Self>> {
        if let Ok(Content::Names | Content::Bloofi | Content::BloomSampleTree) = content_of(path) {
            return Ok(None);
        }
        let place = Place {
            root: Some(root.to_owned()),
            path: root.join(inside),
        };
        let source = Self::new(inside, path, place, size)?;
        Ok(Some(source).filter(|source| source.kind != SourceKind::Index))
    }

    fn new(name: &Path, path: &Path, place: Place, size: u64) -> Result<Self> {
        let is_grove = path.extension().is_some_and(|ending| ending == "grove");
        let kind = match is_grove {
            false => match message_file::kind_of(path)? {
                None => SourceKind::Keys,
                Some(Kind::Filter) => SourceKind::Message,
                // Its bytes would be read as keys.
                Some(other) => bail!("{}: this is {}, not a set", path.display(), other.name()),
            },
            true => match content_of(path)? {
                Content::Filter => SourceKind::Filter,
                Content::Index => SourceKind::Index,
                other => bail!("{}: contains {other}, not sets", path.display()),
            },
        };
        let name = match kind {
            SourceKind::Keys => name.to_owned(),
            _ => name.with_extension(""),
        };
        Ok(Self {
            name: name.into_os_string().into_vec(),
            path: path.to_owned(),
            place,
            size,
            kind,
            stamp: Stamp::default(),
        })
    }
}
