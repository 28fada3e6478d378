//! What is in the sets: estimates, samples, reconstruction. All of them take an expression: set
//! names joined by `&` and `|`, with `(` and `)`; a name with one of these or a quote-worthy
//! character stands in double quotes.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// Names in one request at most.
pub const MOST_NAMES: usize = 1_000_000;

/// Asks how many items an expression of sets holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct EstimateRequest {
    /// Such as `galway & (pune | quito)`.
    #[cfg_attr(feature = "schema", schema(example = "galway & (pune | quito)"))]
    pub expression: String,
}

/// About how many items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Estimate {
    /// About how many items, judged by the bits; none if all bits are set.
    pub items: Option<f64>,
    /// The share of bits that are set.
    pub fill: f64,
}

/// The names that may be in a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Names {
    /// The integers from the first up to, but not with, the second.
    Range(u64, u64),
    /// These integers, rising.
    Integers(#[serde(deserialize_with = "super::list::at_most::<MOST_NAMES, _, _>")] Vec<u64>),
    /// These texts, each once.
    Texts(#[serde(deserialize_with = "super::list::at_most::<MOST_NAMES, _, _>")] Vec<String>),
}

/// How integers were spelled as keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Spelling {
    /// As text in decimal, as keys from lines are.
    #[default]
    Decimal,
    /// As `{"u64": ...}`: eight bytes.
    U64,
}

/// Draws members at random, each with the same chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SampleRequest {
    /// Such as `galway & (pune | quito)`.
    pub expression: String,
    /// The names that may be members.
    pub names: Names,
    /// How integers are spelled.
    #[serde(default)]
    pub spelling: Spelling,
    /// How many to draw.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub count: u64,
    /// Each at most once.
    #[serde(default)]
    pub distinct: bool,
    /// The same seed draws the same members; another one every time by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub seed: Option<u64>,
}

/// Members that were drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Sample {
    /// The members; none if none of the names is one.
    pub members: Vec<Member>,
    /// How they were drawn, and why so.
    pub method: String,
    /// How many names were tested.
    pub tests: u64,
}

/// A member: a number or a text, as the names were given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Member {
    /// One of a range, or of integers.
    Number(u64),
    /// One of texts.
    Text(String),
}

/// Lists all members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ReconstructRequest {
    /// Such as `galway & (pune | quito)`.
    pub expression: String,
    /// The names that may be members.
    pub names: Names,
    /// How integers are spelled.
    #[serde(default)]
    pub spelling: Spelling,
    /// At most so many; 100,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// All members, or the first of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Reconstruction {
    /// The members, in the order of the names.
    pub members: Vec<Member>,
    /// Whether these are all.
    pub complete: bool,
    /// Of these members, the share that is rightly there, judged by the bits; none if that
    /// cannot be told.
    pub accuracy: Option<f64>,
    /// How they were found, and why so.
    pub method: String,
    /// How many names were tested.
    pub tests: u64,
}
