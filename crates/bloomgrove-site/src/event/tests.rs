use super::*;

const NOW: &str = "2026-11-16T12:00:00Z";

fn event(kind: EventKind, inputs: &[&str], outputs: &[&str]) -> Event {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    let transfer = matches!(kind, EventKind::Sent | EventKind::Received);
    Event {
        kind,
        inputs: owned(inputs),
        outputs: owned(outputs),
        peer: transfer.then(|| "pune".to_owned()),
        ..Event::default()
    }
}

fn written(event: &Event) -> Vec<String> {
    let (_, triples) = triples(event, NOW).unwrap();
    let mut lines: Vec<String> = triples.iter().map(ToString::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn a_bundle_stands_in_the_store_as_the_vocabulary_says() {
    let bundle = Event {
        id: Some("urn:uuid:1".into()),
        time: Some("2026-11-16T09:30:00+01:00".into()),
        label: Some("the quarter's \"invoices\"".into()),
        agent: Some("books".into()),
        ..event(EventKind::Bundled, &["urn:a", "invoice 2"], &["urn:c"])
    };
    assert_eq!(
        written(&bundle),
        [
            "<urn:c> <http://www.w3.org/ns/prov#wasGeneratedBy> <urn:uuid:1>",
            "<urn:uuid:1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> \
             <http://www.w3.org/ns/prov#Activity>",
            "<urn:uuid:1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> \
             <urn:x-bloomgrove:Bundled>",
            "<urn:uuid:1> <http://www.w3.org/2000/01/rdf-schema#label> \
             \"the quarter's \\\"invoices\\\"\"",
            "<urn:uuid:1> <http://www.w3.org/ns/prov#endedAtTime> \
             \"2026-11-16T09:30:00+01:00\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
            "<urn:uuid:1> <http://www.w3.org/ns/prov#used> <urn:a>",
            "<urn:uuid:1> <http://www.w3.org/ns/prov#used> <urn:x-bloomgrove:id:invoice%202>",
            "<urn:uuid:1> <urn:x-bloomgrove:agent> \"books\"",
        ]
    );
}

#[test]
fn a_transfer_is_no_use() {
    let sent = Event {
        id: Some("urn:e".into()),
        ..event(EventKind::Sent, &["urn:a"], &[])
    };
    let lines = written(&sent);
    assert!(lines.contains(&"<urn:a> <urn:x-bloomgrove:transferredBy> <urn:e>".into()));
    assert!(lines.contains(&"<urn:e> <urn:x-bloomgrove:peer> \"pune\"".into()));
    assert!(lines.iter().any(|line| line.contains(NOW)));
    assert!(!lines.iter().any(|line| line.contains("prov#used")));
}

#[test]
fn every_kind_has_its_documents() {
    use EventKind::*;
    let good: [(EventKind, &[&str], &[&str]); 7] = [
        (Created, &[], &["urn:a", "urn:b"]),
        (Derived, &["urn:a", "urn:b"], &["urn:c", "urn:d"]),
        (Bundled, &["urn:a"], &["urn:b"]),
        (Split, &["urn:a"], &["urn:b", "urn:c"]),
        (Sent, &["urn:a"], &[]),
        (Received, &["urn:a", "urn:b"], &[]),
        (Derived, &["urn:a", "urn:a"], &["urn:b"]),
    ];
    for (kind, inputs, outputs) in good {
        assert!(
            triples(&event(kind, inputs, outputs), NOW).is_ok(),
            "{kind:?}"
        );
    }
    let bad: [(EventKind, &[&str], &[&str]); 11] = [
        (Created, &[], &[]),
        (Created, &["urn:a"], &["urn:b"]),
        (Derived, &["urn:a"], &[]),
        (Derived, &[], &["urn:a"]),
        (Bundled, &["urn:a"], &["urn:b", "urn:c"]),
        (Bundled, &[], &["urn:b"]),
        (Split, &["urn:a", "urn:b"], &["urn:c"]),
        (Split, &["urn:a"], &[]),
        (Sent, &[], &[]),
        (Sent, &["urn:a"], &["urn:b"]),
        (Received, &["urn:a"], &["urn:b"]),
    ];
    for (kind, inputs, outputs) in bad {
        let wrong = triples(&event(kind, inputs, outputs), NOW).unwrap_err();
        assert!(matches!(wrong, WrongEvent::Documents { .. }), "{wrong}");
        assert!(wrong.to_string().contains(name(kind)), "{wrong}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let good = event(EventKind::Derived, &["urn:a"], &["urn:b"]);
    let wrong = |event: Event| triples(&event, NOW).unwrap_err();
    let text = |bytes| Some("x".repeat(bytes));
    assert_eq!(
        wrong(event(EventKind::Derived, &["urn:a"], &["urn:a"])),
        WrongEvent::Loop("urn:a".into())
    );
    let itself = Event {
        id: Some("urn:b".into()),
        ..good.clone()
    };
    assert_eq!(wrong(itself), WrongEvent::Loop("urn:b".into()));
    let many: Vec<String> = (0..1001).map(|number| format!("urn:{number}")).collect();
    let crowded = Event {
        inputs: many,
        ..good.clone()
    };
    assert_eq!(wrong(crowded), WrongEvent::TooMany(1001));
    for (event, what) in [
        (
            Event {
                label: text(1001),
                ..good.clone()
            },
            "label",
        ),
        (
            Event {
                agent: text(1001),
                ..good.clone()
            },
            "agent",
        ),
    ] {
        assert_eq!(wrong(event), WrongEvent::TooLong { what, bytes: 1001 });
    }
    let sent = event(EventKind::Sent, &["urn:a"], &[]);
    for peer in [None, Some(String::new())] {
        let alone = Event {
            peer,
            ..sent.clone()
        };
        assert_eq!(wrong(alone), WrongEvent::NoPeer(EventKind::Sent));
    }
    let far = Event {
        peer: text(1001),
        ..sent
    };
    assert!(matches!(wrong(far), WrongEvent::TooLong { .. }));
    let peered = Event {
        peer: text(4),
        ..good.clone()
    };
    assert_eq!(wrong(peered), WrongEvent::Peer(EventKind::Derived));
    let empty = event(EventKind::Derived, &[""], &["urn:a"]);
    assert_eq!(wrong(empty), WrongEvent::Id(WrongId::Empty));
    let timeless = Event {
        time: Some("yesterday".into()),
        ..good
    };
    assert_eq!(wrong(timeless), WrongEvent::Time("yesterday".into()));
}

#[test]
fn times_have_a_zone_and_are_in_the_calendar() {
    for time in [
        "2026-11-16T09:30:00Z",
        "2026-11-16T09:30:00.123456789Z",
        "2024-02-29T23:59:59+14:00",
        "2000-02-29T00:00:00-11:30",
        "-0044-03-15T12:00:00Z",
        "12026-01-31T00:00:00Z",
    ] {
        assert!(is_time(time), "{time}");
    }
    for time in [
        "",
        "T",
        "2026-11-16",
        "2026-11-16T09:30:00",
        "2026-11-16T09:30Z",
        "2026-11-16 09:30:00Z",
        "2026-13-16T09:30:00Z",
        "2026-11-31T09:30:00Z",
        "2026-02-29T09:30:00Z",
        "1900-02-29T09:30:00Z",
        "2026-1-1T09:30:00Z",
        "2026-11-16T25:30:00Z",
        "2026-11-16T09:60:00Z",
        "2026-11-16T09:30:60Z",
        "2026-11-16T09:30:00.Z",
        "2026-11-16T09:30:00+14:01",
        "2026-11-16T09:30:00+1:00",
        "2026-11-16T09:30:00Zulu",
        "2026-11-16T09:30:00+01:00Z",
        "02026-11-16T09:30:00Z",
        "+2026-11-16T09:30:00Z",
        "2026-11-16T09:30:+1Z",
        "２０２６-11-16T09:30:00Z",
    ] {
        assert!(!is_time(time), "{time}");
    }
    let long = format!("2026-11-16T09:30:00.{}Z", "0".repeat(100));
    assert!(!is_time(&long));
}

#[test]
fn made_up_ids_are_uuids_of_version_4_and_all_different() {
    let event = event(EventKind::Created, &[], &["urn:a"]);
    let ids: HashSet<String> = (0..100).map(|_| triples(&event, NOW).unwrap().0).collect();
    assert_eq!(ids.len(), 100);
    for id in ids {
        let parts: Vec<&str> = id.strip_prefix("urn:uuid:").unwrap().split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('4'));
        assert!(parts[3].starts_with(['8', '9', 'a', 'b']));
    }
    assert_eq!(
        uuid(u128::MAX),
        "urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff"
    );
    assert_eq!(uuid(0), "urn:uuid:00000000-0000-4000-8000-000000000000");
}
