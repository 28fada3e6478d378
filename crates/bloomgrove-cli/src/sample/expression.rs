//! What FILTER means: a file, or filters combined with `&` and `|`.
//!
//! The grammar is that of [`bloomgrove::raw::sample::Expression`], with files for names. If the whole
//! expression is the name of a file, it means that file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::raw;
use bloomgrove::sample::Query;
use bloomgrove::{Error, MappedFilter, Params};

use crate::shared::keys::KeyKind;
use crate::shared::{notes, open};

/// Filters, and how they are combined.
pub(super) struct Expression {
    /// As it was written.
    shown: String,
    joined: raw::sample::Expression,
    files: Vec<File>,
    /// Of the files, in their order.
    filters: Vec<MappedFilter>,
}

struct File {
    path: PathBuf,
    /// How its keys were read, and whether it says so itself.
    kind: KeyKind,
    noted: bool,
}

impl Expression {
    /// Opens the filters of an expression. Small ones are checked: damage could cause false
    /// negatives.
    pub(super) fn open(written: &OsStr) -> Result<Self> {
        let shown = written.to_string_lossy().into_owned();
        let (joined, paths) = match written.to_str() {
            Some(text) if !Path::new(written).exists() => {
                let joined = raw::sample::Expression::parse(text)?;
                let paths = joined.names().iter().map(PathBuf::from).collect();
                (joined, paths)
            }
            // Not every path is text: only the shown one is.
            _ => {
                let joined = raw::sample::Expression::of_name(shown.clone());
                (joined, vec![PathBuf::from(written)])
            }
        };
        let mut expression = Self {
            shown,
            joined,
            files: Vec::with_capacity(paths.len()),
            filters: Vec::with_capacity(paths.len()),
        };
        for path in paths {
            let (file, filter) = open(path)?;
            if !expression.files.is_empty() {
                expression.check_equal(&file, &filter)?;
            }
            expression.files.push(file);
            expression.filters.push(filter);
        }
        Ok(expression)
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The query; all filters have equal parameters.
    pub(super) fn query(&self) -> Result<Query<'_>, Error> {
        self.joined.query(&self.filters)
    }

    /// The filter, if it is only one.
    pub(super) fn only(&self) -> Option<&MappedFilter> {
        self.joined.is_one_name().then(|| &self.filters[0])
    }

    /// A file of these parameters.
    pub(super) fn first_file(&self) -> &Path {
        &self.files[0].path
    }

    pub(super) fn params(&self) -> &Params {
        self.filters[0].params()
    }

    /// Bytes of all filters.
    pub(super) fn bytes(&self) -> u64 {
        self.filters.len() as u64 * self.params().words() as u64 * 8
    }

    /// How keys were read when the filters were built.
    pub(super) fn kind(&self) -> KeyKind {
        self.files[0].kind
    }

    /// Whether that is noted in a filter.
    pub(super) fn kind_is_noted(&self) -> bool {
        self.files.iter().any(|file| file.noted)
    }

    /// Ensures that a filter can be queried together with the first.
    fn check_equal(&self, file: &File, filter: &MappedFilter) -> Result<()> {
        let (one, two) = (self.files[0].path.display(), file.path.display());
        if let Err(error) = self.params().check_equal(filter.params()) {
            bail!("{one} and {two}: {error}");
        }
        if self.kind() != file.kind {
            bail!(
                "the keys of {one} were read as {}, those of {two} as {}; they cannot be queried \
                 together",
                self.kind().name(),
                file.kind.name()
            );
        }
        Ok(())
    }
}

fn open(path: PathBuf) -> Result<(File, MappedFilter)> {
    if !path.exists() && path.to_string_lossy().contains([' ', '!']) {
        bail!(
            "{}: no such file; to combine filters, use the operators & and | and parentheses",
            path.display()
        );
    }
    // If it is not a filter, mapping reports what it is.
    let filter = MappedFilter::map(&path)?;
    open::check(&path, false)?;
    let notes = Notes::of_file(&path)?;
    let file = File {
        kind: notes::key_kind_of(&filter, &notes),
        noted: notes.get(notes::KEYS).is_some(),
        path,
    };
    Ok((file, filter))
}
