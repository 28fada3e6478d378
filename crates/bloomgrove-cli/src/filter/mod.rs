//! `bloomgrove filter ...`: one set at a time.

mod add;
mod build;
mod check;
mod combine;
mod estimate;
mod info;
mod seen;
mod wire;

use anyhow::Result;
use clap::Subcommand;

use crate::shared::Outcome;
use crate::shared::message_file::ExpandArgs;

#[derive(Subcommand)]
pub(crate) enum Verb {
    Build(build::Args),
    Add(add::Args),
    Check(check::Args),
    Seen(seen::Args),
    Info(info::Args),
    Estimate(estimate::Args),
    /// Write the union of filters: all keys of all of them
    #[command(
        after_help = "Example:\n  bloomgrove filter union north.grove south.grove -o all.grove"
    )]
    Union(combine::Args),
    /// Write the intersection of filters: the keys that all of them contain
    #[command(
        after_help = "Example:\n  bloomgrove filter intersect north.grove south.grove -o both.grove"
    )]
    Intersect(combine::Args),
    Fold(combine::FoldArgs),
    Compress(wire::CompressArgs),
    /// Decompress a filter into a .grove file
    #[command(after_help = "Example:\n  bloomgrove filter expand users.msg -o users.grove")]
    Expand(ExpandArgs),
    Delta(wire::DeltaArgs),
    Apply(wire::ApplyArgs),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(args),
        Verb::Add(args) => add::run(args),
        Verb::Seen(args) => seen::run(args),
        Verb::Estimate(args) => estimate::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Info(args) => info::run(args),
        Verb::Union(args) => combine::union(args),
        Verb::Intersect(args) => combine::intersect(args),
        Verb::Fold(args) => combine::fold(args),
        Verb::Compress(args) => wire::compress(args),
        Verb::Expand(args) => wire::expand(args),
        Verb::Delta(args) => wire::delta(args),
        Verb::Apply(args) => wire::apply(args),
    }
}
