//! Named filters side by side in one file, asked one after the other.
//!
//! ```text
//!   catalog   a.txt  ->  words 0..128       b.txt  ->  words 128..192   ...
//!   bits      [ filter of a.txt            ][ filter of b.txt ] ...
//! ```
//!
//! Cost: one probe for each filter, N in all, each at least one cache miss when the
//! shelf is larger than the cache. [`Shelf::which_many`] asks a filter for all keys
//! before it goes to the next, so that it comes into the cache once.
//!
//! Filters may differ in size; a shelf of files wants each filter as large as its
//! file needs.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::catalog::{self, Record};
use crate::bits::LINE_WORDS;
use crate::format::{Content, Grove, Kind, Notes, Writer};
use crate::{Error, Filter, Key, MappedFilter};

/// One filter on a [`Shelf`].
#[derive(Debug)]
pub struct Entry {
    name: Vec<u8>,
    tag: Vec<u8>,
    filter: MappedFilter,
    checksum: u64,
}

impl Entry {
    /// What it was called when added: bytes, since file names are.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// What the caller kept with it.
    pub fn tag(&self) -> &[u8] {
        &self.tag
    }

    /// The filter, in the mapped file.
    pub fn filter(&self) -> &MappedFilter {
        &self.filter
    }

    /// Reads this one filter and checks its sum.
    pub fn is_sound(&self) -> bool {
        checksum(self.filter.words()) == self.checksum
    }
}

/// Many named filters in one mapped file.
///
/// ```
/// use bloomgrove::{Filter, Params};
/// use bloomgrove::index::{Shelf, ShelfWriter};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sites.grove");
///
/// let mut writer = ShelfWriter::create(&path)?;
/// for (site, item) in [("north", "apple"), ("south", "pear")] {
///     let mut filter = Filter::new(Params::for_items(100, 0.01)?)?;
///     filter.insert(item);
///     writer.add(site.as_bytes(), b"", &filter)?;
/// }
/// writer.finish()?;
///
/// let shelf = Shelf::map(&path)?;
/// let names: Vec<_> = shelf.which("pear").map(|entry| entry.name()).collect();
/// assert_eq!(names, [b"south"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shelf {
    entries: Vec<Entry>,
    notes: Notes,
}

impl Shelf {
    /// Opens a shelf without reading its bits. As with
    /// [`MappedFilter::map`], they are not checked, and the file must not be changed in
    /// place while it is mapped.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or holds something else.
    pub fn map(path: impl AsRef<Path>) -> Result<Self, Error> {
        let grove = Grove::open(path.as_ref())?;
        Self::of(&grove).map_err(Error::in_file(grove.path()))
    }

    fn of(grove: &Grove) -> Result<Self, Error> {
        grove.expect(Content::Shelf)?;
        let offset = grove.offset(Kind::Catalog);
        let corrupt = |at: usize, what: String| {
            Error::corrupt(Kind::Catalog.name(), offset + at as u64, what)
        };
        let words = grove.words()?;
        let records =
            catalog::decode(grove.small(Kind::Catalog)?).map_err(|(at, what)| corrupt(at, what))?;
        // One behind the other, or a small file could claim much work.
        let mut end = 0;
        let entries = records.into_iter().map(|record| {
            let Record {
                name,
                tag,
                params,
                start,
                checksum,
            } = record;
            let part = usize::try_from(start)
                .ok()
                .filter(|start| start.is_multiple_of(LINE_WORDS) && *start >= end)
                .and_then(|start| words.part(start, params.words()))
                .ok_or_else(|| {
                    let what = "an entry's bits lie outside the bits, or not behind the last";
                    corrupt(0, what.to_owned())
                })?;
            end = start as usize + params.words();
            let filter =
                Filter::from_words(params, part).map_err(|error| corrupt(0, error.to_string()))?;
            Ok(Entry {
                name,
                tag,
                filter,
                checksum,
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_, Error>>()?,
            notes: Notes::of(grove)?,
        })
    }

    /// What the writer noted.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// All entries, in the order they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries that may hold the key.
    pub fn which<K: Key + ?Sized>(&self, key: &K) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.filter.contains(key))
    }

    /// For each key, the numbers of the entries that may hold it, rising.
    pub fn which_many<K: Key>(&self, keys: &[K]) -> Vec<Vec<usize>> {
        let mut answers = vec![Vec::new(); keys.len()];
        let mut found = vec![false; keys.len()];
        for (i, entry) in self.entries.iter().enumerate() {
            entry.filter.contains_batch(keys, &mut found);
            for (answer, _) in answers.iter_mut().zip(&found).filter(|(_, found)| **found) {
                answer.push(i);
            }
        }
        answers
    }
}

/// Writes a shelf, filter by filter: memory is needed for one at a time and for the
/// catalogue.
pub struct ShelfWriter {
    writer: Writer,
    records: Vec<Record>,
}

impl ShelfWriter {
    /// Begins a shelf that will replace `path`, whole, when finished.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::create_with(path, &Notes::new())
    }

    /// As [`create`](Self::create), with notes for whoever opens it.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
    pub fn create_with(path: impl AsRef<Path>, notes: &Notes) -> Result<Self, Error> {
        let mut writer = Writer::create(path.as_ref(), Content::Shelf)?;
        writer.section(Kind::Notes, &notes.to_bytes())?;
        writer.begin(Kind::Bits)?;
        Ok(Self {
            writer,
            records: Vec::new(),
        })
    }

    /// Lets nobody read the shelf whom this mode (as of `chmod`) does not let: a shelf
    /// tells much of the sets it is about, and should be as private as they are.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
    #[cfg(unix)]
    pub fn restrict(&mut self, mode: u32) -> Result<(), Error> {
        self.writer.restrict(mode)
    }

    /// Puts a filter on the shelf. `tag` is kept with it, for the caller's own use.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file; the shelf cannot be finished after that.
    /// [`Error::Params`] for a name or tag of 4 GiB.
    pub fn add<S: AsRef<[u64]>>(
        &mut self,
        name: &[u8],
        tag: &[u8],
        filter: &Filter<S>,
    ) -> Result<(), Error> {
        if u32::try_from(name.len().max(tag.len())).is_err() {
            return Err(Error::params("a name or tag of 4 GiB or more"));
        }
        let words = filter.words();
        let record = Record {
            name: name.to_vec(),
            tag: tag.to_vec(),
            params: filter.params().clone(),
            start: self.writer.section_len() / 8,
            checksum: checksum(words),
        };
        self.writer.append_words(words)?;
        // Every filter begins on a line of its own.
        let padding = words.len().next_multiple_of(LINE_WORDS) - words.len();
        self.writer.append_words(&[0; LINE_WORDS][..padding])?;
        self.records.push(record);
        Ok(())
    }

    /// Takes over an entry of another shelf, if it is sound: its bits get a new checksum
    /// here, which must not make damage look right.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the entry does not match its checksum; as
    /// [`add`](Self::add) otherwise.
    pub fn keep(&mut self, entry: &Entry) -> Result<(), Error> {
        if !entry.is_sound() {
            return Err(unsound(entry, 0));
        }
        self.add(&entry.name, &entry.tag, &entry.filter)
    }

    /// Writes the catalogue, makes everything durable, and gives the file its name.
    /// Returns the shelf just written, even if another has taken that name since.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
    pub fn finish(mut self) -> Result<Shelf, Error> {
        self.writer.end()?;
        self.writer
            .section(Kind::Catalog, &catalog::encode(&self.records))?;
        let path = self.writer.path().to_owned();
        let grove = Grove::of_file(&path, self.writer.finish()?)?;
        Shelf::of(&grove).map_err(Error::in_file(&path))
    }
}

/// Of the words as they are on disk.
fn checksum(words: &[u64]) -> u64 {
    if cfg!(target_endian = "little") {
        return xxh3_64(words.as_bytes());
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    xxh3_64(&bytes)
}

/// The part of `verify` that knows shelves.
pub(crate) fn check_file(grove: &Grove) -> Result<(), Error> {
    let shelf = Shelf::of(grove)?;
    match shelf.entries.iter().find(|entry| !entry.is_sound()) {
        None => Ok(()),
        Some(entry) => Err(unsound(entry, grove.offset(Kind::Bits))),
    }
}

fn unsound(entry: &Entry, offset: u64) -> Error {
    let name = String::from_utf8_lossy(&entry.name);
    let what = format!("the bits of {name} do not match their checksum");
    Error::corrupt(Kind::Bits.name(), offset, what)
}
