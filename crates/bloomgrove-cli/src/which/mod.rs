//! `bloomgrove which KEY PATH...`: the main job in one go.
//!
//! ```text
//!   PATH... --files--> what is there, with stamps
//!                         |  refresh: read what is new or changed, keep the rest
//!                         v
//!            .bloomgrove.grove beside the data: one filter for each file
//!                         |  ask all filters at once
//!                         v
//!                 the files that may hold the key
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

/// The index that is kept in a folder for the files in and below it.
const INDEX_NAME: &str = ".bloomgrove.grove";

/// Say which files may hold a key.
///
/// Every file is a set, every line of it a key (without the line feed, or carriage return
/// and line feed); files ending in .gz or .zst are unpacked. In a folder, all files in and
/// below it are asked, except hidden ones, links, and .grove files; a file named by itself is
/// always asked. The first run reads all files and keeps a filter of each in
/// .bloomgrove.grove beside them; later runs read only what is new or changed, by size,
/// times and inode. A file not named does not hold the key; a named one may not hold it
/// either, at the rate --fpr.
///
/// .bloomgrove.grove is used only if it is a regular file that belongs to you (or root) and that
/// nobody else can write to or has under another name; a symbolic link is not followed, and
/// anything else there is left alone. --index names a file that is used as it is.
///
/// Exit code: 0 if any file may hold any key, 1 if none does, 2 if something could not
/// be read (with --quiet, 0 as soon as a file may hold a key).
#[derive(clap::Args)]
#[command(
    override_usage = "bloomgrove which [OPTIONS] KEY PATH...\n       \
                      bloomgrove which [OPTIONS] --keys-from FILE PATH...",
    after_help = "Examples:\n  \
        bloomgrove which order-4711 logs/\n  \
        bloomgrove which --keys-from wanted.txt --verify logs/ archive/*.gz"
)]
pub(crate) struct Args {
    /// The key, unless --keys-from is given, and then files or folders
    #[arg(required = true, value_name = "KEY PATH")]
    words: Vec<OsString>,
    /// Ask for every line of this file; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Option<PathBuf>,
    /// How often a file that does not hold a key may be named [default: that of the index
    /// there is, or 0.001]
    #[arg(long, value_parser = units::rate)]
    fpr: Option<f64>,
    /// Read the files named, and name only those that do hold the key
    #[arg(long)]
    verify: bool,
    /// Keep the index here instead of beside the files
    #[arg(long, value_name = "FILE", conflicts_with = "no_save")]
    index: Option<PathBuf>,
    /// Keep no index: read every file each time
    #[arg(long)]
    no_save: bool,
    /// Read every file again, also those that look unchanged
    #[arg(long)]
    refresh: bool,
    /// Print how many files, instead of which
    #[arg(short, long)]
    count: bool,
    /// Print nothing; the exit code tells
    #[arg(short, long, conflicts_with_all = ["json", "count"])]
    quiet: bool,
    /// Print one JSON object for each key
    #[arg(long)]
    json: bool,
    /// Say on standard error what was read and what was known
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
        bail!("where? name files or folders after the key");
    }
    let paths: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();

    let found = files::find(&paths, args.index.as_deref());
    if args.explain && found.skipped > 0 {
        complain(format_args!(
            "{} hidden files, links and .grove files left out",
            units::grouped(found.skipped)
        ));
    }
    let mut complete = found.complete;
    let mut indexes = Vec::new();
    for home in found.homes {
        let options = refresh::Options {
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
