//! Sets: what they are, how they are made and changed.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::Key;

/// The media type of a `.grove` file.
pub const MEDIA_GROVE: &str = "application/vnd.bloomgrove.grove";
/// The media type of a message: a coded filter or a delta (FORMAT.md section 15).
pub const MEDIA_MESSAGE: &str = "application/vnd.bloomgrove.message";

/// What a filter is like. Filters of equal parameters are asked together, and can be combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Params {
    /// How many bits it has.
    #[cfg_attr(feature = "schema", schema(minimum = 1, example = 100_992))]
    pub bits: u64,
    /// How many bits each key sets.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 64, example = 7))]
    pub hashes: u32,
    /// `standard` (default) or `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// `xxh3` (default), `xxh3-128`, `murmur3` or `md5`. `siphash` and `affine` only in uploaded
    /// filters.
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

/// Makes an empty set: of these `params`, or for so many `items` at a false-positive rate of
/// `fpr`.
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
    /// What its filter is like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
    /// How many items it will hold. Sizes come in steps of up to a quarter, so that sets
    /// share parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1, example = 1000))]
    pub items: Option<u64>,
    /// How often it may say yes for an item that it does not hold; .01 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(exclusive_minimum = 0.0, exclusive_maximum = 1.0, example = 0.01)
    )]
    pub fpr: Option<f64>,
    /// Labels to ask by: up to 32, each 1 to 100 bytes of text without control characters.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>"
    )]
    pub tags: Vec<String>,
    /// Seconds until it goes by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub expires_in: Option<u64>,
}

/// Changes what is said of a set; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ChangeSet {
    /// Its new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 500))]
    pub name: Option<String>,
    /// Its new tags, all of them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::list::at_most_if_any::<{ super::list::SHORT }, _, _>"
    )]
    pub tags: Option<Vec<String>>,
    /// Seconds until it goes by itself, from now; 0 for never.
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

/// A set as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Set {
    /// Its name.
    pub name: String,
    /// Its labels, sorted.
    pub tags: Vec<String>,
    /// Of which version it is: grows with every change of its bits, and is never that of
    /// another state, not even of another set of the same name.
    pub version: u64,
    /// What its filter is like.
    pub params: Params,
    /// How many bits are set.
    pub ones: u64,
    /// The share of bits that are set.
    pub fill: f64,
    /// About how many items it holds, judged by the bits; none if all bits are set.
    pub items: Option<f64>,
    /// How often it says yes for an item that it does not hold.
    pub expected_fpr: f64,
    /// Bytes of its bits.
    pub bytes: u64,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// When it last changed, in seconds since 1970.
    pub changed: u64,
    /// When it goes by itself, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// Some of the sets, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SetList {
    /// The sets.
    pub sets: Vec<Set>,
    /// What to ask for as `after` to get the next ones; none when these were the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many sets the server has in all.
    pub total: u64,
}

/// What an update did. It was on disk before this was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Updated {
    /// The version of the set now: the `base` of the next update.
    pub version: u64,
    /// How many bits it changed: none, if all was there already, as with an update sent twice.
    pub changed_bits: u64,
}
