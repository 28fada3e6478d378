//! Small documents that would become large or take long.

use std::time::Instant;

use super::*;

#[test]
fn deep_documents_are_refused() {
    let deep = |open: &str, close: &str, times: usize| {
        format!("{}{}", open.repeat(times), close.repeat(times))
    };
    let head = "<urn:a> <urn:b> ";
    for times in [200, 1_000_000] {
        for (format, text) in [
            (
                Format::Turtle,
                format!("{head}{} .", deep("[<urn:b> ", "]", times)),
            ),
            (Format::Turtle, format!("{head}{} .", deep("(", ")", times))),
            (
                Format::TriG,
                format!("{head}{} .", deep("[<urn:b> ", "]", times)),
            ),
            (Format::JsonLd, deep(r#"{"urn:a":"#, "}", times)),
            (Format::JsonLd, deep("[", "]", times)),
            (Format::ProvJson, deep("[", "]", times)),
            (Format::ProvJson, deep(r#"{"bundle":"#, "}", times)),
            (Format::RdfXml, deep("<a>", "</a>", times)),
        ] {
            assert_eq!(refuse(&text, format), WrongDocument::Deep(format));
        }
    }
    // Brackets in texts, names and comments do not count; neither do those that are closed.
    let text = format!(
        "# {}\n{head}\"{}\" , '''{}''' .",
        "[".repeat(300),
        "(".repeat(300),
        "{".repeat(300)
    );
    assert_eq!(read_text(&text, Format::Turtle).len(), 2);
    let flat = format!("{head}{} [] .", "[ <urn:c> 1 ] , ".repeat(1000));
    assert_eq!(read_text(&flat, Format::Turtle).len(), 2001);
}

#[test]
fn documents_that_grow_when_written_out_are_refused() {
    let begun = Instant::now();
    let long = format!("http://example.org/{}", "x".repeat(10 << 20));
    let xml = |space: &str| {
        format!(
            r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{space}">
               <rdf:Description rdf:about="urn:a"><e:b rdf:resource="urn:c"/></rdf:Description>
               </rdf:RDF>"#
        )
    };
    for (format, text) in [
        (
            Format::Turtle,
            format!("@prefix p: <{long}> . p:a p:b p:c ."),
        ),
        (
            Format::TriG,
            format!("PREFIX p: <{long}> p:g {{ p:a p:b p:c }}"),
        ),
        (Format::NTriples, format!("<{long}> <urn:b> <urn:c> .")),
        (Format::NQuads, format!("<urn:a> <urn:b> <{long}> .")),
        (
            Format::JsonLd,
            format!(r#"{{"@context": {{"p": "{long}"}}, "@type": ["p:a", "p:b"]}}"#),
        ),
        (Format::RdfXml, xml(&long)),
        (
            Format::ProvJson,
            format!(r#"{{"prefix": {{"p": "{long}"}}, "entity": {{"p:a": {{}}}}}}"#),
        ),
    ] {
        let wrong = refuse(&text, format);
        assert!(
            matches!(wrong, WrongDocument::Long(_)),
            "{format:?}: {wrong}"
        );
    }
    let space = format!("http://example.org/{}", "x".repeat(1900));
    let many = "p:a p:b p:c . ".repeat(20_000);
    let agents: Vec<String> = (0..5000)
        .map(|number| format!(r#""p:{number}": {{}}"#))
        .collect();
    let agents = agents.join(",");
    for (format, text) in [
        (Format::Turtle, format!("@prefix p: <{space}> . {many}")),
        (
            Format::ProvJson,
            format!(r#"{{"prefix": {{"p": "{space}"}}, "agent": {{{agents}}}}}"#),
        ),
    ] {
        let wrong = refuse(&text, format);
        assert!(matches!(wrong, WrongDocument::Large { .. }), "{wrong}");
    }
    let chain = |count: usize| {
        let terms = (0..count).map(|number| format!("\"t{number}\": \"t{}:x\"", number + 1));
        let terms: Vec<String> = terms.collect();
        format!(
            r#"{{"@context": {{{}, "t{count}": "urn:t/"}}, "t0": "x"}}"#,
            terms.join(", ")
        )
    };
    assert_eq!(
        refuse(&chain(2000), Format::JsonLd),
        WrongDocument::Terms(2000)
    );
    // The maximum number of terms, each defined by the next, neither overflows the stack nor takes long.
    let _ = read(chain(1999).as_bytes(), Format::JsonLd);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

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
    // The same number, each with its own node, is fine.
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
    // A language tag that is accepted, and then inherited by many.
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
    assert!(matches!(wrong, WrongDocument::Terms(_)), "{wrong}");
    // The maximum number does not take long; lists in definitions are not contexts.
    assert_eq!(read_text(&many("{}", 499), Format::JsonLd).len(), 499);
    let sets =
        (0..600).map(|n| format!(r#""t{n}": {{"@id": "urn:t{n}", "@container": ["@set"]}}"#));
    let sets = sets.collect::<Vec<_>>().join(",");
    let text = format!(r#"{{"@context": {{{sets}}}, "@id": "urn:a", "t1": ["x"]}}"#);
    assert_eq!(read_text(&text, Format::JsonLd).len(), 1);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

/// Everything that the parser accepts as a DOCTYPE: it declares entities, which are expanded wherever they
/// occur.
#[test]
fn document_types_are_refused() {
    let text = |doctype: &str| {
        format!(
            r#"<?xml version="1.0"?>{doctype}<rdf:RDF xmlns:e="urn:e#"
               xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
               rdf:about="urn:a"><e:b>{}</e:b></rdf:Description></rdf:RDF>"#,
            if doctype.contains("a\"") {
                "&a\";"
            } else {
                "&a;"
            }
            .repeat(2000)
        )
    };
    let long = "A".repeat(20_000);
    for doctype in [
        // The parser takes `a"` for the name.
        format!("<!DOCTYPE rdf:RDF [<!ENTITY a\" \"{long}\">]>"),
        format!("<!DOCTYPE rdf:RDF [<!ENTITY a \"{long}\">]>"),
        format!("<!DOCTYPE rdf:RDF [<!ENTITY % a \"{long}\">]>"),
        format!("<!doctype rdf:RDF [<!ENTITY a \"{long}\">]>"),
        format!("<!-- --><!DocType rdf:RDF [<!ENTITY a\n\"{long}\"\n>]>"),
        format!("<!--><!DOCTYPE rdf:RDF [<!ENTITY a \"{long}\">]><!-- -->"),
        format!("<?x \"?><!DOCTYPE rdf:RDF [<!ENTITY a \"{long}\">]><?x \"?>"),
        "<!DOCTYPE rdf:RDF>".to_owned(),
    ] {
        let wrong = refuse(&text(&doctype), Format::RdfXml);
        assert_eq!(
            wrong,
            WrongDocument::Doctype,
            "{}",
            &doctype[..40.min(doctype.len())]
        );
    }
    assert!(WrongDocument::Doctype.to_string().contains("riot"));
    // In another encoding it is not a valid document.
    let doctype = text("<!DOCTYPE rdf:RDF [<!ENTITY a \"b\">]>");
    for (mark, bytes) in [
        ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        ([0xfe, 0xff], |unit| {
            let [low, high] = u16::to_le_bytes(unit);
            [high, low]
        }),
    ] {
        let mut document = mark.to_vec();
        document.extend(doctype.encode_utf16().flat_map(bytes));
        read(&document, Format::RdfXml).unwrap_err();
    }
    // The five predefined entities, and numbers, are not entities of a document.
    let fine = text("").replace(&"&a;".repeat(2000), "&lt;!DOCTYPE &#65;&amp;&quot;");
    let triples = read_text(&fine, Format::RdfXml);
    assert!(
        triples[0].to_string().contains("<!DOCTYPE A&\\\""),
        "{}",
        triples[0]
    );
}

#[test]
fn xml_literals_count_the_namespaces_around_them() {
    let text = |spaces: usize, kind: &str, elements: usize| {
        let spaces: String = (0..spaces)
            .map(|n| format!(" xmlns:n{n}=\"urn:{}\"", "x".repeat(1000)))
            .collect();
        format!(
            r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e#"{spaces}>
               <rdf:Description rdf:about="urn:a"><e:b rdf:parseType="{kind}">{}</e:b>
               </rdf:Description></rdf:RDF>"#,
            "<e:c/>".repeat(elements)
        )
    };
    let begun = Instant::now();
    for kind in ["Literal", "Other"] {
        // 200 kB that expand to 2 GB.
        let wrong = refuse(&text(100, kind, 20_000), Format::RdfXml);
        assert!(matches!(wrong, WrongDocument::Large { .. }), "{wrong}");
    }
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    assert_eq!(read_text(&text(3, "Literal", 100), Format::RdfXml).len(), 1);
    assert_eq!(
        read_text(&text(100, "Resource", 0), Format::RdfXml).len(),
        1
    );
}

#[test]
fn terms_that_begin_with_each_other_are_refused_when_they_grow() {
    let chain = |count: usize, bytes: usize| {
        let part = "x".repeat(bytes);
        let terms = (0..count).map(|n| format!("\"t{n}\": \"t{}:{part}/\"", n + 1));
        let terms: Vec<String> = terms.collect();
        format!(
            r#"{{"@context": {{{}, "t{count}": "urn:t/"}}, "@id": "urn:a", "t{}": "x"}}"#,
            terms.join(", "),
            count - 1
        )
    };
    // 1.9 MB, of which almost all is the longest IRI, and 1.8 GB when expanded.
    let wrong = refuse(&chain(1900, 1000), Format::JsonLd);
    assert!(matches!(wrong, WrongDocument::Terms(_)), "{wrong}");
    assert_eq!(read_text(&chain(100, 10), Format::JsonLd).len(), 1);
}

/// What is not in the document takes memory, too.
#[test]
fn triples_count_with_all_that_they_take() {
    // Two bytes are two triples, whose properties and blank nodes have long names.
    let text = format!("<urn:a> <urn:b> ({}) .", "1 ".repeat(100_000));
    let wrong = refuse(&text, Format::Turtle);
    assert!(matches!(wrong, WrongDocument::Large { .. }), "{wrong}");
    let mut most = Allowance::new(usize::MAX);
    assert_eq!(most.take(LARGEST), Ok(()));
    assert!(matches!(most.take(1), Err(WrongDocument::Large { .. })));
    let objects: Vec<String> = (0..20_000).map(|n| format!("p:e{n}")).collect();
    let prefix = "@prefix p: <http://www.example.org/a/rather/long/prefix/of/names#> .";
    let text = format!("{prefix} p:a p:b {} .", objects.join(","));
    assert_eq!(read_text(&text, Format::Turtle).len(), 20_000);
}
