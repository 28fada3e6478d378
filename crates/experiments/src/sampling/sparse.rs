//! Figures 13, 14 and 15: a namespace of which a small part is in use (section 8).
//!
//! A fraction of 256 leaves is kept, drawn uniformly or clustered; ids in other leaves do not exist
//! then. Our pruned tree stores the ids of its leaves and tests only those, so the dictionary attack
//! may use them, too, and is shown on them. On the whole namespace, it is a claim of the text. If
//! leaves test every name of their range, as in Algorithm 1, the accuracy differs; it is computed.

use anyhow::Result;
use bloomgrove::sample::{Method, NameIndex, NameIndexOptions, Namespace, SampleOptions, Sampler};
use bloomgrove::{Family, Filter, Params, tune};
use bloomgrove_trees::bloom_sample_tree::{
    BloomSampleTree, Operations, dictionary_attack, dictionary_sample,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::by_accuracy::seconds_per_sample;
use super::setup::{HASHES, PAPER, Setup, Spread, parallel};
use super::world::{DEPTH, NAMES, Part, World};
use super::{Effort, claim, figure, table};
use crate::{Claim, Progress, Report, Stroke};

const BITS: u64 = 1_200_000;
const FRACTIONS: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];
/// Rounds of sampling in the paper.
const ROUNDS: u64 = 1000;
/// Names that the dictionary attack is timed on, of all 2.2 billion.
const TIMED: u64 = 22_000_000;
const MEGABYTE: f64 = 1048576.0;

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    progress("users and hash tags")?;
    let world = World::new(effort.users);
    let params = Params::builder(BITS, HASHES)
        .family(Family::Murmur3)
        .build()?;
    let x = ("fraction of the namespace, %", false);
    let mut time = figure("fig13", x, ("milliseconds per sample", true));
    let mut memory = figure("fig14", x, ("megabytes", false));
    let mut accuracy = figure("fig15", x, ("accuracy, %", false));
    let head = [
        "leaves",
        "fraction, %",
        "nodes",
        "intersections per sample",
        "queries per sample",
        "nothing found, %",
    ];
    let mut trees = table("sparse", &head);
    let full = ((2 << DEPTH) - 1) as f64 * (BITS / 8) as f64;
    let mut claims = vec![
        claim("fig14", "MB of the full tree", 36.0, full / MEGABYTE),
        attack_claim(&params, &world)?,
    ];
    for (color, spread) in Spread::ALL.into_iter().enumerate() {
        for fraction in FRACTIONS {
            progress(&format!("{} leaves, fraction {fraction}", spread.name()))?;
            let part = world.part(spread, fraction);
            let tree =
                BloomSampleTree::pruned(&params, 0..NAMES, DEPTH, part.users.iter().copied())?;
            let found = measure(&part, &tree, effort)?;
            let x = 100.0 * fraction;
            let name = |what: &str| format!("{}{what}", spread.name());
            let mut time = |what, stroke, y| time.draw(&name(what), color, stroke, x, y);
            time(": tree", Stroke::Solid, found.milliseconds);
            time(": attack on ids", Stroke::Dashed, found.attack);
            time(": our index", Stroke::Dotted, found.exact);
            let filters = tree.filter_bytes() as f64;
            let mut memory = |what, stroke, y| memory.draw(&name(what), color, stroke, x, y);
            memory(": filters", Stroke::Solid, filters / MEGABYTE);
            let both = filters + tree.name_bytes() as f64;
            memory(": filters, ids", Stroke::Dashed, both / MEGABYTE);
            memory(": our index", Stroke::Dotted, found.index / MEGABYTE);
            let mut accuracy =
                |what, stroke, y: f64| accuracy.draw(&name(what), color, stroke, x, 100.0 * y);
            accuracy(": samples", Stroke::Solid, found.sampled);
            accuracy(": ids accepted", Stroke::Dashed, found.accepted);
            accuracy(
                ": names accepted",
                Stroke::Dotted,
                of_all_names(&part, fraction),
            );
            trees.rows.push(vec![
                name(""),
                format!("{x:.0}"),
                tree.nodes().to_string(),
                format!("{:.1}", found.intersections),
                format!("{:.0}", found.queries),
                format!("{:.1}", 100.0 * found.nothing),
            ]);
            if fraction == 0.5 {
                let paper = [0.71, 0.217][color];
                let what = format!(
                    "memory at fraction 0.5 relative to the full tree, {}",
                    name("")
                );
                claims.push(claim("fig14", &what, paper, filters / full));
            }
        }
    }
    Ok(Report {
        tables: vec![trees],
        figures: vec![time, memory, accuracy],
        claims,
        ..Report::default()
    })
}

/// Seconds per sample of the dictionary attack on the whole namespace, extrapolated from a
/// hundredth of it.
fn attack_claim(params: &Params, world: &World) -> Result<Claim> {
    let query = Setup::query(params, &world.tags[0])?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut work = Operations::default();
    let seconds = seconds_per_sample(1, &mut || {
        dictionary_sample(&query, 0..TIMED, &mut random, &mut work)
    });
    let what = "seconds per sample, dictionary attack (from a hundredth of it)";
    let all = seconds * (NAMES / TIMED) as f64;
    Ok(claim("fig13", what, 100.0, all))
}

/// The accuracy if every name of the leaves is tested, whether in use or not: the mean over the
/// tags, by the formula of section 5.4.
fn of_all_names(part: &Part, fraction: f64) -> f64 {
    let names = (fraction * NAMES as f64) as u64;
    let of = |tag: &Vec<u64>| {
        let items = tag.len() as u64;
        tune::accuracy(
            names,
            items,
            bloomgrove::raw::math::standard_fpr(BITS, HASHES, items),
        )
    };
    let tags = part.tags.iter().filter(|tag| !tag.is_empty());
    let all: Vec<f64> = tags.map(of).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// The measurements of a part.
struct Found {
    /// Per sample: with the tree, by testing all ids in use, with our index.
    milliseconds: f64,
    attack: f64,
    exact: f64,
    /// Bytes of our index.
    index: f64,
    intersections: f64,
    queries: f64,
    /// The share of searches that found nothing, and the share of true elements among the others.
    nothing: f64,
    sampled: f64,
    /// The share of true elements among all ids in use that are accepted.
    accepted: f64,
}

fn measure(part: &Part, tree: &BloomSampleTree, effort: Effort) -> Result<Found> {
    // Tags without ids in this part have no filter to query.
    let tags: Vec<&Vec<u64>> = part.tags.iter().filter(|tag| !tag.is_empty()).collect();
    let queries = parallel(&tags, |tag| Setup::query(tree.params(), tag))?;
    let users = || part.users.iter().copied();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut work = Operations::default();
    let (mut right, mut drawn) = (0u64, 0u64);
    let mut failed = Ok(());
    let rounds = effort.samples.min(ROUNDS);
    let seconds = seconds_per_sample(rounds, &mut || {
        let i = random.random_range(0..tags.len());
        let name = match tree.sample(&queries[i], PAPER, &mut random, &mut work) {
            Ok(name) => name?,
            Err(error) => {
                failed = Err(error);
                return None;
            }
        };
        drawn += 1;
        right += u64::from(tags[i].binary_search(&name).is_ok());
        Some(name)
    });
    failed?;
    let mut unused = Operations::default();
    let attack = seconds_per_sample(1, &mut || {
        dictionary_sample(&queries[0], users(), &mut random, &mut unused)
    });
    let names = Namespace::occupied(0..NAMES, users())?;
    let index = NameIndex::build(tree.params(), names, NameIndexOptions::default())?;
    let exact = by_index(&index, &queries, rounds, &mut random)?;
    // All ids are tested for a few tags, as many as the effort allows.
    let some: Vec<usize> = (0..tags.len().min(4 * effort.sets as usize)).collect();
    let shares = parallel(&some, |&i| {
        let (mut accepted, mut work) = (0u64, Operations::default());
        dictionary_attack(&queries[i], users(), &mut work, |_| accepted += 1);
        Ok(tags[i].len() as f64 / accepted as f64)
    })?;
    let mean = |sum: u64| sum as f64 / rounds as f64;
    Ok(Found {
        milliseconds: seconds * 1e3,
        attack: attack * 1e3,
        exact: exact * 1e3,
        index: index.bytes() as f64,
        intersections: mean(work.intersections),
        queries: mean(work.memberships),
        nothing: 1.0 - mean(drawn),
        sampled: right as f64 / drawn as f64,
        accepted: shares.iter().sum::<f64>() / shares.len() as f64,
    })
}

/// Seconds per sample with our index. Each sampler is created for one sample, because each sample
/// of the tree is from another tag.
fn by_index(
    index: &NameIndex,
    queries: &[Filter],
    rounds: u64,
    random: &mut Xoshiro256PlusPlus,
) -> Result<f64> {
    let mut failed = Ok(());
    let draw = |query, seed| {
        let options = SampleOptions {
            method: Some(Method::Index),
            seed,
            ..SampleOptions::default()
        };
        Sampler::with(query, index, &options)?.draw_integer()
    };
    let seconds = seconds_per_sample(rounds, &mut || {
        let query = &queries[random.random_range(0..queries.len())];
        let drawn = draw(query, random.random());
        drawn.map_err(|error| failed = Err(error)).ok()
    });
    failed?;
    Ok(seconds)
}
