//! `bloomgrove index`: many sets in one file.

pub(crate) mod build;
mod change;
mod draw;
mod info;
pub(crate) mod open;
pub(crate) mod sources;
mod stale;
pub(crate) mod which;

use anyhow::Result;

use crate::Outcome;

/// The note that says how lines become keys, as in filters.
const KEYS_NOTE: &str = crate::filter::KEYS_NOTE;
/// The note that says at which rate filters are built that are sized for their set.
const FPR_NOTE: &str = "fpr";

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// Make an index of many sets
    Build(build::Build),
    /// Say which sets may hold a key
    Which(which::Args),
    /// Add sets
    Add(build::Add),
    /// Remove sets, or what is older than a slice
    Remove(change::Remove),
    /// Add keys to a set, or give it another name or filter
    Update(change::Update),
    /// Say what is in an index
    Info(info::Info),
    /// Draw the sets as a tree
    Draw(draw::Args),
    /// Check every byte of an index
    Verify(info::Verify),
    /// Write an index anew, without what is no longer used, or in another layout
    Compact(change::Compact),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::build(args),
        Verb::Which(args) => which::run(args),
        Verb::Add(args) => build::add(args),
        Verb::Remove(args) => change::remove(args),
        Verb::Update(args) => change::update(args),
        Verb::Info(args) => info::info(args),
        Verb::Draw(args) => draw::run(args),
        Verb::Verify(args) => info::verify(args),
        Verb::Compact(args) => change::compact(args),
    }
}
