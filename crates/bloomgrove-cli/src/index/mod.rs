//! `bloomgrove index`: many sets in one file.

mod add;
mod build;
mod change;
mod info;
mod stale;
mod take_in;
mod which;

use anyhow::Result;

use crate::shared::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// Build an index of many sets
    Build(build::Args),
    /// Find the sets that may contain a key
    Which(which::Args),
    /// Add sets
    Add(add::Args),
    /// Remove sets, or all slices before a given one
    Remove(change::Remove),
    /// Add keys or a filter to a set, or rename it
    Update(change::Update),
    /// Show an index's sets, sizes and layouts
    Info(info::Info),
    /// Check an index for damage
    Verify(info::Verify),
    /// Rewrite an index without unused space, or in another layout
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
        Verb::Verify(args) => info::verify(args),
        Verb::Compact(args) => change::compact(args),
    }
}
