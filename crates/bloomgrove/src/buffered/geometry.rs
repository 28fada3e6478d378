//! How a filter is cut into pages, and where in them a key goes.
//!
//! ```text
//!   key --hash--> lo, hi      page  = scale(lo, pages)
//!                             entry = the upper 3 to 8 bytes of hi     waits in a block
//!   entry --remix--> lo, hi   bits in the page, as in any filter of a page's size
//! ```
//!
//! Only the entry waits in memory, so what a page learns of a key is the entry and nothing
//! more: two keys of one page with equal entries are one key. A page of v keys therefore
//! accepts v / 2^(8 × bytes) of all absent keys on top of what its bits accept;
//! [`Geometry::expected_fpr`] counts that in.
//!
//! Source: Buffered Bloom Filters, section 3. There k offsets wait for each key when
//! building, and the record itself when probing; we keep one entry in both, and derive the
//! offsets when the page has come.

use crate::bits::{LINE_BITS, Slot, Walk};
use crate::hash::{Digest, Family, remix, scale};
use crate::tune::math;
use crate::{Derivation, Error, Layout, Params};

use super::page::{LINES, SECTOR};

/// The largest page: one must fit in memory more than once.
const MAX_PAGE: u64 = 1 << 30;
/// The most pages: one number of 32 bits each.
const MAX_PAGES: u64 = 1 << 31;
/// What a page should be when nobody says: see `bench-compare buffered`.
pub(super) const PAGE: u64 = 1 << 19;
/// Equal entries may add this share to the rate of false positives, or less, when nobody
/// says how long entries are.
const COLLISION_SHARE: f64 = 1.0 / 64.0;
/// That is when this part of the bits is set, or more.
const SPARSE: f64 = 0.25;

/// Size, hashing and pages of a buffered filter.
///
/// ```
/// use bloomgrove::buffered::Geometry;
///
/// // 256 MB on disk, three bits a key, pages of one megabyte.
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
    /// Starts from the bytes that all pages take on disk and the bits of each key; the rest
    /// has defaults.
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

    /// A geometry for `items` keys at rate `fpr`, in the fewest bytes that are whole pages.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when no filter can be that good or that large.
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

    /// Bits in all pages together, hashes, layout, family and seed.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// How many pages there are.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// How many bytes a page has.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// How many bytes all pages have.
    pub fn bytes(&self) -> u64 {
        self.pages * self.page_bytes
    }

    /// How many bytes of each key wait in memory.
    pub fn entry_bytes(&self) -> u32 {
        self.entry_bytes
    }

    /// How often an absent key is accepted when `items` keys are in.
    pub fn expected_fpr(&self, items: u64) -> f64 {
        let (bits, hashes) = (self.params.bits(), self.params.hashes());
        let by_bits = match self.params.layout() {
            Layout::Blocked => math::blocked_fpr(bits, hashes, items),
            Layout::Standard => math::standard_fpr(bits, hashes, items),
        };
        let per_page = items as f64 / self.pages as f64;
        let by_entry = -(-per_page / entries(self.entry_bytes)).exp_m1();
        1.0 - (1.0 - by_bits) * (1.0 - by_entry)
    }

    /// Where keys go.
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

    /// From what the file says; a sentence on what is wrong otherwise.
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
            return Err(format!(
                "pages of {page_bytes} bytes; they must be a multiple of {SECTOR}, up to {MAX_PAGE}"
            ));
        }
        if pages == 0 || pages > MAX_PAGES {
            return Err(format!("{pages} pages; there must be 1 to {MAX_PAGES}"));
        }
        if self.params.bits() != pages.saturating_mul(page_bits(page_bytes)) {
            return Err(format!(
                "{} bits are not {pages} pages of {page_bytes} bytes",
                self.params.bits()
            ));
        }
        if !(3..=8).contains(&self.entry_bytes) {
            return Err(format!(
                "entries of {} bytes; they must have 3 to 8",
                self.entry_bytes
            ));
        }
        if matches!(self.params.family(), Family::Affine(_)) {
            return Err("affine functions have no hash that could choose a page".into());
        }
        Ok(())
    }
}

/// Bits of a page: one line of each sector has its sum.
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
    /// Bytes of a page: what is read and written at once. A multiple of 4096.
    pub fn page_bytes(mut self, bytes: u64) -> Self {
        self.page_bytes = Some(bytes);
        self
    }

    /// How many bytes of each key wait in memory, 3 to 8. Fewer let more keys wait; see
    /// [`Geometry::expected_fpr`] for the price.
    pub fn entry_bytes(mut self, bytes: u32) -> Self {
        self.entry_bytes = Some(bytes);
        self
    }

    /// Where in a page the bits of a key may lie: in one line (the default), or anywhere, as
    /// in the paper.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// How the bits come from an entry, in the standard layout.
    pub fn derivation(mut self, derivation: Derivation) -> Self {
        self.derivation = derivation;
        self
    }

    /// The hash family.
    pub fn family(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// The seed of the hash family.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks the whole.
    ///
    /// # Errors
    /// [`Error::Params`], naming the rule that is broken.
    pub fn build(self) -> Result<Geometry, Error> {
        let page_bytes = self.page_bytes.unwrap_or(PAGE.min(self.bytes));
        if page_bytes == 0 || !self.bytes.is_multiple_of(page_bytes) || self.bytes == 0 {
            return Err(Error::params(format!(
                "{} bytes cannot be cut into pages of {page_bytes}; take a multiple of it",
                self.bytes
            )));
        }
        if page_bytes > MAX_PAGE {
            return Err(Error::params(format!(
                "pages of {page_bytes} bytes; they must be a multiple of {SECTOR}, up to {MAX_PAGE}"
            )));
        }
        let pages = self.bytes / page_bytes;
        let bits = pages.checked_mul(page_bits(page_bytes));
        let bits = bits.ok_or_else(|| Error::params("more bits than there are numbers"))?;
        // Zero bits would be refused for a reason that is not the reason.
        let params = Params::builder(bits.max(LINE_BITS), self.hashes)
            .layout(self.layout)
            .derivation(self.derivation)
            .family(self.family)
            .seed(self.seed)
            .build()?;
        let hashes = f64::from(params.hashes());
        // Without a number of items: a quarter of the bits set. The fewer are set, the sooner
        // equal entries show.
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
    /// Of one page.
    pub(super) bits: u64,
    lines: u64,
    pub(super) hashes: u32,
}

impl Spread {
    /// The page of a key, and what waits for it.
    #[inline(always)]
    pub(super) fn place(&self, digest: Digest) -> (usize, u64) {
        let page = scale(digest.lo, self.pages);
        (page as usize, digest.hi >> self.shift)
    }

    /// The line of an entry in its page, sums counted, and the hash of its pattern.
    #[inline(always)]
    pub(super) fn slot(&self, entry: u64) -> Slot {
        let mut slot = crate::hash::slot(digest(entry), self.lines);
        slot.line += slot.line / LINES;
        slot
    }

    /// The walk of an entry through its page.
    #[inline(always)]
    pub(super) fn walk<W: crate::hash::Start>(&self, entry: u64) -> OverSums<W> {
        OverSums(W::start(digest(entry), self.bits))
    }
}

#[inline(always)]
fn digest(entry: u64) -> Digest {
    Digest::of_hash(remix(entry))
}

/// A walk that steps over the last line of each sector.
#[derive(Clone, Copy)]
pub(super) struct OverSums<W>(W);

impl<W: Walk> Walk for OverSums<W> {
    #[inline(always)]
    fn next(&mut self, bits: u64) -> u64 {
        let position = self.0.next(bits);
        position + position / (LINES * LINE_BITS) * LINE_BITS
    }
}
