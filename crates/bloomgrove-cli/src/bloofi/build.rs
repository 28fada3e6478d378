//! `bloomgrove bloofi build`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::Error;
use bloomgrove::format::{Content, Notes};
use bloomgrove::raw::format::check_target;
use bloomgrove_trees::bloofi::{BloofiOptions, Metric, NamedBloofi};
use serde_json::json;

use super::{Bulk, info, sets};
use crate::shared::keys::{Column, KeyKind};
use crate::shared::output::{Output, complain};
use crate::shared::sizing::{self, Sizing, is_overfull, sets_have};
use crate::shared::sources::{self, How};
use crate::shared::{Outcome, interrupt, notes, open};

/// Build a Bloofi tree of many sets.
///
/// Every leaf of the tree is the Bloom filter of a set, every node above it the union of its children;
/// a search goes down only where all bits of the key are set. An index (`bloomgrove index`) answers the
/// same queries faster; this is the published structure, to be used and compared.
///
/// Takes what `index build` takes: every file is a set and every line of it a key; with --column, every
/// value of that column of a .csv, .tsv or .parquet file. A .grove file is a filter, or an index of
/// which all sets are taken. Of a directory, all files in and below it, except hidden ones and indexes.
///
/// All filters of a tree have the same parameters. Without --items or --bits they are those of the
/// filters and indexes given, or large enough for the largest set at the rate --fpr, for which files of keys
/// are read twice.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloofi build logs/ -o logs.bloofi.grove\n  \
    bloomgrove bloofi build sites.grove -o sites.bloofi.grove --order 4 --metric jaccard")]
pub(crate) struct Args {
    /// Files of keys, filters, indexes, or directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The tree to write, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The order d: inner nodes have d to 2d children
    #[arg(long, value_name = "D", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(2..=65536))]
    order: u32,
    /// How the distance between two filters is measured
    #[arg(long, value_enum, default_value = "hamming")]
    metric: MetricArg,
    /// Split nodes with every bit set, too, instead of leaving them longer (section 3.4)
    #[arg(long)]
    split_full: bool,
    /// How the tree is built
    #[arg(long, value_enum, value_name = "HOW", default_value = "packed")]
    bulk: Bulk,
    /// Insert set by set, as the paper does, instead of building in bulk
    #[arg(long, conflicts_with = "bulk")]
    insert: bool,
    #[command(flatten)]
    size: sizing::SizeArgs,
    #[command(flatten)]
    column: Option<Column>,
    /// How a line is read
    #[arg(long, value_enum, default_value = "text")]
    keys: KeyKind,
    /// Write a tree even if not all sets can be read
    #[arg(long)]
    partial: bool,
    /// Print facts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum MetricArg {
    /// The number of bits in which they differ
    Hamming,
    /// 1 minus the share of common bits among all
    Jaccard,
    /// 1 minus the cosine of the angle between them
    Cosine,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    check_target(&args.output, Content::Bloofi)?;
    let options = BloofiOptions::default()
        .order(args.order as usize)
        .metric(match args.metric {
            MetricArg::Hamming => Metric::Hamming,
            MetricArg::Jaccard => Metric::Jaccard,
            MetricArg::Cosine => Metric::Cosine,
        })
        .split_full(args.split_full);
    let (sources, found) = sources::find(&args.paths);
    let mut how = How {
        sizing: Sizing::Own(sizing::USUAL_FPR),
        kind: args.keys,
        column: args.column,
    };
    let params = sets::params(&args.size, &sources, &mut how)?;
    how.sizing = Sizing::Equal(params.clone());

    // Takes the sets one by one if they are to be inserted.
    let mut tree = NamedBloofi::new(params.clone(), options)?;
    let mut all = Vec::new();
    let mut names = std::collections::HashSet::new();
    let mut overfull = 0;
    let read = sets::read(&sources, &how, |name, filter| {
        params.check_equal(filter.params())?;
        overfull += u64::from(is_overfull(&filter));
        if args.insert {
            return tree.insert(name, &filter).map(|_| ());
        }
        if !names.insert(name.clone()) {
            let name = String::from_utf8_lossy(&name).into_owned();
            return Err(Error::DuplicateSet { name });
        }
        all.push((name, filter));
        Ok(())
    })?;
    let complete = found && read;
    if !complete && !args.partial {
        bail!("no tree was written, since not all sets could be read; --partial leaves them out");
    }
    if !args.insert {
        // Nothing is half written, so Ctrl-C may end it at once.
        let _waiting = interrupt::Waiting::new();
        tree = NamedBloofi::bulk(params, options, all, args.bulk.into())?;
    }
    if overfull > 0 {
        complain(format_args!(
            "{} more keys than the filters are made for, and will often be listed by mistake: build \
             the tree with more --items or --bits",
            sets_have(overfull)
        ));
    }
    let notes = Notes::new().with(notes::KEYS, args.keys.name());
    let _lock = open::to_replace(&args.output)?;
    tree.save_with(&args.output, &notes)?;

    let mut output = Output::new();
    if args.json {
        let mut facts = info::json(&tree);
        facts["file"] = json!(args.output.to_string_lossy());
        output.json(&facts)?;
    } else {
        output.line(format_args!(
            "{}: {}",
            args.output.display(),
            info::line(&tree)
        ))?;
    }
    output.finish()?;
    Ok(Outcome::of(complete))
}
