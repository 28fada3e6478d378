//! Access keys, and what they permit.
//!
//! ```text
//! admin   everything
//! write   query everything; change sets whose names start with the key's prefix
//! read    query everything
//! ```
//!
//! The server stores the SHA-256 of each key, never the key. Keys are random (32 bytes, see
//! [`new_key`]), so a plain hash is enough: a dictionary attack is hopeless. All entries are
//! compared in constant time, so the response time reveals nothing about how close a guess was.
//!
//! A server without access keys permits everything; it listens on loopback only ([`check`]).

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bloomgrove_client::api::Code;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::Error;

/// What an access key permits; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Query.
    Read,
    /// Query, and change sets whose names start with the key's prefix.
    Write,
    /// Everything.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        })
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "admin" => Ok(Self::Admin),
            other => Err(format!("unknown role {other:?}; use read, write or admin")),
        }
    }
}

/// One access key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// The name of the key, for the log.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The SHA-256 of the key, in 64 hexadecimal digits.
    pub sha256: String,
    /// For a write key: the prefix of the names that it may change.
    #[serde(default)]
    pub prefix: String,
}

impl KeyEntry {
    /// An access key, given by its hash.
    #[must_use]
    pub fn new(name: &str, role: Role, sha256: String, prefix: &str) -> Self {
        Self {
            name: name.into(),
            role,
            sha256,
            prefix: prefix.into(),
        }
    }

    /// The entry in a configuration file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!("[[keys]]\nname = {}\n", quoted(&self.name));
        text.push_str(&format!("role = \"{}\"\n", self.role));
        if !self.prefix.is_empty() {
            text.push_str(&format!("prefix = {}\n", quoted(&self.prefix)));
        }
        text.push_str(&format!("sha256 = \"{}\"\n", self.sha256));
        text
    }
}

impl std::str::FromStr for KeyEntry {
    type Err = String;

    /// `NAME:ROLE:SHA256[:PREFIX]`, as on the command line.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(4, ':');
        let (Some(name), Some(role), Some(sha256)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err("write a key as NAME:ROLE:SHA256 or NAME:write:SHA256:PREFIX".into());
        };
        let prefix = parts.next().unwrap_or_default();
        Ok(Self::new(name, role.parse()?, sha256.into(), prefix))
    }
}

/// A new access key: `bg_` and 32 random bytes.
///
/// # Errors
///
/// If the system cannot provide random bytes.
pub fn new_key() -> Result<String, String> {
    let mut bytes = [0; 32];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| "the system cannot provide random bytes")?;
    Ok(format!("bg_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// What is stored of an access key: its SHA-256 in hexadecimal.
#[must_use]
pub fn hash_of(key: &str) -> String {
    let digits = Sha256::digest(key.as_bytes());
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All access keys that the server knows.
#[derive(Debug)]
pub struct Access {
    keys: Vec<([u8; 32], Caller)>,
}

impl Access {
    /// No access keys: every client may do everything.
    #[must_use]
    pub fn open() -> Self {
        Self { keys: Vec::new() }
    }

    /// These access keys; without any, the same as [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// Which entry is invalid, and why.
    pub fn new(entries: &[KeyEntry]) -> Result<Self, String> {
        let mut keys: Vec<([u8; 32], Caller)> = Vec::with_capacity(entries.len());
        for entry in entries {
            let KeyEntry { name, role, .. } = entry;
            let wrong = |what: String| Err(format!("key {name:?}: {what}"));
            if name.is_empty() {
                return wrong("an access key needs a name, which identifies it in the log".into());
            }
            let Some(hash) = digest(&entry.sha256) else {
                return wrong(
                    "`sha256` must be 64 hexadecimal digits; `bloomgrove serve key` creates a key \
                     and prints its entry"
                        .into(),
                );
            };
            if *role != Role::Write && !entry.prefix.is_empty() {
                return wrong(format!(
                    "a prefix restricts what may be changed, so it is for write keys only; this key has \
                     the role {role}"
                ));
            }
            for (other, caller) in &keys {
                if caller.name() == name {
                    return wrong("another key has the same name".into());
                }
                if *other == hash {
                    return wrong(format!(
                        "it has the same hash as the key {:?}",
                        caller.name()
                    ));
                }
            }
            let caller = Caller {
                name: name.as_str().into(),
                role: *role,
                prefix: entry.prefix.as_str().into(),
            };
            keys.push((hash, caller));
        }
        Ok(Self { keys })
    }

    /// Whether every client may do everything.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// The caller that an access key belongs to.
    ///
    /// # Errors
    ///
    /// If access keys are required and this is not one of them.
    pub fn who(&self, key: Option<&str>) -> Result<Caller, Error> {
        if self.is_open() {
            return Ok(Caller::anonymous());
        }
        let hash: [u8; 32] = Sha256::digest(key.ok_or_else(no_key)?.as_bytes()).into();
        let mut found = u64::MAX;
        // All of them, even after a match.
        for (place, (known, _)) in (0u64..).zip(&self.keys) {
            let same: Choice = known.ct_eq(&hash);
            found.conditional_assign(&place, same);
        }
        let found = usize::try_from(found).ok();
        found
            .and_then(|place| self.keys.get(place))
            .map(|(_, caller)| caller.clone())
            .ok_or_else(unknown_key)
    }
}

/// Checks that a server with these access keys may listen there: without any, only on this machine.
///
/// # Errors
///
/// What is wrong, and what to do about it; `could` is what every client could do, `role` the role needed for it.
pub fn check(
    listen: &[SocketAddr],
    keys: &[KeyEntry],
    could: &str,
    role: Role,
) -> Result<(), String> {
    let access = Access::new(keys)?;
    if listen.is_empty() {
        return Err("`listen` is empty; give at least one address".into());
    }
    match listen.iter().find(|addr| !addr.ip().is_loopback()) {
        Some(addr) if access.is_open() => Err(format!(
            "refusing to listen on {addr} without access keys: anyone who can reach it could {could}. Create a \
             key with `bloomgrove serve key --role {role}` and add its entry to the configuration, or \
             listen on {}",
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), addr.port())
        )),
        _ => Ok(()),
    }
}

/// Parses 64 hexadecimal digits.
fn digest(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (i, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(hash)
}

/// The caller of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    name: Arc<str>,
    role: Role,
    prefix: Arc<str>,
}

impl Caller {
    /// The caller at a server without access keys.
    #[must_use]
    pub fn anonymous() -> Self {
        static ANONYMOUS: LazyLock<Caller> = LazyLock::new(|| Caller {
            name: "anonymous".into(),
            role: Role::Admin,
            prefix: "".into(),
        });
        ANONYMOUS.clone()
    }

    /// The name of the access key, for the log.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, shared.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// The prefix of the names that it may change; empty for all.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Checks that the caller may query.
    ///
    /// # Errors
    ///
    /// Never: every access key may. Called nevertheless, so that no command forgets to check.
    pub fn may_read(&self) -> Result<(), Error> {
        self.needs(Role::Read)
    }

    /// Checks that the caller may create, change or remove a set with this name.
    ///
    /// # Errors
    ///
    /// If the access key is for reading only, or for other names.
    pub fn may_write(&self, wanted: &str) -> Result<(), Error> {
        self.needs(Role::Write)?;
        if wanted.starts_with(&*self.prefix) {
            Ok(())
        } else {
            let Self { name, prefix, .. } = self;
            let detail = format!(
                "the key {name:?} may only change sets whose names start with {prefix:?}, and \
                 {wanted:?} does not"
            );
            Err(Error::new(Code::Forbidden, detail))
        }
    }

    /// Checks that the caller may manage the server.
    ///
    /// # Errors
    ///
    /// If the access key has another role.
    pub fn may_administer(&self) -> Result<(), Error> {
        self.needs(Role::Admin)
    }

    fn needs(&self, needed: Role) -> Result<(), Error> {
        if self.role >= needed {
            Ok(())
        } else {
            let Self { name, role, .. } = self;
            let detail =
                format!("the key {name:?} has the role {role}; this requires the role {needed}");
            Err(Error::new(Code::Forbidden, detail))
        }
    }
}

/// The request has no access key.
pub(crate) fn no_key() -> Error {
    let detail = "no access key was given; pass one with `Authorization: Bearer KEY`";
    Error::new(Code::Unauthorized, detail)
}

/// The access key is unknown.
pub(crate) fn unknown_key() -> Error {
    let detail = "unknown access key; the operator of this server can create one with \
                  `bloomgrove serve key`";
    Error::new(Code::Unauthorized, detail)
}

#[cfg(test)]
mod tests;
