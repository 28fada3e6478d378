//! A whole file, mapped or in memory, and its structure checked.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};
use zerocopy::FromBytes;

use super::header::{self, End, Section, UNIT};
use super::map::FileMap;
use super::whole::{Origin, open_file};
use super::{Content, Kind, MappedWords};
use crate::bits::Words;
use crate::{Error, Params};

/// The bytes of a `.grove` file, and the sections found in them.
#[derive(Debug)]
pub struct Grove<'a> {
    source: Source<'a>,
    content: Content,
    sections: Vec<Section>,
}

/// Where the bytes are.
#[derive(Debug)]
enum Source<'a> {
    File {
        path: PathBuf,
        file: File,
        map: FileMap,
    },
    Memory(&'a [u8]),
}

impl Source<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Source::File { map, .. } => map.bytes(),
            Source::Memory(bytes) => bytes,
        }
    }
}

impl<'a> Grove<'a> {
    /// Opens a file that holds `wanted` and checks everything but its bits.
    pub fn open(path: &Path, wanted: Content) -> Result<Self, Error> {
        let open = || {
            let file = open_file(path, File::options().read(true), Origin::Named)?;
            let map = FileMap::of(&file)?;
            let path = path.to_owned();
            Self::of_source(Source::File { path, file, map }, wanted)
        };
        open().map_err(Error::in_file(path))
    }

    /// As [`open`](Self::open), of a file whose bytes are in memory.
    pub fn of_bytes(bytes: &'a [u8], wanted: Content) -> Result<Self, Error> {
        Self::of_source(Source::Memory(bytes), wanted)
    }

    fn of_source(source: Source<'a>, wanted: Content) -> Result<Self, Error> {
        let sections = parse(source.bytes(), wanted)?;
        let grove = Self {
            source,
            content: wanted,
            sections,
        };
        grove.check_all_but_bits()?;
        Ok(grove)
    }

    /// Names the file, if there is one, in an error.
    pub fn locate(&self, error: Error) -> Error {
        match &self.source {
            Source::File { path, .. } => Error::in_file(path)(error),
            Source::Memory(_) => error,
        }
    }

    /// The section of a kind, if the file has it. A file with two is damaged, and
    /// was refused when it was opened.
    pub(crate) fn find(&self, kind: Kind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    fn need(&self, kind: Kind) -> Result<&Section, Error> {
        self.find(kind)
            .ok_or_else(|| Error::corrupt(kind.name(), 0, "the file has none"))
    }

    fn payload(&self, section: &Section) -> &[u8] {
        // `decode` has checked that this lies inside the file.
        &self.source.bytes()[section.offset as usize..][..section.len as usize]
    }

    /// A payload other than the bits; `open` has checked its sum.
    pub fn small(&self, kind: Kind) -> Result<&[u8], Error> {
        Ok(self.payload(self.need(kind)?))
    }

    /// The parameters of its filter.
    pub fn params(&self) -> Result<Params, Error> {
        let bytes = self.small(Kind::Params)?;
        let offset = self.need(Kind::Params)?.offset;
        Params::from_bytes(bytes).map_err(|what| Error::corrupt(Kind::Params.name(), offset, what))
    }

    /// Tells the system that the bits will be asked for here and there.
    pub fn expect_jumps(&self) {
        if let Source::File { map, .. } = &self.source {
            map.expect_jumps();
        }
    }

    /// The bits of the file as words, still in the map and unchecked.
    pub fn words(&self) -> Result<MappedWords, Error> {
        let section = self.need(Kind::Bits)?;
        match &self.source {
            Source::File { map, .. } => MappedWords::new(map, section.offset, section.len),
            Source::Memory(_) => Err(Error::Unsupported {
                what: "mapping what is in memory; load it instead",
            }),
        }
    }

    /// Reads a payload piece by piece, in whole words but for the last, and returns its sum.
    fn read(&self, section: &Section, mut each: impl FnMut(&[u8])) -> Result<u64, Error> {
        match &self.source {
            Source::File { file, .. } => section.read(file, each),
            Source::Memory(_) => {
                let payload = self.payload(section);
                each(payload);
                Ok(xxh3_64(payload))
            }
        }
    }

    /// The bits of the file copied into memory, their sum checked.
    pub fn load_words(&self) -> Result<Words, Error> {
        let section = self.need(Kind::Bits)?;
        let corrupt = |what| Error::corrupt(section.kind.name(), section.offset, what);
        if !section.len.is_multiple_of(8) {
            return Err(corrupt("it is not made of whole words"));
        }
        let mut words = Words::zeroed((section.len / 8) as usize)?;
        let mut room = words.as_mut().iter_mut();
        let sum = self.read(section, |bytes| {
            for (bytes, word) in bytes.as_chunks().0.iter().zip(&mut room) {
                *word = u64::from_le_bytes(*bytes);
            }
        })?;
        if sum != section.checksum {
            return Err(section.damaged());
        }
        Ok(words)
    }

    /// Payloads other than the bits, and all padding.
    fn check_all_but_bits(&self) -> Result<(), Error> {
        let mut at = UNIT;
        for section in &self.sections {
            if section.kind != Kind::Bits {
                section.check(self.payload(section))?;
            }
            check_padding(self.source.bytes(), at, section)?;
            at = section.end();
        }
        Ok(())
    }

    /// Where the payload of a kind begins, for error messages.
    pub fn offset(&self, kind: Kind) -> u64 {
        self.find(kind).map_or(0, |section| section.offset)
    }
}

/// What a file holds, by its header.
///
/// # Errors
/// When it cannot be read, or is no `.grove` file.
pub fn content_of(path: impl AsRef<Path>) -> Result<Content, Error> {
    let path = path.as_ref();
    let look = || {
        let file = open_file(path, File::options().read(true), Origin::Named)?;
        let mut start = Vec::new();
        file.take(UNIT)
            .read_to_end(&mut start)
            .map_err(Error::io("reading"))?;
        header::decode_file(&start)
    };
    look().map_err(Error::in_file(path))
}

impl Section {
    /// That a payload, which is small and in memory, has the right sum.
    pub(super) fn check(&self, payload: &[u8]) -> Result<(), Error> {
        match xxh3_64(payload) == self.checksum {
            true => Ok(()),
            false => Err(self.damaged()),
        }
    }

    pub(super) fn damaged(&self) -> Error {
        Error::corrupt(self.kind.name(), self.offset, "its checksum does not match")
    }

    /// Reads a payload piece by piece, in whole words but for the last, and returns its
    /// sum. By ordinary reads, not by the map: a disk that fails, or a file cut off while
    /// we read, is then an error and not the end of the process.
    pub(super) fn read(&self, mut file: &File, mut each: impl FnMut(&[u8])) -> Result<u64, Error> {
        let mut piece = vec![0; self.len.min(1 << 20) as usize];
        let mut sum = Xxh3Default::new();
        let mut left = self.len;
        file.seek(SeekFrom::Start(self.offset))
            .map_err(Error::io("reading"))?;
        while left > 0 {
            let piece = &mut piece[..left.min(1 << 20) as usize];
            file.read_exact(piece).map_err(Error::io("reading"))?;
            sum.update(piece);
            each(piece);
            left -= piece.len() as u64;
        }
        Ok(sum.digest())
    }
}

/// Everything about a file that can be known without reading payloads.
fn parse(file: &[u8], wanted: Content) -> Result<Vec<Section>, Error> {
    let content = header::decode_file(file)?;
    // What has no END is read by `growing` or `paged`.
    if content != wanted || !content.is_whole() {
        return Err(Error::WrongContent {
            found: content.name(),
            wanted: wanted.name(),
        });
    }
    let mut sections: Vec<Section> = Vec::new();
    let mut at = UNIT;
    // Each turn moves at least one unit on, so a file bounds its own sections.
    let end = loop {
        let section = Section::decode(file, at)?;
        if section.kind == Kind::End {
            break section;
        }
        if sections.iter().any(|other| other.kind == section.kind) {
            return Err(Error::corrupt(section.kind.name(), at, "there are two"));
        }
        if !content.may_have(section.kind) {
            let what = format!("it has no place in {}", content.name());
            return Err(Error::corrupt(section.kind.name(), at, what));
        }
        at = section.end();
        sections.push(section);
    };
    let corrupt = |what: &'static str| Error::corrupt(Kind::End.name(), at, what);
    let payload = &file[end.offset as usize..][..end.len as usize];
    let sums = End::read_from_bytes(payload).map_err(|_| corrupt("it has a wrong length"))?;
    if xxh3_64(payload) != end.checksum || sums != End::of(&sections) {
        return Err(corrupt("it does not match the sections before it"));
    }
    if end.end() != file.len() as u64 {
        return Err(corrupt("there are bytes after it"));
    }
    check_padding(file, at, &end)?;
    Ok(sections)
}

/// That the bytes around the payload of a section, whose head is at `at`, are zero.
pub(super) fn check_padding(file: &[u8], at: u64, section: &Section) -> Result<(), Error> {
    let before = at + UNIT..section.offset;
    let after = section.offset + section.len..section.end();
    for gap in [before, after] {
        let bytes = &file[gap.start as usize..gap.end as usize];
        if bytes.iter().any(|&byte| byte != 0) {
            let what = "its padding is not zero";
            return Err(Error::corrupt(section.kind.name(), gap.start, what));
        }
    }
    Ok(())
}

/// What [`verify`](crate::verify()) found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// What the file holds.
    pub content: Content,
    /// Its sections: name, and bytes of payload.
    pub sections: Vec<(&'static str, u64)>,
    /// Bytes at the end of an index that belong to a change that was never finished. They
    /// are harmless, and gone with the next change.
    pub unfinished: u64,
}

impl Report {
    pub(super) fn of(content: Content, sections: &[Section]) -> Self {
        let sections = sections.iter();
        Self {
            content,
            sections: sections
                .map(|section| (section.kind.name(), section.len))
                .collect(),
            unfinished: 0,
        }
    }
}

impl Grove<'_> {
    /// Reads the bits and checks their sum too: with what `open` checks, every byte.
    pub fn check_all(&self) -> Result<Report, Error> {
        let bits = self.need(Kind::Bits)?;
        if self.read(bits, |_| {})? != bits.checksum {
            return Err(bits.damaged());
        }
        Ok(Report::of(self.content, &self.sections))
    }
}
