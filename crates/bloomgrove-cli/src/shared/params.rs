//! What a filter is like: the options that size it and say how keys are hashed.

use anyhow::{Context, Result, bail};
use bloomgrove::{Affine, Family, Layout, Params, tune};

use super::hashing::Hashing;
use super::keys::KeyKind;
use super::units;

/// The ids of all the options below, for those that exclude them.
pub(crate) const IDS: [&str; 11] = [
    "fpr",
    "items",
    "bits",
    "hashes",
    "layout",
    "hash",
    "seed",
    "sip_key",
    "modulus",
    "coefficients",
    "derivation",
];

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct ParamsArgs {
    /// The false-positive rate: how often an absent key is accepted [default: 1%]
    #[arg(long, value_name = "RATE", value_parser = units::rate, conflicts_with = "bits")]
    fpr: Option<f64>,
    /// The number of distinct keys to size the filter for, if known
    #[arg(long, value_name = "COUNT", value_parser = units::count, conflicts_with = "bits")]
    items: Option<u64>,
    /// The size of the filter in bits (1e7) or bytes (32MB); requires --hashes
    #[arg(long, value_name = "BITS", value_parser = units::bits, requires = "hashes")]
    bits: Option<u64>,
    /// The number of bits that each key sets
    #[arg(long, value_name = "COUNT", requires = "bits", value_parser = units::within::<u32>(1..=64))]
    hashes: Option<u32>,
    #[command(flatten)]
    hashing: Hashing,
    /// The modulus of affine functions: a prime above all keys, or any number with --coefficients
    #[arg(long, value_name = "P", required_if_eq("hash", "affine"), value_parser = units::count)]
    modulus: Option<u64>,
    /// The affine functions as pairs a,b: 1,0 5,4 is x and 5x + 4
    #[arg(long, value_name = "A,B", num_args = 1.., value_parser = pair)]
    coefficients: Vec<(u64, u64)>,
}

impl ParamsArgs {
    /// How keys are interpreted by default.
    pub(crate) fn usual_keys(&self) -> KeyKind {
        match self.hashing.is_affine() {
            true => KeyKind::Integer,
            false => KeyKind::Text,
        }
    }

    /// The rate given, or the default.
    pub(crate) fn target(&self) -> f64 {
        self.fpr.unwrap_or(0.01)
    }

    pub(crate) fn items(&self) -> Option<u64> {
        self.items
    }

    pub(crate) fn seed(&self) -> u64 {
        self.hashing.seed()
    }

    /// Whether its size in bits was given.
    pub(crate) fn has_bits(&self) -> bool {
        self.bits.is_some()
    }

    pub(crate) fn has_coefficients(&self) -> bool {
        !self.coefficients.is_empty()
    }

    /// The layout, if it was given.
    pub(crate) fn layout(&self) -> Option<Layout> {
        self.hashing.layout()
    }

    /// Rejects options without effect: somebody may rely on them.
    fn check(&self) -> Result<()> {
        self.hashing.check()?;
        let affine = self.hashing.is_affine();
        let given = [
            (
                self.modulus.is_some() && !affine,
                "--modulus",
                "--hash affine",
            ),
            (
                !self.coefficients.is_empty() && !affine,
                "--coefficients",
                "--hash affine",
            ),
            (
                self.hashes.is_some() && self.bits.is_none(),
                "--hashes",
                "--bits",
            ),
        ];
        match given.iter().find(|(wrong, ..)| *wrong) {
            Some((_, option, needed)) => bail!("{option} requires {needed}"),
            None => Ok(()),
        }
    }

    /// The parameters, when they do not depend on counting keys.
    pub(crate) fn decided(&self) -> Result<Option<Params>> {
        self.check()?;
        let layout = self.hashing.possible_layout();
        let (bits, hashes, layout) = match (self.bits, self.hashes, self.items) {
            (Some(bits), Some(hashes), _) => (bits, hashes, layout.unwrap_or(Layout::Standard)),
            (_, _, Some(items)) => {
                let family = match self.hashing.is_affine() {
                    true => None,
                    false => Some(self.family(0)?),
                };
                let plan = tune::choose(items, self.target(), layout, family)?;
                (plan.bits, plan.hashes, plan.layout)
            }
            _ if self.hashing.is_usual() => return Ok(None),
            _ => bail!(
                "the number of keys is not known; pass --items N (or --bits and --hashes), as only \
                 the default hash and derivation can count them first"
            ),
        };
        let params = Params::builder(bits, hashes)
            .layout(layout)
            .derivation(self.hashing.derivation())
            .family(self.family(hashes)?)
            .seed(match self.hashing.is_affine() {
                // It was used for the coefficients.
                true => 0,
                false => self.hashing.seed(),
            })
            .build()?;
        Ok(Some(params))
    }

    fn family(&self, hashes: u32) -> Result<Family> {
        if !self.hashing.is_affine() {
            return self.hashing.family();
        }
        let modulus = self.modulus.context("--hash affine requires --modulus")?;
        let pairs = self.coefficients.len();
        if pairs > 0 && hashes > 0 && pairs != hashes as usize {
            let pairs = units::counted(pairs as u64, "pair");
            let given = match self.hashes {
                Some(hashes) => format!("--hashes is {hashes}"),
                None => format!("the filter has {}", units::counted(hashes.into(), "hash")),
            };
            bail!("--coefficients has {pairs}, but {given}; pass one pair per hash");
        }
        Ok(Family::Affine(match self.coefficients.is_empty() {
            true => Affine::seeded(modulus, hashes, self.hashing.seed())?,
            false => Affine::new(&self.coefficients, modulus)?,
        }))
    }
}

fn pair(text: &str) -> Result<(u64, u64), String> {
    let parse = || {
        let (a, b) = text.split_once(',')?;
        Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
    };
    parse().ok_or_else(|| "write the function ax + b as a,b; for example 5,4 for 5x + 4".into())
}
