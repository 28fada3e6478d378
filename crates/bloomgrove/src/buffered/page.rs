//! A page: a small filter in sectors that each carry their own sum.
//!
//! ```text
//!   page    | sector | sector | ... | sector |            4096 bytes each
//!   sector  | line 0 | line 1 | ... | line 62 | sum, zeros |
//! ```
//!
//! Pages are written over in place, and a crash may leave any of a page's sectors as they
//! were and the others as they were to be. Bits are only ever set, so both hold every key of
//! the last `sync`: a torn page needs no repair, as long as each sector is one or the other.
//! That is what the sums tell, and why each sector has its own. A sum also lets a single
//! probe check the 4096 bytes it has read, and nothing more.
//!
//! A sector counts its number into its sum: one written to the wrong place is noticed.
//! A sector of a page that was never written is all zero, sum included.
//!
//! Not in the paper, which has neither sums nor crashes. Cost: one line in 64, and the time
//! of XXH3 over what is read and written.

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use crate::bits::{self, LINE_WORDS, Size};
use crate::hash::{GOLDEN, Independent, KirschMitzenmacher, Start};
use crate::{Derivation, Layout};

use super::geometry::{Geometry, Spread};

/// Bytes that reach the disk together or not at all.
pub(super) const SECTOR: u64 = 4096;
/// Lines of a sector that hold bits.
pub(super) const LINES: u64 = SECTOR / 64 - 1;

const SECTOR_WORDS: usize = SECTOR as usize / 8;
/// Words that hold bits; the sum follows.
const BIT_WORDS: usize = LINES as usize * LINE_WORDS;

/// What the bytes of a sector are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sector {
    /// Bits with the right sum.
    Whole,
    /// All zero: never written.
    Blank,
    /// Neither.
    Damaged,
}

/// Looks at the sector that should be number `number` of the file.
pub(super) fn look(words: &[u64], number: u64) -> Sector {
    let (held, rest) = words[BIT_WORDS..].split_at(1);
    if held[0] == sum(words, number) && rest.iter().all(|&word| word == 0) {
        Sector::Whole
    } else if words.iter().all(|&word| word == 0) {
        Sector::Blank
    } else {
        Sector::Damaged
    }
}

fn sum(words: &[u64], number: u64) -> u64 {
    let number = (number + 1).wrapping_mul(GOLDEN);
    xxh3_64(words[..BIT_WORDS].as_bytes()) ^ number
}

/// Looks at a whole page; the first sector that is not as it should be, if any. Blank ones
/// are fine unless the page is known to have been written.
pub(super) fn check(words: &[u64], first: u64, written: bool) -> Option<u64> {
    let sectors = words.chunks_exact(SECTOR_WORDS);
    (first..)
        .zip(sectors)
        .find(|&(number, sector)| match look(sector, number) {
            Sector::Whole => false,
            Sector::Blank => written,
            Sector::Damaged => true,
        })
        .map(|(number, _)| number)
}

/// Writes the checksum of every sector of a page.
pub(super) fn write_checksums(words: &mut [u64], first: u64) {
    for (number, sector) in (first..).zip(words.chunks_exact_mut(SECTOR_WORDS)) {
        sector[BIT_WORDS] = sum(sector, number);
    }
}

/// How entries become bits: the layout of a geometry, chosen once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    spread: Spread,
    kind: Marks,
}

#[derive(Clone, Copy, Debug)]
enum Marks {
    Lines,
    Walks,
    Doubles,
}

/// Calls `$self.$method::<N>` with N the constant equal to `$bytes`, 3 to 10: entries of a
/// known length are read by one instruction.
macro_rules! with_bytes {
    ($bytes:expr, $self:ident.$method:ident($($arg:expr),*)) => {
        match $bytes {
            3 => $self.$method::<3>($($arg),*),
            4 => $self.$method::<4>($($arg),*),
            5 => $self.$method::<5>($($arg),*),
            6 => $self.$method::<6>($($arg),*),
            7 => $self.$method::<7>($($arg),*),
            8 => $self.$method::<8>($($arg),*),
            9 => $self.$method::<9>($($arg),*),
            _ => $self.$method::<10>($($arg),*),
        }
    };
}

impl Marker {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let kind = match (geometry.params().layout(), geometry.params().derivation()) {
            (Layout::Blocked, _) => Marks::Lines,
            (Layout::Standard, Derivation::Independent) => Marks::Walks,
            (Layout::Standard, Derivation::KirschMitzenmacher) => Marks::Doubles,
        };
        Self {
            spread: geometry.spread(),
            kind,
        }
    }

    fn size(&self) -> Size {
        Size {
            bits: self.spread.bits,
            hashes: self.spread.hashes,
        }
    }

    /// Sets the bits of all entries in `waiting`, which are `width` bytes apart and have
    /// `width` bytes.
    pub(super) fn insert(&self, page: &mut [u64], waiting: &[u8], width: usize) {
        with_bytes!(width, self.insert_by(page, waiting));
    }

    fn insert_by<const N: usize>(&self, page: &mut [u64], waiting: &[u8]) {
        let entries = waiting.as_chunks::<N>().0;
        let spread = self.spread;
        match self.kind {
            Marks::Lines => bits::insert_lines(page, spread.hashes, entries, |entry| {
                spread.slot(value(entry, N))
            }),
            Marks::Walks => self.insert_walks::<Independent, N>(page, entries),
            Marks::Doubles => self.insert_walks::<KirschMitzenmacher, N>(page, entries),
        }
    }

    fn insert_walks<W: Start, const N: usize>(&self, page: &mut [u64], entries: &[[u8; N]]) {
        let spread = self.spread;
        bits::insert_walks(page, self.size(), entries, |entry| {
            spread.walk::<W>(value(entry, N))
        });
    }

    /// For each entry in `waiting`, whether the page has it. Entries are the first `len` of
    /// every `width` bytes.
    pub(super) fn contains(
        &self,
        page: &[u64],
        waiting: &[u8],
        width: usize,
        len: usize,
        found: &mut [bool],
    ) {
        with_bytes!(width, self.contains_by(page, waiting, len, found));
    }

    fn contains_by<const N: usize>(
        &self,
        page: &[u64],
        waiting: &[u8],
        len: usize,
        found: &mut [bool],
    ) {
        let entries = waiting.as_chunks::<N>().0;
        let spread = self.spread;
        match self.kind {
            Marks::Lines => bits::contains_lines(
                page,
                spread.hashes,
                entries,
                |entry| spread.slot(value(entry, len)),
                found,
            ),
            Marks::Walks => self.contains_walks::<Independent, N>(page, entries, len, found),
            Marks::Doubles => {
                self.contains_walks::<KirschMitzenmacher, N>(page, entries, len, found);
            }
        }
    }

    fn contains_walks<W: Start, const N: usize>(
        &self,
        page: &[u64],
        entries: &[[u8; N]],
        len: usize,
        found: &mut [bool],
    ) {
        let spread = self.spread;
        bits::contains_walks(
            page,
            self.size(),
            entries,
            |entry| spread.walk::<W>(value(entry, len)),
            found,
        );
    }

    /// The positions of one entry in its page, sums counted, until `each` says no.
    pub(super) fn all(&self, entry: u64, mut each: impl FnMut(u64) -> bool) -> bool {
        use crate::bits::{LINE_BITS, Pattern, Walk};
        let spread = self.spread;
        let mut walk_all = |walk: &mut dyn FnMut() -> u64| (0..spread.hashes).all(|_| each(walk()));
        match self.kind {
            Marks::Lines => {
                let slot = spread.slot(entry);
                let mut i = 0..;
                walk_all(&mut || {
                    let place = Pattern::position(slot.hash, i.next().unwrap_or(0));
                    slot.line * LINE_BITS + place
                })
            }
            Marks::Walks => {
                let mut walk = spread.walk::<Independent>(entry);
                walk_all(&mut || walk.next(spread.bits))
            }
            Marks::Doubles => {
                let mut walk = spread.walk::<KirschMitzenmacher>(entry);
                walk_all(&mut || walk.next(spread.bits))
            }
        }
    }
}

/// The first `len` bytes as a number, 1 to 8.
#[inline(always)]
fn value<const N: usize>(bytes: &[u8; N], len: usize) -> u64 {
    // A copy of constant length, and a mask: a length known only at run time is a call.
    let mut long = [0; 8];
    let most = N.min(8);
    long[..most].copy_from_slice(&bytes[..most]);
    u64::from_le_bytes(long) & (u64::MAX >> (64 - 8 * len as u32))
}
