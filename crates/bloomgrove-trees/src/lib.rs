//! The three published trees of Bloom filters, as their authors published them.
//!
//! | Module | Question | Source |
//! |---|---|---|
//! | [`bloofi`] | which of many sets contain x? | Crainiceanu, *Bloofi: A Hierarchical Bloom Filter Index with Applications to Distributed Data Provenance* |
//! | [`bloom_sample_tree`] | which of these names are in a filter? | Sengupta, Bagchi, Bedathur and Ramanath, *Sampling and Reconstruction Using Bloom Filters* |
//! | [`bloom_tree`] | is x in a set that was sent over a slow link? | Fu and Biersack, *False-Positive Probability and Compression Optimization for Tree-Structured Bloom Filters* |
//!
//! They are provided for use and for comparison, with the papers' options and cost counters;
//! `docs/papers` has our measurements of the papers' claims. Each can be saved to a `.grove` file,
//! which [`verify()`] checks. For production use, the library has faster and exact structures:
//! [`bloomgrove::index::Index`], [`bloomgrove::sample`], [`bloomgrove::codec`].

pub mod bloofi;
pub mod bloom_sample_tree;
pub mod bloom_tree;

pub use verify::verify;

mod verify;
