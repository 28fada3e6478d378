//! How large a buffered filter is, and how keys are hashed: options in, a geometry out.

use anyhow::{Context, Result, bail};
use bloomgrove::buffered::{Geometry, GeometryBuilder};
use bloomgrove::format::Notes;
use bloomgrove::{Layout, MAX_BITS, MAX_BLOCKED_HASHES, MAX_HASHES, tune};

use super::SIZED_NOTE;
use crate::shared::hashing::Hashing;
use crate::shared::units;

/// Bits per key when the number of keys is not known.
const USUAL_HASHES: u32 = 8;
/// A hash less is worth this many times the false positives.
const FEWER_WORTH: f64 = 1.02;
/// Pages are made of sectors of this many bytes.
const SECTOR: u64 = 4096;
/// Equal entries may add this share to the wanted rate of false positives.
const COLLISION_SHARE: f64 = 1.0 / 64.0;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(super) struct Size {
    /// The size of the filter on disk, rounded up to whole pages
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, conflicts_with = "fpr")]
    size: Option<u64>,
    /// The false-positive rate: how often an absent key is accepted [default: 1%]
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    fpr: Option<f64>,
    /// The number of keys to size the filter for; without --items or --size, they are counted first
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    items: Option<u64>,
    /// The size of a page, which is read and written at once; a multiple of 4KiB [default: 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    page: Option<u64>,
    /// The number of bits that each key sets [default: the best for --items, or 8]
    #[arg(long, value_name = "COUNT", requires = "size", value_parser = units::within::<u32>(1..=64))]
    hashes: Option<u32>,
    #[command(flatten)]
    hashing: Hashing,
}

/// The names of all these options, for commands that reject them.
pub(super) const OPTIONS: [&str; 10] = [
    "size",
    "fpr",
    "items",
    "page",
    "hashes",
    "layout",
    "hash",
    "seed",
    "sip_key",
    "derivation",
];

impl Size {
    /// Checks the options before anything is read.
    pub(super) fn check(&self) -> Result<()> {
        if self.hashing.is_affine() {
            bail!(
                "affine functions cannot choose a page, so a buffered filter cannot be made with \
                 them; use another --hash, or `bloomgrove filter build` if the filter fits in memory"
            );
        }
        if self.size == Some(0) {
            bail!(
                "a filter cannot have 0 bytes; pass --size 256MB, for example, or --fpr and --items"
            );
        }
        if let Some(page) = self.page
            && (page == 0 || !page.is_multiple_of(SECTOR))
        {
            let below = page / SECTOR * SECTOR;
            let shown = |page: u64| format!("{}KiB", page / 1024);
            let near = match below {
                0 => shown(SECTOR),
                _ => format!(
                    "{} or {}",
                    shown(below),
                    shown(below.saturating_add(SECTOR))
                ),
            };
            bail!(
                "a page cannot have {} bytes; use a multiple of {}, such as {near}",
                units::grouped(page),
                units::grouped(SECTOR)
            );
        }
        self.hashing.check()
    }

    /// The rate given, or the default.
    fn target(&self) -> f64 {
        self.fpr.unwrap_or(0.01)
    }

    /// Notes for the file.
    pub(super) fn notes(&self, notes: Notes, counted: Option<u64>) -> Notes {
        let notes = match self.size {
            Some(_) => notes,
            None => notes.with("target-fpr", self.target()),
        };
        match self.items.or(counted) {
            Some(items) => notes.with(SIZED_NOTE, items),
            None => notes,
        }
    }

    /// The geometry, if it does not depend on counting keys.
    pub(super) fn decided(&self) -> Result<Option<Geometry>> {
        match (self.size, self.items) {
            (None, None) => Ok(None),
            _ => self.geometry(None).map(Some),
        }
    }

    /// The geometry for this many keys.
    pub(super) fn geometry(&self, counted: Option<u64>) -> Result<Geometry> {
        self.geometry_with(counted, self.page)
    }

    /// The geometry with pages of another size.
    pub(super) fn with_page(&self, counted: Option<u64>, page: u64) -> Option<Geometry> {
        self.geometry_with(counted, Some(page)).ok()
    }

    fn geometry_with(&self, counted: Option<u64>, page: Option<u64>) -> Result<Geometry> {
        let layout = self.hashing.possible_layout();
        let items = self.items.or(counted);
        let Some(size) = self.size else {
            let items =
                items.context("the number of keys is not known; pass --items N, or --size")?;
            return self.for_items(items, layout, page);
        };
        let layout = layout.unwrap_or(Layout::Blocked);
        let (bytes, page) = whole_pages(size, page)?;
        let build = |hashes| {
            let builder = self.builder(bytes, hashes, layout)?;
            anyhow::Ok(builder.page_bytes(page).build()?)
        };
        match (self.hashes, items) {
            (Some(hashes), _) => build(hashes),
            (None, None) => build(USUAL_HASHES),
            (None, Some(items)) => {
                let most = match layout {
                    Layout::Blocked => MAX_BLOCKED_HASHES,
                    _ => MAX_HASHES,
                };
                let geometries = (1..=most).map(build).collect::<Result<Vec<_>>>()?;
                let rate = |geometry: &Geometry| geometry.expected_fpr(items);
                let best = geometries.iter().map(rate).fold(1.0, f64::min);
                let good = geometries
                    .into_iter()
                    .find(|geometry| rate(geometry) <= best * FEWER_WORTH);
                good.context("no number of hashes reaches this rate")
            }
        }
    }

    /// The fewest whole pages that contain this many keys at the given rate.
    fn for_items(&self, items: u64, layout: Option<Layout>, page: Option<u64>) -> Result<Geometry> {
        let (target, family) = (self.target(), self.hashing.family()?);
        let choice = tune::choose(items, target, layout, Some(family))?;
        // Not all of a sector is bits of keys.
        let sector_bits = Geometry::builder(SECTOR, 1).build()?.params().bits();
        let (bytes, page) = whole_pages(choice.bits.div_ceil(sector_bits) * SECTOR, page)?;
        let build = |entry_bytes| {
            let builder = self.builder(bytes, choice.hashes, choice.layout)?;
            let builder = builder.page_bytes(page).entry_bytes(entry_bytes);
            anyhow::Ok(builder.build()?)
        };
        let longest = build(8)?;
        let limit = longest.expected_fpr(items) + target * COLLISION_SHARE;
        for entry_bytes in 4..8 {
            let geometry = build(entry_bytes)?;
            if geometry.expected_fpr(items) <= limit {
                return Ok(geometry);
            }
        }
        Ok(longest)
    }

    fn builder(&self, bytes: u64, hashes: u32, layout: Layout) -> Result<GeometryBuilder> {
        Ok(Geometry::builder(bytes, hashes)
            .layout(layout)
            .derivation(self.hashing.derivation())
            .family(self.hashing.family()?)
            .seed(self.hashing.seed()))
    }
}

/// This many bytes or more, as pages of this size or the default; a small filter is one page.
fn whole_pages(bytes: u64, page: Option<u64>) -> Result<(u64, u64)> {
    let most = MAX_BITS / 8;
    if bytes > most || page.is_some_and(|page| page > most) {
        bail!(
            "a filter cannot be larger than {}; choose a smaller --size",
            units::size(most)
        );
    }
    // What the library takes when there is enough to fill it.
    let usual = Geometry::builder(1 << 30, 1).build()?.page_bytes();
    let page = page.unwrap_or(usual.min(bytes.next_multiple_of(SECTOR)));
    Ok((bytes.next_multiple_of(page), page))
}
