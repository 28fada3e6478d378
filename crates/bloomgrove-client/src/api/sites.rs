//! Sites: what a coordinator knows about them, and what a site reports about itself.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// The prefix of the names of all sets that contain the ids of a site: a set `galway/ids/...` belongs to
/// the site `galway`.
#[must_use]
pub fn sets_of_site(site: &str) -> String {
    format!("{site}/ids/")
}

/// The site that a set belongs to, if it is a set of ids.
#[must_use]
pub fn site_of_set(set: &str) -> Option<&str> {
    set.split_once("/ids/").map(|(site, _)| site)
}

/// Registers a site: `PUT /v1/sites/{name}`. Repeated every period as a heartbeat, so that the
/// coordinator knows that the site is online.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RegisterSite {
    /// The URL at which the coordinator reaches the site.
    #[cfg_attr(
        feature = "schema",
        schema(example = "https://galway.example.org:7118")
    )]
    pub url: String,
    /// The access key that the coordinator uses at this site. Each site issues its own, so that no site
    /// can query another on the coordinator's behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Seconds until the next heartbeat. If none arrives within three periods, the site is considered
    /// offline.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 86_400))]
    pub period: u64,
    /// Ids that it could not publish, not counting those recorded since the last round.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub pending: u64,
    /// The coordinator's store that the versions in `sets` belong to, as last reported; omitted if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub store: Option<u64>,
    /// The sets, with their versions, that the site expects the coordinator to have. Traces are
    /// incomplete while the coordinator's sets differ.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>"
    )]
    #[cfg_attr(feature = "schema", schema(max_items = 4000))]
    pub sets: Vec<SetVersion>,
    /// Whether any of its windows have expired. Ids that were only in expired windows are no longer in
    /// any set, so a trace is complete only if it has queried this site for all of its ids.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// Length of its log when this request was made. The log only grows, so a request with a smaller
    /// length than an earlier one was delayed in transit and does not count as a heartbeat.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub position: u64,
}

/// The response to a registration: what the coordinator stores for the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Registered {
    /// Identifies the coordinator's store. Versions from another store are meaningless, so the site
    /// sends all filters whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub store: Option<u64>,
    /// The site's sets. If one is missing or its version differs from the one that the site knows, the site
    /// sends it whole.
    pub sets: Vec<SetVersion>,
}

/// A set and its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SetVersion {
    /// The set.
    pub name: String,
    /// Its version.
    pub version: u64,
}

/// All sites registered with a coordinator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteList {
    /// The sites, by name.
    pub sites: Vec<SiteInfo>,
}

/// What a coordinator knows about a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteInfo {
    /// Its name.
    pub name: String,
    /// The URL at which the coordinator reaches it.
    pub url: String,
    /// Seconds since its last heartbeat; omitted if there was none since the coordinator started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<f64>,
    /// Seconds between heartbeats.
    pub period: u64,
    /// Number of ids that it had not published at its last heartbeat.
    pub pending: u64,
    /// Whether it is online: its last heartbeat was within three periods.
    pub online: bool,
    /// Number of its sets on the coordinator.
    pub sets: u64,
}
