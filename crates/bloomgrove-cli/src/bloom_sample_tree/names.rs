//! The names that a tree is built from: a range, or a list.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;

use anyhow::{Error, Result, bail};

use crate::shared::keys::{self, KeysArgs};
use crate::shared::progress::Progress;
use crate::shared::range;

pub(super) enum Names {
    Range(Range<u64>),
    /// In any order.
    List(Vec<u64>),
}

impl Names {
    /// A range such as 0..10M, or a file of integers.
    pub(super) fn read(written: &OsStr, from: &KeysArgs) -> Result<Self> {
        let (path, text) = (Path::new(written), written.to_string_lossy());
        if written != "-" && !path.exists() {
            if range::is_range(&text) {
                return match from.is_given() {
                    true => bail!("--column does not apply to a range"),
                    false => range::parse(&text).map(Names::Range).map_err(Error::msg),
                };
            }
            bail!(
                "{text}: no such file; names are a range of integers such as 0..10M, or a file with \
                 one integer per line"
            );
        }
        list(path, from).map(Names::List)
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Names::Range(range) => range.end - range.start,
            Names::List(list) => list.len() as u64,
        }
    }
}

/// The integers of a file, one per line or from a column.
pub(super) fn list(path: &Path, from: &KeysArgs) -> Result<Vec<u64>> {
    let progress = Progress::bytes(keys::total_size(&[path]), "reading names");
    let mut names = Vec::new();
    keys::read(path, from, Some(&progress), |lines| {
        for line in lines {
            names.push(keys::number(line)?);
        }
        Ok(())
    })?;
    Ok(names)
}
