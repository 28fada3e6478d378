//! Every exact sampler is uniform: judged over many seeds, as one run proves nothing.

use bloomgrove::raw::hash::first_prime_from;
use bloomgrove::raw::sample::{Calibration, Uniformity};
use bloomgrove::sample::{
    Method, Name, NameIndex, NameIndexOptions, Namespace, Query, Reconstruction, SampleOptions,
    Sampler,
};
use bloomgrove::{Affine, Family, Filter, Params, tune};

const NAMES: u64 = 1_000_000;
/// How many sets of `items` are drawn from: the larger ones take longer, and say more each.
/// (`cargo run --release -p experiments -- sampling calibration --full` draws from a hundred of each.)
fn seeds(items: u64) -> u64 {
    10_000 / items
}

/// The paper's number of draws for each item.
const DRAWS: usize = 130;

fn integer(name: &Name) -> u64 {
    match name {
        Name::Integer(number) => *number,
        Name::Text(text) => panic!("{text:?}"),
    }
}

/// The size of the paper's Table 2, for accuracy .9.
fn params(items: u64, family: Family) -> Params {
    let bits = tune::bits_for_accuracy(NAMES, items, 3, 0.9).ceil() as u64;
    Params::builder(bits, 3).family(family).build().unwrap()
}

/// A filter of `items` names that look random.
fn filter(params: &Params, items: u64, seed: u64) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    let keys: Vec<u64> = (0..items)
        .map(|i| crate::support::scatter(seed << 32 | i) % NAMES)
        .collect();
    filter.insert_batch(&keys);
    filter
}

/// Draws from many sets by one method.
fn calibrate(index: &NameIndex, items: u64, method: Method) -> Calibration {
    let runs = |seed| {
        let filter = filter(index.params(), items, seed);
        let members = Reconstruction::new(&filter, index)
            .unwrap()
            .integers()
            .unwrap();
        let draws = DRAWS * items as usize;
        let options = SampleOptions {
            seed,
            method: Some(method),
            draws: draws as u64,
            ..SampleOptions::default()
        };
        let mut sampler = Sampler::with(&filter, index, &options).unwrap();
        let drawn = sampler.draw(draws).unwrap();
        Uniformity::of_draws(&members, drawn.iter().map(integer))
    };
    let halves: Vec<Vec<Uniformity>> = std::thread::scope(|scope| {
        let half =
            |from: u64| scope.spawn(move || (from..seeds(items)).step_by(2).map(runs).collect());
        let halves = [half(0), half(1)];
        halves.map(|half| half.join().unwrap()).into()
    });
    Calibration::of(&halves.concat())
}

fn assert_uniform(calibration: Calibration, what: &str) {
    println!("{what}: {calibration:?}");
    let suspicious = (calibration.suspicious * calibration.runs as f64).round();
    assert!(
        suspicious <= (0.04 * calibration.runs as f64).max(1.0),
        "{what}: {calibration:?}"
    );
    // Five deviations of the mean, so that a fair sampler fails once in a million.
    let off = (calibration.mean_ratio - 1.0).abs() / calibration.deviation;
    assert!(off < 5.0, "{what}: {calibration:?}");
    assert_eq!(calibration.never, 0, "{what}: {calibration:?}");
}

fn index(items: u64, family: Family) -> NameIndex {
    let names = Namespace::range(0..NAMES).unwrap();
    NameIndex::build(&params(items, family), names, NameIndexOptions::default()).unwrap()
}

#[test]
fn drawing_by_the_index_is_uniform() {
    for items in [100, 500] {
        let index = index(items, Family::Murmur3);
        assert_uniform(
            calibrate(&index, items, Method::Index),
            &format!("index, n = {items}"),
        );
    }
}

#[test]
fn drawing_by_inversion_and_from_a_list_is_uniform() {
    let functions = Affine::seeded(first_prime_from(NAMES).unwrap(), 3, 1).unwrap();
    for items in [100, 500] {
        let index = index(items, Family::Affine(functions.clone()));
        for method in [Method::Invert, Method::List] {
            let what = format!("{method}, n = {items}");
            assert_uniform(calibrate(&index, items, method), &what);
        }
    }
}

#[test]
fn probing_is_uniform() {
    // Ninety tests a draw; with fewer items there are more, and nothing else changes.
    let index = index(10_000, Family::Xxh3);
    let filter = filter(index.params(), 10_000, 7);
    let members = Reconstruction::new(&filter, &index)
        .unwrap()
        .integers()
        .unwrap();
    let runs: Vec<Uniformity> = (0..4)
        .map(|seed| {
            let options = crate::support::drawn_by(Method::Probe, seed);
            let mut sampler = Sampler::with(&filter, &index, &options).unwrap();
            let drawn = sampler.draw(20 * members.len()).unwrap();
            Uniformity::of_draws(&members, drawn.iter().map(integer))
        })
        .collect();
    assert_uniform(Calibration::of(&runs), "probing");
}

/// Each pair of members of five as often as any other, in any order.
#[test]
fn distinct_draws_are_uniform_sets_in_random_order() {
    let params = Params::builder(5000, 4).build().unwrap();
    let mut filter = Filter::new(params).unwrap();
    let members = [3u64, 50, 777, 901, 999];
    filter.insert_batch(&members);
    let names = Namespace::range(0..1000).unwrap();
    let found = Reconstruction::new(&filter, &names)
        .unwrap()
        .integers()
        .unwrap();
    assert_eq!(found, members);
    for method in [Method::Probe, Method::List] {
        let mut counts = [0u64; 25];
        for seed in 0..6000 {
            let options = crate::support::drawn_by(method, seed);
            let mut sampler = Sampler::with(&filter, &names, &options).unwrap();
            let pair: Vec<u64> = sampler
                .draw_distinct(2)
                .unwrap()
                .iter()
                .map(integer)
                .collect();
            let place = |name| members.iter().position(|member| *member == name).unwrap();
            counts[5 * place(pair[0]) + place(pair[1])] += 1;
        }
        let pairs: Vec<u64> = (0..25).filter(|i| i % 6 != 0).map(|i| counts[i]).collect();
        assert_eq!(pairs.iter().sum::<u64>(), 6000, "a name twice");
        assert!(Uniformity::of(&pairs).p > 1e-4, "{method:?} {counts:?}");
    }
}

/// Draws of an expression inside a range have the right chances too.
#[test]
fn restricted_draws_from_expressions_are_uniform() {
    let functions = Affine::seeded(100_003, 3, 2).unwrap();
    let params = Params::builder(6000, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let [mut a, mut b] = [0, 1].map(|_| Filter::new(params.clone()).unwrap());
    a.insert_batch(&(0..400u64).map(|i| i * 211 % 100_000).collect::<Vec<_>>());
    b.insert_batch(&(0..400u64).map(|i| i * 307 % 100_000).collect::<Vec<_>>());
    let query = Query::of(&a).or(Query::of(&b)).unwrap();
    let mut names = Namespace::occupied(0..100_000, (0..100_000).step_by(2)).unwrap();
    names.add(Namespace::range(1000..9000).unwrap()).unwrap();
    let index = NameIndex::build(&params, names, NameIndexOptions::default()).unwrap();
    let options = SampleOptions {
        within: Some(500..60_000),
        ..SampleOptions::default()
    };
    let members = Reconstruction::with(&query, &index, &options)
        .unwrap()
        .integers()
        .unwrap();
    assert!(members.len() > 300, "{}", members.len());
    for method in Method::ALL {
        let mut runs = Vec::new();
        for seed in 0..10 {
            let options = SampleOptions {
                seed,
                method: Some(method),
                ..options.clone()
            };
            let mut sampler = Sampler::with(&query, &index, &options).unwrap();
            let drawn = sampler.draw(50 * members.len()).unwrap();
            assert!(
                drawn
                    .iter()
                    .all(|name| members.binary_search(&integer(name)).is_ok())
            );
            runs.push(Uniformity::of_draws(&members, drawn.iter().map(integer)));
        }
        assert_uniform(Calibration::of(&runs), &method.to_string());
    }
}
