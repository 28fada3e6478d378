//! Table 5, and another table: is a sampler uniform?
//!
//! The paper draws T = 130 n samples of one set and prints the p-value of Pearson's test.
//! One p-value proves nothing, so samplers are also tested with many sets
//! (`bloomgrove::raw::sample::Calibration`): those of the paper and ours.
//!
//! A sampler is a function that draws ([`judge`]). BSTSample's draws are made from the exact
//! probabilities of a set's members (`BloomSampleTree::chances`): the same distribution, in a
//! thousandth of the time. The dictionary attack uses randomness only for the names that are
//! accepted, so it gets only those, and draws the same.

use anyhow::Result;
use bloomgrove::Filter;
use bloomgrove::raw::sample::{Calibration, Uniformity};
use bloomgrove::sample::{Method, NameIndex, NameIndexOptions, Namespace, SampleOptions, Sampler};
use bloomgrove_trees::bloom_sample_tree::{
    BloomSampleTree, HashInvert, Operations, Threshold, dictionary_attack, dictionary_sample,
};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use super::setup::{ACCURACIES, Hashing, ITEMS, PAPER, Setup, Spread, parallel, short};
use super::{Effort, table};
use crate::{Progress, Report};

/// Draws per member: the paper's T = 130 n.
const DRAWS: u64 = 130;
const NAMES: u64 = 1_000_000;

/// Table 5: for each accuracy, at n = 100, 1000, 10,000 and 50,000.
const TABLE_5: [[f64; 4]; 6] = [
    [1.0, 0.99, 0.52, 0.78],
    [1.0, 0.92, 0.75, 0.88],
    [0.99, 0.15, 0.87, 0.63],
    [0.93, 0.49, 0.51, 0.12],
    [0.93, 0.75, 0.28, 0.47],
    [0.84, 0.48, 0.43, 0.64],
];

/// Draws 130 times per member, and tests whether all members were drawn equally often; `members` are
/// in ascending order. Also returns the share of draws without a result.
fn judge(members: &[u64], draw: &mut dyn FnMut() -> Option<u64>) -> (Uniformity, f64) {
    let draws = DRAWS * members.len() as u64;
    let drawn = (0..draws).filter_map(|_| draw());
    let verdict = Uniformity::of_draws(members, drawn);
    (verdict, 1.0 - verdict.draws as f64 / draws as f64)
}

/// Draws with given probabilities.
struct Chances {
    names: Vec<u64>,
    /// Cumulative probabilities.
    sums: Vec<f64>,
}

impl Chances {
    fn new(chances: &[(u64, f64)]) -> Self {
        let sum = |sum: &mut f64, &(_, chance): &(u64, f64)| {
            *sum += chance;
            Some(*sum)
        };
        Self {
            names: chances.iter().map(|(name, _)| *name).collect(),
            sums: chances.iter().scan(0.0, sum).collect(),
        }
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Option<u64> {
        let point = random.random::<f64>() * self.sums.last()?;
        let place = self.sums.partition_point(|&sum| sum <= point);
        self.names.get(place).copied()
    }
}

/// A filter and all names that it accepts.
fn asked(setup: &Setup, set: u64) -> Result<(Filter, Vec<u64>)> {
    let query = Setup::query(&setup.params()?, &setup.set(Spread::Uniform, set))?;
    let mut members = Vec::new();
    let mut work = Operations::default();
    dictionary_attack(&query, setup.range(), &mut work, |name| members.push(name));
    Ok((query, members))
}

fn p_value(p: f64) -> String {
    if p < 1e-10 {
        "<1e-10".to_owned()
    } else {
        format!("{p:.2}")
    }
}

pub(super) fn p_values(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "accuracy",
        "n",
        "p paper",
        "p ours",
        "chi^2 / dof",
        "never drawn, %",
        "most drawn, times the mean",
    ];
    let mut table = table("table5", &head);
    for (accuracy, published) in ACCURACIES.into_iter().zip(TABLE_5) {
        for (items, published) in ITEMS.into_iter().zip(published) {
            let setup = Setup {
                names: NAMES.min(effort.most_names),
                items,
                accuracy,
                ..Setup::DEFAULT
            };
            if items > effort.most_items || setup.bits().is_none() {
                continue;
            }
            progress(&format!("{setup}: p-value"))?;
            let (query, members) = asked(&setup, 0)?;
            let chances = setup.tree()?.chances(&query, PAPER)?;
            let sampler = Chances::new(&chances);
            let mut random = setup.random(1 << 30);
            let (verdict, _) = judge(&members, &mut || sampler.draw(&mut random));
            table.rows.push(vec![
                accuracy.to_string(),
                short(items),
                published.to_string(),
                p_value(verdict.p),
                format!("{:.1}", verdict.ratio()),
                format!("{:.1}", 100.0 * verdict.never as f64 / members.len() as f64),
                format!("{:.1}", verdict.most),
            ]);
        }
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

/// The samplers to test.
#[derive(Clone, Copy, Debug)]
enum Judged {
    Tree(Threshold),
    HashInvert,
    Attack,
    Exact(Method),
}

impl Judged {
    const ALL: [(&str, Self); 10] = [
        ("BSTSample, estimate >= 0.5", Self::Tree(PAPER)),
        (
            "BSTSample, estimate > 0",
            Self::Tree(Threshold::Estimate(0.0)),
        ),
        (
            "BSTSample, any common bit",
            Self::Tree(Threshold::NoCommonBit),
        ),
        ("BSTSample, safe threshold", Self::Tree(Threshold::Safe)),
        ("HashInvert", Self::HashInvert),
        ("dictionary attack", Self::Attack),
        ("Sampler, by probing", Self::Exact(Method::Probe)),
        ("Sampler, by index", Self::Exact(Method::Index)),
        ("Sampler, by inversion", Self::Exact(Method::Invert)),
        ("Sampler, from a list", Self::Exact(Method::List)),
    ];

    /// Tests with one set.
    fn verdict(self, built: &Built, set: u64) -> Result<(Uniformity, f64)> {
        let setup = &built.setup;
        let (query, members) = asked(setup, set)?;
        let mut random = setup.random(set << 32 | 1 << 31);
        let mut work = Operations::default();
        Ok(match self {
            Judged::Tree(threshold) => {
                let chances = Chances::new(&built.tree.chances(&query, threshold)?);
                judge(&members, &mut || chances.draw(&mut random))
            }
            Judged::HashInvert => {
                let invert = HashInvert::new(&query, setup.range())?;
                judge(&members, &mut || invert.sample(&mut random, &mut work))
            }
            Judged::Attack => judge(&members, &mut || {
                dictionary_sample(&query, members.iter().copied(), &mut random, &mut work)
            }),
            Judged::Exact(method) => {
                let options = SampleOptions {
                    method: Some(method),
                    seed: set,
                    ..SampleOptions::default()
                };
                let mut sampler = Sampler::with(&query, &built.index, &options)?;
                judge(&members, &mut || sampler.draw_integer().ok())
            }
        })
    }
}

/// What is built once for all sets.
struct Built {
    setup: Setup,
    tree: BloomSampleTree,
    index: NameIndex,
}

pub(super) fn calibration(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "sampler",
        "n",
        "sets",
        "p < 0.01, % of sets",
        "mean chi^2 / dof",
        "+- by chance",
        "never drawn, %",
        "nothing found, %",
    ];
    let mut table = table("calibration", &head);
    let judged = [
        (100, effort.hundreds),
        (1000, effort.thousands),
        (10_000, effort.ten_thousands),
    ];
    for (items, sets) in judged.into_iter().filter(|(_, sets)| *sets > 0) {
        // HashInvert needs functions that can be inverted; all use them, so that all have the same
        // filters.
        let setup = Setup {
            names: NAMES.min(effort.most_names),
            items,
            hashing: Hashing::Simple,
            ..Setup::DEFAULT
        };
        let names = Namespace::range(setup.range())?;
        let built = Built {
            setup,
            tree: setup.tree()?,
            index: NameIndex::build(&setup.params()?, names, NameIndexOptions::default())?,
        };
        let sets: Vec<u64> = (0..sets).collect();
        for (name, judged) in Judged::ALL {
            // The slowest per draw; they have been tested with smaller sets.
            if items > 1000 && matches!(judged, Judged::Attack | Judged::HashInvert) {
                continue;
            }
            progress(&format!("{setup}: {name}"))?;
            let verdicts = parallel(&sets, |&set| judged.verdict(&built, set))?;
            let (verdicts, nothing): (Vec<Uniformity>, Vec<f64>) = verdicts.into_iter().unzip();
            let calibration = Calibration::of(&verdicts);
            let members: u64 = verdicts.iter().map(|verdict| verdict.degrees + 1).sum();
            table.rows.push(vec![
                name.to_owned(),
                short(items),
                sets.len().to_string(),
                format!("{:.1}", 100.0 * calibration.suspicious),
                format!("{:.3}", calibration.mean_ratio),
                format!("{:.3}", calibration.deviation),
                format!("{:.2}", 100.0 * calibration.never as f64 / members as f64),
                format!(
                    "{:.1}",
                    100.0 * nothing.iter().sum::<f64>() / nothing.len() as f64
                ),
            ]);
        }
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn draws_that_give_nothing_are_told() {
        let members: Vec<u64> = (0..500).map(|i| 7 * i).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (fair, nothing) = judge(&members, &mut || Some(7 * random.random_range(0..500)));
        assert!(fair.p > 0.001 && nothing == 0.0);
        let (unfair, nothing) = judge(&members, &mut || {
            let draw: u64 = random.random_range(0..1000);
            (draw < 800).then_some(7 * (draw % 400))
        });
        assert!(unfair.p < 1e-10 && unfair.never == 100);
        assert!((nothing - 0.2).abs() < 0.02);
    }

    #[test]
    fn draws_follow_the_chances_given() {
        let chances = Chances::new(&[(3, 0.25), (5, 0.75)]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let draws = (0..10_000).filter(|_| chances.draw(&mut random) == Some(5));
        assert!(draws.count().abs_diff(7500) < 220);
        assert_eq!(Chances::new(&[]).draw(&mut random), None);
    }
}
