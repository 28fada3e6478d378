//! The two fixed structures: the file header and the section head.

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::VERSION;
use crate::Error;

/// The size of both structures; everything in a file is aligned to it.
pub(super) const UNIT: u64 = 64;
/// The largest gap between a section head and its payload. FORMAT section 3.
pub(super) const LARGEST_GAP: u64 = 4096;

/// FORMAT section 2.
pub(super) const MAGIC: [u8; 8] = *b"\x89GROVE\r\n";
/// FORMAT section 3.
const MARK: [u8; 4] = *b"SECT";

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// One filter.
    Filter,
    /// Many named filters, indexed.
    Index,
    /// The names of a namespace, sorted by the bits they set in a filter.
    Names,
    /// One filter in pages, possibly larger than memory.
    Paged,
    /// A BloomTree.
    BloomTree,
    /// Many named filters, as a Bloofi tree.
    Bloofi,
    /// A BloomSampleTree.
    BloomSampleTree,
}

impl Content {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Filter,
        Self::Index,
        Self::Names,
        Self::Paged,
        Self::BloomTree,
        Self::Bloofi,
        Self::BloomSampleTree,
    ];

    /// Returns the name used in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Content::Filter => "a filter",
            Content::Index => "an index",
            Content::Names => "a name index",
            Content::Paged => "a buffered filter",
            Content::BloomTree => "a BloomTree",
            Content::Bloofi => "a Bloofi tree",
            Content::BloomSampleTree => "a BloomSampleTree",
        }
    }

    /// FORMAT section 1.
    pub(super) fn may_have(self, kind: Kind) -> bool {
        match kind {
            Kind::Bits => self != Content::Paged,
            Kind::Params | Kind::Notes => !self.grows(),
            Kind::End => self.is_whole(),
            Kind::Shape => self.is_whole() && self != Content::Filter,
            Kind::Geometry => self == Content::Paged,
            Kind::Labels => self == Content::Index,
            Kind::Names => matches!(
                self,
                Content::Names | Content::Bloofi | Content::BloomSampleTree
            ),
            Kind::Manifest | Kind::Commit => self.grows(),
        }
    }

    /// Returns whether it is written once, with an END.
    pub(super) fn is_whole(self) -> bool {
        matches!(
            self,
            Content::Filter | Content::BloomTree | Content::Bloofi | Content::BloomSampleTree
        )
    }

    /// Returns whether it has commits, and no END.
    pub(super) fn grows(self) -> bool {
        matches!(self, Content::Index | Content::Names)
    }

    fn code(self) -> u16 {
        match self {
            Content::Filter => 1,
            Content::Index => 2,
            Content::Names => 3,
            Content::Paged => 4,
            Content::BloomTree => 5,
            Content::Bloofi => 6,
            Content::BloomSampleTree => 7,
        }
    }

    fn from_code(code: u16) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|content| content.code() == code)
    }
}

display_as_name!(Content);

/// What a section contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Parameters of a filter.
    Params,
    /// Words of bits.
    Bits,
    /// Names and values.
    Notes,
    /// Names and tags of the sets of a segment.
    Labels,
    /// The segments of an index.
    Manifest,
    /// The end of a change.
    Commit,
    /// The texts of a namespace, or the names in a tree.
    Names,
    /// How a buffered filter is divided into pages.
    Geometry,
    /// The levels of a tree.
    Shape,
    /// The end of a file that is written once.
    End,
}

impl Kind {
    /// Returns the name used in errors.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Params => "params section",
            Kind::Bits => "bits section",
            Kind::Notes => "notes section",
            Kind::Labels => "labels section",
            Kind::Manifest => "manifest section",
            Kind::Commit => "commit section",
            Kind::Names => "names section",
            Kind::Geometry => "geometry section",
            Kind::Shape => "shape section",
            Kind::End => "end section",
        }
    }

    fn code(self) -> u16 {
        match self {
            Kind::Params => 1,
            Kind::Bits => 2,
            Kind::Notes => 3,
            Kind::Labels => 4,
            Kind::Manifest => 5,
            Kind::Commit => 6,
            Kind::Names => 7,
            Kind::Geometry => 8,
            Kind::Shape => 9,
            Kind::End => 0xffff,
        }
    }

    fn from_code(code: u16) -> Option<Self> {
        [
            Kind::Params,
            Kind::Bits,
            Kind::Notes,
            Kind::Labels,
            Kind::Manifest,
            Kind::Commit,
            Kind::Names,
            Kind::Geometry,
            Kind::Shape,
            Kind::End,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }
}

/// FORMAT section 2.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct FileHeader {
    magic: [u8; 8],
    version: U16,
    content: U16,
    flags: U32,
    reserved: [u8; 40],
    checksum: U64,
}

pub(super) fn encode_file(content: Content) -> [u8; UNIT as usize] {
    let mut header = FileHeader {
        magic: MAGIC,
        version: VERSION.into(),
        content: content.code().into(),
        flags: 0.into(),
        reserved: [0; 40],
        checksum: 0.into(),
    };
    header.checksum = checksum_of_fields(header.as_bytes()).into();
    zerocopy::transmute!(header)
}

/// Returns whether these bytes, six or more, are the start of a `.grove` file.
pub(crate) fn is_grove(start: &[u8]) -> bool {
    start.len() >= 6 && start.starts_with(&MAGIC[..start.len().min(MAGIC.len())])
}

/// Returns the content that a file claims to have, if this version can read it. The file may be
/// damaged.
pub(super) fn claimed(start: &[u8]) -> Option<Content> {
    let [version, content] = [8, 10].map(|at| {
        let bytes = start.get(at..at + 2)?.try_into().ok()?;
        Some(u16::from_le_bytes(bytes))
    });
    (is_grove(start) && version? <= VERSION).then_some(())?;
    Content::from_code(content?)
}

pub(super) fn decode_file(file: &[u8]) -> Result<Content, Error> {
    let corrupt = |what: &'static str| Error::corrupt("file header", 0, what);
    if let Some(message) = super::message::MessageKind::of_start(file) {
        return Err(Error::WrongContent {
            found: message.advice(),
            wanted: "a .grove file",
        });
    }
    if !file.starts_with(&MAGIC[..file.len().min(MAGIC.len())]) || file.is_empty() {
        return Err(Error::NotGrove {
            empty: file.is_empty(),
        });
    }
    let (header, _) =
        FileHeader::read_from_prefix(file).map_err(|_| corrupt("the file ends within it"))?;
    // Before the checksum: a later version may have another header.
    let version = header.version.get();
    if version > VERSION {
        return Err(Error::Version {
            found: version,
            newest: VERSION,
        });
    }
    if checksum_of_fields(header.as_bytes()) != header.checksum.get() {
        return Err(corrupt("its checksum does not match"));
    }
    if version == 0 {
        return Err(corrupt("version 0 does not exist"));
    }
    if header.flags.get() != 0 || header.reserved != [0; 40] {
        return Err(corrupt("a reserved field is not zero"));
    }
    Content::from_code(header.content.get()).ok_or_else(|| corrupt("unknown content"))
}

/// FORMAT section 3.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct SectionHead {
    mark: [u8; 4],
    kind: U16,
    flags: U16,
    offset: U64,
    len: U64,
    payload_checksum: U64,
    reserved: [u8; 24],
    checksum: U64,
}

/// The location of a section's payload, and its checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(super) kind: Kind,
    /// Of the payload, from the start of the file.
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) checksum: u64,
    /// Of the head itself; included in the checksum of the END section.
    pub(super) head_checksum: u64,
}

impl Section {
    /// Returns the offset of the next section's head.
    pub(super) fn end(&self) -> u64 {
        (self.offset + self.len).next_multiple_of(UNIT)
    }

    /// Encodes the head, and sets `head_checksum`.
    pub(super) fn encode(&mut self) -> [u8; UNIT as usize] {
        let mut head = SectionHead {
            mark: MARK,
            kind: self.kind.code().into(),
            flags: 0.into(),
            offset: self.offset.into(),
            len: self.len.into(),
            payload_checksum: self.checksum.into(),
            reserved: [0; 24],
            checksum: 0.into(),
        };
        self.head_checksum = checksum_of_fields(head.as_bytes());
        head.checksum = self.head_checksum.into();
        zerocopy::transmute!(head)
    }

    /// Decodes the section head at `at`. The section must fit in a file of `file.len()` bytes.
    pub(super) fn decode(file: &[u8], at: u64) -> Result<Self, Error> {
        let rest = usize::try_from(at).ok().and_then(|at| file.get(at..));
        Self::decode_head(rest.unwrap_or(&[]), at, file.len() as u64)
    }

    /// Decodes the section head at the start of `bytes`, which is at `at` in a file of this length.
    pub(super) fn decode_head(bytes: &[u8], at: u64, file_len: u64) -> Result<Self, Error> {
        let corrupt = |what: &'static str| Error::corrupt("section head", at, what);
        let (head, _) = SectionHead::read_from_prefix(bytes)
            .map_err(|_| corrupt("the file ends before or within it"))?;
        if head.mark != MARK {
            return Err(corrupt("no section starts here"));
        }
        if checksum_of_fields(head.as_bytes()) != head.checksum.get() {
            return Err(corrupt("its checksum does not match"));
        }
        if head.flags.get() != 0 || head.reserved != [0; 24] {
            return Err(corrupt("a reserved field is not zero"));
        }
        let kind = Kind::from_code(head.kind.get()).ok_or_else(|| corrupt("unknown kind"))?;
        let (offset, len) = (head.offset.get(), head.len.get());
        if !offset.is_multiple_of(UNIT) || offset < at + UNIT || offset > at + UNIT + LARGEST_GAP {
            return Err(corrupt("its payload is at an invalid offset"));
        }
        // The padded end must be inside as well, since the length of a file is a multiple of the
        // unit.
        let end = offset
            .checked_add(len)
            .and_then(|end| end.checked_next_multiple_of(UNIT));
        if end.is_none_or(|end| end > file_len) {
            return Err(Error::corrupt(
                kind.name(),
                at,
                format!("its payload has {len} bytes, but the file ends before that"),
            ));
        }
        Ok(Self {
            kind,
            offset,
            len,
            checksum: head.payload_checksum.get(),
            head_checksum: head.checksum.get(),
        })
    }
}

/// Checksum of all fields before the checksum itself, which is last in both structures.
fn checksum_of_fields(bytes: &[u8]) -> u64 {
    xxh3_64(&bytes[..bytes.len() - 8])
}

/// FORMAT section 8: the number of sections before, and the checksum of their heads.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq)]
#[repr(C)]
pub(super) struct End {
    pub(super) sections: U64,
    pub(super) heads: U64,
}

impl End {
    pub(super) fn of(sections: &[Section]) -> Self {
        Self {
            sections: (sections.len() as u64).into(),
            heads: sum_of_heads(sections).into(),
        }
    }
}

fn sum_of_heads(sections: &[Section]) -> u64 {
    let heads: Vec<U64> = sections.iter().map(|s| s.head_checksum.into()).collect();
    xxh3_64(heads.as_bytes())
}

/// FORMAT section 12: the state of an index until the next commit.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Commit {
    /// The offset of the manifest's head.
    pub(super) manifest: U64,
    /// The number of commits before this one.
    pub(super) number: U64,
    /// Checksum of the sections since the previous commit.
    pub(super) sections: U64,
    pub(super) heads: U64,
}

impl Commit {
    pub(super) fn of(manifest: u64, number: u64, sections: &[Section]) -> Self {
        Self {
            manifest: manifest.into(),
            number: number.into(),
            sections: (sections.len() as u64).into(),
            heads: sum_of_heads(sections).into(),
        }
    }
}
