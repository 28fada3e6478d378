//! Which sets hold a key?

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::Key;

/// Asks which sets may hold each of the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct WhichRequest {
    /// The keys.
    #[serde(deserialize_with = "super::list::at_most::<{ super::MOST_KEYS }, _, _>")]
    pub keys: Vec<Key>,
    /// Only sets whose names begin so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Only sets with this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// List at most this many sets for each key, 1000 by default, and 16 MiB of names for all keys.
    /// Counts are of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 100_000))]
    pub limit: Option<u64>,
    /// No names, only how many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_only: bool,
    /// Say what the answer cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
}

/// The answers, in the order of the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Which {
    /// One for each key.
    pub answers: Vec<Answer>,
    /// What all of them cost, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// The sets that may hold one key. A set that is not among them does not hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Answer {
    /// How many.
    pub count: u64,
    /// Their names in order, or those of some of them if there are more than the limit; left out when
    /// only the count was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<Vec<String>>,
}

/// What answers cost, and how far to trust them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Cost {
    /// How many sets were asked about, for each key.
    pub sets: u64,
    /// Filters tested for all keys, 64 at a time where they lie so.
    pub filters_tested: u64,
    /// Words of 64 bits read for all keys.
    pub words_read: u64,
    /// How many sets are named by mistake, on average, for a key that none holds.
    pub expected_false: f64,
    /// How long the search took, without reading the request and writing the answer.
    pub microseconds: f64,
}
