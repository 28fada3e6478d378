//! `bloomgrove remote`: the verbs for local files, on a server.
//!
//! ```text
//!   which.rs     which sets contain a key
//!   add.rs       sets from files, their filters built here
//!   change.rs    adding keys, renaming, tagging, expiring
//!   look.rs      listing and downloading
//!   members.rs   estimates, samples, reconstruction
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
use crate::shared::deferred::Deferred;

/// Query, fill and manage a server.
///
/// The address of the server and the access key come from the environment, or from --server
/// and --key-file. Exit codes are those of the local commands.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote add logs/ --prefix logs/ --tag november\n  \
    bloomgrove remote which doc-00042\n  \
    BLOOMGROVE_SERVER=https://groves.example.org bloomgrove remote list")]
pub(crate) struct Args {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    verb: Deferred<Verb>,
}

#[derive(clap::Subcommand)]
enum Verb {
    Which(which::Which),
    Add(add::Add),
    Create(change::Create),
    Insert(change::Insert),
    Update(update::Update),
    Remove(change::Remove),
    Rename(change::Rename),
    Tag(change::Tag),
    Expire(change::Expire),
    List(look::List),
    Info(look::Info),
    Download(look::Download),
    Estimate(members::Estimate),
    Sample(members::Sample),
    Reconstruct(members::Reconstruct),
    Sites(sites::Sites),
    Forget(sites::Forget),
    Snapshot(look::Snapshot),
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let remote = args.server.open()?;
    ask(&remote, *args.verb.0).map_err(connect::ask_for_key)
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
