//! Where sets come from: files of keys, filters, other indexes, and directories of them.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::codec;
use bloomgrove::format::{Content, Notes, content_of};
use bloomgrove::index::Index;
use bloomgrove::raw::codec::Kind;
use bloomgrove::{Collector, Filter, MappedFilter};

use super::keys::{self, Column, KeyKind};
use super::message_file;
use super::output::complain;
use super::progress::Progress;
use super::sizing::{SizeArgs, Sizing};
use super::stamp::{Place, Stamp};
use super::{notes, walk};

/// Memory for the hashes of one file before they are written to disk.
const MEMORY: usize = 32 << 20;

/// One set, or an index of many.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: Vec<u8>,
    pub(crate) path: PathBuf,
    /// Its absolute place.
    pub(crate) place: Place,
    pub(crate) size: u64,
    pub(crate) kind: SourceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Keys,
    Filter,
    /// A compressed filter.
    Message,
    Index,
}

/// The sets that paths name. A set is named after its file: as given, or by its path below the
/// directory given, a filter without its extension. Returns false if something could not be
/// listed; it has been reported.
pub(crate) fn find(paths: &[PathBuf]) -> (Vec<Source>, bool) {
    let mut sources = Vec::new();
    let mut complete = true;
    let mut failed = |what: &dyn std::fmt::Display| {
        complain(format_args!("{what}"));
        complete = false;
    };
    for path in paths {
        match std::fs::metadata(path) {
            Err(_) if path == Path::new("-") => {
                failed(
                    &"standard input cannot be a set, as it has no name; save it to a file first",
                );
            }
            Err(error) => failed(&format_args!("{}: {error}", path.display())),
            Ok(about) if !about.is_dir() && !about.is_file() => failed(&format_args!(
                "{}: not a regular file; save its output to a file first",
                path.display()
            )),
            Ok(about) if about.is_file() => {
                let place = Place::of_file(path).with_context(|| path.display().to_string());
                match place.and_then(|place| Source::new(path, path, place, about.len())) {
                    Ok(source) => sources.push(source),
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
                        Ok(source) => sources.extend(source),
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
        (_, None) => {}
        ([one], Some(name)) if one.kind != SourceKind::Index => one.name = name.into_bytes(),
        (sources, Some(_)) => bail!(
            "--name requires a single set, but {} were given",
            sources.len()
        ),
    }
    Ok(())
}

impl Source {
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
        })
    }

    /// Ensures that its keys were interpreted like those of the index: a number that was hashed as
    /// text is never found as an integer.
    pub(crate) fn check_keys(&self, wanted: KeyKind) -> Result<()> {
        let notes = match self.kind {
            // The notes of a message are checked when it is read.
            SourceKind::Keys | SourceKind::Message => return Ok(()),
            SourceKind::Filter => Notes::of_file(&self.path)?,
            SourceKind::Index => Index::open(&self.path)?.notes().clone(),
        };
        self.check_note(&notes, wanted)
    }

    fn check_note(&self, notes: &Notes, wanted: KeyKind) -> Result<()> {
        match notes.get(notes::KEYS) {
            Some(kind) if kind != wanted.name() => bail!(
                "{}: its keys were read as {kind}, those of the index as {}; they cannot be \
                 queried together",
                self.path.display(),
                wanted.name()
            ),
            _ => Ok(()),
        }
    }

    /// The filter of this set; of a file of keys, with the stamp under which it was read. A
    /// filter is a set wherever it came from, and stays one when its file is gone.
    pub(crate) fn stamped(
        &self,
        how: &How,
        progress: &Progress,
    ) -> Result<(Option<Stamp>, Filter)> {
        if self.kind != SourceKind::Keys {
            return Ok((None, self.filter(how, progress)?));
        }
        let read = Stamp::of_reading(&self.path, || self.filter(how, progress))?;
        Ok((Some(read.0), read.1))
    }

    /// The filter of this set.
    pub(crate) fn filter(&self, how: &How, progress: &Progress) -> Result<Filter> {
        if self.kind == SourceKind::Filter {
            self.check_keys(how.kind)?;
            let filter = MappedFilter::map(&self.path)?.to_owned()?;
            progress.add(self.size);
            return Ok(filter);
        }
        if self.kind == SourceKind::Message {
            let shown = || self.path.display().to_string();
            let message = BufReader::new(File::open(&self.path).with_context(shown)?);
            let expanded = codec::expand_within(message, codec::LIMIT);
            let (filter, notes) = expanded.with_context(shown)?;
            self.check_note(&notes, how.kind)?;
            progress.add(self.size);
            return Ok(filter);
        }
        let column = how.column.as_ref();
        match &how.sizing {
            Sizing::Equal(params) => {
                let mut filter = Filter::new(params.clone())?;
                keys::read(&self.path, column, Some(progress), |lines| {
                    match how.kind {
                        KeyKind::Text => filter.insert_batch(lines),
                        kind => {
                            for line in lines {
                                filter.insert(&kind.key(line)?);
                            }
                        }
                    }
                    Ok(())
                })?;
                Ok(filter)
            }
            Sizing::Own(fpr) => {
                let mut collector = Collector::new(*fpr)?.memory(MEMORY).in_steps();
                keys::read(&self.path, column, Some(progress), |lines| {
                    for line in lines {
                        match how.kind {
                            KeyKind::Text => collector.insert(*line)?,
                            kind => collector.insert(&kind.key(line)?)?,
                        }
                    }
                    Ok(())
                })?;
                Ok(collector.finish()?)
            }
        }
    }
}

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct SetArgs {
    /// Files of keys, filters, indexes, or directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
    #[command(flatten)]
    column: Option<Column>,
    /// How to interpret keys
    #[arg(long, value_enum, value_name = "KIND", default_value = "text")]
    pub(crate) keys: KeyKind,
}

impl SetArgs {
    pub(crate) fn how(self, sizing: Sizing) -> How {
        How {
            sizing,
            kind: self.keys,
            column: self.column,
        }
    }
}

/// How keys become filters.
pub(crate) struct How {
    pub(crate) sizing: Sizing,
    pub(crate) kind: KeyKind,
    pub(crate) column: Option<Column>,
}
