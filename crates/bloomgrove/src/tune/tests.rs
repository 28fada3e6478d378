use super::*;

#[test]
fn the_seeds_formulas() {
    // m = -n ln p / (ln 2)^2 and k = -log2 p, for a million items at one in a hundred.
    assert!((math::optimal_bits(1_000_000, 0.01) - 9_585_058.4).abs() < 1.0);
    assert!((math::optimal_hashes(0.01) - 6.643_856).abs() < 1e-6);
}

#[test]
fn every_plan_reaches_its_rate_and_little_more() {
    for items in [1, 2, 10, 100, 1000, 123_456, 10_000_000] {
        for fpr in [0.5, 0.1, 0.01, 0.001, 1e-4, 1e-6, 1e-9] {
            let plan = standard(items, fpr).unwrap();
            assert!(plan.fpr <= fpr, "{plan:?}");
            if items >= 1000 {
                let bound = math::optimal_bits(items, fpr) * 1.04 + 64.0;
                assert!((plan.bits as f64) < bound, "{plan:?} over {bound}");
            }
            if let Ok(plan) = blocked(items, fpr) {
                assert!(plan.fpr <= fpr, "{plan:?}");
                assert!(plan.params().is_ok());
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
    let plan = first_prime(1000).unwrap();
    assert_eq!((plan.bits, plan.hashes), (3001, 3));
    assert!((plan.fpr - 0.2525).abs() < 0.001);
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
        message.contains("64 bits") && message.contains("xxh3-128"),
        "{message}"
    );
    let plan = recommend(items, fpr).unwrap();
    assert_eq!(plan.family, Family::Xxh3Wide);
    assert!(plan.why.contains("128"));
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
        (u64::MAX, 0.01, "bits, the most"),
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
        let plan = blocked(items, fpr).unwrap();
        assert!(plan.fpr <= fpr && plan.params().is_ok(), "{plan:?}");
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

#[test]
fn the_blocked_rate_of_one_line_is_that_of_its_load() {
    // All items in the one line: no mean to take.
    let one = math::blocked_fpr(512, 8, 40);
    assert!((one - (1.0 - (63.0f64 / 64.0).powi(40)).powi(8)).abs() < 1e-12);
    // Far too many items end at once, in a rate of 1.
    assert_eq!(math::blocked_fpr(1024, 8, u64::MAX), 1.0);
    assert_eq!(math::blocked_fpr(1024, 3, u64::MAX), 1.0);
    assert_eq!(math::blocked_fpr(1024, 11, u64::MAX), 1.0);
    assert_eq!(math::blocked_fpr(512, 8, 0), 0.0);
    assert_eq!(math::blocked_fpr(5120, 5, 0), 0.0);
}
