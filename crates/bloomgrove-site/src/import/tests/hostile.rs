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
