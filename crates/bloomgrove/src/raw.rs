//! What other crates of this workspace build their structures from: words of bits, hashing, the
//! containers of files and messages, the entropy coder, threads.
//!
//! Not for users: it changes without notice, and little of it checks what it is given.

/// Words of bits.
pub mod bits {
    pub use crate::bits::{
        LINE_WORDS, Walk, Words, and_assign, and_count, and_not_assign, clear, count, get, hamming,
        ones, or_assign, prefetch, set,
    };
}

/// Hashing.
pub mod hash {
    pub use crate::hash::hasher::{AnyHasher, Hasher, Xxh3Hasher};
    pub use crate::hash::invert::Inverse;
    pub use crate::hash::positions::{Independent, KirschMitzenmacher, Start};
    pub use crate::mix::{GOLDEN, mix, remix, scale};
    pub use crate::params::probe::each_position;
}

/// The `.grove` container.
pub mod format {
    pub use crate::format::growing::lock_to_replace;
    pub use crate::format::header::Kind;
    pub use crate::format::reader::Grove;
    pub use crate::format::whole::{WholeFile, check_target};
    pub use crate::format::writer::Writer;
}

/// Messages, and the coder of bits and symbols.
pub mod codec {
    pub use crate::codec::bits::{BitDecoder, BitEncoder, Plan};
    pub use crate::codec::filter::{put_notes, put_params, take_params};
    pub use crate::codec::message::{Reader, Writer};
    pub use crate::codec::symbols::{Decoder, Encoder, Parts, Table};

    /// Whole numbers in few bytes.
    pub mod varint {
        pub use crate::codec::varint::*;
    }
}

/// The formulas, in the letters of the papers.
pub mod math {
    pub use crate::tune::math::*;
}

/// The same work on many things at once.
pub mod threads {
    pub use crate::threads::{by_all, processors};
}
