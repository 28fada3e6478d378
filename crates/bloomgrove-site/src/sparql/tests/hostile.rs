//! Short queries that would use all memory or never end: in a separate process, whose memory is measured.

use std::fs;
use std::process::Command;

use super::*;

/// Set for the process that answers them.
const INSIDE: &str = "BLOOMGROVE_TEST_HOSTILE_QUERIES";
/// Triples in its store.
const TRIPLES: usize = 20_000;
/// How long each may take.
const TIME: Duration = Duration::from_millis(1500);
/// The maximum memory of a query: twice what is counted, its answer, and intermediate texts.
const MOST_MEMORY: u64 = 512 << 20;

fn queries() -> Vec<(&'static str, String)> {
    let cross = "?a ?b ?c . ?d ?e ?f";
    let values = |name: &str| {
        let rows: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        format!("VALUES ?{name} {{ {} }}", rows.join(" "))
    };
    let doubling: String = (0..25)
        .map(|n| format!("BIND(CONCAT(?x{n}, ?x{n}) AS ?x{}) ", n + 1))
        .collect();
    let samples: String = (0..200)
        .map(|n| format!("(SAMPLE(?o) AS ?s{n}) "))
        .collect();
    let nested = nested("", "CONCAT(", "?c", ",?c,?c,?c)", "", 12);
    let wide: String = (0..400).map(|n| format!("?v{n} ")).collect();
    let undef = "UNDEF ".repeat(399);
    let groups = "{ {} UNION {} UNION {} } ".repeat(25);
    let long = "x".repeat(50_000);
    let references = "$0".repeat(20_000);
    vec![
        ("sorted product", format!("SELECT * {{ {cross} }} ORDER BY ?f ?c")),
        ("sorted by a function", format!("SELECT * {{ {cross} }} ORDER BY STRLEN(STR(?f))")),
        ("distinct product", format!("SELECT DISTINCT * {{ {cross} }} OFFSET 1000000000")),
        ("counted product", format!("SELECT (COUNT(*) AS ?n) {{ {cross} . ?g ?h ?i }}")),
        ("distinct count", format!("SELECT (COUNT(DISTINCT *) AS ?n) {{ {cross} }}")),
        ("distinct sum", format!("SELECT (SUM(DISTINCT STRLEN(CONCAT(STR(?c), STR(?f)))) AS ?n) {{ {cross} }}")),
        ("grouped product", format!("SELECT (COUNT(*) AS ?n) {{ {cross} }} GROUP BY ?a ?d")),
        ("optional", "SELECT * { ?a ?b ?c OPTIONAL { ?d ?e ?f } } ORDER BY ?f".into()),
        ("minus", format!("SELECT (COUNT(*) AS ?n) {{ {cross} MINUS {{ ?x ?y ?z }} }}")),
        ("not exists", "ASK { ?a ?b ?c FILTER NOT EXISTS { ?d ?e ?f . ?g ?h ?i FILTER(?d = ?h) } }".into()),
        ("union", format!("SELECT * {{ {{ {cross} }} UNION {{ ?d ?e ?f . ?g ?h ?i }} }} ORDER BY ?a")),
        ("subqueries", "SELECT * { {SELECT ?a { ?a ?b ?c } LIMIT 20000} {SELECT ?d { ?d ?e ?f } LIMIT 20000} } ORDER BY ?d".into()),
        ("rows without terms", "SELECT ?z { {SELECT ?x { ?a ?b ?c }} {SELECT ?y { ?d ?e ?f }} } ORDER BY ?z".into()),
        ("groups without terms", format!("SELECT (COUNT(*) AS ?n) {{ {groups} }}")),
        ("sorted groups without terms", format!("SELECT * {{ {groups} }} ORDER BY ?z")),
        ("values", format!("SELECT * {{ {} {} {} }} ORDER BY ?x", values("x"), values("y"), values("z"))),
        ("values without terms", format!("SELECT * {{ VALUES ?x {{ {0} }} VALUES ?y {{ {0} }} VALUES ?z {{ {0} }} }} ORDER BY ?x", "UNDEF ".repeat(1000))),
        ("wide rows", format!("SELECT * {{ VALUES ({wide}) {{ ({undef} 1) }} {cross} }} ORDER BY ?f")),
        ("paths", "SELECT * { ?a (<urn:p>|!<urn:p>)* ?b . ?c (<urn:p>|!<urn:p>)* ?d } ORDER BY ?d".into()),
        ("paths between all", "SELECT (COUNT(*) AS ?n) { ?a (<urn:q>|^<urn:q>)* ?b }".into()),
        ("construct", format!("CONSTRUCT {{ ?a ?e ?f . ?d ?b ?c . [] ?b ?f }} WHERE {{ {cross} }}")),
        ("describe", format!("DESCRIBE ?a ?d WHERE {{ {cross} }}")),
        ("doubling", format!("SELECT (STRLEN(?x25) AS ?n) {{ BIND(\"0123456789\" AS ?x0) {doubling} }}")),
        ("nested concat", format!("SELECT (STRLEN({nested}) AS ?n) {{ BIND(\"{long}\" AS ?c) }}")),
        ("replace", format!("SELECT (STRLEN(REPLACE(\"{long}\", \"x\", \"{}\")) AS ?n) {{}}", &long[..40_000])),
        ("replace by itself", format!("SELECT (STRLEN(REPLACE(?x, \".*\", \"{references}\")) AS ?n) {{ BIND(CONCAT(\"{}\", \"{0}\") AS ?x) }}", &long[..10_000])),
        ("patterns", format!("SELECT (COUNT(*) AS ?n) {{ ?a ?b ?c FILTER(REGEX(\"{long}\", \"((x{{20}}){{20}}x?){{20}}y\")) }}")),
        ("sorted by patterns", format!("SELECT * {{ ?a ?b ?c }} ORDER BY REPLACE(\"{long}\", \"(x|xx)*y\", STR(1))")),
        ("sorted by a constant", format!("SELECT * {{ ?a ?b ?c }} ORDER BY REGEX(\"{long}\", \"(x|xx)*(y|z)\")")),
        ("group_concat", format!("SELECT (STRLEN(GROUP_CONCAT(STR(?c); separator=\"{long}\")) AS ?n) {{ ?a ?b ?c }}")),
        ("group_concat of groups", format!("SELECT ?a (GROUP_CONCAT(\"{long}\") AS ?n) {{ ?a ?b ?c }} GROUP BY ?a")),
        ("samples", format!("SELECT {samples} {{ ?s ?p ?o }} GROUP BY ?s")),
        ("distinct samples", format!("SELECT (MAX(DISTINCT CONCAT(STR(?c), \"{long}\")) AS ?n) {{ ?a ?b ?c }}")),
        ("long texts bound", format!("SELECT * {{ ?a ?b ?c BIND(CONCAT(STR(?c), \"{long}\") AS ?x) }} ORDER BY ?x")),
        ("encoded", format!("SELECT (STRLEN({}) AS ?n) {{ ?a ?b ?c BIND(\"{}\" AS ?x) }}", "ENCODE_FOR_URI(".repeat(12) + "?x" + &")".repeat(12), "%".repeat(50_000))),
    ]
}

/// Memory of this process: the peak since it was last reset, and now.
fn memory() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let number = line.split_whitespace().nth(1).unwrap();
        number.parse::<u64>().unwrap() << 10
    };
    (field("VmHWM:"), field("VmRSS:"))
}

/// What the separate process does.
#[test]
fn inside() {
    let Ok(only) = std::env::var(INSIDE) else {
        return;
    };
    let store = store(TRIPLES);
    let hub = |n: usize| {
        Triple::new(
            NamedNode::new_unchecked("urn:hub"),
            NamedNode::new_unchecked("urn:q"),
            NamedNode::new_unchecked(format!("urn:s:{n}")),
        )
    };
    store.add((0..TRIPLES / 4).map(hub).collect()).unwrap();
    for (name, text) in queries() {
        if !only.is_empty() && only != name {
            continue;
        }
        // Resets the peak.
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let (_, before) = memory();
        let began = Instant::now();
        let answer = query(
            &store,
            &text,
            Wanted::of("text/csv, text/turtle").unwrap(),
            CancellationToken::new(),
            began + TIME,
            LARGEST_ANSWER,
        );
        let took = began.elapsed();
        let grew = memory().0.saturating_sub(before);
        let said = match &answer {
            Ok((bytes, _)) => format!("{} bytes", bytes.len()),
            Err(refusal) => refusal.to_string(),
        };
        println!("{name}: {} MiB, {took:.1?}: {said}", grew >> 20);
        assert!(grew < MOST_MEMORY, "{name}: {} MiB", grew >> 20);
        assert!(took < TIME + Duration::from_secs(5), "{name}: {took:?}");
        if let Err(refusal) = answer {
            let codes = [Code::TooLarge, Code::Timeout, Code::Invalid];
            assert!(codes.contains(&refusal.code), "{name}: {refusal}");
        }
    }
}

#[test]
fn no_query_takes_more_memory_or_time_than_it_may() {
    let own = std::env::current_exe().unwrap();
    let name = "sparql::tests::hostile::inside";
    let done = Command::new(own)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let wrong = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}{wrong}");
    assert_eq!(said.matches(" MiB, ").count(), queries().len(), "{said}");
}
