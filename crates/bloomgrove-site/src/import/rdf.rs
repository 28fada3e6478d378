//! RDF documents, read with the parsers of Oxigraph.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bloomgrove_client::api::LONGEST_ID;
use bloomgrove_client::quote;
use oxigraph::io::{RdfFormat, RdfParser, RdfSyntaxError};
use oxigraph::model::{NamedNode, NamedOrBlankNode, Quad, Term, Triple};

use super::blank::Blanks;
use super::{Allowance, Format, WrongDocument, bytes};
use crate::stack::on_a_large_stack;

/// The base of relative IRIs where the parser would silently ignore them, or not report which one it was: an IRI that
/// starts like this was relative.
const NOWHERE: &str = "x-bloomgrove-nowhere://nowhere/";
/// Time limit for JSON-LD in seconds: not everything that can make it expensive is known.
const LONGEST_TIME: u64 = 60;

/// The triples of a document.
pub(super) fn read(
    document: &[u8],
    format: Format,
    base: Option<&str>,
) -> Result<Vec<Triple>, WrongDocument> {
    if format != Format::JsonLd {
        return parse(document, format, base);
    }
    // The parser defines the terms of a context recursively, as deeply as there are terms.
    on_a_large_stack(|| parse(document, format, base))
        .unwrap_or_else(|error| Err(WrongDocument::syntax(format, None, error)))
}

fn parse(
    document: &[u8],
    format: Format,
    base: Option<&str>,
) -> Result<Vec<Triple>, WrongDocument> {
    let parser = RdfParser::from_format(match format {
        Format::Turtle => RdfFormat::Turtle,
        Format::NTriples => RdfFormat::NTriples,
        Format::NQuads => RdfFormat::NQuads,
        // Not reached for PROV-JSON.
        Format::TriG | Format::ProvJson => RdfFormat::TriG,
        Format::JsonLd => RdfFormat::JsonLd {
            profile: Default::default(),
        },
        Format::RdfXml => RdfFormat::RdfXml,
    });
    let hidden = matches!(format, Format::JsonLd | Format::RdfXml);
    let parser = match base.or(hidden.then_some(NOWHERE)) {
        Some(base) => parser.with_base_iri(base).map_err(|_| {
            let what = format!("the base {} is not an absolute IRI", quote(base));
            WrongDocument::syntax(format, None, what)
        })?,
        None => parser,
    };
    let wanted = Arc::new(Mutex::new(None));
    let asked = Arc::clone(&wanted);
    let quads = parser.for_slice(document).with_document_loader(move |url| {
        if let Ok(mut asked) = asked.lock() {
            asked.get_or_insert(url.to_owned());
        }
        Err::<_, Box<dyn Error + Send + Sync>>("contexts are not fetched".into())
    });
    let mut reader = Reader {
        blanks: Blanks::new(document),
        allowance: Allowance::new(document.len()),
    };
    let mut triples = Vec::new();
    let begun = Instant::now();
    for quad in quads {
        if format == Format::JsonLd && begun.elapsed().as_secs() >= LONGEST_TIME {
            return Err(WrongDocument::Slow(LONGEST_TIME));
        }
        let quad =
            quad.map_err(
                |error| match wanted.lock().ok().and_then(|mut wanted| wanted.take()) {
                    Some(url) => WrongDocument::Context(url),
                    None => explain(&error, document, format),
                },
            )?;
        triples.push(reader.triple(quad)?);
    }
    Ok(triples)
}

fn explain(error: &RdfSyntaxError, document: &[u8], format: Format) -> WrongDocument {
    let what = error.to_string();
    let location = error.location();
    if let Some(location) = &location {
        let begin = (location.start.offset as usize).min(document.len());
        let end = (location.end.offset as usize).clamp(begin, document.len());
        // The parser does not support quoted triples, and takes the second < for part of an IRI.
        let around = &document[begin.saturating_sub(2)..(end + 2).min(document.len())];
        if around.windows(2).any(|two| two == b"<<") {
            return WrongDocument::Quoted;
        }
        if what.contains("No scheme found") {
            let iri = String::from_utf8_lossy(&document[begin..end]);
            return WrongDocument::Relative(iri.trim_matches(['<', '>']).to_owned());
        }
    }
    let place = location.map(|place| (place.start.line + 1, place.start.column + 1));
    // The parser's message contains the position, too.
    let what = match what.split_once(": ") {
        Some((begin, rest)) if begin.contains("at line ") => rest.to_owned(),
        _ => what,
    };
    WrongDocument::syntax(format, place, what)
}

/// Converts quads to triples, and counts their bytes.
struct Reader {
    blanks: Blanks,
    allowance: Allowance,
}

impl Reader {
    fn triple(&mut self, quad: Quad) -> Result<Triple, WrongDocument> {
        let subject = match quad.subject {
            NamedOrBlankNode::NamedNode(node) => named(node)?,
            NamedOrBlankNode::BlankNode(node) => self.blanks.name(node.as_str()),
        };
        let predicate = named(quad.predicate)?;
        let object = match quad.object {
            Term::NamedNode(node) => named(node)?.into(),
            Term::BlankNode(node) => self.blanks.name(node.as_str()).into(),
            Term::Literal(literal) => {
                named(literal.datatype().into_owned())?;
                Term::Literal(literal)
            }
            #[allow(
                unreachable_patterns,
                reason = "a feature of oxrdf that others may enable"
            )]
            _ => return Err(WrongDocument::Quoted),
        };
        let triple = Triple::new(subject, predicate, object);
        // A language tag is inherited by everything inside: it counts like all that is expanded.
        self.allowance.take(bytes(&triple))?;
        Ok(triple)
    }
}

fn named(node: NamedNode) -> Result<NamedNode, WrongDocument> {
    let bytes = node.as_str().len();
    if let Some(relative) = node.as_str().strip_prefix(NOWHERE) {
        return Err(WrongDocument::Relative(relative.to_owned()));
    }
    match bytes > LONGEST_ID {
        true => Err(WrongDocument::Long(bytes)),
        false => Ok(node),
    }
}
