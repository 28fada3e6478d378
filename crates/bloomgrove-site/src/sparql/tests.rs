use std::time::Duration;

use oxigraph::model::{NamedNode, Triple};

use super::*;

const MOST: usize = 1_000_000;

fn store(triples: usize) -> Store {
    let store = Store::new().unwrap();
    let node = |text: String| NamedNode::new_unchecked(text);
    let triple = |n| {
        Triple::new(
            node(format!("urn:s:{n}")),
            node("urn:p".into()),
            node(format!("urn:o:{n}")),
        )
    };
    store.add((0..triples).map(triple).collect()).unwrap();
    store
}

fn ask(store: &Store, text: &str, accept: &str) -> Result<(String, &'static str), Refusal> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let wanted = Wanted::of(accept)?;
    let (bytes, media) = query(
        store,
        text,
        wanted,
        CancellationToken::new(),
        deadline,
        MOST,
    )?;
    Ok((String::from_utf8(bytes).unwrap(), media))
}

#[test]
fn answers_come_as_they_are_wanted() {
    let store = store(1);
    let select = "SELECT ?s WHERE { ?s <urn:p> ?o }";
    for (accept, media, part) in [
        ("", "application/sparql-results+json", "\"vars\":[\"s\"]"),
        ("*/*", "application/sparql-results+json", "urn:s:0"),
        (
            "application/json",
            "application/sparql-results+json",
            "urn:s:0",
        ),
        ("text/csv", "text/csv; charset=utf-8", "s\r\nurn:s:0"),
        (
            "text/tab-separated-values",
            "text/tab-separated-values; charset=utf-8",
            "?s\n<urn:s:0>",
        ),
        (
            "application/sparql-results+xml",
            "application/sparql-results+xml",
            "<uri>urn:s:0</uri>",
        ),
        (
            "text/csv;q=0.5, application/sparql-results+xml",
            "application/sparql-results+xml",
            "urn:s:0",
        ),
    ] {
        let (answer, found) = ask(&store, select, accept).unwrap();
        assert_eq!(found, media, "{accept}");
        assert!(answer.contains(part), "{accept}: {answer}");
    }
    let (answer, _) = ask(&store, "ASK { ?s ?p ?o }", "").unwrap();
    assert!(answer.contains("\"boolean\":true"));
    for (accept, media) in [
        ("", "text/turtle"),
        ("application/n-triples", "application/n-triples"),
    ] {
        for text in ["CONSTRUCT WHERE { ?s ?p ?o }", "DESCRIBE <urn:s:0>"] {
            let (answer, found) = ask(&store, text, accept).unwrap();
            assert_eq!(found, media);
            assert!(answer.contains("<urn:s:0> <urn:p> <urn:o:0> ."), "{answer}");
        }
    }
    assert_eq!(
        ask(&store, select, "image/png").unwrap_err().code,
        Code::Invalid
    );
}

#[test]
fn what_changes_or_asks_elsewhere_is_refused() {
    let store = store(1);
    for (text, part) in [
        ("INSERT DATA { <urn:a> <urn:b> <urn:c> }", "update"),
        ("CLEAR ALL", "update"),
        (
            "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
            "SERVICE",
        ),
        (
            "SELECT * { SERVICE SILENT <http://127.0.0.1:1/> { ?s ?p ?o } }",
            "SERVICE",
        ),
        (
            "ASK { ?x a <urn:a> . FILTER EXISTS { service ?x { ?s ?p ?o } } }",
            "SERVICE",
        ),
        ("SELECT nonsense", "no SPARQL"),
        ("", "no SPARQL"),
    ] {
        let refusal = ask(&store, text, "").unwrap_err();
        assert_eq!(refusal.code, Code::Invalid, "{text}");
        assert!(refusal.detail.contains(part), "{text}: {refusal}");
    }
    for fine in [
        "SELECT * { ?s ?p \" SERVICE <x> \\\" SERVICE \" }",
        "SELECT ?SERVICE { ?SERVICE ?p <urn:SERVICE> FILTER(?p < 3) }",
        "PREFIX SERVICE: <urn:x#> SELECT * { ?s SERVICE:SERVICE ?o } # SERVICE <x>",
    ] {
        ask(&store, fine, "").unwrap();
    }
    assert_eq!(store.len(), 1);
    let long = format!("ASK {{ ?s ?p \"{}\" }}", "x".repeat(LONGEST_QUERY));
    assert_eq!(ask(&store, &long, "").unwrap_err().code, Code::TooLarge);
}

#[test]
fn a_query_ends_at_its_deadline_and_at_its_limit() {
    let store = store(300);
    let product = "SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }";
    let began = Instant::now();
    let deadline = began + Duration::from_millis(1);
    let late = query(
        &store,
        product,
        Wanted::of("").unwrap(),
        CancellationToken::new(),
        deadline,
        MOST,
    );
    assert_eq!(late.unwrap_err().code, Code::Timeout);
    assert!(began.elapsed() < Duration::from_secs(10));
    // Nothing comes out of this one before it is cancelled.
    let cancel = CancellationToken::new();
    let count = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }";
    let counted = std::thread::scope(|scope| {
        let own = cancel.clone();
        let store = &store;
        let far = Instant::now() + Duration::from_secs(100);
        let counting =
            scope.spawn(move || query(store, count, Wanted::of("").unwrap(), own, far, MOST));
        std::thread::sleep(Duration::from_millis(20));
        cancel.cancel();
        counting.join().unwrap()
    });
    assert_eq!(counted.unwrap_err().code, Code::Timeout);
    assert!(began.elapsed() < Duration::from_secs(20));
    // 27 million rows.
    let large = ask(&store, product, "text/csv").unwrap_err();
    assert_eq!(large.code, Code::TooLarge, "{large}");
}
