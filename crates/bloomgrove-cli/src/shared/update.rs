//! Changing one set of an index or a Bloofi tree: what their `update` verbs share.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::key_args::KeyArgs;
use super::output::{self, Output};
use super::units;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct UpdateArgs {
    /// The set
    #[arg(value_name = "SET")]
    pub(crate) set: OsString,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    /// Add everything in this filter; it must have the same parameters as the set's filter
    #[arg(long, value_name = "FILTER")]
    pub(crate) filter: Option<PathBuf>,
    /// Rename the set
    #[arg(long, value_name = "NAME")]
    pub(crate) rename: Option<OsString>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl UpdateArgs {
    /// Ensures that there is something to do.
    pub(crate) fn check(&self) -> Result<()> {
        if self.keys.is_empty() && self.filter.is_none() && self.rename.is_none() {
            bail!("nothing to update; name keys, or pass --keys-from, --filter or --rename");
        }
        if self.rename.as_ref().is_some_and(|name| name.is_empty()) {
            bail!("--rename: the name is empty; pass the new name of the set");
        }
        Ok(())
    }

    /// Prints what was done: the set's old and new name, the number of keys added, what a line has
    /// besides and what JSON has besides.
    pub(crate) fn report(
        &self,
        (old, new): (&[u8], &[u8]),
        keys: u64,
        (rest, more): (String, Map<String, Value>),
    ) -> Result<()> {
        let mut output = Output::new();
        if self.json {
            let (old, new) = (output::json_bytes(old), output::json_bytes(new));
            let mut answer = json!({ "updated": old, "name": new, "keys": keys });
            more.into_iter()
                .for_each(|(field, value)| answer[field] = value);
            output.json(&answer)?;
        } else {
            output.bytes(&[b"updated ", old])?;
            if new != old {
                output.bytes(&[b", now ", new])?;
            }
            let keys = match keys {
                0 => String::new(),
                keys => format!(": {}", units::counted(keys, "key")),
            };
            output.line(format_args!("{keys}{rest}"))?;
        }
        output.finish()
    }
}
