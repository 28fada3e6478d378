//! `bloomgrove verify`, and damaged files of servers and sites: what is refused, and what `--salvage` keeps.

use std::path::Path;

use crate::server::Server;
use crate::site::Site;
use crate::support::Shop;

/// Changes every place where a file has these bytes.
fn spoil(path: &Path, what: &[u8]) {
    let mut bytes = std::fs::read(path).unwrap();
    let mut places = 0;
    for at in 0..bytes.len().saturating_sub(what.len()) {
        if bytes[at..].starts_with(what) {
            bytes[at] ^= 1;
            places += 1;
        }
    }
    assert!(places > 0);
    std::fs::write(path, bytes).unwrap();
}

/// A server that does not start says all of this.
fn refused(shop: &Shop, options: &str, parts: &[&str]) {
    let said = shop.run(&format!("serve --listen 127.0.0.1:0 {options}"));
    let said = said.ends(2);
    for part in parts {
        assert!(said.err.contains(part), "no {part:?} in {:?}", said.err);
    }
}

#[test]
fn files_of_every_kind_are_verified() {
    let shop = Shop::new();
    shop.write("in/a.txt", "apple\npear\n");
    shop.run("index build in -o i.grove").ends(0);
    shop.run("filter build in/a.txt -o f.grove").ends(0);
    shop.run("filter compress f.grove -o f.message").ends(0);
    shop.run("bloofi build in -o b.grove").ends(0);
    shop.run("bloom-sample-tree build 0..1000 --items 100 -o t.grove")
        .ends(0);
    let server = Server::start(&shop, &[]);
    server.remote(&shop, "add in").ends(0);
    server.remote(&shop, "snapshot").ends(0);
    let snapshot = shop.path("data/snapshots");
    let snapshot = std::fs::read_dir(snapshot).unwrap().next().unwrap();
    std::fs::copy(snapshot.unwrap().path(), shop.path("s.redb")).unwrap();
    let site = Site::start(&shop, "galway", &server.url, &[]);
    site.record(&shop, "created --out a --id ev-a");
    site.published(&shop);

    let in_use = ["data/store.redb", "site-galway/site.redb"];
    for file in in_use {
        let said = shop.run(&format!("verify {file}"));
        said.fails_with(&[file, "another process"]);
    }
    site.kill();
    drop(server);
    let files = [
        "i.grove",
        "f.grove",
        "f.message",
        "b.grove",
        "t.grove",
        "s.redb",
        in_use[0],
        in_use[1],
    ];
    let said = shop.run(&format!("verify {}", files.join(" "))).ends(0);
    assert_eq!(
        said.out.matches("undamaged").count(),
        files.len(),
        "{said:?}"
    );
    assert!(
        said.out
            .contains("s.redb: a server's store: 1 set and 0 sites"),
        "{said:?}"
    );
    assert!(
        said.out.contains("the log of the site galway: 1 entry"),
        "{said:?}"
    );

    for file in files {
        let good = std::fs::read(shop.path(file)).unwrap();
        // Somewhere in use: the first page behind the header, or the middle.
        let mut bad = good.clone();
        for byte in bad.iter_mut().skip(64).step_by(97) {
            *byte ^= 1;
        }
        shop.write(file, &bad);
        shop.run(&format!("verify {file}")).fails_with(&[file]);
        shop.write(file, &good[..good.len() / 2]);
        shop.run(&format!("verify {file}")).fails_with(&[file]);
        shop.write(file, &good);
    }
    shop.write("b.txt", "no file of ours");
    shop.run("verify b.txt no.grove")
        .fails_with(&["b.txt", "no.grove"]);
    let said = shop.run("verify b.txt f.grove").ends(2);
    assert!(
        said.out.contains("f.grove") && said.err.contains("b.txt"),
        "{said:?}"
    );
}

#[test]
fn a_damaged_store_is_refused_salvaged_and_filled_again() {
    let shop = Shop::new();
    shop.write("in/a.txt", "apple\npear\n");
    shop.write("in/b.txt", "plum\n");
    let server = Server::start(&shop, &[]);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    server.remote(&shop, "add in --items 1000").ends(0);
    let site = Site::start(&shop, "galway", &server.url, &[]);
    site.record(&shop, "created --out invoice-1 --id ev-1");
    site.published(&shop);
    drop(server);

    let store = shop.path("data/store.redb");
    spoil(&store, b"galway/ids/all");
    let damaged = std::fs::read(&store).unwrap();
    let words = ["store.redb", "damaged", "--restore", "--salvage"];
    refused(&shop, "--data data", &words);
    assert_eq!(std::fs::read(&store).unwrap(), damaged);

    let server = Server::start_at(&shop, &address, &["--salvage"]);
    assert_eq!(
        std::fs::read(shop.path("data/store.damaged-1")).unwrap(),
        damaged
    );
    crate::site::until("the site has sent its set again", || {
        let said = server.remote(&shop, "which invoice-1");
        said.out.contains("galway/ids/all")
    });
    assert!(
        server
            .remote(&shop, "which apple")
            .ends(0)
            .out
            .contains("a.txt")
    );
    assert!(
        server
            .remote(&shop, "which plum")
            .ends(0)
            .out
            .contains("b.txt")
    );
    drop(server);
    // Once more without: nothing is dropped from a good one.
    drop(Server::start_at(&shop, &address, &["--salvage"]));
    assert!(!shop.path("data/store.damaged-2").exists());
}

#[test]
fn a_snapshot_that_is_cut_short_is_refused_in_plain_words() {
    let shop = Shop::new();
    shop.write("in/a.txt", "apple\n");
    let server = Server::start(&shop, &[]);
    server.remote(&shop, "add in").ends(0);
    server.remote(&shop, "snapshot").ends(0);
    let snapshot = std::fs::read_dir(shop.path("data/snapshots"))
        .unwrap()
        .next();
    let whole = std::fs::read(snapshot.unwrap().unwrap().path()).unwrap();
    for length in [0, 100, 5000, whole.len() / 2, whole.len() - 1] {
        shop.write("cut.redb", &whole[..length]);
        let words = ["cut.redb", "truncated", "not a snapshot"];
        refused(&shop, "--data new --restore cut.redb", &words);
        assert!(!shop.path("new/store.redb").exists());
    }
}
