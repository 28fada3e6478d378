//! The registry of sites: who may register what, what is returned, what is persistent.

use std::time::{Duration, Instant};

use bloomgrove_client::Client;
use bloomgrove_client::api::{Code, RegisterSite, SetVersion, TraceQuery};
use bloomgrove_http::access::{KeyEntry, hash_of};

use crate::support::{Running, filter};

fn site(url: &str) -> RegisterSite {
    RegisterSite {
        url: url.into(),
        key: Some("bg_secret-of-the-site".into()),
        period: 60,
        pending: 3,
        ..RegisterSite::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_register_are_listed_survive_and_go() {
    let running = Running::start().await;
    let client = &running.client;
    let updated = client
        .put_filter("a/b ö/ids/all", &filter(&["x"]))
        .await
        .unwrap();
    client
        .put_filter("a/b ö/other", &filter(&["x"]))
        .await
        .unwrap();
    let registered = client
        .register_site("a/b ö", &site("http://127.0.0.1:9"))
        .await;
    let sets = registered.unwrap().sets;
    assert_eq!(sets.len(), 1);
    assert_eq!(
        (sets[0].name.as_str(), sets[0].version),
        ("a/b ö/ids/all", updated.version)
    );
    let before = client.status().await.unwrap().totals.commits;
    let listed = client.sites().await.unwrap().sites;
    assert_eq!(listed.len(), 1);
    let info = &listed[0];
    assert_eq!(
        (info.name.as_str(), info.sets, info.pending),
        ("a/b ö", 1, 3)
    );
    assert!(info.online && info.last_heartbeat.unwrap() < 60.0);
    // A heartbeat is not written to disk; a new URL is.
    client
        .register_site("a/b ö", &site("http://127.0.0.1:9"))
        .await
        .unwrap();
    assert_eq!(client.status().await.unwrap().totals.commits, before);
    client
        .register_site("a/b ö", &site("http://127.0.0.1:10"))
        .await
        .unwrap();
    assert_eq!(client.status().await.unwrap().totals.commits, before + 1);
    let snapshot = client.snapshot().await.unwrap();

    let directory = running.stop().await;
    let running = Running::start_in(directory, |_| {}).await;
    let listed = running.client.sites().await.unwrap().sites;
    assert_eq!(listed[0].url, "http://127.0.0.1:10");
    // What it did meanwhile is unknown.
    assert_eq!((listed[0].last_heartbeat, listed[0].online), (None, false));
    running.client.remove_site("a/b ö").await.unwrap();
    let gone = running.client.remove_site("a/b ö").await.unwrap_err();
    assert_eq!(gone.code(), Some(Code::NotFound));
    let directory = running.stop().await;
    let running = Running::start_in(directory, |_| {}).await;
    assert_eq!(running.client.sites().await.unwrap().sites, []);
    assert!(running.client.set("a/b ö/ids/all").await.is_ok());

    let file = running
        .directory
        .path()
        .join("data/snapshots")
        .join(&snapshot.file);
    let restored = Running::start_with(|config| config.restore = Some(file)).await;
    assert_eq!(restored.client.sites().await.unwrap().sites.len(), 1);
    restored.stop().await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_registers_for_another_and_no_key_is_shown() {
    let keys = [
        ("galway", "write", "galway/"),
        ("reader", "read", ""),
        ("all", "admin", ""),
    ];
    let entries = keys.map(|(name, role, prefix)| {
        KeyEntry::new(name, role.parse().unwrap(), hash_of(name), prefix).into()
    });
    let running = Running::start_with(|config| config.keys = entries.into()).await;
    let as_key = |key: &str| Client::builder(running.url()).key(key).build().unwrap();
    let (galway, reader, all) = (as_key("galway"), as_key("reader"), as_key("all"));
    galway
        .register_site("galway", &site("http://127.0.0.1:9"))
        .await
        .unwrap();
    for (client, name) in [(&galway, "pune"), (&galway, "galway2"), (&reader, "galway")] {
        let refused = client
            .register_site(name, &site("http://127.0.0.1:9"))
            .await;
        assert_eq!(refused.unwrap_err().code(), Some(Code::Forbidden), "{name}");
        let refused = client.remove_site(name).await;
        assert_eq!(refused.unwrap_err().code(), Some(Code::Forbidden), "{name}");
    }
    all.register_site("pune", &site("http://127.0.0.1:9"))
        .await
        .unwrap();
    assert_eq!(reader.sites().await.unwrap().sites.len(), 2);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let list = http
        .get(format!("{}/v1/sites", running.url()))
        .bearer_auth("all");
    let list = list.send().await.unwrap().text().await.unwrap();
    assert!(list.contains("pune") && !list.contains("secret"), "{list}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_registered_is_refused() {
    let running = Running::start_with(|config| config.sites.hosts = vec![".ie".into()]).await;
    let client = &running.client;
    client
        .register_site("a", &site("https://galway.ie:1"))
        .await
        .unwrap();
    for (name, url, code) in [
        ("a/ids/b", "https://galway.ie", Code::Invalid),
        ("a/ids", "https://galway.ie", Code::Invalid),
        ("/a", "https://galway.ie", Code::Invalid),
        ("a\u{1}", "https://galway.ie", Code::Invalid),
        ("a", "galway.ie", Code::Invalid),
        ("a", "http://me@galway.ie", Code::Invalid),
        ("a", "http://127.0.0.1:9", Code::Forbidden),
    ] {
        let refused = client.register_site(name, &site(url)).await.unwrap_err();
        assert_eq!(refused.code(), Some(code), "{name} {url}: {refused}");
    }
    // Everything that is allowed.
    let any = Running::start().await;
    for url in [
        "http://169.254.169.254",
        "http://2852039166/",
        "http://[fe80::1]:80",
        "http://[::ffff:169.254.169.254]",
    ] {
        let refused = any.client.register_site("a", &site(url)).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::Forbidden), "{url}: {refused}");
        assert!(refused.to_string().contains("link-local"), "{refused}");
    }
    any.stop().await;
    let mut odd = site("https://galway.ie");
    odd.period = 0;
    let refused = client.register_site("a", &odd).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Invalid));
    running.stop().await;
}

/// Two sites with one name would replace each other's sets. One that moved still has its access key.
#[tokio::test(flavor = "multi_thread")]
async fn no_one_can_take_the_name_of_a_site_that_is_online() {
    let running = Running::start().await;
    let client = &running.client;
    let first = RegisterSite {
        period: 1,
        ..site("http://127.0.0.1:9")
    };
    let moved = RegisterSite {
        url: "http://127.0.0.1:10".into(),
        ..first.clone()
    };
    let other = RegisterSite {
        key: Some("bg_of-another".into()),
        ..first.clone()
    };
    let keyless = RegisterSite {
        key: None,
        ..first.clone()
    };
    client.register_site("a", &first).await.unwrap();
    client.register_site("a", &moved).await.unwrap();
    for other in [&other, &keyless] {
        let refused = client.register_site("a", other).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::Exists), "{refused}");
        assert!(refused.to_string().contains("is online"), "{refused}");
    }
    assert_eq!(client.sites().await.unwrap().sites[0].url, moved.url);
    // When it is offline, another site may take its name.
    let deadline = Instant::now() + Duration::from_secs(20);
    while client.register_site("a", &other).await.is_err() {
        assert!(Instant::now() < deadline, "never offline");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let refused = client.register_site("a", &moved).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Exists), "{refused}");
    // And after it was removed.
    client.remove_site("a").await.unwrap();
    let slow = |site: &RegisterSite| RegisterSite {
        period: 60,
        ..site.clone()
    };
    client.register_site("a", &slow(&moved)).await.unwrap();
    // After a start another site must not get ahead of the one that had the name.
    let running = Running::start_in(running.stop().await, |_| {}).await;
    let client = &running.client;
    let refused = client.register_site("a", &slow(&other)).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Exists), "{refused}");
    client.register_site("a", &slow(&first)).await.unwrap();
    running.stop().await;
}

/// A site whose sets are not what it has sent is behind, whoever changed them.
#[tokio::test(flavor = "multi_thread")]
async fn sets_that_are_not_what_a_site_sent_are_told() {
    let running = Running::start().await;
    let client = &running.client;
    let (set, other) = ("a/ids/all", "a/ids/2026-11-16");
    let sent = client.put_filter(set, &filter(&["x"])).await.unwrap();
    let also = client.put_filter(other, &filter(&["y"])).await.unwrap();
    let known = RegisterSite {
        pending: 0,
        ..site("http://127.0.0.1:9")
    };
    let store = client.register_site("a", &known).await.unwrap().store;
    assert!(store.unwrap() < 1 << 53);
    let version = |name: &str, version| SetVersion {
        name: name.into(),
        version,
    };
    let told = |sets: Vec<SetVersion>| RegisterSite {
        store,
        sets,
        ..known.clone()
    };
    let both = told(vec![
        version(set, sent.version),
        version(other, also.version),
    ]);
    let behind = async || {
        let question = TraceQuery {
            ids: vec!["nobody".into()],
            ..TraceQuery::default()
        };
        let found = client.trace(&question).await.unwrap();
        assert_eq!(found.complete, found.missing.is_empty());
        found.missing.first().map(|missing| missing.why.clone())
    };
    let says = |why: Option<String>, count: &str| {
        let wanted = format!("{count} of its sets");
        assert!(
            why.as_ref().is_some_and(|why| why.starts_with(&wanted)),
            "{why:?}"
        );
    };
    client.register_site("a", &both).await.unwrap();
    assert_eq!(behind().await, None);
    // A delta only adds.
    client.merge(set, &filter(&["z"]), None).await.unwrap();
    assert_eq!(behind().await, None);
    // Versions of another or an unknown store mean nothing.
    for store in [None, store.map(|store| store ^ 1)] {
        let elsewhere = RegisterSite {
            store,
            ..both.clone()
        };
        client.register_site("a", &elsewhere).await.unwrap();
        says(behind().await, "2");
    }
    client.register_site("a", &both).await.unwrap();
    client.remove(other).await.unwrap();
    says(behind().await, "1");
    // Another client replaces the other set.
    let replaced = client.put_filter(set, &filter(&["w"])).await.unwrap();
    says(behind().await, "2");
    let new = client.put_filter(other, &filter(&["y"])).await.unwrap();
    says(behind().await, "2");
    let both = told(vec![
        version(set, replaced.version),
        version(other, new.version),
    ]);
    client.register_site("a", &both).await.unwrap();
    assert_eq!(behind().await, None);
    // A set that was reset.
    let ahead = told(vec![version(set, replaced.version + 100)]);
    client.register_site("a", &ahead).await.unwrap();
    says(behind().await, "1");

    // A site with expired windows has ids that are in no set.
    let expired = RegisterSite {
        expired: true,
        ..both.clone()
    };
    client.register_site("a", &expired).await.unwrap();
    assert!(behind().await.unwrap().contains("windows have expired"));
    // A heartbeat that was overtaken is ignored.
    let later = RegisterSite {
        pending: 5,
        position: 9,
        ..both.clone()
    };
    let earlier = RegisterSite {
        position: 8,
        ..both.clone()
    };
    client.register_site("a", &later).await.unwrap();
    client.register_site("a", &earlier).await.unwrap();
    assert!(
        behind()
            .await
            .unwrap()
            .starts_with("5 of its ids could not be published")
    );
    let last = RegisterSite {
        position: 9,
        ..both.clone()
    };
    client.register_site("a", &last).await.unwrap();
    assert_eq!(behind().await, None);

    let wrong = told(vec![version("b/ids/all", 1)]);
    let refused = client.register_site("a", &wrong).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Invalid), "{refused}");
    let wrong = told(
        (0..4001)
            .map(|n| version(&format!("a/ids/{n}"), 1))
            .collect(),
    );
    let refused = client.register_site("a", &wrong).await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::TooLarge), "{refused}");

    // The store stays the same when the server is restarted; a copy is another one.
    let snapshot = client.snapshot().await.unwrap();
    let running = Running::start_in(running.stop().await, |_| {}).await;
    let again = running.client.register_site("a", &known).await.unwrap();
    assert_eq!(again.store, store);
    let snapshots = running.directory.path().join("data/snapshots");
    let file = snapshots.join(&snapshot.file);
    let restored = Running::start_with(|config| config.restore = Some(file)).await;
    let copy = restored.client.register_site("a", &known).await.unwrap();
    assert_ne!(copy.store, store);
    restored.stop().await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn below_the_prefix_of_a_key_there_are_few_sites() {
    let keys = [("galway", "write", "galway/"), ("all", "write", "")];
    let entries = keys.map(|(name, role, prefix)| {
        KeyEntry::new(name, role.parse().unwrap(), hash_of(name), prefix).into()
    });
    let running = Running::start_with(|config| config.keys = entries.into()).await;
    let as_key = |key: &str| Client::builder(running.url()).key(key).build().unwrap();
    let (galway, all) = (as_key("galway"), as_key("all"));
    let here = site("http://127.0.0.1:9");
    galway.register_site("galway", &here).await.unwrap();
    // All at the same time, so that none of them exists when the others are counted.
    let tries: Vec<_> = (0..60)
        .map(|n| {
            let (galway, here) = (galway.clone(), here.clone());
            let name = format!("galway/{n}");
            tokio::spawn(async move { galway.register_site(&name, &here).await })
        })
        .collect();
    let mut taken = 0;
    for tried in tries {
        match tried.await.unwrap() {
            Ok(_) => taken += 1,
            Err(refused) => {
                assert_eq!(refused.code(), Some(Code::Forbidden), "{refused}");
                assert!(refused.to_string().contains("DELETE"), "{refused}");
            }
        }
    }
    assert_eq!(taken, 15);
    // Registered ones stay, and one that is removed makes room.
    galway.register_site("galway", &here).await.unwrap();
    assert!(galway.register_site("galway/new", &here).await.is_err());
    galway.remove_site("galway").await.unwrap();
    galway.register_site("galway/new", &here).await.unwrap();
    assert!(galway.register_site("galway", &here).await.is_err());
    // A key without a prefix has no such limit.
    all.register_site("galway", &here).await.unwrap();
    all.register_site("pune", &here).await.unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_sites_have_one_spelling() {
    let running = Running::start().await;
    let client = &running.client;
    let fake = crate::fake::Fake::start("galway").await;
    let link = crate::hostile::used("a", "b");
    fake.hold(crate::fake::Holds {
        links: [link].into(),
        limit: 10,
        ..Default::default()
    });
    let loud = fake.url.replacen("http", "HTTP", 1) + "/";
    client.register_site("galway", &site(&loud)).await.unwrap();
    fake.publish(client, 1000).await;
    client
        .register_site("upper", &site("HTTPS://Upper.Example:443/"))
        .await
        .unwrap();
    let listed = client.sites().await.unwrap().sites;
    let urls: Vec<&str> = listed.iter().map(|site| site.url.as_str()).collect();
    assert_eq!(urls, [fake.url.as_str(), "https://upper.example"]);
    let before = client.status().await.unwrap().totals.commits;
    client.register_site("galway", &site(&loud)).await.unwrap();
    assert_eq!(client.status().await.unwrap().totals.commits, before);
    let request = TraceQuery {
        ids: vec!["a".into()],
        ..TraceQuery::default()
    };
    let trace = client.trace(&request).await.unwrap();
    assert_eq!(trace.links.len(), 1, "{:?}", trace.missing);
    running.stop().await;
}
