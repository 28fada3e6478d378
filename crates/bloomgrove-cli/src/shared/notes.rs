//! The notes that commands leave in `.grove` files, and how they are read.

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Family, Filter};
use bloomgrove_keys::Extraction;
use serde_json::{Value, json};

use super::keys::KeyKind;
use super::units::{self, Items};

/// How keys were read.
pub(crate) const KEYS: &str = "keys";
/// How files become keys.
pub(crate) const EXTRACTION: &str = "extraction";
/// Of how many filters this is the intersection. The fill of an intersection overestimates its
/// items, since some bits are common by chance.
pub(crate) const INTERSECTION: &str = "intersection-of";
/// The number of items of an intersection, as estimated from the filters it was made of.
pub(crate) const COMMON: &str = "common-items";
/// How many keys were inserted, repeated ones included.
pub(crate) const INSERTED: &str = "inserted";
/// The false-positive rate, and the number of keys, that a filter was sized for.
pub(crate) const TARGET_FPR: &str = "target-fpr";
pub(crate) const SIZED_FOR: &str = "sized-for";
/// The rate of the filters of an index, where each is sized for its own set.
pub(crate) const FPR: &str = "fpr";

/// A note that is a number.
pub(crate) fn number<T: std::str::FromStr>(notes: &Notes, name: &str) -> Option<T> {
    notes.get(name)?.parse().ok()
}

/// Those of a filter to which `count` more keys were added.
pub(crate) fn with_more(notes: &Notes, count: u64) -> Notes {
    let before: u64 = number(notes, INSERTED).unwrap_or(0);
    // An estimate of what was there before is not one of what is there now.
    let kept = notes.iter().filter(|(name, _)| *name != COMMON);
    let kept = kept.fold(Notes::new(), |kept, (name, value)| kept.with(name, value));
    kept.with(INSERTED, before + count)
}

/// All notes, as JSON.
pub(crate) fn json(notes: &Notes) -> Value {
    let notes = notes.iter();
    notes
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}

/// All notes, for [`Output::facts`](super::output::Output::facts).
pub(crate) fn facts(notes: &Notes) -> impl Iterator<Item = (&str, String)> {
    notes.iter().map(|(name, value)| {
        let rate = || Some(("target rate", units::target(value.parse().ok()?)));
        let count = || Some(("sized for", units::counted(value.parse().ok()?, "key")));
        let known = match name {
            TARGET_FPR | FPR => rate(),
            SIZED_FOR => count(),
            _ => None,
        };
        known.unwrap_or_else(|| (name, value.to_owned()))
    })
}

/// How texts become keys; a file of an index that does not say has lines, or what its caller made of
/// them.
pub(crate) fn extraction(notes: &Notes) -> Result<Extraction> {
    match notes.get(EXTRACTION) {
        Some(name) => Ok(name.parse()?),
        None => Ok(Extraction::Lines),
    }
}

/// The notes with that, where it is not lines.
pub(crate) fn with_extraction(notes: Notes, extraction: &Extraction) -> Notes {
    match extraction {
        Extraction::Lines => notes,
        other => notes.with(EXTRACTION, other),
    }
}

/// How the keys were read; a file written by the library does not say.
pub(crate) fn key_kind(notes: &Notes) -> Option<KeyKind> {
    match notes.get(KEYS) {
        Some("integer") => Some(KeyKind::Integer),
        Some(_) => Some(KeyKind::Text),
        None => None,
    }
}

/// How the keys of a filter were read; where no note says it, affine functions mean integers.
pub(crate) fn key_kind_of<S: AsRef<[u64]>>(filter: &Filter<S>, notes: &Notes) -> KeyKind {
    let usual = match filter.params().family() {
        Family::Affine(_) => KeyKind::Integer,
        _ => KeyKind::Text,
    };
    key_kind(notes).unwrap_or(usual)
}

/// The number of items of a file whose fill suggests `estimated`.
pub(crate) fn items(estimated: f64, notes: &Notes) -> Items {
    match (number(notes, COMMON), notes.get(INTERSECTION)) {
        (Some(common), _) => Items::Common(common),
        (None, Some(_)) => Items::CommonAtMost(estimated),
        (None, None) => Items::Of(estimated),
    }
}

/// The notes of an intersection of `filters` filters.
pub(crate) fn of_intersection(notes: Notes, filters: usize, items: Items) -> Notes {
    let notes = notes.with(INTERSECTION, filters);
    match items {
        Items::Common(common) => notes.with(COMMON, common.round()),
        _ => notes,
    }
}

/// The rate of the filters of an index, where each is sized for its own set.
pub(crate) fn fpr(notes: &Notes, default: f64) -> Result<f64> {
    match notes.get(FPR) {
        None => Ok(default),
        Some(fpr) => match fpr.parse() {
            Ok(fpr) => Ok(fpr),
            Err(_) => bail!("the index has the note fpr={fpr}, which is not a false-positive rate"),
        },
    }
}
