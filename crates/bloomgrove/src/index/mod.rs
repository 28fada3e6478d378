//! Many sets: which of them hold x?
//!
//! [`Shelf`] is the plain answer: every filter is asked in turn. It needs nothing
//! of the filters (each may have its own size), opens at once from one file, and is
//! what faster indexes are measured and checked against.

mod catalog;
mod shelf;
mod tree;

pub(crate) use shelf::check_file;
pub use shelf::{Entry, Shelf, ShelfWriter};
pub use tree::{BulkOrder, Drawing, Metric, Tree, TreeOptions};
