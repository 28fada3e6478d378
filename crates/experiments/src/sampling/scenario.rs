//! Figure 2: the nodes that one sample visits, in order, with the paths that turn out to be false.
//!
//! The text that we have does not include the paper's picture. It says that the numbers next to the
//! nodes are the order in which they are visited, that one true path is found among several false
//! ones, and that one inner node leads to several of these.

use std::fmt::Write;

use anyhow::{Context, Result};
use bloomgrove::raw::bits;
use bloomgrove::{Family, Filter, Params};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, estimate_common};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{Effort, FIGURES};
use crate::{Picture, Progress, Report, paper};

const NAMES: u64 = 128;
const DEPTH: u32 = 4;
const BITS: u64 = 64;
const SET: [u64; 3] = [21, 76, 83];
const BOX: (u64, u64) = (54, 30);
const GAP: (u64, u64) = (8, 38);

pub(super) fn run(_: Effort, _: &mut Progress<'_>) -> Result<Report> {
    // The first seed with a typical scenario.
    let mut all = (0..10_000).map(|seed| anyhow::Ok(visits(&world(seed)?, seed)));
    let visits = all.find(|visits| visits.as_ref().map_or(true, |visits| is_typical(visits)));
    let visits = visits.context("no seed has such a scenario")??;
    Ok(Report {
        pictures: vec![Picture {
            id: "fig02",
            title: paper::title(&FIGURES, "fig02"),
            text: text(&visits),
            svg: svg(&visits),
        }],
        ..Report::default()
    })
}

/// The tree and the query, with the hash functions of this seed.
fn world(seed: u64) -> Result<(BloomSampleTree, Filter)> {
    let builder = Params::builder(BITS, 2).family(Family::Murmur3);
    let params = builder.seed(seed).build()?;
    let tree = BloomSampleTree::complete(&params, 0..NAMES, DEPTH)?;
    let mut query = Filter::new(params)?;
    query.insert_batch(&SET);
    Ok((tree, query))
}

/// A node that the search entered, and whether a member was found below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Visit {
    level: u32,
    index: u64,
    is_true: bool,
}

impl Visit {
    fn names(&self) -> String {
        let size = NAMES >> self.level;
        format!("{}-{}", self.index * size, (self.index + 1) * size - 1)
    }

    fn is_below(&self, other: &Self) -> bool {
        self.level > other.level && self.index >> (self.level - other.level) == other.index
    }
}

/// Algorithm 1 with the random numbers of this seed: the nodes in the order in which it enters them.
fn visits((tree, query): &(BloomSampleTree, Filter), seed: u64) -> Vec<Visit> {
    let mut search = Search {
        tree,
        query,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        visits: Vec::new(),
    };
    search.enter(0, 0);
    search.visits
}

struct Search<'a> {
    tree: &'a BloomSampleTree,
    query: &'a Filter,
    random: Xoshiro256PlusPlus,
    visits: Vec<Visit>,
}

impl Search<'_> {
    /// Whether a member is found below this node.
    fn enter(&mut self, level: u32, index: u64) -> bool {
        let place = self.visits.len();
        self.visits.push(Visit {
            level,
            index,
            is_true: false,
        });
        let found = if level == DEPTH {
            let size = NAMES >> DEPTH;
            (index * size..(index + 1) * size).any(|name| self.query.contains(&name))
        } else {
            let [left, right] = [0, 1].map(|side| self.weight(level + 1, 2 * index + side));
            let order = match (left, right) {
                (None, None) => [None, None],
                (Some(_), None) => [Some(0), None],
                (None, Some(_)) => [Some(1), None],
                (Some(l), Some(r)) => match self.random.random::<f64>() < l / (l + r) {
                    true => [Some(0), Some(1)],
                    false => [Some(1), Some(0)],
                },
            };
            let mut sides = order.into_iter().flatten();
            sides.any(|side| self.enter(level + 1, 2 * index + side))
        };
        self.visits[place].is_true = found;
        found
    }

    /// The estimated number of members of a node, unless it counts as empty.
    fn weight(&self, level: u32, index: u64) -> Option<f64> {
        let node = self.tree.node(level, index)?;
        let common = bits::and_count(node.words(), self.query.words());
        let ones = (node.count_ones(), self.query.count_ones());
        let estimate = estimate_common(self.tree.params(), ones.0, ones.1, common);
        let most = ones.1 as f64 / f64::from(self.tree.params().hashes());
        (common > 0 && estimate >= 0.5).then(|| estimate.min(most))
    }
}

/// A member is found, after an inner node with several false paths below it.
fn is_typical(visits: &[Visit]) -> bool {
    let leads_astray = |visit: &Visit| {
        let mut below = visits.iter().filter(|other| other.is_below(visit));
        !visit.is_true && below.by_ref().filter(|other| other.level == DEPTH).count() >= 2
    };
    visits[0].is_true && visits.len() >= 10 && visits.iter().any(leads_astray)
}

fn text(visits: &[Visit]) -> String {
    let mut text = format!("query {SET:?}\n");
    for (order, visit) in (1..).zip(visits) {
        let (indent, names) = (2 * visit.level as usize, visit.names());
        let what = if visit.is_true { "" } else { "  false" };
        let _ = writeln!(text, "{order:>3}  {:indent$}{names}{what}", "");
    }
    text
}

fn svg(visits: &[Visit]) -> String {
    let (width, height) = (BOX.0 + GAP.0, BOX.1 + GAP.1);
    let top = 44;
    let size = (
        GAP.0 + (1 << DEPTH) * width,
        top + u64::from(DEPTH + 1) * height,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"monospace\" font-size=\"11\" text-anchor=\"middle\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"24\" font-size=\"14\">query {SET:?}: the order of the nodes, \
         the true path (blue), false paths (orange)</text>\n",
        size.0,
        size.1,
        size.0 / 2,
    );
    // The middle of a node's upper edge.
    let place = |level: u32, index: u64| {
        let span = width << (DEPTH - level);
        let x = GAP.0 / 2 + index * span + span / 2;
        (x, top + u64::from(level) * height)
    };
    let all = (0..=DEPTH).flat_map(|level| (0..1 << level).map(move |index| (level, index)));
    for (level, index) in all {
        let (x, y) = place(level, index);
        let found = visits.iter().zip(1..);
        let visit = found.filter(|(visit, _)| (visit.level, visit.index) == (level, index));
        let visit = visit.last();
        let (fill, line) = match visit {
            Some((visit, _)) if visit.is_true => ("#d8eaf6", "#2a6f9e"),
            Some(_) => ("#fbe3cf", "#c2691c"),
            None => ("#f6f6f6", "#ccd"),
        };
        if level > 0 {
            let above = place(level - 1, index / 2);
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{}\" stroke=\"{line}\"/>",
                above.0,
                above.1 + BOX.1
            );
        }
        let left = x - BOX.0 / 2;
        let (size, names) = (NAMES >> level, index * (NAMES >> level));
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\" \
             stroke=\"{line}\"/>\n<text x=\"{x}\" y=\"{}\" font-size=\"9\">{names}-{}</text>",
            BOX.0,
            BOX.1,
            y + 25,
            names + size - 1,
        );
        if let Some((_, order)) = visit {
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{order}</text>",
                y + 14
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use bloomgrove_trees::bloom_sample_tree::Operations;

    use super::super::setup::PAPER;
    use super::*;

    #[test]
    fn the_nodes_are_those_that_the_library_visits() -> Result<()> {
        let mut failed = 0;
        for seed in 0..200 {
            let world = world(seed)?;
            let (tree, query) = &world;
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut work = Operations::default();
            let drawn = tree.sample(query, PAPER, &mut random, &mut work)?;
            let visits = visits(&world, seed);
            assert_eq!(work.nodes, visits.len() as u64, "seed {seed}");
            assert_eq!(drawn.is_some(), visits[0].is_true);
            let Some(name) = drawn else { continue };
            let last = visits[visits.len() - 1];
            assert_eq!((last.level, last.index), (DEPTH, name / (NAMES >> DEPTH)));
            failed += usize::from(visits.iter().any(|visit| !visit.is_true));
        }
        assert!(failed > 0, "some searches go astray");
        Ok(())
    }
}
