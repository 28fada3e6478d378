//! SPARQL: questions of any shape over the triples of this site, and no changes.
//!
//! A query has until a deadline, and its answer so many bytes; it can reach no other server. What
//! it may take of memory on the way (sorting, grouping) is not limited.
//!
//! It is broken off when it next looks up a triple or tells a row. Between two such looks it may
//! multiply tables that it holds, which nobody can break off: whoever may read can keep the threads
//! for queries busy, though not those for anything else.
//!
//! How deep a query nests is bounded ([`guard`]), and it is parsed and answered on a large stack: what
//! recurses in the parser and behind it must not end the program.

mod guard;

use std::io;
use std::time::Instant;

use bloomgrove_client::api::Code;
use bloomgrove_server::coordinator::Refusal;
use oxigraph::io::{RdfFormat, RdfSerializer};
use oxigraph::sparql::results::{QueryResultsFormat, QueryResultsSerializer};
use oxigraph::sparql::{CancellationToken, QueryEvaluationError, QueryResults, SparqlEvaluator};

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
    pub(crate) fn of(accept: &str) -> Result<Self, Refusal> {
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
            return Err(Refusal::new(
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
) -> Result<(Vec<u8>, &'static str), Refusal> {
    let invalid = |detail: String| Refusal::new(Code::Invalid, detail);
    if text.len() > LONGEST_QUERY {
        let detail = format!("a query has {LONGEST_QUERY} bytes at most");
        return Err(Refusal::new(Code::TooLarge, detail));
    }
    let clean = guard::check(text).map_err(invalid)?;
    let work = || answer(store, &clean, wanted, cancel, deadline, most);
    on_a_large_stack(work).unwrap_or_else(|error| {
        let detail = format!("the query cannot be answered: {error}");
        Err(Refusal::new(Code::Internal, detail))
    })
}

fn answer(
    store: &Store,
    text: &str,
    wanted: Wanted,
    cancel: CancellationToken,
    deadline: Instant,
    most: usize,
) -> Result<(Vec<u8>, &'static str), Refusal> {
    let invalid = |detail: String| Refusal::new(Code::Invalid, detail);
    let evaluator = SparqlEvaluator::new().with_cancellation_token(cancel);
    let query = parse(text).map_err(invalid)?;
    let mut out = Limited {
        bytes: Vec::new(),
        most,
    };
    let done = || -> Result<&'static str, Failure> {
        match evaluator
            .for_query(query)
            .on_store(&store.triples)
            .execute()?
        {
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
                    in_time(deadline)?;
                    to.serialize(&solution?)?;
                }
                to.finish()?;
                Ok(wanted.table.media_type())
            }
            QueryResults::Graph(triples) => {
                let mut to = RdfSerializer::from_format(wanted.graph).for_writer(&mut out);
                for triple in triples {
                    in_time(deadline)?;
                    to.serialize_triple(&triple?)?;
                }
                to.finish()?;
                Ok(wanted.graph.media_type())
            }
        }
    };
    match done() {
        Ok(media) => Ok((out.bytes, media)),
        Err(Failure::Late | Failure::Query(QueryEvaluationError::Cancelled)) => Err(Refusal::new(
            Code::Timeout,
            "the query took too long; ask for less, or with LIMIT",
        )),
        Err(Failure::Output) => Err(Refusal::new(
            Code::TooLarge,
            format!("the answer has more than {most} bytes; ask for less, or with LIMIT"),
        )),
        Err(Failure::Query(error)) => {
            Err(invalid(format!("the query cannot be answered: {error}")))
        }
    }
}

enum Failure {
    Query(QueryEvaluationError),
    Output,
    Late,
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

fn in_time(deadline: Instant) -> Result<(), Failure> {
    match Instant::now() > deadline {
        true => Err(Failure::Late),
        false => Ok(()),
    }
}

/// The query, if it is one that only reads, and only here.
#[expect(deprecated, reason = "the parser itself is no dependency of ours")]
fn parse(text: &str) -> Result<oxigraph::sparql::Query, String> {
    let query = oxigraph::sparql::Query::parse(text, None).map_err(|error| {
        match oxigraph::sparql::Update::parse(text, None) {
            Ok(_) if !text.trim().is_empty() => {
                "this is an update; triples come here only as events and imports".to_owned()
            }
            _ => format!("this is no SPARQL query: {error}"),
        }
    })?;
    let written = query.to_string();
    if count(&written, "SERVICE") > 0 {
        return Err("the query asks another server (SERVICE), which this site does not do".into());
    }
    match count(&written, ".") + count(&written, "{") > guard::MOST_PATTERNS {
        true => Err(format!(
            "the query has more than {} triple patterns and groups; ask in parts, or with VALUES",
            guard::MOST_PATTERNS
        )),
        false => Ok(query),
    }
}

/// How often a query, as its parser writes it, has this word or sign outside of texts and IRIs.
fn count(query: &str, word: &str) -> usize {
    let mut found = 0;
    let mut rest = query;
    let mut last = ' ';
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => closing(rest, '"'),
            '<' if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic()) => closing(rest, '>'),
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                let end = end.unwrap_or(rest.len());
                if matches!(last, '?' | '$' | ':' | '@') {
                    last = ' ';
                    rest = &rest[end..];
                    continue;
                }
                end
            }
            c => c.len_utf8(),
        };
        found += usize::from(&rest[..end] == word);
        last = rest[..end].chars().next_back().unwrap_or(' ');
        rest = &rest[end..];
    }
    found
}

/// Behind the character that ends what begins here; one behind `\` does not.
fn closing(text: &str, end: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == end {
            return at + c.len_utf8();
        }
    }
    text.len()
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
