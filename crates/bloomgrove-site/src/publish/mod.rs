//! Publishing: the coordinator gets to know which ids this site knows, as filters, and no more.
//!
//! | file | does |
//! |---|---|
//! | `window.rs` | windows of time, names of sets |
//! | `plan.rs` | what filters are made by |
//! | `set.rs` | a filter, and what the coordinator has of it |
//! | `filters.rs` | the filters of all windows |
//! | `push.rs` | sends what is new in every period, and says that the site is there |
//!
//! Whatever happens to messages, acknowledgements, the site or the coordinator: once a round has
//! gone through, every id that was recorded before it is found in a set of this site. A delta that
//! comes twice changes nothing, one that does not fit is refused and the whole filter sent, and
//! every round compares versions, so that a coordinator that went back to an older state gets what
//! it lacks.

pub(crate) mod filters;
pub(crate) mod push;
mod set;
pub(crate) mod spec;
mod window;

pub use window::{Window, set_name, timestamp};
