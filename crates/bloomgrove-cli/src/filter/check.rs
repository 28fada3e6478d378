//! `bloomgrove filter check`: is this key in?

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Family, MappedFilter};
use serde_json::json;

use super::KEYS_NOTE;
use crate::Outcome;
use crate::keys::{self, KeyKind};
use crate::output::{self, Output};

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
    /// Keys
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,
    /// More keys, one to a line or from a column; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Vec<PathBuf>,
    #[command(flatten)]
    column: Option<keys::Column>,
    /// Check every checksum first, as is always done up to 64 MB
    #[arg(long)]
    verify: bool,
    /// Print nothing; the exit code tells
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object to a line
    #[arg(long)]
    json: bool,
    /// How a key is read [default: as when the filter was built]
    #[arg(long, value_enum)]
    keys_as: Option<KeyKind>,
}

/// Reading this much takes a hundredth of a second, and a damaged filter says no to keys
/// that are in.
pub(crate) const VERIFIED_ALWAYS: u64 = 64 << 20;

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if args.keys.is_empty() && args.keys_from.is_empty() {
        bail!("no key to ask for: name one, or give a file with --keys-from");
    }
    if args.column.is_some() && args.keys_from.is_empty() {
        bail!("--column means nothing without --keys-from");
    }
    let size = std::fs::metadata(&args.filter).map_or(0, |about| about.len());
    if args.verify || size <= VERIFIED_ALWAYS {
        bloomgrove::verify(&args.filter)?;
    }
    let filter = MappedFilter::map(&args.filter)?;
    let kind = match args.keys_as {
        Some(kind) => kind,
        None => kind_of(&filter, &Notes::of_file(&args.filter)?),
    };
    let mut output = Output::new();
    let mut any = false;
    let mut answer = |lines: &[&[u8]]| -> Result<()> {
        let mut found = vec![false; lines.len()];
        match kind {
            KeyKind::Text => filter.contains_batch(lines, &mut found),
            KeyKind::Integer => {
                for (line, found) in lines.iter().zip(&mut found) {
                    *found = filter.contains(&kind.key(line)?);
                }
            }
        }
        for (line, found) in lines.iter().zip(found) {
            any |= found;
            if args.json {
                output.json_line(&json!({ "key": output::json_bytes(line), "maybe": found }))?;
            } else if !args.quiet {
                let word: &[u8] = if found { b"\tmaybe\n" } else { b"\tno\n" };
                output.bytes(&[line, word])?;
            }
        }
        Ok(())
    };
    let given: Vec<Vec<u8>> = args.keys.into_iter().map(keys::from_argument).collect();
    answer(&given.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    for file in &args.keys_from {
        keys::read(file, args.column.as_ref(), None, &mut answer)?;
    }
    output.finish()?;
    Ok(if any { Outcome::Yes } else { Outcome::No })
}

/// How the keys were read when the filter was built; a filter made by the library
/// says nothing, and then affine functions mean integers.
pub(crate) fn kind_of(filter: &MappedFilter, notes: &Notes) -> KeyKind {
    match notes.get(KEYS_NOTE) {
        Some("integer") => KeyKind::Integer,
        Some(_) => KeyKind::Text,
        None if matches!(filter.params().family(), Family::Affine(_)) => KeyKind::Integer,
        None => KeyKind::Text,
    }
}
