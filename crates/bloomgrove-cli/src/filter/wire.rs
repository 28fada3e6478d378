//! `bloomgrove filter compress`, `expand`, `delta` and `apply`: filters to and from the wire.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::codec;
use bloomgrove::format::Notes;
use bloomgrove::raw::codec::{Kind, Model, compress_with, delta_with};
use bloomgrove::raw::format::expect_scan;
use bloomgrove::raw::math;
use bloomgrove::{Filter, MappedFilter};
use serde_json::{Value, json};

use super::info;
use crate::shared::message_file::ExpandArgs;
use crate::shared::output::{self, Output, complain};
use crate::shared::{Outcome, message_file, notes, units};

/// Compress a filter for sending, close to the entropy of its bits.
///
/// A half-full filter does not compress. A filter made for sending has few hashes and many bits:
/// `filter build --hashes 1 --bits ...`; `tune wire` finds the best choice.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove filter compress users.grove -o users.msg")]
pub(crate) struct CompressArgs {
    /// The filter
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// The message to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the density of the bits is modeled
    #[arg(long, value_enum, default_value = "framed")]
    model: ModelArg,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ModelArg {
    /// One density per frame, stored in it
    Framed,
    /// One density for the whole filter
    Static,
    /// A density learned while coding
    Adaptive,
}

impl ModelArg {
    fn model(self) -> Model {
        match self {
            ModelArg::Framed => Model::Framed,
            ModelArg::Static => Model::Static,
            ModelArg::Adaptive => Model::Adaptive,
        }
    }
}

/// Write what changed between two versions of a filter.
///
/// A receiver that has the old version makes the new one from the delta with `filter apply`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  bloomgrove filter delta monday.grove tuesday.grove -o tuesday.delta"
)]
pub(crate) struct DeltaArgs {
    /// The version that the receiver has
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The version that the receiver wants
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The message to write; an interrupted run leaves no partial file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the density of the changes is modeled
    #[arg(long, value_enum, default_value = "framed")]
    model: ModelArg,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Apply a delta: make the new version of a filter from the old one.
///
/// Fails unless the filter is exactly the version that the delta was made from.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  bloomgrove filter apply monday.grove tuesday.delta -o tuesday.grove"
)]
pub(crate) struct ApplyArgs {
    /// The old version
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// The delta
    #[arg(value_name = "DELTA")]
    delta: PathBuf,
    /// The new version to write; may be FILTER itself
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn compress(args: CompressArgs) -> Result<Outcome> {
    refuse_inputs(&args.output, &[&args.filter])?;
    let filter = sound(&args.filter)?;
    let notes = Notes::of_file(&args.filter)?;
    let bytes = message_file::write(&args.output, Kind::Filter, "compressing", |out| {
        compress_with(&filter, args.model.model(), &notes, out)
    })?;
    if message_file::is_stream(&args.output) {
        return Ok(Outcome::Yes);
    }
    let size = Size::of(&filter, bytes);
    size.print(&args.output, filter.estimated_items(), args.json)
}

pub(crate) fn expand(args: ExpandArgs) -> Result<Outcome> {
    refuse_inputs(&args.output, &[&args.message])?;
    let (filter, notes) = message_file::read(&args.message, Kind::Filter, "expanding", |input| {
        codec::expand_within(input, args.memory)
    })?;
    save(&filter, &notes, &args.output, args.json)
}

pub(crate) fn delta(args: DeltaArgs) -> Result<Outcome> {
    refuse_inputs(&args.output, &[&args.old, &args.new])?;
    let (old, new) = (sound(&args.old)?, sound(&args.new)?);
    let notes = Notes::of_file(&args.new)?;
    let bytes = message_file::write(&args.output, Kind::Delta, "comparing", |out| {
        delta_with(&old, &new, args.model.model(), &notes, out)
    })
    .with_context(|| format!("{} and {}", args.old.display(), args.new.display()))?;
    if message_file::is_stream(&args.output) {
        return Ok(Outcome::Yes);
    }
    let changed = bloomgrove::raw::bits::hamming(old.words(), new.words());
    let size = Size::new(new.params().bits(), changed, bytes);
    let mut output = Output::new();
    if args.json {
        let mut facts = size.json(&args.output);
        facts["changed_bits"] = json!(changed);
        output.json(&facts)?;
    } else {
        output.line(format_args!(
            "{}: {} changed, {}",
            args.output.display(),
            units::counted(changed, "bit"),
            size.said()
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

pub(crate) fn apply(args: ApplyArgs) -> Result<Outcome> {
    refuse_inputs(&args.output, &[&args.delta])?;
    let mut filter = Filter::load(&args.filter)?;
    let notes = message_file::read(&args.delta, Kind::Delta, "applying", |input| {
        codec::apply(&mut filter, input)
    })?;
    save(&filter, &notes, &args.output, args.json)
}

/// A filter with valid checksums: what is sent gets new ones.
fn sound(path: &Path) -> Result<MappedFilter> {
    bloomgrove::verify(path)?;
    let filter = MappedFilter::map(path)?;
    expect_scan(&filter);
    Ok(filter)
}

/// The size of a message.
struct Size {
    before: u64,
    after: u64,
    /// The entropy of the bits, in bytes.
    least: f64,
}

impl Size {
    fn of(filter: &MappedFilter, after: u64) -> Self {
        let ones = filter.count_ones();
        Self::new(filter.params().bits(), ones, after)
    }

    /// For `bits`, of which `ones` are set.
    fn new(bits: u64, ones: u64, after: u64) -> Self {
        Self {
            before: bits.div_ceil(64) * 8,
            after,
            least: math::entropy(ones as f64 / bits as f64) * bits as f64 / 8.0,
        }
    }

    fn share(&self) -> f64 {
        self.after as f64 / self.before as f64
    }

    fn json(&self, path: &Path) -> Value {
        json!({
            "file": path.to_string_lossy(),
            "bytes_before": self.before,
            "bytes": self.after,
            "share": self.share(),
            "entropy_bytes": self.least,
        })
    }

    fn said(&self) -> String {
        format!(
            "{} (from {}, {}); entropy of the bits: {}",
            units::size(self.after),
            units::size(self.before),
            units::percent(self.share()),
            units::size(self.least.ceil() as u64),
        )
    }

    fn print(&self, path: &Path, items: f64, as_json: bool) -> Result<Outcome> {
        let per_item = (items.is_finite() && items >= 1.0).then(|| self.after as f64 * 8.0 / items);
        let mut output = Output::new();
        if as_json {
            let mut facts = self.json(path);
            facts["bits_per_item"] = json!(per_item);
            output.json(&facts)?;
        } else {
            let per_item = per_item.map_or_else(String::new, |b| format!(", {b:.2} bits per key"));
            let said = self.said();
            output.line(format_args!("{}: {said}{per_item}", path.display()))?;
        }
        output.finish()?;
        if self.after >= self.before {
            complain(format_args!(
                "too many bits are set to compress; `bloomgrove tune wire` finds a size that does"
            ));
        }
        Ok(Outcome::Yes)
    }
}

fn save(filter: &Filter, notes: &Notes, path: &Path, as_json: bool) -> Result<Outcome> {
    filter.save_with(path, notes)?;
    let items = notes::items(filter.estimated_items(), notes);
    let facts = as_json.then(|| info::json(filter, items));
    output::summary(path, facts, || info::line(filter, items))?;
    Ok(Outcome::Yes)
}

/// Ensures that no input is overwritten.
fn refuse_inputs(output: &Path, inputs: &[&PathBuf]) -> Result<()> {
    let Ok(target) = fs::canonicalize(output) else {
        return Ok(());
    };
    for input in inputs {
        if fs::canonicalize(input).is_ok_and(|input| input == target) {
            bail!(
                "{}: this input would be overwritten; choose another output",
                output.display()
            );
        }
    }
    Ok(())
}
