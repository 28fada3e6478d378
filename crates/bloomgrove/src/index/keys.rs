//! The keys of a query, and their positions in the filters of each class.
//!
//! ```text
//!                  / positions in 512 bits
//!   key -- digest -- positions in 1024 bits
//!                  \ positions in 1536 bits ...
//! ```
//!
//! Filters of many sizes form as many classes, but nearly always have one family and seed. A key is
//! hashed again only for a class whose family or seed differs from that of the class before.

use std::ops::Range;

use crate::hash::Digest;
use crate::params::probe::{digest, write_derived, write_positions};
use crate::{Family, Key, Params};

/// The number of keys whose memory is prefetched at once: more reads than a core can have in
/// flight.
pub(super) const BATCH: usize = 32;

/// Keys of any type. The code that searches for them is compiled once, in this crate and with its options.
/// If it were generic, it would be compiled in the caller's crate: a server that was optimised for size
/// answered a quarter fewer keys.
pub(super) trait Keys {
    fn len(&self) -> usize;
    /// Appends the positions of each key of a range.
    fn add_positions(&self, range: Range<usize>, params: &Params, positions: &mut Vec<u64>);
    /// Appends the digest of each key of a range. Not for the affine family.
    fn add_digests(&self, range: Range<usize>, params: &Params, digests: &mut Vec<Digest>);
}

impl<K: Key> Keys for &[K] {
    fn len(&self) -> usize {
        <[K]>::len(self)
    }

    fn add_positions(&self, range: Range<usize>, params: &Params, positions: &mut Vec<u64>) {
        add_positions(params, &self[range], positions);
    }

    fn add_digests(&self, range: Range<usize>, params: &Params, digests: &mut Vec<Digest>) {
        let digest = |key: &K| key.with_bytes(|bytes| digest(params, bytes));
        digests.extend(self[range].iter().map(digest));
    }
}

/// The numbers of the keys, in parts of [`BATCH`].
pub(super) fn batches(keys: &dyn Keys) -> impl Iterator<Item = Range<usize>> {
    let len = keys.len();
    let starts = (0..len).step_by(BATCH);
    starts.map(move |start| start..len.min(start + BATCH))
}

/// The digests of a batch of keys, for one class after another.
pub(super) struct Digests<'k, 'p> {
    keys: &'k dyn Keys,
    /// Which keys these belong to, and the parameters of the last class.
    of: Option<(Range<usize>, &'p Params)>,
    digests: Vec<Digest>,
}

impl<'k, 'p> Digests<'k, 'p> {
    pub(super) fn new(keys: &'k dyn Keys) -> Self {
        Self {
            keys,
            of: None,
            digests: Vec::new(),
        }
    }

    /// Appends the positions of each key of a range.
    pub(super) fn add_positions(
        &mut self,
        range: Range<usize>,
        params: &'p Params,
        positions: &mut Vec<u64>,
    ) {
        if matches!(params.family(), Family::Affine(_)) {
            return self.keys.add_positions(range, params, positions);
        }
        let same =
            |(of, last): &(Range<usize>, &Params)| *of == range && last.has_digests_of(params);
        if !self.of.as_ref().is_some_and(same) {
            self.digests.clear();
            self.keys
                .add_digests(range.clone(), params, &mut self.digests);
        }
        self.of = Some((range, params));
        let (hashes, start) = (params.hashes() as usize, positions.len());
        positions.resize(start + self.digests.len() * hashes, 0);
        let rooms = positions[start..].chunks_exact_mut(hashes);
        for (&digest, room) in self.digests.iter().zip(rooms) {
            write_derived(params, digest, room);
        }
    }
}

/// Computes the positions of a key. A [`Probe`](crate::Probe) has room for 64 of them, and copying
/// that is noticeable if the answer is no (41 ns instead of 30 ns in total).
#[inline(always)]
pub(super) fn with_positions<K: Key + ?Sized, R>(
    params: &Params,
    key: &K,
    then: impl FnOnce(&[u64]) -> R,
) -> R {
    const USUAL: usize = 16;
    let hashes = params.hashes() as usize;
    if hashes > USUAL {
        return then(params.probe(key).positions());
    }
    let mut positions = [0; USUAL];
    key.with_bytes(
        #[inline(always)]
        |bytes| write_positions(params, bytes, &mut positions[..hashes]),
    );
    then(&positions[..hashes])
}

/// Appends the positions of each key.
pub(super) fn add_positions<K: Key>(params: &Params, keys: &[K], positions: &mut Vec<u64>) {
    let (hashes, start) = (params.hashes() as usize, positions.len());
    positions.resize(start + keys.len() * hashes, 0);
    for (key, room) in keys.iter().zip(positions[start..].chunks_exact_mut(hashes)) {
        key.with_bytes(
            #[inline(always)]
            |bytes| write_positions(params, bytes, room),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use crate::hash::{Affine, Derivation};
    use crate::params::probe::write_in_turn;

    #[test]
    fn positions_do_not_depend_on_the_class_before() {
        let of = |bits, hashes| Params::builder(bits, hashes);
        let blocked = |bits, hashes| of(bits, hashes).layout(Layout::Blocked);
        let split = |bits| of(bits, 8).layout(Layout::SplitBlock);
        let sip = |key| of(1_000, 3).family(Family::SipHash { key: [key; 16] });
        let affine = Affine::seeded(9_973, 3, 1).unwrap();
        let params = [
            of(1_000, 3),
            of(2_000, 5),
            of(3_000, 6),
            of(1_000, 3).derivation(Derivation::KirschMitzenmacher),
            blocked(512, 6),
            blocked(5_120, 6),
            blocked(5_120, 8),
            blocked(51_200, 12),
            blocked(512, 6).seed(1),
            split(512),
            split(5_120),
            split(512).family(Family::Xxh64),
            of(1_000, 3).family(Family::Xxh3Wide),
            sip(1),
            sip(2),
            of(1_000, 3).family(Family::Affine(affine)),
        ]
        .map(|builder| builder.build().unwrap());
        let keys: Vec<u64> = (0..100).collect();
        let keys = &keys[..];
        for first in &params {
            for second in &params {
                let mut digests = Digests::new(&keys);
                for range in batches(&keys) {
                    let mut last = None;
                    for params in [first, second, first] {
                        let each = keys[range.clone()].iter().map(|key| params.probe(key));
                        let expected: Vec<u64> =
                            each.flat_map(|probe| probe.positions().to_vec()).collect();
                        let mut found = Vec::new();
                        digests.add_positions(range.clone(), params, &mut found);
                        assert_eq!(found, expected, "{params:?} after {first:?}");

                        let (one, hashes) = (keys[range.start], params.hashes() as usize);
                        found.truncate(hashes);
                        found.fill(0);
                        last = write_in_turn(params, &one.to_le_bytes(), last, &mut found);
                        assert_eq!(found, expected[..hashes], "{params:?} after {first:?}");
                    }
                }
            }
        }
    }
}
