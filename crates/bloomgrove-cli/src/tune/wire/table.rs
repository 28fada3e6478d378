//! The candidates as CSV.

use std::path::Path;

use anyhow::Result;
use bloomgrove_trees::bloom_tree::advice::Goal;

use super::{Answer, bits_per_key};
use crate::shared::whole_file::WholeFile;

pub(super) fn write(path: &Path, answers: &[Answer]) -> Result<()> {
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
