//! What two filters must share before they may meet.

mod bytes;
pub(crate) mod probe;

pub use probe::Probe;

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::Error;
use crate::bits::{LANES, LINE_BITS};
use crate::hash::{Derivation, Family, Key, MAX_HASHES};

/// The most bits: 32 TiB of them.
pub const MAX_BITS: u64 = 1 << 48;
/// The most hash functions of a blocked filter: two to a lane.
pub const MAX_BLOCKED_HASHES: u32 = 2 * LANES;

/// Where the k bits of a key may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Anywhere. The fewest bits for a given rate; up to k cache misses a key.
    Standard,
    /// All in one 512-bit line. One cache miss a key, for a few more bits.
    Blocked,
}

impl Layout {
    /// The name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Layout::Standard => "standard",
            Layout::Blocked => "blocked",
        }
    }
}

display_as_name!(Layout);

/// Size, hashing and layout of a filter.
///
/// Two filters can be combined, and one [`Probe`] asked of both, only if their
/// `Params` are equal. A `Params` is always a possible one: it is checked when built.
///
/// ```
/// use bloomgrove::{Layout, Params};
///
/// // From what you need: a million items at one false positive in a hundred.
/// let params = Params::for_items(1_000_000, 0.01)?;
/// assert_eq!(params.layout(), Layout::Blocked);
///
/// // From what you have decided.
/// let params = Params::builder(1 << 20, 7).seed(42).build()?;
/// assert_eq!((params.bits(), params.hashes()), (1 << 20, 7));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    bits: u64,
    hashes: u32,
    layout: Layout,
    derivation: Derivation,
    seed: u64,
    family: Family,
    /// Of the other fields, as they are spelled on disk.
    fingerprint: u64,
}

impl Params {
    /// Starts from a number of bits and of hash functions; the rest has defaults
    /// (standard layout, XXH3, independent positions, seed 0).
    pub fn builder(bits: u64, hashes: u32) -> ParamsBuilder {
        ParamsBuilder(Params {
            bits,
            hashes,
            layout: Layout::Standard,
            derivation: Derivation::Independent,
            seed: 0,
            family: Family::Xxh3,
            fingerprint: 0,
        })
    }

    /// The same, with the number of bits changed.
    ///
    /// # Errors
    /// When that many bits are not possible with this layout or family.
    pub fn with_bits(&self, bits: u64) -> Result<Self, Error> {
        ParamsBuilder(Params {
            bits,
            ..self.clone()
        })
        .build()
    }

    /// How many bits the filter has.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// The share of the bits that are set when `ones` of them are, 0 to 1.
    pub fn fill(&self, ones: u64) -> f64 {
        ones as f64 / self.bits as f64
    }

    /// How many bits each key sets.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Where those bits may lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How the bits come from one digest.
    pub fn derivation(&self) -> Derivation {
        self.derivation
    }

    /// The seed of the hash family.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash family.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// How many 64-bit words hold the bits.
    pub fn words(&self) -> usize {
        // More than this machine can address is more than it can ever give.
        usize::try_from(self.bits.div_ceil(64)).unwrap_or(usize::MAX)
    }

    /// 64 bits that stand for all of the above, on every machine.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Hashes a key once, for testing against many filters.
    pub fn probe<K: Key + ?Sized>(&self, key: &K) -> Probe {
        key.with_bytes(|bytes| Probe::new(self, bytes))
    }

    /// Ok when equal, [`Error::Incompatible`] with both when not.
    pub fn check_equal(&self, other: &Params) -> Result<(), Error> {
        if self == other {
            Ok(())
        } else {
            Err(Error::Incompatible {
                left: self.to_string(),
                right: other.to_string(),
            })
        }
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bits, {} hashes, {}, {}",
            self.bits,
            self.hashes,
            self.layout.name(),
            self.family.name()
        )?;
        match &self.family {
            Family::Affine(functions) => {
                write!(f, " modulo {}", functions.modulus())?;
                let pairs = functions.coefficients();
                for (a, b) in pairs.iter().take(4) {
                    write!(f, ", {a}x+{b}")?;
                }
                if pairs.len() > 4 {
                    write!(f, ", ...")?;
                }
            }
            // The key stays out of messages; its trace tells two keys apart.
            Family::SipHash { key } => write!(f, " key #{:08x}", xxh3_64(key) as u32)?,
            _ => write!(f, " seed {}", self.seed)?,
        }
        if self.derivation == Derivation::KirschMitzenmacher {
            write!(f, ", kirsch-mitzenmacher")?;
        }
        Ok(())
    }
}

/// Builds [`Params`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ParamsBuilder(Params);

impl ParamsBuilder {
    /// Where the bits may lie.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.0.layout = layout;
        self
    }

    /// The hash family.
    pub fn family(mut self, family: Family) -> Self {
        self.0.family = family;
        self
    }

    /// How the bits come from one digest.
    pub fn derivation(mut self, derivation: Derivation) -> Self {
        self.0.derivation = derivation;
        self
    }

    /// The seed. Filters with different seeds cannot meet.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// Checks the whole.
    ///
    /// # Errors
    /// [`Error::Params`], naming the rule that is broken.
    pub fn build(self) -> Result<Params, Error> {
        let mut params = self.0;
        check(&params).map_err(Error::params)?;
        params.fingerprint = xxh3_64(&params.to_bytes());
        Ok(params)
    }
}

fn check(params: &Params) -> Result<(), String> {
    let Params {
        bits,
        hashes,
        layout,
        derivation,
        seed,
        ref family,
        ..
    } = *params;
    if bits == 0 || bits > MAX_BITS {
        return Err(format!("{bits} bits; there must be 1 to {MAX_BITS}"));
    }
    if hashes == 0 || hashes > MAX_HASHES {
        return Err(format!("{hashes} hashes; there must be 1 to {MAX_HASHES}"));
    }
    if layout == Layout::Blocked {
        if !bits.is_multiple_of(LINE_BITS) {
            return Err(format!(
                "{bits} bits is not a multiple of {LINE_BITS}, the line of the blocked layout"
            ));
        }
        if hashes > MAX_BLOCKED_HASHES {
            return Err(format!(
                "{hashes} hashes; the blocked layout takes at most {MAX_BLOCKED_HASHES}"
            ));
        }
        if derivation != Derivation::Independent {
            return Err("the blocked layout places bits in its own way: \
                        leave the derivation at independent"
                .into());
        }
    }
    match family {
        Family::SipHash { .. } if seed != 0 => {
            Err("siphash has its key instead of a seed: leave the seed at 0".into())
        }
        Family::Affine(functions) => {
            let pairs = functions.coefficients().len();
            if layout == Layout::Blocked {
                Err("affine functions need the standard layout".into())
            } else if derivation != Derivation::Independent {
                Err("affine functions give every position themselves: \
                     leave the derivation at independent"
                    .into())
            } else if seed != 0 {
                Err("affine functions have coefficients instead of a seed: \
                     leave the seed at 0"
                    .into())
            } else if pairs != hashes as usize {
                Err(format!(
                    "{pairs} pairs of affine coefficients for {hashes} hashes"
                ))
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
