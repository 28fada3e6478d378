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
    /// `outputs` were created, without any recorded inputs.
    #[default]
    Created,
    /// `outputs` were made from `inputs`.
    Derived,
    /// One document was made that contains all `inputs`.
    Bundled,
    /// One document was split into `outputs`.
    Split,
    /// `inputs` were sent to the site `peer`.
    Sent,
    /// `inputs` were received from the site `peer`.
    Received,
}

/// Something that happened to documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Event {
    /// The event's id; `urn:uuid:` and a random UUID if omitted. Recording the same event twice has no
    /// further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What happened.
    pub kind: EventKind,
    /// Documents that it used, or that were transferred.
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
    /// When it happened, such as `2026-11-16T09:30:00Z`; now if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// A human-readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// For a transfer: the site at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// Records events at a site, all of them or none: `POST /v1/events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RecordEvents {
    /// The events, at most 10,000.
    #[serde(deserialize_with = "super::list::at_most::<{ super::list::SHORT }, _, _>")]
    pub events: Vec<Event>,
}

/// What was recorded; it is on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Recorded {
    /// The ids of the events, in the order in which they were sent.
    pub ids: Vec<String>,
    /// Number of new triples; 0 if everything was already known.
    pub triples: u64,
}

/// What an import added; it is on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Imported {
    /// Triples read.
    pub read: u64,
    /// New triples.
    pub triples: u64,
    /// Links among the new triples.
    pub links: u64,
}

/// The status of a site: `GET /v1/status`.
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
    /// Seconds since the site started.
    pub uptime: f64,
    /// Whether ids leave this site only in encrypted form.
    pub encrypts_ids: bool,
    /// The coordinator, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<CoordinatorStatus>,
    /// The sets that the site publishes, by name.
    pub sets: Vec<PublishedSet>,
}

/// The connection between a site and its coordinator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CoordinatorStatus {
    /// The coordinator's URL.
    pub url: String,
    /// Whether it accepted what was last sent.
    pub connected: bool,
    /// Seconds since it last accepted anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success: Option<f64>,
    /// The last error, if the coordinator is not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whole filters sent since the site started.
    pub whole: u64,
    /// Bytes of whole filters sent since the site started.
    pub whole_bytes: u64,
    /// Deltas sent since the site started.
    pub deltas: u64,
    /// Bytes of deltas sent since the site started.
    pub delta_bytes: u64,
}

/// A set that a site publishes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PublishedSet {
    /// Its name at the coordinator.
    pub name: String,
    /// Number of ids in it.
    pub ids: u64,
    /// Bits of its filter.
    pub bits: u64,
    /// Ids that the coordinator does not have yet.
    pub pending: u64,
    /// The version that the coordinator assigned to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
