//! `bloomgrove tune ...`: choosing the size and kind of a filter.

mod accuracy;
mod bloom_tree;
mod size;
mod wire;

use anyhow::Result;
use clap::Subcommand;

use crate::shared::Outcome;

#[derive(Subcommand)]
pub(crate) enum Verb {
    Size(size::Args),
    Accuracy(accuracy::Args),
    BloomTree(bloom_tree::Args),
    Wire(wire::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Size(args) => size::run(&args),
        Verb::Accuracy(args) => accuracy::run(&args),
        Verb::BloomTree(args) => bloom_tree::run(&args),
        Verb::Wire(args) => wire::run(&args),
    }
}

/// A rate as a fraction: those of trees go down to 1e-20.
fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0".into(),
        _ if rate < 0.001 => format!("{rate:.2e}"),
        _ => format!("{rate:.4}"),
    }
}

/// The ratio of two sizes.
fn ratio(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("{ratio:.2}"),
        false => String::new(),
    }
}
