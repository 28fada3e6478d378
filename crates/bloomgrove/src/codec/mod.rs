//! Fewer bytes on the wire.

pub(crate) mod message;
pub(crate) mod symbols;
pub(crate) mod varint;

pub use message::Kind;
