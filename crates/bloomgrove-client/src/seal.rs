//! Ids that only the federation can read.
//!
//! A site that keeps its ids to itself lets them out sealed: encrypted under a secret that the sites
//! and those who ask for traces share, and the coordinator does not have. The same id is always
//! sealed the same way (AES-SIV, RFC 5297), so that the coordinator can compare sealed ids, put
//! them into filters and follow them from site to site; it cannot read them, nor find out by
//! trying whether a filter holds an id that it can guess.
//!
//! ```
//! use bloomgrove_client::Seal;
//!
//! let seal = Seal::new(&Seal::new_secret()?)?;
//! let sealed = seal.seal("invoice 4711");
//! assert!(sealed.starts_with("urn:x-bloomgrove:sealed:"));
//! assert_eq!(sealed, seal.seal("invoice 4711"));
//! assert_eq!(seal.open(&sealed)?, "invoice 4711");
//! # Ok::<(), bloomgrove_client::Error>(())
//! ```
//!
//! What still shows: how long an id is, how often each appears, and which sites know the same one.

use std::fmt;

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::Error;

/// How sealed ids begin.
const SEALED: &str = "urn:x-bloomgrove:sealed:";
/// How secrets begin, so that nobody takes one for a key.
const SECRET: &str = "bgs_";

/// Seals and opens ids. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct Seal([u8; 64]);

impl Seal {
    /// The seal of a federation that shares this secret.
    ///
    /// # Errors
    /// [`Error::Invalid`] if this is no secret that [`new_secret`](Self::new_secret) makes.
    pub fn new(secret: &str) -> Result<Self, Error> {
        let bytes = secret.trim().strip_prefix(SECRET);
        let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let key = bytes.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
        key.map(Self).ok_or_else(|| {
            Error::invalid(
                "this is no secret of a federation: it begins with bgs_ and has 90 characters; \
                 `bloomgrove site secret` makes one",
            )
        })
    }

    /// A new secret: `bgs_` and 64 random bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the system gives no random bytes.
    pub fn new_secret() -> Result<String, Error> {
        let mut bytes = [0; 64];
        rustls::crypto::ring::default_provider()
            .secure_random
            .fill(&mut bytes)
            .map_err(|_| Error::invalid("the system gives no random bytes"))?;
        Ok(format!("{SECRET}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The id as it leaves a site.
    #[must_use]
    pub fn seal(&self, id: &str) -> String {
        let headers: [&[u8]; 0] = [];
        let sealed = Aes256Siv::new(&self.0.into()).encrypt(headers, id.as_bytes());
        // It fails only for more headers than there are, or texts beyond all memory.
        let sealed = sealed.unwrap_or_default();
        format!("{SEALED}{}", URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The id that was sealed.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it was not sealed under this secret.
    pub fn open(&self, sealed: &str) -> Result<String, Error> {
        let bytes = sealed.strip_prefix(SEALED);
        let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let headers: [&[u8]; 0] = [];
        let open = |bytes: Vec<u8>| Aes256Siv::new(&self.0.into()).decrypt(headers, &bytes).ok();
        let id = bytes.and_then(open);
        let id = id.and_then(|bytes| String::from_utf8(bytes).ok());
        id.ok_or_else(|| {
            Error::invalid("an id that was sealed under another secret, or not at all")
        })
    }

    /// Whether an id looks sealed.
    #[must_use]
    pub fn is_sealed(id: &str) -> bool {
        id.starts_with(SEALED)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_under_the_same_secret_only() {
        let secrets = [Seal::new_secret().unwrap(), Seal::new_secret().unwrap()];
        let [one, other] = secrets.map(|secret| Seal::new(&secret).unwrap());
        for id in [
            "",
            "a",
            "urn:uuid:1",
            "göl 100% \u{1f600}\n",
            &"x".repeat(2048),
        ] {
            let sealed = one.seal(id);
            assert_eq!(one.open(&sealed).unwrap(), id);
            assert!(other.open(&sealed).is_err());
            assert_ne!(sealed, other.seal(id));
            assert!(sealed.len() <= crate::api::LONGEST_SEALED_ID);
            // One bit off is another id, and none that was sealed.
            let last = sealed.len() - 2;
            let mut damaged = sealed.into_bytes();
            damaged[last] = if damaged[last] == b'A' { b'B' } else { b'A' };
            assert!(one.open(std::str::from_utf8(&damaged).unwrap()).is_err());
        }
        assert!(one.open("plain").is_err());
        assert!(one.open("urn:x-bloomgrove:sealed:").is_err());
        assert_eq!(format!("{one:?}"), "Seal");
    }

    /// The last stays what it is on every machine: sites of all versions must agree.
    #[test]
    fn a_secret_is_checked_and_means_the_same_everywhere() {
        for wrong in ["", "bgs_", "bg_abc", "bgs_AAAA", "secret"] {
            assert!(Seal::new(wrong).is_err(), "{wrong}");
        }
        let seal = Seal::new(&format!("bgs_{}", "A".repeat(86))).unwrap();
        assert_eq!(
            seal.seal("doc"),
            "urn:x-bloomgrove:sealed:efgc9rDrgqa4uY8btkxvEYt1lg"
        );
    }
}
