//! The 512-bit line: the pattern of k bits that one key sets in one cache line.
//!
//! ```text
//!   hash   |63 62 61|60 59 58|57 .. 52| ... |15 .. 10|9 .. 0|
//!            first    unused   lane 7          lane 0
//!   line   [ 64 bits ][ 64 bits ][ ... 8 lanes ... ][ 64 bits ]
//! ```
//!
//! Bit i goes to lane `(first + i) mod 8`, at the position given by six bits of the hash. With
//! k = 8, every lane gets one bit. With fewer, the `first` field distributes the lanes evenly.
//! With more (up to 16), a second round takes its positions from the hash mixed once more.
//!
//! Because each lane has one bit, instead of all bits being anywhere, one vector shift computes
//! the whole pattern. The price in false positives is what `tune` calls the cost of the blocked
//! layout.

/// Words in a line.
pub const LINE_WORDS: usize = 8;
/// Bits in a line.
pub(crate) const LINE_BITS: u64 = 512;
/// Lanes in a line; each is one word.
pub(crate) const LANES: u32 = 8;

const PLACES_SHIFT: u32 = 10;
const PLACE_BITS: u32 = 6;
const FIRST_SHIFT: u32 = 61;

/// Where a key goes in the blocked layout: its line, and the hash that determines its
/// [`Pattern`].
#[derive(Clone, Copy, Default)]
pub(crate) struct Slot {
    pub(crate) line: u64,
    pub(crate) hash: u64,
}

/// The bits of one key in one line.
#[derive(Clone, Copy)]
pub(crate) struct Pattern([u64; LINE_WORDS]);

impl Pattern {
    /// Creates the pattern of `hashes` bits, 1 to 16.
    #[inline(always)]
    pub(crate) fn new(hash: u64, hashes: u32) -> Self {
        // By far the most common case, and cheaper without selecting lanes.
        if hashes == LANES {
            return Self::full(hash);
        }
        let first = first_lane(hash);
        let mut pattern = Self::full(hash).only(first, hashes);
        if hashes > LANES {
            let more = Self::full(second_round(hash)).only(first, hashes - LANES);
            for (word, more) in pattern.0.iter_mut().zip(more.0) {
                *word |= more;
            }
        }
        pattern
    }

    /// Creates the pattern of these positions, as far as they are in the line.
    #[inline(always)]
    pub(crate) fn of(positions: &[u64]) -> Self {
        let mut lanes = [0; LINE_WORDS];
        for &position in positions {
            lanes[(position / 64) as usize % LINE_WORDS] |= 1 << (position % 64);
        }
        Self(lanes)
    }

    /// Creates a pattern with one bit in every lane, for eight hashes.
    #[inline(always)]
    fn full(hash: u64) -> Self {
        let mut lanes = [0; LINE_WORDS];
        for (lane, word) in lanes.iter_mut().enumerate() {
            *word = 1 << place(hash, lane as u32);
        }
        Self(lanes)
    }

    /// Keeps `count` lanes, starting at `first` and wrapping around.
    #[inline(always)]
    fn only(mut self, first: u32, count: u32) -> Self {
        for (lane, word) in self.0.iter_mut().enumerate() {
            let used = ((lane as u32).wrapping_sub(first) % LANES) < count;
            *word &= u64::from(used).wrapping_neg();
        }
        self
    }

    #[inline(always)]
    pub(crate) fn is_in(&self, line: &[u64; LINE_WORDS]) -> bool {
        let mut missing = 0;
        for (want, have) in self.0.iter().zip(line) {
            missing |= want & !have;
        }
        missing == 0
    }

    /// Adds the pattern to a line; returns true if any bit was not set before.
    #[inline(always)]
    pub(crate) fn add_to(&self, line: &mut [u64; LINE_WORDS]) -> bool {
        let mut fresh = 0;
        for (word, add) in line.iter_mut().zip(self.0) {
            fresh |= add & !*word;
            *word |= add;
        }
        fresh != 0
    }

    /// Returns the words of the pattern, lane by lane.
    pub(crate) fn lanes(&self) -> [u64; LINE_WORDS] {
        self.0
    }

    /// Returns the position of bit `i` of the key in the line, 0 to 511.
    #[inline(always)]
    pub(crate) fn position(hash: u64, i: u32) -> u64 {
        let lane = (first_lane(hash) + i) % LANES;
        let round = if i < LANES { hash } else { second_round(hash) };
        u64::from(lane * 64 + place(round, lane))
    }
}

#[inline(always)]
fn place(hash: u64, lane: u32) -> u32 {
    (hash >> (PLACES_SHIFT + PLACE_BITS * lane)) as u32 & 63
}

#[inline(always)]
fn first_lane(hash: u64) -> u32 {
    (hash >> FIRST_SHIFT) as u32
}

#[inline(always)]
fn second_round(hash: u64) -> u64 {
    crate::mix::mix(hash)
}
