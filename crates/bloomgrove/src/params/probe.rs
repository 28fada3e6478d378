//! The positions of a key in a filter.

use super::{Layout, Params, Route};
use crate::bits::{LINE_BITS, Pattern, Slot, Walk};
use crate::hash::{
    Affine, AnyHasher, Derivation, Digest, Family, Hasher, Independent, KirschMitzenmacher,
    MAX_HASHES, SplitBlock, Start, Xxh3Hasher, slot,
};

/// The positions of one key, for any parameters.
pub(crate) enum Positions<'p> {
    Independent(Independent),
    KirschMitzenmacher(KirschMitzenmacher),
    Blocked(Slot),
    SplitBlock(SplitBlock),
    Affine { functions: &'p Affine, residue: u64 },
}

/// Calls `each` with the positions of a key until it returns false. Returns whether it never did.
#[inline(always)]
pub fn each_position(params: &Params, bytes: &[u8], each: impl FnMut(u64) -> bool) -> bool {
    Positions::new(params, bytes).all(params, each)
}

/// Writes the positions of a key to `room`, which has a place for each.
#[inline(always)]
pub(crate) fn write_positions(params: &Params, bytes: &[u8], room: &mut [u64]) {
    if let Route::Standard(_) = params.route() {
        let (bits, seed) = (params.bits(), params.seed());
        let mut walk = Independent::start(Xxh3Hasher { seed }.digest(bytes), bits);
        return room.iter_mut().for_each(|out| *out = walk.next(bits));
    }
    Positions::new(params, bytes).write(params, room);
}

/// Returns the digest of a key, from which its positions follow for any family but the affine one.
#[inline(always)]
pub(crate) fn digest(params: &Params, bytes: &[u8]) -> Digest {
    let seed = params.seed();
    match params.family() {
        // Inlined: for a short key, a call would cost as much as the hash.
        Family::Xxh3 => Xxh3Hasher { seed }.digest(bytes),
        family => AnyHasher { family, seed }.digest(bytes),
    }
}

/// Writes the positions of a key with this digest to `room`, which has a place for each.
#[inline(always)]
pub(crate) fn write_derived(params: &Params, digest: Digest, room: &mut [u64]) {
    Positions::derived(params, digest).write(params, room);
}

/// Same as [`write_positions`], for one class of filters after another: takes the digest of the last class if it is the same,
/// and returns it for the next.
#[inline(always)]
pub(crate) fn write_in_turn<'p>(
    params: &'p Params,
    bytes: &[u8],
    last: Option<(&'p Params, Digest)>,
    room: &mut [u64],
) -> Option<(&'p Params, Digest)> {
    if matches!(params.family(), Family::Affine(_)) {
        write_positions(params, bytes, room);
        return last;
    }
    let digest = match last {
        Some((of, digest)) if of.has_digests_of(params) => digest,
        _ => digest(params, bytes),
    };
    write_derived(params, digest, room);
    Some((params, digest))
}

impl<'p> Positions<'p> {
    #[inline(always)]
    pub(crate) fn new(params: &'p Params, bytes: &[u8]) -> Self {
        match params.family() {
            Family::Affine(functions) => Positions::Affine {
                functions,
                residue: functions.residue(bytes),
            },
            _ => Self::derived(params, digest(params, bytes)),
        }
    }

    #[inline(always)]
    fn derived(params: &Params, digest: Digest) -> Self {
        let bits = params.bits();
        match (params.layout(), params.derivation()) {
            (Layout::Blocked, _) => Positions::Blocked(slot(digest, bits / LINE_BITS)),
            (Layout::SplitBlock, _) => Positions::SplitBlock(SplitBlock::start(digest, bits)),
            (Layout::Standard, Derivation::Independent) => {
                Positions::Independent(Independent::start(digest, bits))
            }
            (Layout::Standard, Derivation::KirschMitzenmacher) => {
                Positions::KirschMitzenmacher(KirschMitzenmacher::start(digest, bits))
            }
        }
    }

    /// Returns whether `each` is true for every position, calling it in order until it returns
    /// false.
    #[inline(always)]
    pub(crate) fn all(self, params: &Params, mut each: impl FnMut(u64) -> bool) -> bool {
        let (bits, hashes) = (params.bits(), params.hashes());
        match self {
            Positions::Independent(mut walk) => (0..hashes).all(|_| each(walk.next(bits))),
            Positions::KirschMitzenmacher(mut walk) => (0..hashes).all(|_| each(walk.next(bits))),
            Positions::SplitBlock(mut walk) => (0..hashes).all(|_| each(walk.next(bits))),
            Positions::Blocked(slot) => {
                (0..hashes).all(|i| each(slot.line * LINE_BITS + Pattern::position(slot.hash, i)))
            }
            Positions::Affine { functions, residue } => {
                (0..hashes).all(|i| each(functions.position(i, residue, bits)))
            }
        }
    }

    /// Writes all positions to `room`, which has a place for each.
    #[inline(always)]
    fn write(self, params: &Params, room: &mut [u64]) {
        let mut room = room.iter_mut();
        self.all(params, |position| {
            room.next().map(|out| *out = position).is_some()
        });
    }

    /// Returns the first two positions; if there is only one, returns it twice.
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

    /// Calls `each` for every position, and returns whether any call returned true.
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

/// A key that has been hashed once, to be tested against many filters with equal [`Params`].
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
        write_positions(params, bytes, &mut positions[..params.hashes() as usize]);
        Self {
            fingerprint: params.fingerprint(),
            hashes: params.hashes(),
            positions,
        }
    }

    /// Returns whether the probe was made with these parameters. It can only be tested against
    /// filters that have them.
    #[inline]
    pub fn is_of(&self, params: &Params) -> bool {
        self.fingerprint == params.fingerprint()
    }

    /// Returns the k positions, in the order of the hash functions. They may repeat.
    pub fn positions(&self) -> &[u64] {
        &self.positions[..self.hashes as usize]
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Probe").field(&self.positions()).finish()
    }
}
