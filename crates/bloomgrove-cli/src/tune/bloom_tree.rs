//! `bloomgrove tune bloom-tree`: finds the best BloomTrees.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bloomgrove_trees::bloom_tree::genetic;
use bloomgrove_trees::bloom_tree::search::{self, Evaluation, Front, Objective, SearchOptions};
use serde_json::{Value, json};

use super::{rate, ratio};
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::whole_file::WholeFile;
use crate::shared::{Outcome, interrupt, units};

/// Find the BloomTrees that no other tree beats in both false-positive rate and size on the wire.
///
/// Prints the Pareto front, with these columns. "false positives" is the rate for absent keys. "geometric"
/// is the mean that the paper calls a probability; it is not a rate. "by level", "by context" and
/// "memory" are bits per key: sent, coded level by level as in the paper; sent, coded by context as in
/// `bloom-tree build --compressed`; and in memory. "vs. standard" is the context-coded size divided by
/// that of the smallest standard filter of the same rate. "paper's way" is the level-coded size
/// divided by that of a standard filter whose rate is the geometric mean.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove tune bloom-tree\n  \
    bloomgrove tune bloom-tree --depth 4 --rho 0.5 --rho 1 --csv front.csv\n  \
    bloomgrove tune bloom-tree --objective geometric --search genetic")]
pub(crate) struct Args {
    /// The number of keys that each tree is evaluated with
    #[arg(long, value_name = "COUNT", default_value = "10k", value_parser = units::count)]
    items: u64,
    /// The number of levels
    #[arg(long, value_name = "LEVELS", default_value_t = 2, value_parser = units::within::<u8>(2..=6))]
    depth: u8,
    /// Bits of the root per key (repeatable)
    #[arg(long, value_name = "NUMBER", default_value = "1", value_delimiter = ',', value_parser = units::number)]
    rho: Vec<f64>,
    /// What to minimize
    #[arg(long, value_enum, default_value = "exact")]
    objective: ObjectiveArg,
    /// How to search: try all trees, or use a genetic search [default: exhaustive for two levels,
    /// genetic for more]
    #[arg(long, value_enum)]
    search: Option<SearchArg>,
    /// The maximum number of rounds of a genetic search
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = units::within::<u32>(0..=u32::MAX.into()))]
    rounds: u32,
    /// The number of trees kept from round to round
    #[arg(long, value_name = "COUNT", default_value_t = 15, value_parser = units::within::<u16>(2..=1000))]
    population: u16,
    /// The number of trees built to evaluate each configuration
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = units::within::<u32>(1..=10_000))]
    instances: u32,
    /// The random seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = units::count)]
    seed: u64,
    /// Write the Pareto front as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ObjectiveArg {
    /// The rate at which absent keys are accepted, and context-coded bits
    Exact,
    /// The paper's geometric mean, and level-coded bits
    Geometric,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum SearchArg {
    Exhaustive,
    Genetic,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    anyhow::ensure!(args.items > 0, "--items must be at least 1");
    let front = search(args)?;
    if let Some(path) = &args.csv {
        write_csv(path, &front)?;
    }
    let mut output = Output::new();
    if args.json {
        output.json(&facts(args, &front))?;
    } else {
        let rows: Vec<_> = front.evaluations.iter().map(row).collect();
        output.table(&HEAD, &rows)?;
        output.line("")?;
        for line in summary(&front) {
            output.line(line)?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

fn search(args: &Args) -> Result<Front> {
    let options = SearchOptions {
        items: args.items,
        instances: args.instances,
        objective: match args.objective {
            ObjectiveArg::Exact => Objective::Exact,
            ObjectiveArg::Geometric => Objective::Geometric,
        },
        seed: args.seed,
        ..SearchOptions::default()
    };
    let progress = Progress::share("evaluating trees");
    let step = |done: u64, all: u64| {
        progress.at(done, all);
        match interrupt::was_asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let depth = usize::from(args.depth);
    let usual = match depth {
        2 => SearchArg::Exhaustive,
        _ => SearchArg::Genetic,
    };
    Ok(match args.search.unwrap_or(usual) {
        SearchArg::Exhaustive => search::exhaustive(depth, &args.rho, &options, step)?,
        SearchArg::Genetic => {
            let how = genetic::GeneticOptions {
                population: args.population.into(),
                rounds: args.rounds,
                seed: args.seed,
                ..genetic::GeneticOptions::default()
            };
            search::bred(depth, &args.rho, &options, &how, step)?
        }
    })
}

const HEAD: [&str; 11] = [
    "rho",
    "m",
    "k",
    "false positives",
    "geometric",
    "by level",
    "by context",
    "memory",
    "hashes",
    "vs. standard",
    "paper's way",
];

fn row(tree: &Evaluation) -> Vec<String> {
    let of = &tree.configuration;
    vec![
        of.rho.to_string(),
        list(&of.bits),
        list(&of.hashes),
        rate(tree.expected_fpr),
        rate(tree.geometric_fpr),
        format!("{:.2}", tree.level_bits),
        format!("{:.2}", tree.context_bits),
        format!("{:.2}", tree.storage_bits),
        tree.hashes.to_string(),
        ratio(tree.ratio()),
        ratio(tree.published_ratio()),
    ]
}

fn list(numbers: &[impl ToString]) -> String {
    let all: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    all.join(",")
}

/// A summary of the front.
fn summary(front: &Front) -> Vec<String> {
    let evaluated = format!(
        "{} of {} configurations evaluated{}, {} on the front",
        units::grouped(front.tried),
        units::grouped(front.possible),
        match front.rounds {
            Some(rounds) => format!(" in {}", units::counted(rounds.into(), "round")),
            None => String::new(),
        },
        front.evaluations.len()
    );
    // A filter that accepts nearly everything is useless.
    let useful = front.evaluations.iter();
    let useful = useful.filter(|tree| tree.expected_fpr < 0.9);
    let best = useful.min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let best = best.map(|tree| {
        format!(
            "smallest compared with a standard filter of the same rate, for rates below 0.9: rho {}, m {}, k {}, with {} \
             of its size at {}; measured in the paper's way, {}\nto compare a tree with a \
             compressed filter, use `bloomgrove tune wire --items N --fpr P`",
            tree.configuration.rho,
            list(&tree.configuration.bits),
            list(&tree.configuration.hashes),
            ratio(tree.ratio()),
            rate(tree.expected_fpr),
            ratio(tree.published_ratio()),
        )
    });
    std::iter::once(evaluated).chain(best).collect()
}

fn facts(args: &Args, front: &Front) -> Value {
    let tree = |tree: &Evaluation| {
        json!({
            "rho": tree.configuration.rho,
            "bits": tree.configuration.bits,
            "hashes": tree.configuration.hashes,
            "expected_fpr": tree.expected_fpr,
            "geometric_fpr": tree.geometric_fpr,
            "level_bits_per_item": tree.level_bits,
            "context_bits_per_item": tree.context_bits,
            "storage_bits_per_item": tree.storage_bits,
            "hashes_per_key": tree.hashes,
            "by_standard": finite(tree.ratio()),
            "by_standard_as_published": finite(tree.published_ratio()),
        })
    };
    json!({
        "items": args.items,
        "depth": args.depth,
        "tried": front.tried,
        "possible": front.possible,
        "rounds": front.rounds,
        "front": front.evaluations.iter().map(tree).collect::<Vec<_>>(),
    })
}

/// A tree full of ones has no ratio.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn write_csv(path: &Path, front: &Front) -> Result<()> {
    const HEAD: &[&str] = &[
        "rho",
        "m",
        "k",
        "expected_fpr",
        "geometric_fpr",
        "level_bits_per_item",
        "context_bits_per_item",
        "storage_bits_per_item",
        "hashes_per_key",
        "by_standard",
        "by_standard_as_published",
    ];
    let mut writer = WholeFile::csv(path, HEAD)?;
    for tree in &front.evaluations {
        let mut row = vec![
            tree.configuration.rho.to_string(),
            list(&tree.configuration.bits),
            list(&tree.configuration.hashes),
        ];
        let numbers = [
            tree.expected_fpr,
            tree.geometric_fpr,
            tree.level_bits,
            tree.context_bits,
            tree.storage_bits,
            tree.hashes as f64,
            tree.ratio(),
            tree.published_ratio(),
        ];
        let spelled = |number: f64| finite(number).map_or_else(String::new, |n| n.to_string());
        row.extend(numbers.map(spelled));
        writer.write_record(row)?;
    }
    let file = writer.into_inner().map_err(|error| error.into_error())?;
    file.finish()?;
    Ok(())
}
