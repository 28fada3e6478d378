//! Sets on their way into an index: read on all processors, tagged, added. A set that cannot be read
//! is reported, and the others are still added.

use std::path::Path;

use anyhow::Result;
use bloomgrove::index::{Duplicates, Index, IndexFile, Set};
use bloomgrove::{Error, Filter, Params};

use crate::shared::output::complain;
use crate::shared::progress::Progress;
use crate::shared::read_sets::How;
use crate::shared::sizing::{is_overfull, sets_have};
use crate::shared::sources::{Source, SourceKind};
use crate::shared::stamp::{self, FileTag, Part};
use crate::shared::{Outcome, interrupt, parallel};

/// The default for the memory that filters may use before they are written to disk.
pub(super) const MEMORY: u64 = 256 << 20;

/// The result for all sources.
pub(super) struct Added {
    pub(super) complete: bool,
    /// Sets whose filter is too full to be of use.
    overfull: u64,
}

impl Added {
    pub(super) fn new(complete: bool) -> Self {
        Self {
            complete,
            overfull: 0,
        }
    }

    pub(super) fn look_at(&mut self, filter: &Filter) {
        self.overfull += u64::from(is_overfull(filter));
    }

    pub(super) fn warn_of_overfull(&self) {
        if self.overfull > 0 {
            complain(format_args!(
                "{} more keys than the filters were sized for, so expect many false positives; \
                 rebuild the index with more --items or --bits",
                sets_have(self.overfull)
            ));
        }
    }

    /// Adds a set. One that cannot be added is reported, and the others still are.
    pub(super) fn count(&mut self, source: &Source, outcome: Result<(), Error>) -> Result<()> {
        match outcome {
            Ok(()) => Ok(()),
            Err(
                error @ (Error::DuplicateSet { .. }
                | Error::Incompatible { .. }
                | Error::Params { .. }
                | Error::InFile { .. }),
            ) => {
                complain(format_args!("{}: {error}", source.path.display()));
                self.complete = false;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        Outcome::of(self.complete)
    }
}

/// What was read from a source: an index has an empty filter.
pub(super) struct Read {
    pub(super) name: Vec<u8>,
    pub(super) tag: Vec<u8>,
    pub(super) filter: Filter,
}

/// Reads all sources on all processors, and passes on their filters, tagged for an index in
/// `base`. Returns false if one could not be read; it has been reported.
pub(super) fn take_in(
    file: &mut IndexFile,
    sources: &[Source],
    how: &How,
    base: &Path,
    mut take: impl FnMut(&mut IndexFile, &Source, Read) -> Result<()>,
) -> Result<bool> {
    let progress = Progress::bytes(sources.iter().map(|source| source.size).sum(), "indexing");
    let empty = Params::builder(1, 1).build()?;
    let mut complete = true;
    let read = |source: &Source| {
        if source.kind == SourceKind::Index {
            source.check_keys(how)?;
            let empty = Filter::new(empty.clone())?;
            return Ok((None, vec![(source.name.clone(), Part::default(), empty)]));
        }
        source.sets(how, &progress)
    };
    parallel::each(sources, read, |source, read| {
        match read {
            Ok((stamp, sets)) => {
                for (name, part, filter) in sets {
                    let tag = stamp.map_or(Vec::new(), |stamp| {
                        let mut tag = FileTag::placed(stamp, &source.place, &name, base);
                        tag.part = part;
                        tag.to_bytes()
                    });
                    take(file, source, Read { name, tag, filter })?;
                }
            }
            Err(_) if interrupt::was_asked() => {}
            Err(error) => {
                complain(format_args!("{error:#}"));
                complete = false;
            }
        }
        Ok(())
    })?;
    Ok(complete)
}

/// Adds all sets of another index to one in `base`; returns their names.
pub(super) fn merge(
    file: &mut IndexFile,
    source: &Source,
    base: &Path,
    memory: u64,
) -> Result<Vec<Vec<u8>>, Error> {
    let other = Index::open(&source.path)?;
    let there = stamp::base_of(&source.path).unwrap_or_default();
    let tag = |set: &Set<'_>| match FileTag::from_bytes(set.tag()) {
        // Their paths are now relative to another directory.
        Some(tag) => {
            let place = tag.place(set.name(), &there);
            let mut moved = FileTag::placed(tag.stamp, &place, set.name(), base);
            moved.part = tag.part;
            moved.to_bytes()
        }
        None => set.tag().to_vec(),
    };
    file.merge_in_parts(&other, Duplicates::Refuse, memory, tag)?;
    let mut names: Vec<Vec<u8>> = other.sets().map(|set| set.name().to_vec()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
