use std::time::Duration;

use oxigraph::model::{NamedNode, Triple};

use super::*;

mod answers;
mod hostile;

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

fn ask(store: &Store, text: &str, accept: &str) -> Result<(String, &'static str), Error> {
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
        ("SELECT nonsense", "not a valid SPARQL query"),
        ("", "not a valid SPARQL query"),
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
    // This one yields nothing before it is cancelled.
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

/// A query that contains something `times` times, around a middle part.
fn nested(begin: &str, open: &str, middle: &str, close: &str, end: &str, times: usize) -> String {
    let (open, close) = (open.repeat(times), close.repeat(times));
    format!("{begin}{open}{middle}{close}{end}")
}

/// Each of them is answered or rejected, at any accepted length; the process continues.
#[test]
fn deep_and_long_queries_are_answered_or_refused() {
    let store = store(2);
    let shapes = [
        // Nested.
        ["ASK ", "{", "", "}", ""],
        ["ASK {", "{SELECT * {", "", "}}", "}"],
        ["ASK {", "OPTIONAL {", "", "}", "}"],
        ["ASK {", "FILTER EXISTS {", "", "}", "}"],
        ["ASK { FILTER(", "(", "1", ")", ") }"],
        ["ASK { FILTER(", "!", "1", "", ") }"],
        ["ASK { FILTER(", "!(", "1", ")", ") }"],
        ["ASK { FILTER(", "! (1 = ", "1", ")", ") }"],
        ["ASK { FILTER(", "-(", "1", ")", ") }"],
        ["ASK { FILTER(", "- ", "1", "", ") }"],
        ["ASK { FILTER(", "+", "1", "", ") }"],
        ["ASK { FILTER(", "1-", "1", "", ") }"],
        ["ASK { FILTER(", "STR(", "1", ")", ") }"],
        ["ASK { FILTER(", "SUBSTR(", "1", ",1)", ") }"],
        ["ASK { FILTER(", "!REPLACE(", "1", ",1,1)", ") }"],
        ["ASK { FILTER(", "<urn:f>(", "1", ")", ") }"],
        ["SELECT (", "GROUP_CONCAT(", "1", ")", " AS ?x) {}"],
        ["ASK { FILTER(1 IN ", "(1 IN (", "", "))", ") }"],
        ["ASK { ?a ", "(", "a", ")", " ?b }"],
        ["ASK { ?a ", "!(", "a", ")", " ?b }"],
        ["ASK { ?a ", "^", "a", "", " ?b }"],
        ["ASK { ?a ", "^(", "a", ")", " ?b }"],
        ["ASK { ?a ?b ", "(", "1", ")", " }"],
        ["ASK { ?a ?b ", "[ ?b ", "1", "]", " }"],
        ["ASK { ", "<<(", "?a ?b ?c", ")>>", " ?b ?c }"],
        // In a sequence.
        ["ASK { {}", " UNION {}", "", "", " }"],
        ["ASK {", " {?a ?b ?c}", "", "", " }"],
        ["ASK {", " OPTIONAL {?a ?b ?c}", "", "", " }"],
        ["ASK {", " MINUS {?a ?b ?c}", "", "", " }"],
        ["ASK {", " FILTER(?a)", "", "", " }"],
        ["ASK {", " FILTER EXISTS {?a ?b ?c}", "", "", " }"],
        ["ASK {", " BIND(1 AS ?a)", "", "", " }"],
        ["SELECT ", "(1 AS ?a)", "", "", " {}"],
        ["ASK { FILTER(1", "||1", "", "", ") }"],
        ["ASK { FILTER(1", "&&1", "", "", ") }"],
        ["ASK { FILTER(1", "+1", "", "", ") }"],
        ["ASK { FILTER(1", "*1", "", "", ") }"],
        ["ASK { FILTER(1 IN (1", ",1", "", "", ")) }"],
        ["ASK { ?a a", "/a", "", "", " ?b }"],
        ["ASK { ?a a", "|a", "", "", " ?b }"],
        ["ASK { ?a ?b ?c", ",?c", "", "", " }"],
        ["ASK { ?a ?b ?c", ";?b ?c", "", "", " }"],
        ["ASK {", " ?a ?b ?c .", "", "", " }"],
        ["ASK { ?a ?b (", "1 ", "", "", ") }"],
        ["ASK { ?a ?b (", "true", "", "", ") }"],
        ["ASK { ?a ?b (", "'x'", "", "", ") }"],
        ["ASK { ?a ?b (", "<a:>", "", "", ") }"],
        ["ASK { VALUES ?x {", " 1", "", "", "} }"],
    ];
    for [begin, open, middle, close, end] in shapes {
        for times in [8, 15, 98, 480, 990, 20_000] {
            let text = nested(begin, open, middle, close, end, times);
            let began = Instant::now();
            let said = ask(&store, &text, "");
            let took = began.elapsed();
            assert!(took < Duration::from_secs(20), "{took:?}: {times} {open}");
            let few = times > 8 || said.is_ok() || said.is_err_and(|no| no.code == Code::Invalid);
            assert!(few, "{times} {open}");
        }
        // There may be many values: they are not nested.
        let many = nested(begin, open, middle, close, end, 20_000);
        let said = ask(&store, &many, "").map(|_| ()).map_err(|no| no.code);
        let values = begin.contains("VALUES") || begin.contains("IN (1");
        assert!(said.is_err() != values, "{open}: {said:?}");
    }
}

/// What may or may not be an IRI cannot hide a bracket, and comments and texts contain none.
#[test]
fn brackets_cannot_be_hidden() {
    let store = store(2);
    let (open, close) = ("(".repeat(5000), ")".repeat(5000));
    for hidden in [
        format!("?a<x:y#z>'''\n{open}1{close}\n#'''\n"),
        format!("?a<x:'>'{open}1{close}#'\n"),
        format!("?a<{open}1{close}>?b"),
        format!("?a<x:y#z>\"\"\"\n||{open}1{close}#\"\"\"\n"),
        format!("<urn:)>{open}1{close}"),
        format!("1 # '\n || {open}1{close}"),
    ] {
        let text = format!("PREFIX x: <urn:x#> ASK {{ ?a ?b ?c FILTER({hidden}) }}");
        let refusal = ask(&store, &text, "").unwrap_err();
        assert_eq!(refusal.code, Code::Invalid, "{refusal}");
    }
    let escaped = format!("ASK {}", "\\u007B".repeat(5000));
    assert_eq!(ask(&store, &escaped, "").unwrap_err().code, Code::Invalid);
    for fine in [
        format!("ASK {{ ?s <urn:p> ?o }} # {open}"),
        format!("ASK {{ ?s <urn:p> ?o FILTER(?o != '{open}' && ?o != \"\"\"{open}\"\"\") }}"),
        format!(
            "ASK {{ ?s <urn:p> ?o {} }}",
            "FILTER(?o != <urn:a(b)#c'd>)".repeat(50)
        ),
        "ASK { ?s<urn:p>?o FILTER(1<(2)&&3>(2)) }".to_owned(),
    ] {
        let (answer, _) = ask(&store, &fine, "").unwrap();
        assert!(answer.contains("true"), "{fine}");
    }
    let iri = "SELECT (<urn:a#b'c> AS ?x) {}";
    assert!(ask(&store, iri, "").unwrap().0.contains("urn:a#b'c"));
}
