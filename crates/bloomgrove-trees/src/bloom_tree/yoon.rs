//! Yoon's Bloom tree (2014): which values belong to this key, in one flat bit array.
//!
//! ```text
//!   degree 2, 2 levels, 4 values             insert (x, 2): 2 is "1 0"
//!
//!   level 0        [ vertex 0 ]              vertex 0 gets x with its set 1
//!                   0/      \1
//!   level 1   [ vertex 1 ]  [ vertex 2 ]     vertex 2 gets x with its set 0
//!              0/     \1     0/     \1
//!   values     0       1     2       3
//! ```
//!
//! Every vertex is a small Bloom filter with as many sets of hash functions as it has children. A
//! pair (key, value) inserts the key into each vertex on the path to the value, with the set of the
//! next child on the path. A lookup does not know the value: at every vertex, it tries all sets, and
//! visits every child whose set accepts the key. The result is the values that it reaches; a false
//! one requires a false positive at each vertex of its path.
//!
//! Source: Yoon, Son and Shin, "Bloom tree: a search tree based on Bloom filters for
//! multiple-set membership testing", as described in Fu and Biersack (BloomTree), section 2.4 and
//! Table II. Neither gives sizes. Here, all levels have the same number of bits, shared evenly by
//! their vertices, because every pair sets the same number of bits on each level.
//!
//! As a set filter ([`insert_key`](YoonTree::insert_key), [`contains`](YoonTree::contains))
//! it is part of Figure 13. The paper does not say what the value is there. If it were the same for
//! all keys, every vertex off its path would remain empty; so it is chosen by hashing the key.
//! `contains` still tries all sets, as section 2.4 says ("any set of hash functions"), and is wrong
//! at the rate of [`expected_fpr`](YoonTree::expected_fpr). A query that follows only the path to the
//! value that the key hashes to ([`contains_drawn`](YoonTree::contains_drawn)) is a standard filter
//! divided into pieces, and has its rate.
//!
//! Cost: an insertion sets hashes * levels bits per pair; a lookup tries at most hashes * degree bits
//! at each vertex that it visits.
//!
//! Not for: sets without values. The false-positive rate of a [`Filter`](bloomgrove::Filter) of the
//! same size is lower by a factor of about the number of values.

use bloomgrove::Key;
use bloomgrove::raw::bits::{self, Words};
use bloomgrove::raw::hash::Digest;
use bloomgrove::raw::hash::{GOLDEN, Hasher, Xxh3Hasher, remix, scale};
use bloomgrove::{Error, MAX_BITS, MAX_HASHES};

/// Pairs of keys and values in a tree of small filters.
///
/// ```
/// use bloomgrove_trees::bloom_tree::YoonTree;
///
/// // Four values, 6 hashes per vertex.
/// let mut tree = YoonTree::new(4096, 2, 2, 6)?;
/// tree.insert("alice", 2)?;
/// assert_eq!(tree.lookup("alice"), [2]);
/// assert!(tree.lookup("bob").is_empty());
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct YoonTree {
    degree: u32,
    hashes: u32,
    levels: Vec<Level>,
    words: Words,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// Where its first vertex begins, in bits.
    start: u64,
    /// The number of its vertices.
    vertices: u64,
    /// The number of the first, counted from the root through all levels.
    first: u64,
    /// The bits of each vertex.
    bits: u64,
}

/// A vertex: its level, and its number within the level.
#[derive(Clone, Copy)]
struct Vertex {
    level: usize,
    index: u64,
}

impl YoonTree {
    /// An empty tree of at most `bits` bits, in which each inner vertex has `degree` children and
    /// `hashes` functions for each of them.
    ///
    /// # Errors
    /// [`Error::Params`] for a degree below 2, no levels, hashes out of range, or fewer
    /// bits than there are vertices; [`Error::OutOfMemory`].
    pub fn new(bits: u64, degree: u32, levels: u32, hashes: u32) -> Result<Self, Error> {
        if degree < 2 || levels == 0 || !(1..=MAX_HASHES).contains(&hashes) || bits > MAX_BITS {
            return Err(Error::params(format!(
                "a tree of degree {degree} with {levels} levels, {hashes} hashes and {bits} bits; \
                 there must be at least 2 children, 1 level, 1 to {MAX_HASHES} hashes and at most \
                 {MAX_BITS} bits"
            )));
        }
        let share = bits / u64::from(levels);
        let (mut start, mut vertices, mut first) = (0, 1u64, 0);
        let mut made = Vec::new();
        for level in 0..levels {
            if vertices > share {
                return Err(Error::params(format!(
                    "level {level} of the tree has more vertices than its {share} bits; use \
                     fewer levels or a lower degree"
                )));
            }
            let bits = share / vertices;
            made.push(Level {
                start,
                vertices,
                first,
                bits,
            });
            start += bits * vertices;
            first += vertices;
            // A saturated number fails the check above, on the next level.
            vertices = vertices.saturating_mul(u64::from(degree));
        }
        let words = usize::try_from(start.div_ceil(64));
        let words = words.map_err(|_| Error::OutOfMemory { bytes: start / 8 })?;
        Ok(Self {
            degree,
            hashes,
            levels: made,
            words: Words::zeroed(words)?,
        })
    }

    /// The number of values, which are numbered from 0.
    pub fn values(&self) -> u64 {
        let last = self.levels.last().map_or(0, |level| level.vertices);
        last.saturating_mul(u64::from(self.degree))
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// [`Error::Params`] if there is no such value.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<(), Error> {
        if value >= self.values() {
            return Err(Error::params(format!(
                "value {value} of a tree with {} values",
                self.values()
            )));
        }
        self.insert_digest(digest(key), value);
        Ok(())
    }

    /// Adds a key with a value chosen by hashing it: the tree as a set filter.
    pub fn insert_key<K: Key + ?Sized>(&mut self, key: &K) {
        let digest = digest(key);
        self.insert_digest(digest, self.drawn(digest));
    }

    /// The values of this key, in ascending order. Those it was inserted with are always among them.
    pub fn lookup<K: Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        let mut found = Vec::new();
        self.visit(Self::ROOT, digest(key), &mut |value| {
            found.push(value);
            false
        });
        found
    }

    /// Whether the tree may contain the key, with any value. False is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.visit(Self::ROOT, digest(key), &mut |_| true)
    }

    /// Whether the key may have been added by [`insert_key`](Self::insert_key). Follows only the path to
    /// the value that the key hashes to.
    pub fn contains_drawn<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = digest(key);
        let value = self.drawn(digest);
        let mut way = self.way(value);
        way.all(|(vertex, child)| {
            let mut positions = self.positions(vertex, child, digest);
            positions.all(|position| bits::get(self.words.as_ref(), position))
        })
    }

    /// The bits, lowest first: level by level, vertex by vertex.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The number of bits: those requested, except for the rounding of vertices.
    pub fn bits(&self) -> u64 {
        let last = self.levels.last();
        last.map_or(0, |level| level.start + level.bits * level.vertices)
    }

    /// Bits and set bits of each level, the root's first.
    pub fn levels(&self) -> Vec<(u64, u64)> {
        let level = |level: &Level| {
            let bits = level.bits * level.vertices;
            (bits, self.ones(level.start, level.start + bits))
        };
        self.levels.iter().map(level).collect()
    }

    /// The rate at which [`contains`](Self::contains) accepts absent keys, for the current bits. Exact
    /// for ideal hash functions: a vertex accepts unless each of its sets, or everything after it,
    /// rejects the key.
    pub fn expected_fpr(&self) -> f64 {
        let mut below: Vec<f64> = Vec::new();
        for level in self.levels.iter().rev() {
            let rate = |index: u64| {
                let start = level.start + index * level.bits;
                let ones = self.ones(start, start + level.bits);
                let set = (ones as f64 / level.bits as f64).powi(self.hashes as i32);
                // The logarithm of the probability that all sets reject; `ln_1p` and `exp_m1` preserve
                // the precision of a tiny rate.
                let no = (0..u64::from(self.degree)).map(|child| {
                    let child = index * u64::from(self.degree) + child;
                    // After the last level are the values.
                    let behind = below.get(child as usize).copied().unwrap_or(1.0);
                    (-set * behind).ln_1p()
                });
                -no.sum::<f64>().exp_m1()
            };
            below = (0..level.vertices).map(rate).collect();
        }
        below[0]
    }

    const ROOT: Vertex = Vertex { level: 0, index: 0 };

    fn drawn(&self, digest: Digest) -> u64 {
        // A function that no vertex has: those begin at GOLDEN times 1.
        scale(remix(digest.lo), self.values())
    }

    fn insert_digest(&mut self, digest: Digest, value: u64) {
        let way: Vec<_> = self.way(value).collect();
        for (vertex, child) in way {
            let positions: Vec<u64> = self.positions(vertex, child, digest).collect();
            for position in positions {
                bits::set(self.words.as_mut(), position);
            }
        }
    }

    /// The vertices on the path to a value, and the next child of each.
    fn way(&self, value: u64) -> impl Iterator<Item = (Vertex, u64)> + use<> {
        let degree = u64::from(self.degree);
        let mut behind = self.values();
        (0..self.levels.len()).map(move |level| {
            let index = value / behind;
            behind /= degree;
            (Vertex { level, index }, value / behind % degree)
        })
    }

    /// The positions of the key in a vertex, for one of its children.
    fn positions(
        &self,
        vertex: Vertex,
        child: u64,
        digest: Digest,
    ) -> impl Iterator<Item = u64> + use<> {
        let level = self.levels[vertex.level];
        let set = (level.first + vertex.index) * u64::from(self.degree) + child + 1;
        let seed = remix(digest.lo.wrapping_add(set.wrapping_mul(digest.hi | 1)));
        let start = level.start + vertex.index * level.bits;
        (1..=u64::from(self.hashes)).map(move |i| {
            let hash = remix(seed.wrapping_add(i.wrapping_mul(GOLDEN)));
            start + scale(hash, level.bits)
        })
    }

    /// Passes the values below a vertex to `found`, in ascending order, until it has enough; returns true
    /// then.
    fn visit(&self, vertex: Vertex, digest: Digest, found: &mut impl FnMut(u64) -> bool) -> bool {
        let words = self.words.as_ref();
        (0..u64::from(self.degree)).any(|child| {
            let mut positions = self.positions(vertex, child, digest);
            if !positions.all(|position| bits::get(words, position)) {
                return false;
            }
            let next = Vertex {
                level: vertex.level + 1,
                index: vertex.index * u64::from(self.degree) + child,
            };
            if next.level == self.levels.len() {
                found(next.index)
            } else {
                self.visit(next, digest, found)
            }
        })
    }

    /// Set bits from `start` up to `end`.
    fn ones(&self, start: u64, end: u64) -> u64 {
        let words = self.words.as_ref();
        let below = |end: u64| (1u64 << (end % 64)) - 1;
        let (first, last) = ((start / 64) as usize, (end / 64) as usize);
        let count = |word: u64| u64::from(word.count_ones());
        let partial = words.get(last).map_or(0, |word| count(word & below(end)));
        let before = count(words[first] & below(start));
        bits::count(&words[first..last]) + partial - before
    }
}

fn digest<K: Key + ?Sized>(key: &K) -> Digest {
    key.with_bytes(|bytes| Xxh3Hasher { seed: 0 }.digest(bytes))
}

#[cfg(test)]
mod tests;
