//! The start of a message, which distinguishes it from a file: FORMAT section 15.
//!
//! Messages themselves are read and written by [`codec`](crate::codec).

/// The magic bytes.
pub(crate) const MAGIC: [u8; 4] = [0x89, b'G', 0x0d, 0x0a];

/// The newest version that this build reads, and the one it writes.
pub(crate) const VERSION: u8 = 1;

/// What a message contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A whole filter.
    Filter,
    /// What changed between two versions of a filter.
    Delta,
    /// A BloomTree.
    Tree,
}

impl MessageKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            MessageKind::Filter => 1,
            MessageKind::Delta => 2,
            MessageKind::Tree => 3,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        let all = [MessageKind::Filter, MessageKind::Delta, MessageKind::Tree];
        all.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the name used in errors.
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Filter => "a compressed filter",
            MessageKind::Delta => "a delta",
            MessageKind::Tree => "a compressed BloomTree",
        }
    }

    /// Returns the name with advice on how to use it.
    pub fn advice(self) -> &'static str {
        match self {
            MessageKind::Filter => "a compressed filter (see `bloomgrove filter expand`)",
            MessageKind::Delta => "a delta (see `bloomgrove filter apply`)",
            MessageKind::Tree => "a compressed BloomTree (see `bloomgrove bloom-tree expand`)",
        }
    }

    /// Recognizes a message by the first bytes of a file, and returns its kind.
    pub fn of_start(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        MessageKind::from_code(*rest.get(1)?)
    }
}
