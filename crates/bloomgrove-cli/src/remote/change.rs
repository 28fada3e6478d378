//! `bloomgrove remote create`, `insert`, `remove`, `rename`, `tag` and `expire`.

use std::time::Duration;

use anyhow::Result;
use bloomgrove_client::api::{ChangeSet, Code, CreateSet, Params};

use clap::ArgGroup;
use serde::Serialize;
use serde_json::json;

use super::which::chunk;
use crate::shared::connect::{Remote, key};
use crate::shared::key_args::KeyArgs;
use crate::shared::keys::KeyKind;
use crate::shared::output::{Output, complain};
use crate::shared::progress::Progress;
use crate::shared::sizing::OVERFULL;
use crate::shared::{Outcome, units};

/// Create an empty set, for a number of items or of a given size.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("size").args(["items", "bits"]).required(true),
    after_help = "Examples:\n  \
    bloomgrove remote create site/galway --items 100k --fpr 1%\n  \
    bloomgrove remote create site/pune --bits 100992 --hashes 7 --tag asia")]
pub(super) struct Create {
    /// The name of the set
    #[arg(value_name = "SET")]
    set: String,
    /// The number of items that it will contain
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    items: Option<u64>,
    /// The false-positive rate: how often the set is listed for a key that it does not contain [default: 1%]
    #[arg(long, value_name = "RATE", value_parser = units::rate, conflicts_with = "bits")]
    fpr: Option<f64>,
    /// The size of its filter in bits (1e7) or bytes (32MB); requires --hashes
    #[arg(long, value_name = "BITS", value_parser = units::bits, requires = "hashes")]
    bits: Option<u64>,
    /// The number of bits that each key sets
    #[arg(long, value_name = "COUNT", requires = "bits", value_parser = units::within::<u32>(1..=64))]
    hashes: Option<u32>,
    /// A tag, by which sets can be selected (repeatable)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Expire the set this long from now: 30min, 24h
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    expires: Option<Duration>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
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
    let bits = units::counted(set.params.bits, "bit");
    let hashes = units::counted(set.params.hashes.into(), "hash");
    let line = format_args!("created {}: {bits}, {hashes}", set.name);
    report(args.json, &set, line)
}

/// Whole seconds, at least one.
pub(super) fn seconds(time: Duration) -> u64 {
    (time.as_secs_f64().ceil() as u64).max(1)
}

/// Prints what a change did: a line for people, or JSON.
pub(super) fn report(
    json: bool,
    value: &impl Serialize,
    line: std::fmt::Arguments<'_>,
) -> Result<Outcome> {
    let mut output = Output::new();
    match json {
        true => output.json(&serde_json::to_value(value)?)?,
        false => output.line(line)?,
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Add keys to a set.
///
/// Keys are sent as they are read, a few thousand at a time. After an interruption, sending all of
/// them again does no harm.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote insert site/galway doc-00042 doc-00043\n  \
    bloomgrove remote insert site/galway --keys-from new.txt.gz")]
pub(super) struct Insert {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    #[command(flatten)]
    keys: KeyArgs,
    /// How to interpret keys
    #[arg(long = "keys", value_name = "KIND", value_enum, default_value = "text")]
    kind: KeyKind,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn insert(remote: &Remote, args: Insert) -> Result<Outcome> {
    args.keys.check()?;
    // Fail before any file is read.
    remote.wait(remote.client.set(&args.set))?;
    let progress = Progress::bytes(args.keys.total_size(), "inserting");
    let mut count = 0;
    args.keys.each(Some(&progress), |mut lines| {
        while !lines.is_empty() {
            let (now, later) = lines.split_at(chunk(lines));
            let keys = now.iter().map(|line| key(args.kind, line));
            let keys = keys.collect::<Result<_>>()?;
            remote.wait(remote.client.insert(&args.set, keys, None))?;
            count += now.len() as u64;
            lines = later;
        }
        Ok(())
    })?;
    drop(progress);
    warn_if_overfull(remote, &args.set)?;
    let value = json!({ "set": args.set, "keys": count });
    let keys = units::counted(count, "key");
    report(
        args.json,
        &value,
        format_args!("updated {}: {keys}", args.set),
    )
}

/// Warns if a set has more keys than its filter was sized for.
pub(super) fn warn_if_overfull(remote: &Remote, name: &str) -> Result<()> {
    let set = remote.wait(remote.client.set(name))?;
    if set.fill > OVERFULL {
        complain(format_args!(
            "{name} now has more keys than its filter was sized for, so expect many false positives; add it again from all its keys with `remote add --replace`"
        ));
    }
    Ok(())
}

/// Remove sets.
///
/// Exit code: 0 if all sets were found, 2 if one was not (the others are removed).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove remote remove site/galway site/pune")]
pub(super) struct Remove {
    /// Names of sets
    #[arg(value_name = "SET", required = true)]
    sets: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn remove(remote: &Remote, args: Remove) -> Result<Outcome> {
    let mut output = Output::new();
    let mut outcome = Outcome::Yes;
    for name in args.sets {
        match remote.wait_for(remote.client.remove(&name)) {
            Ok(()) if args.json => output.json_line(&json!({ "removed": name }))?,
            Ok(()) => output.line(format_args!("removed {name}"))?,
            Err(error) if error.code() == Some(Code::NotFound) => {
                complain(format_args!("{error}"));
                outcome = Outcome::Incomplete;
            }
            Err(error) => {
                // Report what was done before.
                output.flush()?;
                return Err(error.into());
            }
        }
    }
    output.finish()?;
    Ok(outcome)
}

/// Rename a set.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove remote rename site/galway site/cork")]
pub(super) struct Rename {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// Its new name
    #[arg(value_name = "NAME")]
    name: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn rename(remote: &Remote, args: Rename) -> Result<Outcome> {
    let change = ChangeSet {
        name: Some(args.name),
        ..ChangeSet::default()
    };
    let set = remote.wait(remote.client.change(&args.set, &change))?;
    let line = format_args!("renamed {}, now {}", args.set, set.name);
    report(args.json, &set, line)
}

/// Replace the tags of a set.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("new").args(["tags", "none"]).required(true),
    override_usage = "bloomgrove remote tag [OPTIONS] SET TAG...\n       \
                      bloomgrove remote tag [OPTIONS] SET --none",
    after_help = "Examples:\n  \
    bloomgrove remote tag site/galway coast europe\n  \
    bloomgrove remote tag site/galway --none")]
pub(super) struct Tag {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// The new tags, which replace all existing ones
    #[arg(value_name = "TAG")]
    tags: Vec<String>,
    /// Remove all its tags
    #[arg(long)]
    none: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn tag(remote: &Remote, args: Tag) -> Result<Outcome> {
    let change = ChangeSet {
        tags: Some(args.tags),
        ..ChangeSet::default()
    };
    let set = remote.wait(remote.client.change(&args.set, &change))?;
    let tags = match set.tags.is_empty() {
        true => "no tags".to_owned(),
        false => format!("the tags {}", set.tags.join(", ")),
    };
    report(args.json, &set, format_args!("{} has {tags}", set.name))
}

/// Change when a set expires.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("when").args(["time", "never"]).required(true),
    after_help = "Examples:\n  \
    bloomgrove remote expire session/1234 --in 30min\n  \
    bloomgrove remote expire session/1234 --never")]
pub(super) struct Expire {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// Expire the set this long from now: 30min, 24h
    #[arg(long = "in", value_name = "TIME", value_parser = units::duration)]
    time: Option<Duration>,
    /// The set never expires
    #[arg(long)]
    never: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn expire(remote: &Remote, args: Expire) -> Result<Outcome> {
    let change = ChangeSet {
        expires_in: Some(args.time.map_or(0, seconds)),
        ..ChangeSet::default()
    };
    let set = remote.wait(remote.client.change(&args.set, &change))?;
    let when = match set.expires {
        Some(then) => format!("expires {}", units::moment(then)?),
        None => "does not expire".to_owned(),
    };
    report(args.json, &set, format_args!("{} {when}", set.name))
}
