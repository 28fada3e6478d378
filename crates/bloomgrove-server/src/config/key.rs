//! Keys of the configuration, and what sets may take below their prefixes.

use std::fmt;
use std::str::FromStr;

use bloomgrove_http::access::{KeyEntry, Role};
use bloomgrove_units as units;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::coordinator::Quota;

/// Different parameters of sets below a prefix, unless its key says otherwise.
const KINDS: usize = 64;

/// One key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Table")]
pub struct Key {
    /// Whose it is, and what for.
    pub entry: KeyEntry,
    /// Of a key with a prefix: how many sets there may be below it. As many as there is room for, unless
    /// it is set.
    pub sets: Option<u64>,
    /// Of a key with a prefix: bytes of memory that these sets may take. Half of what all may, unless it
    /// is set.
    pub memory: Option<u64>,
    /// Of a key with a prefix: how many different parameters they may have; 64 unless it is set.
    pub kinds: Option<usize>,
}

/// A key as it stands in the file: flattened by hand, since serde would lose the line of an error.
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

    /// As [`KeyEntry`]: on the command line nothing is said of quotas.
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(KeyEntry::into)
    }
}

/// What sets may take below the prefixes of these keys, on a server whose sets may take `memory`: of keys
/// with the same prefix, what the most generous allows.
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
