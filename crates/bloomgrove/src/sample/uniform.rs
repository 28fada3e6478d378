//! Uniform sampling of the members of a filter.
//!
//! ```text
//!   draw a candidate uniformly  --test-->  member: return it
//!          ^-------- otherwise, draw again --------'
//! ```
//!
//! Rejection keeps the sample uniform because the candidates are uniform, whatever the fill and
//! the distribution of the names: nothing is estimated along the way. See `candidates` for
//! where the candidates come from, and `planner` for how many are tested per member.
//!
//! If far more candidates fail than expected, the members are listed instead, and drawn from
//! the list. This distinguishes a namespace without members from bad luck, and bounds the time
//! of a draw to a few times that of a reconstruction.
//!
//! Source: our own. The samplers of Sengupta et al. (sampling), BloomSampleTree and HashInvert,
//! are not uniform; they are in the crate `bloomgrove-trees`.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::ops::ControlFlow;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::candidates::{Domain, Live, SetBits, Source, index_of, inverse_of};
use super::namespace::Name;
use super::planner::{Facts, Method, Plan};
use super::reconstruct::Reconstruction;
use super::{Names, Query, SampleOptions, Work};
use crate::Error;

/// The maximum number of candidates examined together.
const BATCH: usize = 512;
/// Progress is reported each time this many candidates have been examined.
const LONG: u64 = 1 << 22;
/// If nothing was found after this many times the expected number of candidates per draw, the
/// members are probably not as expected: by chance, that happens once in e^20 draws. (Sampling
/// gives up sooner if there are so few members that listing them takes less time.)
const PATIENCE: f64 = 20.0;

/// Draws members uniformly, any number of times.
///
/// ```
/// use bloomgrove::sample::{Namespace, Sampler};
/// use bloomgrove::{Filter, Params};
///
/// let mut filter = Filter::new(Params::for_items(1000, 1e-6)?)?;
/// filter.insert_batch(&[17u64, 204, 90_000]);
/// let names = Namespace::range(0..100_000)?;
///
/// let mut sampler = Sampler::new(&filter, &names)?;
/// println!("{}", sampler.plan().why);
/// for name in sampler.draw(10)? {
///     println!("{name}"); // a name may repeat
/// }
/// let all = sampler.draw_distinct(10)?; // there are only three
/// assert_eq!(all.len(), 3);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Sampler<'a> {
    query: Query<'a>,
    names: Names<'a>,
    options: SampleOptions,
    domain: Domain<'a>,
    plan: Plan,
    state: State<'a>,
    random: Xoshiro256PlusPlus,
    work: Work,
    /// The number of members found by all draws so far.
    found: u64,
    watch: Watch<'a>,
}

/// Receives the progress of a long draw.
struct Watch<'a>(Box<dyn FnMut(u64, u64) -> ControlFlow<()> + Send + 'a>);

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

#[derive(Debug)]
enum State<'a> {
    /// Members are drawn one by one.
    Drawing {
        source: Source<'a>,
        /// Drawn and accepted, but not yet returned.
        ready: VecDeque<u64>,
        /// The number of candidates to examine, on average, to see every member once.
        total: f64,
        /// The number of candidates examined per draw, as far as is known.
        expected: f64,
        /// Candidates examined since the last member, and the number that is too many.
        since: u64,
        patience: u64,
    },
    /// All members are known.
    Listed(Vec<u64>),
    /// They will be listed by the first draw.
    Unlisted,
}

impl<'a> Sampler<'a> {
    /// Creates a sampler of the members of a filter or an expression of filters, among all
    /// names.
    ///
    /// # Errors
    /// As for [`with`](Self::with).
    pub fn new(query: impl Into<Query<'a>>, names: impl Into<Names<'a>>) -> Result<Self, Error> {
        Self::with(query, names, &SampleOptions::default())
    }

    /// Like [`new`](Self::new), with options.
    ///
    /// # Errors
    /// [`Error::NoMember`] if the filter is empty or no name is in the range,
    /// [`Error::Namespace`] if filters of this family cannot contain such names,
    /// [`Error::Closed`] if the requested method is not available, [`Error::Incompatible`] if
    /// an index has different parameters.
    pub fn with(
        query: impl Into<Query<'a>>,
        names: impl Into<Names<'a>>,
        options: &SampleOptions,
    ) -> Result<Self, Error> {
        let (query, names) = (query.into(), names.into());
        let domain = names.domain(&query, options.within.as_ref())?;
        if query.ones() == 0 || domain.len == 0 {
            return Err(Error::NoMember { names: domain.len });
        }
        let plan = Facts::new(&query, names, &domain).plan_draws(options)?;
        let state = State::new(&query, names, &domain, &plan, options.memory);
        Ok(Self {
            query,
            names,
            domain,
            plan,
            state,
            random: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            work: Work::default(),
            found: 0,
            watch: Watch(Box::new(|_, _| ControlFlow::Continue(()))),
            options: options.clone(),
        })
    }

    /// Returns the plan: what a draw does, and why.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the work done by all draws so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Sets a callback that receives the amount done and the total while a slow draw is in progress:
    /// first candidates examined, out of the number after which the members are listed instead,
    /// then pieces of that list. If it returns [`ControlFlow::Break`], the draw ends with [`Error::Interrupted`].
    pub fn watch(&mut self, watch: impl FnMut(u64, u64) -> ControlFlow<()> + Send + 'a) {
        self.watch = Watch(Box::new(watch));
    }

    /// Returns the number of members according to the draws so far: exact once they have been
    /// listed, `None` before the first draw. Unlike [`Plan::estimate`], this does not depend on
    /// what was inserted into the filter.
    pub fn measured_members(&self) -> Option<f64> {
        match &self.state {
            State::Listed(members) => Some(members.len() as f64),
            State::Drawing { total, .. } if self.found > 0 => {
                Some(total * self.found as f64 / self.work.looks as f64)
            }
            _ => None,
        }
    }

    /// Draws `count` members, with replacement.
    ///
    /// # Errors
    /// [`Error::NoMember`] if no name is accepted; this is certain, not an estimate.
    pub fn draw(&mut self, count: usize) -> Result<Vec<Name>, Error> {
        let ranks = self.draw_ranks(count)?;
        Ok(self.named(&ranks))
    }

    /// Draws one integer.
    ///
    /// # Errors
    /// As for [`draw`](Self::draw); [`Error::Namespace`] if the names are strings.
    pub fn draw_integer(&mut self) -> Result<u64, Error> {
        let rank = self.draw_rank(1)?;
        match self.domain.namespace.name(rank) {
            Name::Integer(number) => Ok(number),
            Name::Text(_) => Err(Error::namespace("these names are texts, not integers")),
        }
    }

    /// Draws `count` different members in random order, or all of them if there are fewer. All
    /// sets of that size are equally likely.
    ///
    /// # Errors
    /// As for [`draw`](Self::draw).
    pub fn draw_distinct(&mut self, count: usize) -> Result<Vec<Name>, Error> {
        // If most members are wanted, drawing would mostly repeat members, so they are listed
        // instead.
        let mut drawn = HashSet::new();
        let mut order = Vec::new();
        let few = count as f64 <= self.plan.estimate.members / 2.0;
        let mut tries = 0;
        while few && order.len() < count && !matches!(self.state, State::Listed(_)) {
            let rank = self.draw_rank(count - order.len())?;
            if drawn.insert(rank) {
                order.push(rank);
            }
            tries += 1;
            // This many repetitions mean that there are far fewer members than expected.
            if tries > 4 * order.len() + 20 {
                break;
            }
        }
        if order.len() < count {
            let Listing(members) = self.list()?;
            // Keep the members drawn so far, and draw the rest from the others.
            let mut others: Vec<u64> = members
                .iter()
                .copied()
                .filter(|rank| !drawn.contains(rank))
                .collect();
            while order.len() < count && !others.is_empty() {
                let at = self.random.random_range(0..others.len());
                order.push(others.swap_remove(at));
            }
        }
        Ok(self.named(&order))
    }

    fn named(&self, ranks: &[u64]) -> Vec<Name> {
        ranks
            .iter()
            .map(|&rank| self.domain.namespace.name(rank))
            .collect()
    }

    fn draw_ranks(&mut self, count: usize) -> Result<Vec<u64>, Error> {
        (0..count)
            .map(|done| self.draw_rank(count - done))
            .collect()
    }

    /// Draws one member, the first of `more` that will be drawn.
    fn draw_rank(&mut self, more: usize) -> Result<u64, Error> {
        loop {
            match &mut self.state {
                State::Unlisted => {
                    self.list()?;
                }
                State::Listed(members) => {
                    return Ok(members[self.random.random_range(0..members.len())]);
                }
                State::Drawing {
                    source,
                    ready,
                    total: _,
                    expected,
                    since,
                    patience,
                } => {
                    if let Some(rank) = ready.pop_front() {
                        return Ok(rank);
                    }
                    if *since > *patience {
                        self.state = State::Unlisted;
                        continue;
                    }
                    let looks = (*expected * more as f64).clamp(1.0, BATCH as f64) as usize;
                    let mut ranks = Vec::with_capacity(looks);
                    source.draw(
                        &self.query,
                        &self.domain,
                        looks,
                        &mut self.random,
                        &mut ranks,
                    );
                    let (query, mut found) = (&self.query, Vec::new());
                    self.domain
                        .namespace
                        .with_keys(&ranks, |keys| query.contains_keys(keys, &mut found));
                    let before = self.work.looks;
                    self.work.looks += looks as u64;
                    self.work.tests += ranks.len() as u64;
                    let members = ranks.iter().zip(found).filter(|(_, found)| *found);
                    ready.extend(members.map(|(rank, _)| *rank));
                    self.found += ready.len() as u64;
                    match ready.is_empty() {
                        true => *since += looks as u64,
                        false => *since = 0,
                    }
                    // Also report when members are found now and then: many draws can take
                    // forever, too.
                    if before / LONG != self.work.looks / LONG
                        && (self.watch.0)(*since, *patience).is_break()
                    {
                        return Err(Error::Interrupted);
                    }
                }
            }
        }
    }

    /// Lists all members, unless they are already listed.
    fn list(&mut self) -> Result<Listing<'_>, Error> {
        if !matches!(self.state, State::Listed(_)) {
            let options = SampleOptions {
                way: Some(self.plan.way),
                ..self.options.clone()
            };
            let query = self.query.reborrow();
            let listing = Reconstruction::with(query, self.names, &options)?;
            let (members, work) = listing.all_ranks(self.options.memory, &mut self.watch.0)?;
            self.work.looks += work.looks;
            self.work.tests += work.tests;
            if members.is_empty() {
                return Err(Error::NoMember {
                    names: self.domain.len,
                });
            }
            self.state = State::Listed(members);
        }
        match &self.state {
            State::Listed(members) => Ok(Listing(members)),
            _ => Ok(Listing(&[])),
        }
    }
}

struct Listing<'l>(&'l [u64]);

impl<'a> State<'a> {
    fn new(query: &Query, names: Names<'a>, domain: &Domain, plan: &Plan, memory: u64) -> Self {
        let source = match (plan.method, index_of(names), inverse_of(query)) {
            (Method::List, ..) => return State::Unlisted,
            (Method::Index, Some(index), _) => {
                let live = Live::new(index, query, memory / 2);
                // No name is on a set bit, so there is no member, as listing will prove.
                if live.total() == 0 {
                    return State::Unlisted;
                }
                Source::Index { index, live }
            }
            (Method::Invert, _, Some(inverse)) => Source::Inversion {
                inverse,
                set: SetBits::new(query, memory / 2),
                span: domain.span.clone().unwrap_or(0..1),
            },
            _ => Source::Names,
        };
        let total = match &source {
            Source::Inversion { inverse, set, span } => inverse.looks(span) * set.looks(query),
            Source::Index { live, .. } => live.total() as f64,
            Source::Names => domain.len as f64,
        };
        let expected = total / plan.estimate.members.max(1e-9);
        // Listing may be the quicker way out: do not wait longer than it takes to examine a
        // quarter of the names.
        let all = domain.len as f64;
        State::Drawing {
            source,
            ready: VecDeque::new(),
            total,
            expected: expected.clamp(1.0, all),
            since: 0,
            patience: (PATIENCE * expected).min(all / 4.0).max(BATCH as f64) as u64,
        }
    }
}
