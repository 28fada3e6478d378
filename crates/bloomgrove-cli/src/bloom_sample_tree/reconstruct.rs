//! `bloomgrove bloom-sample-tree reconstruct`.

use std::io::Write;

use anyhow::{Context, Result};
use serde_json::json;

use super::method::Question;
use crate::shared::output::Output;
use crate::shared::whole_file::ListArgs;
use crate::shared::{Outcome, interrupt, units};

/// List the members of a filter.
///
/// Searches the tree, or uses one of the two methods that the paper compares it with. Prints the names
/// of the tree that the filter accepts: all of them, unless --threshold is a number. Some may be false
/// positives. Exit code: 0 if a member was found, 1 if none was.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloom-sample-tree reconstruct users.bst.grove users.grove -o users.txt\n  \
    bloomgrove bloom-sample-tree reconstruct users.bst.grove users.grove --count --threshold 0.5 --costs")]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
    #[command(flatten)]
    list: ListArgs,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let mut opened = args.question.open()?;
    // Nothing has been written yet, so Ctrl-C may end the process at once.
    let waiting = interrupt::Waiting::new();
    let found = opened.reconstruct()?;
    drop(waiting);
    let mut output = Output::new();
    let members = units::counted(found.len() as u64, "member");
    match (args.list.create()?, &args.list.output) {
        (Some(mut file), Some(path)) => {
            for name in &found {
                writeln!(file, "{name}").with_context(|| format!("{}: writing", path.display()))?;
            }
            let size = units::size(file.finish()?);
            if !args.question.json {
                output.line(format_args!("{}: {members}, {size}", path.display()))?;
            }
        }
        _ if args.question.json => {}
        _ if args.list.count => output.line(found.len())?,
        _ => found.iter().try_for_each(|name| output.line(name))?,
    }
    if args.question.json {
        let mut answer = json!({ "method": opened.method(), "count": found.len() });
        if !args.list.count && args.list.output.is_none() {
            answer["members"] = json!(found);
        }
        if args.question.costs {
            answer["costs"] = opened.costs_json();
        }
        output.json(&answer)?;
    }
    output.finish()?;
    if args.question.costs && !args.question.json {
        opened.report_costs(None);
    }
    Ok(match found.is_empty() {
        true => opened.no_member(),
        false => Outcome::Yes,
    })
}
