//! A page: a small filter in sectors, each with a checksum.
//!
//! ```text
//!   page    | sector | sector | ... | sector |            4096 bytes each
//!   sector  | line 0 | line 1 | ... | line 62 | checksum, zeros |
//! ```
//!
//! Pages are overwritten in place, and a crash may leave some of a page's sectors with their
//! old contents and the others with the new. Bits are only ever set, so both contain every key
//! inserted before the last `sync`: a torn page needs no repair, as long as each sector is entirely old or
//! new. The checksums verify that, which is why each sector has one. They also let a single
//! probe check just the 4096 bytes it has read.
//!
//! The checksum of a sector covers its number, so a sector written to the wrong place is
//! detected. A sector of a page that was never written is all zeros, including its checksum.
//!
//! The paper has neither checksums nor crash recovery. Cost: one line in 64, and the time of
//! XXH3 over what is read and written.

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use crate::bits::{self, LINE_WORDS, Size};
use crate::hash::{GOLDEN, Independent, KirschMitzenmacher, Start};
use crate::{Derivation, Layout};

use super::geometry::{Geometry, Spread};

/// The unit of atomic writes, in bytes.
pub(super) const SECTOR: u64 = 4096;
/// Lines of a sector that contain bits.
pub(super) const LINES: u64 = SECTOR / 64 - 1;

const SECTOR_WORDS: usize = SECTOR as usize / 8;
/// Words of a sector that contain bits; the checksum follows.
const BIT_WORDS: usize = LINES as usize * LINE_WORDS;

/// The condition of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sector {
    /// Bits with a matching checksum.
    Whole,
    /// All zero: never written.
    Blank,
    /// Neither of the above.
    Damaged,
}

/// Examines the sector that should be number `number` of the file.
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

/// Examines a whole page and returns the first bad sector, if any. Blank sectors are fine
/// unless the page is known to have been written.
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

/// Converts entries to bits: the layout of a geometry, selected once.
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
/// known length are read with one instruction.
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
            // A geometry refuses split blocks.
            (Layout::Blocked | Layout::SplitBlock, _) => Marks::Lines,
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

    /// Sets the bits of all entries in `waiting`, each `width` bytes long, without gaps.
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

    /// Tests each entry in `waiting` against the page. An entry is the first `len` of every
    /// `width` bytes.
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

    /// Calls `each` on the positions of one entry in its page, counting checksum lines, until
    /// it returns false.
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

/// Returns the first `len` bytes, 1 to 8, as a number.
#[inline(always)]
fn value<const N: usize>(bytes: &[u8; N], len: usize) -> u64 {
    // A copy of constant length and a mask: a length known only at run time would be a function
    // call.
    let mut long = [0; 8];
    let most = N.min(8);
    long[..most].copy_from_slice(&bytes[..most]);
    u64::from_le_bytes(long) & (u64::MAX >> (64 - 8 * len as u32))
}
