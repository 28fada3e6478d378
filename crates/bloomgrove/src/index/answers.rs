//! The answers for many keys, and how they are put in order.
//!
//! ```text
//!   sets     a c | | b d e | ...        key by key, in the order of their numbers
//!   starts   0     2 2       5 ...      and how many sets a limit left out
//! ```
//!
//! A segment finds the sets of one key after the other, in the order of its slots. If it is the only one, as in
//! most indexes, they are appended as they are found. Several segments are searched one after the
//! other, so what they find is sorted first.

use super::labels::Set;
use super::segment::Segment;

/// The answers for many keys.
#[derive(Clone, Debug)]
pub struct Answers<'a> {
    sets: Sets<'a>,
    /// For each key, where its answer starts, and how many sets a limit left out.
    starts: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
enum Sets<'a> {
    /// By their slots in the only segment. Dense filters have many false positives per key. A slot takes a
    /// quarter of the memory of a [`Set`], which halves the time, since the system has to provide it.
    Slots(&'a Segment, Vec<u32>),
    Sorted(Vec<Set<'a>>),
}

impl<'a> Answers<'a> {
    /// Returns the sets that may contain the key with this number, sorted by set number.
    ///
    /// # Panics
    /// If `key` is out of range.
    pub fn sets(&self, key: usize) -> impl ExactSizeIterator<Item = Set<'a>> + Clone {
        let end = self.starts.get(key + 1).map(|(start, _)| *start);
        let range = self.starts[key].0..end.unwrap_or(self.sets.len());
        range.map(|at| match &self.sets {
            Sets::Slots(segment, slots) => segment.set(slots[at] as usize),
            Sets::Sorted(sets) => sets[at],
        })
    }

    /// Returns how many sets may contain the key with this number, including those that a limit
    /// left out.
    ///
    /// # Panics
    /// If `key` is out of range.
    pub fn count(&self, key: usize) -> usize {
        self.sets(key).len() + self.starts[key].1
    }

    /// Iterates over the answers, key by key.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = Set<'a>> + Clone> {
        (0..self.starts.len()).map(|key| self.sets(key))
    }

    /// Creates answers for this many keys, whose sets are all in `only`, or in several segments.
    pub(super) fn new(keys: usize, only: Option<&'a Segment>) -> Self {
        Self {
            sets: match only {
                Some(segment) => Sets::Slots(segment, Vec::new()),
                None => Sets::Sorted(Vec::new()),
            },
            starts: Vec::with_capacity(keys),
        }
    }

    /// Begins the answers of all keys up to this one.
    #[inline(always)]
    fn begin(&mut self, key: usize) {
        while self.starts.len() <= key {
            self.starts.push((self.sets.len(), 0));
        }
    }

    /// Adds sets of the only segment to the answer of a key, which is not before the last one that has an answer.
    #[inline(always)]
    pub(super) fn add(&mut self, key: usize, word: usize, bits: u64) {
        self.begin(key);
        if let Sets::Slots(_, slots) = &mut self.sets {
            each_bit(bits, |place| slots.push((word * 64 + place) as u32));
        }
    }

    /// Adds what was found for some keys from `first` on, and completes their answers. `left_out` has a
    /// number for each.
    pub(super) fn take(&mut self, first: usize, found: &mut Found<'a>, left_out: &[usize]) {
        for (key, set) in found.in_order() {
            self.begin(first + *key as usize);
            if let Sets::Sorted(sets) = &mut self.sets {
                sets.push(*set);
            }
        }
        for (key, left_out) in (first..).zip(left_out) {
            self.begin(key);
            self.starts[key].1 = *left_out;
        }
    }
}

impl Sets<'_> {
    fn len(&self) -> usize {
        match self {
            Sets::Slots(_, slots) => slots.len(),
            Sets::Sorted(sets) => sets.len(),
        }
    }
}

/// The sets found for some keys, with the number of the key.
#[derive(Default)]
pub(super) struct Found<'a> {
    sets: Vec<(u32, Set<'a>)>,
    order: Order<'a>,
}

impl<'a> Found<'a> {
    pub(super) fn clear(&mut self) {
        self.sets.clear();
        self.order = Order::default();
    }

    #[inline(always)]
    pub(super) fn add(&mut self, key: u32, segment: &'a Segment, word: usize, bits: u64) {
        if bits != 0 {
            self.order.note(segment);
        }
        each_bit(bits, |place| {
            self.sets.push((key, segment.set(word * 64 + place)));
        });
    }

    /// Returns them by key and id, each once.
    fn in_order(&mut self) -> &[(u32, Set<'a>)] {
        if !self.order.is_kept {
            sort(&mut self.sets, |(key, set)| (*key, set.id()));
        }
        &self.sets
    }
}

/// Whether sets were found in the order of their ids. Finding out afterwards would mean reading
/// all their labels, which takes longer than the search if there are many.
pub(super) struct Order<'a> {
    segment: Option<&'a Segment>,
    pub(super) is_kept: bool,
}

impl Default for Order<'_> {
    fn default() -> Self {
        Self {
            segment: None,
            is_kept: true,
        }
    }
}

impl<'a> Order<'a> {
    /// Something was found in this segment. Within a segment, slots are found in order.
    #[inline]
    pub(super) fn note(&mut self, segment: &'a Segment) {
        self.is_kept &= match self.segment.replace(segment) {
            None => segment.is_ascending(),
            Some(before) => std::ptr::eq(before, segment),
        };
    }
}

/// Sorts what was found by `by`, each once. Every segment has found its own in order, so that there are
/// runs to merge; and each label is read once, not for each comparison.
pub(super) fn sort<T: Copy, B: Ord + Copy>(found: &mut Vec<T>, by: impl Fn(&T) -> B) {
    let mut sorted: Vec<(B, T)> = found.iter().map(|one| (by(one), *one)).collect();
    sorted.sort_by_key(|(by, _)| *by);
    sorted.dedup_by_key(|(by, _)| *by);
    found.clear();
    found.extend(sorted.iter().map(|(_, one)| *one));
}

#[inline(always)]
pub(super) fn each_bit(mut found: u64, mut each: impl FnMut(usize)) {
    while found != 0 {
        each(found.trailing_zeros() as usize);
        found &= found - 1;
    }
}
