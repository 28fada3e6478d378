//! The shape of a tree: the size of the filters of each level, and their positions.

use std::fmt;

use bloomgrove::raw::numbers::Grouped;
use bloomgrove::{Derivation, Family};
use bloomgrove::{Error, Layout, MAX_BITS, MAX_HASHES, Params};

/// The most levels a tree can have.
pub const MAX_DEPTH: usize = 8;
/// The most bits a filter below the root can have: one word.
pub const MAX_FILTER_BITS: u64 = 64;
/// The most hash functions a filter below the root can have.
pub const MAX_FILTER_HASHES: u32 = 16;
/// The most hash functions that a key can have over all levels.
const MAX_VISITS: u64 = 1 << 16;

/// One level: m_i and k_i of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// The number of bits of each filter of the level.
    pub bits: u64,
    /// The number of hash functions of each filter of the level.
    pub hashes: u32,
}

/// Levels and hashing of a tree. Two trees can be combined only if their shapes are equal.
///
/// The root is a filter with [`Params`], whose family, seed and derivation apply to the whole tree.
/// [`Derivation::Independent`], the default, remixes the hash for every filter.
/// [`Derivation::KirschMitzenmacher`] is the paper's Eq. 8 and 9, kept to show its effect:
/// modulo a few bits, h1 + c h2 has only m^2 outcomes for a whole level.
///
/// ```
/// use bloomgrove_trees::bloom_tree::TreeShape;
///
/// // The paper's d = 3, rho = 1: a bit per item in the root, then filters of 4 and 3 bits.
/// let shape = TreeShape::for_items(10_000, 1.0, &[4, 3], &[6, 3, 2])?;
/// assert_eq!(shape.bits(), 10_000 * (1 + 4 + 12));
/// assert_eq!(shape.hashes(), 6 + 6 * 3 + 6 * 3 * 2);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TreeShape {
    root: Params,
    levels: Vec<Level>,
    partitioned: bool,
    /// Where each level begins in the array, Eq. 6, and where the last one ends.
    starts: Vec<u64>,
    /// The first coefficient of each level, Eq. 9 as printed.
    coefficients: Vec<u64>,
}

impl TreeShape {
    /// From m and k of every level, the root first.
    ///
    /// # Errors
    /// [`Error::Params`], naming the violated rule.
    pub fn new(levels: &[(u64, u32)]) -> Result<Self, Error> {
        let Some(&(bits, hashes)) = levels.first() else {
            return Err(Error::params("a tree without levels; it needs at least 1"));
        };
        let levels = levels.iter().map(|&(bits, hashes)| Level { bits, hashes });
        Self::of(
            Params::builder(bits, hashes).build()?,
            levels.collect(),
            false,
        )
    }

    /// As in the paper: `rho` bits of the root per item, `bits` m_2 to m_d,
    /// `hashes` k_1 to k_d.
    ///
    /// # Errors
    /// [`Error::Params`], naming the violated rule.
    pub fn for_items(items: u64, rho: f64, bits: &[u64], hashes: &[u32]) -> Result<Self, Error> {
        if hashes.len() != bits.len() + 1 {
            return Err(Error::params(format!(
                "{} numbers of hashes for {} levels below the root; there must be one more, \
                 for the root",
                hashes.len(),
                bits.len()
            )));
        }
        let root = (items as f64 * rho).ceil();
        if !(1.0..=MAX_BITS as f64).contains(&root) {
            return Err(Error::params(format!(
                "a root of {rho} bits per item for {} items; it must have 1 to {} bits",
                Grouped(items),
                Grouped(MAX_BITS)
            )));
        }
        let bits = std::iter::once(root as u64).chain(bits.iter().copied());
        Self::new(&bits.zip(hashes.iter().copied()).collect::<Vec<_>>())
    }

    /// With this root and these levels, including the root's.
    pub(super) fn of(root: Params, levels: Vec<Level>, partitioned: bool) -> Result<Self, Error> {
        if levels.is_empty() || levels.len() > MAX_DEPTH {
            return Err(Error::params(format!(
                "a tree of {} levels; there must be 1 to {MAX_DEPTH}",
                levels.len()
            )));
        }
        if root.layout() != Layout::Standard {
            return Err(Error::params(
                "the root of a tree requires the standard layout",
            ));
        }
        if matches!(root.family(), Family::Affine(_)) {
            return Err(Error::params(
                "affine functions have no digest that a tree could derive hashes from; use another family",
            ));
        }
        for (level, &Level { bits, hashes }) in levels.iter().enumerate().skip(1) {
            if bits == 0 || bits > MAX_FILTER_BITS {
                return Err(Error::params(format!(
                    "filters of {bits} bits on level {}; below the root there must be 1 to \
                     {MAX_FILTER_BITS}",
                    level + 1
                )));
            }
            if hashes == 0 || hashes > MAX_FILTER_HASHES {
                return Err(Error::params(format!(
                    "filters of {hashes} hashes on level {}; below the root there must be 1 to \
                     {MAX_FILTER_HASHES}",
                    level + 1
                )));
            }
        }
        let (mut starts, mut coefficients) = (vec![0], vec![0]);
        let (mut filters, mut visits, mut all_visits) = (1u64, 1u64, 0u64);
        for (i, level) in levels.iter().enumerate() {
            let too_large = || {
                Error::params(format!(
                    "its levels have more than {} bits in total, the maximum",
                    Grouped(MAX_BITS)
                ))
            };
            let bits = filters.checked_mul(level.bits).ok_or_else(too_large)?;
            let start = starts[i] + bits;
            if start > MAX_BITS {
                return Err(too_large());
            }
            starts.push(start);
            let above = if i == 0 { 1 } else { levels[i - 1].bits };
            coefficients.push(coefficients[i] + above * u64::from(level.hashes));
            filters = bits;
            visits *= u64::from(level.hashes);
            all_visits += visits;
            if all_visits > MAX_VISITS {
                return Err(Error::params(format!(
                    "a key would have more than {MAX_VISITS} hash functions; use fewer levels or \
                     fewer hashes"
                )));
            }
        }
        let root_level = levels[0];
        if partitioned
            && !root_level
                .bits
                .is_multiple_of(64 * u64::from(root_level.hashes))
        {
            return Err(Error::params(format!(
                "a root of {} bits in {} partitions; each must be a multiple of 64 bits",
                root_level.bits, root_level.hashes
            )));
        }
        Ok(Self {
            root,
            levels,
            partitioned,
            starts,
            coefficients,
        })
    }

    /// Section 4.4: divides the root into k_1 parts, one per hash function, and so the tree into k_1
    /// independent ones, which can be built in parallel. Each part of the root is rounded up to whole
    /// words.
    ///
    /// # Errors
    /// [`Error::Params`] if the result is too large.
    pub fn partitioned(self) -> Result<Self, Error> {
        let mut levels = self.levels;
        let unit = 64 * u64::from(levels[0].hashes);
        levels[0].bits = levels[0].bits.next_multiple_of(unit);
        Self::of(self.root.with_bits(levels[0].bits)?, levels, true)
    }

    /// The same with another derivation.
    ///
    /// # Errors
    /// [`Error::Params`].
    pub fn with_derivation(self, derivation: Derivation) -> Result<Self, Error> {
        self.rehash(|root| root.derivation(derivation))
    }

    /// The same with another seed.
    ///
    /// # Errors
    /// [`Error::Params`], for a family without seeds.
    pub fn with_seed(self, seed: u64) -> Result<Self, Error> {
        self.rehash(|root| root.seed(seed))
    }

    /// The same with another hash family.
    ///
    /// # Errors
    /// [`Error::Params`] for the affine family, which has no digest.
    pub fn with_family(self, family: Family) -> Result<Self, Error> {
        self.rehash(|root| root.family(family))
    }

    fn rehash(
        self,
        change: impl FnOnce(bloomgrove::ParamsBuilder) -> bloomgrove::ParamsBuilder,
    ) -> Result<Self, Error> {
        if matches!(self.root.family(), Family::Affine(_)) {
            return Err(Error::params("affine functions have no digest"));
        }
        let root = Params::builder(self.root.bits(), self.root.hashes())
            .derivation(self.root.derivation())
            .family(self.root.family().clone())
            .seed(self.root.seed());
        Self::of(change(root).build()?, self.levels, self.partitioned)
    }

    /// The parameters of the root, which determine the hashing of the whole tree.
    pub fn root(&self) -> &Params {
        &self.root
    }

    /// The levels, the root's first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The number of levels: d of the paper.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Whether the root is divided into parts, one per hash function.
    pub fn is_partitioned(&self) -> bool {
        self.partitioned
    }

    /// The number of bits of all levels: M of the paper.
    pub fn bits(&self) -> u64 {
        self.starts[self.levels.len()]
    }

    /// The number of 64-bit words of these.
    pub fn words(&self) -> usize {
        usize::try_from(self.bits().div_ceil(64)).unwrap_or(usize::MAX)
    }

    /// The number of hash functions for a present key, if no two give the same bit.
    pub fn hashes(&self) -> u64 {
        let visits = self.levels.iter().scan(1, |visits, level| {
            *visits *= u64::from(level.hashes);
            Some(*visits)
        });
        visits.sum()
    }

    /// The number of filters of a level; level 0 is the root.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn filters(&self, level: usize) -> u64 {
        self.level_bits(level) / self.levels[level].bits
    }

    /// The number of bits of a level.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn level_bits(&self, level: usize) -> u64 {
        self.starts[level + 1] - self.starts[level]
    }

    /// Where a level begins in the array.
    #[inline]
    pub(super) fn start(&self, level: usize) -> u64 {
        self.starts[level]
    }

    /// Where a filter begins: Eq. 6, counted from 0.
    #[inline]
    pub(super) fn offset(&self, level: usize, filter: u64) -> u64 {
        self.starts[level] + filter * self.levels[level].bits
    }

    /// The first coefficient of a filter's hash functions: Eq. 9, counted from 0. As printed:
    /// from the fourth level on, filters of different levels have the same coefficients.
    #[inline]
    pub(super) fn coefficient(&self, level: usize, filter: u64) -> u64 {
        let of_filter = filter.wrapping_mul(u64::from(self.levels[level].hashes));
        self.coefficients[level].wrapping_add(of_filter)
    }

    /// The number of bits of each part of the root: all of them, if it is not divided.
    #[inline]
    pub(super) fn part_bits(&self) -> u64 {
        match self.partitioned {
            true => self.levels[0].bits / u64::from(self.levels[0].hashes),
            false => self.levels[0].bits,
        }
    }

    /// Ok if equal, [`Error::DifferentTrees`] with both if not.
    pub(super) fn check_equal(&self, other: &Self) -> Result<(), Error> {
        if self == other {
            return Ok(());
        }
        Err(Error::DifferentTrees {
            left: self.to_string(),
            right: other.to_string(),
        })
    }
}

impl fmt::Display for TreeShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, of: &dyn Fn(&Level) -> u64| {
            for (i, level) in self.levels.iter().enumerate() {
                write!(f, "{}{}", if i == 0 { "" } else { "/" }, Grouped(of(level)))?;
            }
            Ok(())
        };
        list(f, &|level| level.bits)?;
        write!(f, " bits, ")?;
        list(f, &|level| u64::from(level.hashes))?;
        write!(f, " hashes")?;
        if self.partitioned {
            write!(f, ", partitioned")?;
        }
        match self.root.family() {
            Family::SipHash { .. } => write!(f, ", siphash")?,
            family => write!(f, ", {family} seed {}", self.root.seed())?,
        }
        if self.root.derivation() == Derivation::KirschMitzenmacher {
            write!(f, ", {}", Derivation::KirschMitzenmacher)?;
        }
        Ok(())
    }
}

const _: () = assert!(MAX_FILTER_HASHES <= MAX_HASHES);
