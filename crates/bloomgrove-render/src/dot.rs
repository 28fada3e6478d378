//! Traces for Graphviz: `bloomgrove trace ID --format dot | dot -Tsvg`.
//!
//! Nodes are called `n0`, `n1`, ... in the order of the trace, so that no id can be mistaken for anything else; ids and
//! descriptions are in labels and tooltips. Time goes from left to right: an edge goes from the cause to the effect.

use std::fmt::Write;

use super::svg::title;
use super::{Known, text};
use bloomgrove_client::api::{Relation, Trace};

/// Maximum width of a label, in characters.
const WIDEST: f64 = 28.0;

/// The trace for Graphviz. It is valid whatever ids contain.
#[must_use]
pub fn dot(trace: &Trace) -> String {
    let known = Known::new(trace);
    let mut out = String::from("digraph trace {\n");
    out.push_str("  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n");
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=9, color=\"#55635a\"];\n");
    for (at, one) in trace.nodes.iter().enumerate() {
        let node = &one.node;
        let short = |text: &str| text::shorten(&text::seen(text), WIDEST * 0.6, 1.0);
        let mut label = match (&node.kind, &node.label) {
            (Some(kind), _) if known.event[at] => short(kind),
            (_, Some(label)) => short(label),
            _ => short(&node.id),
        };
        if let Some(site) = known.teller[at] {
            _ = write!(label, "\n{}", short(site));
        }
        let mut tip = text::seen(&node.id);
        for said in [&node.label, &node.kind, &node.time, &node.agent]
            .into_iter()
            .flatten()
        {
            _ = write!(tip, "\n{}", text::seen(said));
        }
        let shape = if known.event[at] { "ellipse" } else { "box" };
        let traced = if known.traced[at] {
            ", penwidth=2.5"
        } else {
            ""
        };
        _ = writeln!(
            out,
            "  n{at} [shape={shape}, label={}, tooltip={}{traced}];",
            quoted(&label),
            quoted(&tip),
        );
    }
    for one in &trace.links {
        let link = &one.link;
        let (Some(effect), Some(cause)) = (
            known.index.get(link.effect.as_str()),
            known.index.get(link.cause.as_str()),
        ) else {
            continue;
        };
        let sites: Vec<String> = one.sites.iter().map(|site| text::seen(site)).collect();
        let style = match link.relation {
            // A transfer comes after its document, though it is reported as a cause.
            Relation::TransferredBy => ", style=dashed, dir=none, constraint=false",
            _ => "",
        };
        _ = writeln!(
            out,
            "  n{cause} -> n{effect} [label={}, tooltip={}{style}];",
            quoted(link.relation.words()),
            quoted(&format!("reported by {}", sites.join(", "))),
        );
    }
    let mut title = title(trace);
    if !trace.complete {
        title.push_str(" (may be incomplete)");
    }
    _ = writeln!(out, "  label={};\n}}", quoted(&title));
    out
}

/// A string for Graphviz, where a backslash starts an escape and `&` a character entity.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
