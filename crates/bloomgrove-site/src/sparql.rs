//! SPARQL: read-only queries over the triples of this site.
//!
//! A query runs until a deadline, may use a limited amount of memory ([`meter`]), and its answer has a limited size. It
//! cannot reach other servers, and sees the triples of one point in time.
//!
//! ```text
//!   text -> guard -> parser -> rewrite -> evaluator -> answer
//!                                            |  ^
//!                              dataset: every triple and every copy of a term is counted
//! ```
//!
//! The nesting of a query is limited ([`guard`]), and it is parsed and evaluated on a large stack, so that recursion in
//! the parser and the evaluator cannot crash the process.

mod dataset;
mod guard;
mod meter;
mod rewrite;

use std::io;
use std::time::Instant;

use bloomgrove_client::api::Code;
use bloomgrove_http::Error;
use oxigraph::io::{RdfFormat, RdfSerializer};
use oxigraph::model::Triple;
use oxigraph::sparql::results::{QueryResultsFormat, QueryResultsSerializer};
use oxigraph::sparql::{CancellationToken, QueryEvaluationError, QueryResults, SparqlEvaluator};
use spargebra::{Query, SparqlParser};

use self::dataset::Triples;
use self::meter::{Meter, Stop, bytes};
use crate::stack::on_a_large_stack;
use crate::store::Store;

/// Maximum length of a query, in bytes.
pub(crate) const LONGEST_QUERY: usize = 100_000;
/// Maximum size of an answer, in bytes.
pub(crate) const LARGEST_ANSWER: usize = 64 << 20;

/// The formats that the client accepts, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// For SELECT and ASK.
    pub(crate) table: QueryResultsFormat,
    /// For CONSTRUCT and DESCRIBE.
    pub(crate) graph: RdfFormat,
}

impl Wanted {
    /// Parses `Accept`: the first known format counts; JSON and Turtle if it is empty.
    ///
    /// # Errors
    /// If no format is known.
    pub(crate) fn of(accept: &str) -> Result<Self, Error> {
        let mut parts: Vec<(f32, &str)> = accept.split(',').filter_map(weighed).collect();
        parts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let any = parts.is_empty()
            || parts
                .iter()
                .any(|(_, media)| matches!(*media, "*/*" | "application/*" | "text/*"));
        let table = parts.iter().find_map(|(_, media)| match *media {
            "application/json" => Some(QueryResultsFormat::Json),
            "application/xml" | "text/xml" => Some(QueryResultsFormat::Xml),
            media => QueryResultsFormat::from_media_type(media),
        });
        let graph = parts.iter().find_map(|(_, media)| {
            let format = RdfFormat::from_media_type(media)?;
            [RdfFormat::Turtle, RdfFormat::NTriples, RdfFormat::RdfXml]
                .contains(&format)
                .then_some(format)
        });
        if !any && table.is_none() && graph.is_none() {
            return Err(Error::new(
                Code::Invalid,
                "the supported formats are application/sparql-results+json, application/sparql-results+xml, \
                 text/csv and text/tab-separated-values; for CONSTRUCT and DESCRIBE, text/turtle and \
                 application/n-triples",
            ));
        }
        Ok(Self {
            table: table.unwrap_or(QueryResultsFormat::Json),
            graph: graph.unwrap_or(RdfFormat::Turtle),
        })
    }
}

/// A part of `Accept`, and its weight.
fn weighed(part: &str) -> Option<(f32, &str)> {
    let mut parts = part.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?;
    let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
    Some((weight.unwrap_or(1.0), media))
}

/// The answer to a query in at most `most` bytes, and its media type. May take long: not for a thread that serves requests.
///
/// # Errors
/// If the query is invalid, or exceeds a limit.
pub(crate) fn query(
    store: &Store,
    text: &str,
    wanted: Wanted,
    cancel: CancellationToken,
    deadline: Instant,
    most: usize,
) -> Result<(Vec<u8>, &'static str), Error> {
    let invalid = |detail: String| Error::new(Code::Invalid, detail);
    if text.len() > LONGEST_QUERY {
        let detail = format!("the query is too long; the maximum is {LONGEST_QUERY} bytes");
        return Err(Error::new(Code::TooLarge, detail));
    }
    let clean = guard::check(text).map_err(invalid)?;
    let work = || answer(store, &clean, wanted, cancel, deadline, most);
    on_a_large_stack(work).unwrap_or_else(|error| {
        let detail = format!("cannot answer the query: {error}");
        Err(Error::new(Code::Internal, detail))
    })
}

fn answer(
    store: &Store,
    text: &str,
    wanted: Wanted,
    cancel: CancellationToken,
    deadline: Instant,
    most: usize,
) -> Result<(Vec<u8>, &'static str), Error> {
    let invalid = |detail: String| Error::new(Code::Invalid, detail);
    let (query, variables) = parse(text).map_err(invalid)?;
    let meter = Meter::new(variables, deadline, cancel);
    let evaluator = rewrite::with_functions(SparqlEvaluator::new(), &meter);
    let snapshot = store.snapshot();
    let triples = Triples {
        snapshot: &snapshot,
        meter: meter.clone(),
    };
    let mut out = Limited {
        bytes: Vec::new(),
        most,
    };
    let done = Meter::run(|| -> Result<&'static str, Failure> {
        let prepared = evaluator.for_query(query).on_queryable_dataset(triples);
        match prepared.execute()? {
            QueryResults::Boolean(yes) => {
                let to = QueryResultsSerializer::from_format(wanted.table);
                to.serialize_boolean_to_writer(&mut out, yes)?;
                Ok(wanted.table.media_type())
            }
            QueryResults::Solutions(solutions) => {
                let to = QueryResultsSerializer::from_format(wanted.table);
                let variables = solutions.variables().to_vec();
                let mut to = to.serialize_solutions_to_writer(&mut out, variables)?;
                for solution in solutions {
                    meter.check_time();
                    to.serialize(&solution?)?;
                }
                to.finish()?;
                Ok(wanted.table.media_type())
            }
            QueryResults::Graph(triples) => {
                let mut to = RdfSerializer::from_format(wanted.graph).for_writer(&mut out);
                for triple in triples {
                    let triple = triple?;
                    // The evaluator remembers each triple, to return it once.
                    meter.hold(2 * triple_bytes(&triple));
                    meter.check_time();
                    to.serialize_triple(&triple)?;
                }
                to.finish()?;
                Ok(wanted.graph.media_type())
            }
        }
    });
    let error = match done {
        Ok(Ok(media)) => return Ok((out.bytes, media)),
        Ok(Err(Failure::Query(error))) => invalid(format!("cannot answer the query: {error}")),
        Ok(Err(Failure::Output)) => Error::new(
            Code::TooLarge,
            format!(
                "the answer is larger than {most} bytes; make the query more specific, or use LIMIT"
            ),
        ),
        Err(Stop::Late) => Error::new(
            Code::Timeout,
            "the query took too long; make it more specific, or use LIMIT",
        ),
        Err(Stop::Memory) => Error::new(
            Code::TooLarge,
            format!(
                "the query needs more than {} MiB of memory; sort, group or join fewer rows: put the most \
                 selective conditions into the innermost group, and join patterns on a \
                 variable that they share",
                meter::MEMORY >> 20
            ),
        ),
        Err(Stop::Text) => Error::new(
            Code::TooLarge,
            format!(
                "an expression in the query has a text of more than {} bytes; shorten it with SUBSTR, \
                 or exclude such texts",
                meter::LONGEST_TEXT
            ),
        ),
        Err(Stop::Pattern) => Error::new(
            Code::TooLarge,
            "a regular expression in the query is too expensive for the texts it is matched against; use a \
             shorter one, with fewer repetitions",
        ),
    };
    Err(error)
}

enum Failure {
    Query(QueryEvaluationError),
    Output,
}

impl From<QueryEvaluationError> for Failure {
    fn from(error: QueryEvaluationError) -> Self {
        Self::Query(error)
    }
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Self::Output
    }
}

/// The size of a remembered triple.
fn triple_bytes(triple: &Triple) -> usize {
    let subject = bytes(&triple.subject.clone().into());
    subject + triple.predicate.as_str().len() + bytes(&triple.object) + 200
}

/// The query, if it only reads and only from this site; and the number of its variables.
fn parse(text: &str) -> Result<(Query, usize), String> {
    let mut query =
        SparqlParser::new().parse_query(text).map_err(|error| {
            match SparqlParser::new().parse_update(text) {
                Ok(_) if !text.trim().is_empty() => {
                    "SPARQL updates are not supported; record events or import documents instead"
                        .to_owned()
                }
                _ => format!("not a valid SPARQL query: {error}"),
            }
        })?;
    let variables = rewrite::rewrite(&mut query)?;
    Ok((query, variables))
}

/// A writer with a limit.
struct Limited {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::Error::other("the answer is too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
