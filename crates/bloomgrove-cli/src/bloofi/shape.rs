//! `bloomgrove bloofi rebuild` and `widen`: build the tree again from the same sets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::Filter;

use super::{Bulk, Changing, info, sets};
use crate::shared::keys::{KeyKind, KeysArgs};
use crate::shared::output;
use crate::shared::read_sets::How;
use crate::shared::sizing::{self, Sizing};
use crate::shared::sources::{self, SourceKind};
use crate::shared::{Outcome, interrupt, notes, units};

/// Missing sets that are listed by name.
const LISTED: usize = 5;

/// Regroup the similar sets of a Bloofi tree.
///
/// After many changes, similar sets may no longer be close together. The filters do not change.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloofi rebuild sites.bloofi.grove")]
pub(crate) struct Rebuild {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// How to build the tree
    #[arg(long, value_enum, value_name = "HOW", default_value = "packed")]
    bulk: Bulk,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Give all sets of a Bloofi tree larger filters.
///
/// The remedy for a saturated root (section 3.4 of the paper). A filter cannot be enlarged, so the
/// files of keys that the sets were built from are read again: name them, or their directory, as
/// for `bloofi build`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    bloomgrove bloofi widen sites.bloofi.grove examples/sites --items 10k")]
pub(crate) struct Widen {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Files of keys, or directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    size: sizing::SizeArgs,
    #[command(flatten)]
    from: KeysArgs,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn rebuild(args: Rebuild) -> Result<Outcome> {
    let mut file = Changing::open(&args.tree)?;
    // Nothing has been written yet, so Ctrl-C may end the process at once.
    let waiting = interrupt::Waiting::new();
    file.tree.rebuild(args.bulk.into())?;
    drop(waiting);
    file.save()?;
    print(&args.tree, &file, args.json)
}

fn print(path: &Path, file: &Changing<'_>, json: bool) -> Result<Outcome> {
    let facts = json.then(|| info::json(&file.tree));
    output::summary(path, facts, || info::line(&file.tree))?;
    Ok(Outcome::Yes)
}

pub(crate) fn widen(args: Widen) -> Result<Outcome> {
    let Sizing::Equal(params) = args.size.sizing()? else {
        bail!("no size given; pass --items N for filters of N keys, or --bits and --hashes");
    };
    let mut file = Changing::open(&args.tree)?;
    let how = How {
        sizing: Sizing::Equal(params.clone()),
        kind: notes::key_kind(&file.notes).unwrap_or(KeyKind::Text),
        from: args.from,
    };
    let (mut sources, found) = sources::find(&args.paths);
    sources
        .retain(|source| source.kind == SourceKind::Keys && file.tree.filter(&source.name).is_ok());
    let mut filters: HashMap<Vec<u8>, Filter> = HashMap::new();
    let read = sets::read(
        &sources,
        &how,
        "pass each file only once",
        |name, filter| {
            filters.insert(name, filter);
            Ok(())
        },
    )?;
    let missing: Vec<_> = file
        .tree
        .names()
        .filter(|name| !filters.contains_key(*name))
        .map(String::from_utf8_lossy)
        .collect();
    if !missing.is_empty() || !found || !read {
        let shown = missing[..missing.len().min(LISTED)].join(", ");
        bail!(
            "nothing was changed; the keys of {} are not in the files given ({shown}{})",
            units::counted(missing.len() as u64, "set"),
            if missing.len() > LISTED { ", ..." } else { "" }
        );
    }
    file.tree
        .widen(params, |name, filter| match filters.get(name) {
            Some(wide) => filter.union_with(wide),
            None => Ok(()),
        })?;
    file.save().context("saving the wider tree")?;
    print(&args.tree, &file, args.json)
}
