//! An index by what it promises: nothing is lost in any layout, deletes are right, wrong
//! requests harm nothing, and readers miss nothing. (`index_laws.rs` has random changes.)

use crate::support::{assert_rate, scatter};
use bloomgrove::index::{Duplicates, Index, IndexFile, Set, Shape};
use bloomgrove::{Error, Filter, Params};
use tempfile::TempDir;

#[test]
fn a_million_inserted_keys_are_found_in_every_layout() {
    let params = Params::builder(10_000, 7).build().unwrap();
    let (sets, items) = (3000u64, 100u64);
    let mut index = Index::new(params.clone());
    let mut expected_false = 0.0;
    for set in 0..sets {
        let mut filter = Filter::new(params.clone()).unwrap();
        let keys: Vec<u64> = (0..items).map(|i| scatter(set * items + i)).collect();
        filter.insert_batch(&keys);
        expected_false += filter.expected_fpr();
        index.add(set.to_string(), &filter).unwrap();
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let mut checked = 0;
    for shape in Shape::ALL {
        index.rearrange(Some(shape)).unwrap();
        index.save(&path).unwrap();
        let index = Index::open(&path).unwrap();
        let infos = index.segments();
        assert!(infos.iter().all(|info| info.shape == shape));
        let keys: Vec<u64> = (0..sets * items).map(scatter).collect();
        for (i, mut found) in index.which_many(&keys).iter().enumerate() {
            let own = i as u64 / items;
            assert!(
                found.any(|set| u64::from(set.id()) == own),
                "{shape:?} lost key {i}"
            );
            checked += 1;
        }
        // 3000 sets asked for 100,000 keys that none has.
        let absent: Vec<u64> = (0..100_000).map(|i| scatter(1 << 40 | i)).collect();
        let found = index.which_many(&absent);
        let wrong: u64 = found.iter().map(|sets| sets.len() as u64).sum();
        let rate = expected_false / sets as f64;
        assert_rate(wrong, absent.len() as u64 * sets, rate, &shape.to_string());
        // What an answer says of itself.
        let said = index.view().expected_false();
        assert!((said / expected_false - 1.0).abs() < 1e-9);
        for (i, key) in keys.iter().enumerate().step_by(50) {
            let own = i as u64 / items;
            assert!(
                index
                    .which(key)
                    .iter()
                    .any(|set| u64::from(set.id()) == own)
            );
        }
    }
    assert!(checked >= 1_000_000);
}

/// The public Java Flat-Bloofi loses answers after deletes: it takes a word of 64 slots for
/// empty and reuses it while bits are left. Fill one, empty it, fill it again.
#[test]
fn a_word_of_64_slots_filled_emptied_and_filled_again_answers_right() {
    let params = Params::builder(1000, 3).build().unwrap();
    for shape in [Shape::Loose, Shape::Flat, Shape::Sliced] {
        let mut index = Index::new(params.clone());
        index.rearrange(Some(shape)).unwrap();
        let filter = |key: u64| {
            let mut filter = Filter::new(params.clone()).unwrap();
            filter.insert(&key);
            filter
        };
        let mut at_first = 0;
        for round in 0..3 {
            for i in 0..64u64 {
                index
                    .add(format!("{round}-{i}"), &filter(round * 64 + i))
                    .unwrap();
            }
            index.assert_invariants();
            at_first = if round == 0 { index.bytes() } else { at_first };
            assert!(
                index.bytes() <= at_first * 5 / 4,
                "slots are not used again"
            );
            for i in 0..64u64 {
                let found = index.which(&(round * 64 + i));
                let name = format!("{round}-{i}");
                assert!(found.iter().any(|set| set.name() == name.as_bytes()));
            }
            for i in 0..64u64 {
                index.remove(format!("{round}-{i}")).unwrap();
            }
            assert!(index.is_empty());
            assert!(
                (0..192u64).all(|key| !index.any(&key)),
                "{shape:?} kept bits"
            );
            index.assert_invariants();
        }
    }
}

#[test]
fn wrong_requests_are_errors_and_change_nothing() {
    let params = Params::builder(1000, 3).build().unwrap();
    let mut index = Index::new(params.clone());
    let filter = Filter::new(params.clone()).unwrap();
    index.add("north", &filter).unwrap();
    let other = Filter::new(Params::builder(1001, 3).build().unwrap()).unwrap();

    let error = index.add("south", &other).unwrap_err();
    assert!(matches!(error, Error::Incompatible { .. }));
    assert!(error.to_string().contains("1,001 bits"), "{error}");
    let error = index.add("north", &filter).unwrap_err();
    assert!(error.to_string().contains("north"), "{error}");
    assert!(matches!(
        index.remove("south"),
        Err(Error::UnknownSet { .. })
    ));
    assert!(matches!(
        index.update("north", &other),
        Err(Error::Incompatible { .. })
    ));
    assert!(matches!(
        index.rename("south", "west"),
        Err(Error::UnknownSet { .. })
    ));
    let mut foreign = Index::new(other.params().clone());
    foreign.add("east", &other).unwrap();
    let merged = index.merge(&foreign, Duplicates::Unite);
    assert!(matches!(merged, Err(Error::Incompatible { .. })));
    assert_eq!(index.len(), 1);

    let scope = index.scope(|_| true);
    index.rearrange(None).unwrap();
    assert!(matches!(index.within(&scope), Err(Error::Stale)));
    index.assert_invariants();
}

#[test]
fn one_index_may_hold_filters_of_many_sizes() {
    let mut index = Index::mixed();
    for i in 0..300u64 {
        let params = Params::builder(256 << (i % 5), 4).build().unwrap();
        let mut filter = Filter::new(params).unwrap();
        filter.insert(&i);
        index.add(i.to_string(), &filter).unwrap();
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    index.save(&path).unwrap();
    for index in [index, Index::open(&path).unwrap()] {
        index.assert_invariants();
        assert_eq!(index.params().count(), 5);
        for i in 0..300u64 {
            let name = i.to_string();
            assert!(
                index
                    .which(&i)
                    .iter()
                    .any(|set| set.name() == name.as_bytes())
            );
        }
    }
}

#[test]
fn only_one_can_change_a_file_and_others_can_ask_meanwhile() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.grove");
    let params = Params::builder(1000, 3).build().unwrap();
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert("apple");
    let mut file = IndexFile::create(&path, &Index::new(params.clone())).unwrap();
    assert!(matches!(
        IndexFile::open(&path).unwrap_err().kind(),
        Error::Busy
    ));
    let before = Index::open(&path).unwrap();
    file.add("north", &filter).unwrap();
    assert_eq!(
        Index::open(&path).unwrap().len(),
        0,
        "not before the commit"
    );
    file.commit().unwrap();
    assert_eq!(Index::open(&path).unwrap().count("apple"), 1);
    assert_eq!(before.count("apple"), 0, "an open index stays as it was");
    // Replaced as a whole: still one writer, and the old one goes on.
    file.compact().unwrap();
    assert!(matches!(
        IndexFile::open(&path).unwrap_err().kind(),
        Error::Busy
    ));
    assert_eq!(before.len(), 0);
    drop(file);
    assert_eq!(IndexFile::open(&path).unwrap().len(), 1);
}

#[test]
fn missing_bits_are_those_an_update_would_set() {
    let params = Params::builder(1000, 3).build().unwrap();
    let mut index = Index::mixed();
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert("a");
    index.add("set", &filter).unwrap();
    let mut more = Filter::new(params).unwrap();
    more.insert("a");
    assert!(index.missing_bits("set", more.ones()).unwrap().is_empty());
    more.insert("b");
    let wanted: Vec<u64> = more
        .ones()
        .filter(|&bit| !filter.ones().any(|own| own == bit))
        .collect();
    assert!(!wanted.is_empty());
    for shape in Shape::ALL {
        index.rearrange(Some(shape)).unwrap();
        let missing = index.missing_bits("set", more.ones()).unwrap();
        assert_eq!(missing, wanted, "{shape:?}");
    }
    index.set_bits("set", &wanted).unwrap();
    assert!(index.filter("set").unwrap() == more);
    assert_eq!(index.get("set").unwrap().ones(), more.count_ones());
    index.assert_invariants();

    assert!(index.missing_bits("set", [1000]).is_err());
    assert!(index.set_bits("set", &[7, 1000]).is_err());
    assert!(
        index.filter("set").unwrap() == more,
        "changed by what was refused"
    );
}

#[test]
fn sets_of_ever_other_parameters_leave_nothing_behind() {
    let mut index = Index::mixed();
    let keep = Params::builder(640, 3).build().unwrap();
    let mut kept = Filter::new(keep).unwrap();
    kept.insert("kept");
    index.add("kept", &kept).unwrap();
    let before = index.bytes();
    for bits in 1000..1100 {
        let mut filter = Filter::new(Params::builder(bits, 3).build().unwrap()).unwrap();
        filter.insert("passing");
        index.add("passing", &filter).unwrap();
        assert_eq!(index.count("passing"), 1);
        index.remove("passing").unwrap();
        index.assert_invariants();
    }
    assert_eq!(index.count("kept"), 1);
    assert_eq!(index.bytes(), before);
    assert!(index.params().count() <= 2);
}

/// 65,536 filters of 128 bits fill a panel of a flat index. The next ones are few, but their rows do not share
/// words: only those of an index of fewer than 64 filters do.
#[test]
fn the_first_sets_of_a_second_panel_are_found() {
    const PANEL: u64 = 1 << 16;
    let params = Params::builder(128, 2).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flat.grove");
    let mut flat = Index::new(params.clone());
    flat.rearrange(Some(Shape::Flat)).unwrap();
    for set in 0..PANEL + 70 {
        let mut filter = Filter::new(params.clone()).unwrap();
        filter.insert(&set);
        flat.add(set.to_string(), &filter).unwrap();
        let is_checked = [0, 1, 2, 7, 62, 63, 64, 69].map(|more| PANEL + more);
        if !is_checked.contains(&set) {
            continue;
        }
        flat.save(&path).unwrap();
        let opened = Index::open(&path).unwrap();
        let mut other = Index::new(params.clone());
        other.rearrange(Some(Shape::Sliced)).unwrap();
        other.merge(&flat, Duplicates::Refuse).unwrap();
        other.rearrange(Some(Shape::Flat)).unwrap();
        for index in [&flat, &opened, &other] {
            index.assert_invariants();
            assert!(index.segments().iter().all(|s| s.shape == Shape::Flat));
            for key in [0, PANEL - 1].into_iter().chain(PANEL..=set) {
                let is_own = |found: Set<'_>| found.name() == key.to_string().as_bytes();
                assert!(index.which(&key).into_iter().any(is_own), "{key} of {set}");
                let many = index.which_many(&[key, !key]);
                assert!(many.sets(0).any(is_own), "{key} of {set}");
            }
        }
    }
    bloomgrove::verify(&path).unwrap();
}

/// The rows of fewer than 64 filters share words. Every number of them, in memory, after growing by one
/// each time, and in a file.
#[test]
fn flat_indexes_of_every_small_size_answer_as_loose_ones() {
    let params = Params::builder(333, 3).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flat.grove");
    let [mut flat, mut loose] = [Shape::Flat, Shape::Loose].map(|shape| {
        let mut index = Index::new(params.clone());
        index.rearrange(Some(shape)).unwrap();
        index
    });
    let names = |index: &Index, key: u64| -> Vec<Vec<u8>> {
        let found = index.which(&key);
        found.iter().map(|set| set.name().to_vec()).collect()
    };
    for set in 0..130u64 {
        let mut filter = Filter::new(params.clone()).unwrap();
        filter.insert_batch(&Vec::from_iter(set * 20..set * 20 + 60));
        flat.add(set.to_string(), &filter).unwrap();
        loose.add(set.to_string(), &filter).unwrap();
        if set % 7 == 6 {
            let gone = (set / 2).to_string();
            assert_eq!(flat.remove(&gone).is_ok(), loose.remove(&gone).is_ok());
        }
        flat.assert_invariants();
        flat.save(&path).unwrap();
        let opened = Index::open(&path).unwrap();
        assert!(opened.segments().iter().all(|s| s.shape == Shape::Flat));
        for key in (0..set * 20 + 100).step_by(11) {
            let wanted = names(&loose, key);
            assert_eq!(names(&flat, key), wanted, "{set} sets");
            assert_eq!(names(&opened, key), wanted, "{set} sets, opened");
            let many = [&flat, &opened].map(|index| index.which_many(&[key]).count(0));
            assert_eq!(many, [wanted.len(); 2]);
        }
    }
    bloomgrove::verify(&path).unwrap();
}
