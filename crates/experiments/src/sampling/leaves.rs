//! Not in the paper: Proposition 5.2 compared with the exact probabilities of leaves.
//!
//! It says that a leaf with l of n elements is chosen with a probability between
//! (1 - e) l/n and (1 + e) l/n, where e = sqrt(2 n k (ln m + ln ln m + ln n)) / m as in
//! its proof (the statement prints the inverse), with probability at least 1 - 4 / ln m.

use std::ops::Range;

use anyhow::Result;
use bloomgrove_trees::bloom_sample_tree::{BloomSampleTree, Threshold};

use super::setup::{ACCURACIES, HASHES, PAPER, Setup, Spread};
use super::{Effort, table};
use crate::{Progress, Report};

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "accuracy",
        "m",
        "e",
        "within 1 +- e promised, %",
        "ours, %",
        "ours within factor 2, %",
        "never chosen, %",
        "any common bit: within 1 +- e, %",
        "within factor 2, %",
    ];
    let mut table = table("leaves", &head);
    for accuracy in ACCURACIES {
        let setup = Setup {
            names: 1_000_000.min(effort.most_names),
            accuracy,
            ..Setup::DEFAULT
        };
        progress(&format!("{setup}: leaves"))?;
        let tree = setup.tree()?;
        let bits = tree.params().bits() as f64;
        let (n, k) = (setup.items as f64, f64::from(HASHES));
        let logs = bits.ln() + bits.ln().ln() + n.ln();
        let e = (2.0 * n * k * logs).sqrt() / bits;
        let mut ratios = [Vec::new(), Vec::new()];
        for set in 0..effort.sets {
            let set = setup.set(Spread::Uniform, set);
            for (all, threshold) in ratios.iter_mut().zip([PAPER, Threshold::NoCommonBit]) {
                all.extend(leaf_ratios(&tree, &set, threshold)?);
            }
        }
        let percent = |all: &[f64], range: Range<f64>| {
            let inside = all.iter().filter(|ratio| range.contains(ratio)).count();
            format!("{:.1}", 100.0 * inside as f64 / all.len() as f64)
        };
        let [paper, any] = &ratios;
        table.rows.push(vec![
            accuracy.to_string(),
            tree.params().bits().to_string(),
            format!("{e:.4}"),
            format!("{:.0}", 100.0 * (1.0 - 4.0 / bits.ln())),
            percent(paper, 1.0 - e..1.0 + e),
            percent(paper, 0.5..2.0),
            percent(paper, 0.0..f64::MIN_POSITIVE),
            percent(any, 1.0 - e..1.0 + e),
            percent(any, 0.5..2.0),
        ]);
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

/// For every leaf with elements of the set: how often it is chosen, relative to how often it should
/// be. False positives count as elements, because they are drawn like them.
fn leaf_ratios(tree: &BloomSampleTree, set: &[u64], threshold: Threshold) -> Result<Vec<f64>> {
    let query = Setup::query(tree.params(), set)?;
    // Without a threshold, every leaf is reached: all members, whatever their probabilities.
    let members = tree.chances(&query, Threshold::NoCommonBit)?;
    let chances = tree.chances(&query, threshold)?;
    let leaf = |name: u64| {
        let next = u128::from(name - tree.names().start) + 1;
        let names = u128::from(tree.names().end - tree.names().start);
        ((next << tree.depth()) - 1) / names
    };
    let mut chances = chances.iter().peekable();
    let leaves = members.chunk_by(|a, b| leaf(a.0) == leaf(b.0));
    let ratio = |members: &[(u64, f64)]| {
        let this = leaf(members[0].0);
        let mut chosen = 0.0;
        while let Some((_, chance)) = chances.next_if(|(name, _)| leaf(*name) == this) {
            chosen += chance;
        }
        chosen / (members.len() as f64)
    };
    let ratios = leaves.map(ratio);
    let count = members.len() as f64;
    Ok(ratios.map(|ratio| ratio * count).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_of_all_leaves_are_one() -> Result<()> {
        let setup = Setup {
            names: 20_000,
            items: 200,
            ..Setup::DEFAULT
        };
        let tree = BloomSampleTree::complete(&setup.params()?, setup.range(), 4)?;
        // Sets so large that every leaf has some: the ratios weighted by l/n sum to 1.
        let set = setup.set(Spread::Uniform, 0);
        for threshold in [PAPER, Threshold::NoCommonBit] {
            let ratios = leaf_ratios(&tree, &set, threshold)?;
            assert_eq!(ratios.len(), 16);
            let mean = ratios.iter().sum::<f64>() / 16.0;
            assert!((0.6..1.4).contains(&mean), "{mean}");
        }
        Ok(())
    }
}
