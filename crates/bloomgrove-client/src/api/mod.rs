//! What is said over HTTP: a type for every request and every answer.
//!
//! | file | says |
//! |---|---|
//! | `sets.rs` | what a set is, how it is made and changed |
//! | `which.rs` | which sets hold a key, and what the answer cost |
//! | `members.rs` | estimates, samples, reconstruction |
//! | `server.rs` | the state of the server, snapshots |
//! | `sites.rs`, `events.rs` | sites of a federation, what happens there |
//! | `lineage.rs`, `trace.rs` | where documents come from: as one site knows it, and all |
//! | `key.rs` | how a key is written |
//! | `list.rs` | how long a list may be |
//! | `problem.rs` | what went wrong |

mod events;
mod key;
mod lineage;
mod list;
mod members;
mod problem;
mod server;
mod sets;
mod sites;
mod trace;
mod which;

pub use events::{
    CoordinatorStatus, Event, EventKind, Imported, PublishedSet, RecordEvents, Recorded, SiteStatus,
};
pub use key::{Key, MOST_KEYS};
pub use lineage::{
    Direction, LONGEST_ID, LONGEST_SEALED_ID, Lineage, LineageRequest, Link, MOST_LINKS, Node,
    Relation, Start, is_event_kind,
};
pub use members::{
    Estimate, EstimateRequest, MOST_NAMES, Member, Names, ReconstructRequest, Reconstruction,
    Sample, SampleRequest, Spelling,
};
pub use problem::{Code, Problem};
pub use server::{Cell, Picture, Segment, Snapshot, Snapshots, Status, Totals};
pub use sets::{
    AddItems, ChangeSet, CreateSet, MEDIA_GROVE, MEDIA_MESSAGE, Params, Set, SetList, Updated,
};
pub use sites::{
    RegisterSite, Registered, SetVersion, SiteInfo, SiteList, sets_of_site, site_of_set,
};
pub use trace::{
    BroadcastCost, Missing, SiteReport, Trace, TraceCost, TraceLink, TraceNode, TraceRequest,
};
pub use which::{Answer, Cost, Which, WhichRequest};
