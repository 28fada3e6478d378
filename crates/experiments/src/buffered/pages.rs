//! Section 3.3: is the false-positive rate the same for any number of pages?
//!
//! One filter of 16 MB, in 1 to 4096 pages, in both layouts. Formula (6) has the bits without the
//! checksums of pages, and considers neither pages nor lines; `Geometry::expected_fpr` considers lines
//! and equal entries.

use anyhow::Result;
use bloomgrove::Layout;
use bloomgrove::buffered::{Geometry, Strategy};

use super::setup::{Contender, Keys, Task};
use super::{claim, table};
use crate::{Progress, Report};

const ON_DISK: u64 = 16;
const PAGES: [u64; 4] = [1, 16, 128, 4096];
/// Bytes of the smallest page.
const LEAST: u64 = 4096;
const HASHES: u32 = 4;
const MEMORY: u64 = 64;
/// Bits per key: a rate of a few percent, which few probes are enough to measure.
const BITS_PER_KEY: f64 = 10.0;

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let scratch = task.scratch()?;
    let head = [
        "layout",
        "pages",
        "page, KB",
        "entry, bytes",
        "formula (6)",
        "expected_fpr",
        "measured",
        "deviations off",
    ];
    let mut table = table("fpr", &head);
    let bytes = task.bytes(ON_DISK);
    let items = (bytes as f64 * 8.0 / BITS_PER_KEY) as u64;
    // Keeps the fill the same with fewer keys.
    let keys = Keys {
        build: items,
        probe: 2 * task.effort.fpr_keys.min(items),
    };
    let absent = keys.probe / 2;
    let mut claims = Vec::new();
    for layout in [Layout::Standard, Layout::Blocked] {
        let mut rates = Vec::new();
        for pages in PAGES.into_iter().filter(|pages| bytes / pages >= LEAST) {
            progress(&format!("{layout:?}, {pages} pages"))?;
            let geometry = Geometry::builder(bytes, HASHES)
                .layout(layout)
                .page_bytes(bytes / pages)
                .build()?;
            let mut options = task.options(MEMORY, Strategy::Longest);
            options.workers = 1;
            let run = Contender::Buffered(geometry.clone(), options).run(&scratch, keys)?;
            let formula =
                bloomgrove::raw::math::standard_fpr(geometry.params().bits(), HASHES, keys.build);
            let expected = geometry.expected_fpr(keys.build);
            let deviation = (expected * (1.0 - expected) / absent as f64).sqrt();
            rates.push(run.fpr);
            table.rows.push(vec![
                format!("{layout:?}").to_lowercase(),
                pages.to_string(),
                (geometry.page_bytes() >> 10).to_string(),
                geometry.entry_bytes().to_string(),
                format!("{:.4}", 100.0 * formula),
                format!("{:.4}", 100.0 * expected),
                format!("{:.4}", 100.0 * run.fpr),
                format!("{:+.1}", (run.fpr - expected) / deviation),
            ]);
        }
        let what =
            format!("rate with the most pages relative to one page, {layout:?}").to_lowercase();
        if let [one, .., most] = rates[..] {
            claims.push(claim("fpr", &what, 1.0, most / one));
        }
    }
    Ok(Report {
        tables: vec![table],
        claims,
        ..Report::default()
    })
}
