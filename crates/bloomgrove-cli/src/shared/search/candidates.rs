//! Which files, blocks and members may match: the keys that a pattern needs, looked up together.
//!
//! Cost: one look-up in the index for each key of the pattern, and the sets found for it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bloomgrove::index::{Index, Set};
use bloomgrove_keys::Needed;

use super::files::{Home, Wanted};
use super::parts::{block_name, blocks_of, member_name, shown};
use super::refresh::Fresh;
use crate::shared::stamp::{Extent, FileTag};

/// A file that may match, and which parts of it.
pub(crate) struct Candidate<'f> {
    pub(crate) wanted: &'f Wanted,
    pub(super) extents: Extents,
}

pub(super) enum Extents {
    Whole,
    /// Of an archive: their places in it, sorted, and their names.
    Members(Vec<(u64, Vec<u8>)>),
    /// All blocks of a plain file.
    Blocks(Vec<Block>),
}

#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) lines: u64,
    pub(super) is_binary: bool,
    pub(super) may_match: bool,
}

impl Candidate<'_> {
    /// What may match, as it is printed.
    pub(crate) fn shown(&self) -> Vec<PathBuf> {
        match &self.extents {
            Extents::Members(members) => {
                let names = members
                    .iter()
                    .map(|(_, name)| shown(&self.wanted.path, Some(name)));
                names.collect()
            }
            _ => vec![self.wanted.path.clone()],
        }
    }
}

/// All files, to be searched whole.
pub(crate) fn all(home: &Home) -> impl Iterator<Item = Candidate<'_>> {
    let files = home.files.values();
    files.map(|wanted| Candidate {
        wanted,
        extents: Extents::Whole,
    })
}

/// The files of an index that may match, in the order of their names.
pub(crate) fn candidates<'f>(fresh: &'f Fresh<'f>, needed: &Needed) -> Vec<Candidate<'f>> {
    let files = &fresh.home.files;
    if needed.is_unknown() {
        return all(fresh.home).collect();
    }
    let mut found: BTreeMap<&[u8], Vec<(Vec<u8>, FileTag)>> = BTreeMap::new();
    for set in meeting(fresh, needed) {
        let Some(tag) = FileTag::from_bytes(set.tag()) else {
            continue;
        };
        // The files of an index need not all be part of this query.
        if let Some((name, _)) = files.get_key_value(tag.path(set.name())) {
            found
                .entry(name)
                .or_default()
                .push((set.name().to_vec(), tag));
        }
    }
    // What is not known well enough is searched whole.
    for name in &fresh.uncertain {
        if let Some((name, _)) = files.get_key_value(name) {
            found.insert(name, Vec::new());
        }
    }
    let candidate = |(name, sets): (&[u8], Vec<(Vec<u8>, FileTag)>)| {
        let wanted = &files[name];
        let extents = extents(fresh, name, wanted, &sets).unwrap_or(Extents::Whole);
        Candidate { wanted, extents }
    };
    found.into_iter().map(candidate).collect()
}

/// Which parts the sets of a file are.
fn extents(
    index: &Index,
    name: &[u8],
    wanted: &Wanted,
    sets: &[(Vec<u8>, FileTag)],
) -> Option<Extents> {
    // Where a binary file is searched beyond its first NUL byte, the index knows only its beginning.
    if wanted.is_named && sets.iter().any(|(_, tag)| tag.part.is_binary) {
        return None;
    }
    match sets.first()?.1.part.extent {
        Extent::Whole => None,
        Extent::Member { .. } => {
            let members = sets.iter().filter_map(|(set, tag)| match tag.part.extent {
                Extent::Member { ordinal } => Some((ordinal, member_name(name, set))),
                _ => None,
            });
            let mut members: Vec<_> = members.collect();
            members.sort_unstable();
            Some(Extents::Members(members))
        }
        Extent::Block { .. } => {
            let block = |number| {
                let name = block_name(name, number);
                let set = index.get(&name).ok()?;
                let part = FileTag::from_bytes(set.tag())?.part;
                let Extent::Block { start, end, lines } = part.extent else {
                    return None;
                };
                let may_match = sets.iter().any(|(found, _)| *found == name);
                Some(Block {
                    start,
                    end,
                    lines,
                    is_binary: part.is_binary,
                    may_match,
                })
            };
            let blocks = (0..blocks_of(wanted.size)).map(block);
            Some(Extents::Blocks(blocks.collect::<Option<_>>()?))
        }
    }
}

/// The sets that meet a condition, sorted by number.
fn meeting<'i>(index: &'i Index, needed: &Needed) -> Vec<Set<'i>> {
    let mut keys = Vec::new();
    needed.keys(&mut keys);
    keys.sort_unstable();
    keys.dedup();
    let answers = index.which_many(&keys);
    let mut of_key: BTreeMap<&[u8], &[Set<'i>]> = BTreeMap::new();
    for (key, sets) in keys.iter().zip(answers.iter()) {
        of_key.insert(key, sets);
    }
    evaluate(needed, &of_key)
}

fn evaluate<'i>(needed: &Needed, of_key: &BTreeMap<&[u8], &[Set<'i>]>) -> Vec<Set<'i>> {
    match needed {
        Needed::Key(key) => of_key
            .get(&key[..])
            .map_or(Vec::new(), |sets| sets.to_vec()),
        // Conditions within others are never unknown.
        Needed::All(all) => {
            let mut all = all.iter().map(|one| evaluate(one, of_key));
            let mut common = all.next().unwrap_or_default();
            for other in all {
                common.retain(|set| {
                    other
                        .binary_search_by_key(&set.id(), |set| set.id())
                        .is_ok()
                });
            }
            common
        }
        Needed::Any(any) => {
            let mut all: Vec<Set<'i>> = any.iter().flat_map(|one| evaluate(one, of_key)).collect();
            all.sort_unstable_by_key(|set| set.id());
            all.dedup_by_key(|set| set.id());
            all
        }
    }
}
