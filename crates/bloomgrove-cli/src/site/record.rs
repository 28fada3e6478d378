//! `bloomgrove site record`: events, one by flags or many from a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove_client::api::{Event, EventKind};

use clap::ArgGroup;
use serde_json::json;

use super::open;
use crate::shared::output::Output;
use crate::shared::{Outcome, connect, units};

/// Record what happened to documents.
///
/// An id can be any text; ids that are IRIs (`urn:uuid:...`, web addresses) are used unchanged in
/// RDF. Prints the id of each event once it is on disk.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("events").args(["kind", "from"]).required(true),
    after_help = "Examples:\n  \
    bloomgrove site record created --out 'invoice 1' --agent books\n  \
    bloomgrove site record bundled --in 'invoice 1' --in 'invoice 2' --out november\n  \
    bloomgrove site record sent --in november --peer pune\n  \
    bloomgrove site record --from events.jsonl")]
pub(super) struct Record {
    /// created, derived, bundled, split, sent or received
    #[arg(value_name = "KIND", value_parser = kind)]
    kind: Option<EventKind>,
    /// A document that was used or transferred (repeatable)
    #[arg(long = "in", value_name = "ID")]
    inputs: Vec<String>,
    /// A document that was produced (repeatable)
    #[arg(long = "out", value_name = "ID")]
    outputs: Vec<String>,
    /// The other site of a transfer
    #[arg(long, value_name = "SITE")]
    peer: Option<String>,
    /// Who did it
    #[arg(long, value_name = "TEXT")]
    agent: Option<String>,
    /// A human-readable label
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// When, as 2026-11-16T09:30:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// The id of the event [default: urn:uuid: and a random number]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Read events from a file, one JSON object per line; `-` is standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["inputs", "outputs", "peer", "agent", "label", "time", "id"]
    )]
    from: Option<PathBuf>,
    #[command(flatten)]
    site: connect::Site,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Events of a file sent at a time.
const BATCH: usize = 1000;

fn kind(text: &str) -> Result<EventKind, String> {
    let quoted = serde_json::Value::from(text);
    serde_json::from_value(quoted)
        .map_err(|_| "choose created, derived, bundled, split, sent or received".to_owned())
}

pub(super) fn run(args: Record) -> Result<Outcome> {
    let (remote, site) = open(args.site)?;
    let mut output = Output::new();
    let Some(kind) = args.kind else {
        let path = args.from.unwrap_or_default();
        let mut total = 0;
        for batch in batches(&path)? {
            let batch = batch.with_context(|| path.display().to_string())?;
            let count = batch.len() as u64;
            let recorded = remote.wait(site.record(batch));
            recorded.with_context(|| {
                let shown = path.display();
                match total {
                    0 => shown.to_string(),
                    // The site counts the events of a batch.
                    _ => format!(
                        "{shown}: {} recorded; after them",
                        units::counted(total, "event")
                    ),
                }
            })?;
            total += count;
        }
        match args.json {
            true => output.json(&json!({ "recorded": total }))?,
            false => output.line(format_args!("recorded {}", units::counted(total, "event")))?,
        }
        output.finish()?;
        return Ok(Outcome::Yes);
    };
    let event = Event {
        id: args.id,
        kind,
        inputs: args.inputs,
        outputs: args.outputs,
        time: args.time,
        label: args.label,
        agent: args.agent,
        peer: args.peer,
    };
    let recorded = remote.wait(site.record(vec![event]))?;
    match args.json {
        true => output.json(&serde_json::to_value(&recorded)?)?,
        false => output.line(recorded.ids.join("\n"))?,
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// The events of a file, a batch at a time.
fn batches(path: &std::path::Path) -> Result<impl Iterator<Item = Result<Vec<Event>>>> {
    let reader: Box<dyn BufRead> = match path.as_os_str() == "-" {
        true => Box::new(BufReader::new(io::stdin())),
        false => {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            Box::new(BufReader::new(file))
        }
    };
    let mut lines = (1..).zip(reader.lines());
    Ok(std::iter::from_fn(move || {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some((number, line)) = lines.next()
        {
            match event(number, line) {
                Ok(None) => {}
                Ok(Some(event)) => batch.push(event),
                Err(error) => return Some(Err(error)),
            }
        }
        (!batch.is_empty()).then_some(Ok(batch))
    }))
}

fn event(number: u64, line: io::Result<String>) -> Result<Option<Event>> {
    let line = line.with_context(|| format!("line {number}"))?;
    if line.trim().is_empty() {
        return Ok(None);
    }
    if !line.trim_start().starts_with('{') {
        bail!("line {number}: an event must be a JSON object, in {{ and }}");
    }
    let event = serde_json::from_str(&line);
    Ok(Some(event.with_context(|| format!("line {number}"))?))
}
