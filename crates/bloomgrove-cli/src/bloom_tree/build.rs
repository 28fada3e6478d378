//! `bloomgrove bloom-tree build`: builds a tree from files of keys.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::Collector;
use bloomgrove::format::Notes;
use bloomgrove_trees::bloom_tree::{BloomTree, TreeShape};
use serde_json::json;

use super::wire::Written;
use crate::shared::keys::{self, KeyKind};
use crate::shared::output;
use crate::shared::progress::Progress;
use crate::shared::{Outcome, hashing, notes, units};

/// Build a BloomTree from files of keys: one per line, or the values of a column.
///
/// Compressed files are decompressed; - is standard input. Without --items or --root-bits,
/// the files are read twice, to count the distinct keys first. The default shape is the paper's for
/// three levels; `tune bloom-tree` finds others, and `tune wire` shows whether a tree is worthwhile.
#[derive(clap::Args)]
#[command(
    mut_arg("layout", |arg| arg.hide(true)),
    mut_arg("hash", |arg| arg.value_parser(hashing::WithDigest)),
    after_help = "Examples:\n  \
    bloomgrove bloom-tree build users.txt -o users.grove\n  \
    bloomgrove bloom-tree build users.txt -o users.tree --compressed --rho 0.5 --bits 5,3,3 --hashes 6,3,2,2"
)]
pub(crate) struct Args {
    /// Files of keys
    #[arg(required = true, value_name = "KEYS")]
    inputs: Vec<PathBuf>,
    /// The tree to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compress the tree, for sending
    #[arg(long)]
    compressed: bool,
    #[command(flatten)]
    from: keys::KeysArgs,
    /// Size the tree for this many keys
    #[arg(long, value_name = "COUNT", value_parser = units::count, conflicts_with = "root_bits")]
    items: Option<u64>,
    /// Bits of the root per key [default: 1]
    #[arg(long, value_name = "NUMBER", conflicts_with = "root_bits", value_parser = units::number)]
    rho: Option<f64>,
    /// The number of bits of the root
    #[arg(long, value_name = "BITS", value_parser = units::bits)]
    root_bits: Option<u64>,
    /// The number of bits of a filter on each level below the root
    #[arg(
        long,
        value_name = "M,M...",
        value_delimiter = ',',
        default_value = "4,3", value_parser = units::count)]
    bits: Vec<u64>,
    /// The number of bits that a key sets in a filter of each level, the root first
    #[arg(
        long,
        value_name = "K,K...",
        value_delimiter = ',',
        default_value = "6,3,2", value_parser = units::within::<u32>(1..=64))]
    hashes: Vec<u32>,
    /// Divide the root into one part per hash function, which can be built in parallel
    #[arg(long)]
    partitioned: bool,
    /// The number of threads that insert keys [default: one per processor]
    #[arg(long, value_name = "COUNT", value_parser = units::within::<u16>(1..=65_535))]
    threads: Option<u16>,
    #[command(flatten)]
    hashing: hashing::Hashing,
    /// How to interpret keys
    #[arg(long, value_name = "KIND", value_enum, default_value = "text")]
    keys: KeyKind,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if args.hashing.possible_layout() == Some(bloomgrove::Layout::Blocked) {
        bail!("--layout blocked does not apply: the root of a tree has the standard layout");
    }
    if args.hashing.is_affine() {
        bail!(
            "--hash affine does not apply: a tree derives the bits of all levels from one hash of \
             the key, which affine functions do not have; use another --hash"
        );
    }
    args.hashing.check()?;
    let root = match (args.root_bits, args.items) {
        (Some(bits), _) => bits,
        (None, Some(items)) => root_for(items, &args)?,
        (None, None) => root_for(count(&args)?, &args)?,
    };
    let shape = shape(root, &args)?;
    let mut tree = BloomTree::new(shape)?;
    let progress = Progress::bytes(keys::total_size(&args.inputs), "reading");
    let threads = args.threads.and_then(|count| NonZero::new(count.into()));
    let threads = threads.unwrap_or_else(processors);
    let mut count = 0;
    for input in &args.inputs {
        keys::read(input, &args.from, Some(&progress), |lines| {
            count += lines.len() as u64;
            match args.keys {
                KeyKind::Text => tree.insert_parallel(lines, threads),
                KeyKind::Integer => {
                    let keys = lines.iter().map(|line| args.keys.key(line));
                    tree.insert_parallel(&keys.collect::<Result<Vec<_>>>()?, threads);
                }
            }
            Ok(())
        })?;
    }
    drop(progress);
    let notes = Notes::new()
        .with(notes::KEYS, args.keys.name())
        .with("inserted", count);
    let written = Written::save(&tree, &notes, &args.output, args.compressed)?;
    let facts = args.json.then(|| written.json("inserted", json!(count)));
    output::summary(&args.output, facts.transpose()?, || {
        let keys = units::counted(count, "key");
        let note = match args.items {
            Some(items) if tree.estimated_items() > items as f64 * 1.1 => format!(
                "\nnote: more keys than the tree was sized for; rebuild it with --items {}",
                tree.estimated_items().min(count as f64) as u64
            ),
            _ => String::new(),
        };
        format!("{keys} read, {}{note}", written.line())
    })?;
    Ok(Outcome::Yes)
}

fn processors() -> NonZero<usize> {
    std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// The number of distinct keys in the files.
fn count(args: &Args) -> Result<u64> {
    if args.inputs.iter().any(|input| input == Path::new("-")) {
        bail!("standard input can be read only once; pass the number of its keys with --items");
    }
    let progress = Progress::bytes(keys::total_size(&args.inputs), "counting");
    let mut collector = Collector::new(0.01)?;
    for input in &args.inputs {
        keys::read(input, &args.from, Some(&progress), |lines| {
            lines
                .iter()
                .try_for_each(|line| Ok(collector.insert(*line)?))
        })?;
    }
    // Accurate to a fraction of a percent. An empty set has a tree, too.
    let count = collector.finish()?.estimated_items().round();
    Ok((count as u64).max(1))
}

fn root_for(items: u64, args: &Args) -> Result<u64> {
    let rho = args.rho.unwrap_or(1.0);
    let bits = (items as f64 * rho).ceil();
    if !(bits >= 1.0 && bits <= bloomgrove::MAX_BITS as f64) {
        bail!(
            "--rho {rho} for {} makes a root of {bits} bits; it must have 1 to {}",
            units::counted(items, "key"),
            units::grouped(bloomgrove::MAX_BITS)
        );
    }
    Ok(bits as u64)
}

fn shape(root: u64, args: &Args) -> Result<TreeShape> {
    if args.hashes.len() != args.bits.len() + 1 {
        bail!(
            "--hashes has {} numbers and --bits {}; --hashes must have one more, for the root",
            args.hashes.len(),
            args.bits.len()
        );
    }
    let bits = std::iter::once(root).chain(args.bits.iter().copied());
    let levels: Vec<_> = bits.zip(args.hashes.iter().copied()).collect();
    let shape = TreeShape::new(&levels)?
        .with_family(args.hashing.family()?)?
        .with_seed(args.hashing.seed())?
        .with_derivation(args.hashing.derivation())?;
    Ok(match args.partitioned {
        true => shape.partitioned()?,
        false => shape,
    })
}
