use std::collections::BTreeSet;

use bloomgrove_client::api::Relation;
use oxigraph::model::Term;

use super::*;

/// The same three links, a label and a blank node in every format.
const SAME: [(Format, &str); 7] = [
    (
        Format::Turtle,
        r#"@prefix prov: <http://www.w3.org/ns/prov#> . @prefix ex: <http://example.org/> .
           @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
           ex:e2 a prov:Entity ; rdfs:label "zwölf <&> \"" ; prov:wasGeneratedBy ex:a1 ;
                 prov:wasDerivedFrom ex:e1 .
           ex:a1 prov:qualifiedUsage [ a prov:Usage ; prov:entity ex:e1 ] ."#,
    ),
    (
        Format::NTriples,
        r#"<http://example.org/e2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/prov#Entity> .
<http://example.org/e2> <http://www.w3.org/2000/01/rdf-schema#label> "zw\u00F6lf <&> \"" .
<http://example.org/e2> <http://www.w3.org/ns/prov#wasGeneratedBy> <http://example.org/a1> .
<http://example.org/e2> <http://www.w3.org/ns/prov#wasDerivedFrom> <http://example.org/e1> .
<http://example.org/a1> <http://www.w3.org/ns/prov#qualifiedUsage> _:use .
_:use <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/prov#Usage> .
_:use <http://www.w3.org/ns/prov#entity> <http://example.org/e1> ."#,
    ),
    (
        Format::NQuads,
        r#"<http://example.org/e2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/prov#Entity> <http://example.org/g> .
<http://example.org/e2> <http://www.w3.org/2000/01/rdf-schema#label> "zw\u00F6lf <&> \"" _:g .
<http://example.org/e2> <http://www.w3.org/ns/prov#wasGeneratedBy> <http://example.org/a1> .
<http://example.org/e2> <http://www.w3.org/ns/prov#wasDerivedFrom> <http://example.org/e1> <http://example.org/g> .
<http://example.org/a1> <http://www.w3.org/ns/prov#qualifiedUsage> _:use .
_:use <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/prov#Usage> .
_:use <http://www.w3.org/ns/prov#entity> <http://example.org/e1> <http://example.org/h> ."#,
    ),
    (
        Format::TriG,
        r#"@prefix prov: <http://www.w3.org/ns/prov#> . @prefix ex: <http://example.org/> .
           @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
           ex:g { ex:e2 a prov:Entity ; rdfs:label 'zwölf <&> "' ; prov:wasGeneratedBy ex:a1 . }
           ex:e2 prov:wasDerivedFrom ex:e1 .
           GRAPH ex:h { ex:a1 prov:qualifiedUsage [ a prov:Usage ; prov:entity ex:e1 ] . }"#,
    ),
    (
        Format::JsonLd,
        r#"{"@context": {"prov": "http://www.w3.org/ns/prov#", "ex": "http://example.org/",
                        "label": "http://www.w3.org/2000/01/rdf-schema#label",
                        "used": {"@id": "prov:qualifiedUsage"},
                        "entity": {"@id": "prov:entity", "@type": "@id"}},
            "@graph": [
              {"@id": "ex:e2", "@type": "prov:Entity", "label": "zw\u00f6lf <&> \"",
               "prov:wasGeneratedBy": {"@id": "ex:a1"}, "prov:wasDerivedFrom": {"@id": "ex:e1"}},
              {"@id": "ex:a1", "used": {"@type": "prov:Usage", "entity": "ex:e1"}}]}"#,
    ),
    (
        Format::RdfXml,
        r#"<?xml version="1.0"?>
           <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
                    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
                    xmlns:prov="http://www.w3.org/ns/prov#">
             <prov:Entity rdf:about="http://example.org/e2">
               <rdfs:label>zwölf &lt;&amp;&gt; "</rdfs:label>
               <prov:wasGeneratedBy rdf:resource="http://example.org/a1"/>
               <prov:wasDerivedFrom rdf:resource="http://example.org/e1"/>
             </prov:Entity>
             <rdf:Description rdf:about="http://example.org/a1">
               <prov:qualifiedUsage>
                 <prov:Usage><prov:entity rdf:resource="http://example.org/e1"/></prov:Usage>
               </prov:qualifiedUsage>
             </rdf:Description>
           </rdf:RDF>"#,
    ),
    (
        Format::ProvJson,
        r#"{"prefix": {"ex": "http://example.org/", "default": "http://example.org/"},
            "entity": {"ex:e2": {"prov:label": "zw\u00f6lf <&> \""}},
            "wasGeneratedBy": {"_:g": {"prov:entity": "ex:e2", "prov:activity": "a1"}},
            "wasDerivedFrom": {"_:d": [{"prov:generatedEntity": "e2", "prov:usedEntity": "ex:e1"}]},
            "used": {"_:u": {"prov:activity": "ex:a1", "prov:entity": "ex:e1"}}}"#,
    ),
];

fn links(triples: &[Triple]) -> BTreeSet<String> {
    let is_link = |triple: &&Triple| {
        let named = matches!(triple.object, Term::NamedNode(_));
        let mut all = Relation::ALL.iter();
        named && all.any(|relation| relation.iri() == triple.predicate.as_str())
    };
    triples
        .iter()
        .filter(is_link)
        .map(ToString::to_string)
        .collect()
}

fn read_text(text: &str, format: Format) -> Vec<Triple> {
    read(text.as_bytes(), format).unwrap_or_else(|wrong| panic!("{format:?}: {wrong}"))
}

fn refuse(text: &str, format: Format) -> WrongDocument {
    match read(text.as_bytes(), format) {
        Ok(triples) => panic!("{format:?}: {} triples", triples.len()),
        Err(wrong) => {
            assert!(wrong.to_string().len() < 900, "{wrong}");
            wrong
        }
    }
}

#[test]
fn every_format_says_the_same() {
    let wanted: BTreeSet<String> = [
        "<http://example.org/a1> <http://www.w3.org/ns/prov#used> <http://example.org/e1>",
        "<http://example.org/e2> <http://www.w3.org/ns/prov#wasDerivedFrom> \
         <http://example.org/e1>",
        "<http://example.org/e2> <http://www.w3.org/ns/prov#wasGeneratedBy> \
         <http://example.org/a1>",
    ]
    .map(str::to_owned)
    .into();
    for (format, text) in SAME {
        let triples = read_text(text, format);
        assert_eq!(links(&triples), wanted, "{format:?}");
        let label = r#"<http://example.org/e2> <http://www.w3.org/2000/01/rdf-schema#label> "zwölf <&> \"""#;
        let lines: Vec<String> = triples.iter().map(ToString::to_string).collect();
        assert!(
            lines.iter().any(|line| line == label),
            "{format:?}: {lines:#?}"
        );
        // Also with a byte order mark.
        let marked = format!("\u{feff}{text}");
        assert_eq!(read_text(&marked, format), triples);
        assert_eq!(Format::from_media(format.media()), Some(format));
    }
}

#[test]
fn blank_nodes_have_the_same_names_every_time_and_others_in_other_documents() {
    for (format, text) in &SAME[..6] {
        let triples = read_text(text, *format);
        assert_eq!(read_text(text, *format), triples, "{format:?}");
        let blanks = |triples: &[Triple]| -> BTreeSet<String> {
            let subjects = triples.iter().map(|triple| triple.subject.to_string());
            subjects.filter(|name| name.contains(":blank:")).collect()
        };
        let (one, other) = (
            blanks(&triples),
            blanks(&read_text(&format!("{text} "), *format)),
        );
        assert_eq!(one.len(), 1, "{format:?}");
        assert!(one.is_disjoint(&other), "{format:?}");
        let name = one.first().unwrap();
        assert!(
            name.starts_with("<urn:x-bloomgrove:blank:") && name.ends_with(":b0>"),
            "{name}"
        );
    }
}

#[test]
fn mistakes_are_said_with_their_place() {
    for (format, text, place) in [
        (
            Format::Turtle,
            "@prefix ex: <http://e.org/> .\nex:a ex:b ex:c",
            true,
        ),
        (
            Format::Turtle,
            "<urn:a> <urn:b>\n  <urn:c> ; ; nonsense .",
            true,
        ),
        (Format::Turtle, "ex:a ex:b ex:c .", true),
        (Format::Turtle, "<urn:a> <urn:b> \"never ends .", true),
        (Format::NTriples, "<urn:a> <urn:b> .", true),
        (Format::NTriples, "<urn:a> \"b\" <urn:c> .", true),
        (
            Format::NQuads,
            "<urn:a> <urn:b> <urn:c> <urn:d> <urn:e> .",
            true,
        ),
        (Format::TriG, "<urn:g> { <urn:a> <urn:b> <urn:c> ", true),
        (Format::JsonLd, "{\"@id\": ", true),
        (Format::JsonLd, "{} {}", true),
        (Format::JsonLd, "{\"@id\": 7}", false),
        (Format::RdfXml, "<rdf:RDF", false),
        (Format::RdfXml, "<a><b></a>", false),
        (Format::ProvJson, "{\"entity\": ", true),
        (Format::ProvJson, "[]", false),
        (Format::ProvJson, "7", false),
        (Format::ProvJson, "", true),
    ] {
        let wrong = refuse(text, format);
        assert!(
            matches!(wrong, WrongDocument::Syntax { .. }),
            "{text}: {wrong}"
        );
        assert_eq!(wrong.place().is_some(), place, "{text}: {wrong}");
        assert!(wrong.to_string().contains(format.name()), "{wrong}");
    }
    let wrong = refuse("<urn:a> <urn:b>\n  nonsense .", Format::Turtle);
    assert_eq!(wrong.place().unwrap().0, 2, "{wrong}");
    for format in Format::ALL {
        let wrong = read(b"\xff\xfe\x00<", format).unwrap_err();
        assert!(matches!(wrong, WrongDocument::Syntax { .. }), "{wrong}");
    }
}

/// A document that is truncated anywhere, or has a byte changed, is read or rejected; nothing panics.
#[test]
fn damaged_documents_are_read_or_refused() {
    for (format, text) in SAME {
        for end in 0..text.len() {
            let _ = read(&text.as_bytes()[..end], format);
        }
        for at in (0..text.len()).step_by(3) {
            for byte in *b"\0<\"{]:\\\xff" {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                let _ = read(&bytes, format);
            }
        }
    }
}

#[test]
fn relative_names_need_a_base() {
    for (format, text) in [
        (
            Format::Turtle,
            "<a> <http://www.w3.org/ns/prov#used> <urn:b> .",
        ),
        (
            Format::TriG,
            "<urn:a> <http://www.w3.org/ns/prov#used> <b> .",
        ),
        (
            Format::JsonLd,
            r#"{"@id": "a", "http://www.w3.org/ns/prov#used": {"@id": "urn:b"}}"#,
        ),
        (
            Format::RdfXml,
            r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
               xmlns:prov="http://www.w3.org/ns/prov#"><rdf:Description rdf:about="a">
               <prov:used rdf:resource="urn:b"/></rdf:Description></rdf:RDF>"#,
        ),
    ] {
        let wrong = refuse(text, format);
        assert!(
            matches!(wrong, WrongDocument::Relative(_)),
            "{format:?}: {wrong}"
        );
        assert!(wrong.to_string().contains("base"), "{wrong}");
        let base = Some("http://example.org/dir/file");
        let triples = read_from(text.as_bytes(), format, base).unwrap();
        assert!(
            triples[0].to_string().contains("<http://example.org/dir/"),
            "{format:?}"
        );
    }
    let wrong = read_from(b"", Format::Turtle, Some("nowhere")).unwrap_err();
    assert!(wrong.to_string().contains("base"), "{wrong}");
    let own = "@base <http://example.org/> . <a> <b> <c> .";
    assert_eq!(read_text(own, Format::Turtle).len(), 1);
}

#[test]
fn contexts_are_not_fetched() {
    for text in [
        r#"{"@context": "https://example.org/context.jsonld", "@id": "urn:a"}"#,
        r#"{"@context": [{"a": "urn:a"}, "https://example.org/context.jsonld"], "@id": "urn:a"}"#,
        r#"{"@context": {"@version": 1.1, "@import": "https://example.org/context.jsonld"}}"#,
    ] {
        let wrong = refuse(text, Format::JsonLd);
        let url = "https://example.org/context.jsonld".to_owned();
        assert_eq!(wrong, WrongDocument::Context(url));
    }
}

#[test]
fn triples_about_triples_are_refused() {
    for (format, text) in [
        (
            Format::Turtle,
            "<< <urn:a> <urn:b> <urn:c> >> <urn:d> <urn:e> .",
        ),
        (
            Format::Turtle,
            "<urn:d> <urn:e> <<( <urn:a> <urn:b> <urn:c> )>> .",
        ),
        (
            Format::NTriples,
            "<urn:d> <urn:e> <<( <urn:a> <urn:b> <urn:c> )>> .",
        ),
        (
            Format::TriG,
            "<urn:g> { <<<urn:a> <urn:b> <urn:c>>> <urn:d> <urn:e> }",
        ),
        (
            Format::RdfXml,
            r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e#">
               <rdf:Description rdf:about="urn:a"><e:b rdf:parseType="Triple"/>
               </rdf:Description></rdf:RDF>"#,
        ),
    ] {
        assert_eq!(refuse(text, format), WrongDocument::Quoted, "{text}");
    }
}

mod hostile;
mod prov_json;
mod public_data;
