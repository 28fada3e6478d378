//! Filters in `.grove` files: saved whole, loaded or mapped.

use std::io::Write;
use std::path::Path;

use super::Filter;
use crate::format::{Content, Grove, Kind, MappedWords, Notes, Writer};
use crate::{Error, Params};

/// A filter that lives in a mapped file.
pub type MappedFilter = Filter<MappedWords>;

impl<S: AsRef<[u64]>> Filter<S> {
    /// Writes the filter to a file, replacing it whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file. The old file is then as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_with(path, &Notes::new())
    }

    /// As [`save`](Self::save), with notes for whoever opens it.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
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
    /// [`Error::Io`] when `out` refuses.
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
    /// Reads a filter into memory and checks every byte of it.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(&Grove::open(path.as_ref(), Content::Filter)?)
    }

    /// As [`load`](Self::load), from the bytes of a file.
    ///
    /// # Errors
    /// When they are damaged, or those of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::of(&Grove::of_bytes(bytes, Content::Filter)?)
    }

    fn of(grove: &Grove<'_>) -> Result<Self, Error> {
        let load = || checked(grove, grove.params()?, grove.load_words()?);
        load().map_err(|error| grove.locate(error))
    }
}

impl MappedFilter {
    /// Opens a filter where it lies, whatever its size, without reading its bits:
    /// they come in as they are asked for. All but the bits is checked. A disk that has
    /// lost bits can make a present key look absent: [`verify`](crate::verify()) tells.
    ///
    /// The file must not be changed in place while mapped; replacing it, as
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
    /// When the file cannot be read, is damaged, or holds something else.
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

/// Tells the system that all bits are about to be read in order, as
/// [`fill`](Filter::fill) and the estimates do. Worth saying before them when the
/// file is larger than a gigabyte, since [`MappedFilter::map`] expects single questions.
pub fn expect_scan(filter: &MappedFilter) {
    filter.words.expect_scan();
}

/// Puts the two together, if they fit.
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

/// The part of `verify` that knows filters.
pub(crate) fn check_file(grove: &Grove<'_>) -> Result<(), Error> {
    Notes::of(grove)?;
    checked(grove, grove.params()?, grove.words()?).map(|_| ())
}
