//! Traces: the lineage of a document across all sites, and what it cost to find.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::{Direction, Link, Node};

/// Traces the lineage of documents across all sites: `POST /v1/trace`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceQuery {
    /// The ids to start from, 1 to 1000.
    #[serde(deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>")]
    #[cfg_attr(feature = "schema", schema(min_items = 1, max_items = 1000))]
    pub ids: Vec<String>,
    /// The direction to follow.
    #[serde(default)]
    pub direction: Direction,
    /// Maximum number of links to follow from the nearest of the ids; unlimited if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Seconds after which the trace ends with what it has found; 10 by default, and at most what the
    /// server allows (20 by default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(exclusive_minimum = 0.0))]
    pub seconds: Option<f64>,
    /// Number of links after which the trace ends; 100,000 by default, which is also the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 100_000))]
    pub links: Option<u64>,
    /// Query all sites for everything, as if there were no index, for comparison.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// Include a drawing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub picture: bool,
}

/// The lineage of documents across all sites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Trace {
    /// The ids that were traced.
    pub ids: Vec<String>,
    /// The direction that was followed.
    pub direction: Direction,
    /// Whether this is the entire lineage up to the requested depth: every site that may know more was queried
    /// and has answered, no site is offline, and no site has expired windows (unless all sites were queried for
    /// everything). It does not cover what a site has recorded since its last heartbeat, which is normally one
    /// period ago and at most three, nor sites that the coordinator does not know.
    pub complete: bool,
    /// What may be missing, and why; empty if the trace is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Documents and events, nearest first, then by id. Ids that no site knows are not included.
    pub nodes: Vec<TraceNode>,
    /// Links, sorted.
    pub links: Vec<TraceLink>,
    /// Sites that were queried, by name.
    pub sites: Vec<SiteReport>,
    /// What the trace cost.
    pub cost: TraceCost,
    /// The drawing as SVG, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// What may be missing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Missing {
    /// The site that did not answer or is offline; omitted if a limit ended the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// A human-readable reason.
    pub why: String,
}

/// A document or an event, and which sites know it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceNode {
    /// Its description.
    #[serde(flatten)]
    pub node: Node,
    /// Number of links from the nearest of the ids traced.
    pub distance: u32,
    /// The sites that know it, by name.
    pub sites: Vec<String>,
}

/// A link, and which sites report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceLink {
    /// The link.
    #[serde(flatten)]
    pub link: Link,
    /// The sites that report it, by name.
    pub sites: Vec<String>,
}

/// A site that was queried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteReport {
    /// The site.
    pub name: String,
    /// Number of requests sent to it.
    pub requests: u64,
    /// Number of ids it was queried for.
    pub ids: u64,
    /// Examples of the ids it was queried for.
    pub why: Vec<String>,
    /// Number of documents and events it knew.
    pub nodes: u64,
    /// Number of links it returned.
    pub links: u64,
    /// Number of its answers that were empty: one of its sets matched by a false positive, or contains ids
    /// that the site does not have yet.
    pub empty_answers: u64,
    /// Bytes of the queries, excluding headers.
    pub bytes_sent: u64,
    /// Bytes of its answers, excluding headers.
    pub bytes_received: u64,
    /// Total response time of the site in milliseconds.
    pub milliseconds: f64,
    /// Number of links that it returned although they were not requested, and that were discarded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Why the site failed to answer and is no longer queried; omitted if there was no problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a trace cost, compared with querying all sites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceCost {
    /// Number of registered sites.
    pub sites: u64,
    /// Number of rounds: lookups in the index, followed by queries to sites.
    pub rounds: u64,
    /// Number of requests; each request queries one site for all ids in a round that the site may know.
    pub requests: u64,
    /// Number of ids queried, counted once per site.
    pub lookups: u64,
    /// Number of requests whose answer was empty.
    pub empty_answers: u64,
    /// Bytes of all queries, excluding headers.
    pub bytes_sent: u64,
    /// Bytes of all answers, excluding headers.
    pub bytes_received: u64,
    /// Total time in milliseconds.
    pub milliseconds: f64,
    /// Time spent in the index, in milliseconds.
    pub index_milliseconds: f64,
    /// What querying all sites in every round would have cost.
    pub broadcast: BroadcastCost,
}

/// The cost of querying all sites in every round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BroadcastCost {
    /// Number of requests: rounds times sites.
    pub requests: u64,
    /// Number of ids queried, counted once per site as in the Bloofi paper: ids times sites.
    pub lookups: u64,
    /// Bytes of queries and answers, excluding headers.
    pub bytes: u64,
}
