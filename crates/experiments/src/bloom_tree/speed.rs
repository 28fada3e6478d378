//! The last two columns of Table III: hash functions and time of a tree, against a standard filter;
//! and the model of section 6.4.2.
//!
//! ```text
//!   Eq. 16, 17   T = L + H (D + B)       L: two hashes; D: one more from these; B: one bit; H functions
//!   Eq. 19       T_BT / T_SBF = (H_BT + psi) / (H_SBF + psi),   psi = L / (D + B), a constant
//! ```
//!
//! Solved for psi, Eq. 19 says what psi each published row implies. Here, L is measured by hashing
//! alone, and D + B is what a function of the standard filter, or of the tree, takes beyond it.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use bloomgrove::raw::hash::{AnyHasher, Hasher};
use bloomgrove::{Family, Filter, Key};
use bloomgrove_trees::bloom_tree::BloomTree;

use super::setup::{filter, keys, standard, standard_hashes, table_3};
use super::{Effort, claim, table};
use crate::{Progress, Report};

/// The last two columns of Table III. Tree and filter take turns; the best round of each counts.
pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "d, rho, m, k",
        "hashes of a tree",
        "hashes of an SBF",
        "ratio paper",
        "ratio",
        "time ratio paper",
        "query, present",
        "query, absent",
        "insert",
        "tree, ns per present key",
        "SBF, ns",
    ];
    let mut times = table("table3-time", &head);
    let head = [
        "d, rho, m, k",
        "H_BT",
        "H_SBF paper",
        "psi by Eq. 19, paper",
        "H_SBF",
        "SBF: D + B, ns",
        "tree: D + B, ns",
        "psi",
        "ratio by Eq. 20",
        "measured",
        "measured / Eq. 20",
    ];
    let mut speed = table("table3-speed", &head);
    let mut claims = Vec::new();
    let mut hash = f64::INFINITY;
    let keys = keys(effort.time_items, 1);
    let absent = super::setup::keys(effort.time_items, 2);
    for row in table_3() {
        progress(&format!("Table III, {}: time", row.config))?;
        let mut tree = row.config.build(effort.time_items, &keys)?;
        // The paper's filter has the tree's geometric mean as its rate. At the real rate, it has fewer
        // bits.
        let rate = tree.geometric_fpr(effort.samples, 3);
        let hashes = standard_hashes(rate);
        let bits = (standard(rate) * effort.time_items as f64) as u64;
        let mut flat = filter(bits, hashes, &keys)?;
        let mut best = [[f64::INFINITY; 3]; 2];
        for _ in 0..effort.rounds {
            hash = hash.min(hashing(&keys));
            for (contender, best) in best.iter_mut().enumerate() {
                let times = match contender {
                    0 => round(&mut tree, &keys, &absent)?,
                    _ => round(&mut flat, &keys, &absent)?,
                };
                *best = std::array::from_fn(|i| best[i].min(times[i]));
            }
        }
        let ratio: [f64; 3] = std::array::from_fn(|i| best[0][i] / best[1][i]);
        let visited = tree.shape().hashes() as f64;
        let mut cells = vec![
            row.config.to_string(),
            visited.to_string(),
            hashes.to_string(),
            row.hashes.to_string(),
            format!("{:.2}", visited / f64::from(hashes)),
            row.time.to_string(),
        ];
        cells.extend(ratio.iter().map(|ratio| format!("{ratio:.2}")));
        cells.extend(best.iter().map(|best| format!("{:.0}", best[0])));
        times.rows.push(cells);
        let flat_hashes = f64::from(hashes);
        // As printed: the table has the ratio of the hash functions.
        let published = visited / row.hashes;
        let each = |time: f64, hashes: f64| (time - hash) / hashes;
        let (of_flat, of_tree) = (each(best[1][0], flat_hashes), each(best[0][0], visited));
        let psi = hash / of_flat;
        let model = (visited + psi) / (flat_hashes + psi);
        let mut cells = vec![row.config.to_string(), visited.to_string()];
        cells.push(format!("{published:.0}"));
        cells.push(format!("{:.1}", implied(visited, published, row.time)));
        cells.push(hashes.to_string());
        let numbers = [of_flat, of_tree, psi, model, ratio[0], ratio[0] / model];
        cells.extend(numbers.iter().map(|number| format!("{number:.2}")));
        speed.rows.push(cells);
        let what = format!(
            "time to query a present key relative to an SBF, {}",
            row.config
        );
        claims.push(claim("table3-time", &what, row.time, ratio[0]));
        let what = format!("the same by Eq. 20, {}", row.config);
        claims.push(claim("table3-speed", &what, row.time, model));
    }
    Ok(Report {
        tables: vec![times, speed],
        claims,
        ..Report::default()
    })
}

/// The psi that Eq. 19 gives for this ratio of times.
fn implied(tree: f64, flat: f64, ratio: f64) -> f64 {
    (tree - ratio * flat) / (ratio - 1.0)
}

/// Nanoseconds to hash a key: both hashes of the paper are halves of one digest here.
fn hashing(keys: &[u64]) -> f64 {
    let family = &Family::Xxh3;
    let hasher = AnyHasher { family, seed: 0 };
    let start = Instant::now();
    let sum = keys.iter().fold(0, |sum, key| {
        sum ^ key.with_bytes(|bytes| hasher.digest(bytes).lo)
    });
    black_box(sum);
    start.elapsed().as_secs_f64() * 1e9 / keys.len() as f64
}

/// The operations of both contenders, key by key.
trait Set {
    fn reset(&mut self);
    fn insert(&mut self, key: u64);
    fn contains(&self, key: u64) -> bool;
}

impl Set for BloomTree {
    fn reset(&mut self) {
        self.clear();
    }

    fn insert(&mut self, key: u64) {
        BloomTree::insert(self, &key);
    }

    fn contains(&self, key: u64) -> bool {
        BloomTree::contains(self, &key)
    }
}

impl Set for Filter {
    fn reset(&mut self) {
        self.clear();
    }

    fn insert(&mut self, key: u64) {
        Filter::insert(self, &key);
    }

    fn contains(&self, key: u64) -> bool {
        Filter::contains(self, &key)
    }
}

/// Nanoseconds per key: queries of present keys, queries of absent keys, insertions.
fn round<S: Set>(set: &mut S, keys: &[u64], absent: &[u64]) -> Result<[f64; 3]> {
    let per_key = |start: Instant| start.elapsed().as_secs_f64() * 1e9 / keys.len() as f64;
    set.reset();
    let start = Instant::now();
    for &key in keys {
        set.insert(key);
    }
    let insert = per_key(start);
    let start = Instant::now();
    let found = keys.iter().filter(|key| set.contains(**key)).count();
    let present = per_key(start);
    ensure!(found == keys.len(), "{} keys were lost", keys.len() - found);
    let start = Instant::now();
    black_box(absent.iter().filter(|key| set.contains(**key)).count());
    Ok([present, per_key(start), insert])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_19_is_solved_for_psi() {
        let (tree, flat, psi) = (132.0, 16.0, 7.0);
        let ratio = (tree + psi) / (flat + psi);
        assert!((implied(tree, flat, ratio) - psi).abs() < 1e-9);
    }
}
