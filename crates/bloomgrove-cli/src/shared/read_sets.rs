//! From a source to filters: its keys are read, and each set becomes a filter of the right size.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::codec;
use bloomgrove::format::Notes;
use bloomgrove::index::{Index, IndexFile};
use bloomgrove::{Collector, Filter, MappedFilter};

use super::keys::{self, KeyKind, KeysArgs, unpack};
use super::notes;
use super::progress::Progress;
use super::sizing::{SizeArgs, Sizing};
use super::sources::{Source, SourceKind};
use super::stamp::{Extent, Part, Stamp};

/// Memory for the hashes of one file before they are written to disk.
const MEMORY: usize = 32 << 20;

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

/// Sets that were read: their names, which part of the file each is, and their filters.
pub(crate) type Sets = Vec<(Vec<u8>, Part, Filter)>;

/// How keys become filters.
pub(crate) struct How {
    pub(crate) sizing: Sizing,
    pub(crate) kind: KeyKind,
    pub(crate) from: KeysArgs,
}

impl How {
    /// As the sets of an index were read.
    pub(crate) fn of_index(file: &IndexFile, path: &Path, from: &KeysArgs) -> Result<Self> {
        let recorded = notes::extraction(file.notes())?;
        let from = from.of_index(recorded);
        Ok(Self {
            sizing: Sizing::of(file)?,
            kind: notes::key_kind(file.notes()).unwrap_or(KeyKind::Text),
            from: from.with_context(|| path.display().to_string())?,
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

impl Source {
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
        if !found.is_queried_like(&wanted) {
            bail!(
                "{}: its keys are {found}, but those of the other sets are {wanted}; they cannot be \
                 queried together",
                self.path.display()
            );
        }
        let wanted = how.kind;
        match notes.get(notes::KEYS) {
            Some(kind) if kind != wanted.name() => bail!(
                "{}: contains {kind} keys, but the other sets contain {} keys; they cannot be queried \
                 together",
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
