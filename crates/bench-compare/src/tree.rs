//! BloomTrees: against a standard filter of the same rate, with one thread and with several, and
//! compressed and expanded.
//!
//! Every contender takes its turn in every round; the best round of each counts.

use std::hint::black_box;
use std::num::NonZero;
use std::time::Instant;

use bloomgrove::{Error, Filter, Layout, Params, tune};
use bloomgrove_trees::bloom_tree::{BloomTree, Coding, TreeShape};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of keys in each tree
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// The number of threads to compare with one
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// rho, m below the root, k: rows of the paper's Table III.
type Row = (f64, &'static [u64], &'static [u32]);
const SHAPES: [Row; 3] = [
    (1.0, &[4], &[6, 3]),
    (1.0, &[4, 3], &[6, 3, 2]),
    (0.5, &[5, 3, 3], &[6, 3, 2, 2]),
];

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let keys: Vec<u64> = (0..args.items).collect();
    let absent: Vec<u64> = (args.items..2 * args.items).collect();
    one_thread(args, &keys, &absent)?;
    several_threads(args, &keys, &absent)?;
    wire(args, &keys)
}

fn shape(items: u64, (rho, bits, hashes): Row) -> Result<TreeShape, Error> {
    TreeShape::for_items(items, rho, bits, hashes)
}

fn built(shape: TreeShape, keys: &[u64]) -> Result<BloomTree, Error> {
    let mut tree = BloomTree::new(shape)?;
    tree.insert_batch(keys);
    Ok(tree)
}

/// The time of one run, in seconds.
fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64()
}

/// The best round of each of several tasks, run in turn.
fn race<const N: usize>(rounds: usize, mut round: impl FnMut() -> [f64; N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..rounds {
        for (best, seconds) in best.iter_mut().zip(round()) {
            *best = best.min(seconds);
        }
    }
    best
}

fn head(args: &Args, what: &str) {
    println!(
        "\n### {what}, {} keys ({}; best of {} interleaved rounds)\n",
        args.items,
        crate::machine(),
        args.rounds
    );
}

fn one_thread(args: &Args, keys: &[u64], absent: &[u64]) -> Result<(), Error> {
    head(
        args,
        "A tree and a standard filter of the same rate, one key at a time",
    );
    println!(
        "| levels | rate | hashes, tree / filter | ns / key, tree: insert / hit / miss | filter | tree over filter |"
    );
    println!("|---|---|---|---|---|---|");
    for row in SHAPES {
        let mut tree = built(shape(args.items, row)?, keys)?;
        let fpr = tree.expected_fpr();
        let plan = tune::choose(args.items, fpr, Some(Layout::Standard), None)?;
        let params: Params = plan.params()?;
        let mut filter = Filter::new(params.clone())?;
        filter.insert_batch(keys);
        let [ti, fi, th, fh, tm, fm] = race(args.rounds, || {
            [
                timed(|| keys.iter().for_each(|key| _ = tree.insert(key))),
                timed(|| keys.iter().for_each(|key| _ = filter.insert(key))),
                timed(|| keys.iter().filter(|key| tree.contains(*key)).count()),
                timed(|| keys.iter().filter(|key| filter.contains(*key)).count()),
                timed(|| absent.iter().filter(|key| tree.contains(*key)).count()),
                timed(|| absent.iter().filter(|key| filter.contains(*key)).count()),
            ]
        });
        let nanos = |seconds: f64| seconds * 1e9 / args.items as f64;
        println!(
            "| {} | {fpr:.2e} | {} / {} | {:.0} / {:.0} / {:.0} | {:.0} / {:.0} / {:.0} | {:.1} / {:.1} / {:.1} |",
            tree.shape().depth(),
            tree.shape().hashes(),
            params.hashes(),
            nanos(ti),
            nanos(th),
            nanos(tm),
            nanos(fi),
            nanos(fh),
            nanos(fm),
            ti / fi,
            th / fh,
            tm / fm,
        );
    }
    Ok(())
}

/// The speedup that several threads have in pure arithmetic.
fn arithmetic(args: &Args, threads: NonZero<usize>) -> f64 {
    let work = |seed: u64| {
        (0..50_000_000).fold(seed, |x, i| {
            (x ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29)
        })
    };
    let [one, all] = race(args.rounds, || {
        let one = timed(|| work(1));
        let all = timed(|| {
            std::thread::scope(|scope| {
                for seed in 0..threads.get() as u64 {
                    scope.spawn(move || black_box(work(seed)));
                }
            });
        });
        [one, all]
    });
    threads.get() as f64 * one / all
}

fn several_threads(args: &Args, keys: &[u64], absent: &[u64]) -> Result<(), Error> {
    let threads = NonZero::new(args.threads).unwrap_or(NonZero::<usize>::MIN);
    head(args, &format!("One thread and {threads}"));
    println!(
        "(In arithmetic without memory accesses, {threads} threads of this machine have a speedup of {:.2}.)\n",
        arithmetic(args, threads)
    );
    println!(
        "| levels | root | insert, ns / key: one / {threads} | speedup | hit, ns / key: one / {threads} | speedup | miss: speedup |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in SHAPES {
        let plain = shape(args.items, row)?;
        for shape in [plain.clone(), plain.partitioned()?] {
            let name = if shape.is_partitioned() {
                "partitioned"
            } else {
                "whole"
            };
            let mut tree = built(shape.clone(), keys)?;
            let mut other = BloomTree::new(shape)?;
            let [i1, i2, h1, h2, m1, m2] = race(args.rounds, || {
                tree.clear();
                other.clear();
                let times = [
                    timed(|| tree.insert_batch(keys)),
                    timed(|| other.insert_parallel(keys, threads)),
                    timed(|| tree.contains_batch(keys)),
                    timed(|| tree.contains_parallel(keys, threads)),
                    timed(|| tree.contains_batch(absent)),
                    timed(|| tree.contains_parallel(absent, threads)),
                ];
                assert!(tree == other, "several threads set different bits than one");
                times
            });
            let nanos = |seconds: f64| seconds * 1e9 / args.items as f64;
            println!(
                "| {} | {name} | {:.0} / {:.0} | {:.2} | {:.0} / {:.0} | {:.2} | {:.2} |",
                tree.shape().depth(),
                nanos(i1),
                nanos(i2),
                i1 / i2,
                nanos(h1),
                nanos(h2),
                h1 / h2,
                m1 / m2,
            );
        }
    }
    Ok(())
}

fn wire(args: &Args, keys: &[u64]) -> Result<(), Error> {
    head(args, "Compressed and expanded");
    println!(
        "| levels | coding | MB | bytes sent | bits / key | over entropy | MB/s of the tree, compress / expand |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in SHAPES {
        let tree = built(shape(args.items, row)?, keys)?;
        let megabytes = tree.shape().bits() as f64 / 8e6;
        for coding in [Coding::Levels, Coding::Context] {
            let mut message = Vec::new();
            tree.compress(coding, &mut message)?;
            let entropy: f64 = match coding {
                Coding::Levels => tree.level_entropy().iter().sum(),
                _ => tree.context_entropy().iter().sum(),
            };
            let mut room = Vec::with_capacity(message.len());
            let [out, back] = race(args.rounds, || {
                room.clear();
                [
                    timed(|| tree.compress(coding, &mut room).is_ok()),
                    timed(|| BloomTree::expand(&message[..]).is_ok()),
                ]
            });
            assert!(
                BloomTree::expand(&message[..])? == tree,
                "the expanded tree differs"
            );
            let bits = message.len() as f64 * 8.0;
            println!(
                "| {} | {} | {megabytes:.1} | {} | {:.3} | {:+.2} % | {:.0} / {:.0} |",
                tree.shape().depth(),
                coding.name(),
                message.len(),
                bits / args.items as f64,
                (bits / entropy - 1.0) * 100.0,
                megabytes / out,
                megabytes / back,
            );
        }
    }
    Ok(())
}
