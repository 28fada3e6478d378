//! An index of the names of a namespace by the bits that they set in a filter.
//!
//! ```text
//!   first position    0     1     2     3     4   ...
//!   names on it      17    3,9    -    204   5,8
//!                     ^                 ^
//!   filter            1     0     0     1     0   ...   candidates: 17 and 204 only
//! ```
//!
//! A member's first position is a set bit, so only the names on set bits need to be examined: a
//! share of the namespace equal to the filter's fill. The second position is stored with each
//! name, so only the same share of those names must be hashed and tested.
//!
//! The index depends on the [`Params`] and not on any filter: one index serves all filters with
//! those parameters. It grows when names are added, and is stored in memory or in a `.grove`
//! file.
//!
//! Cost, for M names and m bits: log2 M + log2 m bits per name (log2 M without the second
//! position), and log2 M bits per bucket. There are m buckets, or about M if that is fewer;
//! each bucket then covers several positions, and the entry says which. Building takes one pass
//! over the names if the memory allowed is at least 16 bytes per name, and several passes
//! otherwise.
//!
//! Source: our own. It replaces the BloomSampleTree of Sengupta et al. (sampling), whose
//! sampler is not uniform. The tree stores a filter for each of its nodes; this index stores
//! each name once.

mod build;
mod file;

pub(crate) use file::check_file;

use std::ops::Range;

use super::candidates::is_set;
use super::namespace::Namespace;
use crate::bits::{packed_get, packed_words, width_of};
use crate::format::Store;
use crate::numbers::Grouped;
use crate::{Error, Params};

/// The maximum number of names in one part: counts are 32 bits wide.
const MOST: u64 = u32::MAX as u64;
/// An index has at most as many buckets as names, or this many if there are fewer names.
const FEWEST_BUCKETS: u64 = 1024;

/// Options for building a [`NameIndex`].
#[derive(Clone, Copy, Debug)]
pub struct NameIndexOptions {
    /// Whether to store each name's second position, which takes more memory and saves most
    /// tests; true by default.
    pub second: bool,
    /// The memory limit in bytes for building, not counting the index itself and 4 bytes per
    /// bucket. Values below a sixteenth of a byte per name are raised to that.
    pub memory: u64,
}

impl Default for NameIndexOptions {
    fn default() -> Self {
        Self {
            second: true,
            memory: 1 << 30,
        }
    }
}

/// A progress callback: receives the number of names processed and the total, and can stop the
/// work by returning an error.
pub type Progress<'p> = &'p mut dyn FnMut(u64, u64) -> Result<(), Error>;

/// A name index by first position, for all filters with equal [`Params`].
///
/// ```
/// use bloomgrove::sample::{NameIndexOptions, NameIndex, Namespace, Sampler};
/// use bloomgrove::{Filter, Params};
///
/// let params = Params::for_items(1000, 0.001)?;
/// let names = Namespace::range(0..100_000)?;
/// let index = NameIndex::build(&params, names, NameIndexOptions::default())?;
///
/// let mut filter = Filter::new(params)?;
/// filter.insert_batch(&[17u64, 204, 90_000]);
/// let mut sampler = Sampler::new(&filter, &index)?;
/// assert!(filter.contains(&sampler.draw_integer()?));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct NameIndex {
    params: Params,
    namespace: Namespace,
    options: NameIndexOptions,
    /// One segment for each part of the namespace.
    segments: Vec<Segment>,
}

impl NameIndex {
    /// Builds an index of all names in memory.
    ///
    /// # Errors
    /// [`Error::Namespace`] if filters with these parameters cannot contain such names,
    /// [`Error::OutOfMemory`].
    pub fn build(
        params: &Params,
        namespace: Namespace,
        options: NameIndexOptions,
    ) -> Result<Self, Error> {
        namespace.check_family(params)?;
        let segments = Self::segments_of(params, &namespace, options, &mut |_, _| Ok(()))?;
        Ok(Self {
            params: params.clone(),
            namespace,
            options,
            segments,
        })
    }

    fn segments_of(
        params: &Params,
        namespace: &Namespace,
        options: NameIndexOptions,
        progress: Progress,
    ) -> Result<Vec<Segment>, Error> {
        (0..namespace.parts().len())
            .map(|part| Segment::build(params, namespace, part, options, progress))
            .collect()
    }

    /// Adds names and returns how many are new.
    ///
    /// # Errors
    /// As for [`Namespace::add`]; the index is then unchanged.
    pub fn add(&mut self, more: Namespace) -> Result<u64, Error> {
        let growth = self.namespace.grown(more)?;
        let segments = Self::segments_of(
            &self.params,
            &growth.fresh,
            self.options,
            &mut |_, _| Ok(()),
        )?;
        self.segments.truncate(growth.kept);
        self.segments.extend(segments);
        let added = growth.added;
        self.namespace.apply(growth);
        Ok(added)
    }

    /// Returns the size in bytes of an index of these names, including the names, without
    /// building it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the size overflows.
    pub fn size(
        params: &Params,
        namespace: &Namespace,
        options: NameIndexOptions,
    ) -> Result<u64, Error> {
        let mut bytes = namespace.bytes();
        for part in namespace.parts() {
            bytes += SegmentLayout::new(params, part.len(), options.second)?.words * 8;
        }
        Ok(bytes)
    }

    /// Returns the parameters of the filters that this index serves.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the names in the index.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Returns whether the index stores each name's second position.
    pub fn has_second(&self) -> bool {
        self.segments
            .iter()
            .all(|segment| segment.layout.second > 0)
    }

    /// Returns the size of the index and the names in bytes, in memory or mapped.
    pub fn bytes(&self) -> u64 {
        let segments = self.segments.iter().map(|segment| segment.words.bytes());
        segments.sum::<u64>() + self.namespace.bytes()
    }

    /// Returns the share of the entries that are in buckets with a set bit, if a share `fill`
    /// of the bits is set.
    pub(in crate::sample) fn live_share(&self, fill: f64) -> f64 {
        let live = self.segments.iter().map(|segment| {
            let positions = f64::from(segment.layout.shift).exp2();
            segment.layout.names as f64 * (1.0 - (1.0 - fill).powf(positions))
        });
        live.sum::<f64>() / self.namespace.len() as f64
    }

    pub(in crate::sample) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

/// The index of one part of a namespace.
#[derive(Debug)]
pub(in crate::sample) struct Segment {
    layout: SegmentLayout,
    /// The entries, followed by the offsets of the buckets.
    words: Store,
}

/// The layout of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentLayout {
    names: u64,
    /// Each bucket covers 2^shift positions.
    shift: u32,
    buckets: u64,
    offset_width: u32,
    rank_width: u32,
    /// Bits of the second position in each entry; 0 if it is not stored.
    second: u32,
    /// Bits per entry: rank, offset of the first position in its bucket, second position.
    width: u32,
    /// Words taken by the entries, which the offsets follow; and words in total.
    entries: u64,
    words: u64,
}

impl SegmentLayout {
    fn new(params: &Params, names: u64, second: bool) -> Result<Self, Error> {
        if names > MOST {
            return Err(Error::namespace(format!(
                "one part of an index can have at most {} names, not {}; index a smaller range \
                 first, then add the rest",
                Grouped(MOST),
                Grouped(names)
            )));
        }
        let most = names.max(FEWEST_BUCKETS);
        let mut shift = 0;
        while (params.bits() - 1) >> shift >= most {
            shift += 1;
        }
        let buckets = ((params.bits() - 1) >> shift) + 1;
        let (offset_width, rank_width) = (width_of(names), width_of(names - 1));
        let full = width_of(params.bits() - 1);
        // Together they must fit in a word; beyond 2^32 names and bits the second position is
        // omitted.
        let fits = second && params.hashes() > 1 && rank_width + shift + full <= 64;
        let second = if fits { full } else { 0 };
        let width = rank_width + shift + second;
        let too_large = || Error::OutOfMemory { bytes: u64::MAX };
        let entries = packed_words(names, width)
            .filter(|_| width <= 64)
            .ok_or_else(too_large)?;
        let words = packed_words(buckets + 1, offset_width)
            .and_then(|words| words.checked_add(entries))
            .filter(|words| words.checked_mul(8).is_some())
            .ok_or_else(too_large)?;
        Ok(Self {
            names,
            shift,
            buckets,
            offset_width,
            rank_width,
            second,
            width,
            entries,
            words,
        })
    }
}

impl Segment {
    fn new(layout: SegmentLayout, words: Store) -> Self {
        Self { layout, words }
    }

    /// Returns the number of buckets; position p is in bucket `p >> shift`.
    pub(in crate::sample) fn buckets(&self) -> u64 {
        self.layout.buckets
    }

    pub(in crate::sample) fn shift(&self) -> u32 {
        self.layout.shift
    }

    pub(in crate::sample) fn names(&self) -> u64 {
        self.layout.names
    }

    /// Returns the entries of a bucket. With a damaged file they may be wrong, but nothing
    /// worse.
    #[inline]
    pub(in crate::sample) fn bucket(&self, bucket: u64) -> Range<u64> {
        let words = &self.words.as_ref()[self.layout.entries as usize..];
        let at = |i| packed_get(words, self.layout.offset_width, i).min(self.layout.names);
        let (start, end) = (at(bucket), at(bucket + 1));
        start..end.max(start)
    }

    /// Returns the rank, within its part, of the name of an entry of `bucket`, if all positions
    /// known for it are set in `words`.
    #[inline]
    pub(in crate::sample) fn candidate(&self, i: u64, bucket: u64, words: &[u64]) -> Option<u64> {
        let (shift, second) = (self.layout.shift, self.layout.second);
        let entry = packed_get(self.words.as_ref(), self.layout.width, i);
        if second > 0 && !is_set(words, entry & ((1 << second) - 1)) {
            return None;
        }
        // A bucket of one position was selected because its bit is set.
        if shift > 0 {
            let place = entry >> second & ((1 << shift) - 1);
            if !is_set(words, bucket << shift | place) {
                return None;
            }
        }
        Some((entry >> (second + shift)).min(self.layout.names - 1))
    }

    /// Decodes an entry of a bucket: the rank of the name, its first position, and its second
    /// if that is stored.
    fn entry(&self, i: u64, bucket: u64) -> (u64, u64, Option<u64>) {
        let (shift, second) = (self.layout.shift, self.layout.second);
        let entry = packed_get(self.words.as_ref(), self.layout.width, i);
        let place = entry >> second & ((1 << shift) - 1);
        let last = entry & ((1 << second) - 1);
        let rank = (entry >> (second + shift)).min(self.layout.names - 1);
        (rank, bucket << shift | place, (second > 0).then_some(last))
    }

    /// Prefetches an entry.
    #[inline]
    pub(in crate::sample) fn prefetch(&self, i: u64) {
        let bit = i * u64::from(self.layout.width);
        crate::bits::prefetch(self.words.as_ref(), (bit / 64) as usize);
    }
}
