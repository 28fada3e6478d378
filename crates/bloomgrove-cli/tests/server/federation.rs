//! A coordinator and sites as real processes: traces across them, and everything that can happen
//! on the way.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::proxy::{Proxy, Weather};
use crate::server::Server;
use crate::site::{Site, until};
use crate::support::{Said, Shop, json};
use serde_json::Value;

fn trace(shop: &Shop, server: &Server, line: &str) -> Said {
    let mut args = vec!["trace", "--server", &server.url];
    args.extend(line.split_whitespace());
    shop.run_args(&args)
}

fn names<'a>(trace: &'a Value, of: &str) -> BTreeSet<&'a str> {
    let nodes = trace["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node[of].as_str().unwrap_or("-")).collect()
}

/// a -> b at galway; b and c -> d at pune; d -> e and f at oslo.
fn history(shop: &Shop, galway: &Site, pune: &Site, oslo: &Site) {
    galway.record(
        shop,
        "created --out a --id ev-a --time 2026-11-16T08:00:00Z",
    );
    galway.record(shop, "derived --in a --out b --id ev-b");
    galway.record(shop, "sent --in b --peer pune --id ev-bs");
    pune.record(shop, "received --in b --peer galway --id ev-br");
    pune.record(shop, "created --out c --id ev-c");
    pune.record(shop, "bundled --in b --in c --out d --id ev-d");
    pune.record(shop, "sent --in d --peer oslo --id ev-ds");
    oslo.record(shop, "received --in d --peer pune --id ev-dr");
    oslo.record(shop, "split --in d --out e --out f --id ev-e");
    for site in [galway, pune, oslo] {
        site.published(shop);
    }
}

/// All that leads to e.
const ANCESTORS: [&str; 14] = [
    "a", "b", "c", "d", "e", "ev-a", "ev-b", "ev-br", "ev-bs", "ev-c", "ev-d", "ev-dr", "ev-ds",
    "ev-e",
];

/// Waits until the trace of `e` is complete, and looks whether it is all there.
fn whole(shop: &Shop, server: &Server) -> Value {
    let mut found = Value::Null;
    until("the trace is complete", || {
        let said = trace(shop, server, "e --json");
        if said.code == Some(0) {
            found = json(&said);
        }
        found["complete"] == true
    });
    assert_eq!(names(&found, "id"), BTreeSet::from(ANCESTORS));
    found
}

#[test]
fn a_trace_finds_everything_by_asking_those_who_know() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    let sites = ["galway", "pune", "oslo"].map(|name| Site::start(&shop, name, &server.url, &[]));
    let others = ["lima", "kyoto"].map(|name| Site::start(&shop, name, &server.url, &[]));
    let [galway, pune, oslo] = &sites;
    history(&shop, galway, pune, oslo);
    for (number, other) in others.iter().enumerate() {
        other.record(&shop, &format!("created --out elsewhere-{number}"));
        other.published(&shop);
    }

    let found = whole(&shop, &server);
    let asked: Vec<&str> = found["sites"]
        .as_array()
        .unwrap()
        .iter()
        .map(|site| site["name"].as_str().unwrap())
        .collect();
    assert_eq!(asked, ["galway", "oslo", "pune"]);
    assert_eq!(found["cost"]["sites"], 5);
    let b = found["nodes"].as_array().unwrap().iter();
    let b = b.clone().find(|node| node["id"] == "b").unwrap();
    assert_eq!(b["sites"], serde_json::json!(["galway", "pune"]));
    let all = json(&trace(&shop, &server, "e --json --broadcast").ends(0));
    assert_eq!(all["nodes"], found["nodes"]);
    assert_eq!(all["links"], found["links"]);
    assert!(all["cost"]["requests"].as_u64() > found["cost"]["requests"].as_u64());

    // The other way, and not as far.
    let on = json(&trace(&shop, &server, "c --descendants --json").ends(0));
    let wanted = ["c", "d", "e", "ev-d", "ev-dr", "ev-ds", "ev-e", "f"];
    assert_eq!(names(&on, "id"), BTreeSet::from(wanted));
    let near = json(&trace(&shop, &server, "e --depth 2 --json").ends(0));
    assert_eq!(names(&near, "id"), BTreeSet::from(["d", "e", "ev-e"]));

    // For people, and for other programs.
    let table = trace(&shop, &server, "e").ends(0);
    assert!(table.out.contains("sent to pune"), "{}", table.out);
    assert!(table.err.contains("3 of 5 sites"), "{}", table.err);
    assert!(
        trace(&shop, &server, "e --format dot")
            .ends(0)
            .out
            .starts_with("digraph")
    );
    let turtle = trace(&shop, &server, "e --format turtle").ends(0).out;
    assert!(turtle.contains("wasGeneratedBy"), "{turtle}");
    trace(&shop, &server, "e --format svg -o e.svg").ends(0);
    let svg = std::fs::read_to_string(shop.path("e.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("</svg>"), "{svg}");
    trace(&shop, &server, "nobody-knows").ends(1);
    trace(&shop, &server, "e -o x").fails_with(&["--format"]);

    // What a trace says as Turtle is what a site can take in.
    shop.write("e.ttl", turtle);
    let [lima, _] = &others;
    lima.run(&shop, "import e.ttl").ends(0);
    let local = json(&lima.run(&shop, "lineage e --json").ends(0));
    assert_eq!(names(&local, "id"), BTreeSet::from(ANCESTORS));
}

#[test]
fn a_killed_site_is_missed_and_comes_back() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    let [galway, pune, oslo] =
        ["galway", "pune", "oslo"].map(|name| Site::start(&shop, name, &server.url, &[]));
    history(&shop, &galway, &pune, &oslo);
    whole(&shop, &server);

    pune.kill();
    let said = trace(&shop, &server, "e --json").ends(2);
    let found = json(&said);
    assert_eq!(found["complete"], false);
    assert_eq!(found["missing"][0]["site"], "pune");
    assert!(said.err.contains("pune"), "{}", said.err);
    // What the others know of it is there.
    assert!(names(&found, "id").is_superset(&BTreeSet::from(["d", "e", "ev-e", "ev-dr"])));

    // At another port, with what it had; and it has work while nobody looks.
    let pune = Site::start(&shop, "pune", &server.url, &[]);
    whole(&shop, &server);
    let before = pune.status(&shop);
    assert_eq!(
        before["coordinator"]["whole"], 0,
        "a delta is enough: {before}"
    );
    pune.record(&shop, "derived --in d --out g");
    pune.published(&shop);
    let on = json(&trace(&shop, &server, "a -D --json").ends(0));
    assert!(names(&on, "id").contains("g"));
}

#[test]
fn a_site_that_hangs_is_cut_off_or_slow_costs_its_time_and_is_named() {
    let shop = Shop::new();
    let server = Server::start(&shop, &["--site-time", "2s"]);
    let galway = Site::start(&shop, "galway", &server.url, &[]);
    let oslo = Site::start(&shop, "oslo", &server.url, &[]);
    // The coordinator reaches pune through a proxy, whose address pune has to know.
    let proxy = Proxy::before("http://127.0.0.1:1");
    let pune = Site::start(&shop, "pune", &server.url, &["--advertise", &proxy.url]);
    proxy.lead_to(&pune.url);
    history(&shop, &galway, &pune, &oslo);
    whole(&shop, &server);
    assert!(proxy.requests() > 0);

    // Slow, but in time: nothing is missing.
    proxy.weather(Weather::Slow(Duration::from_millis(700)));
    let found = whole(&shop, &server);
    assert!(found["cost"]["milliseconds"].as_f64().unwrap() >= 700.0);

    for (weather, word) in [
        (Weather::Slow(Duration::from_secs(20)), "no answer within"),
        (Weather::Cut, "connection"),
        (Weather::NoAnswer, "connection"),
    ] {
        proxy.weather(weather);
        let begun = Instant::now();
        let found = json(&trace(&shop, &server, "e --json").ends(2));
        assert!(begun.elapsed() < Duration::from_secs(9), "{weather:?}");
        let missing = &found["missing"][0];
        assert_eq!(missing["site"], "pune", "{weather:?}");
        assert!(missing["why"].as_str().unwrap().contains(word), "{missing}");
    }
    proxy.weather(Weather::Fair);
    whole(&shop, &server);

    // A process that does not run any more, and does.
    pune.signal("STOP");
    let begun = Instant::now();
    let found = json(&trace(&shop, &server, "e --json").ends(2));
    assert!(begun.elapsed() < Duration::from_secs(9));
    assert_eq!(found["missing"][0]["site"], "pune");
    pune.signal("CONT");
    whole(&shop, &server);

    // Gone for longer than three periods, a site is named even if nobody had to ask it.
    pune.signal("STOP");
    until("pune is offline", || {
        let said = trace(&shop, &server, "a --json");
        said.code == Some(2) && json(&said)["missing"][0]["site"] == "pune"
    });
    pune.signal("CONT");
    until("pune is online", || {
        trace(&shop, &server, "a --json").code == Some(0)
    });
}

#[test]
fn a_coordinator_killed_in_the_middle_of_a_trace_answers_when_it_is_back() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let galway = Site::start(&shop, "galway", &server.url, &[]);
    let oslo = Site::start(&shop, "oslo", &server.url, &[]);
    let proxy = Proxy::before("http://127.0.0.1:1");
    let pune = Site::start(&shop, "pune", &server.url, &["--advertise", &proxy.url]);
    proxy.lead_to(&pune.url);
    history(&shop, &galway, &pune, &oslo);
    whole(&shop, &server);

    proxy.weather(Weather::Slow(Duration::from_millis(1500)));
    let asked = proxy.requests();
    std::thread::scope(|scope| {
        let tracing = scope.spawn(|| {
            let url = format!("http://{address}");
            shop.run_args(&["trace", "e", "--json", "--time", "20s", "--server", &url])
        });
        until("the trace is under way", || proxy.requests() > asked);
        drop(server);
        // Events go on meanwhile.
        pune.record(&shop, "derived --in c --out h");
        proxy.weather(Weather::Fair);
        let server = Server::start_at(&shop, &address, &[]);
        // All of it is there, unless it says why not: nobody knows yet what the sites did meanwhile.
        let said = tracing.join().unwrap();
        let found = json(&said);
        assert_eq!(names(&found, "id"), BTreeSet::from(ANCESTORS));
        match said.code {
            Some(0) => assert_eq!(found["complete"], true),
            _ => assert!(said.err.contains("no heartbeat since"), "{}", said.err),
        }
        whole(&shop, &server);
        pune.published(&shop);
        let on = json(&trace(&shop, &server, "c -D --json").ends(0));
        assert!(names(&on, "id").contains("h"));
    });
}

#[test]
fn deltas_that_are_lost_or_come_twice_leave_nothing_out() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    let proxy = Proxy::before(&server.url);
    let site = Site::start(&shop, "galway", &proxy.url, &[]);
    site.record(&shop, "created --out doc-0");
    site.published(&shop);
    for (round, weather) in [
        Weather::Cut,
        Weather::NoAnswer,
        Weather::Twice,
        Weather::NoAnswer,
        Weather::Cut,
    ]
    .into_iter()
    .enumerate()
    {
        proxy.weather(weather);
        site.record(&shop, &format!("created --out doc-{}", round + 1));
        let seen = proxy.requests();
        until("it was tried", || proxy.requests() >= seen + 2);
        proxy.weather(Weather::Fair);
        site.published(&shop);
        for known in 0..=round + 1 {
            server.remote(&shop, &format!("which doc-{known}")).ends(0);
        }
    }
    // The coordinator loses everything: the site notices, and sends it again.
    server.remote(&shop, "remove galway/ids/all").ends(0);
    until("the set is there again", || {
        server.remote(&shop, "which doc-3").code == Some(0)
    });
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    drop(server);
    site.record(&shop, "created --out doc-9");
    std::fs::remove_dir_all(shop.path("data")).unwrap();
    let server = Server::start_at(&shop, &address, &[]);
    until("another coordinator has it all", || {
        (0..=5)
            .chain([9])
            .all(|known| server.remote(&shop, &format!("which doc-{known}")).code == Some(0))
    });
}

#[test]
fn a_site_writes_its_own_sets_only() {
    let shop = Shop::new();
    let key = |prefix: &str, name: &str| {
        let made = shop
            .run(&format!(
                "serve key --role write --prefix {prefix} --name {name}"
            ))
            .ends(0);
        let key = made
            .out
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with("bg_"));
        let hash = made
            .out
            .lines()
            .find_map(|line| line.strip_prefix("sha256 = "));
        shop.write(&format!("{name}.key"), key.unwrap());
        format!("{name}:write:{}:{prefix}", hash.unwrap().trim_matches('"'))
    };
    let (galway, pune) = (key("galway/", "galway"), key("pune/", "pune"));
    let server = Server::start(&shop, &["--key", &galway, "--key", &pune]);
    let own = ["--coordinator-key-file", "galway.key"];
    let site = Site::start(&shop, "galway", &server.url, &own);
    site.record(&shop, "created --out a");
    site.published(&shop);
    // Whoever has the key of galway is not pune.
    let liar = Site::start(&shop, "pune", &server.url, &own);
    liar.record(&shop, "created --out b");
    until("it is refused", || {
        let status = liar.status(&shop);
        let problem = status["coordinator"]["problem"].as_str();
        problem.is_some_and(|problem| problem.contains("galway/"))
    });
    server.remote(&shop, "--key-file pune.key list").ends(0);
    let listed = server.remote(&shop, "--key-file pune.key list").ends(0);
    assert_eq!(listed.out, "galway/ids/all\n");
    // Nor may it without a key; and the site's own door is closed to strangers once it has keys.
    let keyless = Site::start(&shop, "oslo", &server.url, &[]);
    until("it is refused", || {
        keyless.status(&shop)["coordinator"]["problem"].is_string()
    });
    let made = shop.run("serve key --role write --name clerk").ends(0);
    let clerk = made
        .out
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("bg_"));
    shop.write("clerk.key", clerk.unwrap());
    let hash = made
        .out
        .lines()
        .find_map(|line| line.strip_prefix("sha256 = "));
    let entry = format!("clerk:write:{}", hash.unwrap().trim_matches('"'));
    let locked = Site::start(
        &shop,
        "galway/annex",
        &server.url,
        &["--key", &entry, "--coordinator-key-file", "galway.key"],
    );
    locked
        .run(&shop, "record created --out x")
        .fails_with(&["--key-file"]);
    locked
        .run(&shop, "record created --out x --key-file clerk.key")
        .ends(0);
    until(
        "the coordinator is let in by the key that the site made for it",
        || {
            let said = trace(&shop, &server, "x --json --key-file pune.key");
            said.code == Some(0) && names(&json(&said), "id").contains("x")
        },
    );
}

#[test]
fn encrypted_ids_are_read_by_the_federation_only() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    shop.write("secret", shop.run("site secret").ends(0).out);
    let encrypted = ["--secret-file", "secret"];
    let sites =
        ["galway", "pune", "oslo"].map(|name| Site::start(&shop, name, &server.url, &encrypted));
    let [galway, pune, oslo] = &sites;
    history(&shop, galway, pune, oslo);
    let found = json(&trace(&shop, &server, "e --json --secret-file secret").ends(0));
    assert_eq!(names(&found, "id"), BTreeSet::from(ANCESTORS));
    // The coordinator cannot even try: neither its index nor its traces know an id.
    server.remote(&shop, "which e").ends(1);
    trace(&shop, &server, "e --json").ends(1);
    let id = found["ids"][0].as_str().unwrap();
    assert_eq!(id, "e");
    shop.write("other", shop.run("site secret").ends(0).out);
    trace(&shop, &server, "e --json --secret-file other").ends(1);
    shop.write("wrong", "no-secret\n");
    trace(&shop, &server, "e --secret-file wrong").fails_with(&["wrong", "site secret"]);
}

#[test]
fn old_windows_expire() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    let site = Site::start(
        &shop,
        "galway",
        &server.url,
        &["--window", "2s", "--keep", "3s"],
    );
    site.record(&shop, "derived --in origin --out early");
    site.published(&shop);
    server.remote(&shop, "which early").ends(0);
    until("the first window is gone", || {
        server.remote(&shop, "which early").code == Some(1)
    });
    site.record(&shop, "derived --in middle --out late");
    site.published(&shop);
    let said = server.remote(&shop, "which late").ends(0);
    assert!(said.out.starts_with("galway/ids/20"), "{}", said.out);
    // A history that such a window cuts is not called complete; all sites together have it.
    let early = trace(&shop, &server, "early --json");
    let late = trace(&shop, &server, "late --json");
    for said in [early, late] {
        let found: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(found["complete"], false, "{found}");
    }
    let said = trace(&shop, &server, "early --json --broadcast").ends(0);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(found["complete"], true, "{found}");
    assert!(names(&found, "id").is_superset(&BTreeSet::from(["early", "origin"])));
    // The site itself forgets nothing.
    site.run(&shop, "lineage early").ends(0);
}

#[test]
fn what_is_wrong_is_said() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    let site = Site::start(&shop, "galway", &server.url, &[]);
    for (line, parts) in [
        ("record created", &["created", "outputs"][..]),
        ("record burned --out x", &["created, derived"]),
        ("record sent --in x", &["peer"]),
        ("record bundled --in x --out y --out z", &["one"]),
        ("record created --out x --time yesterday", &["2026"]),
        ("record --from missing.jsonl", &["missing.jsonl"]),
        ("import missing.ttl", &["missing.ttl"]),
        ("sparql DELETE", &["SPARQL"]),
    ] {
        let said = site.run(&shop, line).ends(2);
        for part in parts {
            assert!(
                said.err.contains(part),
                "{line}: no {part:?} in {}",
                said.err
            );
        }
    }
    shop.write("what.doc", "");
    let said = site.run(&shop, "import what.doc").ends(2);
    assert!(said.err.contains("--format"), "{}", said.err);
    shop.write("bad.ttl", "@prefix ex: <http://e/> .\nex:a ex:b\n");
    let said = site.run(&shop, "import bad.ttl").ends(2);
    assert!(
        said.err.contains("bad.ttl") && said.err.contains("line"),
        "{}",
        said.err
    );
    // What a document leaves out is its own address, unless another is said.
    let derived = "<#x> <http://www.w3.org/ns/prov#wasDerivedFrom> <y> .\n";
    shop.write("a.ttl", derived);
    site.run(&shop, "import a.ttl").ends(0);
    site.run(&shop, "import a.ttl --base http://e.example/d")
        .ends(0);
    site.run(&shop, "lineage http://e.example/d#x").ends(0);
    let file = shop.path("a.ttl").canonicalize().unwrap();
    site.run(&shop, &format!("lineage file://{}#x", file.display()))
        .ends(0);
    shop.write(
        "bad.jsonl",
        "{\"kind\":\"created\",\"outputs\":[\"a\"]}\n{\"kind\":1}\n",
    );
    let said = site.run(&shop, "record --from bad.jsonl").ends(2);
    assert!(said.err.contains("line 2"), "{}", said.err);
    // Odd ids are ids.
    let odd = "gö l/100%?#\u{1f600}<>\"'\\";
    let args = [
        "site", "record", "created", "--out", odd, "--site", &site.url,
    ];
    shop.run_args(&args).ends(0);
    site.published(&shop);
    let said = shop.run_args(&["trace", odd, "--json", "--server", &server.url]);
    assert!(names(&json(&said.ends(0)), "id").contains(odd));
    let said = shop.run_args(&["trace", odd, "--format", "svg", "--server", &server.url]);
    assert!(!said.ends(0).out.contains("<>\""));

    shop.run("site").fails_with(&["--name"]);
    shop.run("site --name a/ids/b").fails_with(&["/ids/"]);
    shop.run("site --name x --listen 0.0.0.0:0")
        .fails_with(&["without access keys"]);
    // One folder, one site.
    shop.run("site --name oslo --data site-galway --listen 127.0.0.1:0")
        .fails_with(&["site-galway"]);
}
