//! `bloomgrove bloom-tree check`: does a tree contain these keys?

use std::path::PathBuf;

use anyhow::Result;

use super::open;
use crate::shared::keys::KeyKind;
use crate::shared::questions::Questions;
use crate::shared::{Outcome, notes, units};

/// Check whether a tree contains keys.
///
/// Prints each key with "maybe" or "no". A "no" is certain; a "maybe" is wrong at the tree's
/// false-positive rate, which `bloom-tree info` shows. The tree may be compressed. Exit code: 0 if the
/// tree may contain any of the keys, 1 if it contains none.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloom-tree check users.tree ada grace")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    #[command(flatten)]
    questions: Questions,
    /// Check all checksums first (always done for files up to 64 MB)
    #[arg(long)]
    verify: bool,
    /// The maximum memory that a compressed tree may take when expanded
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    memory: u64,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.questions.check()?;
    let opened = open(&args.tree, args.verify, args.memory)?;
    let kind = notes::key_kind(&opened.notes).unwrap_or(KeyKind::Text);
    args.questions
        .ask(kind, |keys| Ok(opened.tree.contains_batch(keys)))
}
