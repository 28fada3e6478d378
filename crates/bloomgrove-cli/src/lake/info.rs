//! `bloomgrove lake info`: what the index of a table has, and how far behind it is.

use anyhow::{Context, Result, bail};
use bloomgrove::raw::tune::fpr_of_ones;
use serde_json::json;

use super::known::{How, Known};
use super::table::TableArgs;
use super::tag::Origin;
use crate::shared::output::Output;
use crate::shared::search::Complaints;
use crate::shared::{Outcome, units};

/// Show what the index of a table contains, and which files it lacks.
///
/// "false positives" is the expected number of row groups that a query for one value lists although
/// they do not contain it, estimated from how full the filters are.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove lake info events/")]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let path = args.table.index_path()?;
    let Some(index) = args.table.open(&path)? else {
        bail!(
            "{}: there is no index; make one with `lake index`",
            path.display()
        );
    };
    let how = How::of(&index).with_context(|| path.display().to_string())?;
    let mut complaints = Complaints::default();
    let listed = args.table.list(&mut complaints)?;
    let known = Known::of(&index);
    let current = listed
        .iter()
        .filter(|(name, entry)| known.is_current(name, entry));
    let current = current.count();
    let lacking = listed.len() - current;
    let gone = known
        .files()
        .filter(|file| !listed.contains_key(file.name()));
    let gone = gone.count();
    let bytes = std::fs::metadata(&path).map_or(0, |about| about.len());
    let wasted: f64 = index
        .segments()
        .iter()
        .map(|segment| {
            let ones = segment.density * segment.params.bits() as f64;
            segment.sets as f64 * fpr_of_ones(segment.params, ones as u64)
        })
        .sum::<f64>()
        / how.columns.len() as f64;

    let mut output = Output::new();
    let columns = known.kinds_of(None).into_iter().map(|(kind, count)| {
        let from = match kind.origin {
            Origin::Footer => "footers",
            _ => "values",
        };
        let name = how.columns.get(kind.column as usize);
        (
            name.cloned().unwrap_or_default(),
            kind.spelling.to_string(),
            count,
            from,
        )
    });
    if args.json {
        let columns: Vec<_> = columns
            .map(|(name, contains, filters, from)| {
                json!({ "name": name, "contains": contains, "filters": filters, "from": from })
            })
            .collect();
        output.json(&json!({
            "index": path.to_string_lossy(), "bytes": bytes, "files": listed.len(), "current": current,
            "new_or_changed": lacking, "deleted": gone, "columns": columns, "fpr": how.fpr,
            "false_positives": wasted,
        }))?;
    } else {
        output.facts(&[
            ("index", path.display().to_string()),
            ("on disk", units::size(bytes)),
            ("files", units::grouped(listed.len() as u64)),
            ("new or changed", units::grouped(lacking as u64)),
            ("deleted", units::grouped(gone as u64)),
            (
                "false positives",
                format!("{wasted:.2} row groups per value"),
            ),
        ])?;
        output.line("")?;
        let rows: Vec<Vec<String>> = columns
            .map(|(name, contains, filters, from)| {
                vec![name, contains, units::grouped(filters), from.into()]
            })
            .collect();
        output.table(&["column", "contains", "filters", "source"], &rows)?;
    }
    output.finish()?;
    complaints.finish();
    Ok(Outcome::of(complaints.is_empty()))
}
