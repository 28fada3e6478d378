//! Sites with TLS: trusted through the configured authority, and not otherwise.

use bloomgrove_client::api::TraceQuery;
use bloomgrove_http::config::TlsFiles;
use bloomgrove_server::{Config, Server};

use crate::fake::{publish, register};
use crate::support::Running;

#[tokio::test(flavor = "multi_thread")]
async fn sites_are_trusted_by_their_authority() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles {
        cert: directory.path().join("cert.pem"),
        key: directory.path().join("key.pem"),
    };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    // Not a site, but it has TLS, and rejects requests like a site would.
    let config = Config {
        data: directory.path().join("data"),
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        tls: Some(files.clone()),
        ..Config::default()
    };
    let site = Server::bind(config).await.unwrap();
    let url = format!("https://localhost:{}", site.addresses()[0].port());
    let (stop, site) = (site.stopper(), tokio::spawn(site.run()));

    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other_file = directory.path().join("other.pem");
    std::fs::write(&other_file, other.cert.pem()).unwrap();
    for (ca, why) in [
        (files.cert.clone(), "it refused: no such path"),
        (other_file, "its certificate is not trusted"),
    ] {
        let running = Running::start_with(|config| config.sites.ca = Some(ca)).await;
        register(&running.client, "secure", &url, "k").await;
        publish(&running.client, "secure", &["a"], 1000).await;
        let request = TraceQuery {
            ids: vec!["a".into()],
            ..TraceQuery::default()
        };
        let trace = running.client.trace(&request).await.unwrap();
        let told = &trace.missing[0].why;
        assert!(told.starts_with(why), "{told}");
        running.stop().await;
    }
    stop.send_replace(true);
    site.await.unwrap().unwrap();

    let config = Config {
        data: directory.path().join("more"),
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        ..Config::default()
    };
    for file in ["no/such.pem", "key.pem"] {
        let mut config = config.clone();
        config.sites.ca = Some(directory.path().join(file));
        let error = Server::bind(config).await.err().unwrap();
        let error = format!("{error:#}");
        assert!(
            error.contains(file) && error.contains("authority"),
            "{error}"
        );
    }
}
