//! `bloomgrove remote list`, `info`, `download` and `snapshot`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use bloomgrove::format::Content;
use bloomgrove::raw::codec::Kind;
use bloomgrove_client::ListQuery;
use bloomgrove_client::api::{Set, Status};

use serde_json::json;

use super::change::report;
use crate::shared::connect::Remote;
use crate::shared::output::Output;
use crate::shared::{Outcome, message_file, units};

/// List the sets by name.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote list --prefix logs/\n  \
    bloomgrove remote list --tag november --json")]
pub(super) struct List {
    /// List only sets whose name begins with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// List only sets with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// After each name, print the estimated number of items, the version and the tags
    #[arg(short, long, conflicts_with = "json")]
    long: bool,
    /// Print one JSON object per set
    #[arg(long)]
    json: bool,
}

/// The most that a server returns at once.
const PAGE: u64 = 1000;

pub(super) fn list(remote: &Remote, args: List) -> Result<Outcome> {
    let mut listing = remote.client.list_all(ListQuery {
        prefix: args.prefix,
        tag: args.tag,
        after: None,
        limit: Some(PAGE),
    });
    let mut output = Output::new();
    while let Some(set) = remote.wait(listing.next())? {
        if args.json {
            output.json_line(&serde_json::to_value(&set)?)?;
        } else if args.long {
            let items = set.items.map_or("?".into(), |items| format!("{items:.0}"));
            output.line(format_args!(
                "{}\t{items}\t{}\t{}",
                set.name,
                set.version,
                set.tags.join(",")
            ))?;
        } else {
            output.line(&set.name)?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Show the status of a set or of the server.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote info\n  \
    bloomgrove remote info site/galway --json")]
pub(super) struct Info {
    /// The set [default: the server]
    #[arg(value_name = "SET")]
    set: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn info(remote: &Remote, args: Info) -> Result<Outcome> {
    let mut output = Output::new();
    match args.set {
        Some(name) => {
            let set = remote.wait(remote.client.set(&name))?;
            match args.json {
                true => output.json(&serde_json::to_value(&set)?)?,
                false => output.facts(&about_set(&set)?)?,
            }
        }
        None => {
            let status = remote.wait(remote.client.status())?;
            match args.json {
                true => output.json(&serde_json::to_value(&status)?)?,
                false => print_status(&mut output, remote.client.server(), &status)?,
            }
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn about_set(set: &Set) -> Result<Vec<(&'static str, String)>> {
    let params = &set.params;
    let kinds = [&params.layout, &params.family, &params.derivation];
    let kinds: Vec<&str> = kinds.into_iter().flatten().map(String::as_str).collect();
    let mut facts = vec![
        ("set", set.name.clone()),
        ("version", set.version.to_string()),
        (
            "filter",
            format!(
                "{}, {}{}{}",
                units::counted(params.bits, "bit"),
                units::counted(params.hashes.into(), "hash"),
                if kinds.is_empty() { "" } else { ", " },
                kinds.join(", ")
            ),
        ),
        ("size", units::size(set.bytes)),
        (
            "set bits",
            format!(
                "{} ({})",
                units::grouped(set.ones),
                units::percent(set.fill)
            ),
        ),
        ("items", units::estimate(set.items.unwrap_or(f64::INFINITY))),
        ("false-positive rate", units::percent(set.expected_fpr)),
        ("created", units::moment(set.created)?),
        ("changed", units::moment(set.changed)?),
    ];
    if !set.tags.is_empty() {
        facts.insert(1, ("tags", set.tags.join(", ")));
    }
    if let Some(expires) = set.expires {
        facts.push(("expires", units::moment(expires)?));
    }
    Ok(facts)
}

fn print_status(output: &mut Output, server: &str, status: &Status) -> Result<()> {
    let totals = &status.totals;
    let resident = status.resident_bytes;
    output.facts(&[
        ("server", server.to_owned()),
        ("program", status.program.clone()),
        ("uptime", format!("{:.0} s", status.uptime)),
        ("sets", units::grouped(status.sets)),
        (
            "filters",
            format!(
                "{} of {}",
                units::size(status.bytes),
                units::size(status.memory_limit)
            ),
        ),
        ("memory", resident.map_or("unknown".into(), units::size)),
        ("on disk", units::size(status.store_bytes)),
        ("version", status.version.to_string()),
        ("CPU time", format!("{:.1} s", status.cpu_seconds)),
        (
            "queried",
            format!(
                "{}, {} listed",
                units::counted(totals.keys_queried, "key"),
                units::counted(totals.sets_listed, "set")
            ),
        ),
        (
            "changed",
            format!(
                "{} in {}, {} added",
                units::counted(totals.changes, "change"),
                units::counted(totals.commits, "commit"),
                units::counted(totals.keys_added, "key")
            ),
        ),
    ])?;
    if status.segments.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let rows: Vec<Vec<String>> = status
        .segments
        .iter()
        .map(|segment| {
            vec![
                units::grouped(segment.bits),
                segment.hashes.to_string(),
                units::grouped(segment.sets),
                units::percent(segment.density),
                units::size(segment.bytes),
                segment.shape.clone(),
            ]
        })
        .collect();
    let head = ["bits", "hashes", "sets", "density", "size", "layout"];
    output.table(&head, &rows)?;
    if let Some(largest) = status.segments.iter().max_by_key(|segment| segment.bytes) {
        output.line(format_args!("\nwhy: {}", largest.reason))?;
    }
    Ok(())
}

/// Write the filter of a set to a file.
///
/// Prints its version, which is the --base of an update made from it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote download site/galway -o galway.grove\n  \
    bloomgrove remote download site/galway --message -o galway.msg")]
pub(super) struct Download {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// The file to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write it compressed, as `filter compress` does
    #[arg(long)]
    message: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn download(remote: &Remote, args: Download) -> Result<Outcome> {
    let version = if args.message {
        let (message, version) = remote.wait(remote.client.filter_bytes(&args.set))?;
        // Checked before it replaces another.
        bloomgrove::codec::expand(&message[..]).context(args.set.clone())?;
        message_file::write(&args.output, Kind::Filter, "writing", |mut out| {
            std::io::Write::write_all(&mut out, &message)
                .map(|()| message.len() as u64)
                .map_err(|source| bloomgrove::Error::Io {
                    doing: "writing",
                    source,
                })
        })?;
        version
    } else {
        bloomgrove::raw::format::check_target(&args.output, Content::Filter)?;
        let (filter, version) = remote.wait(remote.client.filter(&args.set))?;
        filter.save(&args.output)?;
        version
    };
    // The file may be standard output.
    if message_file::is_stream(&args.output) {
        return Ok(Outcome::Yes);
    }
    let file = args.output.display();
    let value = json!({ "file": file.to_string(), "set": args.set, "version": version });
    report(
        args.json,
        &value,
        format_args!("{file}: version {version} of {}", args.set),
    )
}

/// Write a snapshot of everything on the server to its data directory.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote snapshot\n  \
    bloomgrove remote snapshot --list")]
pub(super) struct Snapshot {
    /// List the existing snapshots instead
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn snapshot(remote: &Remote, args: Snapshot) -> Result<Outcome> {
    let snapshots = match args.list {
        true => remote.wait(remote.client.snapshots())?.snapshots,
        false => vec![remote.wait(remote.client.snapshot())?],
    };
    let mut output = Output::new();
    for snapshot in snapshots {
        match args.json {
            true => output.json_line(&serde_json::to_value(&snapshot)?)?,
            false => output.line(format_args!(
                "{}\t{}\t{}",
                snapshot.file,
                units::size(snapshot.bytes),
                units::moment(snapshot.created)?
            ))?,
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}
