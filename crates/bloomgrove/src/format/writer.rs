//! Writing a file completely or not at all, or writing its bytes to any output.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};
use zerocopy::IntoBytes;

use super::header::{self, Commit, End, LARGEST_GAP, Section, UNIT};
use super::whole::{Origin, Rule, WholeFile};
use super::{Content, Kind};
use crate::Error;

/// The number of bytes that are buffered before they are written.
const BUFFER: usize = 1 << 20;

/// A file being written. It has a temporary name until [`finish`](Self::finish). If it is dropped
/// before that, it is deleted, and the file it was to replace is unchanged.
///
/// Also appends to a growing file (an index): what is written after the last commit takes effect
/// with the next one.
pub struct Writer<W: Write = WholeFile> {
    /// Of the file, for errors.
    path: Option<PathBuf>,
    file: BufWriter<W>,
    /// The offset of the next byte.
    at: u64,
    sections: Vec<Section>,
    /// The section whose payload is being streamed, with its checksum so far.
    open: Option<(u64, Section, Xxh3Default)>,
    /// Whether a write has failed: the content of the file is then unknown, and it must not be
    /// used.
    broken: bool,
}

/// An output that can be synced to disk.
pub trait Durable: Write + Seek {
    fn sync(&self) -> io::Result<()>;
}

impl Durable for WholeFile {
    fn sync(&self) -> io::Result<()> {
        self.as_file().sync_all()
    }
}

impl Durable for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Writer {
    /// Creates a file at this path.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn create(path: &Path, content: Content) -> Result<Self, Error> {
        Self::create_at(path, content, Origin::Named)
    }

    pub(crate) fn create_at(path: &Path, content: Content, origin: Origin) -> Result<Self, Error> {
        let file = WholeFile::with(path, Rule::grove(content, origin))?;
        Self::begin_file(Some(path), file, content)
    }

    /// Denies access to all users to whom `mode` does not grant it.
    #[cfg(unix)]
    pub fn restrict(&mut self, mode: u32) -> Result<(), Error> {
        let restricted = self.file.get_ref().restrict(mode);
        restricted.map_err(|error| self.failed(error))
    }

    /// Locks out other writers from the moment the file has its name.
    pub fn lock(&self) -> Result<(), Error> {
        super::lock(self.file.get_ref().as_file())
    }

    /// Writes the END, syncs the file, and gives it its name. Returns the file itself, since the
    /// path may soon refer to another one.
    pub fn finish(mut self) -> Result<File, Error> {
        self.write_end()?;
        self.persist()
    }

    /// Syncs the file, gives it its name, and returns it.
    pub fn persist(self) -> Result<File, Error> {
        self.persist_with(|_| Ok(()))
    }

    /// Same as [`persist`](Self::persist), after `more` has written data outside of sections.
    pub fn persist_with(self, more: impl FnOnce(&File) -> io::Result<()>) -> Result<File, Error> {
        let path = self.path.clone();
        let whole = || {
            let whole = self.into_inner()?;
            more(whole.as_file())?;
            Ok(whole)
        };
        let whole = whole().map_err(|error| wrote_to(path.as_deref(), error))?;
        whole.finish()
    }
}

impl Writer<File> {
    /// Appends at `at`, where the last commit of an index ends.
    pub fn append_to(path: &Path, file: File, at: u64) -> Result<Self, Error> {
        let mut writer = Self {
            path: Some(path.to_owned()),
            file: BufWriter::with_capacity(BUFFER, file),
            at,
            sections: Vec::new(),
            open: None,
            broken: false,
        };
        writer
            .file
            .seek(SeekFrom::Start(at))
            .map_err(|error| writer.failed(error))?;
        Ok(writer)
    }
}

impl<W: Write> Writer<W> {
    pub(super) fn begin_file(
        path: Option<&Path>,
        file: W,
        content: Content,
    ) -> Result<Self, Error> {
        let mut writer = Self {
            path: path.map(Path::to_owned),
            file: BufWriter::with_capacity(BUFFER, file),
            at: 0,
            sections: Vec::new(),
            open: None,
            broken: false,
        };
        writer.put(&header::encode_file(content))?;
        Ok(writer)
    }

    /// Writes the bytes of a file to `out`: only complete sections, with an END.
    pub fn stream(out: W, content: Content) -> Result<Self, Error> {
        Self::begin_file(None, out, content)
    }

    /// Writes the END, and flushes `out`.
    pub fn flush(mut self) -> Result<(), Error> {
        self.write_end()?;
        self.file.flush().map_err(|error| self.failed(error))
    }

    /// Returns the output, with everything written to it.
    pub(super) fn into_inner(self) -> io::Result<W> {
        self.file.into_inner().map_err(|error| error.into_error())
    }

    fn write_end(&mut self) -> Result<(), Error> {
        let end = End::of(&self.sections);
        self.section(Kind::End, end.as_bytes())
    }

    /// Writes a complete section.
    pub fn section(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let (len, sum) = (payload.len() as u64, xxh3_64(payload));
        self.section_of(kind, len, sum, |writer| writer.put(payload))
    }

    /// Writes a section with a payload that `put` writes. Its length and checksum are known.
    fn section_of(
        &mut self,
        kind: Kind,
        len: u64,
        checksum: u64,
        put: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut section = Section {
            kind,
            offset: self.payload_offset(len),
            len,
            checksum,
            head_checksum: 0,
        };
        let head = section.encode();
        self.put(&head)?;
        self.pad_to(section.offset)?;
        put(self)?;
        self.pad_to(section.end())?;
        self.sections.push(section);
        Ok(())
    }

    /// Writes words as a complete section.
    pub fn words(&mut self, words: &[u64]) -> Result<(), Error> {
        self.words_of(std::iter::once(words))
    }

    /// Writes words from several places as one section. The iterator is traversed twice, because
    /// the checksum precedes the words, and not every output can seek back.
    pub fn words_of<'w>(
        &mut self,
        parts: impl Iterator<Item = &'w [u64]> + Clone,
    ) -> Result<(), Error> {
        let mut sum = Xxh3Default::new();
        let mut len = 0;
        for words in parts.clone() {
            for_bytes(words, |bytes| {
                len += bytes.len() as u64;
                sum.update(bytes);
                Ok(())
            })?;
        }
        self.section_of(Kind::Bits, len, sum.digest(), |writer| {
            let mut parts = parts;
            parts.try_for_each(|words| for_bytes(words, |bytes| writer.put(bytes)))
        })
    }

    /// Returns the offset of the next section's head.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Large payloads start at a page boundary, for direct I/O and aligned maps.
    fn payload_offset(&self, len: u64) -> u64 {
        let after_head = self.at + UNIT;
        if len >= LARGEST_GAP {
            after_head.next_multiple_of(LARGEST_GAP)
        } else {
            after_head
        }
    }

    fn pad_to(&mut self, offset: u64) -> Result<(), Error> {
        const ZEROS: [u8; (LARGEST_GAP + UNIT) as usize] = [0; _];
        let gap = (offset - self.at) as usize;
        self.put(&ZEROS[..gap])
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.broken {
            return Err(self.failed(io::Error::other("an earlier write has failed")));
        }
        self.file
            .write_all(bytes)
            .map_err(|error| self.failed(error))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn failed(&mut self, error: io::Error) -> Error {
        self.broken = true;
        wrote_to(self.path.as_deref(), error)
    }
}

/// Calls `each` with the bytes of the words, as stored in a file.
fn for_bytes(words: &[u64], mut each: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    if cfg!(target_endian = "little") {
        return each(words.as_bytes());
    }
    words.iter().try_for_each(|word| each(&word.to_le_bytes()))
}

fn wrote_to(path: Option<&Path>, error: io::Error) -> Error {
    let error = Error::io("writing")(error);
    match path {
        Some(path) => Error::in_file(path)(error),
        None => error,
    }
}

impl<W: Durable> Writer<W> {
    /// Starts a section whose payload comes in pieces. `len` is the expected total in bytes: a
    /// large payload starts at a page boundary.
    pub fn begin(&mut self, kind: Kind, len: u64) -> Result<(), Error> {
        let head_at = self.at;
        let section = Section {
            kind,
            offset: self.payload_offset(len),
            len: 0,
            checksum: 0,
            head_checksum: 0,
        };
        self.pad_to(section.offset)?;
        self.open = Some((head_at, section, Xxh3Default::new()));
        Ok(())
    }

    /// Appends words to the open section.
    pub fn append_words(&mut self, words: &[u64]) -> Result<(), Error> {
        for_bytes(words, |bytes| self.append(bytes))
    }

    /// Appends bytes to the open section.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some((_, _, sum)) = &mut self.open {
            sum.update(bytes);
        }
        self.put(bytes)
    }

    /// Ends the open section. Its head is written now that its checksum is known.
    pub fn end(&mut self) -> Result<(), Error> {
        let Some((head_at, mut section, sum)) = self.open.take() else {
            return Ok(());
        };
        section.len = self.at - section.offset;
        section.checksum = sum.digest();
        self.pad_to(section.end())?;
        let head = section.encode();
        let mut rewrite = || {
            self.file.seek(SeekFrom::Start(head_at))?;
            self.file.write_all(&head)?;
            self.file.seek(SeekFrom::Start(self.at))
        };
        rewrite().map_err(|error| self.failed(error))?;
        self.sections.push(section);
        Ok(())
    }

    /// Ends a change of an index: syncs what was written since the last commit, and commits it.
    /// Returns the length of the file.
    pub fn commit(&mut self, number: u64, manifest: &[u8]) -> Result<u64, Error> {
        let manifest_at = self.at;
        self.section(Kind::Manifest, manifest)?;
        // First everything it refers to, then the commit itself: a disk may write in any order.
        self.sync()?;
        let commit = Commit::of(manifest_at, number, &self.sections);
        self.section(Kind::Commit, commit.as_bytes())?;
        self.sync()?;
        self.sections.clear();
        Ok(self.at)
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync())
            .map_err(|error| self.failed(error))
    }
}
