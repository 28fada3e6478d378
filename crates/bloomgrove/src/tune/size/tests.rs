use super::*;

#[test]
fn the_seeds_formulas() {
    // m = -n ln p / (ln 2)^2 and k = -log2 p, for a million items at one in a hundred.
    assert!((math::optimal_bits(1_000_000, 0.01) - 9_585_058.4).abs() < 1.0);
    assert!((math::optimal_hashes(0.01) - 6.643_856).abs() < 1e-6);
}

#[test]
fn every_size_reaches_its_rate_and_little_more() {
    for items in [1, 2, 10, 100, 1000, 123_456, 10_000_000] {
        for fpr in [0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6, 1e-9] {
            let size = standard(items, fpr).unwrap();
            assert!(size.fpr <= fpr, "{size:?}");
            if items >= 1000 {
                let bound = math::optimal_bits(items, fpr) * 1.04 + 64.0;
                assert!((size.bits as f64) < bound, "{size:?} over {bound}");
            }
            if let Ok(size) = blocked(items, fpr) {
                assert!(size.fpr <= fpr, "{size:?}");
                assert!(size.params().is_ok());
            }
        }
    }
}

#[test]
fn the_cost_of_blocks_is_as_documented() {
    let cost = |fpr| {
        let (plain, lined) = (standard(1_000_000, fpr), blocked(1_000_000, fpr));
        lined.unwrap().bits as f64 / plain.unwrap().bits as f64
    };
    assert!((1.04..1.06).contains(&cost(1e-2)), "{}", cost(1e-2));
    assert!((1.08..1.10).contains(&cost(1e-3)), "{}", cost(1e-3));
    assert!((1.14..1.17).contains(&cost(1e-4)), "{}", cost(1e-4));
}

#[test]
fn the_layout_switches_by_target() {
    let layout = |fpr| recommend(1_000_000, fpr).unwrap().layout;
    assert_eq!(layout(1e-2), Layout::Blocked);
    assert_eq!(layout(1e-3), Layout::Blocked);
    assert_eq!(layout(1e-4), Layout::Standard);
}

#[test]
fn the_first_prime_proposal() {
    let size = first_prime(1000).unwrap();
    assert_eq!((size.bits, size.hashes), (3001, 3));
    assert!((size.fpr - 0.2525).abs() < 0.001);
    assert!(first_prime(0).is_err());
    assert!(first_prime(u64::MAX / 2).is_err());
}

#[test]
fn sixty_four_bits_are_refused_where_they_are_too_few() {
    let (items, fpr) = (10_000_000_000, 1e-9);
    let message = choose(items, fpr, None, Some(Family::Xxh3))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("64-bit hash") && message.contains("xxh3-128"),
        "{message}"
    );
    let size = recommend(items, fpr).unwrap();
    assert_eq!(size.family, Family::Xxh3Wide);
    assert!(size.why.contains("128"));
}

#[test]
fn impossible_targets_say_why() {
    for (items, fpr, part) in [
        (0, 0.01, "at least 1"),
        (10, 0.0, "above 0"),
        (10, 1.0, "below 1"),
        (10, f64::NAN, "above 0"),
        (10, -0.5, "above 0"),
        (10, 1e-300, "hashes"),
        (u64::MAX, 0.01, "bits, the maximum"),
    ] {
        let message = recommend(items, fpr).unwrap_err().to_string();
        assert!(message.contains(part), "{message:?} should say {part:?}");
    }
}

#[test]
fn blocked_filters_are_found_wherever_there_is_one() {
    for (items, fpr) in [
        (1_000_000, 1e-6),
        (2, 1e-6),
        (2_000_000_000_000, 0.01),
        (1000, 0.999),
    ] {
        let size = blocked(items, fpr).unwrap();
        assert!(size.fpr <= fpr && size.params().is_ok(), "{size:?}");
    }
    for layout in [None, Some(Layout::Standard), Some(Layout::Blocked)] {
        assert!(choose(u64::MAX, 0.01, layout, None).is_err());
    }
    assert!(blocked(u64::MAX, 0.999).is_err());
}

#[test]
fn fill_and_its_inverse() {
    for (bits, hashes, items) in [(1000, 3, 100), (1 << 20, 7, 100_000), (512, 8, 3)] {
        let fill = math::fill(bits, hashes, items);
        let back = math::items_for_fill(bits, hashes, fill);
        assert!((back / items as f64 - 1.0).abs() < 0.01, "{back}");
    }
    assert_eq!(math::items_for_fill(100, 3, 1.0), f64::INFINITY);
    assert_eq!(math::items_for_fill(100, 3, 0.0), 0.0);
}

/// The bits of `x` in a Golomb code, one by one.
fn golomb_code(x: u64, parameter: u64) -> Vec<bool> {
    let mut code = vec![true; (x / parameter) as usize];
    code.push(false);
    let (rest, floor) = (x % parameter, parameter.ilog2());
    let short = (2u64 << floor) - parameter;
    let (value, width) = match rest < short {
        true => (rest, floor),
        false => (rest + short, floor + 1),
    };
    code.extend((0..width).rev().map(|i| value >> i & 1 == 1));
    code
}

#[test]
fn golomb_sizes_are_those_of_codes_really_written() {
    use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
    let items = 50_000u64;
    for fpr in [0.3f64, 0.1, 0.01, 1e-3, 1e-6] {
        let range = (-(items as f64) / (-fpr).ln_1p()).round() as u64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut taken: Vec<u64> = (0..items).map(|_| random.random_range(0..range)).collect();
        taken.sort_unstable();
        taken.dedup();
        // A share p of the numbers is taken, which is then the rate.
        let share = taken.len() as f64 / range as f64;
        assert!((share / fpr - 1.0).abs() < 0.01, "{fpr}: {share}");
        let length = |parameter: u64| -> u64 {
            let firsts = std::iter::once(taken[0]);
            let gaps = firsts.chain(taken.windows(2).map(|two| two[1] - two[0] - 1));
            gaps.map(|gap| golomb_code(gap, parameter).len() as u64)
                .sum()
        };
        let best = math::golomb_parameter(fpr);
        let (real, said) = (length(best) as f64, math::golomb_bits(items, fpr));
        assert!(
            (said / real - 1.0).abs() < 0.005,
            "{fpr}: {said} for {real}"
        );
        // No other parameter does better, except by chance.
        for other in [best / 2, best - best / 4, best + 1 + best / 4, best * 2] {
            let other = length(other.max(1)) as f64;
            assert!(real <= other * 1.002, "{fpr}: {real} and {other}");
        }
    }
}

#[test]
fn compressed_sizes_are_those_of_the_literature() {
    // H(p) / -ln(1 - p) bits per item with one hash: always below the standard filter, and always
    // above the bound.
    for fpr in [0.3f64, 0.1, 0.01, 1e-3, 1e-6] {
        let items = 1_000_000;
        let bits = math::standard_bits(items, 1, fpr).round() as u64;
        let coded = math::compressed_bits(bits, 1, items);
        let per_item = math::entropy(fpr) / -(-fpr).ln_1p();
        assert!(
            (coded / items as f64 / per_item - 1.0).abs() < 1e-3,
            "{fpr}"
        );
        assert!(coded < math::optimal_bits(items, fpr));
        assert!(coded > math::information_bits(items, fpr));
        // Golomb codes are nearly as good.
        let golomb = math::golomb_bits(items, fpr);
        assert!(
            golomb > coded && golomb < coded * 1.05,
            "{fpr}: {golomb} {coded}"
        );
    }
    assert_eq!((math::entropy(0.0), math::entropy(1.0)), (0.0, 0.0));
    assert!((math::entropy(0.5) - 1.0).abs() < 1e-15);
    assert!((math::entropy(0.11) - 0.4999).abs() < 1e-3);
    // log2(1/p) + 1/ln 2 bits for each of a few.
    let few = math::entropy(1e-12) / 1e-12;
    assert!(
        (few - (1e12f64.log2() + std::f64::consts::LOG2_E)).abs() < 1e-3,
        "{few}"
    );
}

#[test]
fn the_blocked_rate_of_one_line_is_that_of_its_load() {
    // All items in the only line: there is no mean to compute.
    let one = math::blocked_fpr(512, 8, 40);
    assert!((one - (1.0 - (63.0f64 / 64.0).powi(40)).powi(8)).abs() < 1e-12);
    // Far too many items finish at once, with a rate of 1.
    assert_eq!(math::blocked_fpr(1024, 8, u64::MAX), 1.0);
    assert_eq!(math::blocked_fpr(1024, 3, u64::MAX), 1.0);
    assert_eq!(math::blocked_fpr(1024, 11, u64::MAX), 1.0);
    assert_eq!(math::blocked_fpr(512, 8, 0), 0.0);
    assert_eq!(math::blocked_fpr(5120, 5, 0), 0.0);
}
