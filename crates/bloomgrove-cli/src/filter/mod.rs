//! `bloomgrove filter ...`: one set at a time.

mod build;
pub(crate) mod check;
mod combine;
pub(crate) mod hashing;
mod info;
pub(crate) mod params;

use anyhow::Result;
use clap::Subcommand;

use crate::Outcome;

#[derive(Subcommand)]
pub(crate) enum Verb {
    Build(build::Args),
    Check(check::Args),
    /// Say all about a filter
    Info(info::Args),
    /// Make the filter of all keys of several
    #[command(
        after_help = "Example:\n  bloomgrove filter union north.grove south.grove -o all.grove"
    )]
    Union(combine::Args),
    /// Make a filter of the keys that several share
    #[command(
        after_help = "Example:\n  bloomgrove filter intersect north.grove south.grove -o both.grove"
    )]
    Intersect(combine::Args),
    /// Halve a filter, keeping its keys
    Fold(combine::FoldArgs),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Info(args) => info::run(args),
        Verb::Union(args) => combine::union(args),
        Verb::Intersect(args) => combine::intersect(args),
        Verb::Fold(args) => combine::fold(args),
    }
}

/// The note that says how keys were read.
pub(crate) const KEYS_NOTE: &str = "keys";
/// The note of an intersection: of how many filters it is one. Its fill says too many
/// items, since some bits are common by chance.
pub(crate) const INTERSECTION_NOTE: &str = "intersection-of";
