//! Encrypted document ids, which only the members of the federation can read.
//!
//! A site that hides its ids from the coordinator encrypts them under a secret that the sites and those who
//! trace share, and that the coordinator does not have. The same id is always encrypted in the same way
//! (AES-SIV, RFC 5297), so that the coordinator can compare encrypted ids, insert them into filters and
//! follow them from site to site. It cannot read them, nor find out whether a filter contains an id that it
//! has guessed.
//!
//! ```
//! use bloomgrove_client::IdCipher;
//!
//! let cipher = IdCipher::new(&IdCipher::new_secret()?)?;
//! let encrypted = cipher.encrypt("invoice 4711");
//! assert!(encrypted.starts_with("urn:x-bloomgrove:encrypted:"));
//! assert_eq!(encrypted, cipher.encrypt("invoice 4711"));
//! assert_eq!(cipher.decrypt(&encrypted)?, "invoice 4711");
//! # Ok::<(), bloomgrove_client::Error>(())
//! ```
//!
//! What is still visible: the length of an id, how often it occurs, and which sites know the same id.

use std::fmt;

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::Error;

/// The prefix of encrypted ids.
const PREFIX: &str = "urn:x-bloomgrove:encrypted:";
/// The prefix of secrets, so that they are not mistaken for access keys.
const SECRET: &str = "bgs_";

/// Encrypts and decrypts ids. Its `Debug` output does not show the secret.
#[derive(Clone)]
pub struct IdCipher([u8; 64]);

impl IdCipher {
    /// The cipher of a federation that shares this secret.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it was not made by [`new_secret`](Self::new_secret).
    pub fn new(secret: &str) -> Result<Self, Error> {
        let bytes = secret.trim().strip_prefix(SECRET);
        let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let key = bytes.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
        key.map(Self).ok_or_else(|| {
            Error::invalid(
                "not the secret of a federation, which has 90 characters and starts with bgs_; \
                 create one with `bloomgrove site secret`",
            )
        })
    }

    /// A new secret: `bgs_` and 64 random bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the system cannot provide random bytes.
    pub fn new_secret() -> Result<String, Error> {
        let mut bytes = [0; 64];
        rustls::crypto::ring::default_provider()
            .secure_random
            .fill(&mut bytes)
            .map_err(|_| Error::invalid("the system cannot provide random bytes"))?;
        Ok(format!("{SECRET}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Encrypts an id.
    #[must_use]
    pub fn encrypt(&self, id: &str) -> String {
        let headers: [&[u8]; 0] = [];
        let encrypted = Aes256Siv::new(&self.0.into()).encrypt(headers, id.as_bytes());
        // Fails only with more headers than there are here, or for texts larger than memory.
        let encrypted = encrypted.unwrap_or_default();
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(encrypted))
    }

    /// Decrypts an id.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it was not encrypted under this secret.
    pub fn decrypt(&self, encrypted: &str) -> Result<String, Error> {
        let bytes = encrypted.strip_prefix(PREFIX);
        let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let headers: [&[u8]; 0] = [];
        let decrypt = |bytes: Vec<u8>| Aes256Siv::new(&self.0.into()).decrypt(headers, &bytes).ok();
        let id = bytes.and_then(decrypt);
        let id = id.and_then(|bytes| String::from_utf8(bytes).ok());
        id.ok_or_else(|| {
            Error::invalid("the id is not encrypted, or was encrypted under another secret")
        })
    }

    /// Whether an id looks encrypted.
    #[must_use]
    pub fn is_encrypted(id: &str) -> bool {
        id.starts_with(PREFIX)
    }
}

impl fmt::Debug for IdCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdCipher")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encrypted_ids_are_decrypted_only_under_the_same_secret() {
        let secrets = [
            IdCipher::new_secret().unwrap(),
            IdCipher::new_secret().unwrap(),
        ];
        let [one, other] = secrets.map(|secret| IdCipher::new(&secret).unwrap());
        for id in [
            "",
            "a",
            "urn:uuid:1",
            "göl 100% \u{1f600}\n",
            &"x".repeat(2048),
        ] {
            let encrypted = one.encrypt(id);
            assert_eq!(one.decrypt(&encrypted).unwrap(), id);
            assert!(other.decrypt(&encrypted).is_err());
            assert_ne!(encrypted, other.encrypt(id));
            assert!(encrypted.len() <= crate::api::LONGEST_ENCRYPTED_ID);
            // With one bit changed it is not a valid encrypted id.
            let last = encrypted.len() - 2;
            let mut damaged = encrypted.into_bytes();
            damaged[last] = if damaged[last] == b'A' { b'B' } else { b'A' };
            assert!(one.decrypt(std::str::from_utf8(&damaged).unwrap()).is_err());
        }
        assert!(one.decrypt("plain").is_err());
        assert!(one.decrypt("urn:x-bloomgrove:encrypted:").is_err());
        assert_eq!(format!("{one:?}"), "IdCipher");
    }

    /// The encrypted id must be the same on every machine and in every version, so that sites agree.
    #[test]
    fn a_secret_is_checked_and_means_the_same_everywhere() {
        for wrong in ["", "bgs_", "bg_abc", "bgs_AAAA", "secret"] {
            assert!(IdCipher::new(wrong).is_err(), "{wrong}");
        }
        let cipher = IdCipher::new(&format!("bgs_{}", "A".repeat(86))).unwrap();
        assert_eq!(
            cipher.encrypt("doc"),
            "urn:x-bloomgrove:encrypted:efgc9rDrgqa4uY8btkxvEYt1lg"
        );
    }
}
