//! `bloomgrove remote create`, `insert`, `remove`, `rename`, `tag` and `expire`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use bloomgrove_client::api::{ChangeSet, Code, CreateSet, Params};

use super::which::chunk;
use crate::shared::connect::{Remote, key};
use crate::shared::keys::{self, Column, KeyKind};
use crate::shared::output::{Output, complain};
use crate::shared::progress::Progress;
use crate::shared::sizing::OVERFULL;
use crate::shared::{Outcome, units};

/// Make an empty set, for so many items or of so many bits.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote create site/galway --items 100k --fpr 1%\n  \
    bloomgrove remote create site/pune --bits 100992 --hashes 7 --tag asia")]
pub(super) struct Create {
    /// Its name
    #[arg(value_name = "SET")]
    set: String,
    /// How many items it will hold
    #[arg(long, value_parser = units::count, required_unless_present = "bits", conflicts_with = "bits")]
    items: Option<u64>,
    /// How often it may be named for a key that it does not hold [default: 1%]
    #[arg(long, value_parser = units::rate, conflicts_with = "bits")]
    fpr: Option<f64>,
    /// How large its filter is, in bits (1e7) or bytes (32MB); then --hashes too
    #[arg(long, value_parser = units::bits, requires = "hashes")]
    bits: Option<u64>,
    /// How many bits each key sets
    #[arg(long, requires = "bits")]
    hashes: Option<u32>,
    /// A label to ask by; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// When it goes by itself, from now: 30min, 24h
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    expires: Option<Duration>,
}

pub(super) fn create(remote: &Remote, args: Create) -> Result<Outcome> {
    let params = args.bits.zip(args.hashes).map(|(bits, hashes)| Params {
        bits,
        hashes,
        ..Params::default()
    });
    let set = CreateSet {
        name: args.set,
        params,
        items: args.items,
        fpr: args.fpr,
        tags: args.tag,
        expires_in: args.expires.map(seconds),
    };
    let set = remote.wait(remote.client.create(&set))?;
    say(format_args!(
        "made {}: {} bits, {} hashes",
        set.name,
        units::grouped(set.params.bits),
        set.params.hashes
    ))
}

/// Whole seconds, at least one.
pub(super) fn seconds(time: Duration) -> u64 {
    (time.as_secs_f64().ceil() as u64).max(1)
}

fn say(line: std::fmt::Arguments<'_>) -> Result<Outcome> {
    let mut output = Output::new();
    output.line(line)?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Add keys to a set.
///
/// They are sent as they are read, some thousand at a time; if that is interrupted, sending all
/// of them again does no harm.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote insert site/galway doc-00042 doc-00043\n  \
    bloomgrove remote insert site/galway --keys-from new.txt.gz")]
pub(super) struct Insert {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// Keys to add
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,
    /// More keys, one to a line or from a column; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Vec<PathBuf>,
    #[command(flatten)]
    column: Option<Column>,
    /// How a line is read
    #[arg(long = "keys", value_enum, default_value = "text")]
    kind: KeyKind,
}

pub(super) fn insert(remote: &Remote, args: Insert) -> Result<Outcome> {
    if args.keys.is_empty() && args.keys_from.is_empty() {
        bail!("insert what? name keys, or give a file with --keys-from");
    }
    // Refused before any file is read.
    remote.wait(remote.client.set(&args.set))?;
    let progress = Progress::bytes(keys::total_size(&args.keys_from), "inserting");
    let mut count = 0;
    let mut insert = |mut lines: &[&[u8]]| -> Result<()> {
        while !lines.is_empty() {
            let (now, later) = lines.split_at(chunk(lines));
            let keys = now.iter().map(|line| key(args.kind, line));
            let keys = keys.collect::<Result<_>>()?;
            remote.wait(remote.client.insert(&args.set, keys, None))?;
            count += now.len() as u64;
            lines = later;
        }
        Ok(())
    };
    let given: Vec<Vec<u8>> = args.keys.into_iter().map(keys::from_argument).collect();
    insert(&given.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    for file in &args.keys_from {
        keys::read(file, args.column.as_ref(), Some(&progress), &mut insert)?;
    }
    drop(progress);
    warn_if_overfull(remote, &args.set)?;
    say(format_args!(
        "updated {}: {}",
        args.set,
        units::counted(count, "key")
    ))
}

/// Says so if a set has more keys than its filter is made for.
pub(super) fn warn_if_overfull(remote: &Remote, name: &str) -> Result<()> {
    let set = remote.wait(remote.client.set(name))?;
    if set.fill > OVERFULL {
        complain(format_args!(
            "{name} now has more keys than its filter is made for, and will often be named by \
             mistake: add it again from all its keys (remote add --replace)"
        ));
    }
    Ok(())
}

/// Remove sets.
///
/// Exit code 0 if all were there, 2 if one was not (the others are removed).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove remote remove site/galway site/pune")]
pub(super) struct Remove {
    /// Names of sets
    #[arg(value_name = "SET", required = true)]
    sets: Vec<String>,
}

pub(super) fn remove(remote: &Remote, args: Remove) -> Result<Outcome> {
    let mut output = Output::new();
    let mut outcome = Outcome::Yes;
    for name in args.sets {
        match remote.wait_for(remote.client.remove(&name)) {
            Ok(()) => output.line(format_args!("removed {name}"))?,
            Err(error) if error.code() == Some(Code::NotFound) => {
                complain(format_args!("{error}"));
                outcome = Outcome::Incomplete;
            }
            Err(error) => {
                // What was done is said.
                output.flush()?;
                return Err(error.into());
            }
        }
    }
    output.finish()?;
    Ok(outcome)
}

/// Give a set another name.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove remote rename site/galway site/cork")]
pub(super) struct Rename {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// Its new name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(super) fn rename(remote: &Remote, args: Rename) -> Result<Outcome> {
    let change = ChangeSet {
        name: Some(args.name),
        ..ChangeSet::default()
    };
    let set = remote.wait(remote.client.change(&args.set, &change))?;
    say(format_args!("renamed {}, now {}", args.set, set.name))
}

/// Give a set other tags: these, and no others.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote tag site/galway coast europe\n  \
    bloomgrove remote tag site/galway --none")]
pub(super) struct Tag {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// All its tags
    #[arg(value_name = "TAG", required_unless_present = "none")]
    tags: Vec<String>,
    /// Take all its tags away
    #[arg(long, conflicts_with = "tags")]
    none: bool,
}

pub(super) fn tag(remote: &Remote, args: Tag) -> Result<Outcome> {
    let change = ChangeSet {
        tags: Some(args.tags),
        ..ChangeSet::default()
    };
    let set = remote.wait(remote.client.change(&args.set, &change))?;
    match set.tags.is_empty() {
        true => say(format_args!("{} has no tags", set.name)),
        false => say(format_args!(
            "{} has the tags {}",
            set.name,
            set.tags.join(", ")
        )),
    }
}

/// Say when a set goes by itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote expire session/1234 --in 30min\n  \
    bloomgrove remote expire session/1234 --never")]
pub(super) struct Expire {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// From now: 30min, 24h
    #[arg(long = "in", value_name = "TIME", value_parser = units::duration, required_unless_present = "never")]
    time: Option<Duration>,
    /// It stays until it is removed
    #[arg(long, conflicts_with = "time")]
    never: bool,
}

pub(super) fn expire(remote: &Remote, args: Expire) -> Result<Outcome> {
    let change = ChangeSet {
        expires_in: Some(args.time.map_or(0, seconds)),
        ..ChangeSet::default()
    };
    let set = remote.wait(remote.client.change(&args.set, &change))?;
    match set.expires {
        Some(then) => say(format_args!("{} goes {}", set.name, units::moment(then)?)),
        None => say(format_args!("{} stays until it is removed", set.name)),
    }
}
