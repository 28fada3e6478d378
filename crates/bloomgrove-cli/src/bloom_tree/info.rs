//! `bloomgrove bloom-tree info`: the levels, rates and sizes of a tree.

use std::path::PathBuf;

use anyhow::Result;
use bloomgrove::Derivation;
use bloomgrove::raw::math;
use bloomgrove_trees::bloom_tree::{Accuracy, BloomTree};
use serde_json::{Value, json};

use super::open;
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::units::{self, Items};
use crate::shared::{Outcome, interrupt, notes};

/// Show a tree's levels, false-positive rates, and compressed sizes.
///
/// "Expected" is the rate at which absent keys are accepted, computed for this tree and its hashing.
/// "Measured" is the rate for random absent keys. "Geometric mean" is what the paper reports: it is not a rate, and
/// always lower. In the table of levels, the sizes "by filter" leave out what is needed to tell the
/// filters apart, so no compressed tree is that small.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloom-tree info users.grove --queries 10M")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// The number of absent keys to query
    #[arg(long, value_name = "COUNT", default_value = "1M", value_parser = units::count)]
    queries: u64,
    /// Also check all checksums
    #[arg(long)]
    verify: bool,
    /// The maximum memory that a compressed tree may take when expanded
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    memory: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let opened = open(&args.tree, args.verify, args.memory)?;
    let tree = &opened.tree;
    let mut output = Output::new();
    if args.json {
        let mut facts = json(tree, args.queries)?;
        let (name, items) = notes::items(tree.estimated_items(), &opened.notes).json();
        facts["estimated_items"] = items.clone();
        facts[name] = items;
        facts["file"] = json!(args.tree.to_string_lossy());
        facts["message_bytes"] = json!(opened.message);
        facts["notes"] = notes::json(&opened.notes);
        output.json(&facts)?;
        output.finish()?;
        return Ok(Outcome::Yes);
    }
    let shape = tree.shape();
    let accuracy = accuracy(tree, args.queries)?;
    let sizes = Sizes::of(tree);
    let items = notes::items(tree.estimated_items(), &opened.notes);
    // Sizes per key are not computed from an upper bound.
    let divisor = match items {
        Items::Of(items) | Items::Common(items) => items,
        Items::CommonAtMost(_) => f64::INFINITY,
    };
    let mut facts = vec![
        ("file", args.tree.display().to_string()),
        ("shape", shape.to_string()),
        ("memory", units::size(shape.words() as u64 * 8)),
        ("items", items.number()),
        ("hashes per present key", shape.hashes().to_string()),
        ("expected false positives", expected(tree, &accuracy)),
        ("measured", measured(&accuracy)),
        (
            "geometric mean",
            format!(
                "{}, as in the paper; not a rate",
                units::percent(accuracy.geometric)
            ),
        ),
        ("coded by context", sizes.shown(sizes.context, divisor)),
        ("coded by level", sizes.shown(sizes.levels, divisor)),
        ("standard filter", sizes.shown_standard(&accuracy, divisor)),
    ];
    if let Some(bytes) = opened.message {
        facts.insert(3, ("message", units::size(bytes)));
    }
    facts.extend(notes::facts(&opened.notes));
    output.facts(&facts)?;
    output.line("")?;
    let head = [
        "level",
        "filters",
        "bits",
        "hashes",
        "ones",
        "by level",
        "by filter",
        "by context",
    ];
    output.table(&head, &levels(tree))?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Queries absent keys, portion by portion; Ctrl-C interrupts it.
fn accuracy<S: AsRef<[u64]> + Sync>(tree: &BloomTree<S>, queries: u64) -> Result<Accuracy> {
    let mut accuracy = tree.accuracy(0, 0);
    let progress = Progress::share("querying");
    while accuracy.asked < queries {
        interrupt::check()?;
        let portion = (queries - accuracy.asked).min(1 << 20);
        accuracy.accepted += tree.count_accepted(portion, accuracy.asked);
        accuracy.asked += portion;
        progress.at(accuracy.asked, queries);
    }
    Ok(accuracy)
}

fn expected<S: AsRef<[u64]>>(tree: &BloomTree<S>, accuracy: &Accuracy) -> String {
    let rate = units::percent(accuracy.expected);
    match tree.shape().root().derivation() {
        Derivation::Independent => rate,
        Derivation::KirschMitzenmacher => {
            format!("{rate}, with double hashing as in the paper (Eq. 8 and 9)")
        }
    }
}

fn measured(accuracy: &Accuracy) -> String {
    match accuracy.measured() {
        None => "no (--queries 0)".into(),
        Some(rate) => format!(
            "{} ({} of {} absent keys)",
            units::percent(rate),
            units::grouped(accuracy.accepted),
            units::grouped(accuracy.asked)
        ),
    }
}

/// The compressed sizes of a tree, in bits.
struct Sizes {
    levels: f64,
    context: f64,
}

impl Sizes {
    fn of<S: AsRef<[u64]> + Sync>(tree: &BloomTree<S>) -> Self {
        Self {
            levels: tree.level_entropy().iter().sum(),
            context: tree.context_entropy().iter().sum(),
        }
    }

    fn shown(&self, bits: f64, items: f64) -> String {
        let size = units::size((bits / 8.0).ceil() as u64);
        match items.is_finite() && items >= 1.0 {
            true => format!("{size}, {:.2} bits per key", bits / items),
            false => size,
        }
    }

    /// The size of the smallest filter of the same rate.
    fn shown_standard(&self, accuracy: &Accuracy, items: f64) -> String {
        if !(items.is_finite() && items >= 1.0 && accuracy.expected > 0.0) {
            return "cannot be compared".into();
        }
        let bits = math::optimal_bits(items.round() as u64, accuracy.expected);
        format!("{} at the expected rate", self.shown(bits, items))
    }
}

fn levels<S: AsRef<[u64]> + Sync>(tree: &BloomTree<S>) -> Vec<Vec<String>> {
    let shape = tree.shape();
    let (by_level, by_filter) = (tree.level_entropy(), tree.filter_entropy());
    let by_context = tree.context_entropy();
    let bytes = |bits: f64| units::size((bits / 8.0).ceil() as u64);
    let row = |level: usize| {
        let bits = shape.level_bits(level);
        vec![
            (level + 1).to_string(),
            units::grouped(shape.filters(level)),
            units::grouped(shape.levels()[level].bits),
            shape.levels()[level].hashes.to_string(),
            units::percent(tree.level_ones(level) as f64 / bits as f64),
            bytes(by_level[level]),
            bytes(by_filter[level]),
            bytes(by_context[level]),
        ]
    };
    (0..shape.depth()).map(row).collect()
}

/// The facts of any tree, also of one just built.
pub(super) fn json<S: AsRef<[u64]> + Sync>(tree: &BloomTree<S>, queries: u64) -> Result<Value> {
    let shape = tree.shape();
    let accuracy = accuracy(tree, queries)?;
    let items = tree.estimated_items();
    let (by_level, by_filter) = (tree.level_entropy(), tree.filter_entropy());
    let by_context = tree.context_entropy();
    let levels = (0..shape.depth()).map(|level| {
        json!({
            "filters": shape.filters(level),
            "bits": shape.levels()[level].bits,
            "hashes": shape.levels()[level].hashes,
            "ones": tree.level_ones(level),
            "entropy_bits": by_level[level],
            "filter_entropy_bits": by_filter[level],
            "context_entropy_bits": by_context[level],
        })
    });
    Ok(json!({
        "levels": levels.collect::<Vec<_>>(),
        "partitioned": shape.is_partitioned(),
        "family": shape.root().family().to_string(),
        "derivation": shape.root().derivation().to_string(),
        "seed": shape.root().seed(),
        "bits": shape.bits(),
        "bytes": shape.words() * 8,
        "hashes": shape.hashes(),
        // JSON has no infinity: null when every bit of the root is set.
        "estimated_items": items.is_finite().then_some(items),
        "expected_fpr": accuracy.expected,
        "geometric_mean": accuracy.geometric,
        "measured_fpr": accuracy.measured(),
        "queries": accuracy.asked,
    }))
}
