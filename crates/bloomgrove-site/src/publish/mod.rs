//! Publishing: lets the coordinator know which ids this site knows, as filters, and nothing more.
//!
//! | file | subject |
//! |---|---|
//! | `window.rs` | time windows, names of sets |
//! | `spec.rs` | how filters are built |
//! | `set.rs` | a filter, and what the coordinator has of it |
//! | `filters.rs` | the filters of all windows |
//! | `push.rs` | sends what is new in every period, and a heartbeat |
//!
//! Whatever happens to messages, acknowledgements, the site or the coordinator: once a round has succeeded, every id that
//! was recorded before it is in a set of this site. A delta that arrives twice changes nothing; if one does not match, it
//! is rejected and the whole filter is sent; and every round compares versions, so that a coordinator that was reset to
//! an older state gets what it lacks.

pub(crate) mod filters;
pub(crate) mod push;
mod set;
pub(crate) mod spec;
mod window;

pub use window::{Window, set_name, timestamp};
