//! What an index has of a table: which columns, which files in which version, and filters of which
//! kinds.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

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

pub(super) struct Known<'i> {
    pub(super) files: HashMap<&'i [u8], File<'i>>,
    /// With the number of filters of each kind.
    pub(super) kinds: HashMap<Kind, u64>,
}

pub(super) struct File<'i> {
    version: &'i [u8],
    /// How many sets it should have.
    wanted: u32,
    /// Most have one: a list for each of many files takes longer than a query.
    first: Set<'i>,
    more: Vec<Set<'i>>,
}

impl<'i> Known<'i> {
    pub(super) fn of(index: &'i Index) -> Self {
        let mut known = Self {
            files: HashMap::with_capacity(index.len()),
            kinds: HashMap::new(),
        };
        for set in index.sets() {
            let Some(tag) = Tag::from_bytes(set.tag()) else {
                continue;
            };
            *known.kinds.entry(tag.kind()).or_default() += 1;
            match known.files.entry(tag.path) {
                Entry::Vacant(place) => {
                    place.insert(File {
                        version: tag.version,
                        wanted: tag.sets,
                        first: set,
                        more: Vec::new(),
                    });
                }
                Entry::Occupied(mut place) => {
                    let file = place.get_mut();
                    file.more.push(set);
                    if file.version != tag.version {
                        // Two versions: neither is complete.
                        file.wanted = u32::MAX;
                    }
                }
            }
        }
        known
    }

    /// Whether the index has all of a file as it is now.
    pub(super) fn is_current(&self, name: &[u8], entry: &table::Entry) -> bool {
        self.files
            .get(name)
            .is_some_and(|file| file.is_certain() && file.version == entry.version)
    }

    /// The names of the sets of a file.
    pub(super) fn sets_of(&self, name: &[u8]) -> Vec<Vec<u8>> {
        let sets = self.files.get(name).into_iter().flat_map(File::sets);
        sets.map(|set| set.name().to_vec()).collect()
    }

    /// The kinds of one column, or of all, in a fixed order.
    pub(super) fn kinds_of(&self, column: Option<u32>) -> Vec<(Kind, u64)> {
        let mut kinds: BTreeMap<_, _> = BTreeMap::new();
        for (kind, &count) in &self.kinds {
            if kind.origin != Origin::Nothing && column.is_none_or(|column| column == kind.column) {
                let order = (kind.column, kind.spelling.to_bytes(), kind.origin);
                kinds.insert(order, (*kind, count));
            }
        }
        kinds.into_values().collect()
    }
}

impl<'i> File<'i> {
    pub(super) fn sets(&self) -> impl Iterator<Item = Set<'i>> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    fn is_complete(&self) -> bool {
        self.more.len() as u64 + 1 == u64::from(self.wanted)
    }

    /// Whether all of it was read, and it did not change meanwhile.
    pub(super) fn is_certain(&self) -> bool {
        self.is_complete() && self.version.iter().any(|&byte| byte != 0)
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
