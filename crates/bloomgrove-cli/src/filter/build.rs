//! `bloomgrove filter build`: files of keys in, a filter out.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Affine, Collector, Derivation, Family, Filter, Layout, Params, tune};
use serde_json::json;

use super::{KEYS_NOTE, info};
use crate::keys::{self, KeyKind};
use crate::output::Output;
use crate::progress::Progress;
use crate::{Outcome, units};

/// Make a filter from files of keys: one to a line, or those of a column.
///
/// Files ending in .gz or .zst are unpacked; - is standard input. Without --items or
/// --bits the distinct keys are counted first (8 bytes of memory for each, and a
/// temporary file beyond 64 MB).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove filter build users.txt -o users.grove --fpr 0.1%\n  \
    bloomgrove filter build orders.parquet --column customer_id -o customers.grove")]
pub(crate) struct Args {
    /// Files of keys
    #[arg(required = true, value_name = "KEYS")]
    inputs: Vec<PathBuf>,
    /// The filter to write, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    column: Option<keys::Column>,
    /// How often an absent key may be accepted [default: 0.01]
    #[arg(long, value_parser = units::rate, conflicts_with = "bits")]
    fpr: Option<f64>,
    /// How many distinct keys it is for, if you know
    #[arg(long, value_parser = units::count, conflicts_with = "bits")]
    items: Option<u64>,
    /// Its size, in bits (1e7) or bytes (32MB); then --hashes too
    #[arg(long, value_parser = units::bits, requires = "hashes")]
    bits: Option<u64>,
    /// How many bits each key sets
    #[arg(long, requires = "bits")]
    hashes: Option<u32>,
    /// Where they may lie [default: by rate]
    #[arg(long, value_enum)]
    layout: Option<LayoutArg>,
    /// The hash family
    #[arg(long, value_enum, default_value = "xxh3", id = "hash")]
    hash: FamilyArg,
    /// The seed of the hash family
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The secret of siphash: 32 hexadecimal digits. It is stored in the filter
    #[arg(long, value_name = "HEX", required_if_eq("hash", "siphash"))]
    sip_key: Option<String>,
    /// The modulus of affine: a prime above all keys, or any with --coefficients
    #[arg(long, value_name = "P", required_if_eq("hash", "affine"), value_parser = units::count)]
    modulus: Option<u64>,
    /// The functions of affine, as a,b pairs: 1,0 5,4 is x and 5x + 4
    #[arg(long, value_name = "A,B", num_args = 1.., value_parser = pair)]
    coefficients: Vec<(u64, u64)>,
    /// How the bits of a key come from its hash
    #[arg(long, value_enum, default_value = "independent")]
    derivation: DerivationArg,
    /// How a line or value is read [default: text; integer for affine]
    #[arg(long, value_enum)]
    keys: Option<KeyKind>,
    /// Print facts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutArg {
    Standard,
    Blocked,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum FamilyArg {
    Xxh3,
    #[value(name = "xxh3-128")]
    Xxh3Wide,
    Murmur3,
    Md5,
    Siphash,
    Affine,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum DerivationArg {
    Independent,
    KirschMitzenmacher,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let kind = args.keys.unwrap_or(match args.hash {
        FamilyArg::Affine => KeyKind::Integer,
        _ => KeyKind::Text,
    });
    check_options(&args)?;
    let progress = Progress::bytes(keys::total_size(&args.inputs), "reading");
    let (filter, count) = match decided(&args)? {
        Some(params) => insert_all(&args, kind, params, &progress)?,
        None => collect_all(&args, kind, &progress)?,
    };
    drop(progress);
    let mut notes = Notes::new()
        .with(KEYS_NOTE, kind.name())
        .with("inserted", count);
    if args.bits.is_none() {
        notes = notes.with("target-fpr", target(&args));
    }
    if let Some(items) = args.items {
        notes = notes.with("sized-for", items);
    }
    filter.save_with(&args.output, &notes)?;

    let mut output = Output::new();
    if args.json {
        let mut facts = info::json(&filter);
        facts["file"] = json!(args.output.to_string_lossy());
        facts["inserted"] = json!(count);
        output.json(&facts)?;
    } else {
        let size = filter.params().words() as u64 * 8;
        output.line(format_args!(
            "{}: {} keys read, distinct {}, {}, expected false positives {}",
            args.output.display(),
            units::grouped(count),
            units::estimate(filter.estimated_items()),
            units::size(size),
            units::percent(filter.expected_fpr()),
        ))?;
        if filter.expected_fpr() > target(&args) * 1.1 && args.bits.is_none() {
            output.line(format_args!(
                "note: more keys than it was sized for; build it again with --items {}",
                filter.estimated_items().min(count as f64) as u64
            ))?;
        }
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// What was asked for, or the usual.
fn target(args: &Args) -> f64 {
    args.fpr.unwrap_or(0.01)
}

/// An option without effect is a mistake: somebody may rely on it.
fn check_options(args: &Args) -> Result<()> {
    let given = [
        (
            args.sip_key.is_some() && args.hash != FamilyArg::Siphash,
            "--sip-key",
            "--hash siphash",
        ),
        (
            args.modulus.is_some() && args.hash != FamilyArg::Affine,
            "--modulus",
            "--hash affine",
        ),
        (
            !args.coefficients.is_empty() && args.hash != FamilyArg::Affine,
            "--coefficients",
            "--hash affine",
        ),
        (
            args.hashes.is_some() && args.bits.is_none(),
            "--hashes",
            "--bits",
        ),
        (
            args.seed != 0 && args.hash == FamilyArg::Siphash,
            "--seed",
            "another --hash",
        ),
    ];
    match given.iter().find(|(wrong, ..)| *wrong) {
        Some((_, option, needed)) => bail!("{option} means nothing without {needed}"),
        None => Ok(()),
    }
}

/// The parameters, when they do not depend on counting keys.
fn decided(args: &Args) -> Result<Option<Params>> {
    let layout = args.layout.map(|layout| match layout {
        LayoutArg::Standard => Layout::Standard,
        LayoutArg::Blocked => Layout::Blocked,
    });
    let derivation = match args.derivation {
        DerivationArg::Independent => Derivation::Independent,
        DerivationArg::KirschMitzenmacher => Derivation::KirschMitzenmacher,
    };
    // Double hashing and affine functions exist in the standard layout only.
    let must_be_standard =
        args.hash == FamilyArg::Affine || derivation == Derivation::KirschMitzenmacher;
    let layout = layout.or(must_be_standard.then_some(Layout::Standard));
    let (bits, hashes, layout) = match (args.bits, args.hashes, args.items) {
        (Some(bits), Some(hashes), _) => (bits, hashes, layout.unwrap_or(Layout::Standard)),
        (_, _, Some(items)) => {
            let family = match args.hash {
                FamilyArg::Affine => None,
                _ => Some(family(args, 0)?),
            };
            let plan = tune::choose(items, target(args), layout, family)?;
            (plan.bits, plan.hashes, plan.layout)
        }
        _ if args.hash == FamilyArg::Xxh3 && derivation == Derivation::Independent => {
            return Ok(None);
        }
        _ => bail!(
            "how many keys? say --items N (or --bits and --hashes); only the default hash and \
             derivation can count them first"
        ),
    };
    let params = Params::builder(bits, hashes)
        .layout(layout)
        .derivation(derivation)
        .family(family(args, hashes)?)
        .seed(match args.hash {
            // Their seed has gone into the coefficients, or there is a key instead.
            FamilyArg::Affine => 0,
            _ => args.seed,
        })
        .build()?;
    Ok(Some(params))
}

fn family(args: &Args, hashes: u32) -> Result<Family> {
    Ok(match args.hash {
        FamilyArg::Xxh3 => Family::Xxh3,
        FamilyArg::Xxh3Wide => Family::Xxh3Wide,
        FamilyArg::Murmur3 => Family::Murmur3,
        FamilyArg::Md5 => Family::Md5,
        FamilyArg::Siphash => Family::SipHash {
            key: sip_key(args.sip_key.as_deref().unwrap_or_default())?,
        },
        FamilyArg::Affine => {
            let modulus = args.modulus.context("affine needs --modulus")?;
            Family::Affine(if args.coefficients.is_empty() {
                Affine::seeded(modulus, hashes, args.seed)?
            } else {
                Affine::new(&args.coefficients, modulus)?
            })
        }
    })
}

fn insert_all(
    args: &Args,
    kind: KeyKind,
    params: Params,
    progress: &Progress,
) -> Result<(Filter, u64)> {
    // Affine functions with coefficients of their own tell apart only what is below p.
    let below = match params.family() {
        Family::Affine(functions) if args.coefficients.is_empty() => functions.modulus(),
        _ => u64::MAX,
    };
    let mut filter = Filter::new(params)?;
    let mut count = 0;
    for input in &args.inputs {
        keys::read(input, args.column.as_ref(), Some(progress), |lines| {
            count += lines.len() as u64;
            if kind == KeyKind::Text {
                filter.insert_batch(lines);
            } else {
                for line in lines {
                    let key = kind.key(line)?;
                    if key
                        .first_chunk()
                        .is_some_and(|key| u64::from_le_bytes(*key) >= below)
                    {
                        bail!(
                            "{} is not below the modulus {below}: take a prime above all keys",
                            String::from_utf8_lossy(line)
                        );
                    }
                    filter.insert(&key);
                }
            }
            Ok(())
        })?;
    }
    Ok((filter, count))
}

fn collect_all(args: &Args, kind: KeyKind, progress: &Progress) -> Result<(Filter, u64)> {
    let mut collector = Collector::seeded(target(args), args.seed)?;
    if let Some(layout) = args.layout {
        collector = collector.layout(match layout {
            LayoutArg::Standard => Layout::Standard,
            LayoutArg::Blocked => Layout::Blocked,
        });
    }
    for input in &args.inputs {
        keys::read(input, args.column.as_ref(), Some(progress), |lines| {
            for line in lines {
                if kind == KeyKind::Text {
                    collector.insert(*line)?;
                } else {
                    collector.insert(&kind.key(line)?)?;
                }
            }
            Ok(())
        })?;
    }
    let count = collector.keys();
    Ok((collector.finish()?, count))
}

fn pair(text: &str) -> Result<(u64, u64), String> {
    let parse = || {
        let (a, b) = text.split_once(',')?;
        Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
    };
    parse().ok_or_else(|| "write the function ax + b as a,b: 5,4 for 5x + 4".into())
}

fn sip_key(hex: &str) -> Result<[u8; 16]> {
    u128::from_str_radix(hex, 16)
        .ok()
        .filter(|_| hex.len() == 32)
        .map(|key| {
            let mut bytes = key.to_le_bytes();
            bytes.reverse();
            bytes
        })
        .context("--sip-key takes 32 hexadecimal digits")
}
