//! Which sets contain a key.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::Key;

/// Finds the sets that may contain each of the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct WhichQuery {
    /// The keys.
    #[serde(deserialize_with = "super::list::at_most::<{ super::MOST_KEYS }, _, _>")]
    pub keys: Vec<Key>,
    /// What the keys are split into before they are looked up: `tokens` or `ngrams=N`, as when the sets were filled. A set
    /// must then contain all tokens or n-grams of a key; up to 32 of them are looked up. With `lines`, `regex=...` and
    /// `json=...`, a key is looked up as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<String>,
    /// Only sets whose names start with this prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Only sets with this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// List at most this many sets per key, 1000 by default, and at most 16 MiB of names for all keys.
    /// Counts include all matching sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 100_000))]
    pub limit: Option<u64>,
    /// Return only counts, without names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_only: bool,
    /// Include what the answer cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
}

/// The answers, in the order of the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Which {
    /// One answer per key.
    pub answers: Vec<Answer>,
    /// What the answers cost, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// The sets that may contain one key. Sets that are not listed do not contain it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Answer {
    /// Number of sets.
    pub count: u64,
    /// Their names, sorted; only some of them if there are more than the limit. Omitted if only counts were
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<Vec<String>>,
}

/// What the answers cost, and how reliable they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Cost {
    /// Number of sets queried for each key.
    pub sets: u64,
    /// Filters tested for all keys. A set that consists of slices has one filter per slice.
    pub filters_tested: u64,
    /// 64-bit words read for all keys.
    pub words_read: u64,
    /// Expected number of false positives for a key that no set contains. It is lower if `extract` splits the key into
    /// several tokens or n-grams.
    pub expected_false: f64,
    /// Duration of the search in microseconds, excluding reading the request and writing the response.
    pub microseconds: f64,
}
