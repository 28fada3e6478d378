//! Figure 1: a tree over 16 names with filters of ten bits, and the query {4, 6}.
//!
//! The text that we have includes neither the paper's picture nor its hash functions. Ours are two
//! simple ones modulo 17.

use std::fmt::Write;

use anyhow::Result;
use bloomgrove::raw::bits;
use bloomgrove::{Affine, Family, Filter, Params};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, estimate_common};

use super::{Effort, FIGURES};
use crate::{Picture, Progress, Report, paper};

const DEPTH: u32 = 3;
const SET: [u64; 2] = [4, 6];
const BOX: (u64, u64) = (104, 52);
const GAP: (u64, u64) = (12, 46);

pub(super) fn run(_: Effort, _: &mut Progress<'_>) -> Result<Report> {
    let functions = Affine::new(&[(3, 1), (5, 2)], 17)?;
    let params = Params::builder(10, 2)
        .family(Family::Affine(functions))
        .build()?;
    let tree = BloomSampleTree::complete(&params, 0..16, DEPTH)?;
    let mut query = Filter::new(params)?;
    query.insert_batch(&SET);
    let nodes = nodes(&tree, &query);
    Ok(Report {
        pictures: vec![Picture {
            id: "fig01",
            title: paper::title(&FIGURES, "fig01"),
            text: text(&nodes, &query),
            svg: svg(&nodes, &query),
        }],
        ..Report::default()
    })
}

struct Node {
    level: u32,
    index: u64,
    names: String,
    bits: String,
    /// Bits in common with the query, and estimated items.
    common: u64,
    estimate: f64,
}

impl Node {
    fn overlap(&self) -> String {
        let estimate = match self.estimate.is_finite() {
            true => format!("{:.1}", self.estimate),
            false => "?".to_owned(),
        };
        format!("{} common, est. {estimate}", self.common)
    }
}

fn digits<S: AsRef<[u64]>>(filter: &Filter<S>) -> String {
    let set: Vec<u64> = filter.ones().collect();
    let digit = |bit| if set.contains(&bit) { '1' } else { '0' };
    (0..filter.params().bits()).map(digit).collect()
}

/// All nodes, level by level.
fn nodes(tree: &BloomSampleTree, query: &Filter) -> Vec<Node> {
    let places = (0..=DEPTH).flat_map(|level| (0..1 << level).map(move |index| (level, index)));
    let node = |(level, index): (u32, u64)| {
        let filter = tree.node(level, index)?;
        let common = bits::and_count(filter.words(), query.words());
        let size = 16 >> level;
        let ones = (filter.count_ones(), query.count_ones());
        Some(Node {
            level,
            index,
            names: format!("{}-{}", index * size, (index + 1) * size - 1),
            bits: digits(&filter),
            common,
            estimate: estimate_common(tree.params(), ones.0, ones.1, common),
        })
    };
    places.filter_map(node).collect()
}

fn text(nodes: &[Node], query: &Filter) -> String {
    let mut text = format!("query {SET:?}  {}\n", digits(query));
    // Depth first: a node before its descendants.
    let mut order: Vec<&Node> = nodes.iter().collect();
    order.sort_by_key(|node| (node.index << (DEPTH - node.level), node.level));
    for node in order {
        let indent = 2 * node.level as usize;
        let line = format!("{:indent$}{}", "", node.names);
        let _ = writeln!(text, "{line:<14} {}  {}", node.bits, node.overlap());
    }
    text
}

fn svg(nodes: &[Node], query: &Filter) -> String {
    let (width, height) = (BOX.0 + GAP.0, BOX.1 + GAP.1);
    let top = 40;
    let size = (
        GAP.0 + (1 << DEPTH) * width,
        top + u64::from(DEPTH + 1) * height,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"monospace\" font-size=\"12\" text-anchor=\"middle\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"24\" font-size=\"14\">query {{4, 6}}: {}</text>\n",
        size.0,
        size.1,
        size.0 / 2,
        digits(query)
    );
    // The middle of a node's upper edge.
    let place = |level: u32, index: u64| {
        let span = width << (DEPTH - level);
        let x = GAP.0 / 2 + index * span + span / 2;
        (x, top + u64::from(level) * height)
    };
    for node in nodes {
        let (x, y) = place(node.level, node.index);
        if node.level > 0 {
            let above = place(node.level - 1, node.index / 2);
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{}\" stroke=\"#889\"/>",
                above.0,
                above.1 + BOX.1
            );
        }
        let holds = SET.iter().any(|name| {
            let below = 16 >> node.level;
            name / below == node.index
        });
        let fill = if holds { "#d8eaf6" } else { "#f6f6f6" };
        let left = x - BOX.0 / 2;
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\" \
             stroke=\"#667\"/>",
            BOX.0, BOX.1
        );
        for (line, content) in (0..).zip([&node.names, &node.bits, &node.overlap()]) {
            let small = if line == 2 { " font-size=\"9\"" } else { "" };
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\"{small}>{content}</text>",
                y + 15 + 15 * line
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
