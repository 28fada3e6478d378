//! Complete files, mapped or in memory, with their structure checked.

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

/// The bytes of a `.grove` file, and its sections.
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
    /// Opens a file that must contain `wanted`, and checks everything except its bits.
    pub fn open(path: &Path, wanted: Content) -> Result<Self, Error> {
        let open = || {
            let file = open_file(path, File::options().read(true), Origin::Named)?;
            let map = FileMap::of(&file)?;
            let path = path.to_owned();
            Self::of_source(Source::File { path, file, map }, wanted)
        };
        open().map_err(Error::in_file(path))
    }

    /// Same as [`open`](Self::open), for a file whose bytes are in memory.
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

    /// Adds the path of the file to an error, if there is one.
    pub fn locate(&self, error: Error) -> Error {
        match &self.source {
            Source::File { path, .. } => Error::in_file(path)(error),
            Source::Memory(_) => error,
        }
    }

    /// Returns the section of a kind, if the file has it. A file with two of them is damaged, and
    /// is rejected when it is opened.
    pub(crate) fn find(&self, kind: Kind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    fn need(&self, kind: Kind) -> Result<&Section, Error> {
        self.find(kind)
            .ok_or_else(|| Error::corrupt(kind.name(), 0, "this section is missing"))
    }

    fn payload(&self, section: &Section) -> &[u8] {
        // `decode` has checked that this is within the file.
        &self.source.bytes()[section.offset as usize..][..section.len as usize]
    }

    /// Returns a payload other than the bits; `open` has verified its checksum.
    pub fn small(&self, kind: Kind) -> Result<&[u8], Error> {
        Ok(self.payload(self.need(kind)?))
    }

    /// Returns the parameters of its filter.
    pub fn params(&self) -> Result<Params, Error> {
        let bytes = self.small(Kind::Params)?;
        let offset = self.need(Kind::Params)?.offset;
        Params::from_bytes(bytes).map_err(|what| Error::corrupt(Kind::Params.name(), offset, what))
    }

    /// Advises the system that the bits will be read in random order.
    pub fn expect_jumps(&self) {
        if let Source::File { map, .. } = &self.source {
            map.expect_jumps();
        }
    }

    /// Returns the bits of the file as words in the map, unchecked.
    pub fn words(&self) -> Result<MappedWords, Error> {
        let section = self.need(Kind::Bits)?;
        match &self.source {
            Source::File { map, .. } => MappedWords::new(map, section.offset, section.len),
            Source::Memory(_) => Err(Error::Unsupported {
                what: "bytes in memory cannot be mapped; load them instead",
            }),
        }
    }

    /// Reads a payload in pieces of whole words, except for the last, and returns its checksum.
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

    /// Copies the bits of the file into memory, and verifies their checksum.
    pub fn load_words(&self) -> Result<Words, Error> {
        let section = self.need(Kind::Bits)?;
        let corrupt = |what| Error::corrupt(section.kind.name(), section.offset, what);
        if !section.len.is_multiple_of(8) {
            return Err(corrupt("its length is not a multiple of 8"));
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

    /// Checks payloads other than the bits, and all padding.
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

    /// Returns the offset of a payload, for error messages.
    pub fn offset(&self, kind: Kind) -> u64 {
        self.find(kind).map_or(0, |section| section.offset)
    }
}

/// Returns what a file contains, according to its header.
///
/// # Errors
/// If the file cannot be read or is not a `.grove` file.
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
    /// Checks that a small payload in memory has the right checksum.
    pub(super) fn check(&self, payload: &[u8]) -> Result<(), Error> {
        match xxh3_64(payload) == self.checksum {
            true => Ok(()),
            false => Err(self.damaged()),
        }
    }

    pub(super) fn damaged(&self) -> Error {
        Error::corrupt(self.kind.name(), self.offset, "its checksum does not match")
    }

    /// Reads a payload in pieces of whole words, except for the last, and returns its checksum.
    /// Uses ordinary reads instead of the map, so that a failing disk, or a file that is truncated
    /// while it is read, results in an error instead of killing the process.
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

/// Parses and checks everything that does not require reading large payloads.
fn parse(file: &[u8], wanted: Content) -> Result<Vec<Section>, Error> {
    let content = header::decode_file(file)?;
    // Files without END are read by `growing` or `paged`.
    if content != wanted || !content.is_whole() {
        return Err(Error::WrongContent {
            found: content.name(),
            wanted: wanted.name(),
        });
    }
    let mut sections: Vec<Section> = Vec::new();
    let mut at = UNIT;
    // Each iteration advances by at least one unit, so the length of the file bounds the number of
    // sections.
    let end = loop {
        let section = Section::decode(file, at)?;
        if section.kind == Kind::End {
            break section;
        }
        if sections.iter().any(|other| other.kind == section.kind) {
            return Err(Error::corrupt(
                section.kind.name(),
                at,
                "there are two of them",
            ));
        }
        if !content.may_have(section.kind) {
            let what = format!("not allowed in {}", content.name());
            return Err(Error::corrupt(section.kind.name(), at, what));
        }
        at = section.end();
        sections.push(section);
    };
    let corrupt = |what: &'static str| Error::corrupt(Kind::End.name(), at, what);
    let payload = &file[end.offset as usize..][..end.len as usize];
    let sums = End::read_from_bytes(payload).map_err(|_| corrupt("its length is wrong"))?;
    if xxh3_64(payload) != end.checksum || sums != End::of(&sections) {
        return Err(corrupt("it does not match the sections before it"));
    }
    if end.end() != file.len() as u64 {
        return Err(corrupt("there are bytes after it"));
    }
    check_padding(file, at, &end)?;
    Ok(sections)
}

/// Checks that the bytes around the payload of a section, whose head is at `at`, are zero.
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

/// The result of [`verify`](crate::verify()).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// What the file contains.
    pub content: Content,
    /// The sections: names and payload lengths in bytes.
    pub sections: Vec<(&'static str, u64)>,
    /// Bytes at the end of an index that belong to an incomplete change. They are harmless, and the
    /// next change removes them.
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
    /// Also reads the bits and verifies their checksum. Together with `open`, this checks every
    /// byte.
    pub fn check_all(&self) -> Result<Report, Error> {
        let bits = self.need(Kind::Bits)?;
        if self.read(bits, |_| {})? != bits.checksum {
            return Err(bits.damaged());
        }
        Ok(Report::of(self.content, &self.sections))
    }
}
