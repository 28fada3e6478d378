//! `bloomgrove site lineage`, `sparql` and `info`: what one site knows, and its status.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove_client::api::{LineageQuery, SiteStatus, Start};

use super::open;
use crate::shared::lineage::LineageArgs;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, connect, units};
use clap::ArgGroup;

/// Show the lineage of documents as this site knows it.
///
/// `bloomgrove trace` follows them across all sites.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove site lineage november\n  \
    bloomgrove site lineage 'invoice 1' --descendants --json")]
pub(super) struct Lineage {
    #[command(flatten)]
    lineage: LineageArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: connect::Site,
}

pub(super) fn lineage(args: Lineage) -> Result<Outcome> {
    let (remote, site) = open(args.site)?;
    let (direction, depth) = (args.lineage.direction(), args.lineage.depth);
    let ids = args.lineage.ids.into_iter().map(|id| Start { id, depth });
    let lineage = remote.wait(site.lineage(&LineageQuery {
        ids: ids.collect(),
        direction,
        links: None,
    }))?;
    let mut output = Output::new();
    if args.json {
        output.json(&serde_json::to_value(&lineage)?)?;
    } else {
        for link in &lineage.links {
            let (effect, cause) = (&link.effect, &link.cause);
            output.line(format_args!("{effect}\t{}\t{cause}", link.relation.words()))?;
        }
    }
    output.finish()?;
    if !lineage.open.is_empty() {
        let open = units::counted(lineage.open.len() as u64, "id");
        complain(format_args!(
            "there is more about {open}; query those, or use `trace`"
        ));
        return Ok(Outcome::Incomplete);
    }
    Ok(match lineage.nodes.is_empty() {
        true => Outcome::No,
        false => Outcome::Yes,
    })
}

/// Query the site's triples with SPARQL (read-only).
#[derive(clap::Args)]
#[command(group = ArgGroup::new("question").args(["query", "file"]).required(true),
    after_help = "Examples:\n  \
    bloomgrove site sparql 'SELECT * WHERE { ?s ?p ?o } LIMIT 10'\n  \
    bloomgrove site sparql --file question.rq --format csv")]
pub(super) struct Sparql {
    /// The query
    #[arg(value_name = "QUERY")]
    query: Option<String>,
    /// Read the query from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// tsv, csv, json or xml for SELECT and ASK; turtle or n-triples for CONSTRUCT and DESCRIBE
    /// [default: tsv, turtle]
    #[arg(long, value_name = "FORMAT", value_parser = media)]
    format: Option<&'static str>,
    #[command(flatten)]
    site: connect::Site,
}

const FORMATS: [(&str, &str); 6] = [
    ("tsv", "text/tab-separated-values"),
    ("csv", "text/csv"),
    ("json", "application/sparql-results+json"),
    ("xml", "application/sparql-results+xml"),
    ("turtle", "text/turtle"),
    ("n-triples", "application/n-triples"),
];

fn media(text: &str) -> Result<&'static str, String> {
    let found = FORMATS.iter().find(|(name, _)| *name == text);
    found.map(|(_, media)| *media).ok_or_else(|| {
        let names = FORMATS.map(|(name, _)| name).join(", ");
        format!("choose one of {names}")
    })
}

pub(super) fn sparql(args: Sparql) -> Result<Outcome> {
    let query = match (args.query, args.file) {
        (Some(query), _) => query,
        (None, Some(path)) => {
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())?
        }
        (None, None) => bail!("no query given"),
    };
    let (remote, site) = open(args.site)?;
    let accept = args
        .format
        .unwrap_or("text/tab-separated-values, text/turtle;q=0.9");
    let answer = remote.wait(site.sparql(&query, accept))?;
    let mut output = Output::new();
    output.bytes(&[&answer])?;
    if !answer.ends_with(b"\n") {
        output.bytes(&[b"\n"])?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Show the status of the site and of its connection to the coordinator.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  bloomgrove site info\n  bloomgrove site info --json")]
pub(super) struct Info {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: connect::Site,
}

pub(super) fn info(args: Info) -> Result<Outcome> {
    let (remote, site) = open(args.site)?;
    let status = remote.wait(site.status())?;
    let mut output = Output::new();
    if args.json {
        output.json(&serde_json::to_value(&status)?)?;
    } else {
        output.facts(&facts(&status))?;
        let rows: Vec<Vec<String>> = status
            .sets
            .iter()
            .map(|set| {
                vec![
                    set.name.clone(),
                    units::grouped(set.ids),
                    units::grouped(set.bits),
                    units::grouped(set.pending),
                ]
            })
            .collect();
        if !rows.is_empty() {
            output.line("")?;
            output.table(&["set", "ids", "bits", "pending"], &rows)?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn facts(status: &SiteStatus) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("site", status.name.clone()),
        ("triples", units::grouped(status.triples)),
        ("ids", units::grouped(status.ids)),
        ("on disk", units::size(status.bytes_on_disk)),
        ("up", format!("{:.0} s", status.uptime)),
    ];
    if status.encrypts_ids {
        facts.push(("ids leave the site", "encrypted".into()));
    }
    if let Some(coordinator) = &status.coordinator {
        let touch = match (coordinator.connected, &coordinator.problem) {
            (true, _) => "connected".to_owned(),
            (false, Some(problem)) => format!("not connected: {problem}"),
            (false, None) => "not reached yet".to_owned(),
        };
        facts.push(("coordinator", format!("{}, {touch}", coordinator.url)));
        facts.push((
            "sent",
            format!(
                "{} ({}), {} ({})",
                units::counted(coordinator.whole, "whole filter"),
                units::size(coordinator.whole_bytes),
                units::counted(coordinator.deltas, "delta"),
                units::size(coordinator.delta_bytes)
            ),
        ));
    }
    facts
}
