//! The two methods that the sampling paper compares its tree with.
//!
//! ```text
//!   dictionary attack    every name --contains?--> members
//!
//!   HashInvert           set bits --invert h1..hk--> candidates --contains?--> members
//!                        unset bits --invert h1..hk--> not members; the rest are
//! ```
//!
//! Source: Sengupta et al. (sampling), section 4. Cost: the dictionary attack always tests M
//! names. [`HashInvert`] lists about M/m names per bit and function, and tests each once.
//!
//! Where we differ: sampling stores nothing. Reconstruction records the names already tested in a
//! bitmap of the namespace, M/8 bytes; the paper does not say how.
//!
//! Bad at: the dictionary attack is exact and uniform, but slow. [`HashInvert::sample`] is *not
//! uniform*: a member is drawn more often if it shares its bits with no other, and the paper does not
//! claim otherwise.

use std::ops::Range;

use rand::{Rng, RngExt};

use super::Operations;
use super::operations::members;
use bloomgrove::raw::bits::{self, Words};
use bloomgrove::raw::hash::Inverse;
use bloomgrove::{Affine, Family};
use bloomgrove::{Error, Filter};

/// A member drawn uniformly, by testing every name: the paper's DictionaryAttack with a reservoir
/// of one. `None` if no name is accepted.
///
/// ```
/// use bloomgrove_trees::bloom_sample_tree::{Operations, dictionary_sample};
/// use bloomgrove::{Filter, Params};
/// use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};
///
/// let mut filter = Filter::new(Params::for_items(10, 1e-9)?)?;
/// filter.insert_batch(&[4u64, 6]);
/// let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
/// let drawn = dictionary_sample(&filter, 0..16, &mut random, &mut Operations::default());
/// assert!(drawn == Some(4) || drawn == Some(6));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
pub fn dictionary_sample<S: AsRef<[u64]>>(
    query: &Filter<S>,
    names: impl IntoIterator<Item = u64>,
    random: &mut impl Rng,
    work: &mut Operations,
) -> Option<u64> {
    let mut reservoir = Reservoir::default();
    members(query, names, work, |name| reservoir.offer(name, random));
    reservoir.kept
}

/// Calls `each` for every name that the query accepts, in order: every member, and every false
/// positive.
pub fn dictionary_attack<S: AsRef<[u64]>>(
    query: &Filter<S>,
    names: impl IntoIterator<Item = u64>,
    work: &mut Operations,
    each: impl FnMut(u64),
) {
    members(query, names, work, each);
}

/// Keeps one of the names offered, each with the same probability.
#[derive(Default)]
pub(super) struct Reservoir {
    pub(super) kept: Option<u64>,
    offered: u64,
}

impl Reservoir {
    pub(super) fn offer(&mut self, name: u64, random: &mut impl Rng) {
        self.offered += 1;
        if random.random_range(0..self.offered) == 0 {
            self.kept = Some(name);
        }
    }
}

/// Which bits [`HashInvert::reconstruct`] inverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// The set ones, to candidates that are then tested: for sparse filters.
    Set,
    /// The unset ones, to names that are certainly absent; all others are members, and none is
    /// tested. For dense filters.
    Unset,
}

/// Finds members from the bits themselves, if the hash functions can be inverted: the paper's
/// HashInvert.
///
/// ```
/// use bloomgrove_trees::bloom_sample_tree::{Bits, HashInvert, Operations};
/// use bloomgrove::{Affine, Family, Filter, Params};
///
/// let functions = Affine::seeded(1_000_003, 3, 7)?;
/// let params = Params::builder(4096, 3).family(Family::Affine(functions)).build()?;
/// let mut filter = Filter::new(params)?;
/// filter.insert_batch(&[17u64, 23, 42]);
///
/// let invert = HashInvert::new(&filter, 0..100_000)?;
/// let mut found = Vec::new();
/// let mut work = Operations::default();
/// invert.reconstruct(Bits::Set, &mut work, |name| found.push(name))?;
/// assert!([17, 23, 42].iter().all(|name| found.contains(name)));
/// assert!(work.memberships < 2000); // the dictionary attack tests 100,000 names
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct HashInvert<'a, S> {
    query: &'a Filter<S>,
    functions: &'a Affine,
    inverses: Vec<Inverse>,
    names: Range<u64>,
    ones: u64,
}

impl<'a, S: AsRef<[u64]>> HashInvert<'a, S> {
    /// Prepares to invert the functions of `query`, for names of a range.
    ///
    /// # Errors
    /// [`Error::Closed`] if the functions of `query` are not affine: no others can be inverted.
    /// [`Error::Namespace`] if the range is empty.
    pub fn new(query: &'a Filter<S>, names: Range<u64>) -> Result<Self, Error> {
        let Family::Affine(functions) = query.params().family() else {
            let family = query.params().family();
            let what =
                format!("HashInvert requires affine functions, but this filter has {family}");
            return Err(Error::Closed { what });
        };
        if names.is_empty() {
            return Err(Error::namespace(format!("{names:?} has no names")));
        }
        let (bits, hashes) = (query.params().bits(), query.params().hashes());
        Ok(Self {
            query,
            functions,
            inverses: (0..hashes)
                .map(|i| Inverse::of(functions, i, bits))
                .collect(),
            names,
            ones: query.count_ones(),
        })
    }

    /// Draws a random set bit, lists all names that any function maps to it, and draws one of those
    /// that the query accepts. *Not uniform*: a member that shares its bits with others is drawn less
    /// often than one that does not.
    ///
    /// `None` if no bit is set, or no name of the range is a member on the bit drawn, which is
    /// possible if members are outside the range.
    pub fn sample(&self, random: &mut impl Rng, work: &mut Operations) -> Option<u64> {
        if self.ones == 0 {
            return None;
        }
        let position = nth_one(self.query.words(), random.random_range(0..self.ones))?;
        let mut reservoir = Reservoir::default();
        for (i, inverse) in (0..).zip(&self.inverses) {
            // The union of the candidates: a name that an earlier function also maps to this bit
            // has already been offered.
            let fresh = inverse
                .names(position, self.names.clone())
                .filter(|&name| !(0..i).any(|j| self.position(j, name) == position));
            members(self.query, fresh, work, |name| {
                reservoir.offer(name, random);
            });
        }
        reservoir.kept
    }

    /// Calls `each` once for every name of the range that the query accepts: in no particular order
    /// with [`Bits::Set`], in ascending order with [`Bits::Unset`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for one bit per name.
    pub fn reconstruct(
        &self,
        from: Bits,
        work: &mut Operations,
        mut each: impl FnMut(u64),
    ) -> Result<(), Error> {
        let len = self.names.end - self.names.start;
        let words = usize::try_from(len.div_ceil(64)).unwrap_or(usize::MAX);
        let mut seen = Words::zeroed(words)?;
        let seen = seen.as_mut();
        let mut see = |name: u64| bits::set(seen, name - self.names.start);
        match from {
            Bits::Set => {
                let candidates = self.query.ones().flat_map(|position| self.on(position));
                let fresh = candidates.filter(|&name| see(name));
                members(self.query, fresh, work, each);
            }
            Bits::Unset => {
                let words = self.query.words();
                let unset = (0..self.query.params().bits()).filter(|&p| !bits::get(words, p));
                for name in unset.flat_map(|position| self.on(position)) {
                    see(name);
                }
                (0..len)
                    .filter(|&offset| !bits::get(seen, offset))
                    .for_each(|offset| each(self.names.start + offset));
            }
        }
        Ok(())
    }

    /// The names that any function maps to `position`.
    fn on(&self, position: u64) -> impl Iterator<Item = u64> {
        self.inverses
            .iter()
            .flat_map(move |inverse| inverse.names(position, self.names.clone()))
    }

    fn position(&self, function: u32, name: u64) -> u64 {
        let residue = name % self.functions.modulus();
        let bits = self.query.params().bits();
        self.functions.position(function, residue, bits)
    }
}

/// The number of the set bit with `rank` set bits before it.
fn nth_one(words: &[u64], mut rank: u64) -> Option<u64> {
    for (i, &word) in words.iter().enumerate() {
        let ones = u64::from(word.count_ones());
        if rank < ones {
            let place = bits::ones(&[word]).nth(rank as usize)?;
            return Some(i as u64 * 64 + place);
        }
        rank -= ones;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloomgrove::Params;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    /// Filters of ten members each below 500: modulus prime, as printed in textbooks, with
    /// common factors, below the number of bits.
    fn filters() -> Vec<Filter> {
        let of = |pairs: &[(u64, u64)], modulus| Affine::new(pairs, modulus).unwrap();
        let cases = [
            (of(&[(37, 11), (201, 5), (44, 400)], 503), 97),
            (of(&[(1, 0), (5, 4)], 100), 100),
            (of(&[(6, 5), (4, 50), (9, 2)], 36), 30),
            (of(&[(9, 2), (5, 5)], 101), 200),
            (Affine::seeded(10_007, 3, 5).unwrap(), 64),
        ];
        let made = cases.into_iter().map(|(functions, bits)| {
            let hashes = functions.coefficients().len() as u32;
            let params = Params::builder(bits, hashes).family(Family::Affine(functions));
            let mut filter = Filter::new(params.build().unwrap()).unwrap();
            (0..10u64).for_each(|i| _ = filter.insert(&(i * 47 + i * i)));
            filter
        });
        made.collect()
    }

    fn attack(filter: &Filter, names: Range<u64>) -> Vec<u64> {
        let mut found = Vec::new();
        dictionary_attack(filter, names, &mut Operations::default(), |x| found.push(x));
        found
    }

    #[test]
    fn set_bits_and_unset_bits_give_what_the_dictionary_attack_gives() {
        for filter in filters() {
            for names in [0..500u64, 100..1700, 250..251] {
                let invert = HashInvert::new(&filter, names.clone()).unwrap();
                for from in [Bits::Set, Bits::Unset] {
                    let (mut found, mut work) = (Vec::new(), Operations::default());
                    invert
                        .reconstruct(from, &mut work, |name| found.push(name))
                        .unwrap();
                    if from == Bits::Set {
                        found.sort_unstable();
                        assert!(work.memberships <= names.end - names.start);
                    } else {
                        assert_eq!(work.memberships, 0);
                    }
                    assert_eq!(found, attack(&filter, names.clone()), "{}", filter.params());
                }
            }
        }
    }

    #[test]
    fn samples_by_inversion_are_members_and_reach_them_all() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for filter in filters() {
            let invert = HashInvert::new(&filter, 0..500).unwrap();
            let mut drawn: Vec<u64> = (0..20_000)
                .filter_map(|_| invert.sample(&mut random, &mut Operations::default()))
                .collect();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn, attack(&filter, 0..500), "{}", filter.params());
        }
    }

    #[test]
    fn a_name_twice_on_a_bit_is_one_candidate() {
        // Both functions map all even x that end in 4 to bit 4; one maps 2 and 6.
        let functions = Affine::new(&[(1, 0), (5, 4)], 10).unwrap();
        let params = Params::builder(10, 2).family(Family::Affine(functions));
        let mut filter = Filter::new(params.build().unwrap()).unwrap();
        filter.insert(&4u64);
        let invert = HashInvert::new(&filter, 0..10).unwrap();
        let (mut random, mut work) = (Xoshiro256PlusPlus::seed_from_u64(1), Operations::default());
        assert_eq!(invert.sample(&mut random, &mut work), Some(4));
        // By x mod 10 only 4; by the other 0, 2, 6 and 8, and 4 once more.
        assert_eq!(work.memberships, 5);
    }

    #[test]
    fn samples_by_dictionary_are_uniform() {
        let filter = filters().remove(0);
        let members = attack(&filter, 0..500);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = vec![0u32; members.len()];
        for _ in 0..400 * members.len() {
            let mut work = Operations::default();
            let name = dictionary_sample(&filter, 0..500, &mut random, &mut work).unwrap();
            counts[members.binary_search(&name).unwrap()] += 1;
            assert_eq!(work.memberships, 500);
        }
        let chi: f64 = counts
            .iter()
            .map(|&count| (f64::from(count) - 400.0).powi(2) / 400.0)
            .sum();
        let freedom = members.len() as f64 - 1.0;
        let deviations = (chi - freedom) / (2.0 * freedom).sqrt();
        assert!(deviations.abs() < 5.0, "{chi} of {freedom}");
    }

    #[test]
    fn nothing_comes_from_an_empty_filter_or_range() {
        let mut filter = filters().remove(0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let work = &mut Operations::default();
        assert_eq!(dictionary_sample(&filter, 5..5, &mut random, work), None);
        assert!(matches!(
            HashInvert::new(&filter, 5..5),
            Err(Error::Namespace { .. })
        ));
        filter.clear();
        let invert = HashInvert::new(&filter, 0..500).unwrap();
        assert_eq!(invert.sample(&mut random, work), None);
        for from in [Bits::Set, Bits::Unset] {
            let found = |name| panic!("{name} found in an empty filter");
            invert.reconstruct(from, work, found).unwrap();
        }
    }

    #[test]
    fn only_affine_functions_are_turned_round() {
        let filter = Filter::new(Params::for_items(10, 0.01).unwrap()).unwrap();
        let message = HashInvert::new(&filter, 0..10).unwrap_err().to_string();
        assert!(message.contains("xxh3"), "{message}");
    }

    #[test]
    fn the_nth_one_is_the_nth_of_all_ones() {
        let words = [0b1010_0001, 0, u64::MAX, 1 << 63];
        let ones: Vec<u64> = bits::ones(&words).collect();
        for (rank, &one) in ones.iter().enumerate() {
            assert_eq!(nth_one(&words, rank as u64), Some(one));
        }
        assert_eq!(nth_one(&words, ones.len() as u64), None);
    }
}
