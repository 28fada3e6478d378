//! The HTTP bodies: one type per request and response.
//!
//! | file | subject |
//! |---|---|
//! | `sets.rs` | sets: describing, creating and changing them |
//! | `which.rs` | which sets contain a key, and what the answer cost |
//! | `members.rs` | estimates, samples, reconstruction |
//! | `server.rs` | the status of the server, snapshots |
//! | `sites.rs`, `events.rs` | the sites of a federation, and the events they record |
//! | `lineage.rs`, `trace.rs` | where documents come from: according to one site, and across all sites |
//! | `key.rs` | how a key is written |
//! | `list.rs` | the maximum length of lists |
//! | `problem.rs` | errors |

mod events;
mod key;
mod lineage;
#[doc(hidden)]
pub mod list;
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
    Direction, LONGEST_ENCRYPTED_ID, LONGEST_ID, Lineage, LineageQuery, Link, MOST_LINKS, Node,
    Relation, Start, is_event_kind,
};
pub use members::{
    Estimate, EstimateQuery, MOST_NAMES, Member, Names, ReconstructQuery, Reconstruction, Sample,
    SampleQuery, Spelling,
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
    BroadcastCost, Missing, SiteReport, Trace, TraceCost, TraceLink, TraceNode, TraceQuery,
};
pub use which::{Answer, Cost, Which, WhichQuery};
