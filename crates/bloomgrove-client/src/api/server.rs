//! The server itself: its state, its picture, its snapshots.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// The state of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Status {
    /// The version of the program.
    pub program: String,
    /// Seconds since it started.
    pub uptime: f64,
    /// How many sets there are.
    pub sets: u64,
    /// Bytes of all filters in memory.
    pub bytes: u64,
    /// Bytes that filters may take.
    pub memory_limit: u64,
    /// Bytes of the store on disk.
    pub store_bytes: u64,
    /// The version that was last given to a set.
    pub version: u64,
    /// How the filters lie in memory.
    pub segments: Vec<Segment>,
    /// What was done since it started.
    pub totals: Totals,
    /// Seconds of processor time since it started.
    pub cpu_seconds: f64,
    /// Bytes of memory of the process, where that can be told.
    pub resident_bytes: Option<u64>,
    /// Keys to try, when the server shows demo data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Documents to trace, when there are sites of a demo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<String>,
}

/// Filters of equal parameters in one layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Segment {
    /// `loose`, `flat` or `sliced`.
    pub shape: String,
    /// Why so.
    pub reason: String,
    /// How many filters.
    pub sets: u64,
    /// Bits of each.
    pub bits: u64,
    /// Hashes of each.
    pub hashes: u32,
    /// Bytes of all.
    pub bytes: u64,
    /// The share of bits that are set.
    pub density: f64,
}

/// What was done since the server started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Totals {
    /// Keys that were asked for.
    pub keys_asked: u64,
    /// Sets that were named in answers.
    pub sets_named: u64,
    /// Changes that were made and are on disk.
    pub changes: u64,
    /// Times that the disk was waited for; several changes can share one.
    pub commits: u64,
    /// Keys that were added.
    pub keys_added: u64,
}

/// All sets as a picture: at most so many cells, each of one set or of neighbours by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Picture {
    /// How many sets there are.
    pub sets: u64,
    /// In the order of names.
    pub cells: Vec<Cell>,
}

/// One set, or neighbours by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Cell {
    /// The name of its first set: a name is in the last cell whose first name is not behind it,
    /// by the bytes of UTF-8.
    pub first: String,
    /// How many sets.
    pub sets: u64,
    /// The largest share of bits set in one of them.
    pub fill: f64,
}

/// A copy of all that the server knows, as of one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Snapshot {
    /// Its file in the folder `snapshots` of the data folder.
    pub file: String,
    /// How large it is.
    pub bytes: u64,
    /// When it was made, in seconds since 1970.
    pub created: u64,
}

/// All snapshots, the newest last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Snapshots {
    /// The snapshots.
    pub snapshots: Vec<Snapshot>,
}
