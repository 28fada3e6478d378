//! Sets: describing, creating and changing them.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::Key;

/// The media type of a `.grove` file.
pub const MEDIA_GROVE: &str = "application/vnd.bloomgrove.grove";
/// The media type of a message: a compressed filter or a delta (FORMAT.md section 15).
pub const MEDIA_MESSAGE: &str = "application/vnd.bloomgrove.message";

/// The parameters of a filter. Filters with equal parameters are queried together and can be combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Params {
    /// Number of bits.
    #[cfg_attr(feature = "schema", schema(minimum = 1, example = 100_992))]
    pub bits: u64,
    /// Number of hash functions, that is, of bits set per key.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 64, example = 7))]
    pub hashes: u32,
    /// `standard` (default) or `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// `xxh3` (default), `xxh3-128`, `murmur3` or `md5`. `siphash` and `affine` are only supported in
    /// uploaded filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// `independent` (default) or `kirsch-mitzenmacher`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivation: Option<String>,
    /// The seed of the hash family; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub seed: Option<u64>,
}

/// Creates an empty set, either with the given `params` or sized for `items` keys at the false-positive
/// rate `fpr`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CreateSet {
    /// 1 to 500 bytes of text without control characters.
    #[cfg_attr(
        feature = "schema",
        schema(min_length = 1, max_length = 500, example = "site/galway")
    )]
    pub name: String,
    /// The parameters of its filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
    /// Expected number of items. It is rounded up by at most 25%, or to 32 if it is smaller, so that
    /// similar sets share the same parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1, example = 1000))]
    pub items: Option<u64>,
    /// The false-positive rate; 0.01 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0, example = 0.01)
    )]
    pub fpr: Option<f64>,
    /// Tags to select sets by: up to 32, each 1 to 100 bytes of text without control characters.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>"
    )]
    pub tags: Vec<String>,
    /// Seconds until the set expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub expires_in: Option<u64>,
}

/// Changes the properties of a set; omitted properties are left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ChangeSet {
    /// Its new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 500))]
    pub name: Option<String>,
    /// Its new tags, replacing all existing ones.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::list::at_most_if_any::<{ super::list::SHORT }, _, _>"
    )]
    pub tags: Option<Vec<String>>,
    /// Seconds from now until the set expires; 0 for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// Adds keys to a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AddItems {
    /// The keys.
    #[serde(deserialize_with = "super::list::at_most::<{ super::MOST_KEYS }, _, _>")]
    pub keys: Vec<Key>,
}

/// A set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Set {
    /// Its name.
    pub name: String,
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// Its version: increases with every change to its bits and is never reused, not even for another
    /// set with the same name.
    pub version: u64,
    /// The parameters of its filter.
    pub params: Params,
    /// Number of set bits.
    pub ones: u64,
    /// The fraction of bits that are set, from 0 to 1.
    pub fill: f64,
    /// Estimated number of items, from the number of set bits; null if all bits are set.
    pub items: Option<f64>,
    /// The estimated false-positive rate.
    pub expected_fpr: f64,
    /// Size of its filter in bytes.
    pub bytes: u64,
    /// When it was created, as a Unix timestamp in seconds.
    pub created: u64,
    /// When it was last changed, as a Unix timestamp in seconds.
    pub changed: u64,
    /// When it expires, as a Unix timestamp in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A page of sets, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SetList {
    /// The sets.
    pub sets: Vec<Set>,
    /// The value of `after` for the next page; omitted on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Total number of sets on the server.
    pub total: u64,
}

/// The result of an update, which is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Updated {
    /// The new version of the set: the `base` of the next update.
    pub version: u64,
    /// Number of bits changed; 0 if nothing was new, for example when an update is sent twice.
    pub changed_bits: u64,
}
