//! Traces as RDF: all links as in PROV-O, and descriptions of their ends.
//!
//! ```text
//! <urn:uuid:1> prov:wasGeneratedBy <urn:uuid:2> .   # galway, pune: the sites that report it
//! <urn:uuid:2> a prov:Activity, bg:Bundled ;
//!     prov:endedAtTime "2026-11-16T09:30:00Z"^^xsd:dateTime ;
//!     bg:reportedBy "galway" .                      the sites that know it
//! ```
//!
//! Ids that are not IRIs are written like sites write them, so that a document imported from here into a site refers to the
//! same documents.

use std::fmt::Write;

use super::{Known, text};
use bloomgrove_client::api::{Trace, TraceNode, is_event_kind};
use bloomgrove_client::iri::iri;

/// Types of PROV-O that are recognized by the last part of their names.
const PROV_TYPES: [&str; 10] = [
    "Activity",
    "Agent",
    "Bundle",
    "Collection",
    "Entity",
    "Location",
    "Organization",
    "Person",
    "Plan",
    "SoftwareAgent",
];

/// The trace as Turtle. It is valid whatever ids contain.
#[must_use]
pub fn turtle(trace: &Trace) -> String {
    let known = Known::new(trace);
    let mut out = String::new();
    out.push_str("@prefix prov: <http://www.w3.org/ns/prov#> .\n");
    out.push_str("@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n");
    out.push_str("@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n");
    out.push_str("@prefix bg: <urn:x-bloomgrove:> .\n");
    if !trace.complete {
        out.push_str("\n# Incomplete:\n");
        for one in &trace.missing {
            let site = one.site.as_deref().unwrap_or("the trace");
            _ = writeln!(out, "# {}: {}", text::seen(site), text::seen(&one.why));
        }
    }
    if !trace.nodes.is_empty() {
        out.push('\n');
    }
    for (one, &event) in trace.nodes.iter().zip(&known.event) {
        describe(&mut out, one, event);
    }
    if !trace.links.is_empty() {
        out.push('\n');
    }
    for one in &trace.links {
        let property = match one.link.relation.iri().split_once('#') {
            Some((_, name)) => format!("prov:{name}"),
            None => format!("<{}>", one.link.relation.iri()),
        };
        let sites: Vec<String> = one.sites.iter().map(|site| text::seen(site)).collect();
        _ = writeln!(
            out,
            "<{}> {property} <{}> . # {}",
            iri(&one.link.effect),
            iri(&one.link.cause),
            sites.join(", "),
        );
    }
    out
}

fn describe(out: &mut String, one: &TraceNode, event: bool) {
    let node = &one.node;
    let mut said: Vec<String> = Vec::new();
    match node.kind.as_deref() {
        Some(kind) if is_event_kind(kind) => {
            let (first, rest) = kind.split_at(1);
            said.push(format!(
                "a prov:Activity, bg:{}{rest}",
                first.to_uppercase()
            ));
        }
        Some(kind) if PROV_TYPES.contains(&kind) => said.push(format!("a prov:{kind}")),
        Some(kind) => said.push(format!("bg:kind {}", literal(kind))),
        None => {}
    }
    if let Some(label) = &node.label {
        said.push(format!("rdfs:label {}", literal(label)));
    }
    if let Some(time) = &node.time {
        let property = if event {
            "endedAtTime"
        } else {
            "generatedAtTime"
        };
        let datatype = if is_time(time) { "^^xsd:dateTime" } else { "" };
        said.push(format!("prov:{property} {}{datatype}", literal(time)));
    }
    if let Some(agent) = &node.agent {
        said.push(format!("bg:agent {}", literal(agent)));
    }
    if let Some(peer) = &node.peer {
        said.push(format!("bg:peer {}", literal(peer)));
    }
    if !one.sites.is_empty() {
        let sites: Vec<String> = one.sites.iter().map(|site| literal(site)).collect();
        said.push(format!("bg:reportedBy {}", sites.join(", ")));
    }
    // An id without a description has no triples.
    if !said.is_empty() {
        _ = writeln!(out, "<{}> {} .", iri(&node.id), said.join(" ;\n    "));
    }
}

/// A string of Turtle.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => _ = write!(out, "\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a text looks like `2026-11-16T09:30:00`, with or without fractional seconds and a time zone.
fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let Some((first, rest)) = text.split_at_checked(SHAPE.len()) else {
        return false;
    };
    let shaped = first.bytes().zip(SHAPE).all(|(have, want)| match want {
        b'0' => have.is_ascii_digit(),
        want => have == *want,
    });
    let zone = match rest.strip_prefix('.') {
        Some(parts) => {
            let zone = parts.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == parts.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    let shift = zone.as_bytes();
    let shift = matches!(shift, [b'+' | b'-', a, b, b':', c, d]
        if [a, b, c, d].iter().all(|one| one.is_ascii_digit()));
    shaped && (zone.is_empty() || zone == "Z" || shift)
}
