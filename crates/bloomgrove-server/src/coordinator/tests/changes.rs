//! Changes of sets: versions, deltas, merges, expiry.

use super::*;

#[test]
fn sets_come_change_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let wanted = CreateSet {
        name: "a".into(),
        items: Some(100),
        tags: vec!["x".into(), "w".into(), "x".into()],
        ..CreateSet::default()
    };
    let set = wait(coordinator.create(wanted.clone())).unwrap();
    assert_eq!(
        (set.tags, set.ones),
        (vec!["w".to_owned(), "x".to_owned()], 0)
    );
    assert_eq!(code(wait(coordinator.create(wanted))), Code::Exists);

    let done = wait(coordinator.insert("a", keys(&["one", "two"]), None)).unwrap();
    assert!(done.version > set.version && done.changed_bits > 0);
    assert_eq!(holders(&coordinator, "one"), ["a"]);
    assert!(holders(&coordinator, "three").is_empty());

    let rename = ChangeSet {
        name: Some("b".into()),
        ..ChangeSet::default()
    };
    let renamed = wait(coordinator.describe("a", rename)).unwrap();
    assert!(renamed.version > done.version);
    assert_eq!(holders(&coordinator, "one"), ["b"]);
    assert_eq!(code(coordinator.info("a")), Code::NotFound);

    wait(coordinator.delete("b")).unwrap();
    assert!(holders(&coordinator, "one").is_empty());
    assert_eq!(code(wait(coordinator.delete("b"))), Code::NotFound);
    let again = wait(coordinator.insert("b", keys(&["one"]), None));
    assert_eq!(code(again), Code::NotFound);
}

#[test]
fn versions_say_what_an_update_builds_on() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let first = put(&coordinator, "a", &["one"]);
    let add = |key: &str, base| wait(coordinator.insert("a", keys(&[key]), base));
    let second = add("two", Some(first)).unwrap();
    assert!(second.version > first);
    // Sent again, as if the response was lost.
    let repeated = add("two", Some(first)).unwrap();
    assert_eq!(
        (repeated.version, repeated.changed_bits),
        (second.version, 0)
    );
    // Another writer, which has not seen the second update: nothing of either is lost.
    let third = add("three", Some(first)).unwrap();
    assert!(third.version > second.version);
    for key in ["one", "two", "three"] {
        assert_eq!(holders(&coordinator, key), ["a"], "{key}");
    }
    // An update that never arrived.
    let error = add("four", Some(third.version + 1)).unwrap_err();
    assert_eq!(
        (error.code, error.version),
        (Code::SendWhole, Some(third.version))
    );
    assert!(holders(&coordinator, "four").is_empty());
    // Made for a filter that no longer exists, also after a deletion.
    let whole = put(&coordinator, "a", &["five"]);
    assert_eq!(code(add("four", Some(third.version))), Code::SendWhole);
    add("four", Some(whole)).unwrap();
    wait(coordinator.delete("a")).unwrap();
    let anew = put(&coordinator, "a", &[]);
    assert!(anew > whole);
    assert_eq!(code(add("four", Some(whole))), Code::SendWhole);
}

#[test]
fn a_name_that_changes_hands_does_not_take_its_versions_along() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let old = put(&coordinator, "a", &["one"]);
    put(&coordinator, "c", &["three"]);
    let rename = |from: &str, to: &str| {
        let name = Some(to.to_owned());
        let change = ChangeSet {
            name,
            ..ChangeSet::default()
        };
        wait(coordinator.describe(from, change)).unwrap().version
    };
    rename("a", "b");
    let now = rename("c", "a");
    wait(coordinator.insert("a", keys(&["four"]), Some(now))).unwrap();
    let lost = wait(coordinator.insert("a", keys(&["two"]), Some(old)));
    assert_eq!(code(lost), Code::SendWhole);
}

#[test]
fn deltas_are_applied_once_to_the_bits_they_were_made_from() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let delta = |old: &[&str], new: &[&str]| {
        let mut message = Vec::new();
        codec::delta(&filter(old), &filter(new), &mut message).unwrap();
        Bytes::from(message)
    };
    let send = |message: &Bytes| wait(coordinator.delta("a", message.clone(), None));
    let grown = delta(&["one"], &["one", "two"]);
    assert_eq!(code(send(&grown)), Code::NotFound);
    let first = put(&coordinator, "a", &["one"]);
    let done = send(&grown).unwrap();
    assert!(done.version > first && done.changed_bits > 0);
    let again = send(&grown).unwrap();
    assert_eq!((again.version, again.changed_bits), (done.version, 0));
    // A delta that clears bits.
    let other = send(&delta(&["one", "two"], &["three"])).unwrap();
    assert!(other.changed_bits > 0);
    assert_eq!(holders(&coordinator, "three"), ["a"]);
    assert!(coordinator.filter("a").unwrap().0 == filter(&["three"]));
    let error = send(&grown).unwrap_err();
    assert_eq!(
        (error.code, error.version),
        (Code::SendWhole, Some(other.version))
    );
    assert_eq!(code(send(&Bytes::from_static(b"nothing"))), Code::Invalid);
}

#[test]
fn a_merge_wants_equal_parameters() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    put(&coordinator, "a", &["one"]);
    wait(coordinator.merge("a", filter(&["two"]), None)).unwrap();
    assert_eq!(holders(&coordinator, "two"), ["a"]);
    let other = Filter::new(Params::builder(2001, 3).build().unwrap()).unwrap();
    assert_eq!(
        code(wait(coordinator.merge("a", other, None))),
        Code::Incompatible
    );
    // Almost all bits at once, which takes another code path.
    let all = Filter::from_words(
        params(),
        vec![!0 >> 1; 31]
            .into_iter()
            .chain([0xff])
            .collect::<Vec<u64>>(),
    );
    let mut most = Filter::new(params()).unwrap();
    most.union_with(&all.unwrap()).unwrap();
    let base = coordinator.info("a").unwrap().version;
    let done = wait(coordinator.merge("a", most, Some(base))).unwrap();
    assert_eq!(coordinator.info("a").unwrap().version, done.version);
    assert_eq!(holders(&coordinator, "two"), ["a"]);
    // It did not replace the filter, so older updates still apply.
    wait(coordinator.insert("a", keys(&["three"]), Some(base))).unwrap();
}

#[test]
fn a_whole_filter_sent_again_drops_nothing_that_came_since() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let put = |base| wait(coordinator.put("set", filter(&["one"]), None, None, base));
    assert_eq!(code(put(Some(7))), Code::Changed, "there is none");
    let first = put(Some(0)).unwrap();
    assert!(first.made);
    assert_eq!(code(put(Some(0))), Code::Exists);
    wait(coordinator.insert("set", keys(&["two"]), None)).unwrap();
    // The client did not receive the acknowledgement, and sends it again.
    let again = put(Some(first.version)).unwrap_err();
    assert_eq!(again.code, Code::Changed);
    assert_eq!(holders(&coordinator, "two"), ["set"]);
    put(again.version).unwrap();
    assert!(holders(&coordinator, "two").is_empty());
}

#[test]
fn sets_go_when_their_time_has_come() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    wait(coordinator.put("short", filter(&["one"]), None, Some(1), None)).unwrap();
    wait(coordinator.put("saved", filter(&["one"]), None, Some(1), None)).unwrap();
    put(&coordinator, "long", &["one"]);
    let forever = ChangeSet {
        expires_in: Some(0),
        ..ChangeSet::default()
    };
    assert_eq!(
        wait(coordinator.describe("saved", forever))
            .unwrap()
            .expires,
        None
    );
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(wait(coordinator.expire()), 1);
    assert_eq!(holders(&coordinator, "one"), ["long", "saved"]);
    drop(coordinator);
    assert_eq!(holders(&open(&directory), "one").len(), 2);
}

#[test]
fn a_filter_that_grows_by_single_keys_is_stored_anew_now_and_then() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let wanted = CreateSet {
        name: "a".into(),
        items: Some(10_000),
        ..CreateSet::default()
    };
    wait(coordinator.create(wanted)).unwrap();
    for i in 0..1200 {
        wait(coordinator.insert("a", keys(&[&format!("key-{i}")]), None)).unwrap();
    }
    let deltas = coordinator.shared.read().get("a").unwrap().stored.deltas;
    assert!(deltas < 1000, "{deltas} deltas");
    let (before, version) = coordinator.filter("a").unwrap();
    drop(coordinator);
    let again = open(&directory);
    let (after, same) = again.filter("a").unwrap();
    assert!(before == after && version == same);
    assert_eq!(again.shared.read().get("a").unwrap().stored.deltas, deltas);
}
