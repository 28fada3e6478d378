//! The `.grove` container: one file, a header, sections, a checksum for each.
//!
//! ```text
//!   | header | section | section | ... | END |
//!             |         \
//!             | 64-byte head | payload, aligned for a memory map |
//! ```
//!
//! Every byte is described in `FORMAT.md`, and only there; constants here cite its
//! sections. Reading checks everything that is small (header, section heads,
//! parameters, catalogue) at once, and the bits themselves when they are loaded
//! or on [`verify`](crate::verify()): a map of any size opens in the time of a few page faults.
//!
//! Files are written whole, under another name, synced, and renamed into place: a
//! reader sees the old file or the new one, and a crash or a full disk leaves the
//! old one as it was. Indexes also grow at their end, change by change (`growing`).
//!
//! | file | contains |
//! |---|---|
//! | `header.rs` | the fixed structures; `Content` |
//! | `reader.rs` | whole files, mapped or in memory, checked |
//! | `writer.rs` | sections; a file written whole or not at all |
//! | `whole.rs` | which file a path means, and what may be written over |
//! | `growing.rs`, `memory.rs` | files that grow by commits; their bytes |
//! | `paged.rs` | the head of page files |
//! | `map.rs`, `store.rs` | memory maps; words in memory or in a map |
//! | `message.rs`, `notes.rs` | what a message begins with; notes |

pub(crate) mod growing;
pub(crate) mod header;
mod map;
mod memory;
pub(crate) mod message;
mod notes;
pub(crate) mod paged;
pub(crate) mod reader;
mod store;
pub(crate) mod whole;
pub(crate) mod writer;

pub use header::Content;
pub use map::MappedWords;
pub use notes::Notes;
pub use reader::{Report, content_of};

use growing::lock;
pub(crate) use growing::{Growing, lock_target};
pub(crate) use header::{Kind, is_grove};
pub(crate) use map::MappedBytes;
pub(crate) use reader::Grove;
pub(crate) use store::Store;
pub(crate) use whole::Origin;
pub(crate) use writer::{Durable, Writer};

/// The newest version this build reads, and the one it writes. FORMAT section 2.
pub(crate) const VERSION: u16 = 1;

#[cfg(test)]
mod tests;
