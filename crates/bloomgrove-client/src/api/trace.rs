//! Traces: the lineage of a document across all sites, and what it took to find it.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::{Direction, Link, Node};

/// Asks for the lineage of documents across all sites: `POST /v1/trace`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceRequest {
    /// What to begin with: 1 to 1000 ids.
    #[serde(deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>")]
    #[cfg_attr(feature = "schema", schema(min_items = 1, max_items = 1000))]
    pub ids: Vec<String>,
    /// Which way to go.
    #[serde(default)]
    pub direction: Direction,
    /// Links to follow from the nearest of the ids; without it, as far as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Seconds until the answer is given as far as it has come; 10 by default, and never more than
    /// the server allows (20, unless it is configured otherwise).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(exclusive_minimum = 0.0))]
    pub seconds: Option<f64>,
    /// Links at which it ends as well; 100,000 by default and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 100_000))]
    pub links: Option<u64>,
    /// Ask all sites for everything, as if there were no index: to compare.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// Draw it, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub picture: bool,
}

/// The lineage of documents across all sites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Trace {
    /// What was asked for.
    pub ids: Vec<String>,
    /// Which way it goes.
    pub direction: Direction,
    /// Whether this is all there is, as far as was asked: every site that may know more was asked
    /// and has answered, no site is out of touch, and none has windows that have expired (unless all
    /// sites were asked for everything). What a site has recorded since it was last heard of is not
    /// meant: normally a period, and never more than three. Nor are sites that the coordinator does not
    /// know.
    pub complete: bool,
    /// What may be missing, and why: empty if it is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Documents and events, the nearest first, then by id. An id that no site knows is not among
    /// them.
    pub nodes: Vec<TraceNode>,
    /// Links, in order.
    pub links: Vec<TraceLink>,
    /// Sites that were asked, by name.
    pub sites: Vec<SiteReport>,
    /// What it took.
    pub cost: TraceCost,
    /// As SVG, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// What may be missing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Missing {
    /// The site that did not answer or is out of touch; none when a limit ended the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Why: for people.
    pub why: String,
}

/// A document or an event, and who knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceNode {
    /// What is said of it.
    #[serde(flatten)]
    pub node: Node,
    /// Links from the nearest of the ids asked for.
    pub distance: u32,
    /// The sites that know it, by name.
    pub sites: Vec<String>,
}

/// A link, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceLink {
    /// The link.
    #[serde(flatten)]
    pub link: Link,
    /// The sites that say so, by name.
    pub sites: Vec<String>,
}

/// A site that was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteReport {
    /// The site.
    pub name: String,
    /// How often it was asked.
    pub requests: u64,
    /// For how many ids.
    pub ids: u64,
    /// Some of these ids: why it was asked.
    pub why: Vec<String>,
    /// How many documents and events it knew.
    pub nodes: u64,
    /// How many links it told.
    pub links: u64,
    /// Answers of it that knew nothing: its set was named by chance, or is ahead of it.
    pub in_vain: u64,
    /// Bytes of the questions, without headers.
    pub bytes_sent: u64,
    /// Bytes of its answers, without headers.
    pub bytes_received: u64,
    /// How long all its answers took together.
    pub milliseconds: f64,
    /// Links that it told though nobody asked, and that were dropped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Why it is not asked any more, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a trace took, beside what asking all sites takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TraceCost {
    /// Sites that are registered.
    pub sites: u64,
    /// How often the index, and then sites, were asked.
    pub rounds: u64,
    /// Messages: each asks one site for all ids of a round that it may know.
    pub requests: u64,
    /// The same, each id for itself.
    pub questions: u64,
    /// Requests that were answered with nothing.
    pub in_vain: u64,
    /// Bytes of all questions, without headers.
    pub bytes_sent: u64,
    /// Bytes of all answers, without headers.
    pub bytes_received: u64,
    /// How long it took.
    pub milliseconds: f64,
    /// How long of it the index took.
    pub index_milliseconds: f64,
    /// What asking all sites in every round would have taken.
    pub broadcast: BroadcastCost,
}

/// What asking all sites in every round takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BroadcastCost {
    /// Messages: rounds times sites.
    pub requests: u64,
    /// The same, each id for itself, as in the Bloofi paper: ids times sites.
    pub questions: u64,
    /// Bytes of questions and answers, without headers.
    pub bytes: u64,
}
