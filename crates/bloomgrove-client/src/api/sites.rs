//! Sites: what a coordinator knows of them, and what a site says of itself.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// How the names of all sets begin that hold the ids of a site: a set `galway/ids/...` is a set of
/// the site `galway`.
#[must_use]
pub fn sets_of_site(site: &str) -> String {
    format!("{site}/ids/")
}

/// The site whose ids a set holds, if it is such a set.
#[must_use]
pub fn site_of_set(set: &str) -> Option<&str> {
    set.split_once("/ids/").map(|(site, _)| site)
}

/// A site makes itself known: `PUT /v1/sites/{name}`, again in every period, so that the
/// coordinator knows that it is in touch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RegisterSite {
    /// Where the coordinator reaches it.
    #[cfg_attr(
        feature = "schema",
        schema(example = "https://galway.example.org:7118")
    )]
    pub url: String,
    /// The key that the coordinator shows to it: of this site only, so that no site can ask another
    /// in the coordinator's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Seconds until it will be heard of again. After three times as many it counts as out of
    /// touch.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 86_400))]
    pub period: u64,
    /// Ids that it could not publish; those recorded since the last round are not among them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub pending: u64,
    /// The store that its versions are of, as it was last told; none if it was not told yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub store: Option<u64>,
    /// What it believes the coordinator to have of it. While that is not so, traces are not
    /// complete.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>"
    )]
    #[cfg_attr(feature = "schema", schema(max_items = 4000))]
    pub sets: Vec<SetVersion>,
    /// Whether it has windows that have expired: ids that are only in these are in no set any more,
    /// and no trace is complete that has not asked this site for all of its ids.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// How long its log was when this was true. It only grows, so a request with less than one before
    /// it was overtaken on its way, and is no sign of life.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub position: u64,
}

/// What a site gets to know when it registers: what the coordinator has of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Registered {
    /// The store of the coordinator: a number that no other has. Versions of another store say
    /// nothing, and the site sends everything whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 9_007_199_254_740_991_u64))]
    pub store: Option<u64>,
    /// Its sets; where one is missing or has another version than the site has seen, the site sends
    /// it whole.
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

/// All sites that a coordinator knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteList {
    /// By name.
    pub sites: Vec<SiteInfo>,
}

/// What a coordinator knows of a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteInfo {
    /// Its name.
    pub name: String,
    /// Where it is reached.
    pub url: String,
    /// Seconds since it was last heard of; none since the coordinator was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<f64>,
    /// Seconds between two signs of life.
    pub period: u64,
    /// Ids that it had not published when it was last heard of.
    pub pending: u64,
    /// Whether it is in touch: heard of within three periods.
    pub in_touch: bool,
    /// How many sets it has here.
    pub sets: u64,
}
