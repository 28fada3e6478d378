//! Where sets come from: files of keys, filters, other indexes, and directories of them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::codec;
use bloomgrove::format::{Content, Notes, content_of};
use bloomgrove::index::{Index, IndexFile};
use bloomgrove::raw::codec::Kind;
use bloomgrove::{Collector, Filter, MappedFilter};

use super::keys::unpack;
use super::keys::{self, KeyKind, KeysArgs};
use super::message_file;
use super::output::complain;
use super::progress::Progress;
use super::sizing::{SizeArgs, Sizing};
use super::stamp::{Extent, Part, Place, Stamp};
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

    /// Ensures that its keys were interpreted like those of the index: a number that was hashed as
    /// text is never found as an integer.
    pub(crate) fn check_keys(&self, how: &How) -> Result<()> {
        let notes = match self.kind {
            // The notes of a message are checked when it is read.
            SourceKind::Keys | SourceKind::Stream | SourceKind::Message => return Ok(()),
            SourceKind::Filter => Notes::of_file(&self.path)?,
            SourceKind::Index => Index::open(&self.path)?.notes().clone(),
        };
        self.check_note(&notes, how)
    }

    fn check_note(&self, notes: &Notes, how: &How) -> Result<()> {
        let (found, wanted) = (notes::extraction(notes)?, how.from.lines().extraction);
        if found != wanted {
            bail!(
                "{}: its keys are {found}, those of the index {wanted}; they cannot be queried \
                 together",
                self.path.display()
            );
        }
        let wanted = how.kind;
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

    /// The sets of this source: one, or one for every file in an archive. Those of a file of keys
    /// come with the stamp under which it was read. A filter is a set wherever it came from, and
    /// stays one when its file is gone.
    pub(crate) fn sets(&self, how: &How, progress: &Progress) -> Result<(Option<Stamp>, Sets)> {
        let whole = |filter| vec![(self.name.clone(), Part::default(), filter)];
        if self.kind != SourceKind::Keys {
            return Ok((None, whole(self.filter(how, progress)?)));
        }
        let keys = how.from.lines();
        let read = Stamp::of_reading(&self.path, || {
            if keys.extraction.is_in_table() || keys::is_parquet(&self.path) {
                return Ok(whole(self.filter(how, progress)?));
            }
            let mut sets = Sets::new();
            unpack::each_text(&self.path, Some(progress), &mut |member, text| {
                let filter = how.filter(|each| keys::read_text(text, &keys.extraction, each))?;
                sets.push(match member {
                    None => (self.name.clone(), Part::default(), filter),
                    Some(member) => {
                        let extent = Extent::Member {
                            ordinal: member.ordinal,
                        };
                        let part = Part {
                            extent,
                            is_binary: false,
                        };
                        let mut name = [&self.name, &b":"[..], member.name].concat();
                        if sets.iter().any(|(other, ..)| *other == name) {
                            // An archive may have a file twice.
                            name.extend(format!("#{}", member.ordinal).into_bytes());
                        }
                        (name, part, filter)
                    }
                });
                Ok(true)
            })
            .with_context(|| self.path.display().to_string())?;
            Ok(sets)
        })?;
        Ok((Some(read.0), read.1))
    }

    /// The filter of this set.
    pub(crate) fn filter(&self, how: &How, progress: &Progress) -> Result<Filter> {
        if self.kind == SourceKind::Filter {
            self.check_keys(how)?;
            let filter = MappedFilter::map(&self.path)?.to_owned()?;
            progress.add(self.size);
            return Ok(filter);
        }
        if self.kind == SourceKind::Message {
            let shown = || self.path.display().to_string();
            let message = BufReader::new(File::open(&self.path).with_context(shown)?);
            let expanded = codec::expand_within(message, codec::LIMIT);
            let (filter, notes) = expanded.with_context(shown)?;
            self.check_note(&notes, how)?;
            progress.add(self.size);
            return Ok(filter);
        }
        how.filter(|each| keys::read(&self.path, &how.from, Some(progress), each))
    }
}

/// Sets that were read: their names, which part of the file each is, and their filters.
pub(crate) type Sets = Vec<(Vec<u8>, Part, Filter)>;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct SetArgs {
    /// Files of keys, filters, indexes, or directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
    #[command(flatten)]
    pub(crate) from: KeysArgs,
    /// How to interpret keys
    #[arg(long, value_enum, value_name = "KIND", default_value = "text")]
    pub(crate) keys: KeyKind,
}

impl SetArgs {
    pub(crate) fn how(self, sizing: Sizing) -> How {
        How {
            sizing,
            kind: self.keys,
            from: self.from,
        }
    }
}

/// How keys become filters.
pub(crate) struct How {
    pub(crate) sizing: Sizing,
    pub(crate) kind: KeyKind,
    pub(crate) from: KeysArgs,
}

impl How {
    /// As the sets of an index were read.
    pub(crate) fn of_index(file: &IndexFile, from: &KeysArgs) -> Result<Self> {
        Ok(Self {
            sizing: Sizing::of(file)?,
            kind: notes::key_kind(file.notes()).unwrap_or(KeyKind::Text),
            from: from.of_index(notes::extraction(file.notes())?)?,
        })
    }

    /// The filter of the keys that `read` passes on in batches.
    fn filter(
        &self,
        read: impl FnOnce(&mut dyn FnMut(&[&[u8]]) -> Result<()>) -> Result<()>,
    ) -> Result<Filter> {
        match &self.sizing {
            Sizing::Equal(params) => {
                let mut filter = Filter::new(params.clone())?;
                read(&mut |keys| {
                    match self.kind {
                        KeyKind::Text => filter.insert_batch(keys),
                        kind => {
                            for key in keys {
                                filter.insert(&kind.key(key)?);
                            }
                        }
                    }
                    Ok(())
                })?;
                Ok(filter)
            }
            Sizing::Own(fpr) => {
                let mut collector = Collector::new(*fpr)?.memory(MEMORY).in_steps();
                read(&mut |keys| {
                    for key in keys {
                        match self.kind {
                            KeyKind::Text => collector.insert(*key)?,
                            kind => collector.insert(&kind.key(key)?)?,
                        }
                    }
                    Ok(())
                })?;
                Ok(collector.finish()?)
            }
        }
    }
}
