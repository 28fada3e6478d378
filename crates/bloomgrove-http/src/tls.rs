//! TLS, with certificates that can change while the server runs.
//!
//! The files are checked every few seconds and on SIGHUP. If they have changed, new connections use the new
//! certificate, and existing ones keep the old one. If a new file is invalid, the error is logged and the old
//! certificate stays in use.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;
use crate::private;

/// How often the files are checked.
pub const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The certificate in use; clones share it.
#[derive(Clone)]
pub struct Tls {
    files: TlsFiles,
    current: Arc<ArcSwap<Loaded>>,
}

/// The contents of the files when they were last valid.
struct Loaded {
    config: Arc<ServerConfig>,
    digest: [u8; 32],
}

/// The contents of both files.
struct Pems {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// Loads the certificate from these files.
    ///
    /// # Errors
    ///
    /// Which file is invalid, and why.
    pub fn load(files: &TlsFiles) -> Result<Self, String> {
        let pems = Pems::read(files)?;
        private::warn_if_open(&[&files.key]);
        let loaded = Loaded {
            config: pems.config(files)?,
            digest: pems.digest(),
        };
        Ok(Self {
            files: files.clone(),
            current: Arc::new(ArcSwap::from_pointee(loaded)),
        })
    }

    /// For the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load().config.clone())
    }

    /// Loads the certificate again if the files have changed.
    ///
    /// # Errors
    ///
    /// Which file is invalid, and why; the old certificate stays in use.
    pub fn reload(&self) -> Result<bool, String> {
        let pems = Pems::read(&self.files)?;
        let digest = pems.digest();
        if digest == self.current.load().digest {
            return Ok(false);
        }
        let config = pems.config(&self.files)?;
        private::warn_if_open(&[&self.files.key]);
        self.current.store(Arc::new(Loaded { config, digest }));
        Ok(true)
    }

    /// Reloads the certificate whenever the files change. Never returns: run it alongside the server, and abort
    /// it with the server. Pass [`LOOK_EVERY`].
    pub async fn keep_fresh(self, every: Duration) {
        let mut hangups = match signal(SignalKind::hangup()) {
            Ok(hangups) => Some(hangups),
            Err(error) => {
                tracing::warn!(%error, "cannot receive SIGHUP; certificates are still checked periodically");
                None
            }
        };
        // Log the same error once, not every few seconds.
        let mut last = String::new();
        loop {
            let hangup = async {
                match &mut hangups {
                    Some(hangups) => hangups.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(every) => (),
                _ = hangup => last.clear(),
            }
            let tls = self.clone();
            // Reading may block.
            let reloaded = tokio::task::spawn_blocking(move || tls.reload()).await;
            match reloaded {
                Ok(Ok(true)) => {
                    last.clear();
                    tracing::info!(cert = %self.files.cert.display(), "certificate reloaded");
                }
                Ok(Ok(false)) => last.clear(),
                Ok(Err(error)) if error != last => {
                    tracing::warn!(%error, "the new certificate is invalid; keeping the old one");
                    last = error;
                }
                Ok(Err(_)) | Err(_) => (),
            }
        }
    }
}

impl Pems {
    fn read(files: &TlsFiles) -> Result<Self, String> {
        let read =
            |what: &str, path: &Path| std::fs::read(path).map_err(|error| wrong(what, path, error));
        Ok(Self {
            cert: read("certificate", &files.cert)?,
            key: read("key", &files.key)?,
        })
    }

    fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update((self.cert.len() as u64).to_le_bytes());
        hash.update(&self.cert);
        hash.update(&self.key);
        hash.finalize().into()
    }

    fn config(&self, files: &TlsFiles) -> Result<Arc<ServerConfig>, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.cert).collect();
        let chain = chain.map_err(|error| wrong("certificate", &files.cert, error))?;
        if chain.is_empty() {
            let what = "it contains no certificate in PEM format";
            return Err(wrong("certificate", &files.cert, what));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| match error {
            pem::Error::NoItemsFound => {
                let what = "it contains no unencrypted private key in PEM format";
                wrong("key", &files.key, what)
            }
            error => wrong("key", &files.key, error),
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| {
                let with = format!("with the key {}: {error}", files.key.display());
                wrong("certificate", &files.cert, with)
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn wrong(what: &str, path: &Path, why: impl Display) -> String {
    format!("TLS {what} {}: {why}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn bad_files_are_named_and_the_old_certificate_stays() {
        let directory = tempfile::tempdir().unwrap();
        let files = TlsFiles {
            cert: directory.path().join("cert.pem"),
            key: directory.path().join("key.pem"),
        };
        let error = |tls: Result<Tls, String>| tls.err().unwrap();
        assert!(error(Tls::load(&files)).contains("cert.pem"));
        let (cert, key) = fresh();
        std::fs::write(&files.cert, &cert).unwrap();
        std::fs::write(&files.key, "nothing").unwrap();
        let no_key = error(Tls::load(&files));
        assert!(no_key.contains("key.pem") && no_key.contains("no unencrypted private key"));
        std::fs::write(&files.key, &key).unwrap();
        let tls = Tls::load(&files).unwrap();
        assert_eq!(tls.reload(), Ok(false));

        let before = tls.current.load().digest;
        let (other_cert, other_key) = fresh();
        std::fs::write(&files.cert, &other_cert).unwrap();
        let mismatch = tls.reload().unwrap_err();
        assert!(mismatch.contains("cert.pem"), "{mismatch}");
        std::fs::write(&files.cert, "-----BEGIN CERTIFICATE-----\n").unwrap();
        assert!(tls.reload().unwrap_err().contains("cert.pem"));
        std::fs::write(&files.cert, "").unwrap();
        assert!(tls.reload().unwrap_err().contains("no certificate"));
        assert_eq!(tls.current.load().digest, before);

        std::fs::write(&files.cert, other_cert).unwrap();
        std::fs::write(&files.key, other_key).unwrap();
        assert_eq!(tls.reload(), Ok(true));
        assert_ne!(tls.current.load().digest, before);
    }
}
