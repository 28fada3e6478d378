//! Reconstruction: all members of a namespace, which are the inserted items and the false
//! positives.
//!
//! ```text
//!   scan         every name                              M tests
//!   index        names on set bits, second bit set too   fill M examined, fill^2 M tests
//!   inversion    names on set bits                       fill M tests
//! ```
//!
//! All three find exactly the same names: every name that the filter accepts, and no other.
//! They differ in cost and in the order of the names: a scan goes by name, the others by
//! position. Members are delivered as they are found, so there may be any number of them.
//!
//! Source: Sengupta et al. (sampling), sections 4 and 6. The paper's tree (BloomSampleTree)
//! loses members to its thresholding; these ways cannot.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::candidates::{Domain, index_of, inverse_of, live_buckets};
use super::namespace::Name;
use super::parallel::in_order;
use super::planner::{Facts, Plan, Way};
use super::{Names, Query, SampleOptions, Work};
use crate::Error;

/// The approximate number of names in one piece of work.
const PIECE: u64 = 1 << 18;
/// Candidates tested together.
const BATCH: usize = 512;

/// Lists the members of a query.
///
/// ```
/// use bloomgrove::sample::{Namespace, Reconstruction};
/// use bloomgrove::{Filter, Params};
///
/// let mut filter = Filter::new(Params::for_items(1000, 1e-9)?)?;
/// filter.insert_batch(&[17u64, 204, 90_000]);
/// let names = Namespace::range(0..100_000)?;
///
/// let members = Reconstruction::new(&filter, &names)?;
/// assert_eq!(members.plan().estimate.members.round(), 3.0);
/// assert_eq!(members.integers()?, [17, 204, 90_000]);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Reconstruction<'a> {
    query: Query<'a>,
    names: Names<'a>,
    domain: Domain<'a>,
    plan: Plan,
    threads: usize,
}

/// Members found since the last call, and the progress of the work.
#[derive(Debug)]
pub struct Found<'f> {
    ranks: &'f [u64],
    domain: &'f Domain<'f>,
    /// Pieces of work done.
    pub done: u64,
    /// Pieces of work in total.
    pub pieces: u64,
}

impl Found<'_> {
    /// Returns the members; there may be none, because progress is reported anyway.
    pub fn names(&self) -> impl ExactSizeIterator<Item = Name> + '_ {
        self.ranks
            .iter()
            .map(|&rank| self.domain.namespace.name(rank))
    }
}

impl<'a> Reconstruction<'a> {
    /// Plans to list the members of a filter or an expression of filters, among all names.
    ///
    /// # Errors
    /// As for [`with`](Self::with).
    pub fn new(query: impl Into<Query<'a>>, names: impl Into<Names<'a>>) -> Result<Self, Error> {
        Self::with(query, names, &SampleOptions::default())
    }

    /// Like [`new`](Self::new), with options: `within`, `way` and `threads` apply here.
    ///
    /// # Errors
    /// [`Error::Namespace`] if filters of this family cannot contain such names,
    /// [`Error::Closed`] if the requested way is not available, [`Error::Incompatible`] if an
    /// index has different parameters.
    pub fn with(
        query: impl Into<Query<'a>>,
        names: impl Into<Names<'a>>,
        options: &SampleOptions,
    ) -> Result<Self, Error> {
        let (query, names) = (query.into(), names.into());
        let domain = names.domain(&query, options.within.as_ref())?;
        let plan = Facts::new(&query, names, &domain).plan_list(options.way)?;
        Ok(Self {
            query,
            names,
            domain,
            plan,
            threads: options.threads(),
        })
    }

    /// Returns the plan: what will be done, and why.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Finds all members, on all processors, and passes them to `each` in an order that is
    /// always the same, until it returns [`ControlFlow::Break`].
    pub fn run(&self, mut each: impl FnMut(Found) -> ControlFlow<()>) -> Work {
        let domain = &self.domain;
        self.ranks(|ranks, done, pieces| {
            each(Found {
                ranks,
                domain,
                done,
                pieces,
            })
        })
    }

    /// Returns all members, which must fit in memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn names(&self) -> Result<Vec<Name>, Error> {
        let (ranks, _) = self.all_ranks(u64::MAX, &mut |_, _| ControlFlow::Continue(()))?;
        Ok(ranks
            .iter()
            .map(|&rank| self.domain.namespace.name(rank))
            .collect())
    }

    /// Returns all members as integers, in ascending order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Namespace`] if they are texts.
    pub fn integers(&self) -> Result<Vec<u64>, Error> {
        let integer = |name| match name {
            Name::Integer(number) => Ok(number),
            Name::Text(_) => Err(Error::namespace("these names are texts, not integers")),
        };
        let names = self.names()?.into_iter();
        let mut integers: Vec<u64> = names.map(integer).collect::<Result<_, _>>()?;
        integers.sort_unstable();
        Ok(integers)
    }

    /// Returns the ranks of all members, if they take at most `memory` bytes and `watch` does
    /// not break.
    pub(super) fn all_ranks(
        &self,
        memory: u64,
        watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(Vec<u64>, Work), Error> {
        let mut all: Vec<u64> = Vec::new();
        let mut failed = None;
        let work = self.ranks(|ranks, done, pieces| {
            let bytes = (all.len() + ranks.len()) as u64 * 8;
            if bytes > memory || all.try_reserve(ranks.len()).is_err() {
                failed = Some(Error::OutOfMemory { bytes });
                return ControlFlow::Break(());
            }
            all.extend_from_slice(ranks);
            let go_on = watch(done, pieces);
            if go_on.is_break() {
                failed = Some(Error::Interrupted);
            }
            go_on
        });
        match failed {
            Some(error) => Err(error),
            None => Ok((all, work)),
        }
    }

    fn ranks(&self, mut each: impl FnMut(&[u64], u64, u64) -> ControlFlow<()>) -> Work {
        let pieces = self.pieces();
        let (looks, tests) = (AtomicU64::new(0), AtomicU64::new(0));
        let total = pieces.len();
        let work = |number: u64| {
            let mut tester = Tester::new(&self.query, &self.domain);
            let (part, range) = pieces.get(number);
            self.look(part, range, &mut tester);
            tester.test();
            looks.fetch_add(tester.looks, Relaxed);
            tests.fetch_add(tester.tests, Relaxed);
            tester.members
        };
        in_order(total, self.threads, work, |number, ranks: Vec<u64>| {
            each(&ranks, number + 1, total)
        });
        Work {
            looks: looks.into_inner(),
            tests: tests.into_inner(),
        }
    }

    /// Divides the work into pieces of about equal size: ranks of a scan, buckets of a segment,
    /// or positions. If many numbers map to a position, it is divided into slices.
    fn pieces(&self) -> Pieces {
        let mut pieces = Pieces::default();
        // Few of the numbers examined are tested, so the pieces are larger.
        let step = |each: f64| (PIECE as f64 / 16.0 / each.max(1e-9)).clamp(1.0, 1e15) as u64;
        match (self.plan.way, index_of(self.names)) {
            (Way::Index, Some(index)) => {
                for (part, segment) in index.segments().iter().enumerate() {
                    let mean = segment.names() as f64 / segment.buckets() as f64;
                    let each = step(mean * self.query.fill()).min(step(mean).saturating_mul(64));
                    pieces.cut(part, 0..segment.buckets(), each);
                }
            }
            (Way::Invert, _) => {
                let bits = self.query.params().bits();
                match self.slices() {
                    1 => pieces.cut(0, 0..bits, step(self.plan.looks / bits as f64)),
                    slices => pieces.cut(0, 0..bits.saturating_mul(slices), 1),
                }
            }
            _ => {
                for window in self.domain.windows() {
                    pieces.cut(0, window.clone(), PIECE);
                }
            }
        }
        pieces
    }

    /// Returns the number of slices into which the numbers of one position are divided.
    fn slices(&self) -> u64 {
        match (inverse_of(&self.query), &self.domain.span) {
            (Some(inverse), Some(span)) => inverse.candidates(span).div_ceil(PIECE).max(1),
            _ => 1,
        }
    }

    /// Passes the candidates of a piece to `tester`.
    fn look(&self, part: usize, range: Range<u64>, tester: &mut Tester) {
        let words = self.query.words();
        match (self.plan.way, index_of(self.names), inverse_of(&self.query)) {
            (Way::Index, Some(index), _) => {
                let segment = &index.segments()[part];
                let start = self.domain.namespace.start_of(part);
                for bucket in live_buckets(words, segment.shift(), range) {
                    for entry in segment.bucket(bucket) {
                        tester.looks += 1;
                        let candidate = segment.candidate(entry, bucket, words);
                        if let Some(rank) = candidate.map(|rank| start + rank)
                            && self.domain.contains(rank)
                        {
                            tester.add(rank);
                        }
                    }
                }
            }
            (Way::Invert, _, Some(inverse)) => {
                let span = self.domain.span.clone().unwrap_or(0..0);
                let slices = self.slices();
                let (positions, slice) = match slices {
                    1 => (range, 0..PIECE),
                    _ => {
                        let (position, slice) = (range.start / slices, range.start % slices);
                        (
                            position..position + 1,
                            slice * PIECE..(slice + 1).saturating_mul(PIECE),
                        )
                    }
                };
                for position in live_buckets(words, 0, positions) {
                    for number in inverse.names_of(position, &span, slice.clone()) {
                        tester.looks += 1;
                        if let Some(rank) = self.domain.rank_of(number) {
                            tester.add(rank);
                        }
                    }
                }
            }
            _ => tester.scan(range),
        }
    }
}

/// Ranges divided into steps, computed by number because there may be more than fit in memory.
#[derive(Default)]
struct Pieces {
    /// For each range: its part, the range itself, the step, and the number of pieces before
    /// it.
    ranges: Vec<(usize, Range<u64>, u64, u64)>,
    len: u64,
}

impl Pieces {
    fn cut(&mut self, part: usize, range: Range<u64>, step: u64) {
        let count = (range.end - range.start).div_ceil(step);
        if count > 0 {
            self.ranges.push((part, range, step, self.len));
            self.len += count;
        }
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn get(&self, number: u64) -> (usize, Range<u64>) {
        let at = self.ranges.partition_point(|range| range.3 <= number) - 1;
        let (part, all, step, before) = &self.ranges[at];
        let start = all.start + (number - before) * step;
        (*part, start..all.end.min(start.saturating_add(*step)))
    }
}

/// Tests candidates in batches.
struct Tester<'t> {
    query: &'t Query<'t>,
    domain: &'t Domain<'t>,
    waiting: Vec<u64>,
    found: Vec<bool>,
    members: Vec<u64>,
    looks: u64,
    tests: u64,
}

impl<'t> Tester<'t> {
    fn new(query: &'t Query<'t>, domain: &'t Domain<'t>) -> Self {
        Self {
            query,
            domain,
            waiting: Vec::with_capacity(BATCH),
            found: Vec::new(),
            members: Vec::new(),
            looks: 0,
            tests: 0,
        }
    }

    #[inline]
    fn add(&mut self, rank: u64) {
        self.waiting.push(rank);
        if self.waiting.len() == BATCH {
            self.test();
        }
    }

    fn test(&mut self) {
        self.tests += self.waiting.len() as u64;
        let (query, found) = (self.query, &mut self.found);
        self.domain
            .namespace
            .with_keys(&self.waiting, |keys| query.contains_keys(keys, found));
        let members = self
            .waiting
            .iter()
            .zip(&*found)
            .filter(|(_, found)| **found);
        self.members.extend(members.map(|(rank, _)| *rank));
        self.waiting.clear();
        self.found.clear();
    }

    fn scan(&mut self, ranks: Range<u64>) {
        self.looks += ranks.end - ranks.start;
        self.tests += ranks.end - ranks.start;
        self.domain.namespace.scan(ranks, |first, keys| {
            self.query.contains_keys(keys, &mut self.found);
            let found = self.found.iter().enumerate().filter(|(_, found)| **found);
            self.members.extend(found.map(|(i, _)| first + i as u64));
            true
        });
        self.found.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_one_another_and_take_no_memory() {
        let mut pieces = Pieces::default();
        pieces.cut(0, 5..5, 10);
        pieces.cut(1, 7..30, 10);
        pieces.cut(2, 0..u64::MAX, 1 << 18);
        let first: Vec<_> = (0..4).map(|number| pieces.get(number)).collect();
        assert_eq!(
            first,
            [(1, 7..17), (1, 17..27), (1, 27..30), (2, 0..1 << 18)]
        );
        assert_eq!(pieces.len(), 3 + (1 << 46));
        let (part, last) = pieces.get(pieces.len() - 1);
        assert_eq!((part, last.end), (2, u64::MAX));
    }
}
