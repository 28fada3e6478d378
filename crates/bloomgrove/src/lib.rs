//! Which of my hundred thousand sets contain this key?
//!
//! Bloomgrove stores each set as a Bloom filter: an array of bits that answers "is this key in the
//! set?" with a certain no or a nearly certain yes. A filter takes about ten bits per key for a
//! false-positive rate of 1%, and does not contain the keys themselves. An index stores many
//! filters and queries them together.
//!
//! # Which type do I want?
//!
//! | You have | You want to know | Use |
//! |---|---|---|
//! | one set | is this key in it? | [`Filter`] |
//! | one set, many threads | is this key in it, while others insert? | [`ConcurrentFilter`] |
//! | keys, but not their number | a filter of the right size | [`Collector`] |
//! | a filter in a file, of any size | is this key in it? | [`MappedFilter`] |
//! | a filter larger than memory | is this key in it? | [`buffered::Filter`] |
//! | many sets | which of them contain this key? | [`index::Index`] |
//! | a filter, but no longer its items | ten of the items, or all of them | [`sample::Sampler`], [`sample::Reconstruction`] |
//! | a filter to send | how to send fewer bytes, or only the changes | [`codec`] |
//! | a number of items and a false-positive rate | how many bits, which layout, and why | [`tune`] |
//!
//! # Example
//!
//! ```
//! use bloomgrove::{Filter, Params};
//!
//! // A million items, a false-positive rate of 1%.
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
//! Filters can be combined only if their [`Params`] are equal; otherwise the error says what
//! differs. Every file and message states its hash family, seed, layout and sizes, is checked when
//! it is opened, and means the same on every machine.

/// Displays each type by its `name`.
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
mod numbers;
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
