//! Figures 1 to 4: the running example, a tree of order 2 over six filters of eight bits.
//!
//! The text that we have does not include the paper's pictures. It gives the hashing (x mod 8), that
//! node 7 is the parent of leaves 1 to 4 and node 8 of 5 and 6, leaf 5 (00001000), what is inserted
//! and updated, and which nodes are at the same distance from it; the other leaves are chosen to
//! match.

use anyhow::Result;
use bloomgrove::{Affine, Family, Filter, Params};
use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions};

use super::{Effort, FIGURES};
use crate::{Picture, Progress, Report, paper};

pub(super) fn run(_: Effort, _: &mut Progress<'_>) -> Result<Report> {
    let mut report = Report::default();
    let mut draw = |id: &'static str, tree: &Bloofi| {
        let drawing = tree.draw().names(|slot| format!("filter {slot}"));
        report.pictures.push(Picture {
            id,
            title: paper::title(&FIGURES, id),
            text: drawing.to_text(),
            svg: drawing.to_svg(),
        });
    };
    draw("fig01", &tree()?);
    let mut inserted = tree()?;
    // Number 9 is the root.
    inserted.insert(10, &filter("00100100")?)?;
    draw("fig02", &inserted);
    let mut deleted = tree()?;
    deleted.remove(5);
    draw("fig03", &deleted);
    let mut updated = tree()?;
    updated.update(6, &filter("00000011")?)?;
    draw("fig04", &updated);
    Ok(report)
}

fn params() -> Result<Params> {
    let modulo = Affine::new(&[(1, 0)], 8)?;
    Ok(Params::builder(8, 1)
        .family(Family::Affine(modulo))
        .build()?)
}

/// A filter written as in the figures, bit 0 first.
fn filter(digits: &str) -> Result<Filter> {
    let mut filter = Filter::new(params()?)?;
    for (i, _) in digits.match_indices('1') {
        filter.insert(&(i as u64));
    }
    Ok(filter)
}

fn tree() -> Result<Bloofi> {
    let leaves = [
        "10000000", "01000000", "00100000", "00010000", "00001000", "00000010",
    ];
    let leaves = (1..)
        .zip(leaves)
        .map(|(slot, digits)| Ok((slot, filter(digits)?)));
    let leaves: Vec<(u32, Filter)> = leaves.collect::<Result<_>>()?;
    let groups = [&leaves[..4], &leaves[4..]];
    Ok(Bloofi::grouped(
        params()?,
        BloofiOptions::default(),
        &groups,
    )?)
}
