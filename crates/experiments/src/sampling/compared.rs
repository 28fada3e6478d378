//! Not in the paper: its methods compared with ours, which are exact, and the effect of its
//! threshold.
//!
//! Uniform sets, accuracy 0.9, simple functions modulo a prime, which every method can use.
//! Our samplers and reconstructions are `bloomgrove::sample::Sampler` and `Reconstruction`.

use anyhow::{Result, ensure};
use bloomgrove::sample::{
    Method, NameIndex, NameIndexOptions, Namespace, SampleOptions, Sampler, Way,
};
use bloomgrove::{Filter, sample};
use bloomgrove_trees::bloom_sample_tree::{
    Bits, BloomSampleTree, HashInvert, Operations, Threshold,
};

use super::by_accuracy::{attack, seconds_per_sample};
use super::setup::{Hashing, ITEMS, PAPER, Setup, Spread, short};
use super::ways::{Cost, by_attack, by_hash_invert, by_ours, by_tree};
use super::{Effort, table};
use crate::{Progress, Report, Table};

const NAMES: [u64; 3] = [100_000, 1_000_000, 10_000_000];
const MEGABYTE: f64 = 1048576.0;

fn report(table: Table) -> Report {
    Report {
        tables: vec![table],
        ..Report::default()
    }
}

/// The namespaces compared, as far as the effort goes.
fn setups(effort: Effort) -> impl Iterator<Item = Setup> {
    let names = NAMES
        .into_iter()
        .filter(move |&names| names <= effort.most_names);
    names.map(|names| Setup {
        names,
        hashing: Hashing::Simple,
        ..Setup::DEFAULT
    })
}

/// A tree, an index and a filter with the same parameters.
struct Built {
    setup: Setup,
    tree: BloomSampleTree,
    index: NameIndex,
    query: Filter,
}

impl Built {
    fn new(setup: Setup) -> Result<Self> {
        let tree = setup.tree()?;
        let names = Namespace::range(setup.range())?;
        let index = NameIndex::build(tree.params(), names, NameIndexOptions::default())?;
        let query = Setup::query(tree.params(), &setup.set(Spread::Uniform, 0))?;
        Ok(Self {
            setup,
            tree,
            index,
            query,
        })
    }
}

/// Microseconds and tests per sample.
struct Sample {
    time: f64,
    tests: f64,
}

pub(super) fn samplers(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "M",
        "n",
        "us: tree",
        "HashInvert",
        "attack",
        "probing",
        "by index",
        "by inversion",
        "tests: tree",
        "HashInvert",
        "probing",
        "by index",
        "by inversion",
        "MB: tree",
        "index",
    ];
    let mut table = table("samplers", &head);
    for setup in setups(effort) {
        for items in ITEMS {
            let setup = Setup { items, ..setup };
            progress(&format!("{setup}: samplers"))?;
            let built = Built::new(setup)?;
            let all = [
                by_bst_sample(&built, effort)?,
                by_hash_invert_sample(&built, effort)?,
                Sample {
                    time: 1e3 * attack(&setup)?,
                    tests: setup.names as f64,
                },
                by_sampler(&built, effort, Method::Probe)?,
                by_sampler(&built, effort, Method::Index)?,
                by_sampler(&built, effort, Method::Invert)?,
            ];
            let times = all.iter().map(|sample| format!("{:.1}", sample.time));
            // The attack tests M names.
            let tests = all
                .iter()
                .filter(|sample| sample.tests < setup.names as f64);
            let tests = tests.map(|sample| format!("{:.0}", sample.tests));
            let bytes = [built.tree.filter_bytes(), built.index.bytes()];
            let memory = bytes.map(|bytes| format!("{:.1}", bytes as f64 / MEGABYTE));
            let start = [short(setup.names), short(items)].into_iter();
            table
                .rows
                .push(start.chain(times).chain(tests).chain(memory).collect());
        }
    }
    Ok(report(table))
}

fn by_bst_sample(built: &Built, effort: Effort) -> Result<Sample> {
    let mut random = built.setup.random(1 << 30);
    let mut work = Operations::default();
    // Parameters that do not match would show in the first sample.
    let mut draw = || {
        built
            .tree
            .sample(&built.query, PAPER, &mut random, &mut work)
    };
    draw()?;
    let seconds = seconds_per_sample(effort.samples, &mut || draw().ok().flatten());
    Ok(Sample {
        time: 1e6 * seconds,
        tests: work.memberships as f64 / (effort.samples + 1) as f64,
    })
}

fn by_hash_invert_sample(built: &Built, effort: Effort) -> Result<Sample> {
    let invert = HashInvert::new(&built.query, built.setup.range())?;
    let mut random = built.setup.random(2 << 30);
    let mut work = Operations::default();
    let mut draw = || invert.sample(&mut random, &mut work);
    let seconds = seconds_per_sample(effort.samples, &mut draw);
    Ok(Sample {
        time: 1e6 * seconds,
        tests: work.memberships as f64 / effort.samples as f64,
    })
}

fn by_sampler(built: &Built, effort: Effort, method: Method) -> Result<Sample> {
    let options = SampleOptions {
        method: Some(method),
        seed: 1,
        ..SampleOptions::default()
    };
    let mut sampler = Sampler::with(&built.query, &built.index, &options)?;
    let samples = effort.samples;
    let seconds = seconds_per_sample(samples, &mut || sampler.draw_integer().ok());
    let sample::Work { tests, .. } = sampler.work();
    Ok(Sample {
        time: 1e6 * seconds,
        tests: tests as f64 / samples as f64,
    })
}

pub(super) fn reconstructors(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "M",
        "n",
        "tree finds, %",
        "ms: tree",
        "HashInvert, set bits",
        "unset bits",
        "attack",
        "by index",
        "by inversion",
        "tests: tree",
        "HashInvert, set bits",
        "by index",
        "by inversion",
    ];
    let mut table = table("reconstructors", &head);
    for setup in setups(effort) {
        for items in ITEMS {
            let setup = Setup { items, ..setup };
            progress(&format!("{setup}: reconstructors"))?;
            let built = Built::new(setup)?;
            let query = &built.query;
            let tree = by_tree(&built.tree, query, PAPER)?;
            let set = by_hash_invert(&setup, query, Bits::Set)?;
            let unset = by_hash_invert(&setup, query, Bits::Unset)?;
            let attack = by_attack(&setup, query)?;
            let index = by_ours(query, &built.index, Way::Index)?;
            let inversion = by_ours(query, built.index.namespace(), Way::Invert)?;
            for other in [&set, &unset, &index, &inversion] {
                let (found, all) = (other.found, attack.found);
                ensure!(found == all, "{setup}: {found} names found of {all}");
            }
            let start = [
                short(setup.names),
                short(items),
                format!("{:.1}", 100.0 * tree.found / attack.found),
            ];
            let times = [&tree, &set, &unset, &attack, &index, &inversion];
            let times = times.map(|cost| format!("{:.2}", cost.milliseconds));
            let tests = [&tree, &set, &index, &inversion];
            let tests = tests.map(|cost| format!("{:.0}", cost.queries));
            table
                .rows
                .push(start.into_iter().chain(times).chain(tests).collect());
        }
    }
    Ok(report(table))
}

pub(super) fn thresholds(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "M",
        "empty when",
        "intersections",
        "queries",
        "ms",
        "found, %",
    ];
    let mut table = table("thresholds", &head);
    for setup in setups(effort) {
        progress(&format!("{setup}: thresholds"))?;
        let tree = setup.tree()?;
        let query = Setup::query(tree.params(), &setup.set(Spread::Uniform, 0))?;
        let all = by_attack(&setup, &query)?;
        let mut row = |name: &str, cost: &Cost| {
            table.rows.push(vec![
                short(setup.names),
                name.to_owned(),
                format!("{:.0}", cost.intersections),
                format!("{:.0}", cost.queries),
                format!("{:.2}", cost.milliseconds),
                format!("{:.1}", 100.0 * cost.found / all.found),
            ]);
        };
        for (name, threshold) in [
            ("estimate < 2", Threshold::Estimate(2.0)),
            ("estimate < 0.5", PAPER),
            ("estimate <= 0", Threshold::Estimate(0.0)),
            ("too few common bits", Threshold::Safe),
            ("no common bit", Threshold::NoCommonBit),
        ] {
            row(name, &by_tree(&tree, &query, threshold)?);
        }
        row("(dictionary attack)", &all);
    }
    Ok(report(table))
}
