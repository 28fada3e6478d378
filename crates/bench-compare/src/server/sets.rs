//! The sets of the Bloofi paper: filters of 100,992 bits and 7 hashes, 100 items in each; as
//! requests that fill, change and query a server.

use bloomgrove::{Error, Filter, Params, codec};
use bloomgrove_client::api::MEDIA_MESSAGE;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use super::wire::render;

const BITS: u64 = 100_992;
const HASHES: u32 = 7;
pub(crate) const ITEMS: u64 = 100;
/// The number of prefixes that names begin with.
const PREFIXES: usize = 100;

pub(crate) fn name(set: usize) -> String {
    format!("{}{set:06}", prefix(set))
}

/// The prefix of a set's name; a hundredth of all sets share it.
pub(super) fn prefix(set: usize) -> String {
    format!("site-{:02}-", set % PREFIXES)
}

pub(crate) fn key(set: usize, item: u64) -> String {
    format!("item-{set}-{item}")
}

/// The filter of a set with this many items.
pub(crate) fn filter(bits: u64, set: usize, items: u64) -> Result<Filter, Error> {
    let mut filter = Filter::new(Params::builder(bits, HASHES).build()?)?;
    for item in 0..items {
        filter.insert(&key(set, item));
    }
    Ok(filter)
}

/// Sends the whole filter of a set.
pub(super) fn put(set: usize) -> Result<Vec<u8>, Error> {
    let mut message = Vec::new();
    codec::compress(&filter(BITS, set, ITEMS)?, &mut message)?;
    let path = format!("/v1/sets/{}/filter", name(set));
    Ok(render("PUT", &path, MEDIA_MESSAGE, &message))
}

/// Sends what changes when a set of this many items receives one more.
pub(super) fn delta(set: usize, items: u64) -> Result<Vec<u8>, Error> {
    let (old, new) = (filter(BITS, set, items)?, filter(BITS, set, items + 1)?);
    let mut message = Vec::new();
    codec::delta(&old, &new, &mut message)?;
    let path = format!("/v1/sets/{}/filter", name(set));
    Ok(render("POST", &path, MEDIA_MESSAGE, &message))
}

/// A query, and what its answer must contain.
pub(super) struct Question {
    pub(super) request: Vec<u8>,
    /// The first key, and the set that contains it.
    pub(super) wanted: Vec<u8>,
    pub(super) keys: usize,
}

/// This many queries of this many keys. Every other key, beginning with the first, is in a set; the
/// rest are in none. Scoped queries search the sets that share a prefix with the first key's set.
pub(super) fn questions(sets: usize, count: usize, keys: usize, scoped: bool) -> Vec<Question> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(keys as u64);
    let question = |_| {
        let first = random.random_range(0..sets);
        let mut asked = Vec::with_capacity(keys);
        for i in 0..keys {
            let set = match i {
                0 => first,
                _ => random.random_range(0..sets),
            };
            let item = random.random_range(0..ITEMS);
            asked.push(match i % 2 {
                0 => key(set, item),
                _ => format!("none-{set}-{item}"),
            });
        }
        let mut body = json!({ "keys": asked });
        if scoped {
            body["prefix"] = json!(prefix(first));
        }
        Question {
            request: render(
                "POST",
                "/v1/which",
                "application/json",
                body.to_string().as_bytes(),
            ),
            wanted: format!("\"{}\"", name(first)).into_bytes(),
            keys,
        }
    };
    (0..count).map(question).collect()
}
