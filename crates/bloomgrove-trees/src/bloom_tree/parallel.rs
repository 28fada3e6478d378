//! One tree, several threads: section 4.4.
//!
//! ```text
//!   root       | thread 1       | thread 2       |      a range of bits per thread
//!   level 2    | below thread 1's | below thread 2's |
//!   every thread reads every key, and inserts what is in its range
//! ```
//!
//! No two threads access the same bits, so there are no locks; a word on the border of two ranges is
//! stored separately and merged at the end. Each thread hashes every key, which takes a few
//! nanoseconds, little compared with the dozens of bits that it sets. The result is the same as with
//! one thread.
//!
//! The paper assigns a thread some of the k_1 parts of a [partitioned](TreeShape::partitioned) root.
//! Ranges need no parts, work for every tree and number of threads, and have equal lengths.
//!
//! Queries divide the keys among threads: the paper queries the parts in parallel, and so queries all
//! of them even if the first rejects the key.

use std::num::NonZero;
use std::{ops, thread};

use super::walk::{Place, Visit, Way};
use super::{BloomTree, TreeShape, each_word};
use bloomgrove::Key;

impl BloomTree {
    /// Like [`insert_batch`](Self::insert_batch), with several threads. The result is the same.
    ///
    /// ```
    /// use bloomgrove_trees::bloom_tree::{BloomTree, TreeShape};
    ///
    /// let shape = TreeShape::for_items(1000, 1.0, &[4, 3], &[6, 3, 2])?.partitioned()?;
    /// let keys: Vec<u64> = (0..1000).collect();
    /// let (mut one, mut four) = (BloomTree::new(shape.clone())?, BloomTree::new(shape)?);
    /// one.insert_batch(&keys);
    /// four.insert_parallel(&keys, 4.try_into()?);
    /// assert!(one == four);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_parallel<K: Key + Sync>(&mut self, keys: &[K], threads: NonZero<usize>) {
        if threads.get() == 1 {
            self.insert_batch(keys);
            return;
        }
        let shape = &self.shape;
        let mut ranges = ranges(shape, self.words.as_mut(), threads);
        thread::scope(|scope| {
            for range in &mut ranges {
                scope.spawn(|| {
                    for key in keys {
                        key.with_bytes(|bytes| {
                            let roots = range.roots.clone();
                            Way::new(shape, bytes).visit_range(&roots, range);
                        });
                    }
                });
            }
        });
        let borders: Vec<_> = ranges.into_iter().flat_map(Range::borders).collect();
        let words = self.words.as_mut();
        for (word, bits) in borders {
            words[word] |= bits;
        }
    }
}

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// Like [`contains_batch`](Self::contains_batch), with several threads. The answers are the same.
    pub fn contains_parallel<K: Key + Sync>(
        &self,
        keys: &[K],
        threads: NonZero<usize>,
    ) -> Vec<bool> {
        let mut answers = vec![false; keys.len()];
        let share = keys.len().div_ceil(threads.get()).max(1);
        thread::scope(|scope| {
            for (keys, answers) in keys.chunks(share).zip(answers.chunks_mut(share)) {
                scope.spawn(move || {
                    for (key, answer) in keys.iter().zip(answers) {
                        *answer = self.contains(key);
                    }
                });
            }
        });
        answers
    }
}

/// The words of a range of root bits and of everything below it.
struct Range<'a> {
    /// The root bits.
    roots: ops::Range<u64>,
    levels: Vec<Part<'a>>,
}

/// The words of a range on one level.
struct Part<'a> {
    /// The number of the first word, which the previous range may share.
    start: usize,
    first: u64,
    inner: &'a mut [u64],
    /// The word after those, in which the next range begins.
    last: u64,
}

impl Part<'_> {
    #[inline(always)]
    fn or(&mut self, word: usize, mask: u64) {
        match word - self.start {
            0 => self.first |= mask,
            more => *self.inner.get_mut(more - 1).unwrap_or(&mut self.last) |= mask,
        }
    }
}

impl Range<'_> {
    /// The words on its borders, and what to insert into them.
    fn borders(self) -> impl Iterator<Item = (usize, u64)> {
        let words = self.levels.into_iter().flat_map(|part| {
            let last = part.start + 1 + part.inner.len();
            [(part.start, part.first), (last, part.last)]
        });
        words.filter(|(_, bits)| *bits != 0)
    }
}

/// The words of a tree by ranges of its root, one per thread.
fn ranges<'a>(shape: &TreeShape, words: &'a mut [u64], threads: NonZero<usize>) -> Vec<Range<'a>> {
    let roots = shape.level_bits(0);
    let count = (threads.get() as u64).min(roots);
    let cut = |number: u64| (u128::from(roots) * u128::from(number) / u128::from(count)) as u64;
    let mut ranges: Vec<_> = (0..count)
        .map(|number| Range {
            roots: cut(number)..cut(number + 1),
            levels: Vec::with_capacity(shape.depth()),
        })
        .collect();
    // From the end, so that the border of a range belongs to it and not to the previous one.
    let mut before = words;
    for level in (0..shape.depth()).rev() {
        let below = shape.level_bits(level) / roots;
        for range in ranges.iter_mut().rev() {
            let start = ((shape.start(level) + range.roots.start * below) / 64) as usize;
            let (others, mine) = before.split_at_mut(start.min(before.len()));
            range.levels.push(Part {
                start,
                first: 0,
                // None if the next range begins in the same word.
                inner: mine.get_mut(1..).unwrap_or_default(),
                last: 0,
            });
            before = others;
        }
    }
    for range in &mut ranges {
        range.levels.reverse();
    }
    ranges
}

impl Visit for Range<'_> {
    #[inline(always)]
    fn root(&mut self, position: u64) -> bool {
        self.levels[0].or((position >> 6) as usize, 1 << (position & 63));
        true
    }

    #[inline(always)]
    fn filter(&mut self, place: Place) -> bool {
        let part = &mut self.levels[place.level];
        each_word(place.offset, place.mask, |word, mask| part.or(word, mask));
        true
    }
}
