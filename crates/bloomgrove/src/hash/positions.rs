//! From a digest to the k bits of a key.
//!
//! ```text
//!   Independent          position i = scale(x_i, bits), x_0 = lo,
//!                        x_(i+1) = (x_i turned by 23 bits) + (hi | 1)
//!   KirschMitzenmacher   position i = (lo + i * remix(hi)) mod bits
//!   blocked layout       line = scale(lo, lines), bits in the line from hi
//!   affine family        position i = ((a_i x + b_i) mod p) mod bits
//! ```
//!
//! `scale(h, n)` is the upper half of `h * n`. The turn is what makes the first
//! kind independent: without it, each key's positions would be a walk with one
//! step width, as in the second kind. With it the rate of false positives is that
//! of theory from about 1000 bits on (`bloomgrove hash derivation`). We tried a
//! multiplication in place of the turn: no better, and slower.
//!
//! Kirsch and Mitzenmacher (seed document 002, section 4) save k - 2 hashes and
//! lose nothing as bits grow, but a key whose `hi` falls on 0, or on a divisor
//! that brings the walk back on itself, has fewer than k distinct bits:
//! `bloomgrove hash derivation` measures how often. Here both cost about the
//! same, since either derives from one digest.

use super::{Affine, AnyHasher, Digest, Family, Hasher, Xxh3Hasher, remix, scale};
use crate::bits::{LINE_BITS, Pattern, Slot, Walk};
use crate::{Layout, MAX_HASHES, Params};

/// How k positions come from one digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Derivation {
    /// Each position mixed anew: the default.
    Independent,
    /// Double hashing, `h1 + i * h2`.
    KirschMitzenmacher,
}

impl Derivation {
    /// The name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Derivation::Independent => "independent",
            Derivation::KirschMitzenmacher => "kirsch-mitzenmacher",
        }
    }
}

/// A walk through the standard layout that a digest starts.
pub trait Start: Walk {
    /// The walk of a digest, below `bits`.
    fn start(digest: Digest, bits: u64) -> Self;
}

/// How far the hash is turned between two positions: the next one comes from
/// bits that the last did not use, and 23 and 64 share no factor.
const TURN: u32 = 23;

/// [`Derivation::Independent`], position by position.
#[derive(Clone, Copy)]
pub struct Independent {
    at: u64,
    step: u64,
}

impl Start for Independent {
    #[inline(always)]
    fn start(digest: Digest, _: u64) -> Self {
        Self {
            at: digest.lo,
            step: digest.hi | 1,
        }
    }
}

impl Walk for Independent {
    #[inline(always)]
    fn next(&mut self, bits: u64) -> u64 {
        let position = scale(self.at, bits);
        self.at = self.at.rotate_left(TURN).wrapping_add(self.step);
        position
    }
}

/// [`Derivation::KirschMitzenmacher`], position by position.
#[derive(Clone, Copy)]
pub struct KirschMitzenmacher {
    at: u64,
    step: u64,
}

impl Start for KirschMitzenmacher {
    #[inline(always)]
    fn start(digest: Digest, bits: u64) -> Self {
        // The remainder, not `scale`: folding relies on (x mod 2n) mod n = x mod n.
        Self {
            at: digest.lo % bits,
            step: remix(digest.hi) % bits,
        }
    }
}

impl Walk for KirschMitzenmacher {
    #[inline(always)]
    fn next(&mut self, bits: u64) -> u64 {
        let position = self.at;
        // Both are below `bits`, so one subtraction is the remainder.
        self.at += self.step;
        if self.at >= bits {
            self.at -= bits;
        }
        position
    }
}

/// Which line a digest falls in, and the hash of its pattern there.
#[inline(always)]
pub(crate) fn slot(digest: Digest, lines: u64) -> Slot {
    Slot {
        line: scale(digest.lo, lines),
        hash: digest.hi,
    }
}

/// The positions of one key, whatever the parameters.
pub(crate) enum Positions<'p> {
    Independent(Independent),
    KirschMitzenmacher(KirschMitzenmacher),
    Blocked(Slot),
    Affine { functions: &'p Affine, residue: u64 },
}

/// Calls `each` with the positions of a key, until it says false; whether it never did.
#[inline(always)]
pub fn each_position(params: &Params, bytes: &[u8], each: impl FnMut(u64) -> bool) -> bool {
    Positions::new(params, bytes).all(params, each)
}

impl<'p> Positions<'p> {
    #[inline(always)]
    pub(crate) fn new(params: &'p Params, bytes: &[u8]) -> Self {
        let seed = params.seed();
        let digest = match params.family() {
            // In place: a call would cost a short key as much as its hash.
            Family::Xxh3 => Xxh3Hasher { seed }.digest(bytes),
            Family::Affine(functions) => {
                return Positions::Affine {
                    functions,
                    residue: functions.residue(bytes),
                };
            }
            family => AnyHasher { family, seed }.digest(bytes),
        };
        let bits = params.bits();
        match (params.layout(), params.derivation()) {
            (Layout::Blocked, _) => Positions::Blocked(slot(digest, bits / LINE_BITS)),
            (Layout::Standard, Derivation::Independent) => {
                Positions::Independent(Independent::start(digest, bits))
            }
            (Layout::Standard, Derivation::KirschMitzenmacher) => {
                Positions::KirschMitzenmacher(KirschMitzenmacher::start(digest, bits))
            }
        }
    }

    /// Whether `each` holds for every position, asked in order until one fails.
    #[inline(always)]
    pub(crate) fn all(self, params: &Params, mut each: impl FnMut(u64) -> bool) -> bool {
        let (bits, hashes) = (params.bits(), params.hashes());
        match self {
            Positions::Independent(mut walk) => (0..hashes).all(|_| each(walk.next(bits))),
            Positions::KirschMitzenmacher(mut walk) => (0..hashes).all(|_| each(walk.next(bits))),
            Positions::Blocked(slot) => {
                (0..hashes).all(|i| each(slot.line * LINE_BITS + Pattern::position(slot.hash, i)))
            }
            Positions::Affine { functions, residue } => {
                (0..hashes).all(|i| each(functions.position(i, residue, bits)))
            }
        }
    }

    /// The first position and the second; twice the first if there is one only.
    #[inline(always)]
    pub(crate) fn first_two(self, params: &Params) -> (u64, u64) {
        let mut found = (0, None);
        let mut first = true;
        self.all(params, |position| {
            match first {
                true => found.0 = position,
                false => found.1 = Some(position),
            }
            std::mem::take(&mut first)
        });
        (found.0, found.1.unwrap_or(found.0))
    }

    /// Does `each` for every position; true if it said true for any.
    #[inline(always)]
    pub(crate) fn any_of_all(self, params: &Params, mut each: impl FnMut(u64) -> bool) -> bool {
        let mut any = false;
        self.all(params, |position| {
            any |= each(position);
            true
        });
        any
    }
}

/// A key hashed once, for testing against many filters of equal [`Params`].
///
/// ```
/// use bloomgrove::{Filter, Params};
///
/// let params = Params::for_items(1000, 0.01)?;
/// let filters: Vec<Filter> = (0..3)
///     .map(|_| Filter::new(params.clone()))
///     .collect::<Result<_, _>>()?;
/// let probe = params.probe("key");
/// assert!(!filters.iter().any(|filter| filter.contains_probe(&probe)));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone)]
pub struct Probe {
    fingerprint: u64,
    hashes: u32,
    positions: [u64; MAX_HASHES as usize],
}

impl Probe {
    pub(crate) fn new(params: &Params, bytes: &[u8]) -> Self {
        let mut positions = [0; MAX_HASHES as usize];
        let mut room = positions.iter_mut();
        Positions::new(params, bytes).all(params, |position| {
            room.next().map(|out| *out = position).is_some()
        });
        Self {
            fingerprint: params.fingerprint(),
            hashes: params.hashes(),
            positions,
        }
    }

    /// That of the parameters it was made with ([`Params::fingerprint`]).
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The k positions, in the order of the hash functions; they may repeat.
    pub fn positions(&self) -> &[u64] {
        &self.positions[..self.hashes as usize]
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Probe").field(&self.positions()).finish()
    }
}
