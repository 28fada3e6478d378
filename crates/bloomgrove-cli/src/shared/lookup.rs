//! Queries of many keys, all or some of which a set must contain.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use bloomgrove::index::{Set, View};
use bloomgrove_keys::{Extraction, Needed, Pattern};

/// What a set must contain for a text to be in it. Words may stand anywhere: the keys of a set do not
/// tell whether they follow each other.
pub(crate) fn needed(extraction: &Extraction, text: &[u8]) -> Result<Needed> {
    if !extraction.is_searched() {
        return Ok(Needed::Key(text.to_vec()));
    }
    let shown = String::from_utf8_lossy(text);
    let needed = Pattern::words(&shown).needed(extraction);
    if needed.is_unknown() {
        bail!("{shown:?} contains none of the keys of this index, which are {extraction}");
    }
    Ok(needed)
}

/// The sets that meet a condition, sorted by number.
pub(crate) fn meeting<'i>(index: &View<'i>, needed: &Needed) -> Vec<Set<'i>> {
    let mut keys = Vec::new();
    needed.keys(&mut keys);
    keys.sort_unstable();
    keys.dedup();
    let answers = index.which_many(&keys);
    let mut of_key: BTreeMap<&[u8], Vec<Set<'i>>> = BTreeMap::new();
    for (key, sets) in keys.iter().zip(answers.iter()) {
        of_key.insert(key, sets.collect());
    }
    evaluate(needed, &of_key)
}

fn evaluate<'i>(needed: &Needed, of_key: &BTreeMap<&[u8], Vec<Set<'i>>>) -> Vec<Set<'i>> {
    match needed {
        Needed::Key(key) => of_key.get(&key[..]).cloned().unwrap_or_default(),
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
