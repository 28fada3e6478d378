//! Keys given on the command line: as arguments, and in files.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::answers::Enough;
use super::keys::{self, Column, KeysArgs};
use super::progress::Progress;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// Keys
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,
    /// More keys, one per line or from a column; - is standard input
    #[arg(long, value_name = "FILE")]
    keys_from: Vec<PathBuf>,
    #[command(flatten)]
    column: Option<Column>,
}

impl KeyArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.keys_from.is_empty()
    }

    /// Whether there may be more than one.
    pub(crate) fn are_many(&self) -> bool {
        self.keys.len() > 1 || !self.keys_from.is_empty()
    }

    /// Ensures that there are keys.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_empty() {
            bail!("no key given; pass one, or a file of keys with --keys-from");
        }
        if self.column.is_some() && self.keys_from.is_empty() {
            bail!("--column requires --keys-from");
        }
        Ok(())
    }

    /// The size of all files.
    pub(crate) fn total_size(&self) -> u64 {
        keys::total_size(&self.keys_from)
    }

    /// Passes all keys to `take`, batch by batch, until it returns [`Enough`].
    pub(crate) fn each(
        &self,
        progress: Option<&Progress>,
        mut take: impl FnMut(&[&[u8]]) -> Result<()>,
    ) -> Result<()> {
        let given = self.keys.iter().cloned().map(keys::from_argument);
        let given: Vec<Vec<u8>> = given.collect();
        let from = KeysArgs::in_column(self.column.clone());
        let mut all = || {
            take(&given.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
            let mut files = self.keys_from.iter();
            files.try_for_each(|file| keys::read(file, &from, progress, &mut take))
        };
        match all() {
            Err(error) if error.is::<Enough>() => Ok(()),
            done => done,
        }
    }
}
