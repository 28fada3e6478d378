//! `bloomgrove index`: many sets in one file.

mod add;
mod build;
mod change;
mod info;
mod stale;
mod sync;
mod take_in;
mod which;

use anyhow::Result;

use crate::shared::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    Build(build::Args),
    Which(which::Args),
    Add(add::Args),
    Sync(sync::Args),
    Remove(change::Remove),
    Update(change::Update),
    Info(info::Info),
    Verify(info::Verify),
    Compact(change::Compact),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(args),
        Verb::Which(args) => which::run(args),
        Verb::Add(args) => add::run(args),
        Verb::Sync(args) => sync::run(args),
        Verb::Remove(args) => change::remove(args),
        Verb::Update(args) => change::update(args),
        Verb::Info(args) => info::info(args),
        Verb::Verify(args) => info::verify(args),
        Verb::Compact(args) => change::compact(args),
    }
}
