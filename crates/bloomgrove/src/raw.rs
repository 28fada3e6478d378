//! Internals that the other crates of this workspace need: words of bits, hashing, the containers
//! of files and messages, the entropy coder, formulas, threads.
//!
//! Not for users: it can change at any time, and most of it does not validate its arguments.

/// Words of bits.
pub mod bits {
    pub use crate::bits::{
        LINE_WORDS, Walk, Words, and_assign, and_count, and_not_assign, clear, count, get, hamming,
        ones, or_assign, prefetch, set,
    };
}

/// Hashing.
pub mod hash {
    pub use crate::hash::Digest;
    pub use crate::hash::hasher::{AnyHasher, Hasher, Xxh3Hasher};
    pub use crate::hash::invert::Inverse;
    pub use crate::hash::positions::{Independent, KirschMitzenmacher, Start};
    pub use crate::hash::prime::first_prime_from;
    pub use crate::mix::{GOLDEN, mix, remix, scale};
    pub use crate::params::probe::each_position;
}

/// The hashes of a collector, for a filter that does not fit in memory.
pub mod filter {
    pub use crate::filter::collect::{Hashes, insert_hash};
}

/// The `.grove` container.
pub mod format {
    pub use crate::filter::file::expect_scan;
    pub use crate::format::growing::lock_to_replace;
    pub use crate::format::header::Kind;
    pub use crate::format::reader::Grove;
    pub use crate::format::whole::{WholeFile, check_target};
    pub use crate::format::writer::Writer;
}

/// Indexes at paths that the user did not give, or with restricted permissions.
pub mod index {
    pub use crate::format::whole::Origin;
    #[cfg(unix)]
    pub use crate::index::file::restrict;
    pub use crate::index::file::{create_from, open_checked, open_from, open_unchecked};
}

/// Messages, and the entropy coder for bits and symbols.
pub mod codec {
    pub use crate::codec::bits::{BitDecoder, BitEncoder, Framing, Model};
    pub use crate::codec::delta::{delta_fingerprints, delta_with};
    pub use crate::codec::filter::{compress_with, params_of, put_notes, put_params, take_params};
    pub use crate::codec::message::{Reader, Writer, check};
    pub use crate::codec::range::{Decoder, Encoder};
    pub use crate::codec::symbols::{Parts, Table};
    pub use crate::format::message::MessageKind as Kind;

    /// Integers of variable length.
    pub mod varint {
        pub use crate::codec::varint::*;
    }
}

/// The formulas, in the notation of the papers.
pub mod math {
    pub use crate::tune::math::*;
}

/// Sizes for one layout, or with some choices fixed; false-positive rates of existing filters.
pub mod tune {
    pub use crate::tune::sampling::{leaf_size, tree_depth};
    pub use crate::tune::size::{
        blocked, check_target, default_family, expected_fpr, first_prime, fpr_of_ones, standard,
        standard_with, step,
    };
}

/// Queries as text; statistical tests of samplers.
pub mod sample {
    pub use crate::sample::expression::Expression;
    pub use crate::sample::quality::{Calibration, Uniformity};
}

/// Numbers in text for people.
pub mod numbers {
    pub use crate::numbers::{Counted, Grouped};
}

/// Parallel loops.
pub mod threads {
    pub use crate::threads::{by_all, processors};
}
