//! `bloomgrove bloom-sample-tree`: finds members of filters with the tree of the sampling paper, and
//! with the two methods that the paper compares it with.

mod add;
mod build;
mod info;
mod method;
mod names;
mod reconstruct;
mod sample;

use anyhow::Result;

use crate::shared::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    Build(Box<build::Args>),
    Sample(sample::Args),
    Reconstruct(reconstruct::Args),
    Add(add::Args),
    Info(info::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(*args),
        Verb::Sample(args) => sample::run(&args),
        Verb::Reconstruct(args) => reconstruct::run(&args),
        Verb::Add(args) => add::run(&args),
        Verb::Info(args) => info::run(&args),
    }
}
