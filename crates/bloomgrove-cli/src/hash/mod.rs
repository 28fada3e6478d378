//! `bloomgrove hash ...`: the hash families, measured.

mod derivation;
mod quality;

use anyhow::Result;
use clap::Subcommand;

use crate::shared::Outcome;

#[derive(Subcommand)]
pub(crate) enum Verb {
    Test(quality::Args),
    Derivation(derivation::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Test(args) => quality::run(args),
        Verb::Derivation(args) => derivation::run(args),
    }
}

/// Numbers that look random, the same on every run.
fn scatter(i: u64) -> u64 {
    let mut z = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
