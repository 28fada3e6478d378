//! The promises of the coordinator: what was acknowledged is there, also after a restart.

mod damage;
mod model;

use std::collections::BTreeSet;

use bloomgrove::format::Notes;
use bloomgrove::raw::codec::{Model, compress_with};
use bloomgrove::{Filter, Params, codec};
use bloomgrove_client::api::{
    self, ChangeSet, Code, CreateSet, EstimateQuery, Key, Member, Names, ReconstructQuery,
    SampleQuery, Spelling, WhichQuery,
};
use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::Error;

/// Memory is not what these tests are about.
fn free(_: u64) -> Result<(), Error> {
    Ok(())
}

fn open(directory: &TempDir) -> Coordinator {
    Coordinator::open(directory.path(), None, Limits::default()).unwrap()
}

/// Everything here completes immediately or on a thread: no runtime is needed.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn params() -> Params {
    Params::builder(2000, 3).build().unwrap()
}

fn filter(keys: &[&str]) -> Filter {
    let mut filter = Filter::new(params()).unwrap();
    keys.iter().for_each(|key| _ = filter.insert(*key));
    filter
}

fn keys(keys: &[&str]) -> Vec<Key> {
    keys.iter().copied().map(Key::from).collect()
}

fn holders(coordinator: &Coordinator, key: &str) -> Vec<String> {
    let request = WhichQuery {
        keys: keys(&[key]),
        ..WhichQuery::default()
    };
    let mut answers = coordinator.which(&request, free).unwrap().answers;
    let answer = answers.remove(0);
    let sets = answer.sets.unwrap();
    assert_eq!(sets.len() as u64, answer.count);
    sets
}

fn put(coordinator: &Coordinator, name: &str, held: &[&str]) -> u64 {
    let done = wait(coordinator.put(name, filter(held), None, None, None));
    done.unwrap().version
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.unwrap_err().code
}

#[test]
fn an_upload_is_found_after_a_restart_whatever_it_came_as() {
    let directory = tempfile::tempdir().unwrap();
    let (mut file, mut message, mut noted) = (Vec::new(), Vec::new(), Vec::new());
    filter(&["file"]).write_to(&mut file).unwrap();
    codec::compress(&filter(&["message"]), &mut message).unwrap();
    let notes = Notes::new().with("long", "x".repeat(5000));
    compress_with(&filter(&["noted"]), Model::default(), &notes, &mut noted).unwrap();
    assert!(
        noted.len() > params().words() * 8 + 1024,
        "longer than a plain one"
    );
    for _ in 0..2 {
        let coordinator = open(&directory);
        for (name, bytes) in [("file", &file), ("message", &message), ("noted", &noted)] {
            if coordinator.info(name).is_err() {
                let upload = coordinator.read_upload(bytes.clone().into()).unwrap();
                wait(coordinator.put(name, upload, None, None, None)).unwrap();
            }
            assert_eq!(holders(&coordinator, name), [name]);
            assert!(coordinator.filter(name).unwrap().0 == filter(&[name]));
        }
        coordinator.close();
    }
    for bytes in [&file[1..], &message[..message.len() - 1], b"x"] {
        let upload = open(&directory).read_upload(bytes.to_vec().into());
        assert_eq!(code(upload), Code::Invalid);
    }
}

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
fn names_tags_and_sizes_that_cannot_be_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    let good = CreateSet {
        name: "good".into(),
        items: Some(10),
        ..CreateSet::default()
    };
    let long = "n".repeat(501);
    for name in ["", ".", "..", "line\nbreak", "\u{7f}", &long] {
        let bad = CreateSet {
            name: name.into(),
            ..good.clone()
        };
        assert_eq!(
            code(wait(coordinator.create(bad))),
            Code::Invalid,
            "{name:?}"
        );
    }
    let size = |bits: u64, hashes| CreateSet {
        items: None,
        params: Some(api::Params {
            bits,
            hashes,
            ..api::Params::default()
        }),
        ..good.clone()
    };
    for (bad, why) in [
        (size(1 << 60, 3), Code::Invalid),
        (size(1 << 47, 3), Code::TooLarge),
        (size(0, 3), Code::Invalid),
        (size(100, 0), Code::Invalid),
        (size(100, 65), Code::Invalid),
        (
            CreateSet {
                items: Some(u64::MAX),
                ..good.clone()
            },
            Code::Invalid,
        ),
        (
            CreateSet {
                fpr: Some(1.5),
                ..good.clone()
            },
            Code::Invalid,
        ),
        (
            CreateSet {
                items: None,
                ..good.clone()
            },
            Code::Invalid,
        ),
        (
            CreateSet {
                tags: vec![String::new()],
                ..good.clone()
            },
            Code::Invalid,
        ),
        (
            CreateSet {
                expires_in: Some(u64::MAX),
                ..good.clone()
            },
            Code::Invalid,
        ),
    ] {
        let told = format!("{bad:?}");
        let error = wait(coordinator.create(bad)).unwrap_err();
        assert_eq!(error.code, why, "{told}: {error:?}");
    }
    assert!(coordinator.is_empty());
}

#[test]
fn memory_has_an_end() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits {
        memory: 20_000,
        ..Limits::default()
    };
    let coordinator = Coordinator::open(directory.path(), None, limits).unwrap();
    let mut sets = 0;
    let error = loop {
        match wait(coordinator.put(&format!("set-{sets}"), filter(&["one"]), None, None, None)) {
            Ok(_) => sets += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code, Code::Memory);
    assert!((10..100).contains(&sets), "{sets} sets");
    assert_eq!(holders(&coordinator, "one").len(), sets);
    // Existing sets can still be changed and replaced, and deleting frees memory.
    wait(coordinator.insert("set-0", keys(&["two"]), None)).unwrap();
    put(&coordinator, "set-1", &["one", "three"]);
    wait(coordinator.delete("set-2")).unwrap();
    put(&coordinator, "other", &["one"]);
    drop(coordinator);
    // It also starts with a smaller limit, but accepts no more.
    let limits = Limits {
        memory: 5000,
        ..Limits::default()
    };
    let coordinator = Coordinator::open(directory.path(), None, limits).unwrap();
    assert_eq!(holders(&coordinator, "one").len(), sets);
    let more = wait(coordinator.put("more", filter(&["one"]), None, None, None));
    assert_eq!(code(more), Code::Memory);
}

#[test]
fn one_prefix_leaves_room_for_others() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits {
        quotas: vec![Quota {
            prefix: "a/".into(),
            sets: 5,
            bytes: 4000,
            kinds: 3,
        }],
        ..Limits::default()
    };
    let coordinator = Coordinator::open(directory.path(), None, limits.clone()).unwrap();
    let create = |coordinator: &Coordinator, name: &str, bits: u64| {
        wait(coordinator.create(CreateSet {
            name: name.into(),
            params: Some(api::Params {
                bits,
                hashes: 3,
                ..api::Params::default()
            }),
            ..CreateSet::default()
        }))
    };
    for (at, bits) in [64, 128, 192].into_iter().enumerate() {
        create(&coordinator, &format!("a/{at}"), bits).unwrap();
    }
    // A fourth size; the same below another prefix.
    assert_eq!(code(create(&coordinator, "a/3", 256)), Code::Forbidden);
    create(&coordinator, "b/3", 256).unwrap();
    // More memory than is left, by a new set, by a filter, by tags, by a rename.
    assert_eq!(code(create(&coordinator, "a/3", 64_000)), Code::Forbidden);
    let large = Filter::new(Params::builder(64_000, 3).build().unwrap()).unwrap();
    let put = coordinator.put("a/0", large, None, None, None);
    assert_eq!(code(wait(put)), Code::Forbidden);
    let tags = (0..32).map(|tag| format!("{tag:0>100}")).collect();
    let change = ChangeSet {
        tags: Some(tags),
        ..ChangeSet::default()
    };
    let tagged = wait(coordinator.describe("a/0", change));
    assert_eq!(code(tagged), Code::Forbidden);
    let moved = ChangeSet {
        name: Some("a/3".into()),
        ..ChangeSet::default()
    };
    assert_eq!(
        code(wait(coordinator.describe("b/3", moved))),
        Code::Forbidden
    );
    // More sets.
    create(&coordinator, "a/3", 64).unwrap();
    create(&coordinator, "a/4", 64).unwrap();
    assert_eq!(code(create(&coordinator, "a/5", 64)), Code::Forbidden);
    // Deleting makes room, also after a restart.
    wait(coordinator.delete("a/4")).unwrap();
    drop(coordinator);
    let coordinator = Coordinator::open(directory.path(), None, limits).unwrap();
    create(&coordinator, "a/4", 64).unwrap();
    assert_eq!(code(create(&coordinator, "a/5", 64)), Code::Forbidden);
    wait(coordinator.delete("a/1")).unwrap();
    create(&coordinator, "a/5", 256).unwrap();
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
            Member::Number(number) => panic!("{number} is no text"),
        })
        .collect();
    assert!(drawn.len() == 50 && drawn.iter().all(|number| (200..300).contains(number)));
}

#[test]
fn a_snapshot_is_the_state_of_its_moment_and_versions_go_on_above_it() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = open(&directory);
    put(&coordinator, "a", &["one"]);
    let base = wait(coordinator.insert("a", keys(&["two"]), None))
        .unwrap()
        .version;
    let snapshot = coordinator.snapshot().unwrap();
    let listed = coordinator.snapshots().snapshots;
    assert_eq!(listed, std::slice::from_ref(&snapshot));
    let later = wait(coordinator.insert("a", keys(&["three"]), None))
        .unwrap()
        .version;
    let file = coordinator.snapshots_directory().join(&snapshot.file);

    let elsewhere = tempfile::tempdir().unwrap();
    let restored = Coordinator::open(elsewhere.path(), Some(&file), Limits::default()).unwrap();
    assert_eq!(holders(&restored, "two"), ["a"]);
    assert!(holders(&restored, "three").is_empty());
    // A client that has sent "three" builds on a version that this server never had; also if another client has written in
    // between.
    let lost = || wait(restored.insert("a", keys(&["four"]), Some(later)));
    assert_eq!(code(lost()), Code::SendWhole);
    let next = wait(restored.insert("a", keys(&["five"]), None)).unwrap();
    assert!(next.version > later);
    assert_eq!(code(lost()), Code::SendWhole);
    // A client that builds on what the snapshot contains cannot be distinguished from it.
    let known = wait(restored.insert("a", keys(&["four"]), Some(base)));
    assert_eq!(code(known), Code::SendWhole);

    let garbage = elsewhere.path().join("garbage");
    std::fs::write(&garbage, b"no snapshot").unwrap();
    let third = tempfile::tempdir().unwrap();
    let told = Coordinator::open(third.path(), Some(&garbage), Limits::default()).unwrap_err();
    assert!(
        format!("{told:#}").contains("not a snapshot of a server"),
        "{told:#}"
    );
    let again = Coordinator::open(third.path(), Some(&file), Limits::default()).unwrap();
    assert_eq!(holders(&again, "two"), ["a"]);
    let (one, other) = (restored.info("a").unwrap(), again.info("a").unwrap());
    assert_ne!(one.version, other.version);

    let refused = Coordinator::open(directory.path(), Some(&file), Limits::default());
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("empty data directory"), "{told}");
}

#[test]
fn one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let _coordinator = open(&directory);
    let told = Coordinator::open(directory.path(), None, Limits::default()).unwrap_err();
    assert!(format!("{told:#}").contains("another process"), "{told:#}");
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
