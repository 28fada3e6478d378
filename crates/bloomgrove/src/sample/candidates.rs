//! Candidates: names that may be members, found without testing each name.
//!
//! ```text
//!   names       every name
//!   index       names on set bits, from a `NameIndex`, minus those whose second bit is clear
//!   inversion   names on set bits, by inverting the first affine function
//! ```
//!
//! Each source can be enumerated, for a reconstruction, or drawn from uniformly, for a sample.
//! A draw can fail: a range may exclude the name, a value may have no preimage, or a second bit
//! may be clear. Rejecting such draws keeps the sample uniform, and it is cheap.

use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt};

use super::name_index::{NameIndex, Segment};
use super::namespace::Namespace;
use super::{Names, Query};
use crate::bits;
use crate::hash::Inverse;
use crate::{Error, Family};

/// The ranks that a query covers: one window for each part of a namespace.
#[derive(Debug)]
pub(super) struct Domain<'n> {
    pub(super) namespace: &'n Namespace,
    windows: Vec<Range<u64>>,
    /// Whether the domain contains every name of the namespace.
    whole: bool,
    pub(super) len: u64,
    /// The range from the least to the greatest integer in the domain; `None` for texts.
    pub(super) span: Option<Range<u64>>,
}

impl<'n> Domain<'n> {
    pub(super) fn new(
        namespace: &'n Namespace,
        within: Option<&Range<u64>>,
    ) -> Result<Self, Error> {
        let windows = namespace.windows(within)?;
        let len = windows.iter().map(|window| window.end - window.start).sum();
        let span = namespace.span().map(|span| match within {
            Some(within) => {
                let start = span.start.max(within.start);
                start..span.end.min(within.end).max(start)
            }
            None => span,
        });
        Ok(Self {
            namespace,
            windows,
            whole: len == namespace.len(),
            len,
            span,
        })
    }

    pub(super) fn windows(&self) -> &[Range<u64>] {
        &self.windows
    }

    /// Returns the rank in the namespace of the domain's name number `i`.
    #[inline]
    fn rank(&self, i: u64) -> u64 {
        if self.whole {
            return i;
        }
        let mut left = i;
        for window in &self.windows {
            let len = window.end - window.start;
            if left < len {
                return window.start + left;
            }
            left -= len;
        }
        0
    }

    #[inline]
    pub(super) fn contains(&self, rank: u64) -> bool {
        self.whole || self.windows.iter().any(|window| window.contains(&rank))
    }

    /// Returns the rank of an integer, or `None` if it is not in the domain.
    #[inline]
    pub(super) fn rank_of(&self, number: u64) -> Option<u64> {
        self.namespace
            .rank_of(number)
            .filter(|&rank| self.contains(rank))
    }
}

/// Returns the inverse of the first hash function of a query's filters, or `None` if their
/// family is not affine.
pub(super) fn inverse_of(query: &Query) -> Option<Inverse> {
    match query.params().family() {
        Family::Affine(functions) => Some(Inverse::of(functions, 0, query.params().bits())),
        _ => None,
    }
}

/// The source from which a [`Sampler`](super::Sampler) draws its candidates.
#[derive(Debug)]
pub(super) enum Source<'n> {
    Names,
    Index {
        index: &'n NameIndex,
        live: Live,
    },
    Inversion {
        inverse: Inverse,
        set: SetBits,
        span: Range<u64>,
    },
}

/// Entries looked up together: all of them are prefetched before the first is read.
const TOGETHER: usize = 32;

impl Source<'_> {
    /// Tries `looks` times to draw a name, and appends the ranks of those that may be members
    /// to `found`. In each try, every name of the domain that the query accepts is equally
    /// likely.
    pub(super) fn draw(
        &self,
        query: &Query,
        domain: &Domain,
        looks: usize,
        random: &mut Xoshiro256PlusPlus,
        found: &mut Vec<u64>,
    ) {
        match self {
            Source::Names => {
                found.extend((0..looks).map(|_| domain.rank(random.random_range(0..domain.len))));
            }
            Source::Index { index, live } => {
                let words = query.words();
                let mut left = looks;
                while left > 0 {
                    let count = left.min(TOGETHER);
                    left -= count;
                    let mut places = [Place::default(); TOGETHER];
                    for place in &mut places[..count] {
                        *place = live.draw(index.segments(), words, random);
                        index.segments()[place.segment].prefetch(place.entry);
                    }
                    for place in &places[..count] {
                        let segment = &index.segments()[place.segment];
                        let candidate = segment.candidate(place.entry, place.bucket, words);
                        let rank =
                            candidate.map(|rank| domain.namespace.start_of(place.segment) + rank);
                        found.extend(rank.filter(|&rank| domain.contains(rank)));
                    }
                }
            }
            Source::Inversion { inverse, set, span } => {
                for _ in 0..looks {
                    let number = set
                        .draw(query, random)
                        .and_then(|position| inverse.draw(position, span, random));
                    found.extend(number.and_then(|number| domain.rank_of(number)));
                }
            }
        }
    }
}

/// Returns whether a bit is set. A position past the last bit, as in a damaged file, counts as
/// clear.
#[inline]
pub(super) fn is_set(words: &[u64], position: u64) -> bool {
    words
        .get((position >> 6) as usize)
        .is_some_and(|word| word >> (position & 63) & 1 != 0)
}

/// Returns the buckets of `range` that have a set bit, in ascending order.
pub(super) fn live_buckets(
    words: &[u64],
    shift: u32,
    range: Range<u64>,
) -> impl Iterator<Item = u64> + '_ {
    let to = ((range.end << shift).div_ceil(64) as usize).min(words.len());
    let from = ((range.start << shift) / 64).min(to as u64) as usize;
    let mut last = None;
    bits::ones(&words[from..to])
        .map(move |position| (from as u64 * 64 + position) >> shift)
        .filter(move |&bucket| range.contains(&bucket) && last.replace(bucket) != Some(bucket))
}

/// The entries of all buckets with a set bit, drawn from uniformly.
///
/// ```text
///   cumulated   0   3   4   9  ...    entries in all earlier groups
///   guide       for each equal share of the entries, a first guess that is one or two steps off
/// ```
#[derive(Debug)]
pub(super) struct Live {
    /// Buckets per group: 1, or more if one group per bucket would take too much memory.
    group: u64,
    groups: Vec<Group>,
    /// The number of entries before each group.
    cumulated: Vec<u64>,
    guide: Vec<u32>,
    total: u64,
}

/// A group of buckets of which at least one is live and has entries.
#[derive(Debug)]
struct Group {
    segment: u32,
    number: u64,
    /// The first entry, if the group is a single bucket.
    start: u64,
}

/// The location of a drawn entry.
#[derive(Clone, Copy, Default)]
struct Place {
    segment: usize,
    bucket: u64,
    entry: u64,
}

impl Live {
    pub(super) fn new(index: &NameIndex, query: &Query, memory: u64) -> Self {
        // 36 bytes per group, for the largest possible number of groups.
        let most = (memory / 36).max(1024);
        let groups = |group: u64| -> u64 {
            let of = |segment: &Segment| segment.buckets().div_ceil(group).min(query.ones());
            index.segments().iter().map(of).sum()
        };
        let mut group = 1;
        while groups(group) > most && group < 1 << 32 {
            group *= 2;
        }
        let mut live = Self {
            group,
            groups: Vec::new(),
            cumulated: Vec::new(),
            guide: Vec::new(),
            total: 0,
        };
        for (number, segment) in index.segments().iter().enumerate() {
            let buckets = live_buckets(query.words(), segment.shift(), 0..segment.buckets());
            for bucket in buckets {
                live.add(number as u32, bucket / group, segment.bucket(bucket));
            }
        }
        live.guide = live.guesses();
        live
    }

    fn add(&mut self, segment: u32, number: u64, entries: Range<u64>) {
        if entries.is_empty() {
            return;
        }
        let last = self
            .groups
            .last()
            .map(|group| (group.segment, group.number));
        if last != Some((segment, number)) {
            self.groups.push(Group {
                segment,
                number,
                start: entries.start,
            });
            self.cumulated.push(self.total);
        }
        self.total += entries.end - entries.start;
    }

    /// For each of as many equal shares as there are groups, finds the group of its first
    /// entry.
    fn guesses(&self) -> Vec<u32> {
        let shares = self.groups.len() as u64;
        let mut at = 0;
        (0..shares)
            .map(|share| {
                let first =
                    (u128::from(share) * u128::from(self.total) / u128::from(shares)) as u64;
                while self
                    .cumulated
                    .get(at + 1)
                    .is_some_and(|&next| next <= first)
                {
                    at += 1;
                }
                at as u32
            })
            .collect()
    }

    /// Returns the number of entries to draw from.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    #[inline]
    fn draw(&self, segments: &[Segment], words: &[u64], random: &mut impl Rng) -> Place {
        let entry = random.random_range(0..self.total);
        let share =
            (u128::from(entry) * self.guide.len() as u128 / u128::from(self.total)) as usize;
        let mut at = self.guide[share] as usize;
        while self
            .cumulated
            .get(at + 1)
            .is_some_and(|&next| next <= entry)
        {
            at += 1;
        }
        let group = &self.groups[at];
        let mut left = entry - self.cumulated[at];
        let mut place = Place {
            segment: group.segment as usize,
            bucket: group.number,
            entry: group.start + left,
        };
        if self.group == 1 {
            return place;
        }
        let segment = &segments[place.segment];
        let first = group.number * self.group;
        let last = segment.buckets().min(first + self.group);
        for bucket in first..last {
            let mut positions = bucket << segment.shift()..(bucket + 1) << segment.shift();
            let entries = segment.bucket(bucket);
            let len = entries.end - entries.start;
            if len > 0 && positions.any(|position| is_set(words, position)) {
                if left < len {
                    (place.bucket, place.entry) = (bucket, entries.start + left);
                    break;
                }
                left -= len;
            }
        }
        place
    }
}

/// The set bits of a query, drawn from uniformly.
#[derive(Debug)]
pub(super) enum SetBits {
    Listed(Vec<u64>),
    /// Too many to list: draw any bit, and reject it if it is clear.
    Any,
}

impl SetBits {
    pub(super) fn new(query: &Query, memory: u64) -> Self {
        // At a quarter full, trying any bit costs no more than the memory access of a list.
        if query.ones() * 8 > memory || query.fill() > 0.25 {
            return SetBits::Any;
        }
        SetBits::Listed(bits::ones(query.words()).collect())
    }

    /// Returns the number of bits to draw from.
    pub(super) fn looks(&self, query: &Query) -> f64 {
        match self {
            SetBits::Listed(positions) => positions.len() as f64,
            SetBits::Any => query.params().bits() as f64,
        }
    }

    #[inline]
    fn draw(&self, query: &Query, random: &mut impl Rng) -> Option<u64> {
        match self {
            SetBits::Listed(positions) => Some(positions[random.random_range(0..positions.len())]),
            SetBits::Any => {
                let position = random.random_range(0..query.params().bits());
                is_set(query.words(), position).then_some(position)
            }
        }
    }
}

/// Returns the index of the names, if they have one.
pub(super) fn index_of<'n>(names: Names<'n>) -> Option<&'n NameIndex> {
    match names {
        Names::Index(index) => Some(index),
        Names::Namespace(_) => None,
    }
}
