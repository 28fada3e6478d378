//! The candidates as CSV, and drawn.

use std::path::Path;

use anyhow::Result;
use bloomgrove_experiments::{Axis, Figure, Series, Stroke};
use bloomgrove_trees::bloom_tree::advice::{Candidate, Goal};

use super::{Answer, bits_per_key};
use crate::whole_file::WholeFile;

pub(super) fn write_csv(path: &Path, answers: &[Answer]) -> Result<()> {
    const HEAD: &[&str] = &[
        "target",
        "structure",
        "hashes",
        "wire_bytes",
        "bits_per_key",
        "spread",
        "memory_bytes",
        "fpr",
        "recommended",
        "excluded",
    ];
    let mut writer = WholeFile::csv(path, HEAD)?;
    for Answer { advice, .. } in answers {
        let target = match advice.goal {
            Goal::Fpr(fpr) => fpr.to_string(),
            Goal::Bytes(bytes) => bytes.to_string(),
        };
        for (at, candidate) in advice.candidates.iter().enumerate() {
            writer.write_record([
                target.clone(),
                candidate.structure.name().to_owned(),
                candidate.hashes.to_string(),
                candidate.wire_bytes.to_string(),
                bits_per_key(candidate, advice).to_string(),
                candidate.spread.to_string(),
                candidate.memory_bytes.to_string(),
                candidate.fpr.to_string(),
                (at == advice.best).to_string(),
                candidate.excluded.clone().unwrap_or_default(),
            ])?;
        }
    }
    let file = writer.into_inner().map_err(|error| error.into_error())?;
    file.finish()?;
    Ok(())
}

/// The kinds, with their colours and strokes.
const KINDS: [(&str, usize, Stroke); 6] = [
    ("standard filter", 2, Stroke::Solid),
    ("blocked filter", 2, Stroke::Dashed),
    ("compressed filter", 1, Stroke::Solid),
    ("BloomTree", 0, Stroke::Solid),
    ("Golomb-coded set", 6, Stroke::Dashed),
    ("information bound", 6, Stroke::Dotted),
];

/// Bits on the wire over the rate; for a single goal, over what they take in memory.
pub(super) fn figure(answers: &[Answer]) -> Figure {
    let single = answers.len() == 1;
    let series = |(name, color, stroke): (&str, usize, Stroke)| {
        let mut points = Vec::new();
        for Answer { advice, .. } in answers {
            let of_kind = |candidate: &&Candidate| {
                candidate.structure.name() == name && candidate.excluded.is_none()
            };
            let mut found = advice.candidates.iter().filter(of_kind);
            match single {
                true => points.extend(found.map(|candidate| {
                    let memory = candidate.memory_bytes as f64 * 8.0 / advice.items as f64;
                    (memory, bits_per_key(candidate, advice))
                })),
                // The best come first.
                false => points.extend(
                    found
                        .next()
                        .map(|candidate| (candidate.fpr, bits_per_key(candidate, advice))),
                ),
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series {
            name: name.to_owned(),
            color,
            stroke,
            points,
        }
    };
    let all = KINDS.into_iter().map(series);
    Figure {
        id: "wire",
        title: match single {
            true => "What memory buys on the wire",
            false => "What a set takes on the wire",
        },
        x: Axis {
            name: match single {
                true => "bits for each key in memory",
                false => "false positives",
            },
            log: true,
        },
        y: Axis {
            name: "bits for each key on the wire",
            log: false,
        },
        series: all.filter(|series| !series.points.is_empty()).collect(),
    }
}
