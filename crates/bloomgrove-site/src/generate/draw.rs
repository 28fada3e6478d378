//! Random choices: which site, which partner, which document, how many.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Sites per region.
const REGION: u32 = 8;
/// Partners of a site, to which it mostly sends.
const PARTNERS: u64 = 4;

/// The random number generator.
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from 0 up to, but excluding, `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// An index, drawn with these weights.
    pub(super) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut point = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|&weight| match point.checked_sub(weight) {
                Some(rest) => {
                    point = rest;
                    false
                }
                None => true,
            })
            .unwrap_or(0)
    }

    /// How far back to go from the newest of `len`, which is not 0: each power of two from 8 on is equally likely as the limit,
    /// as if people had several things on their desks.
    pub(super) fn back(&mut self, len: u64) -> u64 {
        let powers = u64::from(len.ilog2()) + 1;
        let power = 3 + self.below(powers.saturating_sub(3).max(1));
        self.below(len.min(1 << power))
    }
}

/// How busy each site is, and which sites it sends to.
pub(super) struct Sites {
    /// Running sums of how busy they are.
    busy: Vec<u64>,
    partners: Vec<Vec<u32>>,
}

impl Sites {
    pub(super) fn new(count: u32, random: &mut Random) -> Self {
        let mut ranks: Vec<u64> = (0..u64::from(count)).collect();
        for last in (1..ranks.len()).rev() {
            let other = random.below(last as u64 + 1);
            ranks.swap(last, other as usize);
        }
        // The rank r has a weight proportional to 1 / (r + a tenth of all): the busiest site does ten times as much as the
        // quietest.
        let flattening = u64::from(count) / 10 + 1;
        let mut sum = 0;
        let busy = ranks
            .iter()
            .map(|rank| {
                sum += 1_000_000_000 / (rank + flattening);
                sum
            })
            .collect();
        let partners = (0..count)
            .map(|site| partners(site, count, random))
            .collect();
        Self { busy, partners }
    }

    /// The site where the next event happens.
    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        let point = random.below(self.busy.last().copied().unwrap_or(1));
        self.busy.partition_point(|&sum| sum <= point) as u32
    }

    /// The site that a site sends to: a partner in 90 of 100 cases, a neighbour in 8, otherwise any site. There are at least
    /// two sites.
    pub(super) fn peer(&self, site: u32, random: &mut Random) -> u32 {
        let count = self.partners.len() as u32;
        let way = random.below(100);
        let drawn = match way {
            0..90 => {
                let partners = &self.partners[site as usize];
                // The first partner twice as often as the second, and so on.
                let weights: Vec<u64> = (0..partners.len()).rev().map(|n| 1 << n).collect();
                partners[random.weighted(&weights)]
            }
            90..98 => neighbour(site, count, random),
            _ => random.below(count.into()) as u32,
        };
        match drawn == site {
            true => (site + 1) % count,
            false => drawn,
        }
    }
}

/// Three from the same region, if it is large enough, and one from anywhere.
fn partners(site: u32, count: u32, random: &mut Random) -> Vec<u32> {
    let mut partners = Vec::new();
    for number in 0..PARTNERS {
        let drawn = match number + 1 < PARTNERS {
            true => neighbour(site, count, random),
            false => random.below(count.into()) as u32,
        };
        if drawn != site && !partners.contains(&drawn) {
            partners.push(drawn);
        }
    }
    if partners.is_empty() {
        partners.push((site + 1) % count);
    }
    partners
}

fn neighbour(site: u32, count: u32, random: &mut Random) -> u32 {
    let first = site - site % REGION;
    let size = REGION.min(count - first);
    first + random.below(size.into()) as u32
}
