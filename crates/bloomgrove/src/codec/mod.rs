//! Compression for the wire: compressed filters, and deltas between two versions.
//!
//! ```text
//!   Filter --compress--> message --expand--> Filter          smaller unless the fill is about one half
//!   old, new --delta--> message --apply--> old becomes new   a few bits per changed bit
//! ```
//!
//! | file | contains |
//! |---|---|
//! | `filter`, `delta` | the contents of the messages |
//! | `message` | frames with lengths and checksums |
//! | `bits` | bits in frames, with the best code for each |
//! | `bytes`, `gaps` | the two codes |
//! | `density` | the density of bits, stated or learned |
//! | `range`, `symbols` | arithmetic coding; the tables it uses |
//! | `varint` | variable-length integers |
//!
//! Source: Fu and Biersack (BloomTree), section 4.3, and Mitzenmacher, "Compressed Bloom
//! filters" (their section 2.3). Each file says where it differs.
//!
//! Cost: in either direction, one core handles at least 50 MB of uncompressed bits per second,
//! at any density. The size is within 0.5% of the entropy if at least one bit in a hundred is
//! set (`bench-compare codec` prints both).
//!
//! Not for: filters that are already half full. They stay the same size, plus some tens of
//! bytes.

pub(crate) mod bits;
mod bytes;
pub(crate) mod delta;
mod density;
pub(crate) mod filter;
mod gaps;
pub(crate) mod message;
pub(crate) mod range;
pub(crate) mod symbols;
pub(crate) mod varint;

pub(crate) use crate::format::message::MessageKind as Kind;
pub use delta::{apply, delta};
pub use filter::{LIMIT, compress, expand, expand_within};

#[cfg(test)]
mod tests;
