//! How keys are hashed: the options that filters of every kind share.

use anyhow::{Context, Result, bail};
use bloomgrove::{Derivation, Family, Layout};
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};

use super::units;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct Hashing {
    /// How the bits of a key are laid out: anywhere, or in one block [default: depends on the rate]
    #[arg(long, value_enum)]
    layout: Option<LayoutArg>,
    /// The hash family
    #[arg(
        long,
        value_name = "FAMILY",
        value_enum,
        default_value = "xxh3",
        id = "hash"
    )]
    hash: FamilyArg,
    /// The seed of the hash family
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = units::count)]
    seed: u64,
    /// The secret key of siphash: 32 hexadecimal digits. It is stored in the filter
    #[arg(long, value_name = "HEX", required_if_eq("hash", "siphash"))]
    sip_key: Option<String>,
    /// How the positions of a key's bits are derived from its hash
    #[arg(long, value_enum, default_value = "independent")]
    derivation: DerivationArg,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutArg {
    Standard,
    Blocked,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(crate) enum FamilyArg {
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

/// Reads any family, but lists only those with a digest: a command that needs one rejects `affine`
/// and says why.
#[derive(Clone)]
pub(crate) struct WithDigest;

impl TypedValueParser for WithDigest {
    type Value = FamilyArg;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<FamilyArg, clap::Error> {
        EnumValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        use clap::ValueEnum;
        let families = FamilyArg::value_variants().iter();
        let listed = families.filter(|family| **family != FamilyArg::Affine);
        Some(Box::new(listed.filter_map(ValueEnum::to_possible_value)))
    }
}

impl Hashing {
    pub(crate) fn is_affine(&self) -> bool {
        self.hash == FamilyArg::Affine
    }

    /// Whether family and derivation are the default ones.
    pub(crate) fn is_usual(&self) -> bool {
        self.hash == FamilyArg::Xxh3 && self.derivation == DerivationArg::Independent
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn derivation(&self) -> Derivation {
        match self.derivation {
            DerivationArg::Independent => Derivation::Independent,
            DerivationArg::KirschMitzenmacher => Derivation::KirschMitzenmacher,
        }
    }

    /// The layout, if it was given.
    pub(crate) fn layout(&self) -> Option<Layout> {
        self.layout.map(|layout| match layout {
            LayoutArg::Standard => Layout::Standard,
            LayoutArg::Blocked => Layout::Blocked,
        })
    }

    /// The layout, if it was given or only one is possible: double hashing and affine functions
    /// exist in the standard layout only.
    pub(crate) fn possible_layout(&self) -> Option<Layout> {
        let must_be_standard =
            self.is_affine() || self.derivation == DerivationArg::KirschMitzenmacher;
        self.layout()
            .or(must_be_standard.then_some(Layout::Standard))
    }

    /// Rejects options without effect: somebody may rely on them.
    pub(crate) fn check(&self) -> Result<()> {
        let sip = self.hash == FamilyArg::Siphash;
        if self.sip_key.is_some() && !sip {
            bail!("--sip-key requires --hash siphash");
        }
        if self.seed != 0 && sip {
            bail!("--seed does not apply to --hash siphash; its secret is --sip-key");
        }
        Ok(())
    }

    /// The family, which is not affine: those functions have separate options.
    pub(crate) fn family(&self) -> Result<Family> {
        Ok(match self.hash {
            FamilyArg::Xxh3 => Family::Xxh3,
            FamilyArg::Xxh3Wide => Family::Xxh3Wide,
            FamilyArg::Murmur3 => Family::Murmur3,
            FamilyArg::Md5 => Family::Md5,
            FamilyArg::Siphash => Family::SipHash {
                key: sip_key(self.sip_key.as_deref().unwrap_or_default())?,
            },
            FamilyArg::Affine => bail!("--hash affine is not supported here"),
        })
    }
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
