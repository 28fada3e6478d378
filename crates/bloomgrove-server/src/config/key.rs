//! The access keys of the configuration, and the quotas of their prefixes.

use std::fmt;
use std::str::FromStr;

use bloomgrove_http::access::{KeyEntry, Role};
use bloomgrove_units as units;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::coordinator::Quota;

/// Different parameters of sets below a prefix, unless configured.
const KINDS: usize = 64;

/// One access key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Table")]
pub struct Key {
    /// Its name, role, hash and prefix.
    pub entry: KeyEntry,
    /// For a key with a prefix: the maximum number of sets below it. Unlimited unless
    /// set.
    pub sets: Option<u64>,
    /// For a key with a prefix: the memory that these sets may take, in bytes. Half of the memory limit unless
    /// set.
    pub memory: Option<u64>,
    /// For a key with a prefix: how many different parameters they may have; 64 unless set.
    pub kinds: Option<usize>,
}

/// An entry in the file: flattened by hand, since serde would lose the line of an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    role: Role,
    sha256: String,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    sets: Option<u64>,
    #[serde(default, deserialize_with = "bytes")]
    memory: Option<u64>,
    #[serde(default)]
    kinds: Option<usize>,
}

/// Bytes as a number, or as a text with a unit.
fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number of bytes such as \"64MiB\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            units::bytes(text).map(Some).map_err(E::custom)
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            self.visit_str(&number.to_string())
        }
    }

    from.deserialize_any(Bytes)
}

impl From<Table> for Key {
    fn from(table: Table) -> Self {
        Self {
            entry: KeyEntry::new(&table.name, table.role, table.sha256, &table.prefix),
            sets: table.sets,
            memory: table.memory,
            kinds: table.kinds,
        }
    }
}

impl From<KeyEntry> for Key {
    fn from(entry: KeyEntry) -> Self {
        Self {
            entry,
            sets: None,
            memory: None,
            kinds: None,
        }
    }
}

impl FromStr for Key {
    type Err = String;

    /// Like [`KeyEntry`]: the command line has no quotas.
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(KeyEntry::into)
    }
}

/// The quotas of the prefixes of these keys, at a server whose sets may take `memory`. If several keys have the same
/// prefix, the most generous quota applies.
#[must_use]
pub fn quotas(keys: &[Key], memory: u64) -> Vec<Quota> {
    let mut quotas: Vec<Quota> = Vec::new();
    for key in keys.iter().filter(|key| !key.entry.prefix.is_empty()) {
        let own = Quota {
            prefix: key.entry.prefix.clone(),
            sets: key.sets.unwrap_or(u64::MAX),
            bytes: key.memory.unwrap_or(memory / 2),
            kinds: key.kinds.unwrap_or(KINDS),
        };
        match quotas.iter_mut().find(|quota| quota.prefix == own.prefix) {
            Some(quota) => {
                quota.sets = quota.sets.max(own.sets);
                quota.bytes = quota.bytes.max(own.bytes);
                quota.kinds = quota.kinds.max(own.kinds);
            }
            None => quotas.push(own),
        }
    }
    quotas
}
