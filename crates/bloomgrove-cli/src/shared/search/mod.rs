//! Searching files with an index that is brought up to date first: what `which` and `grep` share.
//!
//! ```text
//!   PATH... --files--> what is there, with stamps
//!                         |  refresh: read what is new or changed, keep the rest
//!                         v
//!            .bloomgrove.grove next to the data: one filter per file, block or member
//!                         |  candidates: the keys that the pattern needs, looked up together
//!                         v
//!            the files and blocks that may match
//!                         |  matches: ripgrep's libraries read them
//!                         v
//!                    files or lines
//! ```
//!
//! Never a miss: a file that is not a candidate has no match. Everything that the index cannot
//! decide (a file being written, a pattern without complete words) is a candidate.
//!
//! | file | contains |
//! |---|---|
//! | `files.rs` | which files are meant, and where their index is |
//! | `refresh.rs` | bringing an index up to date |
//! | `parts.rs` | the parts of a file that are sets: blocks, members of archives; reading them |
//! | `candidates.rs` | which parts may match |
//! | `query.rs` | the pattern and its options |
//! | `matches.rs` | searching candidates |

mod candidates;
mod files;
mod matches;
mod parts;
mod query;
mod refresh;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub(crate) use candidates::{Candidate, all, candidates};
pub(crate) use files::{Chosen, find};
pub(crate) use matches::{Search, Sought};
pub(crate) use query::QueryArgs;
pub(crate) use refresh::{Fresh, RefreshOptions, refresh};

use anyhow::{Result, bail};
use bloomgrove_keys::Extraction;

use crate::shared::keys::Keys;
use crate::shared::output::complain;
use crate::shared::units;

/// The index that is kept in a directory for the files in and below it.
pub(crate) const INDEX_NAME: &str = ".bloomgrove.grove";

/// Reports what could not be read: the first few, and how many more.
#[derive(Default)]
pub(crate) struct Complaints {
    count: u64,
    files: HashSet<PathBuf>,
    /// What to add about a path that does not exist.
    pub(crate) if_missing: &'static str,
}

impl Complaints {
    const SHOWN: u64 = 10;

    pub(crate) fn add(&mut self, what: fmt::Arguments<'_>) {
        self.count += 1;
        if self.count <= Self::SHOWN {
            complain(what);
        }
    }

    /// About a file, only once.
    pub(crate) fn add_file(&mut self, file: &Path, error: &anyhow::Error) {
        if self.files.insert(file.to_owned()) {
            self.add(format_args!("{error:#}"));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Says how many were not shown.
    pub(crate) fn finish(&self) {
        if self.count > Self::SHOWN {
            let more = units::counted(self.count - Self::SHOWN, "more file");
            complain(format_args!("and {more} could not be read"));
        }
    }
}

/// Refuses what was probably meant in the other order: files first, as in `find`.
pub(crate) fn check_order(usage: &str, first: &[u8], paths: &[PathBuf]) -> Result<()> {
    let first = Path::new(OsStr::from_bytes(first));
    let [path] = paths else { return Ok(()) };
    if matches!(path.try_exists(), Ok(false)) && first.exists() {
        let (path, first) = (path.display(), first.display());
        bail!(
            "{path}: no such file or directory, but {first} exists; the paths come last: \
             bloomgrove {usage} PATH..."
        );
    }
    Ok(())
}

/// The name of the index of a directory for these keys.
fn index_name(keys: &Keys) -> String {
    let kind = keys.to_string();
    if kind == Extraction::Tokens.to_string() {
        return INDEX_NAME.into();
    }
    let readable = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let readable: String = kind.chars().take(40).map(readable).collect();
    // Two patterns may look alike without their punctuation.
    let number = kind.bytes().fold(0u32, |number, byte| {
        number.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    format!(".bloomgrove-{readable}-{number:08x}.grove")
}

/// A date, or how long ago.
fn since(text: &str) -> Result<SystemTime, String> {
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        let start = date
            .to_zoned(jiff::tz::TimeZone::UTC)
            .map_err(|error| error.to_string())?;
        return Ok(start.timestamp().into());
    }
    let ago = units::duration(text);
    let ago: Duration =
        ago.map_err(|_| "give a date such as 2026-11-01, or a time such as 36h".to_owned())?;
    SystemTime::now()
        .checked_sub(ago)
        .ok_or_else(|| "too long ago".to_owned())
}
