//! Writing a file whole or not at all; or its bytes, to anything.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};
use zerocopy::IntoBytes;

use super::header::{self, Commit, End, LARGEST_GAP, Section, UNIT};
use super::whole::{Origin, Rule, WholeFile};
use super::{Content, Kind};
use crate::Error;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

/// A file being written. Until [`finish`](Self::finish) it has another name; dropped
/// before that, it is gone and the file it was to replace is untouched.
///
/// Or a file that grows (an index): what is written behind its last commit counts only with
/// the next one.
pub struct Writer<W: Write = WholeFile> {
    /// Of the file, for errors.
    path: Option<PathBuf>,
    file: BufWriter<W>,
    /// Where the next byte goes.
    at: u64,
    sections: Vec<Section>,
    /// The section whose payload is being streamed, with the sum so far.
    open: Option<(u64, Section, Xxh3Default)>,
    /// A write has failed: what is in the file is not known, and it must not be used.
    broken: bool,
}

/// What can be written to, and made sure of.
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
    /// Begins a file of this name.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
    pub fn create(path: &Path, content: Content) -> Result<Self, Error> {
        Self::create_at(path, content, Origin::Named)
    }

    pub(crate) fn create_at(path: &Path, content: Content, origin: Origin) -> Result<Self, Error> {
        let file = WholeFile::with(path, Rule::grove(content, origin))?;
        Self::begin_file(Some(path), file, content)
    }

    /// Lets nobody read the file whom `mode` does not let.
    #[cfg(unix)]
    pub fn restrict(&mut self, mode: u32) -> Result<(), Error> {
        let restricted = self.file.get_ref().restrict(mode);
        restricted.map_err(|error| self.failed(error))
    }

    /// Keeps others from changing the file from the moment it has its name.
    pub fn lock(&self) -> Result<(), Error> {
        super::lock(self.file.get_ref().as_file())
    }

    /// Writes the END, makes everything durable, and gives the file its name. Returns the
    /// file itself: by the time its name is used, it may be another's.
    pub fn finish(mut self) -> Result<File, Error> {
        self.write_end()?;
        self.persist()
    }

    /// Makes everything durable and gives the file its name; returns it.
    pub fn persist(self) -> Result<File, Error> {
        self.persist_with(|_| Ok(()))
    }

    /// As [`persist`](Self::persist), after `more` has written what is no section.
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
    /// Writes on behind `at`, where the last commit of an index ends.
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

    /// Writes the bytes of a file to `out`: whole sections only, with an END.
    pub fn stream(out: W, content: Content) -> Result<Self, Error> {
        Self::begin_file(None, out, content)
    }

    /// Writes the END, and gives the last byte to `out`.
    pub fn flush(mut self) -> Result<(), Error> {
        self.write_end()?;
        self.file.flush().map_err(|error| self.failed(error))
    }

    /// What was written to, with everything in it.
    pub(super) fn into_inner(self) -> io::Result<W> {
        self.file.into_inner().map_err(|error| error.into_error())
    }

    fn write_end(&mut self) -> Result<(), Error> {
        let end = End::of(&self.sections);
        self.section(Kind::End, end.as_bytes())
    }

    /// Writes a section at once.
    pub fn section(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let (len, sum) = (payload.len() as u64, xxh3_64(payload));
        self.section_of(kind, len, sum, |writer| writer.put(payload))
    }

    /// Writes a section whose payload `put` puts, and whose length and sum are known.
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

    /// Writes words as a section at once.
    pub fn words(&mut self, words: &[u64]) -> Result<(), Error> {
        self.words_of(std::iter::once(words))
    }

    /// Writes words that lie in several places as one section. They are gone through twice: the
    /// sum comes before them, and not everything that is written to can be written to again.
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

    /// Where the next section's head will be.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Large payloads begin on a page, for direct reading and neat maps.
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

/// The bytes of words as they are in a file.
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
    /// Begins a section whose payload comes in pieces, `len` bytes in all as far as one
    /// knows: a large one begins on a page.
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

    /// Adds words to the open section.
    pub fn append_words(&mut self, words: &[u64]) -> Result<(), Error> {
        for_bytes(words, |bytes| self.append(bytes))
    }

    /// Adds bytes to the open section.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some((_, _, sum)) = &mut self.open {
            sum.update(bytes);
        }
        self.put(bytes)
    }

    /// Ends the open section: its head is written now that its sum is known.
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

    /// Ends a change of an index: what was written since the last commit is made sure of,
    /// and then counts. Returns where the file ends now.
    pub fn commit(&mut self, number: u64, manifest: &[u8]) -> Result<u64, Error> {
        let manifest_at = self.at;
        self.section(Kind::Manifest, manifest)?;
        // First all it speaks of, and then the commit itself: a disk may write in any order.
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
