//! The heading of the drawing: the query, what was found and what is missing, the legend.

use std::fmt::Write;

use super::super::scene::Scene;
use super::super::{Known, text};
use super::{INK, MARGIN, QUIET, badge};
use bloomgrove_client::api::{Direction, Trace};

/// The query in words.
pub(crate) fn title(trace: &Trace) -> String {
    let first = trace.ids.first().map_or("nothing", String::as_str);
    let label = trace.nodes.iter().find(|one| one.node.id == first);
    let label = label
        .and_then(|one| one.node.label.as_deref())
        .unwrap_or(first);
    let mut name = text::shorten(&text::seen(label), 400.0, 16.0);
    if trace.ids.len() > 1 {
        _ = write!(name, " and {} more", trace.ids.len() - 1);
    }
    let plural = trace.ids.len() > 1;
    match trace.direction {
        Direction::Ancestors if plural => format!("Where {name} come from"),
        Direction::Ancestors => format!("Where {name} comes from"),
        Direction::Descendants => format!("What was made from {name}"),
    }
}

/// Writes the heading, and returns its height.
pub(super) fn heading(
    out: &mut String,
    trace: &Trace,
    scene: &Scene<'_>,
    known: &Known<'_>,
    width: f64,
) -> f64 {
    out.push_str("<g class=\"head\">\n");
    let mut y = MARGIN + 14.0;
    let room = width - 2.0 * MARGIN;
    let mut line = |out: &mut String, text: &str, size: f64, class: &str, step: f64| {
        let fill = if class == "quiet" { QUIET } else { INK };
        let weight = if size > 14.0 {
            " font-weight=\"600\""
        } else {
            ""
        };
        let text = text::xml(&text::shorten(text, room, size));
        _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y:.1}\" font-size=\"{size}\"{weight} \
             fill=\"{fill}\">{text}</text>",
        );
        y += step;
    };
    line(out, &title(trace), 16.0, "ink", 21.0);
    let told = match trace.nodes.len() {
        0 => "No site knows it.".to_owned(),
        nodes => format!(
            "{}, {}, reported by {}",
            many(nodes, "document or event", "documents and events"),
            many(trace.links.len(), "link", "links"),
            many(known.sites.len(), "site", "sites"),
        ),
    };
    line(out, &told, 12.0, "quiet", 18.0);
    if scene.nodes_left_out > 0 {
        let drawn = scene.nodes.len();
        let rest = scene.nodes_left_out;
        let text = format!("The nearest {drawn} are drawn; {rest} more distant ones are left out.");
        line(out, &text, 12.0, "ink", 18.0);
    }
    if scene.edges_left_out > 0 {
        let text = format!("{} more lines are left out.", scene.edges_left_out);
        line(out, &text, 12.0, "ink", 18.0);
    }
    if !trace.complete {
        let sites = trace.missing.iter().filter_map(|one| one.site.as_deref());
        let sites: Vec<String> = sites.map(text::seen).collect();
        let who = match sites.is_empty() {
            true => "a limit was reached".to_owned(),
            false => format!("no answer from {}", sites.join(", ")),
        };
        line(out, &format!("Incomplete: {who}."), 12.0, "ink", 18.0);
    }
    let mut x = MARGIN;
    y += 6.0;
    for (at, site) in known.sites.iter().enumerate() {
        let name = text::shorten(&text::seen(site), 160.0, 12.0);
        let step = 22.0 + text::width(&name, 12.0) + 12.0;
        if x > MARGIN && x + step > width - MARGIN {
            x = MARGIN;
            y += 23.0;
        }
        _ = write!(out, "<g class=\"key\" data-site=\"{}\">", text::xml(site));
        badge(out, Some(at), x + 9.0, y - 4.0, 9.0);
        _ = writeln!(
            out,
            "<text class=\"ink\" x=\"{:.1}\" y=\"{y:.1}\" font-size=\"12\" fill=\"{INK}\">{}\
             </text></g>",
            x + 23.0,
            text::xml(&name),
        );
        x += step;
    }
    out.push_str("</g>\n");
    if known.sites.is_empty() { y } else { y + 18.0 }
}

/// A number with its noun.
fn many(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
