//! Orders with similar filters next to each other.
//!
//! [`nearest`] is the paper's: from each filter to the nearest remaining one, which compares every
//! filter with every other. [`near`] considers only likely ones:
//!
//! ```text
//!   each set bit is hashed once; its hash falls in one of 16 bands, and each band
//!   keeps its minimum:
//!
//!            band 0   band 1   band 2  ...
//!      f0      17       4        88            f0 and f2 agree in bands 0 and 2,
//!      f1      90      51        12            so they probably share many bits
//!      f2      17      33        88
//! ```
//!
//! Two filters agree in a band about as often as one of their bits is common to both (their Jaccard
//! similarity; this is MinHash with one permutation). From each filter, we consider the few that
//! agree with it in most bands, compare those bit by bit, and continue with the nearest; if none
//! agrees, with its neighbor in the order of band 0. Filters with a tenth of their bits in common
//! agree in some band four times out of five.

use super::Metric;
use super::nodes::{NONE, Nodes};
use bloomgrove::raw::bits;
use bloomgrove::raw::hash::mix;

const BANDS: usize = 16;
/// How far to each side of a filter a band is searched for filters that agree. Bounds the work if a
/// bit is in every filter.
const REACH: usize = 16;
/// How many of these are compared bit by bit.
const COMPARED: usize = 4;

/// The leaf closest to the empty filter, as an index into `leaves`.
fn first(nodes: &Nodes, leaves: &[u32], metric: Metric) -> Option<usize> {
    let distance = |i: &usize| metric.distance(nodes.ones(leaves[*i]), 0, 0);
    (0..leaves.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn distance(nodes: &Nodes, metric: Metric, a: u32, b: u32) -> f64 {
    metric.distance(nodes.ones(a), nodes.ones(b), nodes.common(a, b))
}

/// Starts with the leaf closest to the empty filter and always continues with the nearest remaining
/// one.
pub(super) fn nearest(nodes: &Nodes, mut left: Vec<u32>, metric: Metric) -> Vec<u32> {
    let mut chain = Vec::with_capacity(left.len());
    let mut next = first(nodes, &left, metric);
    while let Some(i) = next {
        let last = left.remove(i);
        chain.push(last);
        let from_last = left.iter().map(|&leaf| distance(nodes, metric, last, leaf));
        next = from_last
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(i, _)| i);
    }
    chain
}

/// Like [`nearest`], among those that agree in some band.
pub(super) fn near(nodes: &Nodes, leaves: Vec<u32>, metric: Metric) -> Vec<u32> {
    let mut bands = Bands::new(nodes, &leaves);
    let mut chain = Vec::with_capacity(leaves.len());
    let mut next = first(nodes, &leaves, metric);
    while let Some(i) = next {
        chain.push(leaves[i]);
        next = bands
            .likely(i)
            .iter()
            .map(|&other| {
                (
                    distance(nodes, metric, leaves[i], leaves[other as usize]),
                    other,
                )
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, other)| other)
            .or_else(|| bands.beside(i))
            .map(|other| other as usize);
        bands.take(i);
    }
    chain
}

/// The leaves, sorted once per band, as lists that they can be removed from.
struct Bands {
    /// For each band and leaf: its minimum hash.
    keys: Vec<[u32; BANDS]>,
    /// For each leaf and band: the leaves before and after it.
    sides: Vec<[[u32; 2]; BANDS]>,
    /// In how many bands a leaf was found in the current step.
    met: Vec<u8>,
    found: Vec<u32>,
}

impl Bands {
    fn new(nodes: &Nodes, leaves: &[u32]) -> Self {
        let keys: Vec<_> = leaves
            .iter()
            .map(|&leaf| least(nodes.value(leaf)))
            .collect();
        let mut sides = vec![[[NONE; 2]; BANDS]; leaves.len()];
        let mut sorted: Vec<u32> = (0..leaves.len() as u32).collect();
        for band in 0..BANDS {
            // Stable, so that leaves equal in one band remain sorted by the previous one.
            sorted.sort_by_key(|&i| keys[i as usize][band]);
            for pair in sorted.windows(2) {
                sides[pair[0] as usize][band][1] = pair[1];
                sides[pair[1] as usize][band][0] = pair[0];
            }
        }
        Self {
            met: vec![0; keys.len()],
            found: Vec::new(),
            keys,
            sides,
        }
    }

    /// The few leaves that agree with leaf `i` in most bands.
    fn likely(&mut self, i: usize) -> &[u32] {
        self.found.clear();
        for band in 0..BANDS {
            let key = self.keys[i][band];
            // A band without a bit has no information.
            if key == u32::MAX {
                continue;
            }
            for side in 0..2 {
                let mut at = self.sides[i][band][side];
                for _ in 0..REACH {
                    if at == NONE || self.keys[at as usize][band] != key {
                        break;
                    }
                    if self.met[at as usize] == 0 {
                        self.found.push(at);
                    }
                    self.met[at as usize] += 1;
                    at = self.sides[at as usize][band][side];
                }
            }
        }
        let met = &self.met;
        if self.found.len() > COMPARED {
            let most = |&leaf: &u32| std::cmp::Reverse(met[leaf as usize]);
            self.found.select_nth_unstable_by_key(COMPARED - 1, most);
        }
        for &leaf in &self.found {
            self.met[leaf as usize] = 0;
        }
        self.found.truncate(COMPARED);
        &self.found
    }

    /// A neighbor of leaf `i` in the order of the first band.
    fn beside(&self, i: usize) -> Option<u32> {
        let [before, behind] = self.sides[i][0];
        [behind, before].into_iter().find(|&leaf| leaf != NONE)
    }

    /// Removes leaf `i` from all lists.
    fn take(&mut self, i: usize) {
        for band in 0..BANDS {
            let [before, behind] = self.sides[i][band];
            if before != NONE {
                self.sides[before as usize][band][1] = behind;
            }
            if behind != NONE {
                self.sides[behind as usize][band][0] = before;
            }
        }
    }
}

/// The minimum hash of a set bit in each band.
fn least(value: &[u64]) -> [u32; BANDS] {
    let mut least = [u32::MAX; BANDS];
    for bit in bits::ones(value) {
        let hash = mix(bit);
        let band = &mut least[hash as usize % BANDS];
        *band = (*band).min((hash >> 32) as u32);
    }
    least
}
