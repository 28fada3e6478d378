//! `bloomgrove filter info`: what is known of a filter.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::format::Notes;
use bloomgrove::raw::format::expect_scan;
use bloomgrove::{Filter, MappedFilter};
use serde_json::{Value, json};

use crate::shared::output::Output;
use crate::shared::units::{self, Items};
use crate::shared::{Outcome, notes};

/// Show a filter's size, hashing, fill, number of keys and false-positive rate.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove filter info users.grove --json")]
pub(crate) struct Args {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// Also check all checksums
    #[arg(long)]
    verify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if args.verify {
        bloomgrove::verify(&args.filter)?;
    }
    let filter = MappedFilter::map(&args.filter)?;
    expect_scan(&filter);
    let notes = Notes::of_file(&args.filter)?;
    let items = notes::items(filter.estimated_items(), &notes);
    let mut output = Output::new();
    if args.json {
        let mut facts = json(&filter, items);
        facts["file"] = json!(args.filter.to_string_lossy());
        facts["verified"] = json!(args.verify);
        facts["notes"] = notes::json(&notes);
        output.json(&facts)?;
    } else {
        let params = filter.params();
        let mut facts = vec![
            ("file", args.filter.display().to_string()),
            ("memory", units::size(params.words() as u64 * 8)),
            ("bits", units::grouped(params.bits())),
            ("hashes", params.hashes().to_string()),
            ("layout", params.layout().to_string()),
            ("family", params.family().to_string()),
            ("derivation", params.derivation().to_string()),
            ("seed", params.seed().to_string()),
            ("fill", units::percent(filter.fill())),
            ("items", items.number()),
            ("false-positive rate", units::percent(filter.expected_fpr())),
        ];
        facts.extend(notes::facts(&notes));
        if args.verify {
            facts.push(("checksums", "valid".into()));
        }
        output.facts(&facts)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// A filter in one line.
pub(super) fn line(filter: &Filter, items: Items) -> String {
    format!(
        "{items}, {}, false-positive rate {}",
        units::size(filter.params().words() as u64 * 8),
        units::percent(filter.expected_fpr()),
    )
}

/// The facts of any filter, also of one just built.
pub(super) fn json<S: AsRef<[u64]>>(filter: &Filter<S>, items: Items) -> Value {
    let params = filter.params();
    let (name, count) = items.json();
    let mut facts = json!({
        "bits": params.bits(),
        "hashes": params.hashes(),
        "layout": params.layout().to_string(),
        "family": params.family().to_string(),
        "derivation": params.derivation().to_string(),
        "seed": params.seed(),
        "bytes": params.words() * 8,
        "fill": filter.fill(),
        "expected_fpr": filter.expected_fpr(),
    });
    facts["estimated_items"] = count.clone();
    facts[name] = count;
    facts
}
