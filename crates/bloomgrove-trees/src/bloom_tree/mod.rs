//! BloomTree: a set as a tree of small filters, meant to be sent in fewer bytes.
//!
//! ```text
//!   level 1    1 0 1 0 0 1        one filter of m_1 bits, k_1 hashes
//!              |   |     \
//!   level 2   011 101   010       below every bit a filter of m_2 bits, k_2 hashes
//!              ||  |\     \
//!   level 3    ...                a key descends from every bit it has
//!
//!   in memory  | level 1 | level 2: all filters side by side | level 3 ... |    no pointers
//! ```
//!
//! The tree accepts a key if every filter on its paths does. Filters below a bit that no item has are
//! empty and cost nothing once coded; filters on deep levels have few items each.
//!
//! Source: Fu and Biersack (BloomTree): structure and array sections 1.2 and 4.2 (Eq. 6),
//! partitions 4.4, hashing 4.5, intersection 4.6, rates 5.
//!
//! Cost: k_1 + k_1 k_2 + ... bit accesses for a present key, each a cache miss in a tree larger
//! than the cache; an absent key ends at the first zero. Memory m_1 (1 + m_2 + m_2 m_3 ...) bits.
//!
//! Where we differ, and what does not hold (`docs/papers/bloomtree.md` has the figures):
//!
//! - Every filter remixes the hash. The paper's h1 + c h2 modulo a few bits repeats itself, and the
//!   tree then accepts many times as many absent keys as it should ([`TreeShape`]).
//! - The paper reports the geometric mean of the probabilities of false positives. That is not a rate:
//!   absent keys are accepted at the arithmetic mean, [`expected_fpr`](BloomTree::expected_fpr), which
//!   is orders of magnitude higher. We report both, and the measured rate ([`Accuracy`]).
//! - For rates below 1%, the paper's shapes take more bytes than a plain filter, and a compressed
//!   filter beats the best tree that we know at every rate, given the memory to expand it.
//!   `bloomgrove tune wire` compares them.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `BloomTree`: insert, contains, union, intersection, prune |
//! | `shape.rs` | `TreeShape`: levels, hashing, and where each filter is (Eq. 6) |
//! | `walk.rs` | the paths of a key through the filters, and their hash functions (Eq. 8 and 9, and ours) |
//! | `parallel.rs` | several threads: ranges of the root |
//! | `accuracy.rs` | `Accuracy`: the expected rate by recursion, the paper's geometric mean, the measured rate |
//! | `double_hashing.rs` | the expected rate under the paper's hashing |
//! | `size.rs` | entropies by level, by filter, by context |
//! | `below.rs`, `context.rs`, `wire.rs` | the filters below set bits; context coding; trees as messages |
//! | `loads.rs` | the number of items in each filter |
//! | `file.rs` | save, load, map |
//! | `yoon.rs` | `YoonTree`, another tree of filters, for comparison |
//! | `advice.rs`, `advice/choice.rs` | what to send, from formulas for filters and simulation for trees; which to choose, and why |
//! | `forest.rs` | the best tree of each depth for a rate or a number of bytes |
//! | `search.rs`, `genetic.rs`, `pareto.rs` | searching shapes, exhaustively or genetically; NSGA-II on integers; Pareto fronts |

mod accuracy;
pub mod advice;
mod below;
mod context;
mod double_hashing;
mod file;
mod forest;
pub mod genetic;
mod loads;
mod parallel;
pub mod pareto;
pub mod search;
mod shape;
mod size;
mod walk;
mod wire;
mod yoon;

pub use accuracy::{Accuracy, Posterior};
pub use file::MappedBloomTree;
pub(crate) use file::check_file;
pub use loads::loads;
pub use shape::{Level, MAX_DEPTH, MAX_FILTER_BITS, MAX_FILTER_HASHES, TreeShape};
pub use wire::Coding;
pub use yoon::YoonTree;

use bloomgrove::Error;
use bloomgrove::Key;
use bloomgrove::raw::bits::{self, Words};
use walk::{Place, Visit, Way};

/// A set as a tree of filters, with owned words or a memory map.
///
/// ```
/// use bloomgrove_trees::bloom_tree::{BloomTree, TreeShape};
///
/// let mut tree = BloomTree::new(TreeShape::for_items(1000, 1.0, &[4, 3], &[6, 3, 2])?)?;
/// tree.insert("apple");
/// assert!(tree.contains("apple"));
/// assert!(!tree.contains("pear"));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct BloomTree<S = Words> {
    shape: TreeShape,
    words: S,
}

impl BloomTree {
    /// An empty tree.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(shape: TreeShape) -> Result<Self, Error> {
        let words = Words::zeroed(shape.words())?;
        Ok(Self { shape, words })
    }

    /// The intersection of `trees`: contains every common key, and accepts a key exactly if all of
    /// them do. `None` if there are no trees.
    ///
    /// # Errors
    /// [`Error::DifferentTrees`] if the shapes differ, [`Error::OutOfMemory`].
    pub fn intersection<T: AsRef<[u64]>>(trees: &[BloomTree<T>]) -> Result<Option<Self>, Error> {
        let Some((first, others)) = trees.split_first() else {
            return Ok(None);
        };
        let mut common = first.to_owned()?;
        for other in others {
            common.intersect_with(other)?;
        }
        common.prune();
        Ok(Some(common))
    }
}

impl<S: AsRef<[u64]>> BloomTree<S> {
    /// A tree of existing words.
    ///
    /// # Errors
    /// [`Error::Params`] if the number of words does not match `shape`, or a bit beyond the last is
    /// set.
    pub fn from_words(shape: TreeShape, words: S) -> Result<Self, Error> {
        let found = words.as_ref();
        if found.len() != shape.words() {
            return Err(Error::params(format!(
                "{} words given for a tree of {}",
                found.len(),
                shape.words()
            )));
        }
        let used = shape.bits() % 64;
        if used != 0 && found.last().is_some_and(|last| last >> used != 0) {
            return Err(Error::params(format!(
                "a bit beyond the last of {} is set",
                shape.bits()
            )));
        }
        Ok(Self { shape, words })
    }

    /// Levels and hashing.
    pub fn shape(&self) -> &TreeShape {
        &self.shape
    }

    /// The bits of all levels, the root's first: Eq. 6.
    #[inline]
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Whether the set may contain the key. False is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let mut look = Look(self.words());
        key.with_bytes(|bytes| Way::new(&self.shape, bytes).visit(&mut look))
    }

    /// Like [`contains`](Self::contains), for each of many keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        keys.iter().map(|key| self.contains(key)).collect()
    }

    /// The bits of one filter below the root, lowest first.
    ///
    /// # Panics
    /// If there is no such level or filter.
    #[inline]
    pub fn pattern(&self, level: usize, filter: u64) -> u64 {
        assert!(level > 0, "the root is not a filter of one word");
        let bits = self.shape.levels()[level].bits;
        field(self.words(), self.shape.offset(level, filter), bits)
    }

    /// How many bits of a level are set; level 0 is the root.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn level_ones(&self, level: usize) -> u64 {
        let start = self.shape.start(level);
        count_between(self.words(), start, start + self.shape.level_bits(level))
    }

    /// The number of distinct keys inserted, estimated from the fill of the lowest level, which is the
    /// sparsest. Infinite if that is full.
    ///
    /// The probability that a key sets a given bit of a level is the product of those of the bits
    /// above and its own, each 1 - (1 - 1/m)^k.
    pub fn estimated_items(&self) -> f64 {
        let lowest = self.shape.depth() - 1;
        let fill = self.level_ones(lowest) as f64 / self.shape.level_bits(lowest) as f64;
        let chance = |(number, level): (usize, &Level)| {
            let bits = level.bits as f64;
            match number == 0 && self.shape.is_partitioned() {
                true => f64::from(level.hashes) / bits,
                false if level.bits == 1 => 1.0,
                false => -(f64::from(level.hashes) * (-1.0 / bits).ln_1p()).exp_m1(),
            }
        };
        let levels = self.shape.levels().iter().enumerate();
        let chance: f64 = levels.map(chance).product();
        match fill {
            0.0 => 0.0,
            1.0.. => f64::INFINITY,
            fill => (-fill).ln_1p() / (-chance).ln_1p(),
        }
    }

    /// TreeShape and words.
    pub fn into_parts(self) -> (TreeShape, S) {
        (self.shape, self.words)
    }

    /// A copy with owned words.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<BloomTree, Error> {
        Ok(BloomTree {
            shape: self.shape.clone(),
            words: Words::copy_of(self.words())?,
        })
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> BloomTree<S> {
    /// Adds a key. Returns true if it was certainly new, false if it may have been present.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let mut set = Set {
            words: self.words.as_mut(),
            fresh: false,
        };
        key.with_bytes(|bytes| Way::new(&self.shape, bytes).visit(&mut set));
        set.fresh
    }

    /// Adds many keys.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) {
        for key in keys {
            self.insert(key);
        }
    }

    /// Adds the keys of another tree: the result is the same as inserting both sets.
    ///
    /// # Errors
    /// [`Error::DifferentTrees`] if the shapes differ.
    pub fn union_with<T: AsRef<[u64]>>(&mut self, other: &BloomTree<T>) -> Result<(), Error> {
        self.shape.check_equal(&other.shape)?;
        bits::or_assign(self.words.as_mut(), other.words());
        Ok(())
    }

    /// Keeps the bits that both have, section 4.6. The result accepts a key exactly if both do: the
    /// only gain over querying both is that one tree is stored or sent.
    ///
    /// # Errors
    /// [`Error::DifferentTrees`] if the shapes differ.
    pub fn intersect_with<T: AsRef<[u64]>>(&mut self, other: &BloomTree<T>) -> Result<(), Error> {
        self.shape.check_equal(&other.shape)?;
        bits::and_assign(self.words.as_mut(), other.words());
        Ok(())
    }

    /// Clears bits that no key can pass: those above an empty filter, which intersections leave behind.
    /// No answer changes, and the tree compresses better. Returns how many bits were cleared.
    pub fn prune(&mut self) -> u64 {
        let mut cleared = 0;
        // Bottom-up, so that a filter emptied here clears the bit above it, too.
        for level in (1..self.shape.depth()).rev() {
            let bits = self.shape.levels()[level].bits;
            let above = self.shape.start(level - 1);
            let words = self.words.as_mut();
            for filter in 0..self.shape.filters(level) {
                if bits::get(words, above + filter)
                    && field(words, self.shape.offset(level, filter), bits) == 0
                {
                    bits::clear(words, above + filter);
                    cleared += 1;
                }
            }
        }
        cleared
    }

    /// Empties the tree.
    pub fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }
}

/// Equal shapes and equal bits.
impl<S: AsRef<[u64]>, T: AsRef<[u64]>> PartialEq<BloomTree<T>> for BloomTree<S> {
    fn eq(&self, other: &BloomTree<T>) -> bool {
        self.shape == other.shape && self.words() == other.words()
    }
}

/// Whether all bits are set.
struct Look<'a>(&'a [u64]);

impl Visit for Look<'_> {
    #[inline(always)]
    fn root(&mut self, position: u64) -> bool {
        bits::get(self.0, position)
    }

    #[inline(always)]
    fn filter(&mut self, place: Place) -> bool {
        holds(self.0, place.offset, place.mask)
    }
}

/// Sets all bits.
struct Set<'a> {
    words: &'a mut [u64],
    fresh: bool,
}

impl Visit for Set<'_> {
    #[inline(always)]
    fn root(&mut self, position: u64) -> bool {
        self.fresh |= bits::set(self.words, position);
        true
    }

    #[inline(always)]
    fn filter(&mut self, place: Place) -> bool {
        each_word(place.offset, place.mask, |word, mask| {
            self.fresh |= self.words[word] & mask != mask;
            self.words[word] |= mask;
        });
        true
    }
}

/// A mask of up to 64 bits at bit `offset`, word by word.
#[inline(always)]
fn each_word(offset: u64, mask: u64, mut each: impl FnMut(usize, u64)) {
    let (word, place) = ((offset >> 6) as usize, offset & 63);
    each(word, mask << place);
    if place != 0 && mask >> (64 - place) != 0 {
        each(word + 1, mask >> (64 - place));
    }
}

/// Whether all bits of `mask`, shifted to bit `offset`, are set.
#[inline(always)]
fn holds(words: &[u64], offset: u64, mask: u64) -> bool {
    let mut all = true;
    each_word(offset, mask, |word, mask| all &= words[word] & mask == mask);
    all
}

/// The `bits` bits from bit `offset` on, at most 64.
#[inline(always)]
fn field(words: &[u64], offset: u64, bits: u64) -> u64 {
    let (word, place) = ((offset >> 6) as usize, offset & 63);
    let mut found = words[word] >> place;
    if place + bits > 64 {
        found |= words[word + 1] << (64 - place);
    }
    if bits < 64 {
        found &= (1 << bits) - 1;
    }
    found
}

/// How many bits from `start` to before `end` are set.
fn count_between(words: &[u64], start: u64, end: u64) -> u64 {
    let (first, last) = (start.div_ceil(64), end / 64);
    if first > last {
        return u64::from(field(words, start, end - start).count_ones());
    }
    let head = first * 64 - start;
    let tail = end - last * 64;
    let edge = |offset, bits| match bits {
        0 => 0,
        bits => u64::from(field(words, offset, bits).count_ones()),
    };
    edge(start, head) + bits::count(&words[first as usize..last as usize]) + edge(last * 64, tail)
}

#[cfg(test)]
mod tests;
