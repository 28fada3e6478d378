//! `bloomgrove remote`: every verb against a real server, what it says, and what it refuses.

use crate::server::Server;
use crate::support::{Shop, json, lines};

fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("in/a.txt", "apple\npear\n");
    shop.write("in/b.txt", "pear\nplum\n");
    shop.write("in/deep/c.txt", "cherry\n");
    shop
}

/// With the sets of [`shop`], all of one size.
fn filled() -> (Shop, Server) {
    let shop = shop();
    let server = Server::start(&shop, &[]);
    let said = server.remote(&shop, "add in --prefix x/ --tag fruit --items 1000");
    assert_eq!(
        said.ends(0).out,
        "added x/a.txt\nadded x/b.txt\nadded x/deep/c.txt\n"
    );
    (shop, server)
}

#[test]
fn answers_are_those_of_a_local_index() {
    let (shop, server) = filled();
    shop.run("index build in -o local.grove --items 1000")
        .ends(0);
    shop.write("asked.txt", "pear\ncherry\nquince\n");
    for (question, code) in [
        ("pear", 0),
        ("cherry plum", 0),
        ("quince", 1),
        ("-c pear", 0),
        ("-q quince", 1),
        ("-q pear", 0),
        ("--json pear quince", 0),
        ("--json --count pear", 0),
        ("--keys-from asked.txt", 0),
        ("--keys-from asked.txt --count", 0),
    ] {
        let local = shop.run(&format!("index which local.grove {question}"));
        let remote = server
            .remote(&shop, &format!("which {question}"))
            .ends(code);
        assert_eq!(
            remote.out.replace("x/", ""),
            local.ends(code).out,
            "{question}"
        );
    }
}

#[test]
fn questions_are_scoped_cut_and_explained() {
    let (shop, server) = filled();
    server
        .remote(&shop, "add in/a.txt --name other --tag nuts")
        .ends(0);
    let ask = |line: &str| server.remote(&shop, &format!("which pear {line}"));
    assert_eq!(ask("--prefix x/").ends(0).out, "x/a.txt\nx/b.txt\n");
    assert_eq!(ask("--tag nuts").ends(0).out, "other\n");
    assert_eq!(ask("--prefix x/ --tag nuts").ends(1).out, "");
    let said = ask("--limit 1").ends(0);
    assert_eq!(said.out.lines().count(), 1);
    assert!(
        said.err.contains("more sets than are listed"),
        "{}",
        said.err
    );
    let said = ask("--explain").ends(0);
    assert!(
        said.err.contains("4 sets") && said.err.contains("; expect "),
        "{}",
        said.err
    );
    // A number is another key than its digits.
    server
        .remote(&shop, "create numbers --items 100 --fpr 1e-6")
        .ends(0);
    server
        .remote(&shop, "insert numbers 42 --keys integer")
        .ends(0);
    assert_eq!(
        server.remote(&shop, "which 42 --keys integer").ends(0).out,
        "numbers\n"
    );
    assert_eq!(server.remote(&shop, "which 42").ends(1).out, "");
    server.remote(&shop, "which").fails_with(&["no key given"]);
    server
        .remote(&shop, "which x1 --keys integer")
        .fails_with(&["not an integer"]);
}

#[test]
fn many_keys_go_in_parts_and_come_back_in_order() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    shop.write("keys.txt", lines((0..2500).map(|i| format!("key-{i}"))));
    server
        .remote(&shop, "create many --items 10k --fpr 1e-9")
        .ends(0);
    let said = server
        .remote(&shop, "insert many --keys-from keys.txt")
        .ends(0);
    assert_eq!(said.out, "updated many: 2,500 keys\n");
    let said = server.remote(&shop, "which --keys-from keys.txt").ends(0);
    let wanted: String = (0..2500).map(|i| format!("key-{i}\tmany\n")).collect();
    assert!(said.out == wanted);
    let estimate = server.remote(&shop, "estimate many --json").ends(0);
    let items = json(&estimate)["items"].as_f64().unwrap();
    assert!((2450.0..2550.0).contains(&items), "{items}");
}

#[test]
fn sets_are_made_changed_and_removed() {
    let (shop, server) = filled();
    let run = |line: &str| server.remote(&shop, line);
    let said = run("create y/empty --bits 1000 --hashes 3 --tag new --expires 1h").ends(0);
    assert_eq!(said.out, "created y/empty: 1,000 bits, 3 hashes\n");
    let set = json(&run("info y/empty --json").ends(0));
    assert_eq!(
        (&set["params"]["bits"], &set["tags"][0]),
        (&1000.into(), &"new".into())
    );
    assert!(set["expires"].as_u64() > set["created"].as_u64());

    assert_eq!(
        run("insert y/empty kiwi fig").ends(0).out,
        "updated y/empty: 2 keys\n"
    );
    assert_eq!(run("which kiwi").ends(0).out, "y/empty\n");
    assert_eq!(
        run("rename y/empty y/full").ends(0).out,
        "renamed y/empty, now y/full\n"
    );
    assert_eq!(run("which kiwi").ends(0).out, "y/full\n");
    assert_eq!(
        run("tag y/full b a").ends(0).out,
        "y/full has the tags a, b\n"
    );
    assert_eq!(run("tag y/full --none").ends(0).out, "y/full has no tags\n");
    let said = run("expire y/full --never").ends(0);
    assert_eq!(said.out, "y/full does not expire\n");
    let said = run("expire y/full --in 24h").ends(0);
    assert!(
        said.out.starts_with("y/full expires 2") && said.out.ends_with("Z\n"),
        "{}",
        said.out
    );

    assert_eq!(
        run("list").ends(0).out,
        "x/a.txt\nx/b.txt\nx/deep/c.txt\ny/full\n"
    );
    assert_eq!(run("list --prefix y/").ends(0).out, "y/full\n");
    assert_eq!(
        run("list --tag fruit --prefix x/d").ends(0).out,
        "x/deep/c.txt\n"
    );
    let listed = run("list --tag fruit --json").ends(0);
    let listed: Vec<&str> = listed.out.lines().collect();
    assert!(listed.len() == 3 && listed[0].starts_with("{\"name\":\"x/a.txt\""));

    let said = run("remove x/a.txt nobody y/full").ends(2);
    assert_eq!(said.out, "removed x/a.txt\nremoved y/full\n");
    assert!(said.err.contains("nobody"), "{}", said.err);
    assert_eq!(run("which apple kiwi").ends(1).out, "");

    run("create x/b.txt --items 10").fails_with(&["x/b.txt", "already"]);
    run("insert nobody k").fails_with(&["nobody"]);
    run("rename x/b.txt x/deep/c.txt").fails_with(&["already"]);
    run("create z").fails_with(&["--items"]);
    run("info nobody").fails_with(&["nobody"]);
}

#[test]
fn sets_that_are_there_are_replaced_only_when_asked() {
    let (shop, server) = filled();
    shop.write("in/a.txt", "mango\n");
    let said = server
        .remote(&shop, "add in/a.txt in/new.txt --prefix x/")
        .ends(2);
    assert!(said.err.contains("in/new.txt"), "{}", said.err);
    assert_eq!(said.out, "added x/in/a.txt\n");
    let again = server.remote(&shop, "add in/a.txt --name x/a.txt").ends(2);
    assert!(again.err.contains("--replace"), "{}", again.err);
    assert_eq!(server.remote(&shop, "which apple").ends(0).out, "x/a.txt\n");
    let said = server
        .remote(&shop, "add in/a.txt --name x/a.txt --replace")
        .ends(0);
    assert_eq!(said.out, "replaced x/a.txt\n");
    assert_eq!(server.remote(&shop, "which apple").ends(1).out, "");
    server
        .remote(&shop, "add in --name one")
        .fails_with(&["--name requires a single set"]);
}

#[test]
fn filters_indexes_and_columns_are_added_as_they_are() {
    let shop = shop();
    let server = Server::start(&shop, &[]);
    shop.run("filter build in/a.txt -o one.grove").ends(0);
    shop.run("index build in -o all.grove").ends(0);
    shop.write("people.csv", "name,city\nann,galway\nbob,pune\n");
    let add = |line: &str| server.remote(&shop, &format!("add {line}")).ends(0).out;
    assert_eq!(add("one.grove"), "added one\n");
    assert_eq!(
        add("all.grove --prefix i/"),
        "added i/a.txt\nadded i/b.txt\nadded i/deep/c.txt\n"
    );
    assert_eq!(add("people.csv --column city"), "added people.csv\n");
    let which = |key: &str| server.remote(&shop, &format!("which {key}")).ends(0).out;
    assert_eq!(which("apple"), "i/a.txt\none\n");
    assert_eq!(which("galway"), "people.csv\n");
}

#[test]
fn filters_come_down_as_they_went_up_and_changes_follow() {
    let (shop, server) = filled();
    let run = |line: &str| server.remote(&shop, line);
    let said = run("download x/a.txt -o a.grove").ends(0);
    assert!(said.out.starts_with("a.grove: version "), "{}", said.out);
    let version: u64 = said.out.split(' ').nth(2).unwrap().parse().unwrap();
    shop.run("filter check a.grove apple").ends(0);
    shop.run("filter check a.grove plum").ends(1);
    run("download x/a.txt --message -o a.msg").ends(0);
    shop.run("filter expand a.msg -o again.grove").ends(0);
    shop.run("filter check again.grove pear").ends(0);

    // A delta, by the version it was made from.
    run("download x/b.txt -o b.grove").ends(0);
    shop.run("filter union a.grove b.grove -o both.grove")
        .ends(0);
    shop.run("filter delta a.grove both.grove -o a.delta")
        .ends(0);
    let said = run(&format!("update x/a.txt a.delta --base {version}")).ends(0);
    assert!(said.out.starts_with("updated x/a.txt: "), "{}", said.out);
    assert_eq!(run("which plum").ends(0).out, "x/a.txt\nx/b.txt\n");
    // Twice does no harm; from something else it does not fit.
    let said = run("update x/a.txt a.delta").ends(0);
    assert_eq!(said.out, "updated x/a.txt: 0 bits changed\n");
    run("update x/deep/c.txt a.delta").fails_with(&["a.delta"]);

    // A filter is added to what is there.
    run("update x/deep/c.txt b.grove").ends(0);
    assert_eq!(
        run("which plum cherry --prefix x/deep")
            .ends(0)
            .out
            .lines()
            .count(),
        2
    );
    shop.write("other.txt", "k\n");
    shop.run("filter build other.txt -o other.grove --items 9")
        .ends(0);
    run("update x/a.txt other.grove").fails_with(&["other.grove"]);
    run("update x/a.txt other.txt").fails_with(&["neither a filter nor a delta"]);
}

#[test]
fn members_come_back_out() {
    let shop = Shop::new();
    let server = Server::start(&shop, &[]);
    shop.write("evens.txt", lines((0..500).map(|i| i * 2)));
    shop.write("threes.txt", lines((0..300).map(|i| i * 3)));
    let said = server.remote(&shop, "add evens.txt threes.txt --items 1000 --fpr 1e-6");
    said.ends(0);
    let run = |words: &[&str]| server.remote_args(&shop, words);
    let both = "evens.txt & threes.txt";
    let said = run(&["reconstruct", both, "--namespace", "0..1000"]).ends(0);
    let wanted: Vec<u64> = (0..1000).filter(|i| i % 6 == 0 && *i < 900).collect();
    assert_eq!(said.out, lines(&wanted));
    let said = run(&["reconstruct", both, "--namespace", "0..1000", "--count"]).ends(0);
    assert_eq!(said.out, format!("{}\n", wanted.len()));
    let said = run(&[
        "reconstruct",
        both,
        "--namespace",
        "0..1000",
        "--limit",
        "5",
    ])
    .ends(2);
    assert!(said.out.lines().count() == 5 && said.err.contains("more members than these"));
    shop.write("names.txt", "7\n12\n18\n901\n");
    let said = run(&["reconstruct", both, "--namespace", "names.txt"]).ends(0);
    assert_eq!(said.out, "12\n18\n");

    let draw = [
        "sample",
        both,
        "--namespace",
        "0..1000",
        "-n",
        "5",
        "--seed",
        "1",
    ];
    let said = run(&draw).ends(0);
    assert!(
        said.out
            .lines()
            .all(|line| line.parse::<u64>().unwrap() % 6 == 0),
        "{}",
        said.out
    );
    assert_eq!(said.out.lines().count(), 5);
    assert_eq!(run(&draw).ends(0).out, said.out);
    assert!(run(&["estimate", both]).ends(0).out.starts_with("about 1"));
    run(&["estimate", "evens.txt &"]).fails_with(&[
        "character 12",
        "expected a name, but the expression ends here",
    ]);
    run(&["sample", "evens.txt", "--namespace", "nothing"]).fails_with(&["no such file"]);
}

#[test]
fn the_server_tells_how_it_is_and_copies_itself() {
    let (shop, server) = filled();
    let said = server.remote(&shop, "info").ends(0);
    assert!(
        said.out.contains("sets      3") && said.out.contains("why: "),
        "{}",
        said.out
    );
    let status = json(&server.remote(&shop, "info --json").ends(0));
    assert_eq!(status["sets"], 3);
    let said = server.remote(&shop, "snapshot").ends(0);
    let file = said.out.split('\t').next().unwrap();
    assert!(shop.path("data/snapshots").join(file).exists(), "{file}");
    let listed = server.remote(&shop, "snapshot --list").ends(0);
    assert_eq!(listed.out, said.out);
}

#[test]
fn keys_are_shown_from_a_file_the_environment_or_the_line() {
    let shop = Shop::new();
    shop.write("in.txt", "apple\n");
    let made = shop
        .run("serve key --role write --prefix mine/ --name me")
        .ends(0);
    let (key, entry) = key_and_entry(&made.out);
    let server = Server::start(&shop, &["--key", &entry]);
    shop.write("key", format!("{key}\n"));
    let run = |line: &str| server.remote(&shop, line);
    run("list").fails_with(&["key"]);
    run("list --key wrong").fails_with(&["key"]);
    run("add in.txt --prefix mine/ --key-file key").ends(0);
    let said = run("add in.txt --prefix yours/ --key-file key").ends(2);
    assert!(said.err.contains("mine/"), "{}", said.err);
    run(&format!("which apple --key {key}")).ends(0);
    let mut asked = shop.command(&["remote", "which", "apple"]);
    asked
        .env("BLOOMGROVE_SERVER", &server.url)
        .env("BLOOMGROVE_KEY", &key);
    assert_eq!(asked.output().unwrap().stdout, b"mine/in.txt\n");
    // Snapshots are for those who run the server.
    run("snapshot --key-file key").fails_with(&["admin"]);
    shop.write("empty", "");
    run("list --key-file empty").fails_with(&["first line is empty"]);
}

/// The key, and its entry as a flag, from what `serve key` prints.
fn key_and_entry(printed: &str) -> (String, String) {
    let mut lines = printed
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let key = lines.nth(1).unwrap();
    let hash = lines
        .find_map(|line| line.strip_prefix("sha256 = "))
        .unwrap();
    let entry = format!("me:write:{}:mine/", hash.trim_matches('"'));
    (key.to_owned(), entry)
}

#[test]
fn what_cannot_be_reached_is_named() {
    let shop = Shop::new();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    shop.run(&format!("remote --server {url} which x"))
        .fails_with(&[&url, "is a server running there?"]);
    shop.run("remote --server nonsense list")
        .fails_with(&["nonsense", "http://127.0.0.1:7117"]);
    shop.run(&format!("remote --server {url} --ca nothing list"))
        .fails_with(&["nothing"]);
    // What nobody should send in the clear.
    let said = shop.run("remote --server http://bloomgrove.invalid --key k --timeout 1s list");
    assert!(said.err.contains("unencrypted"), "{}", said.err);
}
