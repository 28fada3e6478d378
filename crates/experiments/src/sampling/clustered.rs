//! Clustered sets (section 7.1): each element drawn makes its neighbors more likely.
//!
//! ```text
//!   pdf   . . . . . . . .     draw s: all lose p %; what they lose and what s still has
//!         . . . | x | . .     goes in halves to the nearest on either side that are not
//!             ^   ^           drawn; s has nothing left
//! ```
//!
//! The paper updates M probabilities for each of n draws. Here, all names that were never a neighbor
//! have the same probability, so one number represents them; the others, at most 2 n, are leaves of
//! a tree of sums. "All lose p %" is a separate factor. Cost: O(log n) per draw, and no memory for the
//! namespace.
//!
//! At p = 10, the probability outside the neighborhoods falls by a tenth with each draw, so a set
//! consists of about ten runs of consecutive names, however large it is.

use std::collections::{BTreeMap, HashMap};

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// Below this factor, all weights are multiplied by it. Far above underflow, far below any weight
/// that matters.
const LEAST_SCALE: f64 = 1e-100;

/// The probabilities of the names `0..names`, changed by every draw.
#[derive(Debug)]
pub(super) struct Clustered {
    names: u64,
    /// What is kept of a probability at a draw: 1 - p.
    keep: f64,
    /// Every stored weight times this is a probability.
    scale: f64,
    /// The stored weight of each name that was never a neighbor, and the number of these.
    base: f64,
    untouched: u64,
    /// Names that were neighbors, and their positions in `sums`.
    touched: HashMap<u64, usize>,
    sums: Sums,
    /// Runs of drawn names: first and last.
    drawn: BTreeMap<u64, u64>,
}

impl Clustered {
    /// Uniform at first; `percent` is the paper's p.
    pub(super) fn new(names: u64, percent: f64) -> Self {
        Self {
            names,
            keep: 1.0 - percent / 100.0,
            scale: 1.0,
            base: 1.0 / names as f64,
            untouched: names,
            touched: HashMap::new(),
            sums: Sums::default(),
            drawn: BTreeMap::new(),
        }
    }

    /// The next element; none when all are drawn.
    pub(super) fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> Option<u64> {
        let spread = self.untouched as f64 * self.base;
        let total = spread + self.sums.total();
        if total <= 0.0 {
            return None;
        }
        let at = random.random::<f64>() * total;
        let name = if at < spread {
            self.untouched_name(random)
        } else {
            self.sums.find(at - spread)
        };
        self.take(name);
        Some(name)
    }

    /// One of the names that were never a neighbor nor drawn, with equal probability.
    fn untouched_name(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        // They are likely only while there are many of them, so few draws are rejected.
        loop {
            let name = random.random_range(0..self.names);
            if !self.touched.contains_key(&name) && self.run_of(name).is_none() {
                return name;
            }
        }
    }

    /// The probability of a name.
    #[cfg(test)]
    pub(super) fn probability(&self, name: u64) -> f64 {
        if self.run_of(name).is_some() {
            return 0.0;
        }
        let weight = match self.touched.get(&name) {
            Some(&place) => self.sums.get(place),
            None => self.base,
        };
        weight * self.scale
    }

    /// Marks `name` as drawn, and moves the probabilities.
    pub(super) fn take(&mut self, name: u64) {
        let spread = self.untouched as f64 * self.base;
        let total = spread + self.sums.total();
        let own = match self.touched.remove(&name) {
            Some(place) => {
                let own = self.sums.get(place);
                self.sums.set(place, 0.0);
                own
            }
            None => {
                self.untouched -= 1;
                self.base
            }
        };
        self.join(name);
        // In terms of the stored weights, before all lose their share.
        let moved = total * (1.0 - self.keep) + own * self.keep;
        self.scale *= self.keep;
        let moved = moved / self.keep;
        let (below, above) = self.neighbours(name);
        let sides = [below, above].into_iter().flatten();
        let each = moved / sides.clone().count() as f64;
        for neighbour in sides {
            self.give(neighbour, each);
        }
        if self.scale < LEAST_SCALE {
            self.sums.multiply(self.scale);
            self.base *= self.scale;
            self.scale = 1.0;
        }
    }

    fn give(&mut self, name: u64, weight: f64) {
        if let Some(&place) = self.touched.get(&name) {
            self.sums.set(place, self.sums.get(place) + weight);
        } else {
            self.untouched -= 1;
            let place = self.sums.push(name, self.base + weight);
            self.touched.insert(name, place);
        }
    }

    /// The run of drawn names that this one is in.
    fn run_of(&self, name: u64) -> Option<(u64, u64)> {
        let (&first, &last) = self.drawn.range(..=name).next_back()?;
        (name <= last).then_some((first, last))
    }

    /// Adds a name to the runs, merging adjacent ones.
    fn join(&mut self, name: u64) {
        let (mut first, mut last) = (name, name);
        if let Some((before, _)) = name.checked_sub(1).and_then(|below| self.run_of(below)) {
            first = before;
        }
        if let Some(after) = self.drawn.remove(&(name + 1)) {
            last = after;
        }
        self.drawn.insert(first, last);
    }

    /// The nearest names below and above a drawn one that are not drawn.
    fn neighbours(&self, name: u64) -> (Option<u64>, Option<u64>) {
        let (first, last) = self.run_of(name).unwrap_or((name, name));
        let above = Some(last + 1).filter(|&above| above < self.names);
        (first.checked_sub(1), above)
    }
}

/// Weights with their sums in a binary tree, with the leaves in its upper half. Sums are only added,
/// so a weight of zero remains zero.
#[derive(Debug, Default)]
struct Sums {
    names: Vec<u64>,
    room: usize,
    tree: Vec<f64>,
}

impl Sums {
    fn total(&self) -> f64 {
        self.tree.get(1).copied().unwrap_or(0.0)
    }

    fn get(&self, place: usize) -> f64 {
        self.tree[self.room + place]
    }

    fn set(&mut self, place: usize, weight: f64) {
        let mut at = self.room + place;
        self.tree[at] = weight;
        while at > 1 {
            at /= 2;
            self.tree[at] = self.tree[2 * at] + self.tree[2 * at + 1];
        }
    }

    fn push(&mut self, name: u64, weight: f64) -> usize {
        let place = self.names.len();
        self.names.push(name);
        if place == self.room {
            let leaves = self.tree.split_off(self.room.min(self.tree.len()));
            self.room = (2 * self.room).max(64);
            self.tree = vec![0.0; 2 * self.room];
            self.tree[self.room..self.room + leaves.len()].copy_from_slice(&leaves);
            self.add_up();
        }
        self.set(place, weight);
        place
    }

    fn multiply(&mut self, factor: f64) {
        self.tree[self.room..]
            .iter_mut()
            .for_each(|weight| *weight *= factor);
        self.add_up();
    }

    fn add_up(&mut self) {
        for at in (1..self.room).rev() {
            self.tree[at] = self.tree[2 * at] + self.tree[2 * at + 1];
        }
    }

    /// The name at this point of the cumulative weights.
    fn find(&self, mut point: f64) -> u64 {
        let mut at = 1;
        while at < self.room {
            at *= 2;
            // Rounding may move the point past the end; a side without weight has no name.
            if point >= self.tree[at] && self.tree[at + 1] > 0.0 {
                point -= self.tree[at];
                at += 1;
            }
        }
        self.names[at - self.room]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// The paper's algorithm, with an array of probabilities.
    fn update(pdf: &mut [f64], s: usize, p: f64) {
        let lost: f64 = pdf.iter().map(|probability| probability * p).sum();
        pdf.iter_mut()
            .for_each(|probability| *probability *= 1.0 - p);
        let moved = lost + pdf[s];
        pdf[s] = 0.0;
        let below = (0..s).rev().find(|&i| pdf[i] > 0.0);
        let above = (s + 1..pdf.len()).find(|&i| pdf[i] > 0.0);
        let sides: Vec<usize> = below.into_iter().chain(above).collect();
        for &side in &sides {
            pdf[side] += moved / sides.len() as f64;
        }
    }

    #[test]
    fn probabilities_are_those_of_the_papers_words() {
        for seed in 0..20 {
            let names = 5 + 7 * seed;
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut fast = Clustered::new(names, 10.0);
            let mut pdf = vec![1.0 / names as f64; names as usize];
            for _ in 0..names - 1 {
                let name = fast.draw(&mut random).expect("not all are drawn");
                assert!(pdf[name as usize] > 0.0, "{name} was drawn before");
                update(&mut pdf, name as usize, 0.1);
                for (i, &expected) in (0..).zip(&pdf) {
                    let found = fast.probability(i);
                    assert!((found - expected).abs() < 1e-12, "{i}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn draws_follow_the_probabilities() {
        // Its two neighbors have what all lost, what s still had, and their own.
        let near = (0..20_000).filter(|&seed| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut clustered = Clustered::new(1000, 10.0);
            let mut next = || clustered.draw(&mut random).unwrap_or(0);
            let (first, second) = (next(), next());
            first.abs_diff(second) == 1
        });
        let share = near.count() as f64 / 20_000.0;
        let expected = 0.1 + 0.9 * 3.0 / 1000.0;
        assert!((share - expected).abs() < 5.0 * (0.1f64 * 0.9 / 20_000.0).sqrt());
    }

    #[test]
    fn large_sets_are_distinct_and_few_runs() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut clustered = Clustered::new(10_000_000, 10.0);
        let mut all: Vec<u64> = (0..50_000)
            .map_while(|_| clustered.draw(&mut random))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 50_000);
        let runs = 1 + all.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        assert!((2..40).contains(&runs), "{runs} runs");
    }
}
