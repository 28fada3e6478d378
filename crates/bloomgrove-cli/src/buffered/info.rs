//! `bloomgrove buffered info`: the state and properties of a page file.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::buffered::{BufferOptions, Filter, Geometry, Phase};
use serde_json::{Value, json};

use super::in_words;
use crate::shared::output::Output;
use crate::shared::{Outcome, notes, units};

/// Show a buffered filter's state, number of keys, size and hashing.
///
/// Works while the filter is being built.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove buffered info orders.grove --verify")]
pub(crate) struct Args {
    /// The filter
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also check the checksums of every page
    #[arg(long)]
    verify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let report = match args.verify {
        true => Some(bloomgrove::verify(&args.file)?),
        false => None,
    };
    let filter = Filter::open(&args.file)?;
    let (geometry, state) = (filter.geometry(), filter.state()?);
    let bytes = std::fs::metadata(&args.file).map_or(geometry.bytes(), |about| about.len());
    let workers = BufferOptions::default().workers;
    let mut output = Output::new();
    if args.json {
        let mut facts = json(geometry, state.keys);
        facts["file"] = json!(args.file.to_string_lossy());
        facts["state"] = json!(state.phase.to_string());
        facts["finished"] = json!(state.phase == Phase::Finished);
        facts["bytes_on_disk"] = json!(bytes);
        facts["written_pages"] = json!(state.written_pages);
        facts["minimum_memory"] = json!(geometry.least_memory(workers));
        facts["direct"] = json!(filter.is_direct());
        facts["verified"] = json!(args.verify);
        facts["notes"] = notes::json(filter.notes());
        output.json(&facts)?;
        output.finish()?;
        return Ok(Outcome::Yes);
    }
    let params = geometry.params();
    let sure = match state.phase {
        Phase::Finished => "",
        _ => " as of the last sync",
    };
    let mut facts = vec![
        ("file", args.file.display().to_string()),
        ("state", in_words(state.phase, filter.notes())),
        (
            "inserted",
            format!("{}{sure}", units::counted(state.keys, "key")),
        ),
        ("on disk", units::size(bytes)),
        (
            "pages",
            format!(
                "{} of {}, {} written",
                units::grouped(geometry.pages()),
                pages(geometry.page_bytes()),
                units::grouped(state.written_pages)
            ),
        ),
        ("bits", units::grouped(params.bits())),
        ("hashes", params.hashes().to_string()),
        ("layout", params.layout().to_string()),
        ("family", params.family().to_string()),
        ("derivation", params.derivation().to_string()),
        ("seed", params.seed().to_string()),
        (
            "pending keys",
            format!("{} bytes of memory each", geometry.entry_bytes()),
        ),
        (
            "minimum memory",
            format!(
                "{}, with {}",
                units::size(geometry.least_memory(workers)),
                units::counted(workers as u64, "worker")
            ),
        ),
        (
            "false-positive rate",
            format!(
                "at most {}",
                units::percent(geometry.expected_fpr(state.keys))
            ),
        ),
    ];
    facts.extend(notes::facts(filter.notes()));
    if report.is_some() {
        facts.push(("checksums", "valid".into()));
    }
    output.facts(&facts)?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// The size of a page, in the units of --page.
fn pages(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", units::grouped(bytes >> 20)),
        bytes => format!("{} KiB", units::grouped(bytes >> 10)),
    }
}

/// The facts of any geometry, with this many keys.
pub(super) fn json(geometry: &Geometry, keys: u64) -> Value {
    let params = geometry.params();
    json!({
        "keys": keys,
        "bits": params.bits(),
        "hashes": params.hashes(),
        "layout": params.layout().to_string(),
        "family": params.family().to_string(),
        "derivation": params.derivation().to_string(),
        "seed": params.seed(),
        "pages": geometry.pages(),
        "page_bytes": geometry.page_bytes(),
        "entry_bytes": geometry.entry_bytes(),
        "expected_fpr": geometry.expected_fpr(keys),
    })
}
