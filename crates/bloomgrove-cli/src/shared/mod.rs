//! What several commands share. A command imports from here and from its own noun, never from
//! another noun; nothing here knows a command (`tests/tool/commands.rs` checks both).
//!
//! | file | contains |
//! |---|---|
//! | `keys/` | keys from files: lines (plain, gzip, zstd), columns of CSV and Parquet; `KeyKind` |
//! | `key_args.rs` | keys given as arguments and in files |
//! | `questions.rs` | the keys of a query, and yes or no for each |
//! | `answers.rs` | the sets that may contain a key, as lines, counts or JSON |
//! | `update.rs` | adding keys to one set of an index or tree, and renaming it |
//! | `sources.rs`, `walk.rs`, `read_sets.rs` | what can be a set; the files of a directory; from files to filters |
//! | `lookup.rs` | queries of many keys, all or some of which a set must contain |
//! | `search/` | searching files with an index that is brought up to date first |
//! | `sizing.rs` | how large the filters of many sets are, and when one is too full |
//! | `params.rs`, `hashing.rs` | the options that describe one filter, and how it hashes |
//! | `notes.rs` | the notes in `.grove` files |
//! | `open.rs` | opening filters and indexes: checked when small, patient when busy |
//! | `stamp.rs` | when a file counts as unchanged, and what an index knows of the file of a set |
//! | `lineage.rs` | documents to follow, and in which direction |
//! | `connect.rs` | which server or site, with which key |
//! | `deferred.rs` | subcommands that are defined when they are used |
//! | `given.rs` | settings of a server or site from flags, environment and file |
//! | `parallel.rs` | many files read at once, taken in order |
//! | `message_file.rs`, `whole_file.rs` | messages in files and pipes; files of text written whole or not at all |
//! | `output.rs`, `progress.rs`, `interrupt.rs`, `units.rs`, `range.rs` | tables and JSON, progress bars, Ctrl-C, numbers and ranges as people write them |

pub(crate) mod answers;
pub(crate) mod connect;
pub(crate) mod deferred;
#[cfg(feature = "server")]
pub(crate) mod given;
pub(crate) mod hashing;
pub(crate) mod interrupt;
pub(crate) mod key_args;
pub(crate) mod keys;
pub(crate) mod lineage;
pub(crate) mod lookup;
pub(crate) mod message_file;
pub(crate) mod notes;
pub(crate) mod open;
pub(crate) mod output;
pub(crate) mod parallel;
pub(crate) mod params;
pub(crate) mod progress;
pub(crate) mod questions;
pub(crate) mod range;
pub(crate) mod read_sets;
pub(crate) mod search;
pub(crate) mod sizing;
pub(crate) mod sources;
pub(crate) mod stamp;
pub(crate) mod units;
pub(crate) mod update;
pub(crate) mod walk;
pub(crate) mod whole_file;

use std::hash::{BuildHasher, RandomState};

/// A seed nobody chose, short enough to be a number anywhere.
pub(crate) fn any_seed() -> u64 {
    RandomState::new().hash_one(0) >> 11
}

/// How a command ended, if nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Found, or done.
    Yes,
    /// Not found.
    No,
    /// Done, but something could not be read; it has been reported.
    Incomplete,
}

impl Outcome {
    /// For work that was done completely or not.
    pub(crate) fn of(complete: bool) -> Self {
        match complete {
            true => Outcome::Yes,
            false => Outcome::Incomplete,
        }
    }
}

/// The error for what only the whole program can do.
#[cfg(not(feature = "server"))]
pub(crate) fn missing<T>(what: &str) -> anyhow::Result<T> {
    anyhow::bail!(
        "{what}; install the full program with \
         `cargo install --path crates/bloomgrove-cli --features server`"
    )
}
