//! Filters in `.grove` files: save, load and map.

use std::io::Write;
use std::path::Path;

use super::Filter;
use crate::format::{Content, Grove, Kind, MappedWords, Notes, Writer};
use crate::{Error, Params};

/// A filter in a memory-mapped file.
pub type MappedFilter = Filter<MappedWords>;

impl<S: AsRef<[u64]>> Filter<S> {
    /// Writes the filter to a file, atomically replacing any filter there.
    ///
    /// # Errors
    /// [`Error::Io`] with the path. An existing file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_with(path, &Notes::new())
    }

    /// Same as [`save`](Self::save), and stores notes in the file.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn save_with(&self, path: impl AsRef<Path>, notes: &Notes) -> Result<(), Error> {
        let mut writer = Writer::create(path.as_ref(), Content::Filter)?;
        self.write_sections(&mut writer, notes)?;
        writer.finish()?;
        Ok(())
    }

    /// Writes the bytes that [`save`](Self::save) would write to a file.
    ///
    /// ```
    /// # use bloomgrove::{Filter, Params};
    /// let mut filter = Filter::new(Params::for_items(1000, 0.01)?)?;
    /// filter.insert("ada");
    /// let mut bytes = Vec::new();
    /// filter.write_to(&mut bytes)?;
    /// assert!(Filter::from_bytes(&bytes)? == filter);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if writing to `out` fails.
    pub fn write_to(&self, out: impl Write) -> Result<(), Error> {
        let mut writer = Writer::stream(out, Content::Filter)?;
        self.write_sections(&mut writer, &Notes::new())?;
        writer.flush()
    }

    fn write_sections(&self, writer: &mut Writer<impl Write>, notes: &Notes) -> Result<(), Error> {
        writer.section(Kind::Params, &self.params.to_bytes())?;
        writer.section(Kind::Notes, &notes.to_bytes())?;
        writer.words(self.words())
    }
}

impl Filter {
    /// Reads a filter from a file into memory, and checks every byte.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(&Grove::open(path.as_ref(), Content::Filter)?)
    }

    /// Same as [`load`](Self::load), from the bytes of a file.
    ///
    /// # Errors
    /// If the bytes are damaged or contain something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::of(&Grove::of_bytes(bytes, Content::Filter)?)
    }

    fn of(grove: &Grove<'_>) -> Result<Self, Error> {
        let load = || checked(grove, grove.params()?, grove.load_words()?);
        load().map_err(|error| grove.locate(error))
    }
}

impl MappedFilter {
    /// Opens a filter of any size as a memory map. The bits are not read now, but when they are
    /// needed. Everything except the bits is checked. If the disk has lost bits, a key in the set
    /// can appear absent; [`verify`](crate::verify()) detects that.
    ///
    /// The file must not be modified in place while it is mapped. Replacing it, as
    /// [`save`](Filter::save) does, is fine.
    ///
    /// ```
    /// # use bloomgrove::{Filter, MappedFilter, Params};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("users.grove");
    /// let mut filter = Filter::new(Params::for_items(1000, 0.01)?)?;
    /// filter.insert("ada");
    /// filter.save(&path)?;
    ///
    /// let mapped = MappedFilter::map(&path)?;
    /// assert!(mapped.contains("ada"));
    /// assert!(mapped == filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn map(path: impl AsRef<Path>) -> Result<Self, Error> {
        let grove = Grove::open(path.as_ref(), Content::Filter)?;
        let map = || {
            let params = grove.params()?;
            grove.expect_jumps();
            checked(&grove, params, grove.words()?)
        };
        map().map_err(|error| grove.locate(error))
    }
}

/// Advises the system that all bits are about to be read in order, as [`fill`](Filter::fill) and
/// the estimates do. Worth calling before them if the file is larger than a gigabyte, since
/// [`MappedFilter::map`] expects random access.
pub fn expect_scan(filter: &MappedFilter) {
    filter.words.expect_scan();
}

/// Combines parameters and words into a filter, if they match.
fn checked<S: AsRef<[u64]>>(
    grove: &Grove<'_>,
    params: Params,
    words: S,
) -> Result<Filter<S>, Error> {
    Filter::from_words(params, words).map_err(|error| {
        Error::corrupt(
            Kind::Bits.name(),
            grove.offset(Kind::Bits),
            error.to_string(),
        )
    })
}

/// The part of `verify` that is specific to filters.
pub(crate) fn check_file(grove: &Grove<'_>) -> Result<(), Error> {
    Notes::of(grove)?;
    checked(grove, grove.params()?, grove.words()?).map(|_| ())
}
