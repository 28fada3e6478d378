//! `bloomgrove site generate`: synthetic events of a federation, to try things out.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove_site::generate::Workload;

use serde_json::json;

use crate::shared::output::Output;
use crate::shared::whole_file::{Form, WholeFile};
use crate::shared::{Outcome, interrupt, units};

/// Generate events of a federation: documents created, sent, bundled, split and derived.
///
/// Writes a file per site into DIR, for `bloomgrove site record --from`. The same seed gives the
/// same events everywhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove site generate --sites 12 --events 10000 -o events\n  \
    bloomgrove site record --from events/galway.jsonl")]
pub(super) struct Generate {
    /// The number of sites
    #[arg(long, value_name = "COUNT", default_value = "12", value_parser = units::count)]
    sites: u64,
    /// The total number of events
    #[arg(long, value_name = "COUNT", default_value = "10k", value_parser = units::count)]
    events: u64,
    /// The random seed
    #[arg(long, value_name = "NUMBER", default_value = "8", value_parser = units::count)]
    seed: u64,
    /// The directory to write to; it is created if necessary
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Files that are open at a time.
const MOST_SITES: u64 = 1000;

pub(super) fn run(args: Generate) -> Result<Outcome> {
    if args.sites == 0 || args.sites > MOST_SITES {
        bail!("--sites is {}; it must be 1 to {MOST_SITES}", args.sites);
    }
    let workload = Workload {
        sites: args.sites as u32,
        events: args.events,
        seed: args.seed,
        labels: true,
        ..Workload::default()
    };
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut files = BTreeMap::new();
    for (site, event) in workload.events() {
        if interrupt::was_asked() {
            bail!("interrupted; nothing was written");
        }
        let file = match files.entry(site) {
            std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let path = folder.join(format!("{}.jsonl", workload.site(site)));
                place.insert(WholeFile::create(&path, Form::Events)?)
            }
        };
        serde_json::to_writer(&mut *file, &event)?;
        file.write_all(b"\n")?;
    }
    let sites = files.len() as u64;
    for file in files.into_values() {
        file.finish()?;
    }
    let mut output = Output::new();
    let shown = folder.display();
    if args.json {
        let value =
            json!({ "events": args.events, "sites": sites, "directory": shown.to_string() });
        output.json(&value)?;
    } else {
        let events = units::counted(args.events, "event");
        let sites = units::counted(sites, "site");
        output.line(format_args!("{events} of {sites} in {shown}"))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}
