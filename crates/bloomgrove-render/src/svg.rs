//! Traces as self-contained drawings: no scripts, no fonts, nothing external.
//!
//! ```text
//!   Where offer 12 comes from                       the query
//!   14 documents and events, 17 links, 3 sites      what was found, and what is left out
//!   (A) galway  (B) pune  (C) quito                 the sites
//!
//!   (created)----[ offer 11 ]----(derived)----[[ offer 12 ]]
//! ```
//!
//! All colours are attributes, for a light background; a style element adapts them to a dark one. A page that embeds the
//! drawing drops the style element and has its own styles for the same classes: `paper`, `box`, `ink`, `quiet`, `traced`,
//! `link`, `letter`. Each node has `data-id`, its index in the trace's `nodes` as `data-node`, and can be focused; each line
//! has the indices of its ends as `data-cause` and `data-effect`. `data-graph` on the drawing is the position of the graph
//! without its heading, and `data-site` in the legend the name of a site.
//!
//! It is XML of the simplest kind (no comments, no declarations, values in double quotes), so that a page can read it element
//! by element and need not pass it to a browser's parser.

mod heading;

use std::collections::HashSet;
use std::fmt::Write;

use super::layout::Point;
use super::scene::{BAND, CHIP, DrawnNode, Edge, Form, INDENT, LARGE, SMALL, Scene, TINY};
use super::{Known, text};
use bloomgrove_client::api::Trace;
use heading::heading;
pub(super) use heading::title;

/// One colour per site, repeated after the last. Each is dark enough for white letters, and bright enough to be visible on a
/// dark background; neighbours differ in more than brightness.
pub(super) const COLOURS: [&str; 12] = [
    "#1f6fc4", "#b8501b", "#1f7d4f", "#8e48bd", "#bb3f79", "#0f7a86", "#80650a", "#c2393f",
    "#5a62cc", "#56791a", "#96583a", "#647079",
];
/// For nodes that no site reports.
const NOBODY: &str = "#6b6f6d";
const INK: &str = "#17211b";
const QUIET: &str = "#55635a";
const PAPER: &str = "#ffffff";
const BOX: &str = "#fbfcfb";
const MARK: &str = "#d9730d";
const FONT: &str = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const DARK: &str = "@media (prefers-color-scheme:dark){.trace .paper{fill:#171f1b}\
    .trace .box{fill:#1e2823}.trace .ink{fill:#e7eee9}.trace .quiet{fill:#a0b0a6}\
    .trace .traced{stroke:#ffa94d}}";
const MARGIN: f64 = 24.0;
const NARROWEST: f64 = 560.0;

/// The trace as a drawing: SVG, complete and harmless whatever ids contain. Of more than 400 nodes the nearest are drawn,
/// and the number of the others is shown.
#[must_use]
pub fn svg(trace: &Trace) -> String {
    let known = Known::new(trace);
    let scene = Scene::new(trace, &known);
    let width = scene.width.max(NARROWEST) + 2.0 * MARGIN;
    let mut head = String::new();
    let top = heading(&mut head, trace, &scene, &known, width) + 14.0;
    let left = MARGIN + (width - 2.0 * MARGIN - scene.width) / 2.0;
    let height = top + scene.height + MARGIN;
    let mut out = String::with_capacity(1024 + scene.nodes.len() * 900);
    _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"trace\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" data-graph=\"{:.0} {:.0} {:.0} \
         {:.0}\" role=\"group\" aria-label=\"{}\" font-family=\"{FONT}\">\n<style>{DARK}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n{head}",
        left - 10.0,
        top - 10.0,
        scene.width + 20.0,
        scene.height + 20.0,
        text::xml(&title(trace)),
    );
    _ = writeln!(
        out,
        "<g class=\"graph\" transform=\"translate({left:.1} {top:.1})\">"
    );
    lines(&mut out, &scene, &known);
    for drawn in &scene.nodes {
        node(&mut out, trace, &known, drawn);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// The letter of a site: A to Z, then AA.
fn letter(site: Option<usize>) -> String {
    let Some(mut site) = site else {
        return "?".to_owned();
    };
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + (site % 26) as u8));
        if site < 26 {
            break;
        }
        site = site / 26 - 1;
    }
    letters.iter().rev().collect()
}

fn colour(site: Option<usize>) -> &'static str {
    site.map_or(NOBODY, |site| COLOURS[site % COLOURS.len()])
}

/// A site's letter on its colour.
fn badge(out: &mut String, site: Option<usize>, x: f64, y: f64, r: f64) {
    let letter = letter(site);
    let size = if letter.len() > 1 { r } else { r * 1.25 };
    _ = write!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{}\"/><text class=\"letter\" \
         x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{size:.1}\" font-weight=\"700\" \
         text-anchor=\"middle\" fill=\"#ffffff\">{letter}</text>",
        colour(site),
        y + size * 0.36,
    );
}

/// All lines, below all nodes.
fn lines(out: &mut String, scene: &Scene<'_>, known: &Known<'_>) {
    let mut tipped = HashSet::new();
    for edge in &scene.edges {
        let (cause, effect) = (&scene.nodes[edge.cause], &scene.nodes[edge.effect]);
        let site = edge.links.first().and_then(|one| one.sites.first());
        let site = site.and_then(|site| known.sites.binary_search(&site.as_str()).ok());
        let path = match edge.cause == edge.effect {
            true => format!(
                "M{:.1} {:.1}c6 -18 -28 -18 -22 0",
                effect.at.x + effect.width - 10.0,
                effect.at.y
            ),
            false if edge.points.is_empty() => hanging(cause, effect),
            false => curve(&edge.points),
        };
        let dashes = if edge.is_transfer() {
            " stroke-dasharray=\"4 3\""
        } else {
            ""
        };
        _ = writeln!(
            out,
            "<path class=\"link\" data-cause=\"{}\" data-effect=\"{}\" d=\"{path}\" fill=\"none\" \
             stroke=\"{}\" stroke-width=\"1.5\" stroke-opacity=\".8\"{dashes}><title>{}</title>\
             </path>",
            cause.node,
            effect.node,
            colour(site),
            text::xml(&said(edge)),
        );
        if let Some(place) = label_place(&edge.points).filter(|_| !edge.label.is_empty()) {
            _ = writeln!(
                out,
                "<text class=\"quiet\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"{TINY}\" \
                 text-anchor=\"middle\" fill=\"{QUIET}\">{}</text>",
                place.x,
                place.y - 4.0,
                edge.label,
            );
        }
        // The direction of time. One tip for all lines that end there.
        if let [.., before, end] = edge.points[..]
            && !edge.is_transfer()
            && tipped.insert((edge.effect, end.x > before.x))
        {
            let back = if end.x > before.x { -7.0 } else { 7.0 };
            _ = writeln!(
                out,
                "<path class=\"tip\" d=\"M{:.1} {:.1}l{back} -4v8z\" fill=\"{}\"/>",
                end.x,
                end.y,
                colour(site),
            );
        }
    }
}

/// Where an edge has room for a label: in its longest horizontal part, but not next to a block.
fn label_place(points: &[Point]) -> Option<Point> {
    let middle = |pair: &[Point]| Point {
        x: (pair[0].x + pair[1].x) / 2.0,
        y: (pair[0].y + pair[1].y) / 2.0,
    };
    let inner = points.get(1..points.len().checked_sub(1)?)?;
    let level = inner.windows(2).filter(|pair| pair[0].y == pair[1].y);
    let longest = |one: &&[Point], other: &&[Point]| {
        let width = |pair: &[Point]| (pair[0].x - pair[1].x).abs();
        width(one).total_cmp(&width(other))
    };
    level
        .max_by(longest)
        .or_else(|| points.windows(2).max_by(longest))
        .map(middle)
}

/// Horizontal at both ends, so that lines leave and arrive straight.
fn curve(points: &[Point]) -> String {
    let mut path = String::new();
    let mut last: Option<Point> = None;
    for point in points {
        _ = match last {
            None => write!(path, "M{:.1} {:.1}", point.x, point.y),
            Some(last) if (last.y - point.y).abs() < 0.05 => write!(path, "H{:.1}", point.x),
            Some(last) => {
                let middle = (last.x + point.x) / 2.0;
                write!(
                    path,
                    "C{middle:.1} {:.1} {middle:.1} {:.1} {:.1} {:.1}",
                    last.y, point.y, point.x, point.y
                )
            }
        };
        last = Some(*point);
    }
    path
}

/// From a document down and over to a transfer below it.
fn hanging(transfer: &DrawnNode, document: &DrawnNode) -> String {
    format!(
        "M{:.1} {:.1}V{:.1}H{:.1}",
        document.at.x + INDENT / 2.0,
        document.at.y + document.height,
        transfer.at.y + CHIP / 2.0,
        transfer.at.x,
    )
}

/// The links of a line in words.
fn said(edge: &Edge<'_>) -> String {
    let lines: Vec<String> = edge
        .links
        .iter()
        .map(|one| {
            let sites: Vec<String> = one.sites.iter().map(|site| text::seen(site)).collect();
            format!(
                "{} {} {} ({})",
                text::seen(&one.link.effect),
                one.link.relation.words(),
                text::seen(&one.link.cause),
                sites.join(", "),
            )
        })
        .collect();
    lines.join("\n")
}

fn node(out: &mut String, trace: &Trace, known: &Known<'_>, drawn: &DrawnNode) {
    let one = &trace.nodes[drawn.node];
    let site = known.teller[drawn.node].and_then(|site| known.sites.binary_search(&site).ok());
    let traced = known.traced[drawn.node];
    let form = match drawn.form {
        Form::Document => "document",
        Form::Event => "event",
        Form::Transfer => "event transfer",
    };
    let mut about = vec![text::seen(&one.node.id)];
    let fields = [
        &one.node.label,
        &one.node.kind,
        &one.node.time,
        &one.node.agent,
    ];
    about.extend(fields.into_iter().flatten().map(|said| text::seen(said)));
    let sites: Vec<String> = one.sites.iter().map(|site| text::seen(site)).collect();
    about.push(format!("known to {}", sites.join(", ")));
    let mut spoken = vec![drawn.name.clone(), form.to_owned()];
    spoken.extend(known.teller[drawn.node].map(text::seen));
    spoken.extend(traced.then(|| "traced".to_owned()));
    let (x, y, w, h) = (drawn.at.x, drawn.at.y, drawn.width, drawn.height);
    _ = write!(
        out,
        "<g class=\"node {form}{}\" data-id=\"{}\" data-node=\"{}\" tabindex=\"0\" role=\"img\" \
         aria-label=\"{}\"><title>{}</title>",
        if traced { " start" } else { "" },
        text::xml(&one.node.id),
        drawn.node,
        text::xml(&spoken.join(", ")),
        text::xml(&about.join("\n")),
    );
    let round = if drawn.form == Form::Document {
        6.0
    } else {
        h / 2.0
    };
    if traced {
        _ = write!(
            out,
            "<rect class=\"traced\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             rx=\"{}\" fill=\"none\" stroke=\"{MARK}\" stroke-width=\"2.5\"/>",
            x - 4.5,
            y - 4.5,
            w + 9.0,
            h + 9.0,
            round + 4.5,
        );
    }
    let dashes = if drawn.form == Form::Transfer {
        " stroke-dasharray=\"4 3\""
    } else {
        ""
    };
    _ = write!(
        out,
        "<rect class=\"box\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" \
         rx=\"{round}\" fill=\"{BOX}\" stroke=\"{}\" stroke-width=\"1.25\"{dashes}/>",
        colour(site),
    );
    let letters = |out: &mut String, x: f64, y: f64, size: f64| {
        _ = write!(
            out,
            "<text class=\"ink\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" \
             fill=\"{INK}\"{}>{}</text>",
            if drawn.form == Form::Document {
                " font-weight=\"500\""
            } else {
                ""
            },
            text::xml(&drawn.name),
        );
    };
    let note = |out: &mut String, x: f64, y: f64| {
        _ = write!(
            out,
            "<text class=\"quiet\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{SMALL}\" \
             fill=\"{QUIET}\">{}</text>",
            text::xml(&drawn.note),
        );
    };
    match drawn.form {
        Form::Document => {
            // The band, round where the box is.
            _ = write!(
                out,
                "<path d=\"M{:.1} {y:.1}h-{}a6 6 0 0 0 -6 6v{}a6 6 0 0 0 6 6h{}z\" \
                 fill=\"{}\"/>",
                x + BAND,
                BAND - 6.0,
                h - 12.0,
                BAND - 6.0,
                colour(site),
            );
            let letter = letter(site);
            let size = if letter.len() > 1 { 10.0 } else { LARGE };
            _ = write!(
                out,
                "<text class=\"letter\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" \
                 font-weight=\"700\" text-anchor=\"middle\" fill=\"#ffffff\">{letter}</text>",
                x + BAND / 2.0,
                y + h / 2.0 + size * 0.36,
            );
            letters(out, x + BAND + 9.0, y + 18.5, LARGE);
            note(out, x + BAND + 9.0, y + 34.5);
        }
        Form::Event | Form::Transfer => {
            let (size, r) = if drawn.form == Form::Event {
                (LARGE, 10.0)
            } else {
                (SMALL, 7.5)
            };
            badge(out, site, x + h / 2.0, y + h / 2.0, r);
            letters(out, x + BAND + 6.0, y + h / 2.0 + size * 0.36, size);
            if !drawn.note.is_empty() {
                let from = x + BAND + 6.0 + text::width(&drawn.name, size) + 6.0;
                note(out, from, y + h / 2.0 + SMALL * 0.36);
            }
        }
    }
    out.push_str("</g>\n");
}
