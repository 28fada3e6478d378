//! Figures 13, 14 and 15: a namespace of which little is in use (section 8).
//!
//! The paper has 7.2 million user ids out of 2.2 billion from a crawl of Twitter, and the
//! users of each of 24,000 hash tags as query sets. We have the same shape, made: ids drawn
//! uniformly, 200 sets of at least 1000 users with sizes of a heavy tail.
//!
//! Of 256 leaves a fraction is kept, drawn uniformly or clustered; ids in other leaves do
//! not exist then. A pruned tree keeps the ids of its leaves, so the dictionary attack may
//! have them too; it is shown on them. On the whole namespace it is a claim of the text.

use std::ops::Range;

use anyhow::Result;
use bloomgrove::sample::{Operations, SampleTree, dictionary_attack, dictionary_sample};
use bloomgrove::{Family, Filter, Params};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::by_accuracy::seconds_per_sample;
use super::setup::{HASHES, PAPER, Spread, parallel};
use super::{Effort, claim, figure};
use crate::{Claim, Progress, Report, Stroke};

const NAMES: u64 = 2_200_000_000;
const BITS: u64 = 1_200_000;
/// 256 leaves; the text says 7, which makes 128.
const DEPTH: u32 = 8;
const LEAVES: u64 = 1 << DEPTH;
const TAGS: usize = 200;
const LEAST_USERS: f64 = 1000.0;
const MOST_USERS: f64 = 200_000.0;
/// The exponent of the sizes' tail: a tag in ten has more than 6300 users.
const TAIL: f64 = 1.25;
const FRACTIONS: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
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
    let x = ("fraction of the namespace", false);
    let mut time = figure("fig13", x, ("milliseconds per sample", true));
    let mut memory = figure("fig14", x, ("megabytes", false));
    let mut accuracy = figure("fig15", x, ("accuracy", false));
    let full = ((2 << DEPTH) - 1) as f64 * (BITS / 8) as f64;
    let mut claims = vec![
        claim(
            "fig14",
            "MB of the full tree, 256 leaves",
            36.0,
            full / MEGABYTE,
        ),
        attack_claim(&params, &world)?,
    ];
    for (color, spread) in Spread::ALL.into_iter().enumerate() {
        for fraction in FRACTIONS {
            progress(&format!("{} leaves, fraction {fraction}", spread.name()))?;
            let part = world.part(spread, fraction);
            let tree = SampleTree::pruned(&params, 0..NAMES, DEPTH, part.users.iter().copied())?;
            let found = part.measure(&tree, effort)?;
            let name = |what: &str| format!("{}{what}", spread.name());
            let mut time = |what, stroke, y| time.draw(&name(what), color, stroke, fraction, y);
            time("", Stroke::Solid, found.milliseconds);
            time(": attack on ids in use", Stroke::Dashed, found.attack);
            let filters = tree.filter_bytes() as f64;
            let mut memory = |what, stroke, y| memory.draw(&name(what), color, stroke, fraction, y);
            memory("", Stroke::Solid, filters / MEGABYTE);
            let both = filters + tree.name_bytes() as f64;
            memory(" and ids in use", Stroke::Dashed, both / MEGABYTE);
            let mut accuracy =
                |what, stroke, y| accuracy.draw(&name(what), color, stroke, fraction, y);
            accuracy(": samples", Stroke::Solid, found.sampled);
            accuracy(": all accepted", Stroke::Dashed, found.accepted);
            accuracy(": finds something", Stroke::Dotted, found.success);
            if fraction == 0.5 {
                let paper = [0.71, 0.217][color];
                let what = format!(
                    "memory at fraction .5 of that of the full tree, {}",
                    name("")
                );
                claims.push(claim("fig14", &what, paper, filters / full));
            }
        }
    }
    Ok(Report {
        figures: vec![time, memory, accuracy],
        claims,
        ..Report::default()
    })
}

/// Seconds of a sample by the dictionary attack on the whole namespace, from a hundredth.
fn attack_claim(params: &Params, world: &World) -> Result<Claim> {
    let query = filter(params, &world.tags[0])?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut work = Operations::default();
    let seconds = seconds_per_sample(1, &mut || {
        dictionary_sample(&query, 0..TIMED, &mut random, &mut work)
    });
    let what = "seconds per sample, dictionary attack (from a hundredth of it)";
    let all = seconds * (NAMES / TIMED) as f64;
    Ok(claim("fig13", what, 100.0, all))
}

fn filter(params: &Params, set: &[u64]) -> Result<Filter> {
    let mut filter = Filter::new(params.clone())?;
    filter.insert_batch(set);
    Ok(filter)
}

/// Users and hash tags.
struct World {
    /// Rising.
    users: Vec<u64>,
    /// The users of each tag, rising.
    tags: Vec<Vec<u64>>,
}

impl World {
    fn new(count: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut users = Vec::new();
        while (users.len() as u64) < count {
            let missing = count - users.len() as u64;
            users.extend((0..missing).map(|_| random.random_range(0..NAMES)));
            users.sort_unstable();
            users.dedup();
        }
        let tag = |_| {
            let size = LEAST_USERS * random.random::<f64>().powf(-1.0 / TAIL);
            let size = size.min(MOST_USERS).min(count as f64 / 2.0) as u64;
            let places = Spread::Uniform.draw(count, size, &mut random);
            places.iter().map(|&place| users[place as usize]).collect()
        };
        let tags = (0..TAGS).map(tag).collect();
        Self { users, tags }
    }

    /// What is left of it in a fraction of the leaves.
    fn part(&self, spread: Spread, fraction: f64) -> Part {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let count = (fraction * LEAVES as f64).round() as u64;
        let leaves = spread.draw(LEAVES, count, &mut random);
        let inside = |all: &[u64]| -> Vec<u64> {
            let ranges = leaves.iter().map(|&leaf| leaf_range(leaf));
            ranges
                .flat_map(|range| between(all, range))
                .copied()
                .collect()
        };
        Part {
            users: inside(&self.users),
            tags: self.tags.iter().map(|tag| inside(tag)).collect(),
        }
    }
}

/// The names of a leaf, as the tree divides them.
fn leaf_range(leaf: u64) -> Range<u64> {
    let bound = |leaf: u64| (leaf * NAMES) >> DEPTH;
    bound(leaf)..bound(leaf + 1)
}

/// Of rising numbers those in a range.
fn between(all: &[u64], range: Range<u64>) -> &[u64] {
    let place = |bound: u64| all.partition_point(|&number| number < bound);
    &all[place(range.start)..place(range.end)]
}

/// Users and tags of a part of the namespace.
struct Part {
    users: Vec<u64>,
    tags: Vec<Vec<u64>>,
}

/// What was measured of a part.
struct Found {
    milliseconds: f64,
    /// Milliseconds of a sample by asking for all ids in use.
    attack: f64,
    /// The share of searches that found something, and of those the share of true elements.
    success: f64,
    sampled: f64,
    /// The share of true elements of all ids in use that are accepted.
    accepted: f64,
}

impl Part {
    fn measure(&self, tree: &SampleTree, effort: Effort) -> Result<Found> {
        // Tags of which nothing is left have no filter worth asking.
        let tags: Vec<&Vec<u64>> = self.tags.iter().filter(|tag| !tag.is_empty()).collect();
        let queries = parallel(&tags, |tag| filter(tree.params(), tag))?;
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
        let attack = seconds_per_sample(1, &mut || {
            let users = self.users.iter().copied();
            dictionary_sample(&queries[0], users, &mut random, &mut work)
        });
        // All ids asked of a few tags: an eighth of them, or as many as the effort allows.
        let some: Vec<usize> = (0..tags.len().min(4 * effort.sets as usize)).collect();
        let shares = parallel(&some, |&i| {
            let (mut accepted, mut work) = (0u64, Operations::default());
            let users = self.users.iter().copied();
            dictionary_attack(&queries[i], users, &mut work, |_| accepted += 1);
            Ok(tags[i].len() as f64 / accepted as f64)
        })?;
        Ok(Found {
            milliseconds: seconds * 1e3,
            attack: attack * 1e3,
            success: drawn as f64 / rounds as f64,
            sampled: right as f64 / drawn as f64,
            accepted: shares.iter().sum::<f64>() / shares.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_users_of_its_leaves() {
        let world = World::new(50_000);
        assert_eq!(world.users.len(), 50_000);
        assert!(world.users.is_sorted_by(|a, b| a < b));
        assert!(world.tags.iter().all(|tag| tag.len() >= 1000));
        let sizes: Vec<usize> = world.tags.iter().map(Vec::len).collect();
        let large = sizes.iter().filter(|&&size| size > 6300).count();
        assert!((8..35).contains(&large), "a heavy tail: {large} of {TAGS}");
        for spread in Spread::ALL {
            let part = world.part(spread, 0.5);
            let share = part.users.len() as f64 / 50_000.0;
            assert!((share - 0.5).abs() < 0.02, "{share}");
            assert!(part.users.is_sorted());
            for (tag, whole) in part.tags.iter().zip(&world.tags) {
                assert!(
                    tag.iter()
                        .all(|user| part.users.binary_search(user).is_ok())
                );
                assert!(tag.len() < whole.len());
            }
            assert_eq!(world.part(spread, 1.0).users, world.users);
        }
    }

    #[test]
    fn leaves_divide_the_namespace_as_the_tree_does() {
        assert_eq!(leaf_range(0).start, 0);
        assert_eq!(leaf_range(LEAVES - 1).end, NAMES);
        for leaf in 1..LEAVES {
            assert_eq!(leaf_range(leaf - 1).end, leaf_range(leaf).start);
        }
    }
}
