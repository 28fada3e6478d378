//! `bloomgrove filter check`: is this key in?

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::format::Notes;
use bloomgrove::{Family, MappedFilter};

use crate::Outcome;
use crate::keys::KeyKind;
use crate::questions::{self, Questions};

/// Ask a filter for keys.
///
/// Prints each key and "maybe" or "no". A no is certain; a maybe is wrong at the
/// filter's false-positive rate. Exit code 0 if any may be in, 1 if none is.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove filter check users.grove ada grace")]
pub(crate) struct Args {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    #[command(flatten)]
    questions: Questions,
    /// Check every checksum first, as is always done up to 64 MB
    #[arg(long)]
    verify: bool,
}

/// Reading this much takes a hundredth of a second, and a damaged filter says no to keys
/// that are in.
pub(crate) const VERIFIED_ALWAYS: u64 = 64 << 20;

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.questions.check()?;
    let size = std::fs::metadata(&args.filter).map_or(0, |about| about.len());
    if args.verify || size <= VERIFIED_ALWAYS {
        bloomgrove::verify(&args.filter)?;
    }
    let filter = MappedFilter::map(&args.filter)?;
    let kind = kind_of(&filter, &Notes::of_file(&args.filter)?);
    args.questions.ask(kind, |keys| {
        let mut found = vec![false; keys.len()];
        filter.contains_batch(keys, &mut found);
        found
    })
}

/// How the keys were read when the filter was built; where nothing says it, affine functions
/// mean integers.
pub(crate) fn kind_of(filter: &MappedFilter, notes: &Notes) -> KeyKind {
    let usual = match filter.params().family() {
        Family::Affine(_) => KeyKind::Integer,
        _ => KeyKind::Text,
    };
    questions::kind_of(notes).unwrap_or(usual)
}
