//! `bloomgrove tune wire`: what to send so that a set takes the fewest bytes.

mod attempt;
mod table;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use bloomgrove::Family;
use bloomgrove_trees::bloom_tree::advice::{self, Advice, Candidate, Goal, Limits, Structure};
use clap::ArgGroup;
use serde_json::{Value, json};

use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::{Outcome, interrupt, units};
use attempt::Attempt;

/// Find what to send: the fewest bytes for a false-positive rate, or the lowest rate for a size.
///
/// Compares standard, blocked and compressed filters and BloomTrees, each as the message that this
/// tool writes, with Golomb-coded sets and the information-theoretic bound. Margin is how much the size of the
/// message varies from set to set: its standard deviation. Memory is what the receiver needs after
/// expanding. With several rates, prints the smallest for each.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("goal").args(["fpr", "bytes"]).required(true),
    after_help = "Examples:\n  \
    bloomgrove tune wire --items 1M --fpr 1%\n  \
    bloomgrove tune wire --items 1M --bytes 500kB --memory 100MB --try\n  \
    bloomgrove tune wire --items 1M --fpr 0.3,0.1,0.03,0.01,1e-3,1e-4,1e-5,1e-6 --csv wire.csv")]
pub(crate) struct Args {
    /// The number of keys
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    items: u64,
    /// The false-positive rate; several separated by commas
    #[arg(
        long,
        value_name = "RATE",
        value_parser = units::rate,
        value_delimiter = ','
    )]
    fpr: Vec<f64>,
    /// The maximum number of bytes to send
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    bytes: Option<u64>,
    /// The memory that the receiver has for it
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::bytes)]
    memory: u64,
    /// The maximum number of bits that a query may test
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = units::count)]
    hashes: u64,
    /// The maximum number of levels of a tree
    #[arg(long, value_name = "LEVELS", default_value_t = 3, value_parser = units::within::<u8>(1..=4))]
    depth: u8,
    /// Build the recommendation from synthetic keys, and print the result next to the prediction
    #[arg(long = "try")]
    attempt: bool,
    /// Write all candidates as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The advice for one goal, and the result of building it.
struct Answer {
    advice: Advice,
    attempt: Option<Attempt>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    ensure!(args.items > 0, "--items must be at least 1");
    let limits = Limits {
        memory: args.memory,
        hashes: args.hashes,
        depth: args.depth.into(),
    };
    let goals: Vec<Goal> = match args.bytes {
        Some(bytes) => vec![Goal::Bytes(bytes)],
        None => args.fpr.iter().map(|&fpr| Goal::Fpr(fpr)).collect(),
    };
    let progress = Progress::share("comparing");
    let mut answers = Vec::new();
    for (done, &goal) in goals.iter().enumerate() {
        progress.at(done as u64, goals.len() as u64);
        interrupt::check()?;
        let advice = advice::advise(args.items, goal, &limits)?;
        interrupt::check()?;
        let attempt = match args.attempt {
            true => Some(Attempt::of(advice.best(), args.items)?),
            false => None,
        };
        answers.push(Answer { advice, attempt });
    }
    drop(progress);
    if let Some(path) = &args.csv {
        table::write(path, &answers)?;
    }
    let mut output = Output::new();
    if args.json {
        let facts: Vec<_> = answers.iter().map(facts).collect();
        output.json(&match &facts[..] {
            [one] => one.clone(),
            many => json!(many),
        })?;
    } else if let [answer] = &answers[..] {
        one(&mut output, answer)?;
    } else {
        many(&mut output, &answers)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// All candidates for one goal.
fn one(output: &mut Output, answer: &Answer) -> Result<()> {
    let advice = &answer.advice;
    let head = [
        "",
        "structure",
        "hashes",
        "wire bytes",
        "bits/key",
        "margin",
        "memory",
        "false-positive rate",
        "",
    ];
    let row = |(at, candidate): (usize, &Candidate)| {
        let known = candidate.structure.is_producible();
        let only = |text: String| if known { text } else { String::new() };
        vec![
            if at == advice.best { "*" } else { "" }.to_owned(),
            candidate.structure.name().to_owned(),
            only(candidate.hashes.to_string()),
            units::grouped(candidate.wire_bytes),
            format!("{:.2}", bits_per_key(candidate, advice)),
            only(format!("{:.1}%", candidate.spread * 100.0)),
            only(units::size(candidate.memory_bytes)),
            units::percent(candidate.fpr),
            candidate.excluded.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = advice.candidates.iter().enumerate().map(row).collect();
    output.table(&head, &rows)?;
    output.line("")?;
    output.line(format_args!(
        "use a {}: {}",
        title(advice.best()),
        advice.why
    ))?;
    for command in commands(advice.best()) {
        output.line(format_args!("  {command}"))?;
    }
    if let Some(attempt) = &answer.attempt {
        output.line("")?;
        output.facts(&attempt.facts(advice.best()))?;
    }
    Ok(())
}

/// The smallest for each of several rates.
fn many(output: &mut Output, answers: &[Answer]) -> Result<()> {
    let mut head = vec![
        "rate",
        "use",
        "hashes",
        "wire bytes",
        "bits/key",
        "memory",
        "standard",
        "best tree",
        "bound",
    ];
    if answers.iter().any(|answer| answer.attempt.is_some()) {
        head.extend(["produced", "said/produced", "rate measured"]);
    }
    let row = |answer: &Answer| {
        let advice = &answer.advice;
        let best = advice.best();
        let of = |name: &str| {
            let found = advice.candidates.iter().find(|candidate| {
                candidate.structure.name() == name
                    && (candidate.is_possible() || !candidate.structure.is_producible())
            });
            found.map_or(String::new(), |found| {
                format!("{:.2}", bits_per_key(found, advice))
            })
        };
        let mut row = vec![
            match advice.goal {
                Goal::Fpr(fpr) => units::percent(fpr),
                Goal::Bytes(_) => units::percent(best.fpr),
            },
            best.structure.name().to_owned(),
            best.hashes.to_string(),
            units::grouped(best.wire_bytes),
            format!("{:.2}", bits_per_key(best, advice)),
            units::size(best.memory_bytes),
            of("standard filter"),
            of("BloomTree"),
            of("information bound"),
        ];
        row.extend(answer.attempt.iter().flat_map(|attempt| {
            [
                units::grouped(attempt.bytes),
                format!("{:.4}", best.wire_bytes as f64 / attempt.bytes as f64),
                units::percent(attempt.measured()),
            ]
        }));
        row
    };
    let rows: Vec<_> = answers.iter().map(row).collect();
    output.table(&head, &rows)
}

fn bits_per_key(candidate: &Candidate, advice: &Advice) -> f64 {
    candidate.wire_bytes as f64 * 8.0 / advice.items as f64
}

/// What it is, with its number of hashes.
fn title(candidate: &Candidate) -> String {
    let name = candidate.structure.name();
    match &candidate.structure {
        Structure::Tree(shape) => {
            format!(
                "{name} of {}",
                units::counted(shape.depth() as u64, "level")
            )
        }
        _ => {
            let hashes = units::counted(candidate.hashes, "hash");
            format!("{name} with {hashes}")
        }
    }
}

/// The commands that make it.
fn commands(candidate: &Candidate) -> Vec<String> {
    let hash = |family: &Family| match family {
        Family::Xxh3 => String::new(),
        other => format!(" --hash {other}"),
    };
    if let Structure::Tree(shape) = &candidate.structure {
        let levels = shape.levels();
        let bits: Vec<_> = levels[1..].iter().map(|l| l.bits.to_string()).collect();
        let hashes: Vec<_> = levels.iter().map(|l| l.hashes.to_string()).collect();
        return vec![format!(
            "bloomgrove bloom-tree build KEYS -o SET.msg --compressed --root-bits {} --bits {} --hashes \
             {}{}",
            levels[0].bits,
            bits.join(","),
            hashes.join(","),
            hash(shape.root().family())
        )];
    }
    let Some(params) = candidate.structure.params() else {
        return Vec::new();
    };
    vec![
        format!(
            "bloomgrove filter build KEYS -o SET.grove --bits {} --hashes {} --layout {}{}",
            params.bits(),
            params.hashes(),
            params.layout().to_string(),
            hash(params.family())
        ),
        "bloomgrove filter compress SET.grove -o SET.msg".to_owned(),
    ]
}

fn facts(answer: &Answer) -> Value {
    let advice = &answer.advice;
    let candidate = |candidate: &Candidate| {
        let mut value = json!({
            "structure": candidate.structure.name(),
            "hashes": candidate.hashes,
            "wire_bytes": candidate.wire_bytes,
            "bits_per_key": bits_per_key(candidate, advice),
            "spread": candidate.spread,
            "memory_bytes": candidate.memory_bytes,
            "fpr": candidate.fpr,
            "producible": candidate.structure.is_producible(),
            "excluded": candidate.excluded,
        });
        if let Some(params) = candidate.structure.params() {
            value["bits"] = json!(params.bits());
        }
        if let Structure::Tree(shape) = &candidate.structure {
            let levels = shape.levels().iter();
            value["levels"] = levels
                .map(|level| json!({ "bits": level.bits, "hashes": level.hashes }))
                .collect();
        }
        value
    };
    let mut value = json!({ "items": advice.items });
    match advice.goal {
        Goal::Fpr(fpr) => value["target_fpr"] = json!(fpr),
        Goal::Bytes(bytes) => value["target_bytes"] = json!(bytes),
    }
    value["candidates"] = advice.candidates.iter().map(candidate).collect();
    value["recommended"] = candidate(advice.best());
    value["why"] = json!(advice.why);
    value["commands"] = json!(commands(advice.best()));
    if let Some(attempt) = &answer.attempt {
        value["tried"] = attempt.json();
    }
    value
}
