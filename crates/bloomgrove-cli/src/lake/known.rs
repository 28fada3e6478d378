//! What an index has of a table: which columns, which files in which version, and filters of which
//! kinds.

use anyhow::{Context, Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::index::{Index, Set};

use super::table;
use super::tag::{Origin, Tag};
use crate::shared::keys::parquet::Spelling;
use crate::shared::notes;

/// The note that tells a lake index from others.
const MAKER_NOTE: &str = "made-by";
const MAKER: &str = "bloomgrove lake";
const COLUMNS_NOTE: &str = "columns";
const FOOTERS_NOTE: &str = "from-footers";

/// How an index is built, and kept up to date.
pub(super) struct How {
    pub(super) columns: Vec<String>,
    /// Of the filters that we build.
    pub(super) fpr: f64,
    /// Whether filters are taken from the files where they have them.
    pub(super) from_footers: bool,
}

impl How {
    pub(super) fn notes(&self) -> Notes {
        Notes::new()
            .with(MAKER_NOTE, MAKER)
            .with(COLUMNS_NOTE, serde_json::json!(self.columns))
            .with(notes::FPR, self.fpr)
            .with(FOOTERS_NOTE, self.from_footers)
    }

    pub(super) fn of(index: &Index) -> Result<Self> {
        let notes = index.notes();
        if notes.get(MAKER_NOTE) != Some(MAKER) {
            bail!("not the index of a table; `bloomgrove lake index` makes one");
        }
        let columns = notes.get(COLUMNS_NOTE).and_then(|columns| {
            let columns: Vec<String> = serde_json::from_str(columns).ok()?;
            (!columns.is_empty()).then_some(columns)
        });
        Ok(Self {
            columns: columns.context("its columns are not recorded")?,
            fpr: notes::number(notes, notes::FPR).context("its rate is not recorded")?,
            from_footers: notes.get(FOOTERS_NOTE) == Some("true"),
        })
    }
}

/// A column as it is in some of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) column: u32,
    pub(super) spelling: Spelling,
    pub(super) origin: Origin,
}

/// All sets, by the path of their file. A list in order, as the sets of an index mostly are: a table of
/// hashes takes longer to fill than a query.
pub(super) struct Known<'i> {
    sets: Vec<Stored<'i>>,
    /// With the number of filters of each kind. There are few.
    pub(super) kinds: Vec<(Kind, u64)>,
}

struct Stored<'i> {
    path: &'i [u8],
    version: &'i [u8],
    /// How many sets its file should have.
    wanted: u32,
    set: Set<'i>,
}

/// The sets of one file, at least one.
pub(super) struct File<'k, 'i>(&'k [Stored<'i>]);

impl<'i> Known<'i> {
    pub(super) fn of(index: &'i Index) -> Self {
        let mut known = Self {
            sets: Vec::with_capacity(index.len()),
            kinds: Vec::new(),
        };
        for set in index.sets() {
            let Some(tag) = Tag::from_bytes(set.tag()) else {
                continue;
            };
            let kind = tag.kind();
            match known.kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => known.kinds.push((kind, 1)),
            }
            known.sets.push(Stored {
                path: tag.path,
                version: tag.version,
                wanted: tag.sets,
                set,
            });
        }
        known.sets.sort_by_key(|stored| stored.path);
        known
    }

    pub(super) fn files(&self) -> impl Iterator<Item = File<'_, 'i>> {
        let same_file = |a: &Stored<'_>, b: &Stored<'_>| a.path == b.path;
        self.sets.chunk_by(same_file).map(File)
    }

    fn file(&self, name: &[u8]) -> Option<File<'_, 'i>> {
        let start = self.sets.partition_point(|stored| stored.path < name);
        let mut files = self.sets[start..].chunk_by(|a, b| a.path == b.path);
        files.next().map(File).filter(|file| file.name() == name)
    }

    /// Whether the index has all of a file as it is now.
    pub(super) fn is_current(&self, name: &[u8], entry: &table::Entry) -> bool {
        self.file(name)
            .is_some_and(|file| file.is_certain() && file.0[0].version == entry.version)
    }

    /// The names of the sets of a file.
    pub(super) fn sets_of(&self, name: &[u8]) -> Vec<Vec<u8>> {
        self.file(name).map_or(Vec::new(), |file| file.sets())
    }

    /// The kinds of one column, or of all, in a fixed order.
    pub(super) fn kinds_of(&self, column: Option<u32>) -> Vec<(Kind, u64)> {
        let is_sought = |kind: &Kind| {
            kind.origin != Origin::Nothing && column.is_none_or(|column| column == kind.column)
        };
        let kinds = self.kinds.iter().filter(|(kind, _)| is_sought(kind));
        let mut kinds: Vec<_> = kinds.copied().collect();
        kinds.sort_by_key(|(kind, _)| (kind.column, kind.spelling.to_bytes(), kind.origin));
        kinds
    }
}

impl<'i> File<'_, 'i> {
    /// Its path from the directory of the table.
    pub(super) fn name(&self) -> &'i [u8] {
        self.0[0].path
    }

    /// The names of its sets.
    pub(super) fn sets(&self) -> Vec<Vec<u8>> {
        self.0
            .iter()
            .map(|stored| stored.set.name().to_vec())
            .collect()
    }

    /// Whether all of it was read, in one version, and it did not change meanwhile.
    pub(super) fn is_certain(&self) -> bool {
        let version = self.0[0].version;
        version.iter().any(|&byte| byte != 0)
            && self
                .0
                .iter()
                .all(|stored| stored.wanted as usize == self.0.len() && stored.version == version)
    }
}

impl Tag<'_> {
    pub(super) fn kind(&self) -> Kind {
        Kind {
            column: self.column,
            spelling: self.spelling,
            origin: self.origin,
        }
    }
}
