//! `bloomgrove remote`: a server, by the verbs that files have.
//!
//! ```text
//!   which.rs     which sets hold a key
//!   add.rs       sets from files, their filters built here
//!   change.rs    keys into sets, other names, tags, ends
//!   look.rs      what is there
//!   members.rs   what is in the sets
//!   sites.rs     the sites of a federation
//! ```
//!
//! Keys and filters are read and printed by the same code as those of local files.

mod add;
mod change;
mod look;
mod members;
mod sites;
mod update;
mod which;

use anyhow::Result;

use crate::shared::Outcome;
use crate::shared::connect::{self, Remote, Server};

/// Ask, fill and look after a server.
///
/// Every verb takes the server's address and key from the environment, or by --server and
/// --key-file. Exit codes are those of the local verbs.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote add logs/ --prefix logs/ --tag november\n  \
    bloomgrove remote which doc-00042\n  \
    BLOOMGROVE_SERVER=https://groves.example.org bloomgrove remote list")]
pub(crate) struct Args {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Say which sets may hold a key
    Which(which::Which),
    /// Add sets from files of keys, filters and indexes
    Add(add::Add),
    /// Make an empty set
    Create(change::Create),
    /// Add keys to a set
    Insert(change::Insert),
    /// Add all that filters hold to a set, or what changed
    Update(update::Update),
    /// Remove sets
    Remove(change::Remove),
    /// Give a set another name
    Rename(change::Rename),
    /// Give a set other tags
    Tag(change::Tag),
    /// Say when a set goes by itself
    Expire(change::Expire),
    /// List the sets
    List(look::List),
    /// Say how a set is, or the server
    Info(look::Info),
    /// Write the filter of a set to a file
    Download(look::Download),
    /// Estimate how many items sets hold
    Estimate(members::Estimate),
    /// Draw members of sets at random, given the names that may be in them
    Sample(members::Sample),
    /// List all members of sets, given the names that may be in them
    Reconstruct(members::Reconstruct),
    /// List the sites of a federation that publish to the server
    Sites(sites::Sites),
    /// Have the server forget a site
    Forget(sites::Forget),
    /// Have the server write a copy of all that it knows
    Snapshot(look::Snapshot),
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let remote = args.server.open()?;
    ask(&remote, args.verb).map_err(connect::ask_for_key)
}

fn ask(remote: &Remote, verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Which(args) => which::run(remote, args),
        Verb::Add(args) => add::add(remote, args),
        Verb::Create(args) => change::create(remote, args),
        Verb::Insert(args) => change::insert(remote, args),
        Verb::Update(args) => update::run(remote, args),
        Verb::Remove(args) => change::remove(remote, args),
        Verb::Rename(args) => change::rename(remote, args),
        Verb::Tag(args) => change::tag(remote, args),
        Verb::Expire(args) => change::expire(remote, args),
        Verb::List(args) => look::list(remote, args),
        Verb::Info(args) => look::info(remote, args),
        Verb::Download(args) => look::download(remote, args),
        Verb::Estimate(args) => members::estimate(remote, args),
        Verb::Sample(args) => members::sample(remote, args),
        Verb::Reconstruct(args) => members::reconstruct(remote, args),
        Verb::Sites(args) => sites::list(remote, args),
        Verb::Forget(args) => sites::forget(remote, args),
        Verb::Snapshot(args) => look::snapshot(remote, args),
    }
}
