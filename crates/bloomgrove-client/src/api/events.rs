//! Events about documents, as a site records them.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// What happened to documents.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub enum EventKind {
    /// `outputs` came to be of nothing that is known.
    #[default]
    Created,
    /// `outputs` were made of `inputs`.
    Derived,
    /// One document was made that has all `inputs` in it.
    Bundled,
    /// One document was taken apart into `outputs`.
    Split,
    /// `inputs` were sent to the site `peer`.
    Sent,
    /// `inputs` came from the site `peer`.
    Received,
}

/// Something that happened to documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Event {
    /// What it is known by; `urn:uuid:` and a random number if it is left out. Recording the same
    /// event twice is the same as once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What happened.
    pub kind: EventKind,
    /// Documents that it began with, or that were transferred.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>"
    )]
    pub inputs: Vec<String>,
    /// Documents that it made.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>"
    )]
    pub outputs: Vec<String>,
    /// When, as `2026-11-16T09:30:00Z`; now if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Of a transfer: the site at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// Records events at a site, all or none: `POST /v1/events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RecordEvents {
    /// The events: 10,000 at most.
    #[serde(deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>")]
    pub events: Vec<Event>,
}

/// What was recorded; it is on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Recorded {
    /// The ids of the events, in their order.
    pub ids: Vec<String>,
    /// How many triples are new: none if all of it was known.
    pub triples: u64,
}

/// What an import brought; it is on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Imported {
    /// Triples that were read.
    pub read: u64,
    /// Triples that are new.
    pub triples: u64,
    /// Links among the new ones.
    pub links: u64,
}

/// How a site is: `GET /v1/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SiteStatus {
    /// Its name.
    pub name: String,
    /// The version of the program.
    pub program: String,
    /// Triples in memory.
    pub triples: u64,
    /// Ids of documents and events.
    pub ids: u64,
    /// Bytes of the log on disk.
    pub bytes_on_disk: u64,
    /// Seconds since it was started.
    pub uptime: f64,
    /// Whether ids leave this site only sealed.
    pub sealed: bool,
    /// The coordinator, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<CoordinatorStatus>,
    /// What is published, by name.
    pub sets: Vec<PublishedSet>,
}

/// How a site and its coordinator get on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CoordinatorStatus {
    /// Where it is.
    pub url: String,
    /// Whether it took what was last sent.
    pub in_touch: bool,
    /// Seconds since it last took something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<f64>,
    /// What went wrong last, if it is not in touch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whole filters that were sent since the start, and their bytes.
    pub whole: u64,
    /// Bytes of these.
    pub whole_bytes: u64,
    /// Deltas that were sent since the start.
    pub deltas: u64,
    /// Bytes of these.
    pub delta_bytes: u64,
}

/// A set that a site publishes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PublishedSet {
    /// Its name at the coordinator.
    pub name: String,
    /// Ids in it.
    pub ids: u64,
    /// Bits of its filter.
    pub bits: u64,
    /// Ids that the coordinator does not have yet.
    pub pending: u64,
    /// The version that the coordinator gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
