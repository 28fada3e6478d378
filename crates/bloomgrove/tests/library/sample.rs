//! What to expect of members, which way is chosen, and the answers to odd questions.

use bloomgrove::raw::hash::first_prime_from;
use bloomgrove::sample::{
    Estimate, Method, Name, NameIndex, NameIndexOptions, Namespace, Query, Reconstruction,
    SampleOptions, Sampler, Way,
};
use bloomgrove::{Affine, Error, Family, Filter, Layout, Params, tune};

fn filled(params: &Params, names: u64, items: std::ops::Range<u64>) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    let keys: Vec<u64> = items.map(|i| crate::support::scatter(i) % names).collect();
    filter.insert_batch(&keys);
    filter
}

fn members(query: &Query, names: &Namespace) -> u64 {
    Reconstruction::new(query, names)
        .unwrap()
        .names()
        .unwrap()
        .len() as u64
}

/// The paper's tables: filters sized for an accuracy have it, within .02.
#[test]
fn filters_sized_for_an_accuracy_have_it() {
    for names in [100_000, 1_000_000] {
        let namespace = Namespace::range(0..names).unwrap();
        for accuracy in [0.5, 0.7, 0.9, 0.99] {
            let bits = tune::bits_for_accuracy(names, 1000, 3, accuracy).ceil() as u64;
            let sets = 6;
            let mut measured = 0.0;
            for set in 0..sets {
                let params = Params::builder(bits, 3).family(Family::Murmur3).seed(set);
                let params = params.build().unwrap();
                // Names that differ: a few of a thousand that look random are the same.
                let mut keys: Vec<u64> = (0..1100)
                    .map(|i| crate::support::scatter(set << 32 | i) % names)
                    .collect();
                keys.sort_unstable();
                keys.dedup();
                keys.truncate(1000);
                let mut filter = Filter::new(params).unwrap();
                filter.insert_batch(&keys);
                let found = members(&Query::of(&filter), &namespace);
                measured += 1000.0 / found as f64 / sets as f64;
            }
            assert!(
                (measured - accuracy).abs() < 0.02,
                "M = {names}: {measured} for {accuracy}"
            );
        }
    }
}

/// Estimates made from the bits alone are near the truth, for expressions too.
#[test]
fn the_number_of_members_is_known_before() {
    let names = 500_000;
    let namespace = Namespace::range(0..names).unwrap();
    for layout in [Layout::Standard, Layout::Blocked] {
        let params = Params::builder(102_400, 5).layout(layout).build().unwrap();
        let a = filled(&params, names, 0..10_000);
        let b = filled(&params, names, 5_000..17_000);
        let near = |query: Query, items: f64| {
            let Estimate {
                members: guess,
                items: guessed,
                accuracy,
                ..
            } = query.estimate(names);
            let truth = members(&query, &namespace) as f64;
            assert!(
                (guess / truth - 1.0).abs() < 0.05,
                "{layout:?} {guess} for {truth}"
            );
            assert!(
                (guessed / items - 1.0).abs() < 0.06,
                "{layout:?} {guessed} for {items}"
            );
            assert!((accuracy / (items / truth) - 1.0).abs() < 0.1);
        };
        near(Query::of(&a), 9_900.0);
        near(Query::of(&a).and(Query::of(&b)).unwrap(), 5_000.0);
        near(Query::of(&a).or(Query::of(&b)).unwrap(), 16_700.0);
    }
}

#[test]
fn the_planner_takes_the_short_way_and_says_why() {
    let names = 1_000_000;
    let bits = tune::bits_for_accuracy(names, 1000, 3, 0.9).ceil() as u64;
    let params = Params::builder(bits, 3).build().unwrap();
    let filter = filled(&params, names, 0..1000);
    let range = Namespace::range(0..names).unwrap();
    let plan = |draws| {
        let options = SampleOptions {
            draws,
            ..SampleOptions::default()
        };
        Sampler::with(&filter, &range, &options)
            .unwrap()
            .plan()
            .clone()
    };
    assert_eq!(plan(1).method, Method::Probe);
    assert!((800.0..1000.0).contains(&plan(1).tests), "{:?}", plan(1));
    assert_eq!(plan(1_000_000).method, Method::List);
    assert!(
        plan(1_000_000).why.contains("1,000,000 draws"),
        "{:?}",
        plan(1_000_000)
    );
    // No memory for a list: draw by draw.
    let tight = SampleOptions {
        draws: 1_000_000,
        memory: 100,
        ..SampleOptions::default()
    };
    assert_eq!(
        Sampler::with(&filter, &range, &tight)
            .unwrap()
            .plan()
            .method,
        Method::Probe
    );

    let index = NameIndex::build(
        &params,
        Namespace::range(0..names).unwrap(),
        NameIndexOptions::default(),
    );
    let index = index.unwrap();
    let sampler = Sampler::new(&filter, &index).unwrap();
    assert_eq!(sampler.plan().method, Method::Index);
    assert!(sampler.plan().tests < 5.0, "{:?}", sampler.plan());
    let list = Reconstruction::new(&filter, &index).unwrap();
    assert_eq!(list.plan().way, Way::Index);
    // Of a full filter every name is a member, and an index would be a detour.
    let mut full = Filter::new(params).unwrap();
    full.insert_batch(&(0..100_000u64).collect::<Vec<_>>());
    assert!(full.fill() > 0.99);
    assert_eq!(
        Reconstruction::new(&full, &index).unwrap().plan().way,
        Way::Scan
    );
    assert_eq!(
        Sampler::new(&full, &index).unwrap().plan().method,
        Method::Probe
    );

    let functions = Affine::seeded(first_prime_from(names).unwrap(), 3, 1).unwrap();
    let affine = Params::builder(bits, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let affine = filled(&affine, names, 0..1000);
    let sampler = Sampler::new(&affine, &range).unwrap();
    assert_eq!(sampler.plan().method, Method::Invert);
    // A prime far above the names: nearly all that is turned round is no name.
    let functions = Affine::seeded((1 << 61) - 1, 3, 1).unwrap();
    let distant = Params::builder(bits, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let distant = filled(&distant, names, 0..1000);
    assert_eq!(
        Sampler::new(&distant, &range).unwrap().plan().method,
        Method::Probe
    );
}

#[test]
fn tests_of_a_draw_are_as_many_as_planned() {
    let names = 1_000_000;
    let bits = tune::bits_for_accuracy(names, 1000, 3, 0.9).ceil() as u64;
    let functions = Affine::seeded(first_prime_from(names).unwrap(), 3, 1).unwrap();
    let params = Params::builder(bits, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let filter = filled(&params, names, 0..1000);
    for options in [
        NameIndexOptions::default(),
        NameIndexOptions {
            second: false,
            ..NameIndexOptions::default()
        },
    ] {
        let range = Namespace::range(0..names).unwrap();
        let index = NameIndex::build(&params, range, options).unwrap();
        for method in [Method::Probe, Method::Index, Method::Invert] {
            let options = crate::support::drawn_by(method, 0);
            let mut sampler = Sampler::with(&filter, &index, &options).unwrap();
            sampler.draw(3000).unwrap();
            let work = sampler.work();
            for (planned, done) in [
                (sampler.plan().looks, work.looks),
                (sampler.plan().tests, work.tests),
            ] {
                let done = done as f64 / 3000.0;
                assert!(
                    (done / planned - 1.0).abs() < 0.15,
                    "{method:?}: {done} for {planned}"
                );
            }
        }
    }
}

#[test]
fn an_empty_filter_has_no_member() {
    let filter = Filter::new(Params::builder(1000, 3).build().unwrap()).unwrap();
    let names = Namespace::range(0..100).unwrap();
    let error = Sampler::new(&filter, &names).unwrap_err();
    assert!(matches!(error, Error::NoMember { names: 100 }), "{error}");
    let list = Reconstruction::new(&filter, &names).unwrap();
    assert_eq!(list.plan().estimate.members, 0.0);
    assert_eq!(list.names().unwrap(), []);
}

#[test]
fn of_a_full_filter_every_name_is_a_member() {
    let mut filter = Filter::new(Params::builder(64, 2).build().unwrap()).unwrap();
    filter.insert_batch(&(0..5000u64).collect::<Vec<_>>());
    assert_eq!(filter.fill(), 1.0);
    let names = Namespace::range(0..100).unwrap();
    let list = Reconstruction::new(&filter, &names).unwrap();
    assert_eq!(list.plan().estimate.members, 100.0);
    assert_eq!(list.names().unwrap().len(), 100);
    let mut sampler = Sampler::new(&filter, &names).unwrap();
    assert_eq!(sampler.draw_distinct(1000).unwrap().len(), 100);
}

#[test]
fn a_namespace_without_members_is_told_apart_from_bad_luck() {
    // Items that are no names, and so few that no name is taken for one.
    let functions = Affine::seeded(1_000_003, 6, 1).unwrap();
    let affine = Family::Affine(functions);
    for family in [Family::Xxh3, affine] {
        let params = Params::builder(100_000, 6).family(family).build().unwrap();
        let mut filter = Filter::new(params.clone()).unwrap();
        filter.insert_batch(&[900_001u64, 900_002, 900_003]);
        let index = NameIndex::build(
            &params,
            Namespace::range(0..50_000).unwrap(),
            NameIndexOptions::default(),
        );
        let index = index.unwrap();
        for method in Method::ALL {
            let options = crate::support::drawn_by(method, 0);
            match Sampler::with(&filter, &index, &options).and_then(|mut s| s.draw(1)) {
                Err(Error::NoMember { names }) => assert_eq!(names, 50_000),
                Err(Error::Closed { .. }) if method == Method::Invert => {}
                other => panic!("{method:?}: {other:?}"),
            }
        }
    }
}

/// Draws from texts, and from integers that a filter was given as text.
#[test]
fn names_are_found_however_they_are_spelled() {
    let params = Params::for_items(100, 1e-6).unwrap();
    let mut filter = Filter::new(params).unwrap();
    filter.insert("ada");
    filter.insert("17");
    filter.insert(&204u64);
    let draw = |names: &Namespace| {
        let all = Sampler::new(&filter, names)
            .unwrap()
            .draw_distinct(10)
            .unwrap();
        all.iter().map(Name::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        draw(&Namespace::texts(b"ada\nalan\nbarbara".to_vec()).unwrap()),
        ["ada"]
    );
    let range = || Namespace::range(0..1000).unwrap();
    assert_eq!(draw(&range()), ["204"]);
    assert_eq!(draw(&range().in_decimal().unwrap()), ["17"]);
    let texts = Namespace::texts(b"ada".to_vec()).unwrap();
    let error = Sampler::new(&filter, &texts)
        .unwrap()
        .draw_integer()
        .unwrap_err();
    assert!(error.to_string().contains("texts"), "{error}");
}

#[test]
fn what_cannot_be_is_refused() {
    let functions = Affine::seeded(1009, 2, 1).unwrap();
    let affine = Params::builder(100, 2)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let mut filter = Filter::new(affine).unwrap();
    filter.insert(&5u64);
    let texts = Namespace::texts(b"5".to_vec()).unwrap();
    let decimal = Namespace::range(0..10).unwrap().in_decimal().unwrap();
    for names in [&texts, &decimal] {
        let error = Sampler::new(&filter, names).unwrap_err();
        assert!(error.to_string().contains("affine"), "{error}");
    }
    let range = Namespace::range(0..10).unwrap();
    let outside = SampleOptions {
        within: Some(100..200),
        ..SampleOptions::default()
    };
    let error = Sampler::with(&filter, &range, &outside).unwrap_err();
    assert!(matches!(error, Error::NoMember { names: 0 }), "{error}");
    let error =
        Sampler::with(&filter, &range, &crate::support::drawn_by(Method::Index, 0)).unwrap_err();
    assert!(error.to_string().contains("no index"), "{error}");
    let mut hashed = Filter::new(Params::builder(100, 2).build().unwrap()).unwrap();
    hashed.insert(&5u64);
    let error =
        Reconstruction::with(&hashed, &range, &crate::support::listed_by(Way::Invert)).unwrap_err();
    assert!(error.to_string().contains("xxh3"), "{error}");
    let other = Query::of(&filter).and(Query::of(&hashed)).unwrap_err();
    assert!(matches!(other, Error::Incompatible { .. }));
}

/// Filters that were given other names, or whose hashes are weak, have another number of members
/// than their fill says; drawing tells.
#[test]
fn draws_measure_how_many_members_there_are() {
    let functions = Affine::new(&[(7, 3), (11, 5), (13, 1)], 10_000).unwrap();
    let printed = Params::builder(10_000, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let hashed = Params::builder(10_000, 3).build().unwrap();
    for (params, methods) in [
        (printed, vec![Method::Probe, Method::Index, Method::Invert]),
        (hashed, vec![Method::Probe, Method::Index]),
    ] {
        // Most items lie outside of the names.
        let filter = filled(&params, 1_000_000, 0..500);
        let names = Namespace::range(0..100_000).unwrap();
        let truth = members(&Query::of(&filter), &names) as f64;
        let index = NameIndex::build(&params, names, NameIndexOptions::default()).unwrap();
        for method in methods {
            let options = crate::support::drawn_by(method, 0);
            let mut sampler = Sampler::with(&filter, &index, &options).unwrap();
            assert_eq!(sampler.measured_members(), None);
            sampler.draw(5000).unwrap();
            let measured = sampler.measured_members().unwrap();
            assert!(
                (measured / truth - 1.0).abs() < 0.1,
                "{method:?}: {measured} for {truth}"
            );
        }
        let mut sampler =
            Sampler::with(&filter, &index, &crate::support::drawn_by(Method::List, 0)).unwrap();
        sampler.draw(1).unwrap();
        assert_eq!(sampler.measured_members(), Some(truth));
    }
}

/// Where millions of numbers fall on one position, they are looked at in slices.
#[test]
fn few_bits_and_many_names_are_reconstructed_in_pieces() {
    for (modulus, bits) in [(3_000_017, 8), (8, 8)] {
        let functions = Affine::new(&[(5, 3), (7, 1)], modulus).unwrap();
        let params = Params::builder(bits, 2)
            .family(Family::Affine(functions))
            .build()
            .unwrap();
        let mut filter = Filter::new(params).unwrap();
        filter.insert(&1u64);
        let names = Namespace::range(17..3_000_000).unwrap();
        let list = |way| {
            let mut pieces = 0;
            let mut found = 0;
            let all =
                Reconstruction::with(&filter, &names, &crate::support::listed_by(way)).unwrap();
            all.run(|some| {
                (pieces, found) = (some.pieces, found + some.names().len());
                std::ops::ControlFlow::Continue(())
            });
            (pieces, found, all.integers().unwrap())
        };
        let (pieces, found, members) = list(Way::Invert);
        assert!(pieces >= 16, "{pieces}");
        assert_eq!(found, members.len());
        assert!(found > 40_000 && members == list(Way::Scan).2);
    }
}

#[test]
fn listing_is_watched_and_can_be_broken_off() {
    let params = Params::for_items(1000, 0.001).unwrap();
    let filter = filled(&params, 3_000_000, 0..1000);
    let names = Namespace::range(0..3_000_000).unwrap();
    let options = crate::support::drawn_by(Method::List, 0);
    let mut told = Vec::new();
    let mut sampler = Sampler::with(&filter, &names, &options).unwrap();
    sampler.watch(|done, pieces| {
        told.push((done, pieces));
        std::ops::ControlFlow::Continue(())
    });
    sampler.draw(3).unwrap();
    drop(sampler);
    assert!(
        told.len() > 3
            && told
                .iter()
                .enumerate()
                .all(|(i, (done, _))| *done == i as u64 + 1)
    );
    let mut sampler = Sampler::with(&filter, &names, &options).unwrap();
    sampler.watch(|_, _| std::ops::ControlFlow::Break(()));
    assert!(matches!(sampler.draw(3), Err(Error::Interrupted)));
}

#[test]
fn the_same_seed_draws_the_same() {
    let params = Params::for_items(1000, 0.001).unwrap();
    let filter = filled(&params, 100_000, 0..1000);
    let names = Namespace::range(0..100_000).unwrap();
    let draw = |seed| {
        Sampler::with(
            &filter,
            &names,
            &SampleOptions {
                seed,
                ..SampleOptions::default()
            },
        )
        .unwrap()
        .draw(50)
        .unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}
