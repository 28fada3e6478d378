//! One tree, several threads: section 4.4.
//!
//! ```text
//!   root       | part 1      | part 2      |        a part for each hash function of the root
//!   level 2    | below part 1| below part 2|        each part is whole words on every level
//!   threads      take part after part, and put every key into it
//! ```
//!
//! The parts of a [partitioned](Shape::partitioned) tree share no word, so nothing is locked.
//! Each thread hashes every key; that is a few nanoseconds beside the dozens of bits it sets. Of any
//! other tree the keys are shared out and bits set by atomic operations. Either way the bits
//! are those that one thread would set, in whatever order they come.
//!
//! Asking is sharing out the keys, for every tree: the paper asks the parts at the same time and
//! so asks all of them even when the first says no.

use std::num::NonZero;
use std::sync::Mutex;
use std::{mem, thread};

use super::walk::{Place, Visit, Way};
use super::{BloomTree, Shape, each_word};
use crate::Error;
use crate::bits::{SharedWords, Words};
use crate::hash::Key;

impl BloomTree {
    /// As [`insert_batch`](Self::insert_batch), by several threads. The same bits result.
    ///
    /// ```
    /// use bloomgrove::bloom_tree::{BloomTree, Shape};
    ///
    /// let shape = Shape::for_items(1000, 1.0, &[4, 3], &[6, 3, 2])?.partitioned()?;
    /// let keys: Vec<u64> = (0..1000).collect();
    /// let (mut one, mut four) = (BloomTree::new(shape.clone())?, BloomTree::new(shape)?);
    /// one.insert_batch(&keys);
    /// four.insert_parallel(&keys, 4.try_into()?)?;
    /// assert!(one == four);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], before anything is changed.
    pub fn insert_parallel<K: Key + Sync>(
        &mut self,
        keys: &[K],
        threads: NonZero<usize>,
    ) -> Result<(), Error> {
        if threads.get() == 1 {
            self.insert_batch(keys);
        } else if self.shape.is_partitioned() {
            self.insert_by_parts(keys, threads);
        } else {
            self.insert_shared(keys, threads)?;
        }
        Ok(())
    }

    fn insert_by_parts<K: Key + Sync>(&mut self, keys: &[K], threads: NonZero<usize>) {
        let shape = &self.shape;
        let parts = Mutex::new(parts(shape, self.words.as_mut()));
        let work = || {
            loop {
                // Taken out in a statement of its own, or the lock would be held for the work.
                let next = parts
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner())
                    .pop();
                let Some(mut part) = next else { return };
                let number = part.number;
                for key in keys {
                    key.with_bytes(|bytes| Way::new(shape, bytes).visit_part(number, &mut part));
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.get().min(shape.levels()[0].hashes as usize) {
                scope.spawn(work);
            }
        });
    }

    fn insert_shared<K: Key + Sync>(
        &mut self,
        keys: &[K],
        threads: NonZero<usize>,
    ) -> Result<(), Error> {
        let empty = Words::zeroed(0)?;
        let words = SharedWords::new(mem::replace(&mut self.words, empty));
        let shape = &self.shape;
        thread::scope(|scope| {
            for keys in keys.chunks(keys.len().div_ceil(threads.get()).max(1)) {
                let mut set = SetShared(&words);
                scope.spawn(move || {
                    for key in keys {
                        key.with_bytes(|bytes| Way::new(shape, bytes).visit(&mut set));
                    }
                });
            }
        });
        self.words = words.into_words();
        Ok(())
    }
}

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// As [`contains_batch`](Self::contains_batch), by several threads. The same answers result.
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

struct SetShared<'a>(&'a SharedWords);

impl Visit for SetShared<'_> {
    #[inline(always)]
    fn root(&mut self, position: u64) -> bool {
        self.0.set((position >> 6) as usize, 1 << (position & 63));
        true
    }

    #[inline(always)]
    fn filter(&mut self, place: Place) -> bool {
        each_word(place.offset, place.mask, |word, mask| {
            self.0.set(word, mask);
        });
        true
    }
}

/// The words of one part of the root and of all that lies below it.
struct Part<'a> {
    number: u64,
    /// By level: the first bit in the one array, and the words from there on.
    levels: Vec<(u64, &'a mut [u64])>,
}

/// The words of a tree, by part.
fn parts<'a>(shape: &Shape, words: &'a mut [u64]) -> Vec<Part<'a>> {
    let count = u64::from(shape.levels()[0].hashes);
    let mut parts: Vec<_> = (0..count)
        .map(|number| Part {
            number,
            levels: Vec::with_capacity(shape.depth()),
        })
        .collect();
    let mut rest = words;
    for level in 0..shape.depth() {
        // Whole words: the root has a multiple of 64 bits for each part, and so has every level.
        let bits = shape.level_bits(level) / count;
        for part in &mut parts {
            let (mine, others) = rest.split_at_mut((bits / 64) as usize);
            part.levels
                .push((shape.start(level) + part.number * bits, mine));
            rest = others;
        }
    }
    parts
}

impl Visit for Part<'_> {
    #[inline(always)]
    fn root(&mut self, position: u64) -> bool {
        let (start, words) = &mut self.levels[0];
        crate::bits::set(words, position - *start);
        true
    }

    #[inline(always)]
    fn filter(&mut self, place: Place) -> bool {
        let (start, words) = &mut self.levels[place.level];
        each_word(place.offset - *start, place.mask, |word, mask| {
            words[word] |= mask;
        });
        true
    }
}
