//! What is in the sets: estimates, samples and reconstruction of expressions such as `a & (b | c)`.
//!
//! The filters are copied from the index first, so that changes do not wait for the search.

use std::ops::ControlFlow;
use std::time::Instant;

use bloomgrove::Filter;
use bloomgrove::raw::sample::Expression;
use bloomgrove::sample::{Name, Namespace, Query, Reconstruction, SampleOptions, Sampler};
use bloomgrove_client::api::{self, Code};

use super::Coordinator;
use super::catalog::finite;
use super::text::not_found;
use crate::Error;

/// Members per answer.
const MEMBERS: u64 = 100_000;
const MOST_MEMBERS: u64 = 1_000_000;
/// Memory that a search may use in addition to the filters, and the minimum.
const MEMORY: u64 = 256 << 20;
const LEAST_MEMORY: u64 = 16 << 20;
/// Bytes of a member in an answer, in addition to its text.
const MEMBER: u64 = 48;
/// Filters of one expression may take this many times the maximum size of a filter.
const FILTERS: u64 = 4;

/// Members that are charged at a time.
const CHARGED: usize = 1000;

/// Called with the number of bytes before something is allocated.
type Take<'a> = dyn Fn(u64) -> Result<(), Error> + 'a;

/// An expression, and copies of the filters in it.
struct Operands {
    expression: Expression,
    filters: Vec<Filter>,
}

impl Operands {
    fn query(&self) -> Result<Query<'_>, bloomgrove::Error> {
        self.expression.query(&self.filters)
    }
}

impl Coordinator {
    fn operands(&self, expression: &str, take: &Take<'_>) -> Result<Operands, Error> {
        let expression = Expression::parse(expression)?;
        let (mut bytes, operations) = (0, expression.operations() as u64);
        let most = self.shared.limits.filter.saturating_mul(FILTERS);
        let mut filters = Vec::new();
        for name in expression.names() {
            let entry = self
                .shared
                .read()
                .get(name)
                .map(|entry| entry.params.clone());
            let params = entry.ok_or_else(|| not_found(name))?;
            let own = params.words() as u64 * 8;
            bytes += own;
            // Each operation needs as much memory as a filter.
            if bytes.saturating_add(own.saturating_mul(operations)) > most {
                let detail = format!(
                    "evaluating this expression takes more than {most} bytes; use fewer sets"
                );
                return Err(Error::new(Code::TooLarge, detail));
            }
            take(own.saturating_mul(1 + operations))?;
            filters.push(self.shared.index.filter(name.as_bytes())?);
        }
        Ok(Operands {
            expression,
            filters,
        })
    }

    /// Memory that a search may use in addition to the filters: at most an eighth of the limit for sets.
    fn search_memory(&self) -> u64 {
        MEMORY.min(self.shared.limits.memory / 8).max(LEAST_MEMORY)
    }

    /// Estimates how many items are in an expression. Here and below, `take` is called with the number of bytes before they
    /// are allocated, and may refuse.
    ///
    /// # Errors
    /// If the expression is invalid, or sets do not exist or differ in parameters; the errors of `take`.
    pub fn estimate(
        &self,
        request: &api::EstimateQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Estimate, Error> {
        let operands = self.operands(&request.expression, &take)?;
        let query = operands.query()?;
        // From the bits alone, not from the number of names.
        let items = query.estimate(u64::MAX).items;
        Ok(api::Estimate {
            items: finite(items).filter(|&items| items < u64::MAX as f64),
            fill: query.fill(),
        })
    }

    /// Draws members at random.
    ///
    /// # Errors
    /// Like [`estimate`](Self::estimate); also if the names are invalid, or it takes too long.
    pub fn sample(
        &self,
        request: &api::SampleQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Sample, Error> {
        let count = within(request.count, MOST_MEMBERS, "count")?;
        let memory = self.search_memory();
        take(memory + MEMBER * count)?;
        let operands = self.operands(&request.expression, &take)?;
        let names = namespace(&request.names, request.spelling, &take)?;
        let seed = request.seed.unwrap_or_else(rand::random);
        let options = SampleOptions {
            draws: count,
            memory,
            seed,
            ..SampleOptions::default()
        };
        let deadline = Instant::now() + self.shared.limits.time;
        let mut sampler = Sampler::with(operands.query()?, &names, &options)?;
        sampler.watch(|_, _| until(deadline));
        let drawn = match request.distinct {
            true => sampler.draw_distinct(count as usize),
            false => sampler.draw(count as usize),
        };
        let drawn = match drawn {
            // No member to draw is an answer: an empty list.
            Err(bloomgrove::Error::NoMember { .. }) => Vec::new(),
            drawn => drawn.map_err(late)?,
        };
        let plan = sampler.plan();
        Ok(api::Sample {
            method: format!("{}: {}", plan.method, plan.why),
            members: drawn.into_iter().map(member).collect(),
            tests: sampler.work().tests,
        })
    }

    /// Lists all members.
    ///
    /// # Errors
    /// Like [`sample`](Self::sample).
    pub fn reconstruct(
        &self,
        request: &api::ReconstructQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Reconstruction, Error> {
        let limit = request.limit.unwrap_or(MEMBERS);
        let limit = within(limit, MOST_MEMBERS, "limit")? as usize;
        let memory = self.search_memory();
        take(memory)?;
        let operands = self.operands(&request.expression, &take)?;
        let names = namespace(&request.names, request.spelling, &take)?;
        let options = SampleOptions {
            memory,
            ..SampleOptions::default()
        };
        let reconstruction = Reconstruction::with(operands.query()?, &names, &options)?;
        let deadline = Instant::now() + self.shared.limits.time;
        let (mut members, mut complete, mut in_time) = (Vec::new(), true, true);
        let mut refused = Ok(());
        let work = reconstruction.run(|found| {
            for name in found.names() {
                if members.len() == limit {
                    complete = false;
                    return ControlFlow::Break(());
                }
                if members.len() % CHARGED == 0 {
                    refused = take(MEMBER * CHARGED as u64);
                    if refused.is_err() {
                        return ControlFlow::Break(());
                    }
                }
                members.push(member(name));
            }
            let go_on = until(deadline);
            in_time = go_on.is_continue();
            go_on
        });
        refused?;
        if !in_time {
            return Err(late(bloomgrove::Error::Interrupted));
        }
        Ok(api::Reconstruction {
            members,
            complete,
            accuracy: finite(reconstruction.plan().estimate.accuracy),
            method: format!(
                "{}: {}",
                reconstruction.plan().way,
                reconstruction.plan().why
            ),
            tests: work.tests,
        })
    }
}

fn within(value: u64, most: u64, what: &str) -> Result<u64, Error> {
    match value {
        1.. if value <= most => Ok(value),
        _ => Err(Error::invalid(format!(
            "{what} is {value}; it must be from 1 to {most}"
        ))),
    }
}

fn until(deadline: Instant) -> ControlFlow<()> {
    match Instant::now() < deadline {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

fn late(error: bloomgrove::Error) -> Error {
    match error {
        bloomgrove::Error::Interrupted => Error::new(
            Code::Timeout,
            "this took longer than the server allows; use fewer names, or download the filter and \
             use `bloomgrove sample` and `bloomgrove reconstruct`",
        ),
        error => error.into(),
    }
}

fn namespace(
    names: &api::Names,
    spelling: api::Spelling,
    take: &Take<'_>,
) -> Result<Namespace, Error> {
    let names = match names {
        api::Names::Range(start, end) => Namespace::range(*start..*end)?,
        api::Names::Integers(integers) => {
            take(16 * integers.len() as u64)?;
            Namespace::integers(integers.iter().copied())?
        }
        api::Names::Texts(texts) => {
            // Sorted as lines, and the start of each.
            take(texts.iter().map(|text| text.len() as u64 + 24).sum())?;
            return lines(texts);
        }
    };
    match spelling {
        api::Spelling::Decimal => Ok(names.in_decimal()?),
        api::Spelling::U64 => Ok(names),
    }
}

/// Texts as the sorted lines of a namespace.
fn lines(texts: &[String]) -> Result<Namespace, Error> {
    let mut sorted: Vec<&str> = texts.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut text = Vec::new();
    for line in sorted {
        if line.contains(['\n', '\r']) || line.is_empty() {
            return Err(Error::invalid(
                "one of the names is empty or contains a line break",
            ));
        }
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Ok(Namespace::texts(text)?)
}

fn member(name: Name) -> api::Member {
    match name {
        Name::Integer(number) => api::Member::Number(number),
        Name::Text(text) => api::Member::Text(String::from_utf8_lossy(&text).into_owned()),
    }
}
