//! What a semi-join did: rows and bytes before and after, and how many rows are expected to be
//! kept in error.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::members::{Members, Tested};
use crate::shared::output::{self, Output};
use crate::shared::units;

/// One side as it was read for its keys.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) tested: Tested,
}

impl Source {
    fn described(&self) -> String {
        let Tested { rows, keys } = self.tested;
        format!(
            "{}: {}, {}; {} have a key and meet all conditions",
            self.path,
            units::counted(rows, "row"),
            units::size(self.bytes),
            units::grouped(keys)
        )
    }

    fn json(&self) -> Value {
        json!({
            "file": self.path,
            "rows": self.tested.rows,
            "rows_with_key": self.tested.keys,
            "bytes": self.bytes,
        })
    }
}

/// The filter of its keys.
pub(super) struct About {
    distinct: u64,
    bytes: u64,
    fpr: f64,
    is_on_disk: bool,
}

impl About {
    pub(super) fn of(members: &Members) -> Self {
        Self {
            distinct: members.distinct,
            bytes: members.bytes(),
            fpr: members.fpr(),
            is_on_disk: members.is_on_disk(),
        }
    }
}

/// A side that was reduced by a filter.
pub(super) struct Reduced {
    pub(super) source: Source,
    pub(super) filter: About,
    pub(super) rows: u64,
    pub(super) output: String,
    /// Known once the file is finished.
    pub(super) bytes: u64,
}

impl Reduced {
    /// Each row without a match is kept with the probability of a false positive. Of how many
    /// there were, those that were dropped tell.
    fn expected_false(&self) -> f64 {
        let dropped = self.source.tested.keys.saturating_sub(self.rows) as f64;
        match self.filter.fpr {
            fpr if fpr < 1.0 => dropped * fpr / (1.0 - fpr),
            _ => f64::NAN,
        }
    }

    fn json(&self) -> Value {
        let mut facts = self.source.json();
        facts["filter"] = json!({
            "keys": self.filter.distinct,
            "bytes": self.filter.bytes,
            "on_disk": self.filter.is_on_disk,
            "expected_fpr": self.filter.fpr,
        });
        facts["output"] = json!(self.output);
        facts["output_rows"] = json!(self.rows);
        facts["output_bytes"] = json!(self.bytes);
        facts["expected_false_positives"] = json!(self.expected_false());
        facts
    }

    fn facts(&self) -> [(&'static str, String); 3] {
        let place = match self.filter.is_on_disk {
            true => "on disk",
            false => "in memory",
        };
        let share = units::percent(self.rows as f64 / self.source.tested.rows.max(1) as f64);
        [
            (
                "filter",
                format!(
                    "{}, {} {place}, false-positive rate {}",
                    units::counted(self.filter.distinct, "distinct key"),
                    units::size(self.filter.bytes),
                    units::percent(self.filter.fpr)
                ),
            ),
            ("before", self.source.described()),
            (
                "after",
                format!(
                    "{}: {} ({share}), {}; expected false positives: {}",
                    self.output,
                    units::counted(self.rows, "row"),
                    units::size(self.bytes),
                    units::estimate(self.expected_false())
                ),
            ),
        ]
    }
}

pub(super) fn print(
    build: &Source,
    probe: &Reduced,
    both: Option<&Reduced>,
    took: Duration,
    as_json: bool,
) -> Result<()> {
    if as_json {
        let mut facts = json!({
            "build": build.json(),
            "probe": probe.json(),
            "seconds": took.as_secs_f64(),
        });
        if let Some(both) = both {
            facts["both"] = both.json();
        }
        let mut output = Output::new();
        output.json(&facts)?;
        return output.finish();
    }
    let mut facts = vec![("build", build.described())];
    facts.extend(probe.facts());
    if let Some(both) = both {
        facts.extend(both.facts());
    }
    facts.push(("time", format!("{:.2} s", took.as_secs_f64())));
    output::explain(&facts);
    Ok(())
}

pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
