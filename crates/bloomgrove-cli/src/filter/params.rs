//! What a filter is like: the options that size it and say how keys are hashed.

use anyhow::{Context, Result, bail};
use bloomgrove::{Affine, Derivation, Family, Layout, Params, tune};

use crate::keys::KeyKind;
use crate::units;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct Options {
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

impl Options {
    /// How keys are read, unless it is said.
    pub(crate) fn usual_keys(&self) -> KeyKind {
        match self.hash {
            FamilyArg::Affine => KeyKind::Integer,
            _ => KeyKind::Text,
        }
    }

    /// The rate asked for, or the usual.
    pub(super) fn target(&self) -> f64 {
        self.fpr.unwrap_or(0.01)
    }

    pub(super) fn items(&self) -> Option<u64> {
        self.items
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether its size in bits was said.
    pub(super) fn has_bits(&self) -> bool {
        self.bits.is_some()
    }

    pub(super) fn has_coefficients(&self) -> bool {
        !self.coefficients.is_empty()
    }

    /// The layout, if it was said.
    pub(super) fn layout(&self) -> Option<Layout> {
        self.layout.map(|layout| match layout {
            LayoutArg::Standard => Layout::Standard,
            LayoutArg::Blocked => Layout::Blocked,
        })
    }

    /// An option without effect is a mistake: somebody may rely on it.
    fn check(&self) -> Result<()> {
        let given = [
            (
                self.sip_key.is_some() && self.hash != FamilyArg::Siphash,
                "--sip-key",
                "--hash siphash",
            ),
            (
                self.modulus.is_some() && self.hash != FamilyArg::Affine,
                "--modulus",
                "--hash affine",
            ),
            (
                !self.coefficients.is_empty() && self.hash != FamilyArg::Affine,
                "--coefficients",
                "--hash affine",
            ),
            (
                self.hashes.is_some() && self.bits.is_none(),
                "--hashes",
                "--bits",
            ),
            (
                self.seed != 0 && self.hash == FamilyArg::Siphash,
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
    pub(crate) fn decided(&self) -> Result<Option<Params>> {
        self.check()?;
        let derivation = match self.derivation {
            DerivationArg::Independent => Derivation::Independent,
            DerivationArg::KirschMitzenmacher => Derivation::KirschMitzenmacher,
        };
        // Double hashing and affine functions exist in the standard layout only.
        let must_be_standard =
            self.hash == FamilyArg::Affine || derivation == Derivation::KirschMitzenmacher;
        let layout = self
            .layout()
            .or(must_be_standard.then_some(Layout::Standard));
        let (bits, hashes, layout) = match (self.bits, self.hashes, self.items) {
            (Some(bits), Some(hashes), _) => (bits, hashes, layout.unwrap_or(Layout::Standard)),
            (_, _, Some(items)) => {
                let family = match self.hash {
                    FamilyArg::Affine => None,
                    _ => Some(self.family(0)?),
                };
                let plan = tune::choose(items, self.target(), layout, family)?;
                (plan.bits, plan.hashes, plan.layout)
            }
            _ if self.hash == FamilyArg::Xxh3 && derivation == Derivation::Independent => {
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
            .family(self.family(hashes)?)
            .seed(match self.hash {
                // Their seed has gone into the coefficients, or there is a key instead.
                FamilyArg::Affine => 0,
                _ => self.seed,
            })
            .build()?;
        Ok(Some(params))
    }

    fn family(&self, hashes: u32) -> Result<Family> {
        Ok(match self.hash {
            FamilyArg::Xxh3 => Family::Xxh3,
            FamilyArg::Xxh3Wide => Family::Xxh3Wide,
            FamilyArg::Murmur3 => Family::Murmur3,
            FamilyArg::Md5 => Family::Md5,
            FamilyArg::Siphash => Family::SipHash {
                key: sip_key(self.sip_key.as_deref().unwrap_or_default())?,
            },
            FamilyArg::Affine => {
                let modulus = self.modulus.context("affine needs --modulus")?;
                Family::Affine(if self.coefficients.is_empty() {
                    Affine::seeded(modulus, hashes, self.seed)?
                } else {
                    Affine::new(&self.coefficients, modulus)?
                })
            }
        })
    }
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
