//! The cost of an intersection and of a membership query on this machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::bloom_sample_tree::Operations;
use crate::bloom_sample_tree::operations::members;
use bloomgrove::raw::bits::{self, Words};
use bloomgrove::raw::hash::{GOLDEN, remix};
use bloomgrove::{Error, Filter, Params};

/// The number of rounds; the shortest counts, because noise only makes a round longer.
const ROUNDS: u64 = 9;
/// How long a round measures each operation.
const ROUND: Duration = Duration::from_millis(1);
/// Names tested at a time, about as many as a leaf has.
const NAMES: u64 = 1024;
/// The total size of the filters that are intersected in turn, unless a single one is larger: the
/// nodes of a tree are not in the nearest cache either.
const NODES_BYTES: usize = 4 << 20;

/// The costs that section 5.4 balances, in nanoseconds;
/// [`leaf_size`](bloomgrove::raw::tune::leaf_size) computes the size of a leaf from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Of an intersection of two filters, counted but not stored.
    pub intersection: f64,
    /// Of a membership query, in a filter with half of its bits set.
    pub membership: f64,
}

impl Costs {
    /// Measures both, in turn, for about 20 milliseconds; longer if one intersection takes a
    /// millisecond.
    ///
    /// ```
    /// use bloomgrove::{Params, raw::tune};
    /// use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Costs};
    ///
    /// let params = Params::builder(60_870, 3).build()?;
    /// let costs = Costs::measure(&params)?;
    /// let leaf = tune::leaf_size(costs.intersection, costs.membership);
    /// let depth = tune::tree_depth(100_000, leaf);
    /// let tree = BloomSampleTree::complete(&params, 0..100_000, depth)?;
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for two such filters.
    pub fn measure(params: &Params) -> Result<Self, Error> {
        let width = params.words();
        let count = (NODES_BYTES / 8 / width).max(1);
        let mut nodes = Words::zeroed(count * width)?;
        for (word, i) in nodes.as_mut().iter_mut().zip(0u64..) {
            *word = remix(i.wrapping_mul(GOLDEN));
        }
        let mut words = Words::copy_of(&nodes.as_ref()[..width])?;
        let unused = (width as u64 * 64 - params.bits()) as u32;
        if let Some(last) = words.as_mut().last_mut() {
            *last &= u64::MAX >> unused;
        }
        let query = Filter::from_words(params.clone(), words)?;

        let (mut intersection, mut membership) = (f64::INFINITY, f64::INFINITY);
        let mut filters = nodes.as_ref().chunks_exact(width).cycle();
        for round in 0..ROUNDS {
            intersection = intersection.min(mean_time(|| {
                let node = filters.next().unwrap_or_default();
                black_box(bits::and_count(node, query.words()));
            }));
            let names = (round * NAMES..).take(NAMES as usize);
            membership = membership.min(mean_time(|| {
                let mut found = 0u64;
                let work = &mut Operations::default();
                members(&query, names.clone(), work, |_| found += 1);
                black_box(found);
            }));
        }
        Ok(Self {
            intersection,
            membership: membership / NAMES as f64,
        })
    }
}

/// Nanoseconds per call of `work`: the mean over a round.
fn mean_time(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut calls = 0;
    loop {
        work();
        calls += 1;
        let passed = start.elapsed();
        if passed >= ROUND {
            return passed.as_nanos() as f64 / f64::from(calls);
        }
    }
}
