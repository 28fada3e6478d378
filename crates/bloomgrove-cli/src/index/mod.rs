//! `bloomgrove index`: many sets in one file.

mod add;
mod build;
mod change;
mod draw;
mod info;
mod stale;
mod take_in;
mod which;

use anyhow::Result;

use crate::shared::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// Make an index of many sets
    Build(build::Args),
    /// Say which sets may hold a key
    Which(which::Args),
    /// Add sets
    Add(add::Args),
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
        Verb::Build(args) => build::run(args),
        Verb::Which(args) => which::run(args),
        Verb::Add(args) => add::run(args),
        Verb::Remove(args) => change::remove(args),
        Verb::Update(args) => change::update(args),
        Verb::Info(args) => info::info(args),
        Verb::Draw(args) => draw::run(args),
        Verb::Verify(args) => info::verify(args),
        Verb::Compact(args) => change::compact(args),
    }
}
