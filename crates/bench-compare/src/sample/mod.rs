//! The members of a filter: every method of drawing and of listing them, interleaved in one run.
//!
//! Filters are sized as in the sampling paper, for an accuracy of 0.9 with three hashes. Each
//! contender draws in turn, in every round; the best round of each counts. The paper's tree
//! has the paper's depth. Every member that is drawn is checked.

mod row;

use std::hint::black_box;
use std::time::Instant;

use bloomgrove::raw::hash::first_prime_from;
use bloomgrove::sample::{
    Method, NameIndex, NameIndexOptions, Names, Namespace, Reconstruction, SampleOptions, Sampler,
    Way, Work,
};
use bloomgrove::{Affine, Error, Family, Filter, Params, tune};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, HashInvert, Operations, Threshold};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::{Value, json};

use crate::rivals::scatter;
use row::{Row, print, time, turn};

/// Names, items, and the depth of the tree: those of the paper's Tables 2 and 3 for 1000 items,
/// and by the same rule for others.
const RACES: [(u64, u64, u32); 4] = [
    (1_000_000, 1000, 9),
    (10_000_000, 100, 13),
    (10_000_000, 1000, 12),
    (10_000_000, 10_000, 10),
];
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Also draw from a billion names, and list them
    #[arg(long)]
    billion: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut report = Vec::new();
    // First, so that no other contender raises the peak memory.
    if args.billion {
        report.push(billion(args.json)?);
    }
    for (names, items, depth) in RACES {
        let setup = Setup::new(names, items, depth)?;
        let built = setup.build(args.rounds.min(3))?;
        let draws = setup.draw(&built, args.rounds)?;
        let lists = setup.list(&built, args.rounds.min(5))?;
        let title = format!("M = {names}, n = {items}, m = {}", setup.params.bits());
        if args.json {
            let rows = |rows: &[Row]| rows.iter().map(Row::json).collect::<Vec<_>>();
            report.push(json!({
                "names": names, "items": items, "bits": setup.params.bits(), "depth": depth,
                "members": setup.members.len(), "build": rows(&built.rows),
                "draw": rows(&draws), "list": rows(&lists),
            }));
        } else {
            let machine = crate::machine();
            println!(
                "\n### {title}, {} members ({machine})\n",
                setup.members.len()
            );
            print("built", "ms", 1e6, &built.rows);
            print("one draw", "us", 1e3, &draws);
            print("all members", "ms", 1e6, &lists);
        }
    }
    if args.json {
        println!(
            "{:#}",
            json!({ "machine": crate::machine(), "races": report })
        );
    }
    Ok(())
}

struct Setup {
    names: u64,
    depth: u32,
    params: Params,
    /// The same, with hash functions that can be inverted.
    affine: Params,
    filter: Filter,
    affine_filter: Filter,
    members: Vec<u64>,
    affine_members: Vec<u64>,
}

struct Built {
    rows: Vec<Row>,
    tree: BloomSampleTree,
    index: NameIndex,
    lean: NameIndex,
    namespace: Namespace,
}

fn sized(names: u64, items: u64, family: Family) -> Result<Params, Error> {
    let bits = tune::bits_for_accuracy(names, items, 3, 0.9).ceil() as u64;
    Params::builder(bits, 3).family(family).build()
}

fn filled(params: &Params, names: u64, items: u64) -> Result<Filter, Error> {
    let mut filter = Filter::new(params.clone())?;
    let keys: Vec<u64> = (0..items).map(|i| scatter(i) % names).collect();
    filter.insert_batch(&keys);
    Ok(filter)
}

impl Setup {
    fn new(names: u64, items: u64, depth: u32) -> Result<Self, Error> {
        let prime = first_prime_from(names).unwrap_or(names);
        let params = sized(names, items, Family::Murmur3)?;
        let affine = sized(names, items, Family::Affine(Affine::seeded(prime, 3, 1)?))?;
        let filter = filled(&params, names, items)?;
        let affine_filter = filled(&affine, names, items)?;
        let range = Namespace::range(0..names)?;
        let members = Reconstruction::new(&filter, &range)?.integers()?;
        let affine_members = Reconstruction::new(&affine_filter, &range)?.integers()?;
        Ok(Self {
            names,
            depth,
            params,
            affine,
            filter,
            affine_filter,
            members,
            affine_members,
        })
    }

    fn build(&self, rounds: usize) -> Result<Built, Error> {
        let range = || Namespace::range(0..self.names);
        let tree = |params| BloomSampleTree::complete(params, 0..self.names, self.depth);
        let options = NameIndexOptions::default();
        let lean_options = NameIndexOptions {
            second: false,
            ..options
        };
        let index = |options| NameIndex::build(&self.params, range()?, options);
        let mut built = Built {
            rows: Vec::new(),
            tree: tree(&self.params)?,
            index: index(options)?,
            lean: index(lean_options)?,
            namespace: range()?,
        };
        let mut rows = vec![
            Row::new("tree, murmur3", built.tree.bytes()),
            Row::new("tree, affine", built.tree.bytes()),
            Row::new("index", built.index.bytes()),
            Row::new("index, lean", built.lean.bytes()),
        ];
        for _ in 0..rounds {
            let [by_murmur, by_affine, second, lean] = &mut rows[..] else {
                unreachable!("four rows")
            };
            time(by_murmur, 1, || {
                tree(&self.params).map(|tree| drop(black_box(tree)))
            })?;
            time(by_affine, 1, || {
                tree(&self.affine).map(|tree| drop(black_box(tree)))
            })?;
            time(second, 1, || {
                index(options).map(|index| drop(black_box(index)))
            })?;
            time(lean, 1, || {
                index(lean_options).map(|index| drop(black_box(index)))
            })?;
        }
        built.rows = rows;
        Ok(built)
    }

    fn sampler<'s>(
        &'s self,
        filter: &'s Filter,
        names: impl Into<Names<'s>>,
        method: Method,
    ) -> Result<Sampler<'s>, Error> {
        Sampler::with(
            filter,
            names,
            &SampleOptions {
                method: Some(method),
                seed: 1,
                ..SampleOptions::default()
            },
        )
    }

    fn draw(&self, built: &Built, rounds: usize) -> Result<Vec<Row>, Error> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut again = random.clone();
        let mut third = random.clone();
        let invert = HashInvert::new(&self.affine_filter, 0..self.names)?;
        let namespace = Names::from(&built.namespace);
        let mut samplers = [
            ("probing", &self.filter, namespace, Method::Probe, 0),
            (
                "index",
                &self.filter,
                Names::from(&built.index),
                Method::Index,
                built.index.bytes(),
            ),
            (
                "index, lean",
                &self.filter,
                Names::from(&built.lean),
                Method::Index,
                built.lean.bytes(),
            ),
            (
                "inversion",
                &self.affine_filter,
                namespace,
                Method::Invert,
                0,
            ),
        ]
        .map(|(name, filter, names, method, bytes)| {
            let sampler = self.sampler(filter, names, method);
            (
                name,
                bytes,
                sampler,
                std::ptr::eq(filter, &self.affine_filter),
            )
        });
        let tree_bytes = built.tree.bytes();
        let mut rows = vec![
            Row::new("BSTSample, any common bit", tree_bytes),
            Row::new("BSTSample, estimate >= 0.5", tree_bytes),
            Row::new("HashInvert", 0),
        ];
        rows.extend(
            samplers
                .iter()
                .map(|(name, bytes, ..)| Row::new(name, *bytes)),
        );
        let mut counts = vec![1; rows.len()];
        for _ in 0..rounds {
            let mut by_tree = |row: usize, threshold, random: &mut Xoshiro256PlusPlus| {
                turn(&mut rows[row], &mut counts[row], |count| {
                    let mut work = Operations::default();
                    for _ in 0..count {
                        black_box(
                            built
                                .tree
                                .sample(&self.filter, threshold, random, &mut work)?,
                        );
                    }
                    Ok(Work {
                        looks: work.intersections,
                        tests: work.memberships,
                    })
                })
            };
            by_tree(0, Threshold::NoCommonBit, &mut random)?;
            by_tree(1, Threshold::Estimate(0.5), &mut again)?;
            turn(&mut rows[2], &mut counts[2], |count| {
                let mut work = Operations::default();
                for _ in 0..count {
                    black_box(invert.sample(&mut third, &mut work));
                }
                Ok(Work {
                    looks: 0,
                    tests: work.memberships,
                })
            })?;
            for (i, (_, _, sampler, affine)) in samplers.iter_mut().enumerate() {
                let Ok(sampler) = sampler else { continue };
                let members = if *affine {
                    &self.affine_members
                } else {
                    &self.members
                };
                turn(&mut rows[3 + i], &mut counts[3 + i], |count| {
                    let before = sampler.work();
                    for name in sampler.draw(count)? {
                        let bloomgrove::sample::Name::Integer(name) = name else {
                            continue;
                        };
                        assert!(
                            members.binary_search(&name).is_ok(),
                            "{name} is not a member"
                        );
                    }
                    let work = sampler.work();
                    Ok(Work {
                        looks: work.looks - before.looks,
                        tests: work.tests - before.tests,
                    })
                })?;
            }
        }
        Ok(rows)
    }

    fn list(&self, built: &Built, rounds: usize) -> Result<Vec<Row>, Error> {
        let tree = built.tree.bytes();
        let mut rows = vec![
            Row::new("tree, safe", tree),
            Row::new("tree, estimate >= 0.5", tree),
            Row::new("scan", 0),
            Row::new("index", built.index.bytes()),
            Row::new("index, lean", built.lean.bytes()),
            Row::new("inversion", 0),
        ];
        for _ in 0..rounds {
            for (row, threshold) in [(0, Threshold::Safe), (1, Threshold::Estimate(0.5))] {
                let mut found = 0u64;
                let mut work = Operations::default();
                time(&mut rows[row], 1, || {
                    let each = |_| found += 1;
                    built
                        .tree
                        .reconstruct(&self.filter, threshold, &mut work, each)
                })?;
                rows[row].looks = work.intersections as f64;
                rows[row].tests = work.memberships as f64;
                rows[row].recall = Some(found as f64 / self.members.len() as f64);
            }
            let exact = [
                (
                    &self.filter,
                    Names::from(&built.namespace),
                    Way::Scan,
                    &self.members,
                ),
                (
                    &self.filter,
                    Names::from(&built.index),
                    Way::Index,
                    &self.members,
                ),
                (
                    &self.filter,
                    Names::from(&built.lean),
                    Way::Index,
                    &self.members,
                ),
                (
                    &self.affine_filter,
                    Names::from(&built.namespace),
                    Way::Invert,
                    &self.affine_members,
                ),
            ];
            for (row, (filter, names, way, members)) in rows[2..].iter_mut().zip(exact) {
                let list = Reconstruction::with(
                    filter,
                    names,
                    &SampleOptions {
                        way: Some(way),
                        ..SampleOptions::default()
                    },
                )?;
                let (mut found, mut work) = (0, Work::default());
                time(row, 1, || {
                    work = list.run(|some| {
                        found += some.names().len();
                        std::ops::ControlFlow::Continue(())
                    });
                    Ok(())
                })?;
                row.looks = work.looks as f64;
                row.tests = work.tests as f64;
                row.recall = Some(found as f64 / members.len() as f64);
            }
        }
        Ok(rows)
    }
}

/// A billion names without an index.
fn billion(as_json: bool) -> Result<Value, Error> {
    let (names, items) = (1_000_000_000, 1000);
    let params = sized(names, items, Family::Murmur3)?;
    let filter = filled(&params, names, items)?;
    let namespace = Namespace::range(0..names)?;
    let options = SampleOptions {
        method: Some(Method::Probe),
        ..SampleOptions::default()
    };
    let mut sampler = Sampler::with(&filter, &namespace, &options)?;
    let start = Instant::now();
    let draws = 50;
    sampler.draw(draws)?;
    let draw = start.elapsed().as_secs_f64() / draws as f64;
    let start = Instant::now();
    let members = Reconstruction::new(&filter, &namespace)?.integers()?.len();
    let list = start.elapsed().as_secs_f64();
    let peak = peak_memory().unwrap_or(0);
    if !as_json {
        println!(
            "### M = {names}, n = {items}, m = {}, no index\n",
            params.bits()
        );
        println!(
            "one draw {:.2} ms, all {members} members {list:.2} s, peak memory {:.1} MB\n",
            draw * 1e3,
            peak as f64 / 1e6
        );
    }
    Ok(
        json!({ "names": names, "items": items, "draw_seconds": draw, "list_seconds": list,
               "members": members, "peak_bytes": peak }),
    )
}

/// The peak memory of this process, as counted by the kernel.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
