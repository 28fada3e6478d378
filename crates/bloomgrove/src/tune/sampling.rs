//! How large filters and trees are that items are to be sampled from.
//!
//! | letter | in this library |
//! |---|---|
//! | M | `names`, how many the namespace has |
//! | n | `items` of the set sampled from |
//! | FP | `fpr` |
//! | M⊥ | `leaf`, the names of a leaf of the tree |
//!
//! Source: seed document 001, section 5.4. Where its tables say "accuracy 1", .99 was
//! meant: no filter reaches 1, and .99 gives the sizes printed.

use super::math;

/// `acc = n / (n + (M - n) FP)`: of the names that a filter of `items` accepts, the share
/// that were inserted. 1 when there is nothing to accept.
///
/// ```
/// use bloomgrove::tune::accuracy;
///
/// // A thousand of a million, one false positive in a thousand: as many again.
/// assert!((accuracy(1_000_000, 1000, 0.001) - 0.5).abs() < 0.001);
/// ```
pub fn accuracy(names: u64, items: u64, fpr: f64) -> f64 {
    let wrong = names.saturating_sub(items) as f64 * fpr;
    if wrong <= 0.0 {
        return 1.0;
    }
    items as f64 / (items as f64 + wrong)
}

/// The bits of a filter whose [`accuracy`] is the one asked for: the m for which
/// `FP = (1 - e^(-kn/m))^k` gives it.
///
/// Infinite for an accuracy of 1 or more, which no filter has as long as there are names
/// beside the items, and 0 for one that an all-accepting filter has.
///
/// ```
/// // Table 3 of the sampling paper: ten million names, a thousand items, accuracy .9.
/// let bits = bloomgrove::tune::bits_for_accuracy(10_000_000, 1000, 3, 0.9);
/// assert_eq!(bits.ceil(), 132_933.0);
/// ```
pub fn bits_for_accuracy(names: u64, items: u64, hashes: u32, accuracy: f64) -> f64 {
    let (n, others) = (items as f64, names.saturating_sub(items) as f64);
    let fpr = n * (1.0 - accuracy) / (accuracy * others);
    if fpr >= 1.0 {
        return 0.0;
    }
    if fpr <= 0.0 {
        return f64::INFINITY;
    }
    math::standard_bits(items, hashes, fpr)
}

/// The most names N of a leaf for which asking them all is no dearer than going down
/// further: `N / log2 N <= intersection / membership`, the costs of one of each. 1 when
/// even two names are better told apart by an intersection.
///
/// ```
/// use bloomgrove::tune::leaf_size;
///
/// assert_eq!(leaf_size(128.0, 1.0), 1024 + 230);
/// ```
pub fn leaf_size(intersection: f64, membership: f64) -> u64 {
    let ratio = intersection / membership;
    let fits = |names: u64| names as f64 / (names as f64).log2() <= ratio;
    // N / log2 N falls up to e and then rises: 2 and 4 have the same, 3 has less.
    if !fits(3) {
        return 1;
    }
    let (mut low, mut high) = (3, u64::MAX);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// How many levels below its root a tree over `names` has whose leaves hold `leaf` names:
/// the least d with `names / 2^d`, rounded down, at most `leaf`.
///
/// ```
/// // Table 3 of the sampling paper.
/// assert_eq!(bloomgrove::tune::tree_depth(10_000_000, 2441), 12);
/// ```
pub fn tree_depth(names: u64, leaf: u64) -> u32 {
    let leaf = leaf.max(1);
    (0..64).find(|d| names >> d <= leaf).unwrap_or(63)
}
