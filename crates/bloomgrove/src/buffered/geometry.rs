//! Geometry: how a filter is divided into pages, and which bits of a page belong to a key.
//!
//! ```text
//!   key --hash--> lo, hi      page  = scale(lo, pages)
//!                             entry = the upper 3 to 8 bytes of hi     buffered in a block
//!   entry --remix--> lo, hi   bits in the page, as in any filter of that size
//! ```
//!
//! Only the entry is buffered in memory, so it is all that a page learns about a key: two keys
//! of one page with equal entries are indistinguishable. A page of v keys therefore accepts v /
//! 2^(8 × bytes) of all absent keys in addition to those its bits accept;
//! [`Geometry::expected_fpr`] includes that.
//!
//! Source: Buffered Bloom Filters, section 3. There, k offsets are buffered per key when
//! building, and the record itself when probing. We buffer one entry in both cases, and derive
//! the offsets when the page is in memory.

use crate::bits::{LINE_BITS, Slot, Walk};
use crate::hash::{Digest, Family, remix, scale};
use crate::tune::size::expected_fpr;
use crate::{Derivation, Error, Layout, Params};

use super::page::{LINES, SECTOR};
use crate::numbers::Grouped;

/// The largest page: several must fit in memory.
const MAX_PAGE: u64 = 1 << 30;
/// The maximum number of pages: each needs one 32-bit number.
const MAX_PAGES: u64 = 1 << 31;
/// The default page size: see `bench-compare buffered`.
pub(super) const PAGE: u64 = 1 << 19;
/// By default, entries are long enough that equal entries add at most this share to the
/// false-positive rate.
const COLLISION_SHARE: f64 = 1.0 / 64.0;
/// That holds if at least this share of the bits is set.
const SPARSE: f64 = 0.25;

/// The sizes, hashing and pages of a buffered filter.
///
/// ```
/// use bloomgrove::buffered::Geometry;
///
/// // 256 MB on disk, three bits per key, pages of one megabyte.
/// let geometry = Geometry::builder(256 << 20, 3).page_bytes(1 << 20).build()?;
/// assert_eq!(geometry.pages(), 256);
/// assert!(geometry.expected_fpr(50_000_000) < 0.0025);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    params: Params,
    pages: u64,
    page_bytes: u64,
    entry_bytes: u32,
}

impl Geometry {
    /// Creates a builder from the size of all pages on disk and the number of bits per key;
    /// everything else has defaults.
    pub fn builder(bytes: u64, hashes: u32) -> GeometryBuilder {
        GeometryBuilder {
            bytes,
            hashes,
            layout: Layout::Blocked,
            derivation: Derivation::Independent,
            family: Family::Xxh3,
            seed: 0,
            page_bytes: None,
            entry_bytes: None,
            items: None,
        }
    }

    /// Creates a geometry for `items` keys at a false-positive rate of `fpr`, with the fewest
    /// pages.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if no filter can be that accurate or that large.
    pub fn for_items(items: u64, fpr: f64) -> Result<Self, Error> {
        let choice = crate::tune::recommend(items, fpr)?;
        let bytes = choice.bits.div_ceil(LINE_BITS * LINES) * SECTOR;
        let page = PAGE.min(bytes);
        let mut builder = Self::builder(bytes.next_multiple_of(page), choice.hashes);
        builder.page_bytes = Some(page);
        builder.items = Some((items, fpr));
        builder.layout = choice.params()?.layout();
        builder.build()
    }

    /// Returns the params: bits in all pages together, hashes, layout, family and seed.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the size of a page in bytes.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Returns the size of all pages in bytes.
    pub fn bytes(&self) -> u64 {
        self.pages * self.page_bytes
    }

    /// Returns the number of bytes that are buffered in memory per key.
    pub fn entry_bytes(&self) -> u32 {
        self.entry_bytes
    }

    /// Returns the expected false-positive rate with `items` keys.
    pub fn expected_fpr(&self, items: u64) -> f64 {
        let (bits, hashes) = (self.params.bits(), self.params.hashes());
        let by_bits = expected_fpr(self.params.layout(), bits, hashes, items);
        let per_page = items as f64 / self.pages as f64;
        let by_entry = -(-per_page / entries(self.entry_bytes)).exp_m1();
        1.0 - (1.0 - by_bits) * (1.0 - by_entry)
    }

    /// Returns the mapping from keys to pages and bits.
    pub(super) fn spread(&self) -> Spread {
        let bits = self.params.bits() / self.pages;
        Spread {
            pages: self.pages,
            shift: 64 - 8 * self.entry_bytes,
            bits,
            lines: bits / LINE_BITS,
            hashes: self.params.hashes(),
        }
    }

    /// Creates a geometry from the fields of a file; the error says what is wrong.
    pub(super) fn from_parts(
        params: Params,
        pages: u64,
        page_bytes: u64,
        entry_bytes: u32,
    ) -> Result<Self, String> {
        let geometry = Self {
            params,
            pages,
            page_bytes,
            entry_bytes,
        };
        geometry.check()?;
        Ok(geometry)
    }

    fn check(&self) -> Result<(), String> {
        let &Self {
            pages, page_bytes, ..
        } = self;
        if !page_bytes.is_multiple_of(SECTOR) || page_bytes == 0 || page_bytes > MAX_PAGE {
            return Err(wrong_page(page_bytes));
        }
        if pages == 0 || pages > MAX_PAGES {
            return Err(format!(
                "{} pages: there must be 1 to {}",
                Grouped(pages),
                Grouped(MAX_PAGES)
            ));
        }
        if self.params.bits() != pages.saturating_mul(page_bits(page_bytes)) {
            return Err(format!(
                "{} bits do not match {pages} pages of {page_bytes} bytes",
                self.params.bits()
            ));
        }
        if !(3..=8).contains(&self.entry_bytes) {
            return Err(format!(
                "entries of {} bytes: the size must be 3 to 8 bytes",
                self.entry_bytes
            ));
        }
        if matches!(self.params.family(), Family::Affine(_)) {
            return Err("affine functions cannot choose a page; use another hash family".into());
        }
        if self.params.layout() == Layout::SplitBlock {
            return Err("a buffered filter is standard or blocked, not split-block".into());
        }
        Ok(())
    }
}

/// Returns the number of bits in a page: one line of each sector is for the checksum.
fn page_bits(page_bytes: u64) -> u64 {
    page_bytes / SECTOR * LINES * LINE_BITS
}

fn entries(bytes: u32) -> f64 {
    f64::from(8 * bytes).exp2()
}

/// Builds a [`Geometry`].
#[derive(Clone, Debug)]
#[must_use]
pub struct GeometryBuilder {
    bytes: u64,
    hashes: u32,
    layout: Layout,
    derivation: Derivation,
    family: Family,
    seed: u64,
    page_bytes: Option<u64>,
    entry_bytes: Option<u32>,
    items: Option<(u64, f64)>,
}

impl GeometryBuilder {
    /// Sets the page size in bytes: the unit of reads and writes. A multiple of 4096.
    pub fn page_bytes(mut self, bytes: u64) -> Self {
        self.page_bytes = Some(bytes);
        self
    }

    /// Sets the number of bytes that are buffered in memory per key, 3 to 8. With fewer, more
    /// keys fit in memory, but the false-positive rate is higher: see
    /// [`Geometry::expected_fpr`].
    pub fn entry_bytes(mut self, bytes: u32) -> Self {
        self.entry_bytes = Some(bytes);
        self
    }

    /// Sets how the bits of a key are laid out in a page: in one line (the default), or
    /// anywhere, as in the paper.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets how bit positions are derived from an entry, in the standard layout.
    pub fn derivation(mut self, derivation: Derivation) -> Self {
        self.derivation = derivation;
        self
    }

    /// Sets the hash family.
    pub fn family(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// Sets the seed of the hash family.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks the settings and creates the geometry.
    ///
    /// # Errors
    /// [`Error::Params`], naming the rule that is violated.
    pub fn build(self) -> Result<Geometry, Error> {
        let page_bytes = self.page_bytes.unwrap_or(PAGE.min(self.bytes));
        if page_bytes == 0 || !self.bytes.is_multiple_of(page_bytes) || self.bytes == 0 {
            return Err(Error::params(format!(
                "{} bytes cannot be divided into pages of {}; choose a multiple of the page size",
                Grouped(self.bytes),
                Grouped(page_bytes)
            )));
        }
        if page_bytes > MAX_PAGE {
            return Err(Error::params(wrong_page(page_bytes)));
        }
        let pages = self.bytes / page_bytes;
        let bits = pages.checked_mul(page_bits(page_bytes));
        let bits = bits.ok_or_else(|| Error::params("the number of bits exceeds 2^64 - 1"))?;
        // Zero bits would be rejected with a misleading message.
        let params = Params::builder(bits.max(LINE_BITS), self.hashes)
            .layout(self.layout)
            .derivation(self.derivation)
            .family(self.family)
            .seed(self.seed)
            .build()?;
        let hashes = f64::from(params.hashes());
        // Without a number of items, assume that a quarter of the bits is set. The fewer are
        // set, the more equal entries matter.
        let (per_page, fpr) = match self.items {
            Some((items, fpr)) => (items as f64 / pages as f64, fpr),
            None => (
                page_bits(page_bytes) as f64 * -f64::ln(1.0 - SPARSE) / hashes,
                SPARSE.powf(hashes),
            ),
        };
        let is_long_enough =
            |bytes: &u32| per_page / entries(*bytes) <= fpr * COLLISION_SHARE || *bytes == 8;
        let entry_bytes = match self.entry_bytes {
            Some(bytes) => bytes,
            None => (4..=8).find(is_long_enough).unwrap_or(8),
        };
        Geometry::from_parts(params, pages, page_bytes, entry_bytes).map_err(Error::params)
    }
}

/// The arithmetic of a geometry: FORMAT section 14.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pages: u64,
    shift: u32,
    /// Bits in one page.
    pub(super) bits: u64,
    lines: u64,
    pub(super) hashes: u32,
}

impl Spread {
    /// Returns the page of a key, and the entry to buffer for it.
    #[inline(always)]
    pub(super) fn place(&self, digest: Digest) -> (usize, u64) {
        let page = scale(digest.lo, self.pages);
        (page as usize, digest.hi >> self.shift)
    }

    /// Returns the line of an entry in its page, counting checksum lines, and the hash of its
    /// pattern.
    #[inline(always)]
    pub(super) fn slot(&self, entry: u64) -> Slot {
        let mut slot = crate::hash::slot(digest(entry), self.lines);
        slot.line += slot.line / LINES;
        slot
    }

    /// Returns the walk of an entry through its page.
    #[inline(always)]
    pub(super) fn walk<W: crate::hash::Start>(&self, entry: u64) -> OverSums<W> {
        OverSums(W::start(digest(entry), self.bits))
    }
}

#[inline(always)]
fn digest(entry: u64) -> Digest {
    Digest::of_hash(remix(entry))
}

/// A walk that skips the last line of each sector.
#[derive(Clone, Copy)]
pub(super) struct OverSums<W>(W);

impl<W: Walk> Walk for OverSums<W> {
    #[inline(always)]
    fn next(&mut self, bits: u64) -> u64 {
        let position = self.0.next(bits);
        position + position / (LINES * LINE_BITS) * LINE_BITS
    }
}
fn wrong_page(bytes: u64) -> String {
    format!(
        "pages of {} bytes: the size must be a multiple of {}, up to {}",
        Grouped(bytes),
        Grouped(SECTOR),
        Grouped(MAX_PAGE)
    )
}
