//! False-positive rates against theory: fixed seeds, two-sided bounds.

use crate::support::{assert_rate, scatter};
use bloomgrove::raw::hash::first_prime_from;
use bloomgrove::{Derivation, Family, Filter, Layout, Params, raw::tune};

const ABSENT: u64 = 1 << 40;

fn filled(params: &Params, items: u64) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    let mut keys = Vec::new();
    for start in (0..items).step_by(1 << 20) {
        keys.clear();
        keys.extend((start..items.min(start + (1 << 20))).map(scatter));
        filter.insert_batch(&keys);
    }
    filter
}

/// How many of `queries` absent keys are accepted.
fn accepted(filter: &Filter, queries: u64) -> u64 {
    let mut found = vec![false; 1 << 16];
    let mut count = 0;
    for start in (0..queries).step_by(1 << 16) {
        let keys: Vec<u64> = (start..queries.min(start + (1 << 16)))
            .map(|i| scatter(ABSENT + i))
            .collect();
        let found = &mut found[..keys.len()];
        filter.contains_batch(&keys, found);
        count += found.iter().filter(|&&yes| yes).count() as u64;
    }
    count
}

fn check_standard(items: u64, fpr: f64, queries: u64) {
    let plan = tune::standard(items, fpr).unwrap();
    let filter = filled(&plan.params().unwrap(), items);
    // The fill is itself random; its deviation is far below that of the count.
    assert!(
        (filter.fill() / bloomgrove::raw::math::fill(plan.bits, plan.hashes, items) - 1.0).abs()
            < 0.005
    );
    let hits = accepted(&filter, queries);
    assert_rate(hits, queries, plan.fpr, &format!("{items} items, standard"));
    assert_rate(
        hits,
        queries,
        filter.expected_fpr(),
        "as the filter itself expects",
    );
}

/// The prediction must be within 5% of the measured rate, and the measured rate
/// known to better than that.
fn check_blocked(items: u64, hashes: u32, bits: u64, queries: u64) {
    let params = Params::builder(bits, hashes).layout(Layout::Blocked);
    let predicted = bloomgrove::raw::math::blocked_fpr(bits, hashes, items);
    check_lines(params.build().unwrap(), items, queries, predicted);
}

fn check_lines(params: Params, items: u64, queries: u64, predicted: f64) {
    let filter = filled(&params, items);
    let hits = accepted(&filter, queries);
    assert!(hits > 5000, "{hits} hits are too few to tell 5%");
    let measured = hits as f64 / queries as f64;
    for predicted in [predicted, filter.expected_fpr()] {
        let off = measured / predicted - 1.0;
        assert!(
            off.abs() < 0.05,
            "{params}, {items} items: {measured:e} measured, {predicted:e} predicted"
        );
    }
}

#[test]
fn standard_rates_are_those_of_theory() {
    check_standard(1_000_000, 0.01, 4_000_000);
    check_standard(1_000_000, 0.1, 1_000_000);
    check_standard(100_000, 1e-4, 20_000_000);
    check_standard(100_000, 0.5, 500_000);
}

#[test]
fn blocked_rates_are_those_predicted_for_any_number_of_hashes() {
    for hashes in 1..=16 {
        // About half full lines, where the rate is 2^-k, held above 1e-4.
        let items = 100_000;
        let per_key = if hashes <= 12 {
            1.44 * f64::from(hashes)
        } else {
            14.0
        };
        let bits = ((items as f64 * per_key) as u64).next_multiple_of(512);
        check_blocked(items, hashes, bits, 4_000_000 << (hashes / 4));
    }
    let plan = tune::blocked(1_000_000, 0.01).unwrap();
    check_blocked(1_000_000, plan.hashes, plan.bits, 4_000_000);
}

#[test]
fn split_block_rates_are_those_predicted() {
    for (items, bits) in [(100_000, 1 << 20), (20_000, 1 << 18), (100_000, 1_000_192)] {
        let params = Params::builder(bits, 8).layout(Layout::SplitBlock);
        let params = params.family(Family::Xxh64).build().unwrap();
        let predicted = bloomgrove::raw::math::split_block_fpr(bits, items);
        check_lines(params, items, 4_000_000, predicted);
    }
}

#[test]
fn rates_hold_at_a_hundred_million_keys() {
    check_standard(100_000_000, 0.01, 4_000_000);
    let plan = tune::blocked(100_000_000, 0.01).unwrap();
    check_blocked(100_000_000, plan.hashes, plan.bits, 4_000_000);
}

#[test]
fn every_family_reaches_the_rate() {
    let (items, queries) = (200_000, 2_000_000);
    for family in [
        Family::Xxh3,
        Family::Xxh3Wide,
        Family::Murmur3,
        Family::Md5,
        Family::SipHash { key: [1; 16] },
    ] {
        for derivation in [Derivation::Independent, Derivation::KirschMitzenmacher] {
            // A prime size, where double hashing has no short cycles.
            let bits = first_prime_from(items * 10).unwrap();
            let params = Params::builder(bits, 7)
                .family(family.clone())
                .derivation(derivation)
                .build()
                .unwrap();
            let hits = accepted(&filled(&params, items), queries);
            let theory = bloomgrove::raw::math::standard_fpr(bits, 7, items);
            assert_rate(hits, queries, theory, &params.to_string());
        }
    }
}

/// The estimate of the number of items varies between seeds as much as predicted.
#[test]
fn estimates_deviate_as_predicted() {
    const SEEDS: u64 = 200;
    for (layout, bits) in [
        (Layout::Standard, 20_000),
        (Layout::Blocked, 20_480),
        (Layout::Blocked, 51_200),
    ] {
        let params = |seed| {
            let builder = Params::builder(bits, 6).layout(layout).seed(seed);
            builder.build().unwrap()
        };
        let errors = (0..SEEDS).map(|seed| {
            let mut filter = Filter::new(params(seed)).unwrap();
            filter.insert_batch(&(0..3000u64).collect::<Vec<_>>());
            filter.estimated_items() - 3000.0
        });
        let measured = (errors.map(|error| error * error).sum::<f64>() / SEEDS as f64).sqrt();
        let predicted = bloomgrove::raw::math::items_deviation(&params(0), 3000.0);
        // The deviation of 200 samples is itself within 5%, so this is four times that.
        let ratio = measured / predicted;
        assert!(
            (0.8..1.2).contains(&ratio),
            "{layout:?} {bits}: {measured} {predicted}"
        );
    }
}
