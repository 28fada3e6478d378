//! The size and layout of a filter for a number of items and a false-positive rate.

use super::math;
use crate::bits::LINE_BITS;
use crate::hash::Family;
use crate::hash::prime::first_prime_from;
use crate::numbers::{Counted, Grouped};
use crate::{Error, Layout, MAX_BITS, MAX_BLOCKED_HASHES, MAX_HASHES, Params};

/// Blocked is recommended if it needs at most this many times the bits.
const BLOCKED_WORTH: f64 = 1.10;
/// One hash fewer in a standard filter is worth this many times the bits: it saves a memory access
/// and rejects absent keys sooner.
const FEWER_WORTH: f64 = 1.005;
/// Eight hashes make the fastest blocked filter, which is worth this many times the bits.
const EIGHT_WORTH: f64 = 1.02;
/// Two keys with the same digest are a false positive that no number of bits can prevent. Such
/// collisions may make up this share of the target rate.
const COLLISION_SHARE: f64 = 0.01;

/// The recommended size and layout of a filter, with its expected false-positive rate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recommendation {
    /// The number of items it is sized for.
    pub items: u64,
    /// The number of bits.
    pub bits: u64,
    /// The number of bits that each key sets.
    pub hashes: u32,
    /// How the bits of a key are laid out.
    pub layout: Layout,
    /// The hash family.
    pub family: Family,
    /// The expected false-positive rate once all items are inserted.
    pub fpr: f64,
    /// The reason for the choice.
    pub why: String,
}

impl Recommendation {
    /// Returns the parameters of such a filter.
    ///
    /// # Errors
    /// [`Error::Params`] if the fields were changed to invalid values.
    pub fn params(&self) -> Result<Params, Error> {
        Params::builder(self.bits, self.hashes)
            .layout(self.layout)
            .family(self.family.clone())
            .build()
    }
}

impl Params {
    /// Returns the parameters that [`recommend`] chooses for `items` items at false-positive rate
    /// `fpr`.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if no filter is that accurate or that large.
    pub fn for_items(items: u64, fpr: f64) -> Result<Self, Error> {
        recommend(items, fpr)?.params()
    }
}

/// Recommends a filter for `items` items at false-positive rate `fpr`.
///
/// ```
/// let size = bloomgrove::tune::recommend(1_000_000, 1e-4)?;
/// assert_eq!(size.layout, bloomgrove::Layout::Standard);
/// assert!(size.fpr <= 1e-4 && (size.bits as f64) < 19.3e6);
/// println!("{}", size.why);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unreachable`] if the rate is out of range, or no filter is that large or that accurate.
pub fn recommend(items: u64, fpr: f64) -> Result<Recommendation, Error> {
    choose(items, fpr, None, None)
}

/// Same as [`recommend`], with a given layout or family.
///
/// # Errors
/// [`Error::Unreachable`], also if the digests of the family are too short for the rate.
pub fn choose(
    items: u64,
    fpr: f64,
    layout: Option<Layout>,
    family: Option<Family>,
) -> Result<Recommendation, Error> {
    check_target(items, fpr)?;
    let (family, family_why) = match family {
        Some(family) => (check_family(items, fpr, family)?, None),
        None => default_family(items, fpr),
    };
    let mut size = match layout {
        Some(Layout::Standard) => standard(items, fpr)?,
        Some(Layout::Blocked) => blocked(items, fpr)?,
        Some(Layout::SplitBlock) => {
            return Err(Error::Unreachable {
                what:
                    "the split-block layout is for the filters of Parquet files, which have their \
                       sizes; choose standard or blocked"
                        .into(),
            });
        }
        None => {
            let mut plain = standard(items, fpr)?;
            match blocked(items, fpr) {
                Ok(mut lined) => {
                    let more = lined.bits as f64 / plain.bits as f64;
                    let percent = (more - 1.0) * 100.0;
                    if more <= BLOCKED_WORTH {
                        lined.why = format!(
                            "blocked costs {percent:.1}% more bits than standard at this rate, \
                             but accesses memory once per key instead of up to {} times",
                            plain.hashes
                        );
                        lined
                    } else {
                        plain.why = format!(
                            "standard needs the fewest bits; blocked would be faster, but needs \
                             {percent:.1}% more of them"
                        );
                        plain
                    }
                }
                Err(_) => {
                    plain.why = "standard: no blocked filter reaches this rate".into();
                    plain
                }
            }
        }
    };
    size.family = family;
    if let Some(why) = family_why {
        size.why = format!("{}; {why}", size.why);
    }
    Ok(size)
}

/// Returns the false-positive rate of a filter of this size once `items` items are inserted.
pub fn expected_fpr(layout: Layout, bits: u64, hashes: u32, items: u64) -> f64 {
    match layout {
        Layout::Standard => math::standard_fpr(bits, hashes, items),
        Layout::Blocked => math::blocked_fpr(bits, hashes, items),
        Layout::SplitBlock => math::split_block_fpr(bits, items),
    }
}

/// Returns the false-positive rate of a filter with `ones` bits set. For the blocked layout this
/// assumes that its lines are filled at random;
/// [`Filter::expected_fpr`](crate::Filter::expected_fpr) inspects them.
pub fn fpr_of_ones(params: &Params, ones: u64) -> f64 {
    let (bits, hashes) = (params.bits(), params.hashes());
    let fill = params.fill(ones);
    match params.layout() {
        Layout::Standard => fill.powi(hashes as i32),
        layout => {
            let items = math::items_for_fill(bits, hashes, fill);
            expected_fpr(layout, bits, hashes, items as u64)
        }
    }
}

/// Rounds a number of items up to the next of a few steps, by at most a quarter. The filters of
/// many sets then have few distinct sizes, which suits a mixed [`Index`](crate::index::Index).
pub fn step(items: u64) -> u64 {
    const LEAST: u64 = 32;
    if items <= LEAST {
        return LEAST;
    }
    let quarter = 1 << ((items - 1).ilog2() - 2);
    items.checked_next_multiple_of(quarter).unwrap_or(items)
}

/// Returns the smallest standard filter.
///
/// # Errors
/// [`Error::Unreachable`].
pub fn standard(items: u64, fpr: f64) -> Result<Recommendation, Error> {
    check_target(items, fpr)?;
    let ceiling = math::optimal_hashes(fpr)
        .ceil()
        .clamp(1.0, f64::from(MAX_HASHES)) as u32;
    let sizes = (1..=ceiling).map(|k| (k, math::standard_bits(items, k, fpr)));
    let least = sizes
        .clone()
        .map(|(_, bits)| bits)
        .fold(f64::INFINITY, f64::min);
    let (hashes, bits) = sizes
        .into_iter()
        .find(|(_, bits)| *bits <= least * FEWER_WORTH)
        .expect("the smallest is among them");
    sized(items, hashes, bits, fpr)
}

/// Returns the smallest standard filter with this number of hash functions, for a family whose
/// digests are long enough.
pub fn standard_with(items: u64, hashes: u32, fpr: f64) -> Result<Recommendation, Error> {
    check_target(items, fpr)?;
    let mut size = sized(items, hashes, math::standard_bits(items, hashes, fpr), fpr)?;
    size.family = default_family(items, fpr).0;
    Ok(size)
}

fn sized(items: u64, hashes: u32, bits: f64, fpr: f64) -> Result<Recommendation, Error> {
    let mut bits = whole_words(bits, items)?;
    // The formula is an approximation for small filters: grow until the rate is met.
    while math::standard_fpr(bits, hashes, items) > fpr {
        bits = whole_words(bits as f64 + 1.0, items)?;
    }
    Ok(Recommendation {
        items,
        bits,
        hashes,
        layout: Layout::Standard,
        family: Family::Xxh3,
        fpr: math::standard_fpr(bits, hashes, items),
        why: "the fewest bits for this rate".into(),
    })
}

/// Returns the best blocked filter: the smallest, unless one with eight hashes is nearly as small.
///
/// # Errors
/// [`Error::Unreachable`].
pub fn blocked(items: u64, fpr: f64) -> Result<Recommendation, Error> {
    check_target(items, fpr)?;
    let floor = math::optimal_bits(items, fpr).max(1.0) as u64;
    let smallest = |hashes: u32| -> Option<(u64, u32)> {
        let good = |lines: u64| math::blocked_fpr(lines * LINE_BITS, hashes, items) <= fpr;
        // It needs at least the bits of the best standard filter, and usually few more.
        let most_lines = MAX_BITS / LINE_BITS;
        let mut low = floor / LINE_BITS;
        let mut high = (low + 1).min(most_lines);
        while !good(high) {
            if high == most_lines {
                return None;
            }
            low = high;
            high = (high * 2).min(most_lines);
        }
        while high > low + 1 {
            let middle = low + (high - low) / 2;
            if good(middle) {
                high = middle
            } else {
                low = middle
            }
        }
        Some((high * LINE_BITS, hashes))
    };
    // The best k is that of the standard layout, or slightly less.
    let most = MAX_BLOCKED_HASHES;
    let best_guess = (math::optimal_hashes(fpr).round().max(1.0) as u32).min(most);
    let around = best_guess.saturating_sub(2).max(1)..=(best_guess + 2).min(most);
    let (mut bits, mut hashes) = around.filter_map(smallest).min().ok_or_else(|| {
        Error::Unreachable {
            what: format!(
                "the blocked layout cannot reach a false-positive rate of {fpr:e} with {} items; \
                     use the standard layout",
                Grouped(items)
            ),
        }
    })?;
    if let Some((eight, _)) = smallest(8)
        && eight as f64 <= bits as f64 * EIGHT_WORTH
    {
        (bits, hashes) = (eight, 8);
    }
    Ok(Recommendation {
        items,
        bits,
        hashes,
        layout: Layout::Blocked,
        family: Family::Xxh3,
        fpr: math::blocked_fpr(bits, hashes, items),
        why: "one memory access per key".into(),
    })
}

/// Returns the size that Spyropoulos proposes (section 6): three hashes, and as many bits as the
/// first prime that is at least three times the number of records.
///
/// Its false-positive rate is about (1 - 1/e)^3 = 25%, for any number of records.
///
/// # Errors
/// [`Error::Unreachable`] for 0 records, or more than a filter can contain.
pub fn first_prime(records: u64) -> Result<Recommendation, Error> {
    const HASHES: u32 = 3;
    check_target(records, 0.5)?;
    let bits = records
        .checked_mul(3)
        .and_then(first_prime_from)
        .filter(|&bits| bits <= MAX_BITS)
        .ok_or_else(|| too_many(records))?;
    Ok(Recommendation {
        items: records,
        bits,
        hashes: HASHES,
        layout: Layout::Standard,
        family: Family::Xxh3,
        fpr: math::standard_fpr(bits, HASHES, records),
        why: format!("three hashes, and the first prime from 3 x {records}"),
    })
}

/// Checks that a filter can contain this many items at this false-positive rate.
///
/// # Errors
/// [`Error::Unreachable`] with the reason why not.
pub fn check_target(items: u64, fpr: f64) -> Result<(), Error> {
    let what = if items == 0 {
        "0 items; give the number of keys that it will contain, at least 1".into()
    } else if !(fpr > 0.0 && fpr < 1.0) {
        format!(
            "the false-positive rate is {fpr}; it must be above 0 and below 1 (0.01 is one in a hundred)"
        )
    } else if math::optimal_hashes(fpr) > f64::from(MAX_HASHES) {
        format!(
            "a false-positive rate of {fpr:e} needs more than {MAX_HASHES} hashes; \
             the lowest possible rate is about {:.1e}",
            0.5f64.powi(MAX_HASHES as i32)
        )
    } else {
        return Ok(());
    };
    Err(Error::Unreachable { what })
}

fn too_many(items: u64) -> Error {
    Error::Unreachable {
        what: format!(
            "{} items need more than {} bits, the maximum of a filter",
            Grouped(items),
            Grouped(MAX_BITS)
        ),
    }
}

/// Returns the probability that a key collides with one of `items` in all bits of its digest.
fn collision_rate(items: u64, digest_bits: u32) -> f64 {
    items as f64 * 0.5f64.powi(digest_bits as i32)
}

fn check_family(items: u64, fpr: f64, family: Family) -> Result<Family, Error> {
    if let Some(bits) = family.digest_bits() {
        let collisions = collision_rate(items, bits);
        if collisions > fpr * COLLISION_SHARE {
            let keys = match 1.0 / collisions {
                keys if keys < 1e6 => Grouped(keys.round() as u64).to_string(),
                keys => format!("{keys:.1e}"),
            };
            return Err(Error::Unreachable {
                what: format!(
                    "with {}, one absent key in {keys} would have the same {bits}-bit hash as an \
                     item, which is too often for a false-positive rate of {fpr:e}; use a hash family \
                     with 128 bits (xxh3-128)",
                    Counted(items, "item"),
                ),
            });
        }
    }
    Ok(family)
}

/// Returns the family for this number of items and rate, and the reason if it is not the default.
pub fn default_family(items: u64, fpr: f64) -> (Family, Option<&'static str>) {
    if check_family(items, fpr, Family::Xxh3).is_ok() {
        (Family::Xxh3, None)
    } else {
        (
            Family::Xxh3Wide,
            Some("128-bit hashes, because 64 bits cannot tell that many keys apart at this rate"),
        )
    }
}

/// Rounds bits up to whole words.
fn whole_words(bits: f64, items: u64) -> Result<u64, Error> {
    if bits.is_nan() || bits > MAX_BITS as f64 {
        return Err(too_many(items));
    }
    Ok((bits.ceil() as u64).max(1).next_multiple_of(64))
}

#[cfg(test)]
mod tests;
