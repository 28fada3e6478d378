//! Estimates from the bits alone: fill, number of keys, false-positive rate.

use super::Filter;
use crate::bits::{self, LANES, LINE_WORDS};
use crate::tune::math;
use crate::{Error, Layout};

impl<S: AsRef<[u64]>> Filter<S> {
    /// Returns the number of bits that are set.
    pub fn count_ones(&self) -> u64 {
        bits::count(self.words())
    }

    /// Returns the share of bits that are set, from 0 to 1.
    pub fn fill(&self) -> f64 {
        self.params.fill(self.count_ones())
    }

    /// Estimates from the fill how many distinct keys were inserted. Infinite if every bit is set,
    /// since such a filter may contain any number of keys.
    pub fn estimated_items(&self) -> f64 {
        self.items_for_ones(self.count_ones())
    }

    /// Estimates how many keys this filter and `other` have in common, from the fill of both and of
    /// their union. The estimate is poor if they have few keys in common compared with their size.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the parameters differ.
    pub fn estimated_common_items<T: AsRef<[u64]>>(&self, other: &Filter<T>) -> Result<f64, Error> {
        self.params.check_equal(&other.params)?;
        let union = self.items_for_ones(bits::or_count(self.words(), other.words()));
        let sum = self.estimated_items() + other.estimated_items();
        // Two saturated filters: infinity minus infinity would be NaN.
        let common = if union.is_infinite() {
            union
        } else {
            sum - union
        };
        Ok(common.max(0.0))
    }

    /// Returns the expected false-positive rate, given the bits that are set now.
    ///
    /// For the standard layout this is the fill to the power of k. For the blocked layouts it is the
    /// mean of the rates of all lines, which is higher, because lines are filled unevenly.
    pub fn expected_fpr(&self) -> f64 {
        match self.params.layout() {
            Layout::Standard => self.fill().powi(self.params.hashes() as i32),
            Layout::Blocked => {
                let (lines, _) = self.words().as_chunks();
                let hashes = self.params.hashes();
                let sum: f64 = lines.iter().map(|line| line_fpr(line, hashes)).sum();
                sum / lines.len() as f64
            }
            Layout::SplitBlock => {
                let (blocks, _) = self.words().as_chunks();
                let sum: f64 = blocks.iter().map(block_fpr).sum();
                sum / blocks.len() as f64
            }
        }
    }

    fn items_for_ones(&self, ones: u64) -> f64 {
        math::items_for_fill(
            self.params.bits(),
            self.params.hashes(),
            self.params.fill(ones),
        )
    }
}

/// Returns the share of patterns that this line accepts: the mean, over the eight lanes at which a
/// pattern may begin, of the product of the fills of the lanes it uses.
fn line_fpr(line: &[u64; LINE_WORDS], hashes: u32) -> f64 {
    let counts = line.map(u64::count_ones);
    // By far the most common case, in integers: at most 64^8 = 2^48.
    if hashes == LANES {
        let product: u64 = counts.iter().map(|&count| u64::from(count)).product();
        return product as f64 / (1u64 << 48) as f64;
    }
    let fill = counts.map(|count| f64::from(count) / 64.0);
    let accepts = |first: u32| -> f64 {
        (0..hashes)
            .map(|i| fill[((first + i) % LANES) as usize])
            .product()
    };
    (0..LANES).map(accepts).sum::<f64>() / f64::from(LANES)
}

/// Returns the share of keys that this split block accepts: the product of the fills of its words.
fn block_fpr(block: &[u64; 4]) -> f64 {
    let fills = block.map(|pair| (pair as u32).count_ones() * ((pair >> 32) as u32).count_ones());
    fills.iter().map(|&fill| f64::from(fill) / 1024.0).product()
}
