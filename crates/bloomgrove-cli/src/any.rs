//! `bloomgrove info` and `bloomgrove check`: the verb of the noun that a file belongs to.
//!
//! The file says what it contains; the words of the command that is for it are handed back, to be parsed as if they
//! had been typed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::format::{Content, content_of};
use bloomgrove::raw::codec::Kind;

use crate::shared::{message_file, open};

/// Show what a file contains, whatever its kind.
///
/// Recognizes filters, indexes, buffered filters, name indexes and trees, and runs the `info` of that kind, with
/// its options, such as --json. Files of servers and sites are described by `bloomgrove verify`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove info users.grove\n  \
    bloomgrove info logs.grove --json")]
pub(crate) struct Info {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Options of the `info` of that kind
    #[arg(
        value_name = "OPTION",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    rest: Vec<OsString>,
}

/// Check whether a file of any kind contains keys.
///
/// For a filter, a buffered filter or a BloomTree, prints "maybe" or "no" for each key; for an index or a Bloofi tree,
/// lists the sets that may contain it. Runs the command of that kind, with its options, such as --json and --quiet.
/// To check a file for damage, use `bloomgrove verify`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove check users.grove ada grace\n  \
    bloomgrove check logs.grove order-4711 --json")]
pub(crate) struct Check {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Keys, and options of the command of that kind
    #[arg(
        value_name = "KEY",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    rest: Vec<OsString>,
}

impl Info {
    /// The command to run.
    pub(crate) fn words(self) -> Result<Vec<OsString>> {
        Ok(words(&[noun(&self.file)?, "info"], self.file, self.rest))
    }
}

impl Check {
    /// The command to run.
    pub(crate) fn words(self) -> Result<Vec<OsString>> {
        let noun = noun(&self.file)?;
        let verb = match noun {
            "filter" | "bloom-tree" => "check",
            "index" | "bloofi" => "which",
            "buffered" => "probe",
            _ => bail!(
                "{}: this file contains names, not keys, so there is nothing to check; see \
                 `bloomgrove {noun} --help`",
                self.file.display()
            ),
        };
        if verb != "probe" {
            return Ok(words(&[noun, verb], self.file, self.rest));
        }
        if self.rest.is_empty() {
            bail!("no key given; name one after {}", self.file.display());
        }
        // Its other arguments are files of keys.
        let mut is_key = true;
        let rest = self.rest.into_iter().flat_map(|word| {
            is_key &= !word.to_string_lossy().starts_with('-');
            is_key
                .then(|| OsString::from("--key"))
                .into_iter()
                .chain([word])
        });
        let rest = rest.collect();
        Ok(words(&[noun, verb], self.file, rest))
    }
}

fn words(verb: &[&str], file: PathBuf, rest: Vec<OsString>) -> Vec<OsString> {
    let verb = ["bloomgrove"].iter().chain(verb).map(OsString::from);
    verb.chain([file.into()]).chain(rest).collect()
}

/// The noun for a file.
fn noun(path: &Path) -> Result<&'static str> {
    let shown = path.display();
    match message_file::kind_of(path)? {
        // The commands for trees read them compressed, too.
        Some(Kind::Tree) => Ok(open::noun(Content::BloomTree)),
        Some(Kind::Delta) => {
            bail!("{shown}: this is a delta; `bloomgrove filter apply` applies it to a filter")
        }
        Some(_) => bail!(
            "{shown}: this is a compressed filter; decompress it with `bloomgrove filter expand` first"
        ),
        None => Ok(open::noun(content_of(path)?)),
    }
}
