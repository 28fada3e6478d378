//! `bloomgrove trace`: where documents come from, across all sites of a federation.
//!
//! ```text
//!   mod.rs        query the coordinator, and retry while it is unreachable
//!   encrypted.rs  encrypts the ids of a query and decrypts those of a trace
//!   print.rs      the table
//! ```

mod encrypted;
mod print;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bloomgrove_client::Error;
use bloomgrove_client::api::{Code, Trace, TraceQuery};
use bloomgrove_render as render;

use self::encrypted::EncryptedIds;
use crate::shared::connect::{self, Remote, Server};
use crate::shared::lineage::LineageArgs;
use crate::shared::output::{Output, complain};
use crate::shared::whole_file::{self, Form};
use crate::shared::{Outcome, units};

/// Find where documents came from, across all sites.
///
/// Queries the coordinator for the complete lineage of documents: everything that they were made from,
/// by which events, and which sites know it. Only sites that may know a document are queried. Sites
/// that could not be queried are reported, and the exit code is then 2; it is 1 if no site knows the
/// document.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove trace 'invoice 4711'\n  \
    bloomgrove trace urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff --depth 4\n  \
    bloomgrove trace 'invoice 4711' --descendants --format svg -o invoice.svg")]
pub(crate) struct Args {
    #[command(flatten)]
    lineage: LineageArgs,
    /// Stop after this time, with what was found
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    time: Duration,
    /// Stop after this many links, with what was found
    #[arg(long, value_name = "COUNT", default_value = "100k", value_parser = units::count)]
    links: u64,
    /// Query all sites for everything, for comparison
    #[arg(long)]
    broadcast: bool,
    /// table, json, turtle (PROV-O), dot (Graphviz) or svg
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the trace to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Read the federation's secret from the first line of this file, if its ids are encrypted
    #[arg(long, value_name = "FILE", env = "BLOOMGROVE_SECRET_FILE")]
    secret_file: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Json,
    Turtle,
    Dot,
    Svg,
}

/// Between two attempts while the coordinator is unreachable.
const AGAIN: Duration = Duration::from_millis(300);

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let ids = EncryptedIds::new(args.secret_file.as_deref())?;
    let mut request = TraceQuery {
        direction: args.lineage.direction(),
        ids: args.lineage.ids,
        depth: args.lineage.depth,
        seconds: Some(args.time.as_secs_f64()),
        links: Some(args.links),
        broadcast: args.broadcast,
        picture: false,
    };
    ids.encrypt(&mut request);
    let remote = args.server.open()?;
    let trace = ask(&remote, &request, args.time).map_err(connect::ask_for_key)?;
    let trace = ids.decrypt(trace);
    let format = if args.json { Format::Json } else { args.format };
    let text = match format {
        Format::Table => None,
        Format::Json => Some((Form::Json, serde_json::to_string_pretty(&trace)? + "\n")),
        Format::Turtle => Some((Form::Turtle, render::turtle(&trace))),
        Format::Dot => Some((Form::Dot, render::dot(&trace))),
        Format::Svg => Some((Form::Svg, render::svg(&trace))),
    };
    match (text, args.output) {
        (Some((form, text)), Some(path)) => whole_file::write(&path, form, &text)?,
        (None, Some(_)) => {
            bail!("a table cannot be written to a file; choose another --format for -o")
        }
        (Some((_, text)), None) => {
            let mut output = Output::new();
            output.bytes(&[text.as_bytes()])?;
            output.finish()?;
        }
        (None, None) => print::table(&trace)?,
    }
    if format != Format::Json {
        print::cost(&trace);
    }
    for missing in &trace.missing {
        let site = missing.site.as_deref().unwrap_or("the trace");
        complain(format_args!("{site}: {}", missing.why));
    }
    Ok(match (trace.complete, trace.nodes.is_empty()) {
        (false, _) => Outcome::Incomplete,
        (true, true) => Outcome::No,
        (true, false) => Outcome::Yes,
    })
}

/// A query changes nothing, so it can be repeated while the coordinator restarts.
fn ask(remote: &Remote, request: &TraceQuery, time: Duration) -> Result<Trace> {
    let begun = Instant::now();
    loop {
        let error = match remote.wait_for(remote.client.trace(request)) {
            Ok(trace) => return Ok(trace),
            Err(error) => error,
        };
        let is_away = matches!(error, Error::Transport { .. }) || error.code() == Some(Code::Busy);
        if !is_away || begun.elapsed() + AGAIN > time {
            return Err(error.into());
        }
        std::thread::sleep(AGAIN);
    }
}
