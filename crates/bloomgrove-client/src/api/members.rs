//! What is in the sets: estimates, samples, reconstruction. Each takes an expression: set names joined
//! by `&` and `|`, with parentheses. A name that contains one of these characters, a space or a
//! quotation mark is written in double quotes.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// Maximum number of candidates in one request.
pub const MOST_NAMES: usize = 1_000_000;

/// Estimates how many items are in a combination of sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct EstimateQuery {
    /// An expression such as `galway & (pune | quito)`.
    #[cfg_attr(feature = "schema", schema(example = "galway & (pune | quito)"))]
    pub expression: String,
}

/// An estimated number of items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Estimate {
    /// Estimated number of items, from the number of set bits; null if all bits are set.
    pub items: Option<f64>,
    /// The fraction of bits that are set, from 0 to 1.
    pub fill: f64,
}

/// The candidate keys to test for membership.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Names {
    /// The integers from the first up to, but excluding, the second.
    Range(u64, u64),
    /// A list of integers. They must be in ascending order, without duplicates; otherwise the request is rejected.
    Integers(#[serde(deserialize_with = "super::list::at_most::<MOST_NAMES, _, _>")] Vec<u64>),
    /// A list of strings, in any order. Duplicates are ignored.
    Texts(#[serde(deserialize_with = "super::list::at_most::<MOST_NAMES, _, _>")] Vec<String>),
}

/// How integers are encoded as keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Spelling {
    /// As decimal text, like keys read from lines.
    #[default]
    Decimal,
    /// As `{"u64": ...}`: eight bytes.
    U64,
}

/// Draws members uniformly at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SampleQuery {
    /// An expression such as `galway & (pune | quito)`.
    pub expression: String,
    /// The candidate keys to test for membership.
    pub names: Names,
    /// How integers are encoded as keys.
    #[serde(default)]
    pub spelling: Spelling,
    /// How many to draw.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub count: u64,
    /// Draw each member at most once.
    #[serde(default)]
    pub distinct: bool,
    /// The same seed draws the same members; by default, each request uses a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub seed: Option<u64>,
}

/// The members drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Sample {
    /// The members; empty if none of the candidates is in the set.
    pub members: Vec<Member>,
    /// How they were drawn, and why this method was chosen.
    pub method: String,
    /// Number of candidates tested.
    pub tests: u64,
}

/// A member: a number or a string, like the candidates in the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum Member {
    /// A candidate from a range or a list of integers.
    Number(u64),
    /// A candidate from a list of strings.
    Text(String),
}

/// Lists all members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ReconstructQuery {
    /// An expression such as `galway & (pune | quito)`.
    pub expression: String,
    /// The candidate keys to test for membership.
    pub names: Names,
    /// How integers are encoded as keys.
    #[serde(default)]
    pub spelling: Spelling,
    /// Maximum number of members to list; 100,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// All members, or the first ones up to the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Reconstruction {
    /// The members, in the order of the candidates.
    pub members: Vec<Member>,
    /// Whether these are all members.
    pub complete: bool,
    /// Estimated fraction of these members that are actually in the set, from the number of set bits;
    /// null if it cannot be estimated.
    pub accuracy: Option<f64>,
    /// How they were found, and why this method was chosen.
    pub method: String,
    /// Number of candidates tested.
    pub tests: u64,
}
