//! TLS, and new certificates.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bloomgrove_http::config::{Limits, TlsFiles};
use bloomgrove_http::tls::Tls;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsConnector;

use crate::support::{Running, Wanted, closes, read_answer, start};

/// Writes a new certificate and its key.
fn renew(directory: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles {
        cert: directory.join("cert.pem"),
        key: directory.join("key.pem"),
    };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (files, made.cert.der().clone())
}

/// Sends a request over TLS, trusting only this certificate.
async fn ask(server: &Running, trusted: &CertificateDer<'static>) -> Result<u16, String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(name, server.connect().await).await;
    let mut stream = stream.map_err(|error| error.to_string())?;
    let request = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    Ok(read_answer(&mut stream).await.unwrap().status)
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (files, first) = renew(directory.path());
    let tls = Tls::load(&files).unwrap();
    let fresh = tokio::spawn(tls.clone().keep_fresh(Duration::from_millis(50)));
    let server = start(Wanted {
        tls: Some(tls),
        ..Wanted::default()
    })
    .await;
    assert_eq!(ask(&server, &first).await, Ok(200));

    // An invalid one changes nothing.
    std::fs::write(&files.cert, "not a certificate").unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(ask(&server, &first).await, Ok(200));

    let (_, second) = renew(directory.path());
    let start = Instant::now();
    while ask(&server, &second).await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(15));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(ask(&server, &first).await.is_err(), "the first is gone");
    fresh.abort();
}

#[tokio::test]
async fn a_handshake_that_does_not_come_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let (files, trusted) = renew(directory.path());
    let server = start(Wanted {
        tls: Some(Tls::load(&files).unwrap()),
        limits: Limits {
            header_time: Duration::from_millis(300),
            ..Limits::default()
        },
        ..Wanted::default()
    })
    .await;
    let mut silent = server.connect().await;
    let mut plain = server.connect().await;
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let start = Instant::now();
    assert!(closes(&mut silent).await);
    assert!(start.elapsed() < Duration::from_secs(15));
    // Reported by a TLS alert, or just closed; either way the others continue.
    drop(plain);
    assert_eq!(ask(&server, &trusted).await, Ok(200));
}

/// What is logged while something runs on this thread.
fn logged(work: impl FnOnce()) -> String {
    use std::io;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone());
    tracing::subscriber::with_default(subscriber.finish(), work);
    let bytes = lines.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_warned_about() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let (files, _) = renew(directory.path());
    let allow = |mode: u32| set_permissions(&files.key, Permissions::from_mode(mode)).unwrap();
    for (mode, open) in [(0o600, false), (0o400, false), (0o640, true), (0o644, true)] {
        allow(mode);
        let said = logged(|| drop(Tls::load(&files).unwrap()));
        assert_eq!(said.contains("WARN"), open, "{mode:o}: {said}");
        assert_eq!(said.contains("chmod 600"), open, "{mode:o}: {said}");
    }
    // Also when it is replaced.
    let tls = Tls::load(&files).unwrap();
    renew(directory.path());
    allow(0o644);
    let said = logged(|| assert_eq!(tls.reload(), Ok(true)));
    assert!(
        said.contains("key.pem is accessible to other users"),
        "{said}"
    );
    assert_eq!(logged(|| assert_eq!(tls.reload(), Ok(false))), "");
}
