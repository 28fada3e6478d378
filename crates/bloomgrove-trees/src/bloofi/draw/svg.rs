//! SVG: boxes shaded by their fill, connected by curves.
//!
//! ```text
//!   +--------------+
//!   | rome         |   title
//!   | 10000000     |   bits, sixteen per row, if there are at most 64
//!   | ====----     |   fill: a bar and the number
//!   +--------------+
//! ```
//!
//! Leaves are side by side; a parent is centered above its children.

use std::fmt::Write;

use super::Sketch;

const WIDTH: f64 = 136.0;
const GAP: f64 = 14.0;
/// Between the levels, for the curves.
const RISE: f64 = 46.0;
const MARGIN: f64 = 20.0;
const ROW: f64 = 15.0;
/// Bits in one row of a box.
const ROW_BITS: usize = 16;
/// Characters of a title that fit in a box.
const TITLE: usize = 16;

/// A color between nearly white (no bit set) and deep green (all set).
pub(super) struct Shade(f64);

impl Shade {
    pub(super) fn of(fill: f64) -> Self {
        // Most bits are set near the root and few near the leaves: the square root of the fill spreads
        // the lower end, where the leaves differ.
        Self(fill.clamp(0.0, 1.0).sqrt())
    }

    pub(super) fn paper(&self) -> String {
        let mix = |empty: f64, full: f64| (empty + (full - empty) * self.0).round() as u8;
        let (red, green, blue) = (mix(247.0, 11.0), mix(251.0, 83.0), mix(245.0, 69.0));
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    pub(super) fn ink(&self) -> &'static str {
        if self.0 > 0.6 { "#ffffff" } else { "#10241c" }
    }
}

/// A box with its position.
enum Item<'s> {
    Node(&'s Sketch),
    More(usize),
}

struct Placed<'s> {
    item: Item<'s>,
    /// The center of the box.
    x: f64,
    depth: usize,
    parent: Option<usize>,
}

pub(super) fn render(root: Option<&Sketch>) -> String {
    let mut placed = Vec::new();
    let mut right = MARGIN;
    if let Some(root) = root {
        place(root, 0, None, &mut right, &mut placed);
    }
    let rows = root.and_then(|root| root.bits.as_ref());
    let rows = rows.map_or(0, |bits| bits.len().div_ceil(ROW_BITS));
    let tall = 44.0 + rows as f64 * ROW;
    let depth = placed.iter().map(|placed| placed.depth + 1).max();
    let levels = depth.unwrap_or(0) as f64;
    let width = (right - GAP + MARGIN).max(2.0 * MARGIN + WIDTH);
    let height = 2.0 * MARGIN + (levels * tall + (levels - 1.0) * RISE).max(ROW);

    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>"##
    );
    let top = |depth: usize| MARGIN + depth as f64 * (tall + RISE);
    for child in &placed {
        let Some(parent) = child.parent.map(|parent| &placed[parent]) else {
            continue;
        };
        let (from, to) = (top(parent.depth) + tall, top(child.depth));
        let half = (from + to) / 2.0;
        let _ = writeln!(
            svg,
            r##"<path d="M{0:.1} {from:.1} C{0:.1} {half:.1} {1:.1} {half:.1} {1:.1} {to:.1}" fill="none" stroke="#8aa39a" stroke-width="1.4"/>"##,
            parent.x, child.x
        );
    }
    for placed in &placed {
        let (left, top) = (placed.x - WIDTH / 2.0, top(placed.depth));
        match placed.item {
            Item::Node(sketch) => draw_node(&mut svg, sketch, left, top, tall),
            Item::More(hidden) => draw_more(&mut svg, hidden, left, top, tall),
        }
    }
    if root.is_none() {
        let (x, y) = (MARGIN, MARGIN + 12.0);
        let _ = writeln!(
            svg,
            r##"<text x="{x}" y="{y}" fill="#10241c">(empty)</text>"##
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Positions a node and its descendants; returns the node's index.
fn place<'s>(
    sketch: &'s Sketch,
    depth: usize,
    parent: Option<usize>,
    right: &mut f64,
    placed: &mut Vec<Placed<'s>>,
) -> usize {
    let own = placed.len();
    let item = Item::Node(sketch);
    let x = *right + WIDTH / 2.0;
    placed.push(Placed {
        item,
        x,
        depth,
        parent,
    });
    let mut below = Vec::new();
    for child in &sketch.shown {
        below.push(place(child, depth + 1, Some(own), right, placed));
    }
    if sketch.hidden() > 0 {
        below.push(placed.len());
        placed.push(Placed {
            item: Item::More(sketch.hidden()),
            x: *right + WIDTH / 2.0,
            depth: depth + 1,
            parent: Some(own),
        });
        *right += WIDTH + GAP;
    }
    match below[..] {
        [] => *right += WIDTH + GAP,
        [first, ..] => placed[own].x = (placed[first].x + placed[below[below.len() - 1]].x) / 2.0,
    }
    own
}

fn draw_node(svg: &mut String, sketch: &Sketch, left: f64, top: f64, tall: f64) {
    let shade = Shade::of(sketch.fill);
    let (paper, ink) = (shade.paper(), shade.ink());
    let title = sketch.title();
    let text = left + 10.0;
    let _ = writeln!(
        svg,
        r##"<g fill="{ink}"><title>{}</title><rect x="{left:.1}" y="{top:.1}" width="{WIDTH}" height="{tall}" rx="7" fill="{paper}" stroke="#0b5345" stroke-width="1"/>
<text x="{text:.1}" y="{:.1}" font-weight="bold">{}</text>"##,
        escape(&title),
        top + 18.0,
        escape(&shortened(&title)),
    );
    let mut line = top + 18.0;
    if let Some(bits) = &sketch.bits {
        for row in bits.as_bytes().chunks(ROW_BITS) {
            line += ROW;
            let row = String::from_utf8_lossy(row);
            let _ = writeln!(
                svg,
                r##"<text x="{text:.1}" y="{line:.1}" font-family="Menlo, Consolas, monospace" font-size="11.5">{row}</text>"##
            );
        }
    }
    let (y, length) = (line + 9.0, 62.0);
    let _ = writeln!(
        svg,
        r##"<rect x="{text:.1}" y="{y:.1}" width="{length}" height="6" rx="3" fill-opacity="0.25"/><rect x="{text:.1}" y="{y:.1}" width="{:.1}" height="6" rx="3"/>
<text x="{:.1}" y="{:.1}" text-anchor="end" font-size="11">{}</text></g>"##,
        length * sketch.fill,
        left + WIDTH - 10.0,
        y + 7.0,
        sketch.percent(),
    );
}

fn draw_more(svg: &mut String, hidden: usize, left: f64, top: f64, tall: f64) {
    let _ = writeln!(
        svg,
        r##"<rect x="{left:.1}" y="{top:.1}" width="{WIDTH}" height="{tall}" rx="7" fill="none" stroke="#8aa39a" stroke-dasharray="5 4"/>
<text x="{:.1}" y="{:.1}" text-anchor="middle" fill="#4b645b">... and {hidden} more</text>"##,
        left + WIDTH / 2.0,
        top + tall / 2.0 + 4.0,
    );
}

/// The part that fits in a box; the tooltip has the full text.
fn shortened(title: &str) -> String {
    if title.chars().count() <= TITLE {
        return title.to_owned();
    }
    let start: String = title.chars().take(TITLE - 1).collect();
    format!("{}…", start.trim_end())
}

/// Escapes text and attributes. XML cannot represent most control characters.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
