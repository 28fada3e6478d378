//! What is in the sets: estimates, samples, reconstruction, of expressions such as `a & (b | c)`.
//!
//! The filters are copied out of the index first, so that changes do not wait for the search.

use std::ops::ControlFlow;
use std::time::Instant;

use bloomgrove::sample::{Expression, Name, Namespace, Options, Query, Reconstruction, Sampler};
use bloomgrove::{Error, Filter};
use bloomgrove_client::api::{self, Code};

use super::Coordinator;
use super::catalog::finite;
use super::refusal::Refusal;

/// Members in an answer.
const MEMBERS: u64 = 100_000;
const MOST_MEMBERS: u64 = 1_000_000;
/// Bytes that a search may use beside the filters.
const MEMORY: u64 = 256 << 20;
/// Filters of one expression may take so many times the largest filter allowed.
const FILTERS: u64 = 4;

/// An expression, and copies of the filters that it names.
struct Asked {
    expression: Expression,
    filters: Vec<Filter>,
}

impl Asked {
    fn query(&self) -> Result<Query<'_>, Error> {
        self.expression.query(&self.filters)
    }
}

impl Coordinator {
    fn asked(&self, expression: &str) -> Result<Asked, Refusal> {
        let expression = Expression::parse(expression)?;
        let catalog = self.shared.read();
        let (mut bytes, operations) = (0, expression.operations() as u64);
        let most = self.shared.limits.filter.saturating_mul(FILTERS);
        let mut filters = Vec::new();
        for name in expression.names() {
            let entry = catalog.get(name).ok_or_else(|| Refusal::not_found(name))?;
            let own = entry.params.words() as u64 * 8;
            bytes += own;
            // Each operation holds as much as a filter.
            if bytes.saturating_add(own.saturating_mul(operations)) > most {
                let detail = format!(
                    "working out this expression takes more than {most} bytes; name fewer sets"
                );
                return Err(Refusal::new(Code::TooLarge, detail));
            }
            filters.push(catalog.index.filter(name.as_bytes())?);
        }
        Ok(Asked {
            expression,
            filters,
        })
    }

    /// About how many items an expression of sets holds.
    ///
    /// # Errors
    /// An expression that cannot be read, sets that are not there or differ in parameters.
    pub fn estimate(&self, request: &api::EstimateRequest) -> Result<api::Estimate, Refusal> {
        let asked = self.asked(&request.expression)?;
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
    pub fn sample(&self, request: &api::SampleRequest) -> Result<api::Sample, Refusal> {
        let count = within(request.count, MOST_MEMBERS, "count")?;
        let asked = self.asked(&request.expression)?;
        let names = namespace(&request.names, request.spelling)?;
        let seed = request.seed.unwrap_or_else(rand::random);
        let options = Options::new().draws(count).memory(MEMORY).seed(seed);
        let deadline = Instant::now() + self.shared.limits.time;
        let mut sampler = Sampler::with(asked.query()?, &names, &options)?;
        sampler.watch(|_, _| until(deadline));
        let drawn = match request.distinct {
            true => sampler.draw_distinct(count as usize),
            false => sampler.draw(count as usize),
        };
        let drawn = match drawn {
            // There is none to draw: an answer, as an empty list of members is.
            Err(Error::NoMember { .. }) => Vec::new(),
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
        request: &api::ReconstructRequest,
    ) -> Result<api::Reconstruction, Refusal> {
        let limit = request.limit.unwrap_or(MEMBERS);
        let limit = within(limit, MOST_MEMBERS, "limit")? as usize;
        let asked = self.asked(&request.expression)?;
        let names = namespace(&request.names, request.spelling)?;
        let options = Options::new().memory(MEMORY);
        let reconstruction = Reconstruction::with(asked.query()?, &names, &options)?;
        let deadline = Instant::now() + self.shared.limits.time;
        let (mut members, mut complete, mut in_time) = (Vec::new(), true, true);
        let work = reconstruction.run(|found| {
            for name in found.names() {
                if members.len() == limit {
                    complete = false;
                    return ControlFlow::Break(());
                }
                members.push(member(name));
            }
            let go_on = until(deadline);
            in_time = go_on.is_continue();
            go_on
        });
        if !in_time {
            return Err(late(Error::Interrupted));
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

fn within(value: u64, most: u64, what: &str) -> Result<u64, Refusal> {
    match value {
        1.. if value <= most => Ok(value),
        _ => Err(Refusal::invalid(format!(
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

fn late(error: Error) -> Refusal {
    match error {
        Error::Interrupted => Refusal::new(
            Code::Timeout,
            "it took longer than the server allows; give fewer names, or download the filter and \
             do it with `bloomgrove sample` and `bloomgrove reconstruct`",
        ),
        error => error.into(),
    }
}

fn namespace(names: &api::Names, spelling: api::Spelling) -> Result<Namespace, Refusal> {
    let names = match names {
        api::Names::Range(start, end) => Namespace::range(*start..*end)?,
        api::Names::Integers(integers) => Namespace::integers(integers.iter().copied())?,
        api::Names::Texts(texts) => return lines(texts),
    };
    match spelling {
        api::Spelling::Decimal => Ok(names.in_decimal()?),
        api::Spelling::U64 => Ok(names),
    }
}

/// Texts as the sorted lines that a namespace is made of.
fn lines(texts: &[String]) -> Result<Namespace, Refusal> {
    let mut sorted: Vec<&str> = texts.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut text = Vec::new();
    for line in sorted {
        if line.contains(['\n', '\r']) || line.is_empty() {
            return Err(Refusal::invalid(
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
