//! The sizes of filters and trees for sampling items.
//!
//! | letter | in this library |
//! |---|---|
//! | M | `names`, the size of the namespace |
//! | n | `items` of the set sampled from |
//! | FP | `fpr` |
//! | M⊥ | `leaf`, the names of a leaf of the tree |
//!
//! Source: Sengupta et al. (sampling), section 5.4. Where its tables say "accuracy 1", 0.99 was
//! meant: no filter reaches 1, and 0.99 gives the sizes printed.

use super::math;

/// `acc = n / (n + (M - n) FP)`: of the names that a filter of `items` accepts, the share that were
/// inserted. 1 if it accepts nothing.
///
/// ```
/// use bloomgrove::tune::accuracy;
///
/// // A thousand of a million, false-positive rate 0.001: as many false positives as items.
/// assert!((accuracy(1_000_000, 1000, 0.001) - 0.5).abs() < 0.001);
/// ```
pub fn accuracy(names: u64, items: u64, fpr: f64) -> f64 {
    let wrong = names.saturating_sub(items) as f64 * fpr;
    if wrong <= 0.0 {
        return 1.0;
    }
    items as f64 / (items as f64 + wrong)
}

/// The bits of a filter with this [`accuracy`]: the m for which `FP = (1 - e^(-kn/m))^k` yields it.
///
/// Infinite for an accuracy of 1 or more, which no filter reaches unless every name is an item. 0 if
/// even a filter that accepts every name is accurate enough.
///
/// ```
/// // Table 3 of the sampling paper: ten million names, a thousand items, accuracy 0.9.
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

/// The largest number N of names in a leaf for which testing all of them is not more expensive than
/// descending further: `N / log2 N <= intersection / membership`, the costs of one intersection and
/// one test. 1 if an intersection is cheaper even for two names.
///
/// ```
/// use bloomgrove::raw::tune::leaf_size;
///
/// // Ten intersections cost as much as testing 1024 names.
/// assert_eq!(leaf_size(102.4, 1.0), 1024);
/// ```
pub fn leaf_size(intersection: f64, membership: f64) -> u64 {
    let ratio = intersection / membership;
    let fits = |names: u64| names as f64 / (names as f64).log2() <= ratio;
    // N / log2 N falls up to e and then rises: it is equal at 2 and 4, and smaller at 3.
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

/// The number of levels below the root of a tree over `names` whose leaves contain `leaf` names:
/// the smallest d with `names / 2^d`, rounded down, at most `leaf`.
///
/// ```
/// // Table 3 of the sampling paper.
/// assert_eq!(bloomgrove::raw::tune::tree_depth(10_000_000, 2441), 12);
/// ```
pub fn tree_depth(names: u64, leaf: u64) -> u32 {
    let leaf = leaf.max(1);
    (0..64).find(|d| names >> d <= leaf).unwrap_or(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n = 1000 and k = 3; M, accuracy and m of Table 4.
    const TABLE_4: [(u64, f64, f64); 15] = [
        (100_000, 0.5, 12317.0),
        (100_000, 0.6, 14334.0),
        (100_000, 0.7, 16863.0),
        (100_000, 0.8, 20494.0),
        (100_000, 0.9, 27340.0),
        (1_000_000, 0.5, 28464.0),
        (1_000_000, 0.6, 32807.0),
        (1_000_000, 0.7, 38258.0),
        (1_000_000, 0.8, 46090.0),
        (1_000_000, 0.9, 60869.0),
        (10_000_000, 0.5, 63119.0),
        (10_000_000, 0.6, 72474.0),
        (10_000_000, 0.7, 84214.0),
        (10_000_000, 0.8, 101_088.0),
        (10_000_000, 0.9, 132_932.0),
    ];
    /// The other values of Tables 2 and 3. The rest repeats Table 4, most of it one higher, 101,088
    /// as 101,090, and 46,090 by mistake as 46,000.
    const TABLES_2_AND_3: [(u64, f64, f64); 2] =
        [(1_000_000, 0.99, 137_230.0), (10_000_000, 0.99, 297_485.0)];

    #[test]
    fn the_papers_filter_sizes() {
        for (names, accuracy, published) in TABLE_4.into_iter().chain(TABLES_2_AND_3) {
            let bits = bits_for_accuracy(names, 1000, 3, accuracy);
            assert!(
                (bits - published).abs() <= 2.0,
                "{names} {accuracy}: {bits} for {published}"
            );
        }
    }

    #[test]
    fn the_papers_depths() {
        // Tables 2 and 3: M, the names of a leaf, the depth.
        for (names, leaf, depth) in [
            (1_000_000, 976, 10),
            (1_000_000, 1953, 9),
            (1_000_000, 15625, 6),
            (10_000_000, 1220, 13),
            (10_000_000, 2441, 12),
            (10_000_000, 9765, 10),
        ] {
            assert_eq!(tree_depth(names, leaf), depth);
            assert_eq!(names >> depth, leaf);
        }
    }

    #[test]
    fn bits_and_accuracy_are_inverse() {
        for names in [5000, 1_000_000, 1 << 40] {
            for hashes in [1, 3, 7] {
                for wanted in [0.3, 0.5, 0.9, 0.999] {
                    let bits = bits_for_accuracy(names, 1000, hashes, wanted);
                    let fpr = math::standard_fpr(bits.ceil() as u64, hashes, 1000);
                    let got = accuracy(names, 1000, fpr);
                    assert!((got - wanted).abs() < 0.002, "{names} {hashes}: {got}");
                }
            }
        }
    }

    #[test]
    fn accuracies_that_need_no_bits_or_endlessly_many() {
        assert_eq!(bits_for_accuracy(1000, 500, 3, 0.5), 0.0);
        assert_eq!(bits_for_accuracy(1000, 500, 3, 0.0), 0.0);
        assert_eq!(bits_for_accuracy(1000, 500, 3, 1.0), f64::INFINITY);
        // No other names: any filter will do.
        assert_eq!(bits_for_accuracy(1000, 1000, 3, 0.9), 0.0);
        assert_eq!(accuracy(1000, 1000, 0.5), 1.0);
        assert_eq!(accuracy(1000, 0, 0.5), 0.0);
        assert_eq!(accuracy(0, 0, 0.5), 1.0);
    }

    #[test]
    fn the_leaf_is_the_largest_that_is_worth_asking() {
        let ratio = |names: u64| names as f64 / (names as f64).log2();
        for names in [4, 5, 10, 1000, 123_456, 1 << 40] {
            let between = (ratio(names) + ratio(names + 1)) / 2.0;
            assert_eq!(leaf_size(between, 1.0), names);
            assert_eq!(leaf_size(between * 7.0, 7.0), names);
        }
        for ratio in [0.0, 1.0, 1.8, -1.0, f64::NAN] {
            assert_eq!(leaf_size(ratio, 1.0), 1);
        }
        assert_eq!(leaf_size(1.0, 0.0), u64::MAX);
    }

    #[test]
    fn no_tree_is_deeper_than_its_names_allow() {
        for names in [1, 2, 3, 7, 8, 1000, u64::MAX] {
            let deepest = tree_depth(names, 1);
            assert_eq!(deepest, names.ilog2());
            assert_eq!(tree_depth(names, 0), deepest);
            assert_eq!(tree_depth(names, names), 0);
        }
        assert_eq!(tree_depth(0, 1), 0);
    }
}
