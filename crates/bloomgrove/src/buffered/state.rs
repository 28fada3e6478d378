//! The state of a page file: how many keys are durable, and whether it is finished.
//!
//! ```text
//!   | state A | state B | page 0 | page 1 | ...       the intact one with the higher number counts
//! ```
//!
//! A new state overwrites the older of the two, so a crash while writing leaves the other
//! intact. FORMAT section 14.

use xxhash_rust::xxh3::Xxh3Default;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::page::SECTOR;

const MARK: [u8; 8] = *b"GRVSTATE";

/// Serial numbers and key counts stay below this, so adding to them never overflows.
const MOST: u64 = 1 << 62;

/// The phase of a page file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Unfinished, with no keys known to have been added since the last sync.
    Synced,
    /// Keys are being added now.
    Building,
    /// Keys were being added, but the next sync did not complete. All keys inserted before the
    /// last sync are present, and possibly some more.
    Interrupted,
    /// Finished: no more keys can be added.
    Finished,
}

impl Phase {
    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Synced => "unfinished",
            Phase::Building => "being built",
            Phase::Interrupted => "interrupted",
            Phase::Finished => "finished",
        }
    }
}

display_as_name!(Phase);

/// FORMAT section 14.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Fixed {
    mark: [u8; 8],
    number: U64,
    keys: U64,
    phase: U32,
    reserved: U32,
    reserved_2: [u8; 24],
    checksum: U64,
}

const FIXED: usize = size_of::<Fixed>();

/// The state as of the last sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Increases with each state written.
    pub(super) number: u64,
    /// The number of keys inserted before the last sync.
    pub(super) keys: u64,
    pub(super) phase: Phase,
    /// A bit for each page: whether it has been written.
    written: Vec<u8>,
}

impl State {
    pub(super) fn new(pages: u64) -> Self {
        Self {
            number: 1,
            keys: 0,
            phase: Phase::Synced,
            written: vec![0; pages.div_ceil(8) as usize],
        }
    }

    /// Returns the size of a state on disk in bytes.
    pub(super) fn len(pages: u64) -> u64 {
        (FIXED as u64 + pages.div_ceil(8)).next_multiple_of(SECTOR)
    }

    pub(super) fn is_written(&self, page: usize) -> bool {
        self.written[page / 8] >> (page % 8) & 1 != 0
    }

    pub(super) fn set_written(&mut self, page: usize) {
        self.written[page / 8] |= 1 << (page % 8);
    }

    pub(super) fn written_pages(&self) -> u64 {
        let ones = self.written.iter().map(|byte| u64::from(byte.count_ones()));
        ones.sum()
    }

    /// Encodes the state into zeroed bytes of length [`len`](Self::len).
    pub(super) fn encode(&self, bytes: &mut [u8]) {
        let mut fixed = Fixed {
            mark: MARK,
            number: self.number.into(),
            keys: self.keys.into(),
            phase: match self.phase {
                Phase::Synced => 0,
                Phase::Building | Phase::Interrupted => 1,
                Phase::Finished => 2,
            }
            .into(),
            reserved: 0.into(),
            reserved_2: [0; 24],
            checksum: 0.into(),
        };
        let (head, rest) = bytes.split_at_mut(FIXED);
        rest.fill(0);
        rest[..self.written.len()].copy_from_slice(&self.written);
        fixed.checksum = sum(&fixed, rest).into();
        head.copy_from_slice(fixed.as_bytes());
    }

    /// Decodes a state; `None` if it is not an intact state of a filter with this many pages.
    pub(super) fn decode(bytes: &[u8], pages: u64) -> Option<Self> {
        let (fixed, rest) = Fixed::read_from_prefix(bytes).ok()?;
        let right = fixed.mark == MARK
            && fixed.checksum.get() == sum(&fixed, rest)
            && fixed.number.get() < MOST
            && fixed.keys.get() < MOST
            && fixed.reserved == 0
            && fixed.reserved_2 == [0; 24];
        let (written, padding) = rest.split_at_checked(pages.div_ceil(8) as usize)?;
        let beyond =
            !pages.is_multiple_of(8) && written.last().is_some_and(|last| last >> (pages % 8) != 0);
        if !right || beyond || padding.iter().any(|&byte| byte != 0) {
            return None;
        }
        Some(Self {
            number: fixed.number.get(),
            keys: fixed.keys.get(),
            phase: match fixed.phase.get() {
                0 => Phase::Synced,
                1 => Phase::Interrupted,
                2 => Phase::Finished,
                _ => return None,
            },
            written: written.to_vec(),
        })
    }
}

/// Returns the checksum of all bytes except the checksum itself.
fn sum(fixed: &Fixed, rest: &[u8]) -> u64 {
    let mut sum = Xxh3Default::new();
    sum.update(&fixed.as_bytes()[..FIXED - 8]);
    sum.update(rest);
    sum.digest()
}
