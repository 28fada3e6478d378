//! Section 6.4 calls the rows of Table III optimal. Here is the paper's own objective, the geometric
//! mean and the level-coded size, over every tree with two and three levels, and over those that a
//! genetic search finds with three, four and five, as section 6.3 recommends.
//!
//! All trees are first evaluated with the same keys. Those that beat a row, or nearly do, are built
//! again, several times with other keys: a row counts as beaten only if both objectives are
//! lower by more than their 95 % intervals; trees that are equal in one are listed as such. The third objective, the size relative to a standard
//! filter, follows from the other two.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use bloomgrove::raw::threads::by_all;
use bloomgrove_trees::bloom_tree::genetic::GeneticOptions;
use bloomgrove_trees::bloom_tree::search::{
    self, Configuration, Evaluation, FILTER_BITS, FILTER_HASHES, Front, Objective, ROOT_HASHES,
    SearchOptions,
};

use super::repeats::interval;
use super::setup::{Config, Row, small, standard, table_3};
use super::{Effort, claim, table};
use crate::{Progress, Report, Table};

/// How many of the trees that may beat a row are built again, and with how many times as many items:
/// of all, and of those that were bred, which are deeper, take longer, and win by more.
const OF_ALL: (usize, u64) = (96, 10);
const OF_BRED: (usize, u64) = (8, 1);
/// A tree whose objectives are at most this many times those of the row may beat it, once noise is
/// reduced.
const SLACK: f64 = 1.08;
/// Trees per configuration in the first evaluation, if there are few configurations.
const SEVERAL: u32 = 10;
/// How a tree beats a row in both objectives.
const BOTH: &str = "by";
/// Evaluated at once.
const PORTION: usize = 64;
/// The numbers of levels for the exhaustive search, and for the genetic one.
const COMPLETE: [usize; 2] = [2, 3];
const BRED: [usize; 3] = [3, 4, 5];

fn options(effort: Effort) -> SearchOptions {
    SearchOptions {
        items: effort.items,
        // N_b of Eq. 12.
        samples: effort.samples.min(5000),
        objective: Objective::Geometric,
        ..SearchOptions::default()
    }
}

fn configuration(config: &Config) -> Configuration {
    Configuration {
        rho: config.rho,
        bits: config.bits.clone(),
        hashes: config.hashes.clone(),
    }
}

/// As in the rows of Table III.
fn shown(found: &Configuration) -> String {
    Config::new(found.rho, &found.bits, &found.hashes).to_string()
}

/// Every configuration of a depth within C1 and C2.
fn all(depth: usize, rho: f64) -> Vec<Configuration> {
    let roots = ROOT_HASHES.map(|hashes| Configuration {
        rho,
        bits: Vec::new(),
        hashes: vec![hashes],
    });
    (1..depth).fold(roots.collect(), |shorter: Vec<_>, _| {
        let longer = shorter.iter().flat_map(|above| {
            let filters =
                FILTER_BITS.flat_map(|bits| FILTER_HASHES.map(move |hashes| (bits, hashes)));
            filters.map(|(bits, hashes)| {
                let mut longer = above.clone();
                longer.bits.push(bits.into());
                longer.hashes.push(hashes);
                longer
            })
        });
        longer.collect()
    })
}

/// Whether a tree may have the lower geometric mean and the smaller size.
fn may_beat(a: &Evaluation, b: &Evaluation) -> bool {
    a.configuration != b.configuration
        && a.geometric_fpr < b.geometric_fpr * SLACK
        && a.level_bits < b.level_bits * SLACK
}

/// A tree evaluated with several sets of keys: means, and half the widths of their intervals.
struct Confirmed {
    found: Configuration,
    /// Of the logarithm of the geometric mean.
    ln_geometric: (f64, f64),
    coded: (f64, f64),
    expected: f64,
}

impl Confirmed {
    fn of(found: &Configuration, items: u64, effort: Effort) -> Result<Self> {
        let evaluate = |seed: usize| {
            let options = SearchOptions {
                // The search has used 1.
                seed: 2 + seed as u64,
                items,
                ..options(effort)
            };
            options.evaluate(found)
        };
        let threads = SearchOptions::default().threads;
        let all = by_all(effort.repeats as usize, threads, evaluate);
        let all: Vec<Evaluation> = all.into_iter().collect::<Result<_, _>>()?;
        let of = |value: fn(&Evaluation) -> f64| -> Vec<f64> { all.iter().map(value).collect() };
        Ok(Self {
            found: found.clone(),
            ln_geometric: interval(&of(|tree| tree.geometric_fpr.ln())),
            coded: interval(&of(|tree| tree.level_bits)),
            expected: interval(&of(|tree| tree.expected_fpr)).0,
        })
    }

    /// How it beats another, if it does: in both objectives by more than their intervals, or in one
    /// of them while the intervals of the other overlap.
    fn beats(&self, other: &Self) -> Option<&'static str> {
        let compare = |a: (f64, f64), b: (f64, f64)| match (a.0 - b.0).abs() <= a.1 + b.1 {
            true => Ordering::Equal,
            false => a.0.total_cmp(&b.0),
        };
        let mean = compare(self.ln_geometric, other.ln_geometric);
        match (mean, compare(self.coded, other.coded)) {
            (Ordering::Less, Ordering::Less) => Some(BOTH),
            (Ordering::Equal, Ordering::Less) => Some("by, at an equal mean"),
            (Ordering::Less, Ordering::Equal) => Some("by, at an equal size"),
            _ => None,
        }
    }

    fn score(&self) -> f64 {
        self.coded.0 / standard(self.ln_geometric.0.exp())
    }

    fn row(&self, what: &str, row: &Row, of: &Self) -> Vec<String> {
        let (mean, half) = self.ln_geometric;
        vec![
            row.config.to_string(),
            what.to_owned(),
            shown(&self.found),
            small(mean.exp()),
            format!("{:.1}", 100.0 * half.exp_m1()),
            format!("{:.3}", self.coded.0),
            format!("{:.2}", 100.0 * self.coded.1 / self.coded.0),
            format!("{:.3}", self.score()),
            format!("{:.3}", (mean - of.ln_geometric.0).exp()),
            format!("{:.3}", self.coded.0 / of.coded.0),
            small(self.expected),
        ]
    }
}

fn head(id: &'static str) -> Table {
    table(
        id,
        &[
            "row of Table III",
            "",
            "d, rho, m, k",
            "geometric mean",
            "+-, %",
            "W/n",
            "+-, %",
            "W/SBF at geo. mean",
            "geo. mean / row's",
            "W / row's",
            "real FPR",
        ],
    )
}

/// The row itself, and the trees of this list that surely beat it.
fn judge(
    table: &mut Table,
    row: &Row,
    mut rivals: Vec<Evaluation>,
    (of, (candidates, larger)): (&str, (usize, u64)),
    effort: Effort,
    progress: &mut Progress<'_>,
) -> Result<usize> {
    let items = larger * effort.items;
    let own = Confirmed::of(&configuration(&row.config), items, effort)?;
    rivals.sort_by(|a, b| a.published_ratio().total_cmp(&b.published_ratio()));
    rivals.truncate(candidates);
    let mut beaten_by = Vec::new();
    for rival in &rivals {
        progress(&format!("{}: {}", row.config, shown(&rival.configuration)))?;
        let rival = Confirmed::of(&rival.configuration, items, effort)?;
        if let Some(how) = rival.beats(&own) {
            beaten_by.push((how, rival));
        }
    }
    // Those that are better in both come first.
    let order = |(how, tree): &(&str, Confirmed)| (*how != BOTH, tree.score());
    beaten_by.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal));
    let in_both = beaten_by.iter().filter(|(how, _)| *how == BOTH).count();
    let in_one = beaten_by.len() - in_both;
    let what = format!("beaten by {in_both} of {of} in both, by {in_one} in one");
    table.rows.push(own.row(&what, row, &own));
    for (how, rival) in &beaten_by {
        table.rows.push(rival.row(how, row, &own));
    }
    Ok(in_both)
}

pub(super) fn exhaustive(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut table = head("table3-optimal");
    let options = options(effort);
    let mut unbeaten = 0.0;
    let mut judged = 0.0;
    for depth in COMPLETE
        .into_iter()
        .filter(|depth| *depth <= effort.complete_depth)
    {
        for row in table_3().iter().filter(|row| row.config.depth() == depth) {
            let trees = all(depth, row.config.rho);
            let options = SearchOptions {
                instances: if depth == 2 { SEVERAL } else { 1 },
                ..options.clone()
            };
            let mut evaluated = Vec::new();
            for portion in trees.chunks(PORTION) {
                progress(&format!(
                    "every tree with d = {depth}, rho {}: {} of {}",
                    row.config.rho,
                    evaluated.len(),
                    trees.len()
                ))?;
                let evaluate = |at: usize| options.evaluate(&portion[at]);
                for found in by_all(portion.len(), options.threads, evaluate) {
                    evaluated.push(found?);
                }
            }
            let wanted = configuration(&row.config);
            let own = evaluated.iter().find(|tree| tree.configuration == wanted);
            let own = own.context("the row is not within C1 and C2")?.clone();
            let of = format!("{} trees", evaluated.len());
            evaluated.retain(|tree| may_beat(tree, &own));
            let beaten = judge(&mut table, row, evaluated, (&of, OF_ALL), effort, progress)?;
            unbeaten += f64::from(u8::from(beaten == 0));
            judged += 1.0;
        }
    }
    ensure!(judged > 0.0, "the effort must include a depth");
    let what = "share of the rows with d = 2 and 3 that no tree beats (\"optimal\")";
    Ok(Report {
        claims: vec![claim("table3-optimal", what, 1.0, unbeaten / judged)],
        tables: vec![table],
        ..Report::default()
    })
}

pub(super) fn genetic(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let mut table = head("bred");
    let mut fronts = super::table("bred-fronts", &FRONT);
    let options = options(effort);
    let how = GeneticOptions {
        rounds: effort.bred_rounds,
        ..GeneticOptions::default()
    };
    let mut claims = Vec::new();
    for depth in BRED.into_iter().filter(|depth| *depth <= effort.bred_depth) {
        for row in table_3().iter().filter(|row| row.config.depth() == depth) {
            let rho = row.config.rho;
            let mut stopped = Ok(());
            let front = search::bred(depth, &[rho], &options, &how, |done, of| {
                stopped = progress(&format!(
                    "breeding d = {depth}, rho {rho}: round {done} of {of}"
                ));
                match stopped {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            stopped?;
            let front = front.context("breeding")?;
            fronts.rows.extend(
                front
                    .evaluations
                    .iter()
                    .map(|tree| front_row(depth, rho, tree)),
            );
            progress(&format!("{}: the front", row.config))?;
            let own = options.evaluate(&configuration(&row.config))?;
            let better: Vec<_> = front
                .evaluations
                .iter()
                .filter(|tree| may_beat(tree, &own))
                .cloned()
                .collect();
            let of = format!(
                "the {} on the front of {} trees",
                front.evaluations.len(),
                front.tried
            );
            judge(&mut table, row, better, (&of, OF_BRED), effort, progress)?;
            let what =
                format!("lowest W/SBF with d = {depth}, rho {rho}, geometric mean (the row's)");
            claims.push(claim("bred", &what, row.by_sbf, least(&front)));
        }
    }
    Ok(Report {
        tables: vec![table, fronts],
        claims,
        ..Report::default()
    })
}

fn least(front: &Front) -> f64 {
    let ratios = front.evaluations.iter().map(Evaluation::published_ratio);
    ratios.fold(f64::INFINITY, f64::min)
}

const FRONT: [&str; 8] = [
    "d",
    "rho",
    "m, k",
    "geometric mean",
    "real FPR",
    "W/n by level",
    "W/SBF at geo. mean",
    "W/SBF at real FPR",
];

fn front_row(depth: usize, rho: f64, tree: &Evaluation) -> Vec<String> {
    vec![
        depth.to_string(),
        rho.to_string(),
        shown(&tree.configuration),
        small(tree.geometric_fpr),
        small(tree.expected_fpr),
        format!("{:.3}", tree.level_bits),
        format!("{:.3}", tree.published_ratio()),
        format!("{:.3}", tree.level_bits / standard(tree.expected_fpr)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_trees_are_as_many_as_the_paper_counts() {
        for (depth, count) in [(2, 196), (3, 5488)] {
            let trees = all(depth, 1.0);
            assert_eq!(trees.len(), count);
            for row in table_3().iter().filter(|row| row.config.depth() == depth) {
                let mut wanted = configuration(&row.config);
                wanted.rho = 1.0;
                assert!(trees.contains(&wanted), "{}", row.config);
            }
        }
    }
}
