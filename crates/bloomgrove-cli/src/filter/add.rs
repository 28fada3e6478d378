//! `bloomgrove filter add`: more keys for a filter.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::Filter;
use bloomgrove::format::Notes;
use bloomgrove::raw::format::lock_to_replace;

use super::build;
use crate::shared::keys::{self, KeyKind};
use crate::shared::progress::Progress;
use crate::shared::{Outcome, notes, open};

/// Add keys to a filter.
///
/// Its size stays the same, so its false-positive rate rises; a note says when it has more keys
/// than it was sized for. The filter is replaced once all keys are read: an interrupted run changes
/// nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove filter add users.grove new-users.txt\n  \
    cut -f1 today.tsv | bloomgrove filter add users.grove -")]
pub(crate) struct Args {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// Files of keys; - is standard input
    #[arg(required = true, value_name = "KEYS")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    from: keys::KeysArgs,
    /// How to interpret keys [default: as when the filter was built]
    #[arg(long, value_name = "KIND", value_enum)]
    keys: Option<KeyKind>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    open::exists(&args.filter, "filter")?;
    let _lock = open::patiently(|| lock_to_replace(&args.filter))?;
    let mut filter = Filter::load(&args.filter)?;
    let before = Notes::of_file(&args.filter)?;
    let kind = args.keys.unwrap_or(notes::key_kind_of(&filter, &before));
    let progress = Progress::bytes(keys::total_size(&args.inputs), "reading");
    let column = &args.from;
    let count = build::insert_all(&mut filter, &args.inputs, column, kind, u64::MAX, &progress)?;
    drop(progress);
    let notes = notes::with_more(&before, count);
    filter.save_with(&args.filter, &notes)?;
    build::report(&args.filter, &filter, &notes, count, args.json)?;
    Ok(Outcome::Yes)
}
