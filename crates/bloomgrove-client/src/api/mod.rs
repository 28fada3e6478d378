//! What is said over HTTP: a type for every request and every answer.
//!
//! | file | says |
//! |---|---|
//! | `sets.rs` | what a set is, how it is made and changed |
//! | `which.rs` | which sets hold a key, and what the answer cost |
//! | `members.rs` | estimates, samples, reconstruction |
//! | `server.rs` | the state of the server, snapshots |
//! | `key.rs` | how a key is written |
//! | `problem.rs` | what went wrong |

mod key;
mod members;
mod problem;
mod server;
mod sets;
mod which;

pub use key::{Key, MOST_KEYS};
pub use members::{
    Estimate, EstimateRequest, Member, Names, ReconstructRequest, Reconstruction, Sample,
    SampleRequest, Spelling,
};
pub use problem::{Code, Problem};
pub use server::{Cell, Picture, Segment, Snapshot, Snapshots, Status, Totals};
pub use sets::{
    AddItems, ChangeSet, CreateSet, MEDIA_GROVE, MEDIA_MESSAGE, Params, Set, SetList, Updated,
};
pub use which::{Answer, Cost, Which, WhichRequest};
