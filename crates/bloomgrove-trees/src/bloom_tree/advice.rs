//! What to send so that a set arrives in the fewest bytes: advice over every structure.
//!
//! ```text
//!   items, and a rate or a number of bytes
//!      |-- standard, blocked     about as many bits as they have: half of them are set
//!      |-- compressed filters    m H(fill) bits: fewer hashes than usual leave most bits 0,
//!      |                         many more make most 1, and either is coded in less
//!      |-- BloomTrees            simulated: no formula has their rate
//!      '-- for comparison        Golomb-coded set, n log2(1/p)
//!             |
//!             v
//!   the cheapest that the receiver can bear, and why
//! ```
//!
//! Sizes are those of whole messages, as `codec` makes them. Memory is what the receiver needs to
//! ask questions: a filter coded in a few bits for an item may expand to thousands.
//!
//! A tree with one hash function in every filter below its root is a standard filter of
//! m_1 m_2 .. bits and k_1 hashes, of the same rate and the same size once coded; such trees are
//! not among the candidates. Of the others the best lies between the smallest standard filter and
//! the best compressed one at each of the rates .3, .1, .03, .01, 1e-3, 1e-4, 1e-5 and 1e-6, if there
//! is memory for that one. (`bloomgrove tune wire --items 100k --fpr 0.3,0.1,...` prints it.)
//!
//! Source: Fu and Biersack (BloomTree), section 6, which searches among trees alone and compares with standard
//! filters at the geometric mean; compressed filters after Mitzenmacher (2002), cited there with
//! few hashes only.
//!
//! Cost: formulas for filters, and some hundred small trees: a second or two.

mod choice;

use crate::bloom_tree::TreeShape;
use bloomgrove::raw::codec::Framing;
use bloomgrove::raw::codec::Model;
use bloomgrove::{Error, Layout, MAX_HASHES, Params};

use super::forest;
use bloomgrove::raw::math;
use bloomgrove::tune;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The fewest bytes at this false-positive rate.
    Fpr(f64),
    /// The lowest false-positive rate in so many bytes.
    Bytes(u64),
}

/// What the receiver can bear.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of memory for the structure once it is expanded.
    pub memory: u64,
    /// The most bits that a query for a present key may look at.
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
    /// Fewer or more hashes than the smallest filter has, more bits, and smaller once coded.
    Compressed(Params),
    /// A tree, coded by context.
    Tree(TreeShape),
    /// Sorted hashes, their gaps coded. For comparison: it cannot be made here.
    Golomb,
    /// What no structure can go below. For comparison.
    Information,
}

impl Structure {
    /// In few words.
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

    /// Whether this library makes it.
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

/// A structure with what to expect of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// What.
    pub structure: Structure,
    /// Bytes of its message, for an average set.
    pub wire_bytes: u64,
    /// How much that varies from set to set: the standard deviation, as a share. With many bits
    /// set and few items, size and rate both depend on luck: one is above its mean when the other
    /// is below.
    pub spread: f64,
    /// Bytes in the receiver's memory.
    pub memory_bytes: u64,
    /// How often an absent key is accepted.
    pub fpr: f64,
    /// How many bits a query for a present key looks at.
    pub hashes: u64,
    /// Why it is out of the question, if it is.
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

    /// Whether it can be made and the limits allow it.
    pub fn is_possible(&self) -> bool {
        self.excluded.is_none() && self.structure.is_producible()
    }
}

/// All candidates, and which to take.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Advice {
    /// How many items it is about.
    pub items: u64,
    /// What was asked for.
    pub goal: Goal,
    /// The best first: fewest bytes, or lowest rate.
    pub candidates: Vec<Candidate>,
    /// The number of the one to take.
    pub best: usize,
    /// Why, in a sentence.
    pub why: String,
}

impl Advice {
    /// The one to take.
    pub fn best(&self) -> &Candidate {
        &self.candidates[self.best]
    }
}

/// The numbers of hashes that compressed filters are tried with.
const HASHES: [u32; 8] = [1, 2, 3, 4, 8, 16, 32, 64];
/// No lower rate can be asked for: what it takes is no matter of bytes on a wire.
const LOWEST: f64 = 1e-15;
/// No higher rate is looked at when bytes are given.
const HIGHEST: f64 = 0.999;

/// Bytes of a message beside its frames, a short note among them, and of a frame beside what is
/// coded: heads, lengths, checksums, densities. FORMAT section 15.
const MESSAGE: u64 = 64;
const FRAME: u64 = 12;
/// What the coder adds to the entropy.
const CODER: f64 = 1.0005;
/// Of bytes that are given, the share that is used, and room for a set that comes out larger than
/// usual: so many standard deviations.
const SAFE: f64 = 0.999;
const SURE: f64 = 3.5;
/// How much varies of a tree is not known before it is found.
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
/// [`Error::Unreachable`] when the rate is out of range, the bytes too few for any message, or
/// nothing keeps within the limits.
pub fn advise(items: u64, goal: Goal, limits: &Limits) -> Result<Advice, Error> {
    check(items, goal)?;
    if let Goal::Bytes(bytes) = goal
        && standard(items, LOWEST).is_some_and(|lowest| lowest.wire_bytes <= bytes)
    {
        let mut advice = advise(items, Goal::Fpr(LOWEST), limits)?;
        advice.goal = goal;
        advice.why = format!("so many bytes allow any rate there is here; {}", advice.why);
        return Ok(advice);
    }
    let standard = reaching(goal, |fpr| standard(items, fpr));
    let mut candidates: Vec<Candidate> = standard.iter().cloned().collect();
    candidates.extend(reaching(goal, |fpr| blocked(items, fpr)));
    for hashes in HASHES {
        let found = reaching(goal, |fpr| compressed(items, hashes, fpr));
        // Those near the usual number of hashes have nothing left to be coded away.
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
            format!("a false-positive rate of {fpr:e}; the lowest here is {LOWEST:e}")
        }
        Goal::Bytes(bytes) => {
            bloomgrove::raw::tune::check_target(items, 0.5)?;
            if bytes >= MESSAGE + 8 {
                return Ok(());
            }
            format!("in {bytes} bytes, of which the head of a message alone takes {MESSAGE}")
        }
    };
    Err(Error::Unreachable { what })
}

/// What is made small.
fn value(candidate: &Candidate, goal: Goal) -> f64 {
    match goal {
        Goal::Fpr(_) => candidate.wire_bytes as f64,
        Goal::Bytes(_) => candidate.fpr,
    }
}

fn is_better(one: &Candidate, other: &Candidate, goal: Goal) -> bool {
    value(one, goal) < value(other, goal)
}

/// What `make` makes at the rate asked for; or at the lowest rate at which it makes no more than
/// the bytes asked for.
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
    // To one in ten thousand of the rate.
    while high - low > 1e-4 {
        let middle = (low + high) / 2.0;
        match fits(middle) {
            Some(better) => (found, high) = (better, middle),
            None => low = middle,
        }
    }
    Some(found)
}

/// The bytes of the message of a filter whose bits are set at a share of `fill`.
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
            "looks at {} bits, more than {}",
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
            "everything expands to more than the {} of memory allowed; {} would do",
            size(limits.memory),
            size(least)
        )
    } else {
        format!("nothing looks at only {} bits; allow more", limits.hashes)
    };
    Error::Unreachable { what }
}

/// Exact: rounded, what would do might not do.
fn size(bytes: u64) -> String {
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests;
