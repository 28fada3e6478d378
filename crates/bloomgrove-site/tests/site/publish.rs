//! What a coordinator gets, whatever happens on the way.

use std::time::Duration;

use bloomgrove_client::IdCipher;
use bloomgrove_client::api::{Event, SiteStatus};
use bloomgrove_site::{SiteConfig, Window};

use crate::support::*;

fn counts(status: &SiteStatus) -> (u64, u64) {
    let coordinator = status.coordinator.as_ref().unwrap();
    (coordinator.whole, coordinator.deltas)
}

fn strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

#[tokio::test]
async fn whole_once_then_deltas_also_after_a_restart() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let client = coordinator.client();
    let config = config(near.path(), &coordinator.url);

    let (running, site) = site(config.clone()).await;
    site.record(vec![derived(&["a", "b"], "c")]).await.unwrap();
    site.publish().await.unwrap();
    let ids = strings(&["a", "b", "c", "urn:event:c"]);
    assert!(missing(&client, "galway", &ids).await.is_empty());
    assert_eq!(
        missing(&client, "galway", &strings(&["other"])).await,
        ["other"]
    );
    assert_eq!(counts(&site.status()), (1, 0));

    site.record(vec![derived(&["c"], "d")]).await.unwrap();
    assert_eq!(site.status().sets[0].pending, 2);
    site.publish().await.unwrap();
    assert!(
        missing(&client, "galway", &strings(&["d"]))
            .await
            .is_empty()
    );
    let status = site.status();
    assert_eq!(counts(&status), (1, 1));
    assert_eq!(
        (status.ids, status.sets[0].ids, status.sets[0].pending),
        (6, 6, 0)
    );
    assert!(status.coordinator.unwrap().connected);
    // Nothing new, nothing sent.
    site.publish().await.unwrap();
    assert_eq!(counts(&site.status()), (1, 1));
    running.stop().await;

    let (running, site) = self::site(config).await;
    assert_eq!(site.status().ids, 6);
    site.record(vec![derived(&["d"], "e")]).await.unwrap();
    site.publish().await.unwrap();
    assert_eq!(counts(&site.status()), (0, 1));
    assert!(
        missing(&client, "galway", &strings(&["a", "e"]))
            .await
            .is_empty()
    );
    assert_eq!(client.status().await.unwrap().sets, 1);

    // A set that was deleted is restored, with the next id or without.
    client.remove("galway/ids/all").await.unwrap();
    site.record(vec![derived(&["e"], "f")]).await.unwrap();
    site.publish().await.unwrap();
    assert!(
        missing(&client, "galway", &strings(&["a", "e", "f"]))
            .await
            .is_empty()
    );
    running.stop().await;
    coordinator.stop().await;
}

#[tokio::test]
async fn more_ids_than_expected_make_a_larger_filter() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let (running, site) = site(config(near.path(), &coordinator.url)).await;
    // Otherwise it might send something between a batch and the filter that grows with it.
    eventually("the first round", async || {
        site.status().coordinator.is_some_and(|own| own.connected)
    })
    .await;
    let mut all = Vec::new();
    for batch in 0..5 {
        let names: Vec<String> = (0..60).map(|n| format!("doc {batch} {n}")).collect();
        let events = names
            .iter()
            .map(|name| derived(&[], name))
            .map(|event| Event {
                kind: bloomgrove_client::api::EventKind::Created,
                ..event
            });
        site.record(events.collect()).await.unwrap();
        all.extend(names);
        site.publish().await.unwrap();
        let set = &site.status().sets[0];
        assert!(set.bits > set.ids * 14, "{set:?}");
    }
    assert!(
        missing(&coordinator.client(), "galway", &all)
            .await
            .is_empty()
    );
    let (whole, deltas) = counts(&site.status());
    assert_eq!(whole + deltas, 5);
    assert!(whole >= 3, "{whole}");
    let strangers: Vec<String> = (0..3000).map(|n| format!("stranger {n}")).collect();
    let named = 3000
        - missing(&coordinator.client(), "galway", &strangers)
            .await
            .len();
    assert!(named < 30, "{named}");
    running.stop().await;
    coordinator.stop().await;
}

#[tokio::test]
async fn the_last_ids_go_out_when_the_site_stops_and_no_coordinator_keeps_it() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let config = config(near.path(), &coordinator.url);
    let (running, handle) = site(config.clone()).await;
    eventually("the first round", async || {
        handle.status().coordinator.is_some_and(|own| own.connected)
    })
    .await;
    handle.record(vec![derived(&["a"], "b")]).await.unwrap();
    running.stop().await;
    assert!(
        missing(&coordinator.client(), "galway", &strings(&["a", "b"]))
            .await
            .is_empty()
    );
    coordinator.stop().await;

    let began = std::time::Instant::now();
    let (running, handle) = site(config).await;
    handle.record(vec![derived(&["b"], "c")]).await.unwrap();
    assert!(handle.publish().await.is_err());
    let status = handle.status().coordinator.unwrap();
    assert!(!status.connected && status.problem.is_some());
    running.stop().await;
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// It accepts connections, and that is all.
#[tokio::test]
async fn a_coordinator_that_says_nothing_keeps_no_site_from_stopping() {
    let near = tempfile::tempdir().unwrap();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (running, handle) = site(config(near.path(), &url)).await;
    handle.record(vec![derived(&["a"], "b")]).await.unwrap();
    let _connection = silent.accept().await.unwrap();
    let began = std::time::Instant::now();
    running.stop().await;
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn with_a_secret_only_encrypted_ids_are_published_and_a_new_secret_replaces_them() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let client = coordinator.client();
    let cipher = IdCipher::new(&IdCipher::new_secret().unwrap()).unwrap();
    let plain = config(near.path(), &coordinator.url);
    let encrypted = SiteConfig {
        cipher: Some(cipher.clone()),
        ..plain.clone()
    };
    let (ids, secret) = (
        strings(&["a", "b"]),
        [cipher.encrypt("a"), cipher.encrypt("b")],
    );

    let (running, site) = site(plain).await;
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    assert!(missing(&client, "galway", &ids).await.is_empty());
    running.stop().await;

    let (running, site) = self::site(encrypted).await;
    assert!(site.status().encrypts_ids);
    site.publish().await.unwrap();
    assert!(missing(&client, "galway", &secret).await.is_empty());
    assert_eq!(missing(&client, "galway", &ids).await, ids);
    running.stop().await;
    coordinator.stop().await;
}

#[tokio::test]
async fn windows_have_sets_of_their_own_that_go_by_themselves() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let hour = Duration::from_secs(3600);
    let config = SiteConfig {
        window: Some(Window {
            length: hour,
            keep: 2 * hour,
        }),
        ..config(near.path(), &coordinator.url)
    };
    let (running, site) = site(config.clone()).await;
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    let client = coordinator.client();
    let name = site.status().sets[0].name.clone();
    assert!(
        name.starts_with("galway/ids/20") && name.contains('T'),
        "{name}"
    );
    let set = client.set(&name).await.unwrap();
    let left = set.expires.unwrap() - set.created;
    assert!((7200..=10_800).contains(&left), "{left}");
    // A delta does not remove its expiry.
    site.record(vec![derived(&["b"], "c")]).await.unwrap();
    site.publish().await.unwrap();
    assert_eq!(counts(&site.status()).1, 1);
    assert!(client.set(&name).await.unwrap().expires.is_some());
    running.stop().await;
    // With other windows, or without: what is obsolete is removed immediately.
    let config = SiteConfig {
        window: None,
        ..config
    };
    let (running, site) = self::site(config).await;
    site.publish().await.unwrap();
    assert_eq!(site.status().sets[0].name, "galway/ids/all");
    assert!(client.set(&name).await.is_err());
    let ids = strings(&["a", "b", "c"]);
    assert!(missing(&client, "galway", &ids).await.is_empty());
    running.stop().await;
    coordinator.stop().await;
}

/// The second of two sites with one name sends nothing: it would replace what the first has sent.
#[tokio::test]
async fn two_sites_of_one_name_do_not_replace_each_other() {
    let far = tempfile::tempdir().unwrap();
    let (near, also) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let coordinator = coordinator(far.path(), 0).await;
    let client = coordinator.client();
    let (first, one) = site(config(near.path(), &coordinator.url)).await;
    one.record(vec![derived(&["a"], "b")]).await.unwrap();
    one.publish().await.unwrap();
    let (second, two) = site(config(also.path(), &coordinator.url)).await;
    two.record(vec![derived(&["x"], "y")]).await.unwrap();
    for _ in 0..3 {
        let refused = two.publish().await.unwrap_err();
        assert!(refused.detail.contains("is online"), "{refused}");
        one.publish().await.unwrap();
    }
    assert_eq!(
        (counts(&one.status()), counts(&two.status())),
        ((1, 0), (0, 0))
    );
    let problem = two.status().coordinator.unwrap().problem.unwrap();
    assert!(problem.contains("another site named galway"), "{problem}");
    assert!(
        missing(&client, "galway", &strings(&["a", "b"]))
            .await
            .is_empty()
    );
    // A site that comes back elsewhere with its data directory is the same.
    first.crash().await;
    drop(one);
    let mut again = None;
    for _ in 0..500 {
        match bloomgrove_site::Site::bind(config(near.path(), &coordinator.url)).await {
            Ok(bound) => {
                again = Some(bound.handle());
                break;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    again.unwrap().publish().await.unwrap();
    // Once it is removed from the coordinator, another site may take its name.
    client.remove_site("galway").await.unwrap();
    two.publish().await.unwrap();
    assert!(
        missing(&client, "galway", &strings(&["x", "y"]))
            .await
            .is_empty()
    );
    second.stop().await;
    coordinator.stop().await;
}

/// Versions of one coordinator say nothing of another, also when they are the same by chance.
#[tokio::test]
async fn a_coordinator_that_was_swapped_and_back_gets_everything() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let near = tempfile::tempdir().unwrap();
    let there = coordinator(one.path(), 0).await;
    let port: u16 = there.url.rsplit(':').next().unwrap().parse().unwrap();
    let (running, site) = site(config(near.path(), &there.url)).await;
    let (set, ids) = ("galway/ids/all", strings(&["a", "b", "c"]));
    site.record(vec![derived(&["a"], "b")]).await.unwrap();
    site.publish().await.unwrap();
    let version = there.client().set(set).await.unwrap().version;
    there.stop().await;

    let there = coordinator(two.path(), port).await;
    site.record(vec![derived(&["b"], "c")]).await.unwrap();
    site.publish().await.unwrap();
    assert!(missing(&there.client(), "galway", &ids).await.is_empty());
    assert_eq!(there.client().set(set).await.unwrap().version, version);
    there.stop().await;

    let there = coordinator(one.path(), port).await;
    assert_eq!(missing(&there.client(), "galway", &ids).await, ["c"]);
    site.publish().await.unwrap();
    assert!(missing(&there.client(), "galway", &ids).await.is_empty());
    running.stop().await;
    there.stop().await;
}
