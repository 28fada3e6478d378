//! Which of my hundred thousand sets contain this item?
//!
//! Bloomgrove keeps every set as a Bloom filter: a bit array that answers "is x in
//! it?" with a certain no or a nearly certain yes, in a few bits for each item and
//! without holding the items.
//!
//! | You have | You ask | Use |
//! |---|---|---|
//! | one set | is x in it? | [`Filter`] |
//! | one set, many threads | is x in it, while others insert? | [`ConcurrentFilter`] |
//! | keys, and no idea how many | a filter that fits | [`Collector`] |
//! | a filter in a file, of any size | is x in it? | [`MappedFilter`] |
//! | more bits than memory | is x in it? | [`buffered::Filter`] |
//! | many sets | which hold x? | [`index::Index`] |
//! | a filter, the set long gone | give me ten of them; give me all | [`sample::Sampler`], [`sample::Reconstruction`] |
//! | a filter to send | fewer bytes; only what changed | [`codec`] |
//! | a number of items and a rate | how many bits, which kind, why? | [`tune`] |
//!
//! ```
//! use bloomgrove::{Filter, Params};
//!
//! // A million items, one false positive in a hundred.
//! let params = Params::for_items(1_000_000, 0.01)?;
//! let mut filter = Filter::new(params)?;
//!
//! filter.insert("alice@example.org");
//! filter.insert_batch(&[17u64, 23, 42]);
//!
//! assert!(filter.contains("alice@example.org"));
//! assert!(filter.contains(&42u64));
//! assert!(!filter.contains("bob@example.org"));
//! # Ok::<(), bloomgrove::Error>(())
//! ```
//!
//! Two filters can be combined when their [`Params`] are equal, and only then: the
//! error says what differs. Everything stored names its hash family, seed, layout
//! and sizes, is checked when opened, and means the same on every machine.

/// Shows each type as its `name` says.
macro_rules! display_as_name {
    ($($type:ty),*) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    )*};
}

mod error;
mod filter;
mod hash;
mod mix;
mod params;
mod threads;
mod verify;

mod bits;

pub mod buffered;
pub mod codec;
pub mod format;
pub mod index;
pub mod raw;
pub mod sample;
pub mod tune;

pub use error::Error;
pub use filter::{Collector, ConcurrentFilter, Filter, MappedFilter};
pub use hash::{Affine, Derivation, Family, Key, MAX_HASHES};
pub use params::{Layout, MAX_BITS, MAX_BLOCKED_HASHES, Params, ParamsBuilder, Probe};
pub use verify::verify;

/// The examples of the guide, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
mod guide {}
