//! `bloomgrove lake`: which Parquet files of a table, and which of their row groups, can contain a
//! value.
//!
//! ```text
//!   a table: a directory of Parquet files
//!      | list: every file with its stamp                        table.rs
//!      v
//!   index, sync: what is new or changed is read --read.rs--> one filter per row group and column
//!      |           or, with --from-footers, the filter that the file already has
//!      v
//!   .bloomgrove-lake.grove in the directory                     known.rs: what it has of each file
//!      |
//!   which: the values, looked up in all filters at once         which.rs
//!      v
//!   the files to open; DuckDB, Polars or any other engine reads them
//! ```
//!
//! Never a missing row: a file that the index does not have, or has in another version, is listed,
//! and so is every row group that it cannot decide. The two kinds of filters live in one index. Those
//! that we build contain keys as text (`shared/keys/parquet/values.rs`); those from the footers hash
//! the bytes as they are stored. Both are queried by the type that the column has in each file
//! (`parse.rs`), so a table whose column changed from 32 to 64 bits is queried twice.
//!
//! Source: Hudi's RFC 37 moved the Bloom filters of all files into one table; this is that, with
//! filters of a size that follows from what a query may open in vain, and the bits of all filters
//! side by side. In a flat index the eight bits of a key in Parquet's filters are rows of one
//! contiguous range of 32 bytes per filter.
//!
//! Cost: `index` reads the columns, or with --from-footers only the footers and filters. `which`
//! looks at every file once (its metadata), and at eight or so rows of bits as long as there are
//! row groups.

mod build;
mod info;
mod known;
mod read;
mod store;
mod table;
mod tag;
mod which;

use anyhow::Result;

use crate::shared::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    Index(build::Args),
    Sync(build::Sync),
    Which(which::Args),
    Info(info::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Index(args) => build::index(args),
        Verb::Sync(args) => build::sync(args),
        Verb::Which(args) => which::run(args),
        Verb::Info(args) => info::run(args),
    }
}
