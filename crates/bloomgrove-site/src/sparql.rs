//! SPARQL: questions of any shape over the triples of this site, and no changes.
//!
//! A query runs until a deadline, may use a bounded amount of memory ([`meter`]), and its answer has a
//! bounded size; it can reach no other server. It sees the triples of one moment.
//!
//! ```text
//!   text -> guard -> parser -> rewrite -> evaluator -> answer
//!                                            |  ^
//!                              dataset: every triple and every copy of a term is counted
//! ```
//!
//! How deep a query nests is bounded ([`guard`]), and it is parsed and answered on a large stack: what
//! recurses in the parser and behind it must not end the program.

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

/// Bytes of a query at most.
pub(crate) const LONGEST_QUERY: usize = 100_000;
/// Bytes of an answer at most.
pub(crate) const LARGEST_ANSWER: usize = 64 << 20;

/// What the asker takes, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Of SELECT and ASK.
    pub(crate) table: QueryResultsFormat,
    /// Of CONSTRUCT and DESCRIBE.
    pub(crate) graph: RdfFormat,
}

impl Wanted {
    /// What `Accept` says: the first that is known counts, and JSON and Turtle if there is none.
    ///
    /// # Errors
    /// When nothing of it is known.
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
                "the answer can be application/sparql-results+json, application/sparql-results+xml, \
                 text/csv or text/tab-separated-values; of CONSTRUCT and DESCRIBE, text/turtle or \
                 application/n-triples",
            ));
        }
        Ok(Self {
            table: table.unwrap_or(QueryResultsFormat::Json),
            graph: graph.unwrap_or(RdfFormat::Turtle),
        })
    }
}

/// A part of `Accept`, and how much it is liked.
fn weighed(part: &str) -> Option<(f32, &str)> {
    let mut parts = part.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?;
    let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
    Some((weight.unwrap_or(1.0), media))
}

/// The answer to a query in `most` bytes, and its media type. It takes long: not for a thread that others wait for.
///
/// # Errors
/// What is no query, or too much.
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
        let detail = format!("a query has {LONGEST_QUERY} bytes at most");
        return Err(Error::new(Code::TooLarge, detail));
    }
    let clean = guard::check(text).map_err(invalid)?;
    let work = || answer(store, &clean, wanted, cancel, deadline, most);
    on_a_large_stack(work).unwrap_or_else(|error| {
        let detail = format!("the query cannot be answered: {error}");
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
                    // The evaluator remembers each, to tell it once.
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
        Ok(Err(Failure::Query(error))) => invalid(format!("the query cannot be answered: {error}")),
        Ok(Err(Failure::Output)) => Error::new(
            Code::TooLarge,
            format!("the answer has more than {most} bytes; ask for less, or with LIMIT"),
        ),
        Err(Stop::Late) => Error::new(
            Code::Timeout,
            "the query took too long; ask for less, or with LIMIT",
        ),
        Err(Stop::Memory) => Error::new(
            Code::TooLarge,
            format!(
                "the query needs more than {} MiB of memory; sort, group or join fewer rows: put the \
                 conditions that exclude most into the innermost group, and join patterns by a \
                 variable that they share",
                meter::MEMORY >> 20
            ),
        ),
        Err(Stop::Text) => Error::new(
            Code::TooLarge,
            format!(
                "an expression of the query has a text of more than {} bytes; shorten it with SUBSTR, \
                 or leave such texts out",
                meter::LONGEST_TEXT
            ),
        ),
        Err(Stop::Pattern) => Error::new(
            Code::TooLarge,
            "a regular expression of the query takes too long for the texts it is matched with; use a \
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

/// What a triple takes when it is remembered.
fn triple_bytes(triple: &Triple) -> usize {
    let subject = bytes(&triple.subject.clone().into());
    subject + triple.predicate.as_str().len() + bytes(&triple.object) + 200
}

/// The query, if it is one that only reads, and only here; and how many variables it has.
fn parse(text: &str) -> Result<(Query, usize), String> {
    let mut query =
        SparqlParser::new().parse_query(text).map_err(|error| {
            match SparqlParser::new().parse_update(text) {
                Ok(_) if !text.trim().is_empty() => {
                    "this is an update; triples come here only as events and imports".to_owned()
                }
                _ => format!("this is no SPARQL query: {error}"),
            }
        })?;
    let variables = rewrite::rewrite(&mut query)?;
    Ok((query, variables))
}

/// Bytes, up to the limit.
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
