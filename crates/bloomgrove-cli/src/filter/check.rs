//! `bloomgrove filter check`: does a filter contain these keys?

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::MappedFilter;
use bloomgrove::format::Notes;

use crate::shared::Outcome;
use crate::shared::questions::Questions;
use crate::shared::{lookup, notes, open};

/// Check whether a filter contains keys.
///
/// Prints each key with "maybe" or "no". A "no" is certain; a "maybe" is wrong at the filter's
/// false-positive rate. Exit code: 0 if the filter may contain any of the keys, 1 if it contains
/// none. Keys from a stream are checked as they arrive.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove filter check users.grove ada grace\n  \
    tail -f logins.txt | bloomgrove filter check users.grove --keys-from -")]
pub(crate) struct Args {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    #[command(flatten)]
    questions: Questions,
    /// Check all checksums first (always done for files up to 64 MB)
    #[arg(long)]
    verify: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.questions.check()?;
    open::check(&args.filter, args.verify)?;
    let filter = MappedFilter::map(&args.filter)?;
    let notes = Notes::of_file(&args.filter)?;
    let kind = notes::key_kind_of(&filter, &notes);
    let extraction = notes::extraction(&notes)?;
    args.questions.ask(kind, |keys| {
        let mut found = vec![false; keys.len()];
        if extraction.is_searched() {
            for (key, found) in keys.iter().zip(&mut found) {
                let needed = lookup::needed(&extraction, key)?;
                *found = needed.may_match(&mut |key| filter.contains(key));
            }
        } else {
            filter.contains_batch(keys, &mut found);
        }
        Ok(found)
    })
}
