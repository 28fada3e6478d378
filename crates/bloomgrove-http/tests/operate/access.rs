//! Access keys and foreign pages.

use bloomgrove_client::api::Code;

use crate::support::{Running, Wanted, key, start};

async fn with_keys() -> Running {
    start(Wanted {
        keys: vec![
            key("page", "read", ""),
            key("galway", "write", "site-galway"),
            key("boss", "admin", ""),
        ],
        ..Wanted::default()
    })
    .await
}

#[tokio::test]
async fn without_a_key_only_open_paths_answer() {
    let server = with_keys().await;
    for headers in [&[][..], &["authorization: Basic a2V5"]] {
        let answer = server.ask("GET", "/read", headers).await;
        assert_eq!(answer.status, 401);
        assert_eq!(answer.problem().code, Code::Unauthorized);
        assert!(answer.problem().detail.contains("Authorization: Bearer"));
        assert_eq!(
            answer.header("www-authenticate"),
            Some("Bearer realm=\"bloomgrove\"")
        );
    }
    let wrong = server
        .ask("GET", "/read", &["authorization: Bearer key of nobody"])
        .await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.problem().detail.contains("unknown access key"));
    assert!(!wrong.body.contains("nobody"), "keys are not repeated");
    // Strangers do not learn what does not exist, either.
    assert_eq!(server.get("/no/such/path").await.status, 401);
    assert_eq!(server.get("/metrics").await.status, 401);
    for path in ["/livez", "/readyz"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    // The page is served elsewhere; here it is enough that no access key is required.
    for path in ["/", "/app.js", "/style.css", "/page/server.js"] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_key_allows_what_its_role_and_prefix_say() {
    let server = with_keys().await;
    for (name, method, path, status, word) in [
        ("page", "GET", "/read", 200, "allowed"),
        ("page", "POST", "/write/site-galway-1", 403, "role write"),
        ("page", "POST", "/manage", 403, "role admin"),
        ("galway", "GET", "/read", 200, "allowed"),
        ("galway", "POST", "/write/site-galway-1", 200, "allowed"),
        ("galway", "POST", "/write/site-cork-1", 403, "site-galway"),
        ("galway", "POST", "/manage", 403, "role admin"),
        ("boss", "POST", "/write/site-cork-1", 200, "allowed"),
        ("boss", "POST", "/manage", 200, "allowed"),
    ] {
        let header = format!("authorization: Bearer key of {name}");
        let answer = server.ask(method, path, &[&header]).await;
        assert_eq!(answer.status, status, "{name} {path}: {answer:?}");
        assert!(answer.body.contains(word), "{name} {path}: {answer:?}");
        if status == 403 {
            assert_eq!(answer.problem().code, Code::Forbidden);
        }
    }
    // With access keys, other names and pages are not a danger.
    let headers = [
        "host: filters.example",
        "origin: https://app.example",
        "authorization: Bearer key of page",
    ];
    assert_eq!(server.ask("GET", "/read", &headers).await.status, 200);
}

#[tokio::test]
async fn without_keys_foreign_pages_are_refused() {
    let server = start(Wanted::default()).await;
    let own = format!("host: {}", server.addr);
    let own_page = format!("origin: http://{}", server.addr);
    // An image or a frame on a foreign page: no origin is sent.
    for (site, status) in [("cross-site", 403), ("same-site", 403), ("none", 200)] {
        let answer = server
            .ask("GET", "/read", &[&own, &format!("sec-fetch-site: {site}")])
            .await;
        assert_eq!(answer.status, status, "{site}: {answer:?}");
        assert_eq!(
            answer.header("cross-origin-resource-policy"),
            Some("same-origin")
        );
    }
    for (headers, status) in [
        (&[own.as_str()][..], 200),
        (&[&own, &own_page], 200),
        (&[&own, "authorization: Bearer"], 200),
        (&[&own, "authorization: Basic eDp5"], 200),
        (&[&own, "origin: http://evil.example"], 403),
        (&[&own, "origin: null"], 403),
        (&["host: evil.example"], 403),
        (&["host: 192.168.0.7:7117"], 403),
    ] {
        let answer = server.ask("POST", "/manage", headers).await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
        if status == 403 {
            assert_eq!(answer.problem().code, Code::Forbidden);
            assert!(answer.problem().detail.contains("no access keys"));
        }
    }
}
