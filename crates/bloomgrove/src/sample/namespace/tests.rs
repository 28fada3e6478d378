use super::*;

fn integers_of(namespace: &Namespace) -> Vec<u64> {
    let name = |rank| match namespace.name(rank) {
        Name::Integer(number) => number,
        Name::Text(text) => panic!("{text:?}"),
    };
    (0..namespace.len()).map(name).collect()
}

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

#[test]
fn names_and_ranks_belong_together_in_every_form() {
    let range = Namespace::range(10..400).unwrap();
    let list = Namespace::integers((0..1000).map(|i| i * 3)).unwrap();
    let mut grown = Namespace::range(0..50).unwrap();
    grown.add(Namespace::range(40..60).unwrap()).unwrap();
    grown
        .add(Namespace::integers([7, 100, 101]).unwrap())
        .unwrap();
    for namespace in [&range, &list, &grown] {
        let names = integers_of(namespace);
        assert_eq!(names.len() as u64, namespace.len());
        for (rank, &name) in names.iter().enumerate() {
            assert_eq!(namespace.rank_of(name), Some(rank as u64), "{name}");
        }
        let mut scanned = Vec::new();
        namespace.scan(0..namespace.len(), |first, keys| {
            let Keys::Binary(keys) = keys else { panic!() };
            assert_eq!(first, scanned.len() as u64);
            scanned.extend_from_slice(keys);
            true
        });
        assert_eq!(scanned, names);
    }
    let wanted: Vec<u64> = (0..60).chain([100, 101]).collect();
    assert_eq!(integers_of(&grown), wanted);
    assert_eq!(grown.rank_of(99), None);
    assert_eq!(grown.span(), Some(0..102));
    let forms = [Form::Range(0..50), Form::Range(50..60), Form::Integers(2)];
    assert_eq!(grown.forms(), forms);
}

#[test]
fn names_added_one_by_one_stay_few_parts() {
    let mut namespace = Namespace::occupied(0..1 << 40, [5]).unwrap();
    let mut all = vec![5];
    for i in 0..2000u64 {
        let name = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        let new = namespace.add(Namespace::integers([name]).unwrap()).unwrap();
        assert_eq!(new, u64::from(!all.contains(&name)));
        if new == 1 {
            all.push(name);
        }
    }
    assert!(namespace.parts().len() <= 12, "{}", namespace.parts().len());
    assert_eq!(sorted(integers_of(&namespace)), sorted(all));
    let outside = namespace.add(Namespace::integers([1 << 41]).unwrap());
    assert!(matches!(outside, Err(Error::Namespace { .. })));
}

#[test]
fn texts_grow_too() {
    let mut namespace = Namespace::texts(b"ada\nalan\n".to_vec()).unwrap();
    assert_eq!(
        namespace
            .add(Namespace::texts(b"ada\nbarbara".to_vec()).unwrap())
            .unwrap(),
        1
    );
    let all: Vec<String> = (0..3)
        .map(|rank| namespace.name(rank).to_string())
        .collect();
    assert_eq!(all, ["ada", "alan", "barbara"]);
    assert_eq!(namespace.rank_of_text(b"barbara"), Some(2));
    assert_eq!(namespace.rank_of_text(b"bob"), None);
    let mixed = namespace.add(Namespace::range(0..3).unwrap());
    assert!(mixed.is_err());
}

/// Names that differ only in a trailing carriage return are different names.
#[test]
fn carriage_returns_are_kept_when_texts_grow() {
    let mut namespace = Namespace::texts(b"a\nb\n".to_vec()).unwrap();
    let more = || Namespace::texts(b"c\nc\r\r\nd\n".to_vec()).unwrap();
    assert_eq!(namespace.add(more()).unwrap(), 3);
    assert_eq!(namespace.add(more()).unwrap(), 0);
    let names: Vec<_> = (0..namespace.len())
        .map(|rank| namespace.name(rank))
        .collect();
    let wanted = ["a", "b", "c", "c\r", "d"].map(|name| Name::Text(name.into()));
    assert_eq!(names, wanted);
    namespace.check_order().unwrap();
}

#[test]
fn ranges_added_one_by_one_stay_few_parts() {
    let mut apart = Namespace::range(0..1).unwrap();
    let mut close = Namespace::range(0..1).unwrap();
    for i in 1..2000u64 {
        apart
            .add(Namespace::range(3 * i..3 * i + 1).unwrap())
            .unwrap();
        close.add(Namespace::range(i - 1..i + 1).unwrap()).unwrap();
    }
    assert_eq!((apart.len(), close.len()), (2000, 2000));
    assert!(apart.parts().len() < 14 && close.parts().len() < 14);
    assert_eq!(
        sorted(integers_of(&apart)),
        (0..2000).map(|i| 3 * i).collect::<Vec<_>>()
    );
    apart.check_order().unwrap();
    close.check_order().unwrap();
}

#[test]
fn a_range_restricts_every_part() {
    let mut namespace = Namespace::range(0..50).unwrap();
    namespace
        .add(Namespace::integers([60, 70, 80]).unwrap())
        .unwrap();
    let ranks = |within| -> u64 {
        let windows = namespace.windows(Some(&within)).unwrap();
        windows.iter().map(|window| window.end - window.start).sum()
    };
    assert_eq!(ranks(40..71), 12);
    assert_eq!(ranks(90..100), 0);
    assert_eq!(ranks(0..u64::MAX), 53);
    let texts = Namespace::texts(b"a".to_vec()).unwrap();
    assert!(texts.windows(Some(&(0..3))).is_err());
}

#[test]
fn what_is_no_namespace_says_why() {
    let message = |namespace: Result<Namespace, Error>| namespace.unwrap_err().to_string();
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = message(Namespace::range(9..3));
    assert!(
        backwards.contains("9..3 contains no integers"),
        "{backwards}"
    );
    assert!(message(Namespace::integers([])).contains("empty"));
    let unsorted = message(Namespace::integers([1, 5, 3]));
    assert!(
        unsorted.contains("line 3 is 3") && unsorted.contains("sort"),
        "{unsorted}"
    );
    assert!(message(Namespace::integers([1, 5, 5])).contains("only once"));
    let texts = message(Namespace::texts(b"b\na\n".to_vec()));
    assert!(
        texts.contains("line 2") && texts.contains("LC_ALL=C sort"),
        "{texts}"
    );
    assert!(message(Namespace::texts(Vec::new())).contains("empty"));
    assert!(message(Namespace::occupied(0..5, [7])).contains("0..5"));
}

#[test]
fn decimals_are_digits() {
    let namespace = Namespace::integers([0, 7, 10, 1_234_567, u64::MAX - 1]).unwrap();
    let namespace = namespace.in_decimal().unwrap();
    namespace.scan(0..5, |_, keys| {
        let Keys::Decimal(keys) = keys else { panic!() };
        let texts = keys
            .iter()
            .map(|key| crate::Key::with_bytes(key, |b| b.to_vec()));
        let wanted = ["0", "7", "10", "1234567", "18446744073709551614"];
        assert!(texts.eq(wanted.iter().map(|text| text.as_bytes().to_vec())));
        true
    });
    let texts = Namespace::texts(b"a".to_vec()).unwrap();
    assert!(texts.in_decimal().is_err());
}
