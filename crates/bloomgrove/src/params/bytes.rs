//! The encoding of [`Params`] on disk: FORMAT.md section 4.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Layout, MAX_HASHES, Params};
use crate::Error;
use crate::hash::{Affine, Derivation, Family};

/// The fixed part; the affine coefficients follow as pairs.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Fixed {
    bits: U64,
    hashes: U32,
    layout: u8,
    derivation: u8,
    family: u8,
    reserved: u8,
    seed: U64,
    modulus: U64,
    sip_key: [u8; 16],
    pairs: U32,
    reserved_2: U32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Pair {
    a: U64,
    b: U64,
}

impl Params {
    /// Encodes the parameters, as in files and for their fingerprint.
    #[doc(hidden)]
    pub fn to_bytes(&self) -> Vec<u8> {
        let affine = match &self.family {
            Family::Affine(functions) => Some(functions),
            _ => None,
        };
        let pairs = affine.map_or(&[][..], Affine::coefficients);
        let fixed = Fixed {
            bits: self.bits.into(),
            hashes: self.hashes.into(),
            layout: match self.layout {
                Layout::Standard => 0,
                Layout::Blocked => 1,
                Layout::SplitBlock => 2,
            },
            derivation: match self.derivation {
                Derivation::Independent => 0,
                Derivation::KirschMitzenmacher => 1,
            },
            family: match self.family {
                Family::Xxh3 => 0,
                Family::Xxh3Wide => 1,
                Family::Murmur3 => 2,
                Family::Md5 => 3,
                Family::SipHash { .. } => 4,
                Family::Affine(_) => 5,
                Family::Xxh64 => 6,
            },
            reserved: 0,
            seed: self.seed.into(),
            modulus: affine.map_or(0, Affine::modulus).into(),
            sip_key: match self.family {
                Family::SipHash { key } => key,
                _ => [0; 16],
            },
            pairs: (pairs.len() as u32).into(),
            reserved_2: 0.into(),
        };
        let mut bytes = fixed.as_bytes().to_vec();
        for &(a, b) in pairs {
            let pair = Pair {
                a: a.into(),
                b: b.into(),
            };
            bytes.extend_from_slice(pair.as_bytes());
        }
        bytes
    }

    /// Decodes parameters.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (fixed, rest) = Fixed::read_from_prefix(bytes)
            .map_err(|_| format!("{} bytes are too few for parameters", bytes.len()))?;
        let pairs = <[Pair]>::ref_from_bytes(rest)
            .ok()
            .filter(|pairs| pairs.len() == fixed.pairs.get() as usize)
            .filter(|pairs| pairs.len() <= MAX_HASHES as usize)
            .ok_or_else(|| {
                format!(
                    "{} pairs of coefficients expected, but there are {} bytes of them",
                    fixed.pairs,
                    rest.len()
                )
            })?;
        if fixed.reserved != 0 || fixed.reserved_2 != 0 {
            return Err("a reserved field is not zero".into());
        }
        let family = match fixed.family {
            0 => Family::Xxh3,
            1 => Family::Xxh3Wide,
            2 => Family::Murmur3,
            3 => Family::Md5,
            4 => Family::SipHash { key: fixed.sip_key },
            5 => {
                let pairs: Vec<_> = pairs.iter().map(|p| (p.a.get(), p.b.get())).collect();
                Family::Affine(
                    Affine::new(&pairs, fixed.modulus.get()).map_err(|error| error.to_string())?,
                )
            }
            6 => Family::Xxh64,
            other => return Err(format!("unknown hash family {other}")),
        };
        let layout = match fixed.layout {
            0 => Layout::Standard,
            1 => Layout::Blocked,
            2 => Layout::SplitBlock,
            other => return Err(format!("unknown layout {other}")),
        };
        let derivation = match fixed.derivation {
            0 => Derivation::Independent,
            1 => Derivation::KirschMitzenmacher,
            other => return Err(format!("unknown derivation {other}")),
        };
        let params = Params::builder(fixed.bits.get(), fixed.hashes.get())
            .layout(layout)
            .derivation(derivation)
            .family(family)
            .seed(fixed.seed.get())
            .build()
            .map_err(|error| match error {
                Error::Params { what } => what,
                other => other.to_string(),
            })?;
        // Each value has exactly one encoding: unused fields must be zero, too.
        if params.to_bytes() != bytes {
            return Err("a field that this family does not use is not zero".into());
        }
        Ok(params)
    }
}
