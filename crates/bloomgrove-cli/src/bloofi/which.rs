//! `bloomgrove bloofi which`: the sets that may contain a key, and the cost of finding them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove_trees::bloofi::NamedBloofi;
use serde_json::{Map, json};

use crate::shared::answers::{Enough, Form};
use crate::shared::key_args::KeyArgs;
use crate::shared::keys::KeyKind;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, notes, units};

/// Find the sets of a Bloofi tree that may contain a key.
///
/// A set that is not listed does not contain the key. A listed set contains it, except for false
/// positives at the rate of its filter. The tree does not record the files that its sets were read
/// from, so changes to them are not noticed.
///
/// --costs reports the number of nodes whose bits were checked, the cost measure of the paper.
///
/// Exit code: 0 if any set may contain any key, 1 if none does, 2 if something went wrong.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloofi which sites.bloofi.grove doc-00042 --costs\n  \
    bloomgrove bloofi which sites.bloofi.grove --keys-from wanted.txt --json")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    #[command(flatten)]
    form: Form,
    /// Report how many nodes were checked: on standard error, or with --json for each key
    #[arg(long)]
    costs: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.keys.check()?;
    let tree = NamedBloofi::load(&args.tree)?;
    let kind = notes::key_kind(&Notes::of_file(&args.tree)?).unwrap_or(KeyKind::Text);
    let form = Form {
        many: args.keys.are_many(),
        ..args.form
    };
    let mut output = Output::new();
    let (mut any, mut queries, mut checked) = (false, 0, 0);
    args.keys.each(None, |lines| {
        for line in lines {
            let key = kind.key(line)?;
            let mut names = Vec::new();
            let nodes = tree.search(&tree.tree().params().probe(&key), &mut names);
            (queries, checked) = (queries + 1, checked + nodes);
            any |= !names.is_empty();
            let mut more = Map::new();
            if args.costs {
                more.insert("nodes_checked".into(), json!(nodes));
            }
            form.print(&mut output, line, names.len() as u64, &names, more)?;
            if form.quiet && any {
                bail!(Enough);
            }
        }
        Ok(())
    })?;
    output.finish()?;
    if args.costs && !form.json {
        let nodes = units::grouped(tree.tree().node_count() as u64);
        match queries {
            0 | 1 => complain(format_args!("{checked} of {nodes} nodes checked")),
            _ => complain(format_args!(
                "{:.1} of {nodes} nodes checked per key, {} keys",
                checked as f64 / queries as f64,
                units::grouped(queries),
            )),
        }
    }
    Ok(if any { Outcome::Yes } else { Outcome::No })
}
