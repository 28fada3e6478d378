//! Answers are those of the plain evaluator, and of one point in time.

use std::collections::BTreeMap;

use oxigraph::model::{Literal, Term};

use super::*;

/// A small graph with all kinds of terms.
fn mixed() -> Store {
    let store = Store::new().unwrap();
    let node = |text: String| NamedNode::new_unchecked(text);
    let xsd = |name: &str| node(format!("http://www.w3.org/2001/XMLSchema#{name}"));
    let mut triples = Vec::new();
    for n in 0..30 {
        let subject = node(format!("urn:s:{n}"));
        let mut add = |property: &str, object: Term| {
            let property = node(format!("urn:{property}"));
            triples.push(Triple::new(subject.clone(), property, object));
        };
        add("next", node(format!("urn:s:{}", (n * 7 + 1) % 30)).into());
        add("class", node(format!("urn:c:{}", n % 4)).into());
        add(
            "size",
            Literal::new_typed_literal(format!("0{n}"), xsd("integer")).into(),
        );
        add(
            "day",
            Literal::new_typed_literal(
                format!("2026-01-{:02}T00:00:00Z", n % 28 + 1),
                xsd("dateTime"),
            )
            .into(),
        );
        if n % 3 == 0 {
            add(
                "label",
                Literal::new_language_tagged_literal_unchecked(format!("name {n}"), "en").into(),
            );
        }
        if n % 5 == 0 {
            add("label", Literal::from(format!("other {}", n % 2)).into());
        }
    }
    store.add(triples).unwrap();
    store
}

/// The rows of an answer as lines, in order.
fn rows(csv: &str) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    for line in csv.lines() {
        *rows.entry(line.to_owned()).or_default() += 1;
    }
    rows
}

/// The answer of the evaluator without our changes.
fn plain(store: &Store, text: &str) -> String {
    let query = SparqlParser::new().parse_query(text).unwrap();
    let prepared = SparqlEvaluator::new().for_query(query);
    let mut out = Vec::new();
    match prepared.on_store(&store.triples).execute().unwrap() {
        QueryResults::Boolean(yes) => QueryResultsSerializer::from_format(QueryResultsFormat::Tsv)
            .serialize_boolean_to_writer(&mut out, yes)
            .map(|_| ())
            .unwrap(),
        QueryResults::Solutions(solutions) => {
            let to = QueryResultsSerializer::from_format(QueryResultsFormat::Tsv);
            let variables = solutions.variables().to_vec();
            let mut to = to
                .serialize_solutions_to_writer(&mut out, variables)
                .unwrap();
            for solution in solutions {
                to.serialize(&solution.unwrap()).unwrap();
            }
            to.finish().unwrap();
        }
        QueryResults::Graph(triples) => {
            for triple in triples {
                out.extend(format!("{} .\n", triple.unwrap()).into_bytes());
            }
        }
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn answers_are_those_of_the_evaluator_on_its_own() {
    let store = mixed();
    for text in [
        "SELECT * { ?s ?p ?o }",
        "SELECT * { ?s <urn:next> ?t . ?t <urn:class> ?c }",
        "SELECT ?s { ?s <urn:size> 7 }",
        "SELECT ?s { ?s <urn:size> 007 }",
        "SELECT ?s { VALUES ?n { 007 8 9.0 } ?s <urn:size> ?n }",
        "SELECT ?s ?n { ?s <urn:size> ?n FILTER(?n > 12 && ?n < 20) }",
        "SELECT ?s ?n { ?s <urn:size> ?n } ORDER BY DESC(?n) LIMIT 5",
        "SELECT ?s { ?s <urn:size> ?n } ORDER BY (?n * -1) LIMIT 5",
        "SELECT ?s { ?s <urn:size> ?n } ORDER BY DESC(STR(?s)) ASC(?n + 1) OFFSET 3 LIMIT 4",
        "SELECT ?c (COUNT(*) AS ?n) (SUM(?z) AS ?m) { ?s <urn:class> ?c ; <urn:size> ?z } GROUP BY ?c",
        "SELECT ?c (MIN(?d) AS ?a) (MAX(?d) AS ?b) (AVG(?z) AS ?e) { ?s <urn:class> ?c ; <urn:day> ?d ; <urn:size> ?z } GROUP BY ?c HAVING(COUNT(*) > 7)",
        "SELECT (COUNT(*) AS ?n) { ?s <urn:none> ?o }",
        "SELECT ?s (COUNT(*) AS ?n) { ?s <urn:none> ?o } GROUP BY ?s",
        "SELECT (COUNT(DISTINCT ?c) AS ?n) (COUNT(DISTINCT STR(?c)) AS ?m) { ?s <urn:class> ?c }",
        "SELECT (SUM(DISTINCT ?z) AS ?n) (GROUP_CONCAT(DISTINCT ?l; separator=\", \") AS ?m) { ?s <urn:size> ?z OPTIONAL { ?s <urn:label> ?l } FILTER(BOUND(?l) && ?z = 15) }",
        "SELECT (COUNT(DISTINCT *) AS ?n) { { ?s <urn:class> ?c } UNION { ?s <urn:class> ?c } UNION { VALUES ?s { <urn:s:1> } ?s <urn:class> ?c } }",
        "SELECT DISTINCT ?c { { ?s <urn:class> ?c } UNION { VALUES ?c { <urn:c:1> <urn:c:9> } } }",
        "SELECT DISTINCT * { { VALUES ?c { 1 2 } } UNION { { VALUES ?c { 2 3 } } UNION { VALUES ?c { 3 } } } }",
        "SELECT * { ?s <urn:class> ?c OPTIONAL { ?s <urn:label> ?l FILTER(LANG(?l) = \"en\") } }",
        "SELECT * { ?s <urn:class> ?c OPTIONAL { { ?s <urn:label> ?l } UNION { VALUES ?l { \"none\" } } } }",
        "SELECT * { ?s <urn:class> ?c MINUS { ?s <urn:label> ?l } }",
        "SELECT * { ?s <urn:class> ?c MINUS { ?x <urn:label> ?l } }",
        "SELECT * { VALUES ?s { <urn:s:1> <urn:s:3> } MINUS { VALUES ?t { <urn:s:1> } } }",
        "SELECT * { { ?s <urn:label> ?l } UNION { ?s <urn:class> ?l } MINUS { { ?x <urn:size> ?y } UNION { VALUES ?z { 1 } } } }",
        "SELECT * { ?s <urn:class> ?c FILTER NOT EXISTS { ?s <urn:label> ?l } }",
        "SELECT * { ?s <urn:class> ?c FILTER EXISTS { VALUES ?c { <urn:c:2> } } }",
        "SELECT * { <urn:s:0> <urn:next>+ ?t }",
        "SELECT * { ?s (<urn:next>|^<urn:class>)* <urn:s:4> }",
        "SELECT ?t (COUNT(?s) AS ?n) { ?s <urn:next>/<urn:next>? ?t } GROUP BY ?t",
        "SELECT * { { SELECT ?c (COUNT(*) AS ?n) { ?s <urn:class> ?c } GROUP BY ?c } ?x <urn:class> ?c }",
        "SELECT * { { SELECT ?s { ?s <urn:size> ?n } ORDER BY ?n LIMIT 3 } { SELECT ?t { ?t <urn:size> ?n } ORDER BY DESC(?n) LIMIT 2 } }",
        "SELECT * { { {} UNION {} } { {} UNION {} UNION {} } }",
        "SELECT (CONCAT(\"a\", STR(?s), ?l) AS ?x) { ?s <urn:label> ?l }",
        "SELECT (CONCAT(?l, ?l) AS ?x) (REPLACE(?l, \"n(.)\", \"[$1]\") AS ?y) { ?s <urn:label> ?l FILTER(REGEX(?l, \"^NAME\", \"i\")) }",
        "SELECT (SAMPLE(?c) AS ?x) { <urn:s:1> <urn:class> ?c }",
        "SELECT ?x { BIND(\"001\"^^<http://www.w3.org/2001/XMLSchema#integer> AS ?x) }",
        "SELECT * FROM <urn:g> { ?s ?p ?o }",
        "SELECT * { GRAPH ?g { ?s ?p ?o } }",
        "ASK { ?s <urn:size> 3 }",
        "ASK { \"text\" ?p ?o }",
        "CONSTRUCT { ?t <urn:before> ?s } WHERE { ?s <urn:next> ?t }",
        "DESCRIBE <urn:s:1>",
        "DESCRIBE * { VALUES ?s { <urn:s:1> } ?s <urn:next> ?t }",
    ] {
        let accept = "text/tab-separated-values, application/n-triples";
        let (answer, _) = ask(&store, text, accept).unwrap_or_else(|no| panic!("{text}: {no}"));
        let expected = plain(&store, text);
        assert_eq!(rows(&answer), rows(&expected), "{text}");
        if text.contains("ORDER BY") && !text.contains("{ SELECT") {
            assert_eq!(answer, expected, "{text}");
        }
    }
}

#[test]
fn ordinary_queries_over_many_rows_are_answered() {
    let store = store(50_000);
    for (text, rows) in [
        ("SELECT * { ?s ?p ?o } ORDER BY ?o", 50_001),
        ("SELECT DISTINCT ?s { ?s ?p ?o }", 50_001),
        ("SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p", 2),
        (
            "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s",
            50_001,
        ),
        (
            "SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o . ?s <urn:p> ?x . ?s ?q ?y }",
            2,
        ),
        ("SELECT (MAX(?o) AS ?m) { ?s <urn:p> ?o }", 2),
    ] {
        let deadline = Instant::now() + Duration::from_secs(60);
        let wanted = Wanted::of("text/csv").unwrap();
        let cancel = CancellationToken::new();
        let (bytes, _) = query(&store, text, wanted, cancel, deadline, LARGEST_ANSWER)
            .unwrap_or_else(|no| panic!("{text}: {no}"));
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines, rows, "{text}");
    }
}

#[test]
fn a_query_sees_the_triples_of_one_moment() {
    let store = Store::new().unwrap();
    let node = |text: String| NamedNode::new_unchecked(text);
    let both = |n: usize| {
        let subject = node(format!("urn:s:{n}"));
        let one = |name: &str| {
            let property = node(format!("urn:{name}"));
            Triple::new(subject.clone(), property, node("urn:o".into()))
        };
        vec![one("a"), one("b")]
    };
    store.add((0..2000).flat_map(both).collect()).unwrap();
    let snapshot = store.snapshot();
    store.add(both(5000)).unwrap();
    assert_eq!(snapshot.matching(None, None, None).count(), 4000);
    assert_eq!(store.snapshot().matching(None, None, None).count(), 4002);
    drop(snapshot);
    // What has one property always has the other, at any time.
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for n in 10_000..11_000 {
                store.add(both(n)).unwrap();
            }
        });
        let mut over = false;
        while !over {
            // Once more when everything is there.
            over = writing.is_finished();
            let text = "SELECT * { ?s <urn:a> ?o MINUS { ?s <urn:b> ?o } }";
            let (answer, _) = ask(&store, text, "text/csv").unwrap();
            assert_eq!(answer.lines().count(), 1, "{answer}");
        }
    });
    assert_eq!(store.snapshot().matching(None, None, None).count(), 6002);
}
