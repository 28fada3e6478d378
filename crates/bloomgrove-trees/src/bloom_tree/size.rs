//! The compressed size of a tree, with three codings: section 4.3, and a better one.
//!
//! ```text
//!   by level     bits H(ones / bits), summed over levels                      Eq. 7, as intended
//!   by filter    m H(ones / m) for every filter, without delimiters                Figure 4
//!   by context   nothing for a filter below a 0; for others the number of ones, given
//!                that of the filter above and of the one above that, then their positions
//! ```
//!
//! These are entropies; the coder is in `wire`.

use std::collections::BTreeMap;

use super::BloomTree;
use bloomgrove::raw::math::entropy;

/// How many filters of a level have this many ones, by the ones of the filters above.
pub(super) type Contexts = BTreeMap<(u32, u32), Vec<u64>>;

impl<S: AsRef<[u64]> + Sync> BloomTree<S> {
    /// The size of each level in bits, if all its filters are coded together: Eq. 7. In the paper's
    /// text, the equation is garbled; the size of a level is its bits times the entropy of its
    /// fill.
    pub fn level_entropy(&self) -> Vec<f64> {
        let of_level = |level| {
            let bits = self.shape.level_bits(level) as f64;
            bits * entropy(self.level_ones(level) as f64 / bits)
        };
        (0..self.shape.depth()).map(of_level).collect()
    }

    /// The size of each level in bits, if every filter is coded separately and its number of ones is
    /// known at no cost (ByBF of Figure 4).
    pub fn filter_entropy(&self) -> Vec<f64> {
        let of_level = |level: usize| {
            if level == 0 {
                return self.level_entropy()[0];
            }
            let bits = self.shape.levels()[level].bits;
            let mut filters = vec![0u64; bits as usize + 1];
            for filter in 0..self.shape.filters(level) {
                filters[self.pattern(level, filter).count_ones() as usize] += 1;
            }
            let of = |(ones, count): (usize, u64)| {
                count as f64 * bits as f64 * entropy(ones as f64 / bits as f64)
            };
            filters.into_iter().enumerate().map(of).sum()
        };
        (0..self.shape.depth()).map(of_level).collect()
    }

    /// The size of each level in bits with context coding, without the tables that the reader needs (a
    /// few hundred bytes).
    pub fn context_entropy(&self) -> Vec<f64> {
        let of_level = |level: usize| {
            if level == 0 {
                return self.level_entropy()[0];
            }
            let bits = self.shape.levels()[level].bits;
            let contexts = self.contexts(level);
            let of_context = |counts: &Vec<u64>| {
                let all = counts.iter().sum::<u64>() as f64;
                let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                let of = |(ones, count): (usize, &u64)| {
                    *count as f64
                        * ((all / *count as f64).log2() + choices(bits, ones as u64).log2())
                };
                counts.map(of).sum::<f64>()
            };
            contexts.values().map(of_context).sum()
        };
        (0..self.shape.depth()).map(of_level).collect()
    }
}

/// The number of ways in which `ones` of `bits` bits can be set.
fn choices(bits: u64, ones: u64) -> f64 {
    (0..ones).fold(1.0, |ways, i| ways * (bits - i) as f64 / (i + 1) as f64)
}
