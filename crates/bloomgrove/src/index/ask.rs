//! Asking: which sets, how many, any; one key or many; all sets or some.
//!
//! Every layout is asked the same way: "of the slots in this mask, which have all of these
//! positions?" The mask is what is live, or a [`Scope`]'s part of it, so that restricting a
//! question costs nothing and saves what it leaves out.

use super::labels::{Set, SetId};
use super::segment::Segment;
use super::work::{Batch, Work};
use super::{Class, Index};
use crate::bits;
use crate::params::probe::Positions;
use crate::{Error, Key, Params, tune};

/// Keys whose memory is asked for at once: more reads than a core keeps under way.
const BATCH: usize = 32;

/// Some of the sets of an index, to restrict questions to: a tenant's, those of last week.
///
/// It is of the index as it was: sets added later are not in it, and removed ones are not
/// found. After changes that gave slots another meaning it must be made again
/// ([`Error::Stale`]).
#[derive(Clone, Debug)]
pub struct Scope {
    epoch: u64,
    /// By class and segment.
    masks: Vec<Vec<Vec<u64>>>,
}

/// What an answer cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Filters that were tested, 64 at a time where they lie so.
    pub filters_tested: u64,
    /// Words of 64 bits that were read.
    pub words_read: u64,
}

/// An index, or the part of it in a [`Scope`]: all that can be asked of either.
///
/// ```
/// # use bloomgrove::{Filter, Params, index::Index};
/// # let params = Params::for_items(100, 0.01)?;
/// # let mut index = Index::new(params.clone());
/// # let mut filter = Filter::new(params)?;
/// # filter.insert_batch(&["apple", "pear"]);
/// index.add("north", &filter)?;
///
/// let found = index.view().at_least(2, &["apple", "pear", "plum"]);
/// assert_eq!((found[0].0.name(), found[0].1), (&b"north"[..], 2));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    index: &'a Index,
    scope: Option<&'a Scope>,
}

/// The answers to many keys.
#[derive(Clone, Debug)]
pub struct Answers<'a> {
    sets: Vec<Set<'a>>,
    /// Where each key's answer ends, and how many sets it would have without a limit.
    ends: Vec<(usize, usize)>,
}

impl<'a> Answers<'a> {
    /// How many sets may hold the key of this number, also those that a limit left out.
    ///
    /// # Panics
    /// If there were fewer keys.
    pub fn count(&self, key: usize) -> usize {
        self.ends[key].1
    }

    /// Key by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Set<'a>]> {
        (0..self.ends.len()).map(|key| &self[key])
    }

    fn for_keys(keys: usize) -> Self {
        Self {
            sets: Vec::new(),
            ends: Vec::with_capacity(keys),
        }
    }

    /// Takes in what was found for the next `keys` keys, in any order.
    fn take(&mut self, keys: usize, found: &mut Vec<(u32, Set<'a>)>, left_out: &[usize]) {
        // Numbers are looked up only where a key has several sets.
        if !found.is_sorted_by(|(k1, s1), (k2, s2)| k1 < k2 || k1 == k2 && s1.id() <= s2.id()) {
            found.sort_unstable_by_key(|(key, set)| (*key, set.id()));
        }
        found.dedup_by(|(k1, s1), (k2, s2)| k1 == k2 && s1.id() == s2.id());
        let mut found = found.iter().peekable();
        for key in 0..keys as u32 {
            let start = self.sets.len();
            while let Some((_, set)) = found.next_if(|(own, _)| *own == key) {
                self.sets.push(*set);
            }
            let end = self.sets.len();
            self.ends.push((end, end - start + left_out[key as usize]));
        }
    }
}

/// The sets that may contain the key of this number, by their own numbers.
impl<'a> std::ops::Index<usize> for Answers<'a> {
    type Output = [Set<'a>];

    fn index(&self, key: usize) -> &[Set<'a>] {
        let start = key.checked_sub(1).map_or(0, |before| self.ends[before].0);
        &self.sets[start..self.ends[key].0]
    }
}

/// Room that a batch needs, used again for the next.
#[derive(Default)]
struct Scratch {
    positions: Vec<u64>,
    candidates: Vec<(u32, u32)>,
}

impl Index {
    /// The sets that may hold the key, by their numbers. One not named does not hold it.
    pub fn which<K: Key + ?Sized>(&self, key: &K) -> Vec<Set<'_>> {
        self.view().which(key)
    }

    /// As [`which`](Self::which) for each of many keys, faster.
    pub fn which_many<K: Key>(&self, keys: &[K]) -> Answers<'_> {
        self.view().which_many(keys)
    }

    /// How many sets may hold the key.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> usize {
        self.view().count(key)
    }

    /// Whether any set may hold the key; looks no further than the first.
    pub fn any<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.view().any(key)
    }

    /// The sets for which `keep` says true.
    ///
    /// ```
    /// # use bloomgrove::{Filter, Params, index::Index};
    /// # let params = Params::for_items(100, 0.01)?;
    /// # let mut index = Index::new(params.clone());
    /// # let mut filter = Filter::new(params)?;
    /// # filter.insert("apple");
    /// index.add_tagged("north", "tenant-1", &filter)?;
    /// index.add_tagged("south", "tenant-2", &filter)?;
    ///
    /// let scope = index.scope(|set| set.tag() == b"tenant-2");
    /// let names: Vec<_> = index.within(&scope)?.which("apple").iter().map(|set| set.name()).collect();
    /// assert_eq!(names, [b"south"]);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    pub fn scope(&self, mut keep: impl FnMut(Set<'_>) -> bool) -> Scope {
        let mut mask = |segment: &Segment| {
            let mut mask = vec![0; segment.live().len()];
            for slot in segment.slots().filter(|&slot| keep(segment.set(slot))) {
                bits::set(&mut mask, slot as u64);
            }
            mask
        };
        let masks = self.classes.iter();
        let masks = masks.map(|class| class.segments.iter().map(&mut mask).collect());
        Scope {
            masks: masks.collect(),
            epoch: self.epoch,
        }
    }

    /// The part of the index in a scope, to be asked like the whole.
    ///
    /// # Errors
    /// [`Error::Stale`] when the scope must be made again.
    pub fn within<'a>(&'a self, scope: &'a Scope) -> Result<View<'a>, Error> {
        if scope.epoch != self.epoch {
            return Err(Error::Stale);
        }
        Ok(View {
            index: self,
            scope: Some(scope),
        })
    }

    /// The whole index, to be queried as a part of it would be, and in more ways than [`Index`] has itself.
    pub fn view(&self) -> View<'_> {
        View {
            index: self,
            scope: None,
        }
    }
}

impl<'a> View<'a> {
    /// As [`Index::which`].
    pub fn which<K: Key + ?Sized>(&self, key: &K) -> Vec<Set<'a>> {
        self.collect(key).0
    }

    /// As [`Index::count`].
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> usize {
        self.collect(key).0.len()
    }

    /// As [`Index::any`].
    pub fn any<K: Key + ?Sized>(&self, key: &K) -> bool {
        let mut any = false;
        self.search(key, |_, _, _| {
            any = true;
            false
        });
        any
    }

    /// As [`which`](Self::which), with what it cost.
    pub fn explain<K: Key + ?Sized>(&self, key: &K) -> (Vec<Set<'a>>, Figures) {
        let (sets, work) = self.collect(key);
        let figures = Figures {
            filters_tested: work.tested,
            words_read: work.words,
        };
        (sets, figures)
    }

    /// As [`Index::which_many`].
    pub fn which_many<K: Key>(&self, keys: &[K]) -> Answers<'a> {
        let mut answers = Answers::for_keys(keys.len());
        let mut found: Vec<(u32, Set<'a>)> = Vec::new();
        let mut scratch = Scratch::default();
        for keys in keys.chunks(BATCH) {
            found.clear();
            self.search_many(keys, &mut scratch, |key, segment, word, bits| {
                each_bit(bits, |place| {
                    found.push((key as u32, segment.set(word * 64 + place)));
                });
            });
            answers.take(keys.len(), &mut found, &[0; BATCH]);
        }
        answers
    }

    /// As [`which_many`](Self::which_many), of the sets for which `keep` says true, and with at most
    /// `limit` of them for each key, whichever are found first: [`Answers::count`] has the number of
    /// all. A key that is in every set costs no more than its count, so that a
    /// server can bound the cost of one query. What is left out of a set made of slices is counted by slice.
    pub fn which_some<K: Key>(
        &self,
        keys: &[K],
        limit: usize,
        mut keep: impl FnMut(&Set<'_>) -> bool,
    ) -> Answers<'a> {
        let mut answers = Answers::for_keys(keys.len());
        let mut found: Vec<(u32, Set<'a>)> = Vec::new();
        let mut scratch = Scratch::default();
        for keys in keys.chunks(BATCH) {
            found.clear();
            let (mut taken, mut left_out) = ([0; BATCH], [0; BATCH]);
            self.search_many(keys, &mut scratch, |key, segment, word, mut bits| {
                each_bit(bits, |place| {
                    if !keep(&segment.set(word * 64 + place)) {
                        bits &= !(1 << place);
                    }
                });
                each_bit(bits, |place| {
                    if taken[key] < limit {
                        taken[key] += 1;
                        bits &= !(1 << place);
                        found.push((key as u32, segment.set(word * 64 + place)));
                    }
                });
                left_out[key] += bits.count_ones() as usize;
            });
            answers.take(keys.len(), &mut found, &left_out);
        }
        answers
    }

    /// The sets that may contain at least `least` of the keys, and how many of them, most
    /// first. A key given twice counts twice.
    pub fn at_least<K: Key>(&self, least: usize, keys: &[K]) -> Vec<(Set<'a>, usize)> {
        let mut counts: std::collections::HashMap<SetId, (Set<'a>, usize)> = Default::default();
        for keys in keys.chunks(1 << 12) {
            for sets in self.which_many(keys).iter() {
                for set in sets {
                    counts.entry(set.id()).or_insert((*set, 0)).1 += 1;
                }
            }
        }
        let mut counts: Vec<_> = counts
            .into_values()
            .filter(|(_, count)| *count >= least)
            .collect();
        counts.sort_unstable_by_key(|(set, count)| (std::cmp::Reverse(*count), set.id()));
        counts
    }

    /// How many sets are expected in an answer by mistake, for a key that none contains: the sum
    /// over all filters of how often each accepts what it does not contain.
    ///
    /// Cost: one look at every label.
    pub fn expected_false(&self) -> f64 {
        let mut sum = 0.0;
        for (c, Class { params, .. }) in self.index.classes.iter().enumerate() {
            for (segment, live) in self.segments_of(c) {
                let slots = bits::ones(live).map(|slot| slot as usize);
                let live = slots.filter(|&slot| bits::get(segment.live(), slot as u64));
                sum += live
                    .map(|slot| tune::size::fpr_of_ones(params, segment.label(slot).ones()))
                    .sum::<f64>();
            }
        }
        sum
    }

    fn collect<K: Key + ?Sized>(&self, key: &K) -> (Vec<Set<'a>>, Work) {
        let mut sets = Vec::new();
        let work = self.search(key, |segment, word, found| {
            each_bit(found, |place| sets.push(segment.set(word * 64 + place)));
            true
        });
        if sets.len() > 1 {
            sets.sort_unstable_by_key(Set::id);
            sets.dedup_by_key(|set| set.id());
        }
        (sets, work)
    }

    /// Calls `each(segment, word, bits)` for all slots that may hold the key, until it says
    /// false.
    fn search<K: Key + ?Sized>(
        &self,
        key: &K,
        mut each: impl FnMut(&'a Segment, usize, u64) -> bool,
    ) -> Work {
        let mut work = Work::default();
        let mut go_on = true;
        for (c, class) in self.index.classes.iter().enumerate() {
            if !go_on {
                break;
            }
            if class.segments.is_empty() {
                continue;
            }
            with_positions(&class.params, key, |positions| {
                for (segment, live) in self.segments_of(c).filter(|(_, live)| !live.is_empty()) {
                    work += segment.search(positions, live, |word, found| {
                        // A scope does not know what was removed since.
                        let found = found & segment.live()[word];
                        go_on = found == 0 || each(segment, word, found);
                        go_on
                    });
                    if !go_on {
                        break;
                    }
                }
            });
        }
        work
    }

    /// Calls `each(key, segment, word, bits)` for all keys of a batch.
    fn search_many<K: Key>(
        &self,
        keys: &[K],
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, &'a Segment, usize, u64),
    ) {
        for (c, Class { params, segments }) in self.index.classes.iter().enumerate() {
            if segments.is_empty() {
                continue;
            }
            scratch.positions.clear();
            for key in keys {
                key.with_bytes(|bytes| {
                    Positions::new(params, bytes).all(params, |position| {
                        scratch.positions.push(position);
                        true
                    })
                });
            }
            let batch = Batch {
                positions: &scratch.positions,
                hashes: params.hashes() as usize,
            };
            for (segment, live) in self.segments_of(c).filter(|(_, live)| !live.is_empty()) {
                segment.search_many(batch, live, &mut scratch.candidates, |key, word, found| {
                    each(key, segment, word, found & segment.live()[word]);
                });
            }
        }
    }

    /// The segments of a class, each with the slots to ask.
    fn segments_of(&self, class: usize) -> impl Iterator<Item = (&'a Segment, &'a [u64])> {
        let masks = self.scope.map(|scope| scope.masks.get(class));
        let segments = self.index.classes[class].segments.iter().enumerate();
        segments.map(move |(s, segment)| {
            let live = match masks {
                None => segment.live(),
                // A segment made since has nothing in the scope.
                Some(masks) => masks
                    .and_then(|masks| masks.get(s))
                    .map_or(&[][..], Vec::as_slice),
            };
            (segment, live)
        })
    }
}

/// The positions of a key. A [`Probe`](crate::Probe) has room for 64 of them, and copying
/// that is felt where the answer is no (30 ns in all, and 41 with it).
#[inline(always)]
fn with_positions<K: Key + ?Sized>(params: &Params, key: &K, then: impl FnOnce(&[u64])) {
    const USUAL: usize = 16;
    let hashes = params.hashes() as usize;
    if hashes > USUAL {
        return then(params.probe(key).positions());
    }
    let mut positions = [0; USUAL];
    let mut room = positions.iter_mut();
    key.with_bytes(|bytes| {
        Positions::new(params, bytes).all(params, |position| {
            room.next().map(|out| *out = position).is_some()
        })
    });
    then(&positions[..hashes]);
}

#[inline(always)]
fn each_bit(mut found: u64, mut each: impl FnMut(usize)) {
    while found != 0 {
        each(found.trailing_zeros() as usize);
        found &= found - 1;
    }
}
