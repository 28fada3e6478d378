use super::*;

fn go_on(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn bred_by_default(depth: usize, options: &SearchOptions) -> Front {
    let genetic = genetic::GeneticOptions::default();
    bred(depth, &[1.0], options, &genetic, go_on).unwrap()
}

#[test]
fn exhaustive_and_genetic_search_agree_on_two_levels() {
    for objective in [Objective::Exact, Objective::Geometric] {
        let options = SearchOptions {
            objective,
            ..SearchOptions::default()
        };
        let all = exhaustive(2, &[1.0], &options, go_on).unwrap();
        assert_eq!((all.tried, all.possible), (196, 196));
        let bred = bred_by_default(2, &options);
        assert!(
            bred.lag(&all, objective) <= 0.02,
            "{}",
            bred.lag(&all, objective)
        );
        assert!(all.lag(&bred, objective) <= 0.0);
    }
}

/// With two levels, everything is soon evaluated; this depth requires the genetic search.
#[test]
fn genetic_search_comes_near_on_three_levels() {
    let options = SearchOptions {
        items: 1000,
        ..SearchOptions::default()
    };
    let all = exhaustive(3, &[1.0], &options, go_on).unwrap();
    assert_eq!(all.tried, 5488);
    let bred = bred_by_default(3, &options);
    assert!(bred.tried <= 1515);
    let lag = bred.lag(&all, options.objective);
    assert!(lag < 0.2, "{lag}");
    assert!(all.lag(&bred, options.objective) <= 0.0);
}

#[test]
fn a_search_is_the_same_with_any_number_of_threads() {
    let front = |threads| {
        let threads = NonZero::new(threads).unwrap();
        let options = SearchOptions {
            items: 1000,
            samples: 100,
            threads,
            ..SearchOptions::default()
        };
        let how = genetic::GeneticOptions {
            rounds: 5,
            threads,
            ..genetic::GeneticOptions::default()
        };
        bred(3, &[0.5, 1.0], &options, &how, go_on).unwrap()
    };
    let (one, three) = (front(1), front(3));
    assert_eq!(one.evaluations, three.evaluations);
    assert!(
        one.evaluations
            .iter()
            .any(|best| best.configuration.rho == 1.0)
    );
    assert_eq!(one.possible, 2 * 5488);
}

#[test]
fn evaluations_are_those_of_table_iii() {
    // Table III, d = 3, rho = 1, as checked by simulation.
    let configuration = Configuration {
        rho: 1.0,
        bits: vec![4, 3],
        hashes: vec![6, 3, 2],
    };
    let found = SearchOptions {
        instances: 4,
        ..SearchOptions::default()
    };
    let found = found.evaluate(&configuration).unwrap();
    let near = |value: f64, wanted: f64, by: f64| (value / wanted - 1.0).abs() < by;
    assert!(near(found.expected_fpr, 0.0535, 0.03), "{found:?}");
    assert!(near(found.geometric_fpr, 0.0067, 0.1), "{found:?}");
    assert!(near(found.level_bits, 8.0, 0.02), "{found:?}");
    assert!(near(found.context_bits, 6.76, 0.02), "{found:?}");
    assert_eq!((found.storage_bits, found.hashes), (17.0, 60));
    assert!(
        near(found.published_ratio(), 0.77, 0.03),
        "{}",
        found.published_ratio()
    );
    assert!(near(found.ratio(), 6.76 / 6.09, 0.03), "{}", found.ratio());
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let options = SearchOptions::default();
    for (depth, rhos, part) in [
        (1, &[1.0][..], "2 to 6"),
        (4, &[1.0], "genetic"),
        (2, &[], "pass at least one"),
        (2, &[-1.0], "above 0"),
        (2, &[f64::NAN], "above 0"),
    ] {
        let error = exhaustive(depth, rhos, &options, go_on).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let stop = |_, _| ControlFlow::Break(());
    let stopped = exhaustive(2, &[1.0], &options, stop);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}
