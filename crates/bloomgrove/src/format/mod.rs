//! The `.grove` container: a header and sections, each with a checksum.
//!
//! ```text
//!   | header | section | section | ... | END |
//!             |         \
//!             | 64-byte head | payload, aligned for a memory map |
//! ```
//!
//! `FORMAT.md` is the only description of the bytes; constants here cite its sections. Opening a
//! file checks everything that is small (header, section heads, parameters, catalogue). The bits
//! themselves are checked when they are loaded or by [`verify`](crate::verify()), so a file of any
//! size can be mapped in the time of a few page faults.
//!
//! A file is written under a temporary name, synced, and renamed into place. A reader sees either
//! the old file or the new one, and a crash or a full disk leaves the old one unchanged. Indexes
//! can also grow at their end, change by change (`growing`).
//!
//! | file | contains |
//! |---|---|
//! | `header.rs` | the fixed structures; `Content` |
//! | `reader.rs` | reading complete files, mapped or in memory, with checks |
//! | `writer.rs` | writing sections; a file is written completely or not at all |
//! | `whole.rs` | which file a path refers to, and what may be overwritten |
//! | `growing.rs`, `memory.rs` | files that grow by commits; their bytes |
//! | `paged.rs` | the head of page files |
//! | `map.rs`, `store.rs` | memory maps; words in memory or in a map |
//! | `message.rs`, `notes.rs` | the start of a message; notes |

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

/// The newest version that this build reads, and the one it writes. FORMAT section 2.
pub(crate) const VERSION: u16 = 1;

#[cfg(test)]
mod tests;
