//! `bloomgrove filter estimate`: how many keys two filters have, and have in common.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bloomgrove::Filter;
use bloomgrove::raw::math;
use serde_json::{Value, json};

use crate::shared::output::Output;
use crate::shared::{Outcome, units};

/// Estimate how many keys two filters contain and have in common.
///
/// The margins are two standard deviations: about 95% of estimates are at least this good. If the
/// filters differ in size only, the larger one is folded to the size of the smaller one, where that
/// is possible.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove filter estimate north.grove south.grove")]
pub(crate) struct Args {
    /// A filter
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Another filter
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let (mut a, mut b) = (Filter::load(&args.a)?, Filter::load(&args.b)?);
    // Each as large as it is: folding costs precision.
    let (of_a, of_b) = (Estimate::of(&a), Estimate::of(&b));
    let both = || format!("{} and {}", args.a.display(), args.b.display());
    let folded = fit(&mut a, &mut b).with_context(both)?;
    let parts = [Estimate::of(&a), Estimate::of(&b)];
    let common = a.estimated_common_items(&b).with_context(both)?;
    a.union_with(&b)?;
    let union = Estimate::of(&a);
    let common = Estimate {
        items: common,
        // As if the three errors were independent. Much of them is the same in the union, so that
        // this is rather too much.
        margin: (parts
            .iter()
            .chain([&union])
            .map(|one| one.margin.powi(2))
            .sum::<f64>())
        .sqrt(),
    };
    let jaccard = match union.items {
        0.0 => 0.0,
        // Every bit is set.
        unknown if unknown.is_infinite() => f64::NAN,
        items => (common.items / items).min(1.0),
    };
    let margin = ((common.margin + jaccard * union.margin) / union.items.max(1.0)).min(1.0);
    let folded = folded.map(|folded| {
        let path = if folded.first { &args.a } else { &args.b };
        (path, folded.times)
    });
    let mut output = Output::new();
    if args.json {
        let file = |path: &Path, of: Estimate| {
            let mut facts = of.json();
            facts["file"] = json!(path.to_string_lossy());
            facts
        };
        output.json(&json!({
            "a": file(&args.a, of_a),
            "b": file(&args.b, of_b),
            "common": common.json(),
            "union": union.json(),
            "jaccard": { "value": finite(jaccard), "margin": finite(margin) },
            "folded": folded.map(|(path, _)| path.to_string_lossy()),
        }))?;
    } else {
        let (one, two) = (args.a.display().to_string(), args.b.display().to_string());
        let jaccard = match jaccard.is_finite() && margin.is_finite() {
            true => format!("{jaccard:.3} ± {margin:.3}"),
            false => "unknown".to_owned(),
        };
        output.facts(&[
            (one.as_str(), of_a.said()),
            (two.as_str(), of_b.said()),
            ("common", common.said()),
            ("union", union.said()),
            ("Jaccard", jaccard),
        ])?;
        if let Some((path, times)) = folded {
            output.line(format_args!(
                "note: {} was folded {} to compare it, which widens the margins",
                path.display(),
                units::counted(times, "time"),
            ))?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// A number of keys, and twice the standard deviation of its estimate.
#[derive(Clone, Copy)]
struct Estimate {
    items: f64,
    margin: f64,
}

impl Estimate {
    fn of(filter: &Filter) -> Self {
        let items = filter.estimated_items();
        Self {
            items,
            margin: 2.0 * math::items_deviation(filter.params(), items),
        }
    }

    fn said(self) -> String {
        match self.items.is_finite() && self.margin.is_finite() {
            true => format!(
                "{} ± {}",
                units::estimate(self.items),
                units::grouped(self.margin.ceil() as u64)
            ),
            false => units::estimate(f64::INFINITY),
        }
    }

    fn json(self) -> Value {
        json!({ "items": finite(self.items), "margin": finite(self.margin) })
    }
}

/// JSON has no infinity: null when every bit is set.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Which of two filters was folded, and how often.
struct Folded {
    first: bool,
    times: u64,
}

/// Gives both the parameters of the smaller one, where folding leads there.
fn fit(a: &mut Filter, b: &mut Filter) -> Result<Option<Folded>> {
    let first = a.params().bits() > b.params().bits();
    let (large, small) = match first {
        true => (a, b.params()),
        false => (b, a.params()),
    };
    let ratio = large.params().bits() / small.bits().max(1);
    let fits = ratio > 1
        && ratio.is_power_of_two()
        && large
            .params()
            .with_bits(small.bits())
            .is_ok_and(|params| params == *small);
    if !fits {
        // Equal, or refused by whoever compares them.
        return Ok(None);
    }
    let times = u64::from(ratio.ilog2());
    for _ in 0..times {
        *large = large.fold()?;
    }
    Ok(Some(Folded { first, times }))
}
