//! The sets that may contain a key, printed: wherever the answer comes from.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::output::{self, Output};

// How answers are printed. (A doc comment would become the help of the command.)
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Form {
    /// Print the number of sets instead of their names
    #[arg(short, long)]
    pub(crate) count: bool,
    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with_all = ["json", "count"])]
    pub(crate) quiet: bool,
    /// Print one JSON object per key
    #[arg(long)]
    pub(crate) json: bool,
    /// Every line begins with its key.
    #[arg(skip)]
    pub(crate) many: bool,
}

impl Form {
    /// The sets that may contain a key: how many, and their names; what JSON has besides.
    pub(crate) fn print(
        self,
        output: &mut Output,
        key: &[u8],
        count: u64,
        names: &[&[u8]],
        more: Map<String, Value>,
    ) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        if self.json {
            let mut line = json!({ "key": output::json_bytes(key), "count": count });
            if !self.count {
                line["sets"] = names.iter().map(|name| output::json_bytes(name)).collect();
            }
            for (field, value) in more {
                line[field] = value;
            }
            return output.json_line(&line);
        }
        let lead: &[&[u8]] = if self.many { &[key, b"\t"] } else { &[] };
        if self.count {
            output.bytes(lead)?;
            return output.line(count);
        }
        for name in names {
            output.bytes(lead)?;
            output.bytes(&[name, b"\n"])?;
        }
        Ok(())
    }
}

/// With --quiet, the first set that may contain a key ends the search.
#[derive(Debug)]
pub(crate) struct Enough;

impl std::fmt::Display for Enough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a set was found")
    }
}

impl std::error::Error for Enough {}

/// An expected number of sets, which may be far below one.
pub(crate) fn short(count: f64) -> String {
    match count {
        count if count >= 0.01 => format!("{count:.2}"),
        count => format!("{count:.1e}"),
    }
}
