//! `bloomgrove bloom-sample-tree build`.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::format::{Content, Notes};
use bloomgrove::raw::format::check_target;
use bloomgrove::{MappedFilter, Params, raw::tune};
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Costs};

use super::info;
use super::names::Names;
use crate::shared::keys::{KeyKind, KeysArgs};
use crate::shared::output::{self, complain};
use crate::shared::{Outcome, interrupt, notes, open, params, range, units};

/// Build a BloomSampleTree of names, for filters with given parameters.
///
/// The tree halves a namespace level by level and stores the Bloom filter of each part. A search for
/// the members of a filter descends only where the two have bits in common. One tree serves all
/// filters of the same size, hashes, layout, family and seed: --for copies these from a filter of
/// integers; otherwise, pass the options of `filter build`.
///
/// A range of NAMES makes a complete tree. A file with one integer per line makes a pruned tree: it
/// contains only these names and no nodes without names, and more names within the range --within
/// can be added later (`bloom-sample-tree add`).
///
/// `bloomgrove sample` and `bloomgrove reconstruct` are uniform, exact and faster; this is the
/// published structure, for use and for comparison.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloom-sample-tree build 0..10M --for users.grove -o users.bst.grove\n  \
    bloomgrove bloom-sample-tree build ids.txt --within 0..1G --for users.grove --depth 12 -o ids.bst.grove")]
pub(crate) struct Args {
    /// The names: a range of integers such as 0..10M, or a file of them
    #[arg(value_name = "NAMES")]
    names: OsString,
    /// The tree to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Build the tree for filters like this one
    #[arg(long = "for", value_name = "FILTER", conflicts_with_all = params::IDS)]
    like: Option<PathBuf>,
    /// The namespace of a pruned tree [default: from its first to its last name]
    #[arg(long, value_name = "A..B", value_parser = range::parse)]
    within: Option<Range<u64>>,
    /// The number of levels below the root [default: the fastest on this machine]
    #[arg(long, value_name = "LEVELS", conflicts_with = "leaf", value_parser = units::within::<u32>(0..=u32::MAX.into()))]
    depth: Option<u32>,
    /// The maximum number of names of a leaf, instead of --depth
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    leaf: Option<u64>,
    /// The maximum memory that the tree may take, if no depth is given
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    memory: u64,
    #[command(flatten)]
    params: params::ParamsArgs,
    #[command(flatten)]
    from: KeysArgs,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    check_target(&args.output, Content::BloomSampleTree)?;
    let params = params_of(&args)?;
    let names = Names::read(&args.names, &args.from)?;
    let span = span(&names, args.within.clone())?;
    let depth = depth(&args, &params, &names, &span)?;
    // Nothing has been written yet, so Ctrl-C may end the process at once.
    let waiting = interrupt::Waiting::new();
    let tree = match names {
        Names::Range(range) => BloomSampleTree::complete(&params, range, depth)?,
        Names::List(list) => BloomSampleTree::pruned(&params, span, depth, list)?,
    };
    drop(waiting);
    let _lock = open::to_replace(&args.output)?;
    tree.save(&args.output)?;

    let facts = args.json.then(|| info::json(&tree));
    output::summary(&args.output, facts, || info::line(&tree))?;
    Ok(Outcome::Yes)
}

fn params_of(args: &Args) -> Result<Params> {
    let Some(path) = &args.like else {
        return args.params.decided()?.context(
            "the parameters of the filters are not known; pass --for FILTER, --items N, or --bits and \
             --hashes",
        );
    };
    let filter = MappedFilter::map(path)?;
    if notes::key_kind(&Notes::of_file(path)?) == Some(KeyKind::Text) {
        bail!(
            "{}: contains text keys, but a BloomSampleTree requires integers; build filters of \
             integers with `bloomgrove filter build --keys integer`",
            path.display()
        );
    }
    Ok(filter.params().clone())
}

fn span(names: &Names, within: Option<Range<u64>>) -> Result<Range<u64>> {
    match (names, within) {
        (Names::Range(_), Some(_)) => bail!(
            "--within requires a list of names; a complete tree has all names of its range, so pass a \
             shorter range"
        ),
        (Names::Range(range), None) => Ok(range.clone()),
        (Names::List(_), Some(within)) => Ok(within),
        (Names::List(list), None) => match (list.iter().min(), list.iter().max()) {
            (Some(first), Some(last)) => Ok(*first..last.saturating_add(1)),
            _ => {
                bail!("no names were read; pass the range that names may be added in with --within")
            }
        },
    }
}

/// The depth requested, or else the fastest on this machine (section 5.4 of the paper) that the
/// memory allows.
fn depth(args: &Args, params: &Params, names: &Names, span: &Range<u64>) -> Result<u32> {
    let most = (span.end - span.start).ilog2();
    if let Some(depth) = args.depth {
        if depth > most {
            bail!(
                "--depth {depth} is too large: {} can be halved at most {}",
                units::counted(span.end - span.start, "name"),
                units::counted(most.into(), "time")
            );
        }
        return Ok(depth);
    }
    // Names that are added later need leaves, too.
    let count = names.len().max(1);
    if let Some(leaf) = args.leaf {
        if leaf == 0 {
            bail!("--leaf 0: a leaf has at least one name");
        }
        return Ok(tune::tree_depth(count, leaf).min(most));
    }
    let costs = Costs::measure(params)?;
    let leaf = tune::leaf_size(costs.intersection, costs.membership);
    let best = tune::tree_depth(count, leaf).min(most);
    let node = params.words() as u64 * 8 + 64;
    let fits = |depth: u32| {
        let complete = (2u64 << depth).saturating_sub(1);
        let pruned = count.saturating_mul(u64::from(depth) + 1);
        complete.min(pruned).saturating_mul(node) <= args.memory
    };
    let depth = (0..=best).rev().find(|&depth| fits(depth)).unwrap_or(0);
    if depth < best {
        complain(format_args!(
            "note: {} would be fastest, but take more than --memory {}",
            units::counted(best.into(), "level"),
            units::size(args.memory)
        ));
    }
    Ok(depth)
}
