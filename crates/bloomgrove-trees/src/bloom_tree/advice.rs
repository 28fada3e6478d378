//! What to send so that a set takes the fewest bytes: advice over all structures.
//!
//! ```text
//!   items, and a rate or a number of bytes
//!      |-- standard, blocked     incompressible: half of their bits are set
//!      |-- compressed filters    m H(fill) bits: fewer hashes than usual leave most bits 0,
//!      |                         many more make most 1, and either compresses well
//!      |-- BloomTrees            simulated: there is no formula for their rate
//!      '-- for comparison        Golomb-coded set, n log2(1/p)
//!             |
//!             v
//!   the cheapest within the receiver's limits, and why
//! ```
//!
//! Sizes are those of whole messages, as written by `codec`. Memory is what the receiver needs for
//! queries: a filter compressed to a few bits per item may expand to thousands.
//!
//! A tree with one hash function in every filter below its root is a standard filter of
//! m_1 m_2 .. bits and k_1 hashes, of the same rate and the same size once coded; such trees are
//! not among the candidates. The size of the best of the others is between that of the smallest
//! standard filter and that of the best compressed one at each of the rates 0.3, 0.1, 0.03, 0.01,
//! 1e-3, 1e-4, 1e-5 and 1e-6, if there is memory for that one.
//! (`bloomgrove tune wire --items 100k --fpr 0.3,0.1,...` prints it.)
//!
//! Source: Fu and Biersack (BloomTree), section 6, which considers only trees and compares
//! them with standard filters at the geometric mean; compressed filters after Mitzenmacher (2002),
//! cited there only with few hashes.
//!
//! Cost: formulas for filters, and a few hundred small trees: a second or two.

mod choice;

use crate::bloom_tree::TreeShape;
use bloomgrove::raw::codec::Framing;
use bloomgrove::raw::codec::Model;
use bloomgrove::raw::numbers::Grouped;
use bloomgrove::{Error, Layout, MAX_HASHES, Params};

use super::forest;
use bloomgrove::raw::math;
use bloomgrove::tune;

/// The goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The fewest bytes at this false-positive rate.
    Fpr(f64),
    /// The lowest false-positive rate in this many bytes.
    Bytes(u64),
}

/// The receiver's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of memory for the structure once it is expanded.
    pub memory: u64,
    /// The most bits that a query of a present key may access.
    pub hashes: u64,
    /// The most levels of a tree.
    pub depth: usize,
}

impl Default for Limits {
    /// 1 GiB, 64 hashes, and trees of two and three levels.
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            hashes: MAX_HASHES.into(),
            depth: 3,
        }
    }
}

/// Something that can be sent, or compared with.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Structure {
    /// The smallest filter.
    Standard(Params),
    /// All bits of a key in one line.
    Blocked(Params),
    /// Fewer or more hashes than the smallest filter, more bits, and smaller once compressed.
    Compressed(Params),
    /// A tree, coded by context.
    Tree(TreeShape),
    /// Sorted hashes with coded gaps. For comparison: not implemented here.
    Golomb,
    /// The lower bound for any structure. For comparison.
    Information,
}

impl Structure {
    /// A short name.
    pub fn name(&self) -> &'static str {
        match self {
            Structure::Standard(_) => "standard filter",
            Structure::Blocked(_) => "blocked filter",
            Structure::Compressed(_) => "compressed filter",
            Structure::Tree(_) => "BloomTree",
            Structure::Golomb => "Golomb-coded set",
            Structure::Information => "information bound",
        }
    }

    /// Whether this library implements it.
    pub fn is_producible(&self) -> bool {
        !matches!(self, Structure::Golomb | Structure::Information)
    }

    /// The parameters of a filter.
    pub fn params(&self) -> Option<&Params> {
        match self {
            Structure::Standard(params)
            | Structure::Blocked(params)
            | Structure::Compressed(params) => Some(params),
            _ => None,
        }
    }
}

/// A structure with its expected properties.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The structure.
    pub structure: Structure,
    /// Bytes of its message, for an average set.
    pub wire_bytes: u64,
    /// How much that varies from set to set: the relative standard deviation. With many bits set and
    /// few items, size and rate both vary: one is above its mean if the other is below.
    pub spread: f64,
    /// Bytes in the receiver's memory.
    pub memory_bytes: u64,
    /// The false-positive rate.
    pub fpr: f64,
    /// How many bits a query of a present key accesses.
    pub hashes: u64,
    /// Why it is excluded, if it is.
    pub excluded: Option<String>,
}

impl Candidate {
    pub(super) fn new(structure: Structure, wire_bytes: u64, spread: f64, fpr: f64) -> Self {
        let (bits, hashes) = match &structure {
            Structure::Tree(shape) => (shape.bits(), shape.hashes()),
            other => match other.params() {
                Some(params) => (params.bits(), params.hashes().into()),
                None => (wire_bytes.saturating_mul(8), 1),
            },
        };
        Self {
            structure,
            wire_bytes,
            spread,
            memory_bytes: 8 * bits.div_ceil(64),
            fpr,
            hashes,
            excluded: None,
        }
    }

    /// Whether it is implemented and within the limits.
    pub fn is_possible(&self) -> bool {
        self.excluded.is_none() && self.structure.is_producible()
    }
}

/// All candidates, and the recommended one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Advice {
    /// The number of items.
    pub items: u64,
    /// The goal.
    pub goal: Goal,
    /// The best first: fewest bytes, or lowest rate.
    pub candidates: Vec<Candidate>,
    /// The index of the recommended candidate.
    pub best: usize,
    /// The reason, in a sentence.
    pub why: String,
}

impl Advice {
    /// The recommended candidate.
    pub fn best(&self) -> &Candidate {
        &self.candidates[self.best]
    }
}

/// The numbers of hashes to try for compressed filters.
const HASHES: [u32; 8] = [1, 2, 3, 4, 8, 16, 32, 64];
/// The lowest rate supported: below it, the size of a message is irrelevant.
const LOWEST: f64 = 1e-15;
/// The highest rate considered for a number of bytes.
const HIGHEST: f64 = 0.999;

/// The overhead of a message in addition to its frames, including a short note, and of a frame:
/// heads, lengths, checksums, densities. FORMAT section 15.
const MESSAGE: u64 = 64;
const FRAME: u64 = 12;
/// The overhead of the coder relative to the entropy.
const CODER: f64 = 1.0005;
/// The share of a number of bytes that is used, and the margin for a set that is larger than usual:
/// this many standard deviations.
const SAFE: f64 = 0.999;
const SURE: f64 = 3.5;
/// The margin for a tree, whose variation is not known before it is found.
const TREE_SAFE: f64 = 0.99;

/// What to send for `items` items.
///
/// ```
/// use bloomgrove_trees::bloom_tree::advice::{Goal, Limits, Structure, advise};
///
/// let advice = advise(10_000, Goal::Fpr(0.01), &Limits::default())?;
/// assert!(matches!(advice.best().structure, Structure::Compressed(_)));
/// println!("{}", advice.why);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unreachable`] if the rate is out of range, the bytes are too few for any message, or
/// nothing is within the limits.
pub fn advise(items: u64, goal: Goal, limits: &Limits) -> Result<Advice, Error> {
    check(items, goal)?;
    if let Goal::Bytes(bytes) = goal
        && standard(items, LOWEST).is_some_and(|lowest| lowest.wire_bytes <= bytes)
    {
        let mut advice = advise(items, Goal::Fpr(LOWEST), limits)?;
        advice.goal = goal;
        advice.why = format!(
            "this many bytes allow any rate that is supported; {}",
            advice.why
        );
        return Ok(advice);
    }
    let standard = reaching(goal, |fpr| standard(items, fpr));
    let mut candidates: Vec<Candidate> = standard.iter().cloned().collect();
    candidates.extend(reaching(goal, |fpr| blocked(items, fpr)));
    for hashes in HASHES {
        let found = reaching(goal, |fpr| compressed(items, hashes, fpr));
        // With nearly the usual number of hashes, there is nothing to compress.
        let known = standard.as_ref();
        let better = |found: &Candidate| known.is_none_or(|known| is_better(found, known, goal));
        candidates.extend(found.filter(better));
    }
    let aim = match goal {
        Goal::Fpr(fpr) => Goal::Fpr(fpr * TREE_SAFE),
        Goal::Bytes(bytes) => Goal::Bytes((bytes as f64 * TREE_SAFE) as u64),
    };
    candidates.extend(forest::trees(items, aim, limits)?);
    candidates.extend(reaching(goal, |fpr| Some(golomb(items, fpr))));
    candidates.extend(reaching(goal, |fpr| Some(information(items, fpr))));
    for candidate in &mut candidates {
        candidate.excluded = excluded(candidate, goal, limits);
    }
    candidates.sort_by(|a, b| value(a, goal).total_cmp(&value(b, goal)));
    let best =
        choice::choose(&candidates, goal).ok_or_else(|| nothing_fits(&candidates, limits))?;
    let why = choice::why(&candidates, best, goal);
    Ok(Advice {
        items,
        goal,
        candidates,
        best,
        why,
    })
}

fn check(items: u64, goal: Goal) -> Result<(), Error> {
    let what = match goal {
        Goal::Fpr(fpr) => {
            bloomgrove::raw::tune::check_target(items, fpr)?;
            if fpr >= LOWEST {
                return Ok(());
            }
            format!("a false-positive rate of {fpr:e}; the lowest supported is {LOWEST:e}")
        }
        Goal::Bytes(bytes) => {
            bloomgrove::raw::tune::check_target(items, 0.5)?;
            if bytes >= MESSAGE + 8 {
                return Ok(());
            }
            format!(
                "a message of {}; its head alone takes {}",
                size(bytes),
                size(MESSAGE)
            )
        }
    };
    Err(Error::Unreachable { what })
}

/// What is minimized.
fn value(candidate: &Candidate, goal: Goal) -> f64 {
    match goal {
        Goal::Fpr(_) => candidate.wire_bytes as f64,
        Goal::Bytes(_) => candidate.fpr,
    }
}

fn is_better(one: &Candidate, other: &Candidate, goal: Goal) -> bool {
    value(one, goal) < value(other, goal)
}

/// What `make` returns at the required rate; or at the lowest rate at which it does not exceed the
/// given number of bytes.
fn reaching(goal: Goal, make: impl Fn(f64) -> Option<Candidate>) -> Option<Candidate> {
    let bytes = match goal {
        Goal::Fpr(fpr) => return make(fpr),
        Goal::Bytes(bytes) => bytes as f64 * SAFE,
    };
    let surely = |made: &Candidate| made.wire_bytes as f64 * (1.0 + SURE * made.spread) <= bytes;
    let fits = |ln: f64| make(ln.exp()).filter(surely);
    let (mut low, mut high) = (LOWEST.ln(), HIGHEST.ln());
    if let Some(lowest) = fits(low) {
        return Some(lowest);
    }
    let mut found = fits(high)?;
    // To a precision of one in ten thousand.
    while high - low > 1e-4 {
        let middle = (low + high) / 2.0;
        match fits(middle) {
            Some(better) => (found, high) = (better, middle),
            None => low = middle,
        }
    }
    Some(found)
}

/// The size of the message of a filter with this fill.
fn message(bits: u64, fill: f64) -> u64 {
    let ones = (bits as f64 * fill).round() as u64;
    let frames = Framing::new(Model::default(), bits, ones.min(bits)).frames();
    let coded = (bits as f64 * math::entropy(fill) * CODER).min(bits as f64);
    MESSAGE + FRAME * frames + (coded / 8.0).ceil() as u64
}

fn filter(
    size: &tune::Recommendation,
    structure: impl FnOnce(Params) -> Structure,
) -> Option<Candidate> {
    let fill = math::fill(size.bits, size.hashes, size.items);
    let made = structure(size.params().ok()?);
    let bytes = message(size.bits, fill);
    let spread = math::compressed_spread(size.bits, size.hashes, size.items);
    Some(Candidate::new(made, bytes, spread, size.fpr))
}

fn standard(items: u64, fpr: f64) -> Option<Candidate> {
    let size = tune::choose(items, fpr, Some(Layout::Standard), None).ok()?;
    filter(&size, Structure::Standard)
}

fn blocked(items: u64, fpr: f64) -> Option<Candidate> {
    let size = tune::choose(items, fpr, Some(Layout::Blocked), None).ok()?;
    filter(&size, Structure::Blocked)
}

fn compressed(items: u64, hashes: u32, fpr: f64) -> Option<Candidate> {
    let size = bloomgrove::raw::tune::standard_with(items, hashes, fpr).ok()?;
    filter(&size, Structure::Compressed)
}

fn golomb(items: u64, fpr: f64) -> Candidate {
    let bytes = (math::golomb_bits(items, fpr) / 8.0).ceil() as u64;
    Candidate::new(Structure::Golomb, MESSAGE + bytes, 0.0, fpr)
}

fn information(items: u64, fpr: f64) -> Candidate {
    let bytes = (math::information_bits(items, fpr) / 8.0).ceil() as u64;
    Candidate::new(Structure::Information, bytes, 0.0, fpr)
}

fn excluded(candidate: &Candidate, goal: Goal, limits: &Limits) -> Option<String> {
    if !candidate.structure.is_producible() {
        None
    } else if matches!(goal, Goal::Fpr(fpr) if candidate.fpr > fpr * 1.0001) {
        Some(format!("accepts {:.3e} of absent keys", candidate.fpr))
    } else if candidate.memory_bytes > limits.memory {
        Some(format!(
            "expands to {}, more than {} of memory",
            size(candidate.memory_bytes),
            size(limits.memory)
        ))
    } else if candidate.hashes > limits.hashes {
        Some(format!(
            "accesses {} bits, more than {}",
            candidate.hashes, limits.hashes
        ))
    } else {
        None
    }
}

fn nothing_fits(candidates: &[Candidate], limits: &Limits) -> Error {
    let producible = candidates.iter().filter(|c| c.structure.is_producible());
    let least = producible.map(|c| c.memory_bytes).min().unwrap_or(u64::MAX);
    let what = if least > limits.memory {
        format!(
            "everything expands to more than the {} of memory allowed; {} would be enough",
            size(limits.memory),
            size(least)
        )
    } else {
        format!("nothing accesses only {} bits; allow more", limits.hashes)
    };
    Error::Unreachable { what }
}

/// Exact, because a rounded number might not be enough.
fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        _ => format!("{} bytes", Grouped(bytes)),
    }
}

#[cfg(test)]
mod tests;
