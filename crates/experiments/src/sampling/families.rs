//! Figure 7 and Table 6: the effect of the hash functions.

use anyhow::Result;
use bloomgrove_trees::bloom_sample_tree::{Operations, dictionary_attack};

use super::by_accuracy::{attack, seconds_per_sample};
use super::setup::{ACCURACIES, Hashing, PAPER, Setup, Spread, parallel};
use super::{Effort, figure, table};
use crate::{Progress, Report, Stroke};

/// Table 6: for each accuracy, at M = 10^5, 10^6 and 10^7.
const TABLE_6: [[f64; 3]; 6] = [
    [0.522, 0.497, 0.535],
    [0.692, 0.621, 0.591],
    [0.710, 0.691, 0.696],
    [0.823, 0.793, 0.810],
    [0.921, 0.907, 0.906],
    [0.970, 0.997, 0.948],
];
const NAMES: [u64; 3] = [100_000, 1_000_000, 10_000_000];

/// Sets that an accuracy is averaged over, up to this namespace; fewer in larger ones.
const SETS: u64 = 10;

pub(super) fn time(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("accuracy", false);
    let mut figure = figure("fig07", x, ("milliseconds per sample", true));
    let families = [Hashing::Simple, Hashing::Murmur3, Hashing::Md5];
    for accuracy in ACCURACIES {
        for (color, hashing) in families.into_iter().enumerate() {
            let setup = Setup {
                names: 1_000_000.min(effort.most_names),
                accuracy,
                hashing,
                ..Setup::DEFAULT
            };
            progress(&format!("{setup}: {}", hashing.name()))?;
            let tree = setup.tree()?;
            let query = Setup::query(tree.params(), &setup.set(Spread::Uniform, 0))?;
            let mut random = setup.random(1 << 30);
            let mut work = Operations::default();
            let mut failed = Ok(());
            let time = seconds_per_sample(effort.samples, &mut || {
                let drawn = tree.sample(&query, PAPER, &mut random, &mut work);
                drawn.unwrap_or_else(|error| {
                    failed = Err(error);
                    None
                })
            });
            failed?;
            let mut add = |name: &str, stroke, time| {
                let name = format!("{name}, {}", hashing.name());
                figure.draw(&name, color, stroke, accuracy, time);
            };
            add("tree", Stroke::Solid, time * 1e3);
            add("attack", Stroke::Dashed, attack(&setup)?);
        }
    }
    Ok(Report {
        figures: vec![figure],
        ..Report::default()
    })
}

pub(super) fn accuracy(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let families = Hashing::ALL.map(Hashing::name);
    let head = ["M", "accuracy", "paper"].into_iter().chain(families);
    let mut table = table("table6", &head.collect::<Vec<_>>());
    for (i, names) in NAMES.into_iter().enumerate() {
        if names > effort.most_names {
            continue;
        }
        for (accuracy, published) in ACCURACIES.into_iter().zip(TABLE_6) {
            let mut row = vec![
                names.to_string(),
                accuracy.to_string(),
                published[i].to_string(),
            ];
            for hashing in Hashing::ALL {
                let setup = Setup {
                    names,
                    accuracy,
                    hashing,
                    ..Setup::DEFAULT
                };
                progress(&format!("{setup}: accuracy with {}", hashing.name()))?;
                row.push(format!("{:.3}", measured(&setup, effort)?));
            }
            table.rows.push(row);
        }
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

/// The share of the accepted names that are in the set, which is the accuracy of an exactly uniform
/// sampler. The mean over sets and hash seeds.
fn measured(setup: &Setup, effort: Effort) -> Result<f64> {
    let sets = (SETS.min(effort.sets) * 1_000_000 / setup.names).clamp(2, SETS);
    let seeds: Vec<u64> = (1..=sets).collect();
    let shares = parallel(&seeds, |&seed| {
        let setup = Setup { seed, ..*setup };
        let query = Setup::query(&setup.params()?, &setup.set(Spread::Uniform, 0))?;
        let (mut accepted, mut work) = (0u64, Operations::default());
        dictionary_attack(&query, setup.range(), &mut work, |_| accepted += 1);
        Ok(setup.items as f64 / accepted as f64)
    })?;
    Ok(shares.iter().sum::<f64>() / sets as f64)
}
