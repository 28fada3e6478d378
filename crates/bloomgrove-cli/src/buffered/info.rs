//! `bloomgrove buffered info`: the state and properties of a page file.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::buffered::{Filter, Options, Phase, Plan};
use serde_json::{Value, json};

use super::in_words;
use crate::shared::output::Output;
use crate::shared::{Outcome, units};

/// Show a buffered filter's state, number of keys, size and hashing
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
    let (plan, state) = (filter.plan(), filter.state()?);
    let bytes = std::fs::metadata(&args.file).map_or(plan.bytes(), |about| about.len());
    let workers = Options::default().workers;
    let mut output = Output::new();
    if args.json {
        let mut facts = json(plan, state.keys);
        facts["file"] = json!(args.file.to_string_lossy());
        facts["state"] = json!(state.phase.name());
        facts["finished"] = json!(state.phase == Phase::Sealed);
        facts["bytes_on_disk"] = json!(bytes);
        facts["written_pages"] = json!(state.written_pages);
        facts["least_memory"] = json!(plan.least_memory(workers));
        facts["direct"] = json!(filter.is_direct());
        facts["verified"] = json!(args.verify);
        let notes = filter.notes().iter();
        facts["notes"] = notes
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        output.json(&facts)?;
        output.finish()?;
        return Ok(Outcome::Yes);
    }
    let params = plan.params();
    let sure = match state.phase {
        Phase::Sealed => "",
        _ => " as of the last sync",
    };
    let mut facts = vec![
        ("file", args.file.display().to_string()),
        ("state", in_words(state.phase, filter.notes()).into()),
        (
            "inserted",
            format!("{}{sure}", units::counted(state.keys, "key")),
        ),
        ("on disk", units::size(bytes)),
        (
            "pages",
            format!(
                "{} of {}, {} written",
                units::grouped(plan.pages()),
                units::size(plan.page_bytes()),
                units::grouped(state.written_pages)
            ),
        ),
        ("bits", units::grouped(params.bits())),
        ("hashes", params.hashes().to_string()),
        ("layout", params.layout().name().into()),
        ("family", params.family().name().into()),
        ("derivation", params.derivation().name().into()),
        ("seed", params.seed().to_string()),
        (
            "waiting",
            format!("{} bytes of memory per buffered key", plan.entry_bytes()),
        ),
        (
            "least memory",
            format!(
                "{}, with {workers} workers",
                units::size(plan.least_memory(workers))
            ),
        ),
        (
            "false-positive rate",
            format!("at most {}", units::percent(plan.expected_fpr(state.keys))),
        ),
    ];
    facts.extend(
        filter
            .notes()
            .iter()
            .map(|(name, value)| (name, value.to_owned())),
    );
    if report.is_some() {
        facts.push(("checksums", "valid".into()));
    }
    output.facts(&facts)?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// The facts of any plan, with this many keys.
pub(super) fn json(plan: &Plan, keys: u64) -> Value {
    let params = plan.params();
    json!({
        "keys": keys,
        "bits": params.bits(),
        "hashes": params.hashes(),
        "layout": params.layout().name(),
        "family": params.family().name(),
        "derivation": params.derivation().name(),
        "seed": params.seed(),
        "pages": plan.pages(),
        "page_bytes": plan.page_bytes(),
        "entry_bytes": plan.entry_bytes(),
        "expected_fpr": plan.expected_fpr(keys),
    })
}
