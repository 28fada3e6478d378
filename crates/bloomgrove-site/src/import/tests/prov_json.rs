//! PROV-JSON beyond what all formats share.

use super::*;

fn lines(text: &str) -> BTreeSet<String> {
    let triples = read_text(text, Format::ProvJson);
    triples.iter().map(ToString::to_string).collect()
}

fn with_prefix(rest: &str) -> String {
    format!(r#"{{"prefix": {{"ex": "urn:ex:", "default": "urn:d:"}}, {rest}}}"#)
}

#[test]
fn every_relation_is_read() {
    for (record, wanted) in [
        (
            r#""wasInformedBy": {"_:1": {"prov:informed": "ex:a", "prov:informant": "ex:b"}}"#,
            "wasInformedBy",
        ),
        (
            r#""wasStartedBy": {"_:1": {"prov:activity": "ex:a", "prov:trigger": "ex:b"}}"#,
            "wasStartedBy",
        ),
        (
            r#""wasEndedBy": {"_:1": {"prov:activity": "ex:a", "prov:trigger": "ex:b"}}"#,
            "wasEndedBy",
        ),
        (
            r#""wasInfluencedBy": {"_:1": {"prov:influencee": "ex:a", "prov:influencer": "ex:b"}}"#,
            "wasInfluencedBy",
        ),
        (
            r#""specializationOf": {"_:1": {"prov:specificEntity": "ex:a",
                                             "prov:generalEntity": "ex:b"}}"#,
            "specializationOf",
        ),
        (
            r#""hadMember": {"_:1": {"prov:collection": "ex:a", "prov:entity": ["ex:b"]}}"#,
            "hadMember",
        ),
        (
            r#""wasAttributedTo": {"_:1": {"prov:entity": "ex:a", "prov:agent": "ex:b"}}"#,
            "wasAttributedTo",
        ),
        (
            r#""wasAssociatedWith": {"_:1": {"prov:activity": "ex:a", "prov:agent": "ex:b"}}"#,
            "wasAssociatedWith",
        ),
        (
            r#""wasDerivedFrom": {"_:1": {"prov:generatedEntity": "ex:a", "prov:usedEntity": "ex:b",
               "prov:type": {"$": "prov:Revision", "type": "prov:QUALIFIED_NAME"}}}"#,
            "wasRevisionOf",
        ),
        (
            r#""wasDerivedFrom": {"_:1": {"prov:generatedEntity": "ex:a", "prov:usedEntity": "ex:b",
               "prov:type": ["x", {"$": "prov:Quotation", "type": "xsd:QName"}]}}"#,
            "wasQuotedFrom",
        ),
        (
            r#""wasDerivedFrom": {"_:1": {"prov:generatedEntity": "ex:a", "prov:usedEntity": "ex:b",
               "prov:type": [{"$": "prov:PrimarySource", "type": "prov:QUALIFIED_NAME"}]}}"#,
            "hadPrimarySource",
        ),
    ] {
        let line = format!("<urn:ex:a> <http://www.w3.org/ns/prov#{wanted}> <urn:ex:b>");
        assert_eq!(lines(&with_prefix(record)), BTreeSet::from([line]));
    }
}

#[test]
fn attributes_keep_their_types() {
    let text = with_prefix(
        r#""activity": {"run": {"prov:startTime": "2026-11-16T09:30:00Z",
            "prov:endTime": "2026-11-16T10:30:00Z", "prov:label": [{"$": "Lauf", "lang": "de"}],
            "prov:type": {"$": "ex:Run", "type": "prov:QUALIFIED_NAME"}, "ex:n": 7, "ex:x": 1.5,
            "ex:yes": true, "ex:size": {"$": "12", "type": "xsd:long"}, "prov:location": "here",
            "ex:both": ["one", {"$": 2, "type": "xsd:int"}]}},
           "entity": {"_:e": [{"prov:value": "v"}, {}]},
           "wasGeneratedBy": {"_:1": {"prov:entity": "_:e", "prov:time": "2026-11-16T10:00:00Z"}}"#,
    );
    let all = lines(&text);
    for wanted in [
        "<urn:d:run> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> \
         <http://www.w3.org/ns/prov#Activity>",
        "<urn:d:run> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:ex:Run>",
        "<urn:d:run> <http://www.w3.org/ns/prov#startedAtTime> \
         \"2026-11-16T09:30:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
        "<urn:d:run> <http://www.w3.org/ns/prov#endedAtTime> \
         \"2026-11-16T10:30:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime>",
        "<urn:d:run> <http://www.w3.org/2000/01/rdf-schema#label> \"Lauf\"@de",
        "<urn:d:run> <urn:ex:n> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer>",
        "<urn:d:run> <urn:ex:x> \"1.5\"^^<http://www.w3.org/2001/XMLSchema#double>",
        "<urn:d:run> <urn:ex:yes> \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
        "<urn:d:run> <urn:ex:size> \"12\"^^<http://www.w3.org/2001/XMLSchema#long>",
        "<urn:d:run> <urn:ex:both> \"2\"^^<http://www.w3.org/2001/XMLSchema#int>",
        "<urn:d:run> <http://www.w3.org/ns/prov#atLocation> \"here\"",
    ] {
        assert!(all.contains(wanted), "{wanted}\n{all:#?}");
    }
    let generated = all
        .iter()
        .find(|line| line.contains("generatedAtTime"))
        .unwrap();
    assert!(
        generated.starts_with("<urn:x-bloomgrove:blank:"),
        "{generated}"
    );
    assert_eq!(all.len(), 15, "{all:#?}");
}

#[test]
fn bundles_are_flattened_with_their_own_prefixes() {
    let text = with_prefix(
        r#""bundle": {"ex:b": {"prefix": {"ex": "urn:inner:"}, "unheard": {"of": 7},
            "used": {"_:u": {"prov:activity": "ex:a", "prov:entity": "e"}}}},
           "used": {"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e"}}"#,
    );
    let used = "<http://www.w3.org/ns/prov#used>";
    let wanted = [
        format!("<urn:ex:a> {used} <urn:ex:e>"),
        format!("<urn:inner:a> {used} <urn:d:e>"),
    ];
    assert_eq!(lines(&text), BTreeSet::from(wanted));
}

#[test]
fn wrong_shapes_are_refused_with_what_is_wrong() {
    for (rest, word) in [
        (r#""entity": 7"#, "entity"),
        (r#""entity": {"ex:e": 7}"#, "ex:e"),
        (r#""entity": {"other:e": {}}"#, "other:e"),
        (
            r#""entity": {"ex:e": {"prov:value": {"type": "xsd:int"}}}"#,
            "value",
        ),
        (r#""entity": {"ex:e": {"ex:a": null}}"#, "null"),
        (
            r#""entity": {"ex:e": {"prov:label": {"$": "x", "lang": "not a tag"}}}"#,
            "language",
        ),
        (r#""entity": {"ex:has space": {}}"#, "IRI"),
        (
            r#""used": {"_:u": {"prov:activity": 7, "prov:entity": "ex:e"}}"#,
            "prov:activity",
        ),
        (r#""bundle": {"ex:b": 7}"#, "ex:b"),
    ] {
        let wrong = refuse(&with_prefix(rest), Format::ProvJson);
        assert!(wrong.to_string().contains(word), "{wrong}");
    }
    let wrong = refuse(r#"{"prefix": {"ex": 7}}"#, Format::ProvJson);
    assert!(wrong.to_string().contains("prefix"), "{wrong}");
    let wrong = refuse(r#"{"entity": {"e": {}}}"#, Format::ProvJson);
    assert!(wrong.to_string().contains("prefix"), "{wrong}");
}
