//! What is in the sets: estimates, samples, reconstruction, of expressions such as `a & (b | c)`.
//!
//! The filters are copied out of the index first, so that changes do not wait for the search.

use std::ops::ControlFlow;
use std::time::Instant;

use bloomgrove::Filter;
use bloomgrove::sample::{Expression, Name, Namespace, Options, Query, Reconstruction, Sampler};
use bloomgrove_client::api::{self, Code};

use super::Coordinator;
use super::catalog::finite;
use super::text::not_found;
use crate::Error;

/// Members in an answer.
const MEMBERS: u64 = 100_000;
const MOST_MEMBERS: u64 = 1_000_000;
/// Bytes that a search may use beside the filters, and the least.
const MEMORY: u64 = 256 << 20;
const LEAST_MEMORY: u64 = 16 << 20;
/// Bytes of a member in an answer, beside its text.
const MEMBER: u64 = 48;
/// Filters of one expression may take so many times the largest filter allowed.
const FILTERS: u64 = 4;

/// Members that are charged together.
const CHARGED: usize = 1000;

/// Is told how many bytes something takes, before it does.
type Take<'a> = dyn Fn(u64) -> Result<(), Error> + 'a;

/// An expression, and copies of the filters that it names.
struct Asked {
    expression: Expression,
    filters: Vec<Filter>,
}

impl Asked {
    fn query(&self) -> Result<Query<'_>, bloomgrove::Error> {
        self.expression.query(&self.filters)
    }
}

impl Coordinator {
    fn asked(&self, expression: &str, take: &Take<'_>) -> Result<Asked, Error> {
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
            // Each operation holds as much as a filter.
            if bytes.saturating_add(own.saturating_mul(operations)) > most {
                let detail = format!(
                    "working out this expression takes more than {most} bytes; name fewer sets"
                );
                return Err(Error::new(Code::TooLarge, detail));
            }
            take(own.saturating_mul(1 + operations))?;
            filters.push(self.shared.index.filter(name.as_bytes())?);
        }
        Ok(Asked {
            expression,
            filters,
        })
    }

    /// Bytes that a search may use beside the filters: no more than an eighth of what sets may.
    fn search_memory(&self) -> u64 {
        MEMORY.min(self.shared.limits.memory / 8).max(LEAST_MEMORY)
    }

    /// About how many items an expression of sets holds. `take` is told, here and below, how many
    /// bytes that takes, before it does, and may refuse.
    ///
    /// # Errors
    /// An expression that cannot be read, sets that are not there or differ in parameters; what `take`
    /// refuses.
    pub fn estimate(
        &self,
        request: &api::EstimateQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Estimate, Error> {
        let asked = self.asked(&request.expression, &take)?;
        let query = asked.query()?;
        // Judged by the bits alone, not by how many names there are.
        let items = query.estimate(u64::MAX).items;
        Ok(api::Estimate {
            items: finite(items).filter(|&items| items < u64::MAX as f64),
            fill: query.fill(),
        })
    }

    /// Draws members at random.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate); names that cannot be; no member; too long.
    pub fn sample(
        &self,
        request: &api::SampleQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Sample, Error> {
        let count = within(request.count, MOST_MEMBERS, "count")?;
        let memory = self.search_memory();
        take(memory + MEMBER * count)?;
        let asked = self.asked(&request.expression, &take)?;
        let names = namespace(&request.names, request.spelling, &take)?;
        let seed = request.seed.unwrap_or_else(rand::random);
        let options = Options::new().draws(count).memory(memory).seed(seed);
        let deadline = Instant::now() + self.shared.limits.time;
        let mut sampler = Sampler::with(asked.query()?, &names, &options)?;
        sampler.watch(|_, _| until(deadline));
        let drawn = match request.distinct {
            true => sampler.draw_distinct(count as usize),
            false => sampler.draw(count as usize),
        };
        let drawn = match drawn {
            // There is none to draw: an answer, as an empty list of members is.
            Err(bloomgrove::Error::NoMember { .. }) => Vec::new(),
            drawn => drawn.map_err(late)?,
        };
        let plan = sampler.plan();
        Ok(api::Sample {
            method: format!("{}: {}", plan.method.name(), plan.why),
            members: drawn.into_iter().map(member).collect(),
            tests: sampler.work().tests,
        })
    }

    /// Lists all members.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn reconstruct(
        &self,
        request: &api::ReconstructQuery,
        take: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<api::Reconstruction, Error> {
        let limit = request.limit.unwrap_or(MEMBERS);
        let limit = within(limit, MOST_MEMBERS, "limit")? as usize;
        let memory = self.search_memory();
        take(memory)?;
        let asked = self.asked(&request.expression, &take)?;
        let names = namespace(&request.names, request.spelling, &take)?;
        let options = Options::new().memory(memory);
        let reconstruction = Reconstruction::with(asked.query()?, &names, &options)?;
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
            accuracy: finite(reconstruction.estimate().accuracy),
            method: format!(
                "{}: {}",
                reconstruction.plan().way.name(),
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
            "{what} is {value}; it may be 1 to {most}"
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
            "it took longer than the server allows; give fewer names, or download the filter and \
             do it with `bloomgrove sample` and `bloomgrove reconstruct`",
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
            // Sorted, as lines, and where these begin.
            take(texts.iter().map(|text| text.len() as u64 + 24).sum())?;
            return lines(texts);
        }
    };
    match spelling {
        api::Spelling::Decimal => Ok(names.in_decimal()?),
        api::Spelling::U64 => Ok(names),
    }
}

/// Texts as the sorted lines that a namespace is made of.
fn lines(texts: &[String]) -> Result<Namespace, Error> {
    let mut sorted: Vec<&str> = texts.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut text = Vec::new();
    for line in sorted {
        if line.contains(['\n', '\r']) || line.is_empty() {
            return Err(Error::invalid(
                "a text among the names is empty or has a line break in it",
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
