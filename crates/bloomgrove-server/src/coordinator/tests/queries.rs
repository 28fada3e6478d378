//! Queries: what they list and count, what they are restricted to, and the members of a set.

use super::*;

#[test]
fn a_key_in_every_set_is_counted_in_all_and_listed_in_some() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    for set in 0..300 {
        let tags = (set % 3 == 0).then(|| vec!["third".to_owned()]);
        let name = format!("{}/{set:03}", set % 2);
        wait(coordinator.put(&name, filter(&["all"]), tags, None, None)).unwrap();
    }
    let ask = |change: fn(&mut WhichQuery)| {
        let mut request = WhichQuery {
            keys: vec![Key::from("all"); 40],
            limit: Some(7),
            ..WhichQuery::default()
        };
        change(&mut request);
        let which = coordinator.which(&request, free).unwrap();
        let is_plain = request.prefix.is_none() && request.tag.is_none();
        let at_once = coordinator.which_at_once(&request);
        assert!(at_once.is_none() || is_plain && request.keys.len() <= 32);
        if let Some(at_once) = at_once {
            let at_once = at_once.unwrap();
            assert_eq!(at_once.answers.len(), which.answers.len());
            let counts = at_once.answers.iter().zip(&which.answers);
            counts.for_each(|(one, two)| assert_eq!(one.count, two.count));
        }
        which.answers
    };
    for (answers, count, listed) in [
        (ask(|_| {}), 300, 7),
        (ask(|request| request.keys.truncate(3)), 300, 7),
        (ask(|request| request.limit = None), 300, 300),
        (ask(|request| request.prefix = Some("1/".into())), 150, 7),
        (ask(|request| request.tag = Some("third".into())), 100, 7),
        (
            ask(|request| {
                request.tag = Some("third".into());
                request.prefix = Some("0/".into());
                request.keys.truncate(1);
            }),
            50,
            7,
        ),
    ] {
        for answer in answers {
            let sets = answer.sets.unwrap();
            assert_eq!((answer.count, sets.len()), (count, listed));
            assert!(sets.is_sorted());
        }
    }
    let counted = ask(|request| request.count_only = true);
    assert!(
        counted
            .iter()
            .all(|answer| answer.count == 300 && answer.sets.is_none())
    );
    // Rejected as soon as it is too large.
    let request = WhichQuery {
        keys: vec![Key::from("all"); 40],
        ..WhichQuery::default()
    };
    let refuse = |_| Err(Error::new(Code::Busy, "no"));
    assert_eq!(code(coordinator.which(&request, refuse)), Code::Busy);
}

#[test]
fn questions_can_be_restricted_counted_and_explained() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    for (name, tag) in [("a/1", "x"), ("a/2", "y"), ("b/1", "x")] {
        let tags = Some(vec![tag.to_owned()]);
        wait(coordinator.put(name, filter(&["key"]), tags, None, None)).unwrap();
    }
    let ask = |prefix: Option<&str>, tag: Option<&str>, limit, count_only| {
        let request = WhichQuery {
            keys: keys(&["key", "none"]),
            extract: None,
            prefix: prefix.map(str::to_owned),
            tag: tag.map(str::to_owned),
            limit,
            count_only,
            explain: true,
        };
        let which = coordinator.which(&request, free).unwrap();
        assert_eq!((which.answers.len(), which.answers[1].count), (2, 0));
        let cost = which.cost.unwrap();
        assert!(cost.filters_tested > 0 && cost.microseconds > 0.0);
        (which.answers[0].clone(), cost.sets)
    };
    let names = |answer: api::Answer| answer.sets.unwrap();
    assert_eq!(names(ask(Some("a/"), None, None, false).0), ["a/1", "a/2"]);
    assert_eq!(names(ask(None, Some("x"), None, false).0), ["a/1", "b/1"]);
    assert_eq!(ask(Some("a/"), Some("x"), None, false).1, 1);
    let (few, sets) = ask(None, None, Some(1), false);
    assert_eq!((few.count, few.sets.unwrap().len(), sets), (3, 1, 3));
    let (counted, _) = ask(None, None, None, true);
    assert_eq!((counted.count, counted.sets), (3, None));
}

#[test]
fn lists_come_in_pages() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let names: Vec<String> = (0..25).map(|i| format!("set-{i:02}")).collect();
    for name in names.iter().rev() {
        put(&coordinator, name, &[]);
    }
    put(&coordinator, "other", &[]);
    let (mut after, mut seen) = (None::<String>, Vec::new());
    loop {
        let page = coordinator.list("set-", None, after.as_deref(), Some(10));
        assert_eq!(page.total, 26);
        seen.extend(page.sets.into_iter().map(|set| set.name));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, names);
    assert_eq!(
        coordinator.list("", None, Some("set-24"), None).sets.len(),
        0
    );
    let picture = coordinator.picture(Some(5));
    assert_eq!(picture.cells.iter().map(|cell| cell.sets).sum::<u64>(), 26);
    assert!(picture.cells.len() <= 5);
}

#[test]
fn members_come_back_out() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let large = CreateSet {
        name: "a".into(),
        items: Some(1000),
        fpr: Some(1e-6),
        ..CreateSet::default()
    };
    let other = CreateSet {
        name: "b".into(),
        ..large.clone()
    };
    wait(coordinator.create(large)).unwrap();
    wait(coordinator.create(other)).unwrap();
    let numbers = |range: std::ops::Range<u32>| -> Vec<Key> {
        range.map(|number| Key::from(number.to_string())).collect()
    };
    wait(coordinator.insert("a", numbers(0..300), None)).unwrap();
    wait(coordinator.insert("b", numbers(200..500), None)).unwrap();
    let estimate = |expression: &str| {
        let expression = expression.to_owned();
        coordinator
            .estimate(&EstimateQuery { expression }, free)
            .map(|estimate| estimate.items.unwrap())
    };
    assert!((estimate("a").unwrap() - 300.0).abs() < 10.0);
    assert!((estimate("a & b").unwrap() - 100.0).abs() < 15.0);
    assert!((estimate("a | b").unwrap() - 500.0).abs() < 15.0);
    assert_eq!(code(estimate("a & c")), Code::NotFound);
    assert_eq!(code(estimate("a &")), Code::Invalid);
    let request = ReconstructQuery {
        expression: "a & b".into(),
        names: Names::Range(0, 100_000),
        spelling: Spelling::Decimal,
        limit: None,
    };
    let found = coordinator.reconstruct(&request, free).unwrap();
    let wanted: Vec<Member> = (200..300).map(Member::Number).collect();
    assert!(found.complete && found.members == wanted);
    let first = coordinator.reconstruct(
        &ReconstructQuery {
            limit: Some(10),
            ..request
        },
        free,
    );
    let first = first.unwrap();
    assert!(!first.complete && first.members.len() == 10);
    let drawn = coordinator.sample(
        &SampleQuery {
            expression: "a & b".into(),
            names: Names::Texts((0..1000).map(|number| number.to_string()).collect()),
            spelling: Spelling::Decimal,
            count: 50,
            distinct: true,
            seed: None,
        },
        free,
    );
    let none = coordinator.sample(
        &SampleQuery {
            expression: "a".into(),
            names: Names::Range(10_000, 10_100),
            spelling: Spelling::Decimal,
            count: 5,
            distinct: false,
            seed: Some(1),
        },
        free,
    );
    assert_eq!(none.unwrap().members, []);
    let drawn: BTreeSet<u64> = drawn
        .unwrap()
        .members
        .into_iter()
        .map(|member| match member {
            Member::Text(text) => text.parse().unwrap(),
            Member::Number(number) => panic!("{number} is not text"),
        })
        .collect();
    assert!(drawn.len() == 50 && drawn.iter().all(|number| (200..300).contains(number)));
}
