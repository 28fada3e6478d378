//! The formulas, in the notation of the papers.
//!
//! | letter | in this library |
//! |---|---|
//! | m | `bits` |
//! | k | `hashes` |
//! | n | `items` |
//! | p | `fpr`, the false-positive rate |
//!
//! Source: Spyropoulos (Bloom filters), section 4, for the standard layout. The formula for the
//! blocked layout is our own: exact for the way `bits::line` places bits up to 8 hashes, and within
//! 5% for more (lanes are then assumed to be independent; `tests/library/rates.rs` measures it).

use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::sync::LazyLock;

use crate::bits::{LANES, LINE_BITS};
use crate::hash::{SPLIT_BITS, SPLIT_HASHES};
use crate::{Layout, MAX_BLOCKED_HASHES, Params};

/// The paper's `m = -n ln p / (ln 2)^2`: the fewest bits, if k could be a fraction.
pub fn optimal_bits(items: u64, fpr: f64) -> f64 {
    -(items as f64) * fpr.ln() / (LN_2 * LN_2)
}

/// The paper's `k = -log2 p`, before rounding.
pub fn optimal_hashes(fpr: f64) -> f64 {
    -fpr.log2()
}

/// `m = -k n / ln(1 - p^(1/k))`: the bits for an integer number of hashes.
pub fn standard_bits(items: u64, hashes: u32, fpr: f64) -> f64 {
    let k = f64::from(hashes);
    -k * items as f64 / (-fpr.powf(1.0 / k)).ln_1p()
}

/// `p = (1 - (1 - 1/m)^(k n))^k`: the false-positive rate of the standard layout.
pub fn standard_fpr(bits: u64, hashes: u32, items: u64) -> f64 {
    fill(bits, hashes, items).powi(hashes as i32)
}

/// `1 - (1 - 1/m)^(k n)`: the share of bits set by n items.
pub fn fill(bits: u64, hashes: u32, items: u64) -> f64 {
    if bits == 1 {
        return if items == 0 { 0.0 } else { 1.0 };
    }
    let draws = f64::from(hashes) * items as f64;
    -(draws * (-1.0 / bits as f64).ln_1p()).exp_m1()
}

/// The inverse of [`fill`]: `n = -m/k ln(1 - fill)`. Infinite at fill 1.
///
/// This also holds for the blocked layout: the items of a line are Poisson distributed, and the
/// mean of `z^c` over that distribution is the same exponential.
pub fn items_for_fill(bits: u64, hashes: u32, fill: f64) -> f64 {
    if fill >= 1.0 {
        return f64::INFINITY;
    }
    -(bits as f64) / f64::from(hashes) * (-fill).ln_1p()
}

/// The standard deviation of [`items_for_fill`] between different sets of n items.
///
/// The zero bits of a standard filter are those bins that kn balls miss. In a blocked filter the
/// lines also have different numbers of items, Poisson distributed with a given sum.
pub fn items_deviation(params: &Params, items: f64) -> f64 {
    let (m, k) = (params.bits() as f64, f64::from(params.hashes()));
    let load = k * items / m;
    // In units of bits squared; the estimate changes by 1 / (k e^-load) per bit.
    let zero = (-load).exp();
    let mut variance = m * zero * (1.0 - (1.0 + load) * zero);
    let line = match params.layout() {
        Layout::Standard => None,
        Layout::Blocked => Some(LINE_BITS as f64),
        Layout::SplitBlock => Some(SPLIT_BITS as f64),
    };
    if let Some(line) = line {
        let (lines, z) = (m / line, 1.0 - k / line);
        let mean = items / lines;
        let square = (-2.0 * mean * (1.0 - z)).exp();
        let between = (-mean * (1.0 - z * z)).exp() - square * (1.0 + mean * (1.0 - z).powi(2));
        variance += lines * line * line * between;
    }
    variance.max(0.0).sqrt() / (k * zero)
}

/// The binary entropy H(p): the information in a bit that is set with probability `p`, in bits.
pub fn entropy(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return 0.0;
    }
    // `ln_1p` keeps precision where p is tiny.
    -(p * p.ln() + (1.0 - p) * (-p).ln_1p()) / LN_2
}

/// `n log2(1/p)`: the fewest bits with which any structure can tell n items from all others at rate
/// p.
pub fn information_bits(items: u64, fpr: f64) -> f64 {
    -(items as f64) * fpr.log2()
}

/// `m H(fill)`: the size of a standard filter of n items once it is compressed, in bits.
pub fn compressed_bits(bits: u64, hashes: u32, items: u64) -> f64 {
    bits as f64 * entropy(fill(bits, hashes, items))
}

/// The standard deviation of [`compressed_bits`] between different sets of n items, as a share of
/// it. The variance of the number of empty bits is `m q (1 - (1 + c) q)`, where `c = k n / m` and
/// `q = e^-c`.
pub fn compressed_spread(bits: u64, hashes: u32, items: u64) -> f64 {
    let m = bits as f64;
    let c = f64::from(hashes) * items as f64 / m;
    let q = (-c).exp();
    let deviation = (m * q * (1.0 - (1.0 + c) * q)).max(0.0).sqrt();
    // The derivative of m H(q) with respect to the number of empty bits.
    let each = ((1.0 - q) / q).log2().abs();
    let coded = m * entropy(q);
    if coded > 0.0 {
        deviation * each / coded
    } else {
        0.0
    }
}

/// The size of a Golomb-coded set of n items at rate p, in bits. Each item is a number below N,
/// where N is chosen so that a share p of the numbers is taken, and the gaps between the numbers
/// are coded with the optimal parameter. Exact in expectation; the last gap is not sent.
pub fn golomb_bits(items: u64, fpr: f64) -> f64 {
    // Two items with the same number are sent once: N p numbers instead of n.
    let range = -(items as f64) / (-fpr).ln_1p();
    range * fpr * golomb_length(golomb_parameter(fpr), fpr)
}

/// The optimal Golomb parameter M for gaps between numbers of which a share p is taken: the
/// smallest with `q^M + q^(M + 1) <= 1`, where q = 1 - p (Gallager and Van Voorhis).
pub fn golomb_parameter(fpr: f64) -> u64 {
    let q = (-fpr).ln_1p();
    // q^M (1 + q) <= 1
    let exact = -q.exp().ln_1p() / q;
    (exact.ceil() as u64).max(1)
}

/// The mean length of the Golomb code of a gap: the quotient by M in unary, and the remainder in
/// `log2 M` bits, rounded down for small remainders and up for large ones.
fn golomb_length(parameter: u64, fpr: f64) -> f64 {
    let power = |exponent: u64| (exponent as f64 * (-fpr).ln_1p()).exp();
    let all = power(parameter);
    let floor = parameter.ilog2();
    let short = (2u64 << floor) - parameter;
    let long = (power(short) - all) / (1.0 - all);
    1.0 + all / (1.0 - all) + f64::from(floor) + long
}

/// The false-positive rate of the blocked layout: the mean over the number of items that share a
/// line. There are at most 16 hashes; more count as 16.
pub fn blocked_fpr(bits: u64, hashes: u32, items: u64) -> f64 {
    let line = LineRate::of(hashes);
    mean_over_line_load(bits / LINE_BITS, items, |load| line.fpr(load))
}

/// The mean over blocks of `(1 - (31/32)^c)^8`, where c items fall into one: the false-positive rate
/// of the split-block layout.
pub fn split_block_fpr(bits: u64, items: u64) -> f64 {
    let word = |load: f64| -(load * (-1.0f64 / 32.0).ln_1p()).exp_m1();
    mean_over_line_load(bits / SPLIT_BITS, items, |load| {
        word(load).powi(SPLIT_HASHES as i32)
    })
}

/// The mean of `rate(c)` where c of `items` fall into one of `lines`: a binomial mean, summed
/// outward from the most probable c until the terms vanish.
fn mean_over_line_load(lines: u64, items: u64, rate: impl Fn(f64) -> f64) -> f64 {
    if lines <= 1 {
        return rate(items as f64);
    }
    const NOTHING: f64 = 1e-18;
    let (n, odds) = (items as f64, 1.0 / (lines as f64 - 1.0));
    let mode = ((n + 1.0) / lines as f64).floor().min(n);
    // A line with this many items is full, and so are all others. There is no mean to compute, and
    // it would have too many terms.
    if mode > 100_000.0 {
        return rate(mode);
    }
    let (mut weights, mut sum) = (1.0, rate(mode));
    // The ratio of neighbouring binomial terms, up and then down from the mode.
    let (mut weight, mut c) = (1.0, mode);
    while c < n && weight > NOTHING {
        weight *= (n - c) / (c + 1.0) * odds;
        c += 1.0;
        weights += weight;
        sum += weight * rate(c);
    }
    (weight, c) = (1.0, mode);
    while c > 0.0 && weight > NOTHING {
        weight *= c / ((n - c + 1.0) * odds);
        c -= 1.0;
        weights += weight;
        sum += weight * rate(c);
    }
    sum / weights
}

/// The rate of one line as a function of its number of items.
enum LineRate {
    /// 8 hashes, one per lane: all lanes are alike and independent.
    AllLanes,
    /// Fewer than 8, each in a separate lane. By inclusion and exclusion over the lanes of a query:
    /// `sum of factor * base^c`, where base is the probability that one item sets none of the
    /// queried bits in a subset of the lanes. Terms with equal bases are merged.
    OnePerLane(Vec<(f64, f64)>),
    /// More than 8: some lanes have two bits of each item.
    TwoPerLane { hashes: u32 },
}

impl LineRate {
    /// Computed once for each number of hashes, since sizing many filters needs it often.
    fn of(hashes: u32) -> &'static Self {
        static ALL: LazyLock<Vec<LineRate>> =
            LazyLock::new(|| (0..=MAX_BLOCKED_HASHES).map(LineRate::new).collect());
        &ALL[hashes.min(MAX_BLOCKED_HASHES) as usize]
    }

    fn new(hashes: u32) -> Self {
        match hashes {
            LANES => return LineRate::AllLanes,
            _ if hashes > LANES => return LineRate::TwoPerLane { hashes },
            _ => {}
        }
        // The base of a subset of the queried lanes depends on this: for each lane at which an item
        // may begin, how many lanes of the subset it uses; in any order.
        let mut factors: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for subset in 0u32..1 << hashes {
            let in_subset = |lane: u32| lane < hashes && subset >> lane & 1 == 1;
            let mut shared: Vec<u32> = (0..LANES)
                .map(|first| {
                    let used = (0..hashes).filter(|i| in_subset((first + i) % LANES));
                    used.count() as u32
                })
                .collect();
            shared.sort_unstable();
            let sign = if subset.count_ones() % 2 == 0 {
                1.0
            } else {
                -1.0
            };
            *factors.entry(shared).or_default() += sign;
        }
        let terms = factors.into_iter().map(|(shared, factor)| {
            let sum: f64 = shared
                .iter()
                .map(|&count| (63.0 / 64.0f64).powi(count as i32))
                .sum();
            (factor, sum / f64::from(LANES))
        });
        LineRate::OnePerLane(terms.collect())
    }

    fn fpr(&self, load: f64) -> f64 {
        match self {
            LineRate::AllLanes => (1.0 - (63.0 / 64.0f64).powf(load)).powi(LANES as i32),
            LineRate::OnePerLane(terms) => terms
                .iter()
                .map(|(factor, base)| factor * base.powf(load))
                .sum::<f64>()
                .max(0.0),
            LineRate::TwoPerLane { hashes } => {
                let doubled = hashes - LANES;
                let share = f64::from(doubled) / f64::from(LANES);
                // The probability that `load` items leave x given places of a lane empty.
                let empty = |x: f64| {
                    let one = 1.0 - x / 64.0;
                    (one * (1.0 - share + share * one)).powf(load)
                };
                let one = 1.0 - empty(1.0);
                let both = 1.0 - 2.0 * empty(1.0) + empty(2.0);
                // Two queried places of one lane coincide with probability 1/64.
                let pair = one / 64.0 + both * 63.0 / 64.0;
                one.powi((LANES - doubled) as i32) * pair.powi(doubled as i32)
            }
        }
    }
}
