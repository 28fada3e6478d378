//! What is refused: impossible names, tags and sizes; more memory than allowed.

use super::*;

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
