//! The parameters that two filters must share before they can be combined.

mod bytes;
pub(crate) mod probe;

pub use probe::Probe;

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::Error;
use crate::bits::{Fast, LANES, LINE_BITS};
use crate::hash::{Derivation, Family, Key, MAX_HASHES, SPLIT_BITS, SPLIT_HASHES};
use crate::numbers::{Counted, Grouped};

/// The largest number of bits in a filter: 2^48, which is 32 TiB.
pub const MAX_BITS: u64 = 1 << 48;
/// The largest number of hash functions in a blocked filter: two per lane.
pub const MAX_BLOCKED_HASHES: u32 = 2 * LANES;

/// How the k bits of a key are laid out in a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Anywhere in the filter. The fewest bits for a given false-positive rate, but up to k cache
    /// misses per key.
    Standard,
    /// All in one 512-bit line. One cache miss per key, for a few more bits.
    Blocked,
    /// One in each of the eight 32-bit words of a 256-bit block, as in the Bloom filters of Parquet
    /// files. With the family [`Family::Xxh64`] a filter is bit for bit one of theirs.
    SplitBlock,
}

impl Layout {
    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Layout::Standard => "standard",
            Layout::Blocked => "blocked",
            Layout::SplitBlock => "split-block",
        }
    }
}

display_as_name!(Layout);

/// Size, hashing and layout of a filter.
///
/// Filters can be combined, and queried with the same [`Probe`], only if their `Params` are equal.
/// A `Params` is always valid: it is checked when it is built.
///
/// ```
/// use bloomgrove::{Layout, Params};
///
/// // From requirements: a million items at a false-positive rate of 1%.
/// let params = Params::for_items(1_000_000, 0.01)?;
/// assert_eq!(params.layout(), Layout::Blocked);
///
/// // From a chosen size.
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
    /// Of the encoding of the other fields on disk.
    fingerprint: u64,
    route: Route,
}

/// How a single key finds its bits. The common ways have loops of their own: one loop for all
/// parameters would keep its constants in memory, which doubles the time of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    /// XXH3, standard layout, independent positions. Which instructions this machine has is found out
    /// once, not for every key.
    Standard(Fast),
    /// XXH3, blocked layout.
    Blocked(Fast),
    /// Everything else.
    Other,
}

impl Route {
    fn of(params: &Params) -> Self {
        match (
            &params.family,
            params.layout,
            params.derivation,
            Fast::new(),
        ) {
            (Family::Xxh3, Layout::Standard, Derivation::Independent, Some(fast)) => {
                Route::Standard(fast)
            }
            (Family::Xxh3, Layout::Blocked, _, Some(fast)) => Route::Blocked(fast),
            _ => Route::Other,
        }
    }
}

impl Params {
    /// Creates a builder from the number of bits and of hash functions. The rest has defaults:
    /// standard layout, XXH3, independent positions, seed 0.
    pub fn builder(bits: u64, hashes: u32) -> ParamsBuilder {
        ParamsBuilder(Params {
            bits,
            hashes,
            layout: Layout::Standard,
            derivation: Derivation::Independent,
            seed: 0,
            family: Family::Xxh3,
            fingerprint: 0,
            route: Route::Other,
        })
    }

    /// Returns the same parameters with another number of bits.
    ///
    /// # Errors
    /// [`Error::Params`] if this layout or family cannot have that many bits.
    pub fn with_bits(&self, bits: u64) -> Result<Self, Error> {
        ParamsBuilder(Params {
            bits,
            ..self.clone()
        })
        .build()
    }

    /// Returns the number of bits in the filter.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns the share of bits that are set, from 0 to 1, if `ones` bits are.
    pub fn fill(&self, ones: u64) -> f64 {
        ones as f64 / self.bits as f64
    }

    /// Returns the number of bits that each key sets.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Returns how the bits of a key are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns how the positions are derived from one digest.
    pub fn derivation(&self) -> Derivation {
        self.derivation
    }

    /// Returns the seed of the hash family.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the hash family.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Returns whether every key has the same digest for these parameters as for others.
    #[inline(always)]
    pub(crate) fn has_digests_of(&self, other: &Params) -> bool {
        self.seed == other.seed
            && self.family == other.family
            && !matches!(self.family, Family::Affine(_))
    }

    /// Returns the number of 64-bit words in the filter.
    pub fn words(&self) -> usize {
        // If it exceeds the address space, allocating it will fail.
        usize::try_from(self.bits.div_ceil(64)).unwrap_or(usize::MAX)
    }

    /// Returns 64 bits that identify all of the above, the same on every machine.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns how a single key finds its bits.
    #[inline(always)]
    pub(crate) fn route(&self) -> Route {
        self.route
    }

    /// Hashes a key once, to test it against many filters.
    pub fn probe<K: Key + ?Sized>(&self, key: &K) -> Probe {
        key.with_bytes(|bytes| Probe::new(self, bytes))
    }

    /// Returns [`Error::Incompatible`] with both parameters unless they are equal.
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
            "{}, {}, {}, {}",
            Counted(self.bits, "bit"),
            Counted(self.hashes.into(), "hash"),
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
            // The key itself must not appear in messages; its fingerprint tells two keys apart.
            Family::SipHash { key } => write!(f, " key #{:08x}", xxh3_64(key) as u32)?,
            _ => write!(f, " seed {}", self.seed)?,
        }
        if self.derivation == Derivation::KirschMitzenmacher {
            write!(f, ", kirsch-mitzenmacher")?;
        }
        Ok(())
    }
}

/// A builder of [`Params`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ParamsBuilder(Params);

impl ParamsBuilder {
    /// Sets how the bits of a key are laid out.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.0.layout = layout;
        self
    }

    /// Sets the hash family.
    pub fn family(mut self, family: Family) -> Self {
        self.0.family = family;
        self
    }

    /// Sets how the positions are derived from one digest.
    pub fn derivation(mut self, derivation: Derivation) -> Self {
        self.0.derivation = derivation;
        self
    }

    /// Sets the seed. Filters with different seeds cannot be combined.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// Checks and returns the parameters.
    ///
    /// # Errors
    /// [`Error::Params`] with the rule that is broken.
    pub fn build(self) -> Result<Params, Error> {
        let mut params = self.0;
        check(&params).map_err(Error::params)?;
        params.fingerprint = xxh3_64(&params.to_bytes());
        params.route = Route::of(&params);
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
        return Err(format!(
            "{} bits; a filter has 1 to {}",
            Grouped(bits),
            Grouped(MAX_BITS)
        ));
    }
    if hashes == 0 || hashes > MAX_HASHES {
        return Err(format!("{hashes} hashes; a filter has 1 to {MAX_HASHES}"));
    }
    if layout == Layout::Blocked {
        if !bits.is_multiple_of(LINE_BITS) {
            return Err(format!(
                "{} bits is not a multiple of {LINE_BITS}, the line size of the blocked layout",
                Grouped(bits)
            ));
        }
        if hashes > MAX_BLOCKED_HASHES {
            return Err(format!(
                "{hashes} hashes; the blocked layout allows at most {MAX_BLOCKED_HASHES}"
            ));
        }
        if derivation != Derivation::Independent {
            return Err("the blocked layout derives positions in its own way: \
                        leave the derivation at independent"
                .into());
        }
    }
    if layout == Layout::SplitBlock {
        let blocks = bits / SPLIT_BITS;
        if !bits.is_multiple_of(SPLIT_BITS) || blocks > 1 << 32 {
            return Err(format!(
                "{} bits; the split-block layout has 1 to 2^32 blocks of {SPLIT_BITS} bits",
                Grouped(bits)
            ));
        }
        if hashes != SPLIT_HASHES || derivation != Derivation::Independent {
            return Err(format!(
                "the split-block layout has {SPLIT_HASHES} hashes, and derives positions in its \
                 own way: leave the derivation at independent"
            ));
        }
    }
    match family {
        Family::SipHash { .. } if seed != 0 => {
            Err("siphash has a key instead of a seed: leave the seed at 0".into())
        }
        Family::Affine(functions) => {
            let pairs = functions.coefficients().len();
            if layout != Layout::Standard {
                Err("affine functions need the standard layout".into())
            } else if derivation != Derivation::Independent {
                Err("affine functions produce every position themselves: \
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
