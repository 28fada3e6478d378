//! `bloomgrove which KEY PATH...`: the main job in one go.
//!
//! ```text
//!   PATH... --files--> what is there, with stamps
//!                         |  refresh: read what is new or changed, keep the rest
//!                         v
//!            .bloomgrove.grove next to the data: one filter per file
//!                         |  query all filters at once
//!                         v
//!                 the files that may contain the key
//! ```

mod answer;
mod files;
mod refresh;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::Collector;

use crate::shared::keys::{self, KeyKind};
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, units};

/// The index that is kept in a directory for the files in and below it.
const INDEX_NAME: &str = ".bloomgrove.grove";

/// Find the files that may contain a key.
///
/// Each file is a set, and each of its lines is a key (without its line ending). Files ending in
/// .gz or .zst are decompressed. Directories are searched recursively, except for hidden files,
/// symbolic links and .grove files; a file named on the command line is always searched.
///
/// The first run reads every file and stores a filter per file in .bloomgrove.grove, next to
/// them. Later runs read only files that are new or have changed (by size, times and inode). A
/// file that is not listed does not contain the key. A listed file contains it, except for false
/// positives at the rate --fpr; --verify removes those.
///
/// .bloomgrove.grove is used only if it is a regular file that you or root own, that nobody else
/// can write to, and that has no other hard link. Anything else of that name is left alone.
/// A file given with --index is used without these checks.
///
/// Exit code: 0 if any file may contain any of the keys, 1 if none does, 2 if something could not
/// be read (with --quiet, 0 as soon as a file may contain a key).
#[derive(clap::Args)]
#[command(
    override_usage = "bloomgrove which [OPTIONS] KEY PATH...\n       \
                      bloomgrove which [OPTIONS] --keys-from FILE PATH...",
    after_help = "Examples:\n  \
        bloomgrove which order-4711 logs/\n  \
        bloomgrove which --keys-from wanted.txt --verify logs/ archive/*.gz"
)]
pub(crate) struct Args {
    /// The key (unless --keys-from is given), then files and directories
    #[arg(required = true, value_name = "KEY PATH")]
    words: Vec<OsString>,
    /// Search for every line of this file; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Option<PathBuf>,
    /// The false-positive rate: how often a file without the key is listed [default: that of
    /// the existing index, or 0.001]
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    fpr: Option<f64>,
    /// Read the files found, and list only those that do contain the key
    #[arg(long)]
    verify: bool,
    /// Keep the index in this file instead of next to the files searched
    #[arg(long, value_name = "FILE", conflicts_with = "no_save")]
    index: Option<PathBuf>,
    /// Do not keep an index: read every file each time
    #[arg(long)]
    no_save: bool,
    /// Read every file again, even those that look unchanged
    #[arg(long)]
    refresh: bool,
    /// Print the number of files instead of their names
    #[arg(short, long)]
    count: bool,
    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with_all = ["json", "count"])]
    quiet: bool,
    /// Print one JSON object per key
    #[arg(long)]
    json: bool,
    /// Report on standard error what was read and what was already indexed
    #[arg(short, long)]
    explain: bool,
}

pub(crate) fn run(mut args: Args) -> Result<Outcome> {
    let mut words = std::mem::take(&mut args.words);
    let keys = match &args.keys_from {
        Some(file) => keys::read_all(file, KeyKind::Text)?,
        None => vec![keys::from_argument(words.remove(0))],
    };
    if let Some(fpr) = args.fpr {
        // Before anything is read or written.
        Collector::new(fpr)?;
    }
    if words.is_empty() {
        bail!("no files to search; name files or directories after the key");
    }
    let paths: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();

    let found = files::find(&paths, args.index.as_deref());
    if args.explain && found.skipped > 0 {
        complain(format_args!(
            "skipped {} hidden files, links and .grove files",
            units::grouped(found.skipped)
        ));
    }
    let mut complete = found.complete;
    let mut indexes = Vec::new();
    for home in found.homes {
        let options = refresh::RefreshOptions {
            fpr: args.fpr,
            save: !args.no_save,
            trust: !args.refresh,
            explain: args.explain,
        };
        let index = refresh::refresh(home, &options)?;
        complete &= index.complete;
        indexes.push(index);
    }

    let mut output = Output::new();
    let style = answer::Style {
        verify: args.verify,
        count: args.count,
        quiet: args.quiet,
        json: args.json,
        many: args.keys_from.is_some(),
    };
    let (any, read_all) = answer::print(&mut output, &style, &keys, &indexes)?;
    output.finish()?;
    Ok(match (any, complete && read_all) {
        (true, false) if args.quiet => Outcome::Yes,
        (_, false) => Outcome::Incomplete,
        (true, true) => Outcome::Yes,
        (false, true) => Outcome::No,
    })
}
