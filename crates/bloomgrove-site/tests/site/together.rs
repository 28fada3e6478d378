//! Sites, a coordinator, and a trace across them.

use std::time::Duration;

use bloomgrove_client::IdCipher;
use bloomgrove_client::api::{Event, EventKind, TraceQuery};
use bloomgrove_http::access::{KeyEntry, Role, hash_of};
use bloomgrove_site::SiteConfig;

use crate::support::*;

/// A document is made in Galway, sent to Pune and bundled there: the trace finds all of it, and goes
/// to no site that has no part in it. Both sites are online as long as they run.
#[tokio::test]
async fn a_trace_goes_where_the_document_went() {
    trace(None, Vec::new()).await;
}

/// The same with sites that want keys, one of which the coordinator gets from them, and that keep
/// their ids to themselves.
#[tokio::test]
async fn a_coordinator_that_knows_only_encrypted_ids_finds_the_same() {
    let cipher = IdCipher::new(&IdCipher::new_secret().unwrap()).unwrap();
    let entry = KeyEntry::new("people", Role::Write, hash_of("people"), "");
    trace(Some(cipher), vec![entry]).await;
}

async fn trace(cipher: Option<IdCipher>, keys: Vec<KeyEntry>) {
    let say = |id: &str| {
        cipher
            .as_ref()
            .map_or(id.to_owned(), |cipher| cipher.encrypt(id))
    };
    let far = tempfile::tempdir().unwrap();
    let coordinator = coordinator(far.path(), 0).await;
    let mut sites = Vec::new();
    for name in ["galway", "pune", "quito"] {
        let near = tempfile::tempdir().unwrap();
        let config = SiteConfig {
            name: name.into(),
            period: Duration::from_secs(1),
            cipher: cipher.clone(),
            keys: keys.clone(),
            ..config(near.path(), &coordinator.url)
        };
        let (running, handle) = site(config).await;
        sites.push((running, handle, near));
    }
    let moved = |kind, peer: &str| Event {
        kind,
        inputs: vec!["report".into()],
        peer: Some(peer.into()),
        ..Event::default()
    };
    let galway = vec![
        derived(&["draft"], "report"),
        moved(EventKind::Sent, "pune"),
    ];
    let pune = vec![
        moved(EventKind::Received, "galway"),
        derived(&["report"], "bundle"),
    ];
    sites[0].1.record(galway).await.unwrap();
    sites[1].1.record(pune).await.unwrap();
    sites[2].1.record(vec![derived(&["x"], "y")]).await.unwrap();
    for (_, handle, _) in &sites {
        handle.publish().await.unwrap();
    }
    let client = coordinator.client();
    let known = client.sites().await.unwrap().sites;
    let names: Vec<_> = known.iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names, ["galway", "pune", "quito"]);
    assert!(
        known
            .iter()
            .all(|site| site.online && site.pending == 0 && site.sets == 1)
    );

    let question = TraceQuery {
        ids: vec![say("bundle")],
        ..TraceQuery::default()
    };
    let trace = client.trace(&question).await.unwrap();
    assert!(trace.complete, "{:?}", trace.missing);
    let ids: Vec<_> = trace
        .nodes
        .iter()
        .map(|node| node.node.id.as_str())
        .collect();
    for id in [
        "bundle",
        "report",
        "draft",
        "urn:event:report",
        "urn:event:bundle",
    ] {
        assert!(ids.contains(&say(id).as_str()), "{id} in {ids:?}");
    }
    let asked: Vec<_> = trace.sites.iter().map(|site| site.name.as_str()).collect();
    assert_eq!(asked, ["galway", "pune"]);
    for (running, _, _) in sites {
        running.stop().await;
    }
    coordinator.stop().await;
}
