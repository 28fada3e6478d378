//! What the bits alone say: how full, how many keys, how often wrong.

use super::Filter;
use crate::bits::{self, LANES, LINE_WORDS};
use crate::tune::math;
use crate::{Error, Layout};

impl<S: AsRef<[u64]>> Filter<S> {
    /// How many bits are set.
    pub fn count_ones(&self) -> u64 {
        bits::count(self.words())
    }

    /// The share of bits that are set, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.params.fill(self.count_ones())
    }

    /// How many distinct keys were inserted, judged by the fill. Infinite when
    /// every bit is set: such a filter holds any number.
    pub fn estimated_items(&self) -> f64 {
        self.items_for_ones(self.count_ones())
    }

    /// How many keys this and `other` share, judged by the fill of both and of
    /// their union. Good when the common part is not small beside the whole.
    ///
    /// # Errors
    /// [`Error::Incompatible`] when the parameters differ.
    pub fn estimated_common_items<T: AsRef<[u64]>>(&self, other: &Filter<T>) -> Result<f64, Error> {
        self.params.check_equal(&other.params)?;
        let union = self.items_for_ones(bits::or_count(self.words(), other.words()));
        let sum = self.estimated_items() + other.estimated_items();
        // Two saturated filters: infinity minus infinity says nothing but "many".
        let common = if union.is_infinite() {
            union
        } else {
            sum - union
        };
        Ok(common.max(0.0))
    }

    /// How often an absent key would be accepted, as the bits now stand.
    ///
    /// For the standard layout, fill to the power of k. For the blocked layout the
    /// mean over its lines of what each would accept, which is higher, because
    /// lines are filled unevenly.
    pub fn expected_fpr(&self) -> f64 {
        match self.params.layout() {
            Layout::Standard => self.fill().powi(self.params.hashes() as i32),
            Layout::Blocked => {
                let (lines, _) = self.words().as_chunks();
                let hashes = self.params.hashes();
                let sum: f64 = lines.iter().map(|line| line_fpr(line, hashes)).sum();
                sum / lines.len() as f64
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

/// The share of patterns that this line would accept: over the eight lanes a
/// pattern may begin at, the product of the fills of the lanes it uses.
fn line_fpr(line: &[u64; LINE_WORDS], hashes: u32) -> f64 {
    let counts = line.map(u64::count_ones);
    // The commonest case by far, in integers: at most 64^8 = 2^48.
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
