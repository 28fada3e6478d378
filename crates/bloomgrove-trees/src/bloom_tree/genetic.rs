//! A genetic search for the front of several objectives: NSGA-II on integers.
//!
//! ```text
//!   parents --tournament, crossing, mutation--> children --evaluated, by all threads-->
//!      ^                                                                              |
//!      +---- the best: by rank (0 the front, 1 the front of the rest, ..), then ------+
//!            by crowding distance
//! ```
//!
//! Nothing is evaluated twice, and everything that was evaluated may be in the final front, whether or
//! not it is still among the parents. The same seed gives the same front, with any
//! number of threads.
//!
//! Source: Fu and Biersack (BloomTree), section 6.3.2, which used MATLAB's `gamultiobj`; the algorithm is
//! Deb and others, "A fast and elitist multiobjective genetic algorithm: NSGA-II" (2002). We differ
//! in that genes are integers instead of rounded floats, and that a known child is mutated until it is
//! new (at most ten times). The paper stops when the best fitness changes by at most 1e-4 on average
//! over 50 rounds; here, the change is how far the front before a round lags behind the front after
//! it, relative to the front's extent.
//!
//! Cost: at most `population * (rounds + 1)` evaluations.

use std::collections::{HashMap, VecDeque};
use std::num::NonZero;
use std::ops::{ControlFlow, RangeInclusive};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::pareto;
use bloomgrove::Error;
use bloomgrove::raw::threads::by_all;

/// How often a known child is mutated again.
const TRIES: usize = 10;

/// The options of a genetic search.
#[derive(Clone, Debug)]
pub struct GeneticOptions {
    /// The number of genomes kept from round to round.
    pub population: usize,
    /// The most rounds.
    pub rounds: u32,
    /// The search ends when the front moves by at most this, relative to its extent and on average ...
    pub threshold: f64,
    /// ... over this many rounds.
    pub patience: u32,
    /// The random seed.
    pub seed: u64,
    /// The number of concurrent evaluations.
    pub threads: NonZero<usize>,
}

impl Default for GeneticOptions {
    /// As in the paper: 15 candidates, 100 rounds, 1e-4 over 50 rounds; on all processors.
    fn default() -> Self {
        Self {
            population: 15,
            rounds: 100,
            threshold: 1e-4,
            patience: 50,
            seed: 1,
            threads: std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
        }
    }
}

/// An evaluated genome.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its integers.
    pub genome: Vec<u32>,
    /// Its objectives, all to be minimized.
    pub objectives: Vec<f64>,
}

impl AsRef<[f64]> for Found {
    fn as_ref(&self) -> &[f64] {
        &self.objectives
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The evaluated genomes that none dominates, in ascending order of the first objective.
    pub front: Vec<Found>,
    /// The number of rounds.
    pub rounds: u32,
    /// The number of genomes evaluated.
    pub evaluations: u64,
}

/// Searches for the genomes, with each gene within its bounds, that no other dominates. `each_round`
/// is called with the number of finished rounds after each; a break ends the search.
///
/// # Errors
/// [`Error::Interrupted`] after a break; what `evaluate` returns.
pub fn minimise<E>(
    bounds: &[RangeInclusive<u32>],
    options: &GeneticOptions,
    evaluate: E,
    mut each_round: impl FnMut(u32) -> ControlFlow<()>,
) -> Result<Search, Error>
where
    E: Fn(&[u32]) -> Result<Vec<f64>, Error> + Sync,
{
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut known = HashMap::new();
    let mut front: Vec<Found> = Vec::new();
    let anybody = |random: &mut Xoshiro256PlusPlus| -> Vec<u32> {
        let gene = |bound: &RangeInclusive<u32>| random.random_range(bound.clone());
        bounds.iter().map(gene).collect()
    };
    let mut children: Vec<Vec<u32>> = Vec::new();
    for _ in 0..options.population.max(2) {
        let child = anybody(&mut random);
        children.push(make_new(child, &known, &children, bounds, &mut random));
    }
    let mut parents: Vec<Found> = Vec::new();
    let mut moves: VecDeque<f64> = VecDeque::new();
    for round in 0.. {
        let found = evaluate_all(&children, &mut known, &evaluate, options.threads)?;
        let all: Vec<Found> = front.iter().chain(&found).cloned().collect();
        let before = std::mem::replace(&mut front, pick(&all, &pareto::front(&all)));
        if each_round(round).is_break() {
            return Err(Error::Interrupted);
        }
        if round > 0 {
            moves.push_back(moved(&before, &front));
            if moves.len() > options.patience as usize {
                moves.pop_front();
            }
        }
        let mean = moves.iter().sum::<f64>() / moves.len().max(1) as f64;
        let still = moves.len() == options.patience as usize && mean <= options.threshold;
        if still || round >= options.rounds {
            return Ok(Search {
                front,
                rounds: round,
                evaluations: known.len() as u64,
            });
        }
        parents.extend(found);
        parents = survivors(parents, options.population.max(2));
        children = breed(&parents, &known, bounds, &mut random);
    }
    unreachable!("the loop ends only by returning")
}

fn pick(all: &[Found], chosen: &[usize]) -> Vec<Found> {
    chosen.iter().map(|&at| all[at].clone()).collect()
}

/// How far the front moved, relative to its extent in each objective.
fn moved(before: &[Found], after: &[Found]) -> f64 {
    let extent = |at: usize| {
        let values = after.iter().map(|found| found.objectives[at]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if high > low { high - low } else { 1.0 }
    };
    let objectives = after.first().map_or(0, |found| found.objectives.len());
    let extents: Vec<f64> = (0..objectives).map(extent).collect();
    let scaled = |found: &Found| -> Vec<f64> {
        let values = found.objectives.iter().zip(&extents);
        values.map(|(value, extent)| value / extent).collect()
    };
    let scale = |front: &[Found]| front.iter().map(scaled).collect::<Vec<_>>();
    pareto::lag(&scale(before), &scale(after)).max(0.0)
}

/// Evaluates the unknown genomes. They differ from each other, unless none was new.
fn evaluate_all<E>(
    genomes: &[Vec<u32>],
    known: &mut HashMap<Vec<u32>, Vec<f64>>,
    evaluate: &E,
    threads: NonZero<usize>,
) -> Result<Vec<Found>, Error>
where
    E: Fn(&[u32]) -> Result<Vec<f64>, Error> + Sync,
{
    let mut new: Vec<&Vec<u32>> = genomes.iter().filter(|g| !known.contains_key(*g)).collect();
    new.sort_unstable();
    new.dedup();
    let results = by_all(new.len(), threads, |at| evaluate(new[at]));
    let new: Vec<Vec<u32>> = new.into_iter().cloned().collect();
    for (genome, objectives) in new.into_iter().zip(results) {
        known.insert(genome, objectives?);
    }
    let found = genomes.iter().map(|genome| Found {
        genome: genome.clone(),
        objectives: known[genome].clone(),
    });
    Ok(found.collect())
}

/// The best genomes, each once: whole ranks as long as they fit, then the least crowded ones.
fn survivors(mut all: Vec<Found>, population: usize) -> Vec<Found> {
    all.sort_by(|a, b| a.genome.cmp(&b.genome));
    all.dedup_by(|a, b| a.genome == b.genome);
    let mut kept = Vec::new();
    while !all.is_empty() && kept.len() < population {
        let mut rank = pareto::front(&all);
        let best = pick(&all, &rank);
        let room = crowding(&best);
        let mut order: Vec<usize> = (0..best.len()).collect();
        order.sort_by(|&a, &b| room[b].total_cmp(&room[a]));
        order.truncate(population - kept.len());
        kept.extend(pick(&best, &order));
        rank.sort_unstable_by(|a, b| b.cmp(a));
        for at in rank {
            all.remove(at);
        }
    }
    kept
}

/// The crowding distance of each point of a rank: the distance between its neighbors, summed over
/// the objectives, each relative to its extent. It is infinite for the extreme points.
fn crowding(rank: &[Found]) -> Vec<f64> {
    let mut room = vec![0.0; rank.len()];
    let objectives = rank.first().map_or(0, |found| found.objectives.len());
    for objective in 0..objectives {
        let value = |at: usize| rank[at].objectives[objective];
        let mut order: Vec<usize> = (0..rank.len()).collect();
        order.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
        let (first, last) = (order[0], order[order.len() - 1]);
        room[first] = f64::INFINITY;
        room[last] = f64::INFINITY;
        let extent = value(last) - value(first);
        if extent > 0.0 {
            for three in order.windows(3) {
                room[three[1]] += (value(three[2]) - value(three[0])) / extent;
            }
        }
    }
    room
}

/// As many children as there are parents, which are in order: of two random ones, the earlier is
/// better.
fn breed(
    parents: &[Found],
    known: &HashMap<Vec<u32>, Vec<f64>>,
    bounds: &[RangeInclusive<u32>],
    random: &mut Xoshiro256PlusPlus,
) -> Vec<Vec<u32>> {
    let mut children: Vec<Vec<u32>> = Vec::with_capacity(parents.len());
    for _ in 0..parents.len() {
        let mut winner = || {
            let one = random.random_range(0..parents.len());
            &parents[one.min(random.random_range(0..parents.len()))].genome
        };
        let (mother, father) = (winner(), winner());
        let genes = mother.iter().zip(father);
        let mut child: Vec<u32> = genes
            .map(|(a, b)| if random.random::<bool>() { *a } else { *b })
            .collect();
        mutate(&mut child, bounds, random);
        children.push(make_new(child, known, &children, bounds, random));
    }
    children
}

/// Mutates a genome until it is new, or gives up.
fn make_new(
    mut child: Vec<u32>,
    known: &HashMap<Vec<u32>, Vec<f64>>,
    siblings: &[Vec<u32>],
    bounds: &[RangeInclusive<u32>],
    random: &mut Xoshiro256PlusPlus,
) -> Vec<u32> {
    for _ in 0..TRIES {
        if !known.contains_key(&child) && !siblings.contains(&child) {
            break;
        }
        mutate(&mut child, bounds, random);
    }
    child
}

/// Changes about one gene, mostly a little and sometimes a lot.
fn mutate(genome: &mut [u32], bounds: &[RangeInclusive<u32>], random: &mut Xoshiro256PlusPlus) {
    let chance = 1.0 / genome.len().max(1) as f64;
    for (gene, bound) in genome.iter_mut().zip(bounds) {
        if random.random::<f64>() < chance {
            let extent = f64::from(bound.end() - bound.start());
            let step = 1 + (extent * random.random::<f64>().powi(4)) as u32;
            *gene = match random.random::<bool>() {
                true => gene.saturating_add(step).min(*bound.end()),
                false => gene.saturating_sub(step).max(*bound.start()),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ZDT1 with 30 variables of 101 steps. Its front: the first at any value, the others 0.
    fn zdt1(genome: &[u32]) -> Result<Vec<f64>, Error> {
        let x: Vec<f64> = genome.iter().map(|&gene| f64::from(gene) / 100.0).collect();
        let others = &x[1..];
        let g = 1.0 + 9.0 * others.iter().sum::<f64>() / others.len() as f64;
        Ok(vec![x[0], g * (1.0 - (x[0] / g).sqrt())])
    }

    fn search(seed: u64, rounds: u32, threads: usize) -> Search {
        let options = GeneticOptions {
            population: 40,
            rounds,
            seed,
            threads: NonZero::new(threads).unwrap(),
            ..GeneticOptions::default()
        };
        let go_on = |_| ControlFlow::Continue(());
        minimise(&vec![0..=100; 30], &options, zdt1, go_on).unwrap()
    }

    #[test]
    fn the_known_front_is_found() {
        let truth: Vec<[f64; 2]> = (0..=100)
            .map(|i| f64::from(i) / 100.0)
            .map(|x| [x, 1.0 - x.sqrt()])
            .collect();
        for seed in 1..=3 {
            let found = search(seed, 300, 2);
            let lag = pareto::lag(&found.front, &truth);
            assert!(lag < 0.02, "seed {seed}: {lag}");
            // Nothing is better than the optimum.
            assert!(pareto::lag(&truth, &found.front) <= 1e-12);
            assert!(found.evaluations <= 40 * 301);
        }
        // A random search does not come close.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: Vec<Vec<f64>> = (0..40 * 301)
            .map(|_| zdt1(&[0; 30].map(|_: u32| random.random_range(0..=100))).unwrap())
            .collect();
        assert!(pareto::lag(&drawn, &truth) > 1.0);
    }

    #[test]
    fn the_same_seed_gives_the_same_front() {
        let (one, two) = (search(7, 30, 1), search(7, 30, 3));
        assert!(one.front == two.front);
        assert_eq!(one.evaluations, two.evaluations);
        assert!(one.front != search(8, 30, 1).front);
    }

    #[test]
    fn it_ends_when_the_front_stands_still() {
        // Two genes of three values: all nine are soon known, and nothing changes after that.
        let all = |genome: &[u32]| Ok(vec![f64::from(genome[0]), 2.0 - f64::from(genome[1])]);
        let options = GeneticOptions {
            rounds: 1000,
            ..GeneticOptions::default()
        };
        let mut heard = Vec::new();
        let ended = minimise(&[0..=2, 0..=2], &options, all, |round| {
            heard.push(round);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(ended.front.len(), 1);
        assert_eq!(ended.front[0].genome, [0, 2]);
        assert!(
            ended.rounds >= options.patience && ended.rounds < 200,
            "{ended:?}"
        );
        assert_eq!(heard, (0..=ended.rounds).collect::<Vec<_>>());
        assert!(ended.evaluations <= 9);
    }

    #[test]
    fn a_break_and_an_error_end_it() {
        let options = GeneticOptions::default();
        let stopped = minimise(&vec![0..=100; 30], &options, zdt1, |round| match round {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(matches!(stopped, Err(Error::Interrupted)));
        let failed = minimise(
            &[0..=9, 0..=9],
            &options,
            |_| Err(Error::params("none")),
            |_| ControlFlow::Continue(()),
        );
        assert!(matches!(failed, Err(Error::Params { .. })));
    }
}
