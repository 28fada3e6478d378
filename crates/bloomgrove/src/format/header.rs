//! The two fixed structures: the file header and the head of a section.

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::VERSION;
use crate::Error;

/// Both structures have this size, and everything begins at a multiple of it.
pub(super) const UNIT: u64 = 64;
/// A payload begins at most this far behind its head. FORMAT section 3.
pub(super) const LARGEST_GAP: u64 = 4096;

/// FORMAT section 2.
pub(super) const MAGIC: [u8; 8] = *b"\x89GROVE\r\n";
/// FORMAT section 3.
const MARK: [u8; 4] = *b"SECT";

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// One filter.
    Filter,
    /// Many named filters, indexed.
    Index,
    /// The names of a namespace, indexed by where filters have them.
    Names,
    /// One filter in pages, larger than memory.
    Paged,
    /// One BloomTree.
    BloomTree,
    /// Many named filters, as a Bloofi tree.
    Bloofi,
    /// A BloomSampleTree.
    BloomSampleTree,
}

impl Content {
    /// What to call it in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Content::Filter => "a filter",
            Content::Index => "an index",
            Content::Names => "an index of names",
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

    /// Whether it is written once, with an END.
    pub(super) fn is_whole(self) -> bool {
        matches!(
            self,
            Content::Filter | Content::BloomTree | Content::Bloofi | Content::BloomSampleTree
        )
    }

    /// Whether it has commits, and no END.
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
        [
            Content::Filter,
            Content::Index,
            Content::Names,
            Content::Paged,
            Content::BloomTree,
            Content::Bloofi,
            Content::BloomSampleTree,
        ]
        .into_iter()
        .find(|content| content.code() == code)
    }
}

display_as_name!(Content);

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Parameters of a filter.
    Params,
    /// Words.
    Bits,
    /// Names and values.
    Notes,
    /// Names and tags of the sets of a segment.
    Labels,
    /// What an index is made of.
    Manifest,
    /// Where a change ends.
    Commit,
    /// Texts of a namespace, or the names in a tree.
    Names,
    /// How a buffered filter is laid out.
    Geometry,
    /// The levels of a tree.
    Shape,
    /// The end of a file that is written once.
    End,
}

impl Kind {
    /// What to call it in messages.
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

/// Do these bytes, six or more, begin as a `.grove` file does?
pub(crate) fn is_grove(start: &[u8]) -> bool {
    start.len() >= 6 && start.starts_with(&MAGIC[..start.len().min(MAGIC.len())])
}

/// What a file says it is, if this version can read it: true of damaged ones, too.
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
        return Err(corrupt("it does not begin as a .grove file does"));
    }
    let (header, _) = FileHeader::read_from_prefix(file)
        .map_err(|_| corrupt("the file is cut off inside its header"))?;
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
        return Err(corrupt("there is no version 0"));
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

/// A section: where its payload is, and what it should sum to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(super) kind: Kind,
    /// Of the payload, from the start of the file.
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) checksum: u64,
    /// Of the head itself; the END section sums these.
    pub(super) head_checksum: u64,
}

impl Section {
    /// Where the next section's head begins.
    pub(super) fn end(&self) -> u64 {
        (self.offset + self.len).next_multiple_of(UNIT)
    }

    /// Fills in `head_checksum`.
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

    /// The section whose head is at `at`, all of it inside a file of `file.len()`.
    pub(super) fn decode(file: &[u8], at: u64) -> Result<Self, Error> {
        let rest = usize::try_from(at).ok().and_then(|at| file.get(at..));
        Self::decode_head(rest.unwrap_or(&[]), at, file.len() as u64)
    }

    /// The section whose head, at `at` in a file of this length, begins `bytes`.
    pub(super) fn decode_head(bytes: &[u8], at: u64, file_len: u64) -> Result<Self, Error> {
        let corrupt = |what: &'static str| Error::corrupt("section head", at, what);
        let (head, _) = SectionHead::read_from_prefix(bytes)
            .map_err(|_| corrupt("the file is cut off before it"))?;
        if head.mark != MARK {
            return Err(corrupt("no section begins here"));
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
            return Err(corrupt("its payload is not where a payload may be"));
        }
        // The padded end must be inside as well: a file ends at a whole unit.
        let end = offset
            .checked_add(len)
            .and_then(|end| end.checked_next_multiple_of(UNIT));
        if end.is_none_or(|end| end > file_len) {
            return Err(Error::corrupt(
                kind.name(),
                at,
                format!("it claims {len} bytes, and the file ends before that"),
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

/// Of all fields before the checksum, which is last in both structures.
fn checksum_of_fields(bytes: &[u8]) -> u64 {
    xxh3_64(&bytes[..bytes.len() - 8])
}

/// FORMAT section 8: how many sections came before, and the sum of their heads.
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

/// FORMAT section 12: the state of an index from here on, until the next.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Commit {
    /// Where the head of the manifest is.
    pub(super) manifest: U64,
    /// How many commits came before.
    pub(super) number: U64,
    /// Of the sections since the commit before.
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
