//! Queries: which sets, how many, any; one key or many; all sets or some.
//!
//! Every shape answers the same query: "of the slots in this mask, which have all of these
//! positions set?" The mask contains the live slots, or a [`Scope`]'s share of them. Restricting a
//! query therefore costs nothing, and saves the work for what it leaves out.

use std::ops::Range;

use super::answers::{Answers, Found, Order, each_bit, sort};
use super::keys::{BATCH, Digests, Keys, add_positions, batches, with_positions};
use super::labels::{Set, SetId};
use super::segment::Segment;
use super::work::{Batch, Tally, Work};
use super::{Class, Index};
use crate::bits;
use crate::params::probe::write_in_turn;
use crate::{Error, Key, tune};

/// Some of the sets of an index, such as those of one tenant or of last week, to restrict queries
/// to.
///
/// A scope is a snapshot: sets added later are not in it, and removed ones are no longer found.
/// After changes that reuse or move slots it must be created again ([`Error::Stale`]).
#[derive(Clone, Debug)]
pub struct Scope {
    epoch: u64,
    /// By class and segment.
    masks: Vec<Vec<Vec<u64>>>,
}

/// The cost of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of filters tested: at most those of the index. A set that
    /// consists of slices has one filter per slice.
    pub filters_tested: u64,
    /// The number of 64-bit words read.
    pub words_read: u64,
}

/// An index, or the part of it in a [`Scope`]: all queries that both support.
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

/// Buffers for a batch of keys, reused for the next one.
struct Scratch<'k, 'a> {
    digests: Digests<'k, 'a>,
    positions: Vec<u64>,
    candidates: Vec<(u32, u32)>,
}

impl Index {
    /// Returns the sets that may contain the key, sorted by set number. All other sets certainly do
    /// not contain it.
    pub fn which<K: Key + ?Sized>(&self, key: &K) -> Vec<Set<'_>> {
        self.view().which(key)
    }

    /// Same as [`which`](Self::which) for each of many keys, but faster.
    pub fn which_many<K: Key>(&self, keys: &[K]) -> Answers<'_> {
        self.view().which_many(keys)
    }

    /// Returns the number of sets that may contain the key.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> usize {
        self.view().count(key)
    }

    /// Returns whether any set may contain the key. Stops at the first one.
    pub fn any<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.view().any(key)
    }

    /// Returns a scope of the sets for which `keep` returns true.
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

    /// Returns the part of the index in a scope, which can be queried like the whole.
    ///
    /// # Errors
    /// [`Error::Stale`] if the scope must be created again.
    pub fn within<'a>(&'a self, scope: &'a Scope) -> Result<View<'a>, Error> {
        if scope.epoch != self.epoch {
            return Err(Error::Stale);
        }
        Ok(View {
            index: self,
            scope: Some(scope),
        })
    }

    /// Returns a view of the whole index, which offers more queries than [`Index`] itself.
    pub fn view(&self) -> View<'_> {
        View {
            index: self,
            scope: None,
        }
    }
}

impl<'a> View<'a> {
    /// Same as [`Index::which`].
    pub fn which<K: Key + ?Sized>(&self, key: &K) -> Vec<Set<'a>> {
        self.collect(key, &mut ())
    }

    /// Same as [`Index::count`].
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> usize {
        self.collect(key, &mut ()).len()
    }

    /// Same as [`Index::any`].
    pub fn any<K: Key + ?Sized>(&self, key: &K) -> bool {
        let mut any = false;
        self.each_segment(key, |segment, positions, live| {
            segment.search(positions, live, &mut (), |word, found| {
                any = self.alive(segment, word, found) != 0;
                !any
            });
            !any
        });
        any
    }

    /// Same as [`which`](Self::which), and also returns the cost.
    pub fn explain<K: Key + ?Sized>(&self, key: &K) -> (Vec<Set<'a>>, Figures) {
        let mut work = Work::default();
        let sets = self.collect(key, &mut work);
        let figures = Figures {
            filters_tested: work.tested,
            words_read: work.words,
        };
        (sets, figures)
    }

    /// Same as [`Index::which_many`].
    pub fn which_many<K: Key>(&self, keys: &[K]) -> Answers<'a> {
        self.answers(&keys, usize::MAX, |_| true)
    }

    /// Same as [`which_many`](Self::which_many), restricted to the sets for which `keep` returns
    /// true, and to `limit` sets per key, in the order in which they are found. [`Answers::count`]
    /// returns the number without the limit. Beyond the limit sets are only counted, so a server
    /// can bound the cost of a query even if a key is in every set. Omitted sets that consist of
    /// slices are counted once per slice.
    pub fn which_some<K: Key>(
        &self,
        keys: &[K],
        limit: usize,
        mut keep: impl FnMut(&Set<'_>) -> bool,
    ) -> Answers<'a> {
        let keep: &mut dyn FnMut(&Set<'_>) -> bool = &mut keep;
        self.answers(&keys, limit, keep)
    }

    fn answers(
        &self,
        keys: &dyn Keys,
        limit: usize,
        mut keep: impl FnMut(&Set<'_>) -> bool,
    ) -> Answers<'a> {
        let only = self.only_segment();
        let mut answers = Answers::new(keys.len(), only);
        let mut found = Found::default();
        let mut scratch = Scratch {
            digests: Digests::new(keys),
            positions: Vec::new(),
            candidates: Vec::new(),
        };
        for batch in batches(keys) {
            let (mut taken, mut left_out) = ([0; BATCH], [0; BATCH]);
            self.search_many(
                keys,
                batch.clone(),
                &mut scratch,
                |key, segment, word, mut bits| {
                    each_bit(bits, |place| {
                        if !keep(&segment.set(word * 64 + place)) {
                            bits &= !(1 << place);
                        }
                    });
                    if limit < usize::MAX {
                        let listed = lowest(bits, limit - taken[key]);
                        taken[key] += listed.count_ones() as usize;
                        left_out[key] += (bits & !listed).count_ones() as usize;
                        bits = listed;
                    }
                    match only {
                        Some(_) => answers.add(batch.start + key, word, bits),
                        None => found.add(key as u32, segment, word, bits),
                    }
                },
            );
            answers.take(batch.start, &mut found, &left_out[..batch.len()]);
            found.clear();
        }
        answers
    }

    /// The segment, if there is only one and its sets are in the order of their numbers.
    fn only_segment(&self) -> Option<&'a Segment> {
        let mut segments = (self.index.classes.iter()).flat_map(|class| &class.segments);
        let only = segments.next().filter(|segment| {
            segment.is_ascending() && u32::try_from(segment.slot_count()).is_ok()
        });
        only.filter(|_| segments.next().is_none())
    }

    /// Same as [`which_some`](Self::which_some), for the sets that may contain all of the keys. The
    /// result has a single answer, which is every set if there are no keys.
    ///
    /// The bits of all keys are looked up together, so that this is faster than a query for each.
    /// But it also means that a set that consists of slices is found only if one of them contains
    /// all keys; use [`at_least`](Self::at_least) if sets consist of slices.
    pub fn which_all<K: Key>(
        &self,
        keys: &[K],
        limit: usize,
        mut keep: impl FnMut(&Set<'_>) -> bool,
    ) -> Answers<'a> {
        let (mut found, mut taken, mut left_out) = (Found::default(), 0, 0);
        let mut positions = Vec::new();
        for (c, Class { params, segments }) in self.index.classes.iter().enumerate() {
            if segments.is_empty() {
                continue;
            }
            positions.clear();
            add_positions(params, keys, &mut positions);
            for (segment, live) in self.segments_of(c).filter(|(_, live)| !live.is_empty()) {
                segment.search(&positions, live, &mut (), |word, bits| {
                    each_bit(self.alive(segment, word, bits), |place| {
                        if keep(&segment.set(word * 64 + place)) {
                            match taken < limit {
                                true => found.add(0, segment, word, 1 << place),
                                false => left_out += 1,
                            }
                            taken += 1;
                        }
                    });
                    true
                });
            }
        }
        let mut answers = Answers::new(1, None);
        answers.take(0, &mut found, &[left_out]);
        answers
    }

    /// Returns the sets that may contain at least `least` of the keys, with the number of keys they
    /// may contain, in descending order of that number. A key given twice counts twice.
    pub fn at_least<K: Key>(&self, least: usize, keys: &[K]) -> Vec<(Set<'a>, usize)> {
        let mut counts: std::collections::HashMap<SetId, (Set<'a>, usize)> = Default::default();
        for keys in keys.chunks(1 << 12) {
            for sets in self.which_many(keys).iter() {
                for set in sets {
                    counts.entry(set.id()).or_insert((set, 0)).1 += 1;
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

    /// Returns the expected number of false positives for a key that no set contains: the sum of
    /// the false-positive rates of all filters.
    ///
    /// Cost: reads every label once.
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

    fn collect<K: Key + ?Sized>(&self, key: &K, tally: &mut impl Tally) -> Vec<Set<'a>> {
        let mut sets = Vec::new();
        let mut order = Order::default();
        self.each_segment(key, |segment, positions, live| {
            let before = sets.len();
            segment.search(positions, live, tally, |word, found| {
                each_bit(self.alive(segment, word, found), |place| {
                    if sets.len() == sets.capacity() {
                        // Most keys are in few sets. But dense filters have many false positives: growing
                        // by the usual factor of two takes a tenth of their time.
                        match sets.len() {
                            0 => sets = Vec::with_capacity(4),
                            len => sets.reserve(len * 3),
                        }
                    }
                    sets.push(segment.set(word * 64 + place));
                });
                true
            });
            if sets.len() > before {
                order.note(segment);
            }
            true
        });
        if !order.is_kept && sets.len() > 1 {
            sort(&mut sets, |set| set.id());
        }
        sets
    }

    /// Calls `each(segment, positions, live)` for all segments, with the positions of the key, until
    /// it returns false.
    #[inline(always)]
    fn each_segment<K: Key + ?Sized>(
        &self,
        key: &K,
        mut each: impl FnMut(&'a Segment, &[u64], &'a [u64]) -> bool,
    ) {
        if let [Class { params, .. }] = &self.index.classes[..] {
            with_positions(
                params,
                key,
                #[inline(always)]
                |positions| {
                    (self.segments_of(0).filter(|(_, live)| !live.is_empty()))
                        .all(|(segment, live)| each(segment, positions, live))
                },
            );
            return;
        }
        // Each class is a few lines of memory, scattered: all are fetched before the first is searched.
        let hashes = |class: &Class| class.params.hashes() as usize;
        let mut positions = vec![0; self.index.classes.iter().map(hashes).sum()];
        key.with_bytes(|bytes| {
            let (mut rest, mut last) = (&mut positions[..], None);
            for (c, class) in self.index.classes.iter().enumerate() {
                let own = rest.split_off_mut(..hashes(class)).unwrap_or_default();
                last = write_in_turn(&class.params, bytes, last, own);
                for (segment, _) in self.segments_of(c) {
                    segment.body().prefetch(own);
                }
            }
        });
        let mut rest = &positions[..];
        for (c, class) in self.index.classes.iter().enumerate() {
            let own = rest.split_off(..hashes(class)).unwrap_or_default();
            let mut segments = self.segments_of(c).filter(|(_, live)| !live.is_empty());
            if !segments.all(|(segment, live)| each(segment, own, live)) {
                break;
            }
        }
    }

    /// A scope does not know which filters were removed since.
    #[inline(always)]
    fn alive(&self, segment: &Segment, word: usize, found: u64) -> u64 {
        match self.scope {
            None => found,
            Some(_) => found & segment.live()[word],
        }
    }

    /// Calls `each(key, segment, word, bits)` for all keys of a batch.
    fn search_many(
        &self,
        keys: &dyn Keys,
        batch: Range<usize>,
        scratch: &mut Scratch<'_, 'a>,
        mut each: impl FnMut(usize, &'a Segment, usize, u64),
    ) {
        for (c, Class { params, segments }) in self.index.classes.iter().enumerate() {
            if segments.is_empty() {
                continue;
            }
            scratch.positions.clear();
            let (positions, batch) = (&mut scratch.positions, batch.clone());
            match self.index.classes.len() {
                // There is nothing to share, and no need to store digests.
                1 => keys.add_positions(batch, params, positions),
                _ => scratch.digests.add_positions(batch, params, positions),
            }
            let batch = Batch {
                positions: &scratch.positions,
                hashes: params.hashes() as usize,
            };
            for (segment, live) in self.segments_of(c).filter(|(_, live)| !live.is_empty()) {
                segment.search_many(batch, live, &mut scratch.candidates, |key, word, found| {
                    each(key, segment, word, self.alive(segment, word, found));
                });
            }
        }
    }

    /// Iterates over the segments of a class, each with the slots to query.
    fn segments_of(&self, class: usize) -> impl Iterator<Item = (&'a Segment, &'a [u64])> {
        let masks = self.scope.map(|scope| scope.masks.get(class));
        let segments = self.index.classes[class].segments.iter().enumerate();
        segments.map(move |(s, segment)| {
            let live = match masks {
                None => segment.live(),
                // A segment created since is not in the scope.
                Some(masks) => masks
                    .and_then(|masks| masks.get(s))
                    .map_or(&[][..], Vec::as_slice),
            };
            (segment, live)
        })
    }
}

/// Returns the lowest `count` bits that are set.
fn lowest(bits: u64, count: usize) -> u64 {
    let mut rest = bits;
    for _ in 0..count.min(64) {
        rest &= rest.wrapping_sub(1);
        if rest == 0 {
            break;
        }
    }
    bits & !rest
}
