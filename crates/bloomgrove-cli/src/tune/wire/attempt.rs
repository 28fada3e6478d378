//! The recommendation, built from synthetic keys.

use std::io;

use anyhow::{Result, bail};
use bloomgrove::Filter;
use bloomgrove::format::Notes;
use bloomgrove::raw::codec::{Model, compress_with};
use bloomgrove_trees::bloom_tree::advice::{Candidate, Structure};
use bloomgrove_trees::bloom_tree::{BloomTree, Coding};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::shared::keys::KeyKind;
use crate::shared::{interrupt, notes, units};

/// Keys are generated and checked in portions of this many.
const PORTION: usize = 1 << 16;
/// Absent keys are checked until there are this many false positives, and at most this many keys.
const ENOUGH: f64 = 2000.0;
const MOST: f64 = 2e7;

pub(super) struct Attempt {
    /// Bytes of the message.
    pub(super) bytes: u64,
    /// Its false-positive rate, from the bits that it has.
    expected: f64,
    asked: u64,
    accepted: u64,
}

impl Attempt {
    pub(super) fn of(candidate: &Candidate, items: u64) -> Result<Self> {
        // As the commands leave them.
        let notes = Notes::new()
            .with(notes::KEYS, KeyKind::Text.name())
            .with("inserted", items);
        let queries = (ENOUGH / candidate.fpr).min(MOST) as u64;
        match &candidate.structure {
            Structure::Tree(shape) => {
                let mut tree = BloomTree::new(shape.clone())?;
                portions(1, items, |keys| tree.insert_batch(keys))?;
                let mut accepted = 0;
                portions(2, queries, |keys| {
                    accepted += count(&tree.contains_batch(keys));
                })?;
                Ok(Self {
                    bytes: tree.compress_with(Coding::default(), &notes, io::sink())?,
                    expected: tree.expected_fpr(),
                    asked: queries,
                    accepted,
                })
            }
            structure => {
                let Some(params) = structure.params() else {
                    bail!("a {} cannot be built here", structure.name());
                };
                let mut filter = Filter::new(params.clone())?;
                portions(1, items, |keys| filter.insert_batch(keys))?;
                let mut accepted = 0;
                let mut answers = vec![false; PORTION];
                portions(2, queries, |keys| {
                    let answers = &mut answers[..keys.len()];
                    filter.contains_batch(keys, answers);
                    accepted += count(answers);
                })?;
                Ok(Self {
                    bytes: compress_with(&filter, Model::default(), &notes, io::sink())?,
                    expected: filter.expected_fpr(),
                    asked: queries,
                    accepted,
                })
            }
        }
    }

    /// How often absent keys were accepted.
    pub(super) fn measured(&self) -> f64 {
        self.accepted as f64 / self.asked as f64
    }

    pub(super) fn facts(&self, said: &Candidate) -> [(&'static str, String); 3] {
        let off = said.wire_bytes as f64 / self.bytes as f64 - 1.0;
        [
            (
                "produced",
                format!(
                    "{} bytes; predicted {}, {:+.2}%",
                    units::grouped(self.bytes),
                    units::grouped(said.wire_bytes),
                    off * 100.0
                ),
            ),
            (
                "expected",
                format!(
                    "{} of absent keys, from its bits",
                    units::percent(self.expected)
                ),
            ),
            (
                "measured",
                format!(
                    "{}: {} of {} accepted",
                    units::percent(self.measured()),
                    units::grouped(self.accepted),
                    units::counted(self.asked, "absent key")
                ),
            ),
        ]
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "wire_bytes": self.bytes,
            "expected_fpr": self.expected,
            "asked": self.asked,
            "accepted": self.accepted,
        })
    }
}

/// Random 64-bit keys. Two streams share one of n and q keys with a chance of n q / 2^64.
fn portions(stream: u64, keys: u64, mut each: impl FnMut(&[u64])) -> Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(stream);
    let mut left = keys;
    while left > 0 {
        interrupt::check()?;
        let some = left.min(PORTION as u64);
        let portion: Vec<u64> = (0..some).map(|_| random.random()).collect();
        each(&portion);
        left -= some;
    }
    Ok(())
}

fn count(answers: &[bool]) -> u64 {
    answers.iter().filter(|&&answer| answer).count() as u64
}
