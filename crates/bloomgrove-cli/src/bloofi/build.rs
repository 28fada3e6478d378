//! `bloomgrove bloofi build`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::Error;
use bloomgrove::format::{Content, Notes};
use bloomgrove::raw::format::check_target;
use bloomgrove_trees::bloofi::{BloofiOptions, Metric, NamedBloofi};

use super::{Bulk, info, sets};
use crate::shared::output::{self, complain};
use crate::shared::read_sets::SetArgs;
use crate::shared::sizing::{self, Sizing, is_overfull, sets_have};
use crate::shared::sources;
use crate::shared::{Outcome, interrupt, notes, open, units};

/// Build a Bloofi tree of many sets.
///
/// Each leaf of the tree is the Bloom filter of a set, and each node above it the union of its
/// children; a search descends only where all bits of the key are set. An index
/// (`bloomgrove index`) answers the same queries faster; this is the published structure, for use and
/// for comparison.
///
/// Takes the same inputs as `index build`: each file is a set and each of its lines a key; with
/// --column, each value of that column of a .csv, .tsv or .parquet file. A .grove file is a filter, or
/// an index, all of whose sets are added. Directories are read recursively, except for hidden files
/// and indexes.
///
/// All filters of a tree have the same parameters. Without --items or --bits, they are those of the
/// filters and indexes given; if there are only files of keys, the filters are large enough for the
/// largest set at --fpr, and the files are read twice.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloofi build logs/ -o logs.bloofi.grove\n  \
    bloomgrove bloofi build sites.grove -o sites.bloofi.grove --order 4 --metric jaccard")]
pub(crate) struct Args {
    #[command(flatten)]
    sets: SetArgs,
    /// The tree to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The order d: inner nodes have d to 2d children
    #[arg(long, value_name = "NUMBER", default_value_t = 2,
          value_parser = units::within::<u32>(2..=65536))]
    order: u32,
    /// How to measure the distance between two filters
    #[arg(long, value_enum, default_value = "hamming")]
    metric: MetricArg,
    /// Also split nodes that have every bit set, instead of letting them grow (section 3.4)
    #[arg(long)]
    split_full: bool,
    /// How to build the tree
    #[arg(long, value_enum, value_name = "HOW", default_value = "packed")]
    bulk: Bulk,
    /// Insert one set at a time, as in the paper, instead of building in bulk
    #[arg(long, conflicts_with = "bulk")]
    insert: bool,
    /// Write the tree even if some sets cannot be read
    #[arg(long)]
    partial: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum MetricArg {
    /// The number of bits in which they differ
    Hamming,
    /// 1 minus the share of set bits that they have in common
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
    let (sources, found) = sources::find(&args.sets.paths);
    let size = args.sets.size.clone();
    let notes = Notes::new().with(notes::KEYS, args.sets.keys.name());
    let mut how = args.sets.how(Sizing::Own(sizing::USUAL_FPR));
    let params = sets::params(&size, &sources, &mut how)?;
    how.sizing = Sizing::Equal(params.clone());

    // With --insert, receives the sets one by one.
    let mut tree = NamedBloofi::new(params.clone(), options)?;
    let mut all = Vec::new();
    let mut names = std::collections::HashSet::new();
    let mut overfull = 0;
    let duplicate = "pass each file only once";
    let read = sets::read(&sources, &how, duplicate, |name, filter| {
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
        bail!("some sets could not be added, so no tree was written; --partial leaves them out");
    }
    if !args.insert {
        // Nothing has been written yet, so Ctrl-C may end the process at once.
        let _waiting = interrupt::Waiting::new();
        tree = NamedBloofi::bulk(params, options, all, args.bulk.into())?;
    }
    if overfull > 0 {
        complain(format_args!(
            "{} more keys than the filters were sized for, so expect many false positives; build \
             the tree with more --items or --bits",
            sets_have(overfull)
        ));
    }
    let _lock = open::to_replace(&args.output)?;
    tree.save_with(&args.output, &notes)?;

    let facts = args.json.then(|| info::json(&tree));
    output::summary(&args.output, facts, || info::line(&tree))?;
    Ok(Outcome::of(complete))
}
