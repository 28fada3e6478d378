//! Names that may be members, found without testing any.
//!
//! ```text
//!   names       all of them
//!   index       those on set bits, from a `NameIndex`; minus those whose second bit is not set
//!   inversion   those on set bits, by turning the first affine function round
//! ```
//!
//! Each can be walked through, for a reconstruction, or drawn from with equal chances, for a
//! sample. To draw may fail: a range restricts the names, a y has no x, a second bit is not
//! set. Failing is how chances stay equal, and it is cheap.

use std::ops::Range;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt};

use super::name_index::{NameIndex, Segment};
use super::namespace::Namespace;
use super::{Names, Query};
use crate::bits;
use crate::hash::Inverse;
use crate::{Error, Family};

/// The ranks that are asked about: of each part of a namespace, a window.
#[derive(Debug)]
pub(super) struct Domain<'n> {
    pub(super) namespace: &'n Namespace,
    windows: Vec<Range<u64>>,
    /// Whether every name of the namespace is in it.
    whole: bool,
    pub(super) len: u64,
    /// The integers from the least to the greatest that may be in it; None of texts.
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

    /// Name number `i` of the domain, by its rank in the namespace.
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

    /// The rank of an integer that is in the domain.
    #[inline]
    pub(super) fn rank_of(&self, number: u64) -> Option<u64> {
        self.namespace
            .rank_of(number)
            .filter(|&rank| self.contains(rank))
    }
}

/// The first function of a query's filters, turned round; None if their family is not affine.
pub(super) fn inverse_of(query: &Query) -> Option<Inverse> {
    match query.params().family() {
        Family::Affine(functions) => Some(Inverse::of(functions, 0, query.params().bits())),
        _ => None,
    }
}

/// Where a [`Sampler`](super::Sampler) draws its candidates from.
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

/// Entries looked up together: the memory is asked for all before the first is read.
const TOGETHER: usize = 32;

impl Source<'_> {
    /// Tries `looks` times to draw a name, and adds the ranks of those that may be members to
    /// `found`. Every name of the domain that the query accepts has the same chance each time.
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

/// Whether a bit is set; a position beyond the last, from a damaged file, is not.
#[inline]
pub(super) fn is_set(words: &[u64], position: u64) -> bool {
    words
        .get((position >> 6) as usize)
        .is_some_and(|word| word >> (position & 63) & 1 != 0)
}

/// The buckets of `range` that have a set bit, rising.
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

/// The entries of all buckets with a set bit, drawn from with equal chances.
///
/// ```text
///   cumulated   0   3   4   9  ...    entries of the groups before
///   guide       a first guess for each equal share of all entries: one step or two away
/// ```
#[derive(Debug)]
pub(super) struct Live {
    /// Buckets to a group: 1, or more if there are so many that memory would be short.
    group: u64,
    groups: Vec<Group>,
    /// For each of them, the entries before it.
    cumulated: Vec<u64>,
    guide: Vec<u32>,
    total: u64,
}

/// Buckets of which some are live and have entries.
#[derive(Debug)]
struct Group {
    segment: u32,
    number: u64,
    /// Of a single bucket: its first entry.
    start: u64,
}

/// An entry that was drawn.
#[derive(Clone, Copy, Default)]
struct Place {
    segment: usize,
    bucket: u64,
    entry: u64,
}

impl Live {
    pub(super) fn new(index: &NameIndex, query: &Query, memory: u64) -> Self {
        // 36 bytes a group, by the largest number there can be.
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

    /// For each of as many equal shares as there are groups, the group its first entry is in.
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

    /// How many entries there are to draw from.
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

/// The set bits of a query, drawn from with equal chances.
#[derive(Debug)]
pub(super) enum SetBits {
    Listed(Vec<u64>),
    /// Too many to list: any bit is tried.
    Any,
}

impl SetBits {
    pub(super) fn new(query: &Query, memory: u64) -> Self {
        // A quarter full, trying any costs no more than the memory access of a list.
        if query.ones() * 8 > memory || query.fill() > 0.25 {
            return SetBits::Any;
        }
        SetBits::Listed(bits::ones(query.words()).collect())
    }

    /// How many bits there are to draw from.
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

/// The index among the names, if they have one.
pub(super) fn index_of<'n>(names: Names<'n>) -> Option<&'n NameIndex> {
    match names {
        Names::Index(index) => Some(index),
        Names::Namespace(_) => None,
    }
}
