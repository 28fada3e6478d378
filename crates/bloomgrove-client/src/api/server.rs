//! The server itself: its status, its map of all sets, its snapshots.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// The status of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Status {
    /// The version of the program.
    pub program: String,
    /// Seconds since it started.
    pub uptime: f64,
    /// Number of sets.
    pub sets: u64,
    /// Size of all filters in memory, in bytes.
    pub bytes: u64,
    /// Memory limit for filters, in bytes.
    pub memory_limit: u64,
    /// Size of the store on disk, in bytes.
    pub store_bytes: u64,
    /// The version most recently assigned to a set.
    pub version: u64,
    /// How the filters are laid out in memory.
    pub segments: Vec<Segment>,
    /// Totals since the server started.
    pub totals: Totals,
    /// Seconds of CPU time since it started.
    pub cpu_seconds: f64,
    /// Resident memory of the process in bytes, on systems that report it.
    pub resident_bytes: Option<u64>,
    /// Keys to try, if the server runs with demo data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Documents to trace, if the server runs a demo federation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<String>,
}

/// Filters with equal parameters and the same shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Segment {
    /// `loose`, `flat` or `sliced`.
    pub shape: String,
    /// Why this shape was chosen.
    pub reason: String,
    /// Number of filters.
    pub sets: u64,
    /// Number of bits in each filter.
    pub bits: u64,
    /// Number of hash functions of each filter.
    pub hashes: u32,
    /// Total size of the filters, in bytes.
    pub bytes: u64,
    /// The fraction of bits that are set, from 0 to 1.
    pub density: f64,
}

/// Totals since the server started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Totals {
    /// Keys queried.
    pub keys_queried: u64,
    /// Sets listed in answers.
    pub sets_listed: u64,
    /// Changes that were made and are on disk.
    pub changes: u64,
    /// Commits to disk; several changes can share one.
    pub commits: u64,
    /// Keys added.
    pub keys_added: u64,
}

/// A map of all sets with a limited number of cells, each for one set or for several sets with adjacent
/// names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Picture {
    /// Number of sets.
    pub sets: u64,
    /// The cells, in the order of names.
    pub cells: Vec<Cell>,
}

/// One set, or several sets with adjacent names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Cell {
    /// The name of its first set. A set belongs to the last cell whose first name does not come after its
    /// own, compared by UTF-8 bytes.
    pub first: String,
    /// Number of sets.
    pub sets: u64,
    /// The largest fraction of bits set in any of these sets, from 0 to 1.
    pub fill: f64,
}

/// A copy of everything that the server stores, at one point in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Snapshot {
    /// Its file name in the `snapshots` directory of the data directory.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was created, as a Unix timestamp in seconds.
    pub created: u64,
}

/// All snapshots, newest last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Snapshots {
    /// The snapshots.
    pub snapshots: Vec<Snapshot>,
}
