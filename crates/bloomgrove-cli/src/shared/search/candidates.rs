//! Which files, blocks and members may match: the keys that a pattern needs, looked up together.
//!
//! Cost: one look-up in the index for each key of the pattern, and the sets found for it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bloomgrove::index::Index;
use bloomgrove_keys::Needed;

use super::files::{Home, Wanted};
use super::parts::{block_name, blocks_of, member_name, shown};
use super::refresh::Fresh;
use crate::shared::lookup;
use crate::shared::stamp::{Extent, FileTag, Stamp};

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
    for set in lookup::meeting(&fresh.view(), needed) {
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
    // Of a binary file, the index knows what comes before its first NUL byte; one that was named is
    // searched beyond it.
    if files.values().any(|wanted| wanted.is_named) {
        for set in fresh.sets() {
            let tag = FileTag::from_bytes(set.tag()).filter(|tag| tag.part.is_binary);
            let file = tag.and_then(|tag| files.get_key_value(tag.path(set.name())));
            if let Some((name, _)) = file.filter(|(_, wanted)| wanted.is_named) {
                found.insert(name, Vec::new());
            }
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
            // It has changed since it was listed.
            if !Stamp::now(&wanted.path).is_ok_and(|now| now == wanted.stamp) {
                return None;
            }
            let block = |number| {
                let name = block_name(name, number);
                let set = index.get(&name).ok()?;
                let part = FileTag::from_bytes(set.tag())?.part;
                let Extent::Block { start, end, lines } = part.extent else {
                    return None;
                };
                // What an index says of a file is not believed blindly: then all of it is read.
                if start > end || end > wanted.size || lines > end - start {
                    return None;
                }
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
