//! Fewer bytes on the wire: filters compressed, and only what changed of them.
//!
//! ```text
//!   Filter --compress--> message --expand--> Filter          smaller where the fill is not a half
//!   old, new --delta--> message --apply--> old becomes new   a few bits for each bit that changed
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `filter`, `delta` | what the messages hold |
//! | `message` | frames with lengths and checksums |
//! | `bits` | bits in frames, the best kind of code for each |
//! | `bytes`, `gaps` | the two codes |
//! | `density` | how dense bits are, said or learned |
//! | `symbols` | arithmetic coding under tables |
//! | `varint` | short spellings of small numbers |
//!
//! Source: the paper's section 4.3, and Mitzenmacher, "Compressed Bloom filters" (its section 2.3).
//! Where we differ is said in each file.
//!
//! Cost: both ways one core does 50 MB a second and more of what is compressed, at any density; the size is within .5 %
//! of the entropy at one set bit in a hundred and above (`bench-compare codec` prints both).
//!
//! Not for: what is already half full at random. It stays as it is, plus some tens of bytes.

pub(crate) mod bits;
mod bytes;
pub(crate) mod delta;
mod density;
pub(crate) mod filter;
mod gaps;
pub(crate) mod message;
pub(crate) mod symbols;
pub(crate) mod varint;

pub(crate) use crate::format::message::MessageKind as Kind;
pub use delta::{apply, delta};
pub use filter::{LIMIT, compress, expand, expand_within};

#[cfg(test)]
mod tests;
