//! Keys to check, and the answers: what the `check` verbs share.

use anyhow::Result;
use serde_json::json;

use super::Outcome;
use super::key_args::KeyArgs;
use super::keys::KeyKind;
use super::output::{self, Output};

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct Questions {
    #[command(flatten)]
    keys: KeyArgs,
    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// How to interpret keys [default: as when the filter was built]
    #[arg(long, value_name = "KIND", value_enum)]
    keys_as: Option<KeyKind>,
}

impl Questions {
    /// Ensures that there are keys.
    pub(crate) fn check(&self) -> Result<()> {
        self.keys.check()
    }

    /// Prints each key and whether it is contained.
    pub(crate) fn ask(
        self,
        usual: KeyKind,
        mut contains: impl FnMut(&[&[u8]]) -> Result<Vec<bool>>,
    ) -> Result<Outcome> {
        let kind = self.keys_as.unwrap_or(usual);
        let mut output = Output::new();
        let mut any = false;
        self.keys.each(None, |lines| {
            let found = match kind {
                KeyKind::Text => contains(lines)?,
                KeyKind::Integer => {
                    let keys = lines.iter().map(|line| kind.key(line));
                    let keys = keys.collect::<Result<Vec<_>>>()?;
                    contains(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>())?
                }
            };
            for (line, found) in lines.iter().zip(found) {
                any |= found;
                if self.json {
                    let key = output::json_bytes(line);
                    output.json_line(&json!({ "key": key, "maybe": found }))?;
                } else if !self.quiet {
                    let word: &[u8] = if found { b"\tmaybe\n" } else { b"\tno\n" };
                    output.bytes(&[line, word])?;
                }
            }
            // A slow stream is answered line by line.
            output.flush()
        })?;
        output.finish()?;
        Ok(if any { Outcome::Yes } else { Outcome::No })
    }
}
