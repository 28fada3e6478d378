//! `bloomgrove index info` and `index verify`.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::index::Index;
use serde_json::{Value, json};

use crate::shared::output::{self, Output};
use crate::shared::{Outcome, notes, open, units};

/// Show an index's sets, sizes and layouts, and why each layout was chosen.
///
/// Layouts: loose stores each filter separately; flat has a row per bit position, for dense filters;
/// sliced has blocks of 64 sets with a summary, for sparse filters; sealed is sliced and compressed.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove index info sites.grove --sets")]
pub(crate) struct Info {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// List the sets with their numbers instead
    #[arg(long)]
    sets: bool,
    /// Print JSON; with --sets, one object per line
    #[arg(long)]
    json: bool,
}

/// Check an index for damage.
///
/// Checks all checksums, and that every layout has the recorded contents of every set. Exit code:
/// 0 if the index is undamaged, 2 if not.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove index verify sites.grove")]
pub(crate) struct Verify {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn info(args: Info) -> Result<Outcome> {
    let index = open::to_query(&args.index)?;
    let notes = index.notes();
    let mut output = Output::new();
    if args.sets {
        let mut sets: Vec<_> = index.sets().collect();
        sets.sort_unstable_by_key(|set| (set.id(), set.slice()));
        for set in sets {
            let id = u64::from(set.id());
            if args.json {
                let mut line = json!({ "id": id, "name": output::json_bytes(set.name()) });
                if let Some(slice) = set.slice() {
                    line["slice"] = json!(slice);
                }
                output.json_line(&line)?;
            } else {
                let slice = set
                    .slice()
                    .map_or(String::new(), |slice| format!("\t{slice}"));
                output.bytes(&[
                    format!("{id}\t").as_bytes(),
                    set.name(),
                    slice.as_bytes(),
                    b"\n",
                ])?;
            }
        }
    } else if args.json {
        let mut facts = json(&index);
        facts["file"] = json!(args.index.to_string_lossy());
        facts["notes"] = notes::json(notes);
        output.json(&facts)?;
    } else {
        let on_disk = std::fs::metadata(&args.index).map_or(0, |about| about.len());
        let kinds = match index.params().count() {
            1 if !index.is_mixed() => {
                let params = index.params().map(|params| params.to_string());
                ("parameters", params.collect())
            }
            kinds => ("filter sizes", units::grouped(kinds as u64)),
        };
        let mut facts = vec![
            ("file", args.index.display().to_string()),
            ("on disk", units::size(on_disk)),
            ("sets", units::grouped(index.len() as u64)),
            ("filters", units::size(index.bytes())),
            kinds,
        ];
        facts.extend(notes::facts(notes));
        output.facts(&facts)?;
        output.line("")?;
        let rows: Vec<Vec<String>> = index
            .segments()
            .iter()
            .map(|segment| {
                vec![
                    units::grouped(segment.params.bits()),
                    segment.params.hashes().to_string(),
                    units::grouped(segment.sets as u64),
                    units::percent(segment.density),
                    units::size(segment.bytes),
                    segment.shape.to_string().to_owned(),
                ]
            })
            .collect();
        let head = ["bits", "hashes", "sets", "density", "size", "layout"];
        output.table(&head, &rows)?;
        let largest = index.segments();
        let largest = largest.iter().max_by_key(|segment| segment.bytes);
        if let Some(segment) = largest {
            let lead = match segment.shape == segment.choice.shape {
                true => "why".to_owned(),
                false => format!("the automatic choice would be {}", segment.choice.shape),
            };
            output.line(format_args!("\n{lead}: {}", segment.choice.reason))?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

pub(crate) fn verify(args: Verify) -> Result<Outcome> {
    let report = bloomgrove::verify(&args.index)?;
    let index = open::to_query(&args.index)?;
    let mut output = Output::new();
    if args.json {
        output.json(
            &json!({ "file": args.index.to_string_lossy(), "sets": index.len(),
                             "sections": report.sections.len(),
                             "unfinished": report.unfinished }),
        )?;
        output.finish()?;
        return Ok(Outcome::Yes);
    }
    output.line(format_args!(
        "{}: {} in {}, undamaged",
        args.index.display(),
        units::counted(index.len() as u64, "set"),
        units::counted(report.sections.len() as u64, "section"),
    ))?;
    if report.unfinished > 0 {
        output.line(format_args!(
            "note: {} at the end are from a change that was not completed, or is damaged; they \
             are ignored, and the next change removes them",
            units::size(report.unfinished)
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

pub(super) fn json(index: &Index) -> Value {
    let segments: Vec<Value> = index
        .segments()
        .iter()
        .map(|segment| {
            json!({ "bits": segment.params.bits(), "hashes": segment.params.hashes(),
                    "sets": segment.sets, "density": segment.density, "bytes": segment.bytes,
                    "layout": segment.shape.to_string(), "planned": segment.choice.shape.to_string(),
                    "reason": segment.choice.reason })
        })
        .collect();
    json!({ "sets": index.len(), "bytes": index.bytes(), "mixed": index.is_mixed(),
            "segments": segments })
}

/// The layouts in use, most bytes first.
pub(super) fn layouts(index: &Index) -> String {
    let mut segments = index.segments();
    segments.sort_by_key(|segment| std::cmp::Reverse(segment.bytes));
    let mut names: Vec<String> = Vec::new();
    for segment in &segments {
        let name = segment.shape.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() {
        0 => "empty".into(),
        _ => names.join(" and "),
    }
}
