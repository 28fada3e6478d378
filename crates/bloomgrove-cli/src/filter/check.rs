//! `bloomgrove filter check`: is this key in?

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::MappedFilter;
use bloomgrove::format::Notes;

use crate::shared::Outcome;
use crate::shared::questions::Questions;
use crate::shared::{notes, open};

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

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.questions.check()?;
    open::check(&args.filter, args.verify)?;
    let filter = MappedFilter::map(&args.filter)?;
    let kind = notes::key_kind_of(&filter, &Notes::of_file(&args.filter)?);
    args.questions.ask(kind, |keys| {
        let mut found = vec![false; keys.len()];
        filter.contains_batch(keys, &mut found);
        found
    })
}
