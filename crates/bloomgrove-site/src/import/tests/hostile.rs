//! Documents that are small, and would become large or take long.

use super::*;

#[test]
fn what_is_implied_counts() {
    let begun = Instant::now();
    // 1500 effects and 1500 causes share a node: 2,250,000 links.
    let each = |what: &str| -> String {
        let each: Vec<String> = (0..1500).map(|n| format!("<a:{n}>")).collect();
        format!("{what} {} .", each.join(","))
    };
    let effects: String = (0..1500)
        .map(|n| format!("<e:{n}> p:qualifiedUsage <n:n> . "))
        .collect();
    let prefix = "@prefix p: <http://www.w3.org/ns/prov#> . ";
    let text = format!("{prefix}{effects}{}", each("<n:n> p:entity"));
    assert!(text.len() < 88_000);
    let wrong = refuse(&text, Format::Turtle);
    assert!(matches!(wrong, WrongDocument::Large { .. }), "{wrong}");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    // As many of each with a node of its own are fine.
    let own: String = (0..1500)
        .map(|n| format!("<e:{n}> p:qualifiedUsage [ p:entity <a:{n}> ] . "))
        .collect();
    let triples = read_text(&format!("{prefix}{own}"), Format::Turtle);
    assert_eq!(links(&triples).len(), 1500);
}

#[test]
fn languages_count() {
    let long = vec!["abcdefgh"; 20_000].join("-");
    let xml = |language: &str, texts: usize| {
        format!(
            r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e#"
               xml:lang="{language}"><rdf:Description rdf:about="urn:a">{}</rdf:Description>
               </rdf:RDF>"#,
            "<e:b>c</e:b>".repeat(texts)
        )
    };
    let wrong = refuse(&xml(&long, 3000), Format::RdfXml);
    assert!(wrong.to_string().contains("xml:lang"), "{wrong}");
    assert_eq!(read_text(&xml("de-CH-1996", 30), Format::RdfXml).len(), 30);
    // One that is taken, and then inherited by many.
    let language = &long[..2_000 / 9 * 9 - 1];
    let texts: Vec<String> = (0..3000).map(|n| format!("\"{n}\"")).collect();
    let json = |language: &str| {
        format!(
            r#"{{"@context": {{"@language": "{language}"}}, "@id": "urn:a", "urn:b": [{}]}}"#,
            texts.join(",")
        )
    };
    let wrong = refuse(&json(language), Format::JsonLd);
    assert!(matches!(wrong, WrongDocument::Large { .. }), "{wrong}");
    assert_eq!(read_text(&json("de-CH"), Format::JsonLd).len(), 3000);
}

#[test]
fn contexts_are_few_and_stand_for_themselves() {
    let begun = Instant::now();
    let terms = |from: usize, count: usize| -> String {
        let terms = (from..from + count).map(|n| format!("\"t{n}\": \"urn:t{n}\""));
        terms.collect::<Vec<_>>().join(",")
    };
    // A property with a context of 1900 terms, used 2000 times.
    let uses = vec![r#"{"@id": "urn:a", "p": {"@id": "urn:b"}}"#; 2000].join(",");
    let scoped = |key: &str| {
        format!(
            r#"{{"@context": {{"@version": 1.1, "p": {{"@id": "urn:p", "{key}": {{{}}}}}}},
                "@graph": [{uses}]}}"#,
            terms(0, 1900)
        )
    };
    for key in ["@context", "\\u0040context"] {
        assert_eq!(refuse(&scoped(key), Format::JsonLd), WrongDocument::Scoped);
    }
    // The same with an empty context in each use, alone and in lists.
    let many = |own: &str, count: usize| {
        let uses = format!(r#"{{"@context": {own}, "@id": "urn:a", "urn:p": {{"@id": "urn:b"}}}}"#);
        format!(
            r#"{{"@context": {{{}}}, "@graph": [{}]}}"#,
            terms(0, 1900),
            vec![uses; count].join(",")
        )
    };
    for (own, count) in [("{}", 2000), ("[{}, {}, {}]", 200), ("null", 600)] {
        let wrong = refuse(&many(own, count), Format::JsonLd);
        assert_eq!(wrong, WrongDocument::Contexts(500), "{own}");
    }
    let wrong = refuse(
        &many(&format!("{{{}}}", terms(2000, 100)), 40),
        Format::JsonLd,
    );
    assert_eq!(wrong, WrongDocument::Terms(5000));
    // As many as are taken do not take long; lists in definitions are no contexts.
    assert_eq!(read_text(&many("{}", 499), Format::JsonLd).len(), 499);
    let sets =
        (0..600).map(|n| format!(r#""t{n}": {{"@id": "urn:t{n}", "@container": ["@set"]}}"#));
    let sets = sets.collect::<Vec<_>>().join(",");
    let text = format!(r#"{{"@context": {{{sets}}}, "@id": "urn:a", "t1": ["x"]}}"#);
    assert_eq!(read_text(&text, Format::JsonLd).len(), 1);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}
