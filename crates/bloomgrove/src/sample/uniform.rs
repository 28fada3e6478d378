//! Members of a filter at random, each with the same chance.
//!
//! ```text
//!   draw a candidate, each with the same chance  --test-->  member: hand it out
//!          ^---------------- else draw again ----------------'
//! ```
//!
//! What is left after rejecting is uniform because the candidates are, whatever the fill and
//! however names are spread: nothing is estimated on the way. Where the candidates come from,
//! see `candidates`; how many are tested for each member, see `planner`.
//!
//! When far more candidates fail than were expected, the members are listed instead, and drawn
//! from the list. So a namespace without members is told apart from bad luck, and a draw never
//! takes longer than a few times a reconstruction.
//!
//! Source: our own. The samplers of Sengupta et al. (sampling) are beside it
//! (BloomSampleTree, HashInvert); they are not uniform.

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

/// Candidates looked at together, at most.
const BATCH: usize = 512;
/// Whoever watches is told each time after so many looks.
const LONG: u64 = 1 << 22;
/// If nothing was found in this many times the looks a draw should take, members are probably
/// not what was expected: by chance that happens once in e^20 draws. (Sooner, when there are so
/// few members that listing them takes less.)
const PATIENCE: f64 = 20.0;

/// Draws members, each with the same chance, however often it is asked.
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
///     println!("{name}"); // the same one may come again
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
    /// Members that all draws so far have found.
    found: u64,
    watch: Watch<'a>,
}

/// Told how far a long draw is.
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
        /// Drawn and accepted, but not yet asked for.
        ready: VecDeque<u64>,
        /// How many looks would, on average, see every member once.
        total: f64,
        /// How many looks a draw takes, as far as is known.
        expected: f64,
        /// Looks since the last member, and how many are too many.
        since: u64,
        patience: u64,
    },
    /// All members are known.
    Listed(Vec<u64>),
    /// They will be when the first is asked for.
    Unlisted,
}

impl<'a> Sampler<'a> {
    /// Draws from the members of a filter or an expression of filters, among all names.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn new(query: impl Into<Query<'a>>, names: impl Into<Names<'a>>) -> Result<Self, Error> {
        Self::with(query, names, &SampleOptions::default())
    }

    /// As [`new`](Self::new), with options.
    ///
    /// # Errors
    /// [`Error::NoMember`] when the filter is empty or no name is in the range,
    /// [`Error::Namespace`] when filters of this family cannot have such names, [`Error::Closed`]
    /// when the method asked for is, [`Error::Incompatible`] when an index is of other parameters.
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

    /// What is done for a draw, and why.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What all draws so far have taken.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Tells `watch` how much of how much is done whenever one draw takes long: looks at names, of
    /// those after which the members are listed instead, and then pieces of that list. Breaking
    /// off ends the draw with [`Error::Interrupted`].
    pub fn watch(&mut self, watch: impl FnMut(u64, u64) -> ControlFlow<()> + Send + 'a) {
        self.watch = Watch(Box::new(watch));
    }

    /// How many members there are, by the draws so far: exact once they have been listed, None
    /// before the first. Unlike [`Plan::estimate`] this does not depend on what the filter was
    /// given.
    pub fn measured_members(&self) -> Option<f64> {
        match &self.state {
            State::Listed(members) => Some(members.len() as f64),
            State::Drawing { total, .. } if self.found > 0 => {
                Some(total * self.found as f64 / self.work.looks as f64)
            }
            _ => None,
        }
    }

    /// Draws `count` members, of which the same may come again.
    ///
    /// # Errors
    /// [`Error::NoMember`] when no name is accepted; that is certain.
    pub fn draw(&mut self, count: usize) -> Result<Vec<Name>, Error> {
        let ranks = self.draw_ranks(count)?;
        Ok(self.named(&ranks))
    }

    /// Draws one integer.
    ///
    /// # Errors
    /// As [`draw`](Self::draw); [`Error::Namespace`] when the names are texts.
    pub fn draw_integer(&mut self) -> Result<u64, Error> {
        let rank = self.draw_rank(1)?;
        match self.domain.namespace.name(rank) {
            Name::Integer(number) => Ok(number),
            Name::Text(_) => Err(Error::namespace("these names are texts, and no integers")),
        }
    }

    /// Draws `count` different members, all sets of so many with the same chance; fewer if
    /// there are no more. In random order.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn draw_distinct(&mut self, count: usize) -> Result<Vec<Name>, Error> {
        // Where most are wanted, drawing would be repeating; then the members are listed.
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
            // So many repetitions: there are far fewer members than expected.
            if tries > 4 * order.len() + 20 {
                break;
            }
        }
        if order.len() < count {
            let Listing(members) = self.list()?;
            // On from those drawn: the rest is drawn from the others.
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

    /// Draws one, when `more` are going to be asked for.
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
                    // Also when members are found now and then: many draws can take for ever, too.
                    if before / LONG != self.work.looks / LONG
                        && (self.watch.0)(*since, *patience).is_break()
                    {
                        return Err(Error::Interrupted);
                    }
                }
            }
        }
    }

    /// Lists all members, if they are not yet.
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
                // No name is on a set bit: there is no member, as listing will prove.
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
        // Listing all may be the better part of patience: nobody waits for longer than it takes to
        // look at a quarter of the names.
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
