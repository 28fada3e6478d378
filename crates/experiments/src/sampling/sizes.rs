//! Tables 2, 3 and 4: the sizes of filters and trees, and how long they take to create.

use std::time::Instant;

use anyhow::Result;
use bloomgrove::raw::tune;
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Costs};

use super::setup::{ACCURACIES, BITS_PER_QUERY, Hashing, Setup};
use super::{Effort, claim, table};
use crate::{Progress, Report, Table};

/// What Tables 2 and 3 print for each accuracy: m, depth, names per leaf, megabytes.
type Published = [(u64, u32, u64, f64); 6];

const TABLE_2: Published = [
    (28_465, 10, 976, 3.467),
    (32_808, 10, 976, 3.997),
    (38_259, 10, 976, 2.326),
    (46_000, 9, 1953, 2.706),
    (60_870, 9, 1953, 3.7),
    (137_230, 6, 15_625, 1.03),
];

const TABLE_3: Published = [
    (63_120, 13, 1220, 61.62),
    (72_475, 13, 1220, 70.75),
    (84_215, 13, 1220, 82.22),
    (101_090, 13, 1220, 98.69),
    (132_933, 12, 2441, 64.87),
    (297_485, 10, 9765, 36.27),
];

/// What Table 4 prints for accuracies 0.5 to 0.9: levels, and milliseconds of system and
/// user time.
type Created = [(u32, f64, f64); 5];

const TABLE_4: [(u64, Created); 3] = [
    (
        100_000,
        [
            (4, 0.12, 18.4),
            (3, 0.04, 14.4),
            (3, 0.28, 14.8),
            (3, 0.12, 15.6),
            (3, 0.12, 15.9),
        ],
    ),
    (
        1_000_000,
        [
            (6, 0.96, 156.5),
            (6, 0.68, 161.7),
            (6, 0.64, 165.2),
            (5, 0.72, 158.9),
            (5, 0.56, 163.4),
        ],
    ),
    (
        10_000_000,
        [
            (8, 78.72, 1603.8),
            (8, 223.52, 1625.0),
            (8, 311.0, 1616.3),
            (8, 426.52, 1646.3),
            (8, 590.64, 1720.2),
        ],
    ),
];

/// The number of rounds; the shortest time counts.
const ROUNDS: usize = 3;

pub(super) fn tables(_: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let tables = [
        ("table2", 1_000_000, TABLE_2),
        ("table3", 10_000_000, TABLE_3),
    ];
    let tables = tables.map(|(id, names, published)| sizes(id, names, &published, progress));
    let tables: Result<_> = tables.into_iter().collect();
    Ok(Report {
        tables: tables?,
        ..Report::default()
    })
}

fn sizes(
    id: &'static str,
    names: u64,
    published: &Published,
    progress: &mut Progress<'_>,
) -> Result<Table> {
    let mut table = table(
        id,
        &[
            "accuracy",
            "m paper",
            "m ours",
            "depth paper",
            "leaf paper",
            "MB paper",
            "MB, all nodes",
            "MB, 2^d - 2 nodes",
            "depth, fixed ratio",
            "ratio of costs here",
            "leaf by 5.4",
            "depth by 5.4",
            "MB",
        ],
    );
    for (accuracy, (m, depth, leaf, megabytes)) in ACCURACIES.into_iter().zip(*published) {
        let setup = Setup {
            names,
            accuracy,
            ..Setup::DEFAULT
        };
        progress(&format!("{setup}: costs"))?;
        let params = setup.params()?;
        let costs = Costs::measure(&params)?;
        let ours = tune::leaf_size(costs.intersection, costs.membership);
        let ours_depth = tune::tree_depth(names, ours);
        let fixed = tune::leaf_size(params.bits() as f64 / BITS_PER_QUERY, 1.0);
        // The paper's megabytes are 2^20 bytes: no number of nodes matches otherwise.
        let memory = |nodes: u64| nodes as f64 * params.bits() as f64 / 8.0 / 1048576.0;
        table.rows.push(vec![
            accuracy.to_string(),
            m.to_string(),
            params.bits().to_string(),
            depth.to_string(),
            leaf.to_string(),
            megabytes.to_string(),
            format!("{:.2}", memory(nodes(depth))),
            format!("{:.2}", memory((1 << depth) - 2)),
            tune::tree_depth(names, fixed).to_string(),
            format!("{:.1}", costs.intersection / costs.membership),
            (names >> ours_depth).to_string(),
            ours_depth.to_string(),
            format!("{:.0}", memory(nodes(ours_depth))),
        ]);
    }
    Ok(table)
}

/// Nodes of the tree of Definition 5.1.
fn nodes(depth: u32) -> u64 {
    (2 << depth) - 1
}

pub(super) fn creation(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut table = table(
        "table4",
        &[
            "M",
            "accuracy",
            "m",
            "levels paper",
            "ms paper",
            "ms ours",
            "depth of tables 2, 3",
            "ms ours, that depth",
        ],
    );
    let mut claims = Vec::new();
    for (names, rows) in TABLE_4 {
        if names > effort.most_names {
            continue;
        }
        for (accuracy, (levels, system, user)) in ACCURACIES.into_iter().zip(rows) {
            let setup = Setup {
                names,
                accuracy,
                hashing: Hashing::Simple,
                ..Setup::DEFAULT
            };
            progress(&format!("{setup}: creation"))?;
            let params = setup.params()?;
            let time = |depth: u32| -> Result<f64> {
                let mut least = f64::INFINITY;
                for _ in 0..ROUNDS {
                    let start = Instant::now();
                    let tree = BloomSampleTree::complete(&params, setup.range(), depth)?;
                    least = least.min(start.elapsed().as_secs_f64() * 1e3);
                    drop(tree);
                }
                Ok(least)
            };
            let deep = match setup.published_depth() {
                Some(depth) => Some((depth, time(depth)?)),
                None => None,
            };
            table.rows.push(vec![
                names.to_string(),
                accuracy.to_string(),
                params.bits().to_string(),
                levels.to_string(),
                format!("{:.1}", system + user),
                format!("{:.1}", time(levels)?),
                deep.map_or(String::new(), |(depth, _)| depth.to_string()),
                deep.map_or(String::new(), |(_, time)| format!("{time:.1}")),
            ]);
            if let Some((_, time)) = deep.filter(|_| names == 10_000_000 && accuracy == 0.9) {
                let what = "seconds to create the tree, M = 1e7, accuracy 0.9 (less than)";
                claims.push(claim("table4", what, 2.5, time / 1e3));
            }
        }
    }
    Ok(Report {
        tables: vec![table],
        claims,
        ..Report::default()
    })
}
