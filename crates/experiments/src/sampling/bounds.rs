//! The bounds of the analysis next to measurements: Equation 1, Claim 5.4, Proposition 5.3, and the
//! nodes visited by a reconstruction (section 6).
//!
//! The bounds on nodes are given up to a constant factor; here they are computed with the factor 1.
//!
//! "Expected here" is the sum of Equation 1 over the nodes of a subtree. The proof of Claim 5.4
//! multiplies the chances of nodes on a path instead, as if they were independent. But a bit that a node
//! has in common with the query is one that one of its children has in common with it.

use anyhow::Result;
use bloomgrove::raw::bits;
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Operations, Threshold};
use rand::RngExt;

use super::setup::{HASHES, PAPER, Setup, Spread, short};
use super::{Effort, table};
use crate::figure::number;
use crate::{Progress, Report, Table};

const NAMES: [u64; 2] = [1_000_000, 10_000_000];
const ITEMS: [u64; 3] = [100, 1000, 10_000];
/// Claim 5.4 applies to no node of the trees above. This one is deep enough, and its queries small.
const CLAIM: (u64, u32, u64, u64) = (1 << 16, 13, 1 << 14, 2);
/// Equation 1: the size of two disjoint sets, in filters of Table 3.
const SIZES: [u64; 5] = [10, 30, 100, 200, 300];
/// Names that the two have in common, for the intersection.
const SHARED: u64 = 100;
const PAIRS: u64 = 2000;
/// Columns of the table.
const BOUND: usize = 5;
const MEASURED: usize = 9;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "what",
        "M",
        "n",
        "m",
        "at",
        "bound",
        "expected here",
        "nodes of the tree",
        "measured, estimate >= 0.5",
        "measured, any common bit",
        "ratio of this to the bound",
    ];
    let mut table = table("bounds", &head);
    equation_1(&mut table, progress)?;
    claim_5_4(&mut table, effort, progress)?;
    for names in NAMES
        .into_iter()
        .filter(|&names| names <= effort.most_names)
    {
        for items in ITEMS {
            nodes(
                &mut table,
                effort,
                Setup {
                    names,
                    items,
                    ..Setup::DEFAULT
                },
                progress,
            )?;
        }
    }
    // Those measured together were added alternately.
    let order = ["Equation 1", "Section 3.1", "Claim 5.4", "Proposition 5.3"];
    let place = |what: &str| order.iter().position(|start| what.starts_with(start));
    let last = order.len();
    table.rows.sort_by_key(|row| place(&row[0]).unwrap_or(last));
    for row in &mut table.rows {
        let value = |place: usize| row[place].parse::<f64>().unwrap_or(f64::NAN);
        let ratio = number(value(MEASURED) / value(BOUND));
        row.truncate(MEASURED + 1);
        row.push(ratio);
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

/// The chance that the filters of two disjoint sets have a bit in common.
fn false_overlap(bits: u64, a: f64, b: f64) -> f64 {
    let pairs = f64::from(HASHES).powi(2) * a * b;
    -(pairs * (-1.0 / bits as f64).ln_1p()).exp_m1()
}

/// The expected number of nodes of a subtree over `names` names, `depth` levels high, that have a bit in
/// common with a set of `items` other names.
fn expected_nodes(bits: u64, items: u64, names: u64, depth: u32) -> f64 {
    let level = |i: u32| {
        f64::from(i).exp2() * false_overlap(bits, items as f64, names as f64 / f64::from(i).exp2())
    };
    (0..=depth).map(level).sum()
}

/// Equation 1, and the chance that the intersection of two filters is the filter of the intersection
/// (section 3.1), which is one minus the same for the names that only one of the sets has.
fn equation_1(table: &mut Table, progress: &mut Progress<'_>) -> Result<()> {
    progress("Equation 1")?;
    let params = Setup::DEFAULT.params()?;
    for size in SIZES {
        let mut random = Setup::DEFAULT.random(7 << 20 | size);
        let mut draw = |count: u64, rest: u64| -> Vec<u64> {
            // Disjoint from the others with certainty: another remainder modulo 3.
            let name = |_| 3 * random.random_range(0..1u64 << 40) + rest;
            (0..count).map(name).collect()
        };
        let (mut overlaps, mut exact) = (0, 0);
        for _ in 0..PAIRS {
            let mut a = Setup::query(&params, &draw(size, 0))?;
            let mut b = Setup::query(&params, &draw(size, 1))?;
            overlaps += u64::from(bits::and_count(a.words(), b.words()) > 0);
            let both = Setup::query(&params, &draw(SHARED, 2))?;
            a.union_with(&both)?;
            b.union_with(&both)?;
            let common = bits::and_count(a.words(), b.words());
            exact += u64::from(common == both.count_ones());
        }
        let bound = false_overlap(params.bits(), size as f64, size as f64);
        let mut add = |what: &str, at: String, bound: f64, count: u64| {
            let mut row = vec![String::new(); table.head.len()];
            row[0] = what.to_owned();
            row[3] = params.bits().to_string();
            row[4] = at;
            row[BOUND] = format!("{bound:.4}");
            row[MEASURED] = format!("{:.4}", count as f64 / PAIRS as f64);
            table.rows.push(row);
        };
        add(
            "Equation 1, false set overlap",
            format!("{size} and {size} names"),
            bound,
            overlaps,
        );
        let at = format!("{size} and {size} names, and {SHARED} common ones");
        add("Section 3.1, exact intersection", at, 1.0 - bound, exact);
    }
    Ok(())
}

fn claim_5_4(table: &mut Table, effort: Effort, progress: &mut Progress<'_>) -> Result<()> {
    progress("Claim 5.4")?;
    let (names, depth, m, items) = CLAIM;
    let setup = Setup {
        names,
        items,
        ..Setup::DEFAULT
    };
    let params = setup.params_of(m)?;
    let tree = BloomSampleTree::complete(&params, setup.range(), depth)?;
    // For each level: nodes without an element of the set, and nodes with a common bit at and below
    // them.
    let mut levels = vec![(0u64, 0u64); depth as usize + 1];
    for set in 0..10 * effort.sets {
        let set = setup.set(Spread::Uniform, set);
        let query = Setup::query(&params, &set)?;
        // The nodes with a common bit below each node of the level below, itself included.
        let mut below: Vec<u64> = Vec::new();
        for level in (0..=depth).rev() {
            let size = names >> level;
            let overlapping = |index: u64| {
                let node = tree.node(level, index)?;
                (bits::and_count(node.words(), query.words()) > 0).then_some(())
            };
            let here: Vec<u64> = (0..1u64 << level)
                .map(|index| {
                    let halves = 2 * index as usize..2 * index as usize + 2;
                    let children: u64 = below.get(halves).map_or(0, |two| two.iter().sum());
                    u64::from(overlapping(index).is_some()) + children
                })
                .collect();
            for (index, visited) in (0..).zip(&here) {
                if set.iter().all(|name| name / size != index) {
                    let (nodes, sum) = &mut levels[level as usize];
                    *nodes += 1;
                    *sum += visited;
                }
            }
            below = here;
        }
    }
    for (level, (nodes, sum)) in (0u32..).zip(levels) {
        let overlap = false_overlap(m, items as f64, (names >> level) as f64);
        if overlap >= 0.5 || nodes == 0 {
            continue;
        }
        table.rows.push(vec![
            "Claim 5.4, nodes below a false overlap".to_owned(),
            short(names),
            short(items),
            m.to_string(),
            format!("depth {level} of {depth}, alpha {overlap:.3}"),
            format!("{:.3}", overlap / (1.0 - 2.0 * overlap)),
            format!(
                "{:.3}",
                expected_nodes(m, items, names >> level, depth - level)
            ),
            ((2u64 << (depth - level)) - 1).to_string(),
            String::new(),
            format!("{:.3}", sum as f64 / nodes as f64),
        ]);
    }
    Ok(())
}

/// Proposition 5.3 and section 6.
fn nodes(
    table: &mut Table,
    effort: Effort,
    setup: Setup,
    progress: &mut Progress<'_>,
) -> Result<()> {
    progress(&format!("{setup}: bounds"))?;
    let tree = setup.tree()?;
    let m = tree.params().bits() as f64;
    let (names, n, levels) = (
        setup.names as f64,
        setup.items as f64,
        f64::from(tree.depth()),
    );
    let squared = f64::from(HASHES).powi(2);
    let leaf = names / levels.exp2();
    let (mut sampled, mut listed) = ([0; 2], [0; 2]);
    let samples = (effort.samples / effort.sets).max(1);
    for set in 0..effort.sets {
        let query = Setup::query(tree.params(), &setup.set(Spread::Uniform, set))?;
        for (way, threshold) in [PAPER, Threshold::NoCommonBit].into_iter().enumerate() {
            let mut work = Operations::default();
            let mut random = setup.random(8 << 20 | set);
            for _ in 0..samples {
                tree.sample(&query, threshold, &mut random, &mut work)?;
            }
            sampled[way] += work.nodes;
            let mut work = Operations::default();
            tree.reconstruct(&query, threshold, &mut work, |_| {})?;
            listed[way] += work.nodes;
        }
    }
    let start = (names * squared * n / (m * std::f64::consts::LN_2)).log2();
    let mut add = |what: &str, bound: f64, expected: String, visited: [u64; 2], times: u64| {
        let mean = |sum: u64| number(sum as f64 / times as f64);
        table.rows.push(vec![
            what.to_owned(),
            short(setup.names),
            short(setup.items),
            tree.params().bits().to_string(),
            format!("depth {}, d* {start:.1}", tree.depth()),
            number(bound.round()),
            expected,
            tree.nodes().to_string(),
            mean(visited[0]),
            mean(visited[1]),
        ]);
    };
    let bound = levels + names * squared * n / m;
    add(
        "Proposition 5.3, nodes per sample",
        bound,
        String::new(),
        sampled,
        samples * effort.sets,
    );
    let all = expected_nodes(tree.params().bits(), setup.items, setup.names, tree.depth());
    let bound = n * (levels + leaf * squared / m);
    add(
        "Section 6, nodes per reconstruction",
        bound,
        number(all.round()),
        listed,
        effort.sets,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_1_is_that_of_the_paper() {
        // 1 - (1 - 1/m)^(k^2 |S1| |S2|), computed directly.
        let direct = 1.0 - (1.0 - 1.0 / 1000f64).powi(9 * 6 * 7);
        assert!((false_overlap(1000, 6.0, 7.0) - direct).abs() < 1e-12);
        assert_eq!(false_overlap(1000, 0.0, 7.0), 0.0);
        // A lone node, and a node with two halves.
        assert_eq!(expected_nodes(1000, 6, 8, 0), false_overlap(1000, 6.0, 8.0));
        let halves = 2.0 * false_overlap(1000, 6.0, 4.0);
        let all = false_overlap(1000, 6.0, 8.0) + halves;
        assert!((expected_nodes(1000, 6, 8, 1) - all).abs() < 1e-12);
    }
}
