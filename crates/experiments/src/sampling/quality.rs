//! Table 5, and two of our own: is a sampler uniform?
//!
//! The paper draws T = 130 n samples of one set and prints the p-value of Pearson's test.
//! One p-value proves nothing: that of a perfect sampler is anything between 0 and 1. So
//! samplers are also judged over many sets: p is below .01 in one of a hundred, chi^2 is
//! its degrees of freedom in the mean, and nothing is never drawn.
//!
//! A sampler is a function that draws ([`judge`]). BSTSample's draws are made from the exact
//! chances that a set's members have with it (`SampleTree::chances`): the same
//! distribution, in a thousandth of the time. The dictionary attack uses randomness only
//! for the names that are accepted, so it is given those alone, and draws what it would.

use anyhow::Result;
use bloomgrove::Filter;
use bloomgrove::sample::{
    HashInvert, Operations, SampleTree, Threshold, dictionary_attack, dictionary_sample,
};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::setup::{ACCURACIES, Hashing, ITEMS, PAPER, Setup, Spread, parallel, short};
use super::{Effort, table};
use crate::{Progress, Report};

/// Draws for each member: the paper's T = 130 n.
const DRAWS: u64 = 130;
const NAMES: u64 = 1_000_000;
/// Sets of a thousand take longer to judge: one for so many of a hundred.
const FEWER: u64 = 5;

/// Table 5: for each accuracy, at n = 100, 1000, 10,000 and 50,000.
const TABLE_5: [[f64; 4]; 6] = [
    [1.0, 0.99, 0.52, 0.78],
    [1.0, 0.92, 0.75, 0.88],
    [0.99, 0.15, 0.87, 0.63],
    [0.93, 0.49, 0.51, 0.12],
    [0.93, 0.75, 0.28, 0.47],
    [0.84, 0.48, 0.43, 0.64],
];

/// What many draws from one set say of the sampler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// chi^2 by its degrees of freedom.
    pub(super) ratio: f64,
    /// The chance of as large a chi^2, if the sampler is uniform.
    pub(super) p: f64,
    /// The share of the members that no draw gave.
    pub(super) never: f64,
    /// The share of the draws that gave nothing.
    pub(super) nothing: f64,
}

/// Draws 130 times as often as there are members, which rise, and tests whether each came
/// as often as any other.
pub(super) fn judge(members: &[u64], draw: &mut dyn FnMut() -> Option<u64>) -> Verdict {
    let draws = DRAWS * members.len() as u64;
    let mut counts = vec![0u64; members.len()];
    for _ in 0..draws {
        let place = draw().and_then(|name| members.binary_search(&name).ok());
        if let Some(place) = place {
            counts[place] += 1;
        }
    }
    let drawn: u64 = counts.iter().sum();
    let share = |some: u64, all: u64| some as f64 / all as f64;
    let mean = share(drawn, members.len() as u64);
    let off = |&count: &u64| (count as f64 - mean).powi(2) / mean;
    let statistic: f64 = counts.iter().map(off).sum();
    let freedom = (members.len() - 1) as f64;
    let p = match ChiSquared::new(freedom) {
        Ok(distribution) if drawn > 0 => distribution.sf(statistic),
        _ => 0.0,
    };
    let never = counts.iter().filter(|&&count| count == 0).count();
    Verdict {
        ratio: statistic / freedom,
        p,
        never: share(never as u64, members.len() as u64),
        nothing: 1.0 - share(drawn, draws),
    }
}

/// Draws with given chances.
struct Chances {
    names: Vec<u64>,
    /// Of a name or one before it.
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
            let most = chances
                .iter()
                .map(|(_, chance)| *chance)
                .fold(0.0, f64::max);
            let sampler = Chances::new(&chances);
            let mut random = setup.random(1 << 30);
            let verdict = judge(&members, &mut || sampler.draw(&mut random));
            table.rows.push(vec![
                accuracy.to_string(),
                short(items),
                published.to_string(),
                p_value(verdict.p),
                format!("{:.1}", verdict.ratio),
                format!("{:.1}", 100.0 * verdict.never),
                format!("{:.1}", most * members.len() as f64),
            ]);
        }
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

/// The samplers that are judged.
#[derive(Clone, Copy, Debug)]
enum Method {
    Tree(Threshold),
    HashInvert,
    Attack,
}

impl Method {
    const ALL: [(&str, Self); 6] = [
        ("BSTSample, estimate >= .5", Self::Tree(PAPER)),
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
    ];

    /// Judges the method by one set. `tree` has the parameters of `setup`.
    fn verdict(self, setup: &Setup, tree: &SampleTree, set: u64) -> Result<Verdict> {
        let (query, members) = asked(setup, set)?;
        let mut random = setup.random(set << 32 | 1 << 31);
        let mut work = Operations::default();
        Ok(match self {
            Method::Tree(threshold) => {
                let chances = Chances::new(&tree.chances(&query, threshold)?);
                judge(&members, &mut || chances.draw(&mut random))
            }
            Method::HashInvert => {
                let invert = HashInvert::new(&query, setup.range())?;
                judge(&members, &mut || invert.sample(&mut random, &mut work))
            }
            Method::Attack => judge(&members, &mut || {
                dictionary_sample(&query, members.iter().copied(), &mut random, &mut work)
            }),
        })
    }
}

pub(super) fn calibration(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "sampler",
        "n",
        "sets",
        "p < .01, % of sets",
        "mean chi^2 / dof",
        "never drawn, %",
        "nothing found, %",
    ];
    let mut table = table("calibration", &head);
    for items in [100, 1000] {
        // HashInvert needs functions that can be turned round; so that all have the same
        // filters, all use them.
        let setup = Setup {
            names: NAMES.min(effort.most_names),
            items,
            hashing: Hashing::Simple,
            ..Setup::DEFAULT
        };
        if items > effort.most_items {
            continue;
        }
        let tree = setup.tree()?;
        let sets = if items == 100 {
            effort.judged
        } else {
            effort.judged.div_ceil(FEWER)
        };
        let sets: Vec<u64> = (0..sets).collect();
        for (name, method) in Method::ALL {
            progress(&format!("{setup}: {name}"))?;
            let verdicts = parallel(&sets, |&set| method.verdict(&setup, &tree, set))?;
            let mean = |of: &dyn Fn(&Verdict) -> f64| {
                verdicts.iter().map(of).sum::<f64>() / verdicts.len() as f64
            };
            // Of a sampler that found nothing there is no chi^2.
            let judged = verdicts.iter().filter(|verdict| verdict.ratio.is_finite());
            let ratios: Vec<f64> = judged.map(|verdict| verdict.ratio).collect();
            table.rows.push(vec![
                name.to_owned(),
                short(items),
                sets.len().to_string(),
                format!("{:.1}", 100.0 * mean(&|v| f64::from(v.p < 0.01))),
                format!("{:.3}", ratios.iter().sum::<f64>() / ratios.len() as f64),
                format!("{:.2}", 100.0 * mean(&|v| v.never)),
                format!("{:.1}", 100.0 * mean(&|v| v.nothing)),
            ]);
        }
    }
    let leaves = super::leaves::run(effort, progress)?;
    Ok(Report {
        tables: vec![table, leaves],
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_uniform_sampler_passes_and_a_biased_one_does_not() {
        let members: Vec<u64> = (0..500).map(|i| 7 * i).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let fair = judge(&members, &mut || Some(7 * random.random_range(0..500)));
        assert!(fair.p > 0.001 && (0.8..1.2).contains(&fair.ratio));
        assert_eq!((fair.never, fair.nothing), (0.0, 0.0));
        let unfair = judge(&members, &mut || {
            let draw: u64 = random.random_range(0..1000);
            (draw < 800).then_some(7 * (draw % 400))
        });
        assert!(unfair.p < 1e-10 && unfair.ratio > 10.0);
        assert!((unfair.never - 0.2).abs() < 1e-9 && (unfair.nothing - 0.2).abs() < 0.02);
        let none = judge(&members, &mut || None);
        assert_eq!((none.p, none.never, none.nothing), (0.0, 1.0, 1.0));
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
