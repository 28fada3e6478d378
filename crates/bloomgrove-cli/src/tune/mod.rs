//! `bloomgrove tune ...`: how big, which kind, and why.

mod accuracy;
mod size;

use anyhow::Result;
use clap::Subcommand;

use crate::Outcome;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Find bits and hashes for a number of items and a rate, or the rate of a size
    Size(size::Args),
    /// Find bits for filters whose items are to be got back out
    Accuracy(accuracy::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Size(args) => size::run(&args),
        Verb::Accuracy(args) => accuracy::run(&args),
    }
}
