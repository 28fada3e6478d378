//! The tree as a picture: text, Graphviz or SVG.
//!
//! ```text
//! #9  2 children  75.0%  11111010
//! ├─ #7  4 children  50.0%  11110000
//! │  ├─ rome  12.5%  10000000
//! │  └─ ... and 3 more
//! └─ #8  2 children  25.0%  00001010
//! ```
//!
//! First, a [`Sketch`] is made: which nodes are shown, with which text. The three formats only
//! differ in how they render it.

mod svg;

use std::fmt::Write;

use super::Bloofi;
use super::nodes::NONE;
use bloomgrove::raw::bits;

/// Filters of at most this many bits are shown bit by bit.
const SHOWN_BITS: u64 = 64;

/// A drawing of a [`Bloofi`]. Created by [`Bloofi::draw`].
///
/// ```
/// use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions};
/// use bloomgrove::{Filter, Params};
///
/// let params = Params::builder(16, 2).build()?;
/// let mut tree = Bloofi::new(params.clone(), BloofiOptions::default())?;
/// for (slot, city) in ["Rome", "Oslo", "Lima"].into_iter().enumerate() {
///     let mut filter = Filter::new(params.clone())?;
///     filter.insert(city);
///     tree.insert(slot as u32, &filter)?;
/// }
/// let text = tree.draw().names(|slot| format!("site {slot}")).most_children(2).to_text();
/// assert!(text.contains("├─ site 0"));
/// assert!(text.contains("└─ ... and 1 more"));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[must_use]
pub struct Drawing<'t> {
    tree: &'t Bloofi,
    names: Box<dyn Fn(u32) -> String + 't>,
    most_children: usize,
}

impl Bloofi {
    /// Creates a drawing: leaves are named after their slots, and the first eight children of each
    /// node are shown.
    pub fn draw(&self) -> Drawing<'_> {
        Drawing {
            tree: self,
            names: Box::new(|slot| slot.to_string()),
            most_children: 8,
        }
    }
}

/// The shown part of a node.
struct Sketch {
    /// Its number, unique in the drawing. Counted from 1, as in the paper's figures.
    node: u32,
    /// The name of a leaf.
    name: Option<String>,
    fill: f64,
    /// Its bits from the first to the last, if they are few.
    bits: Option<String>,
    children: usize,
    shown: Vec<Sketch>,
}

impl Sketch {
    fn hidden(&self) -> usize {
        self.children - self.shown.len()
    }

    fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("#{}  {} children", self.node, self.children),
        }
    }

    fn percent(&self) -> String {
        format!("{:.1}%", self.fill * 100.0)
    }
}

impl<'t> Drawing<'t> {
    /// Sets the name of the leaf of each slot.
    pub fn names(mut self, names: impl Fn(u32) -> String + 't) -> Self {
        self.names = Box::new(names);
        self
    }

    /// Sets how many children of each node are shown, at least one; the others are counted.
    pub fn most_children(mut self, most: usize) -> Self {
        self.most_children = most.max(1);
        self
    }

    fn sketch(&self, node: u32) -> Sketch {
        let nodes = &self.tree.nodes;
        let params = &self.tree.params;
        let value = nodes.value(node);
        let digit = |i| if bits::get(value, i) { '1' } else { '0' };
        let children = nodes.children(node);
        let shown = children.iter().take(self.most_children);
        Sketch {
            node: node + 1,
            name: children.is_empty().then(|| (self.names)(nodes.slot(node))),
            fill: params.fill(nodes.ones(node)),
            bits: (params.bits() <= SHOWN_BITS).then(|| (0..params.bits()).map(digit).collect()),
            children: children.len(),
            shown: shown.map(|&child| self.sketch(child)).collect(),
        }
    }

    fn root(&self) -> Option<Sketch> {
        (self.tree.root != NONE).then(|| self.sketch(self.tree.root))
    }

    /// Indented lines, one per node.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        match self.root() {
            Some(root) => write_text(&mut text, &root, "", ""),
            None => text.push_str("(empty)\n"),
        }
        text
    }

    /// For Graphviz: `dot -Tpng`.
    pub fn to_dot(&self) -> String {
        let mut text = String::from(
            "digraph tree {\n  node [shape=box, style=\"rounded,filled\", \
             fontname=\"sans-serif\"];\n  edge [arrowhead=none];\n",
        );
        if let Some(root) = self.root() {
            write_dot(&mut text, &root);
        }
        text.push_str("}\n");
        text
    }

    /// An image for any browser.
    pub fn to_svg(&self) -> String {
        svg::render(self.root().as_ref())
    }
}

// Writing to a string cannot fail, so the results of `write!` below are dropped.

fn write_text(text: &mut String, sketch: &Sketch, first: &str, rest: &str) {
    let title = one_line(&sketch.title());
    let bits = sketch.bits.as_deref().unwrap_or_default();
    let line = format!("{first}{title}  {}  {bits}", sketch.percent());
    let _ = writeln!(text, "{}", line.trim_end());
    let hidden = sketch.hidden();
    for (i, child) in sketch.shown.iter().enumerate() {
        let (branch, below) = if hidden == 0 && i + 1 == sketch.shown.len() {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        write_text(
            text,
            child,
            &format!("{rest}{branch}"),
            &format!("{rest}{below}"),
        );
    }
    if hidden > 0 {
        let _ = writeln!(text, "{rest}└─ ... and {hidden} more");
    }
}

/// A name with a line break would break the drawing.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn write_dot(text: &mut String, sketch: &Sketch) {
    let (node, title) = (sketch.node, one_line(&sketch.title()));
    let title = title.replace('\\', "\\\\").replace('"', "\\\"");
    let bits = sketch.bits.as_ref().map(|bits| format!("\\n{bits}"));
    let shade = svg::Shade::of(sketch.fill);
    let _ = writeln!(
        text,
        "  n{node} [label=\"{title}\\n{}{}\", fillcolor=\"{}\", fontcolor=\"{}\"];",
        sketch.percent(),
        bits.unwrap_or_default(),
        shade.paper(),
        shade.ink(),
    );
    for child in &sketch.shown {
        let _ = writeln!(text, "  n{node} -> n{};", child.node);
        write_dot(text, child);
    }
    if sketch.hidden() > 0 {
        let _ = writeln!(
            text,
            "  more{node} [label=\"... and {} more\", style=dashed];\n  n{node} -> more{node};",
            sketch.hidden()
        );
    }
}
