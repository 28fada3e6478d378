//! `bloomgrove bloom-sample-tree sample`.

use anyhow::{Result, bail};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::json;

use super::method::Question;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, any_seed, interrupt, units};

/// Draw members of a filter.
///
/// Uses the tree (the paper's BSTSample), or one of the two methods that the paper compares it with.
/// The samples of the tree and of HashInvert are not uniform: some members are drawn far more often
/// than others. `bloomgrove sample` draws each with the same probability. Exit code: 0 if a member was
/// found, 1 if none was.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove bloom-sample-tree sample users.bst.grove users.grove -n 5 --seed 1 --costs\n  \
    bloomgrove bloom-sample-tree sample users.bst.grove users.grove --method dictionary")]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
    /// The number of members to draw
    #[arg(short = 'n', long, value_name = "COUNT", default_value = "10", value_parser = units::count)]
    draws: u64,
    /// The random seed: the same seed draws the same members [default: random]
    #[arg(long, value_name = "NUMBER", value_parser = units::count)]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    if args.draws == 0 {
        bail!("-n 0 draws nothing; pass 1 or more");
    }
    let mut opened = args.question.open()?;
    let seed = args.seed.unwrap_or_else(any_seed);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    if !opened.is_uniform() {
        complain(format_args!(
            "note: --method {} does not sample uniformly; `bloomgrove sample` does",
            opened.method()
        ));
    }
    let waiting = interrupt::Waiting::new();
    let drawn = opened.sample(args.draws, &mut random)?;
    drop(waiting);
    let mut output = Output::new();
    if args.question.json {
        let mut answer = json!({ "method": opened.method(), "seed": seed, "drawn": drawn });
        if args.question.costs {
            answer["costs"] = opened.costs_json();
        }
        output.json(&answer)?;
    } else {
        drawn.iter().try_for_each(|name| output.line(name))?;
    }
    output.finish()?;
    if args.question.costs && !args.question.json {
        opened.report_costs(Some(drawn.len() as u64));
    }
    Ok(match drawn.is_empty() {
        true => opened.no_member(),
        false => Outcome::Yes,
    })
}
