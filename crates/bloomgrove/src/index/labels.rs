//! What is known of each filter of a segment besides its bits: FORMAT.md section 10.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Error;
use crate::format::MappedBytes;

/// The number of unused bytes of text that are tolerated.
const TOLERATED: usize = 1 << 16;

/// The slice of a filter that does not belong to a time.
pub(super) const NO_SLICE: u64 = u64::MAX;

/// The number of a set in its index. It does not change when other sets are added or removed, or
/// when the index is saved and opened, and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub(super) u64);

impl From<SetId> for u64 {
    fn from(id: SetId) -> Self {
        id.0
    }
}

impl From<u64> for SetId {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl std::fmt::Display for SetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The fixed part of a label.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Label {
    id: U64,
    slice: U64,
    ones: U64,
    /// The offset of name and tag in the text.
    text: U64,
    name_len: U32,
    tag_len: U32,
}

impl Label {
    pub(super) fn id(&self) -> SetId {
        SetId(self.id.get())
    }

    /// Returns the time slice of the filter, or [`NO_SLICE`].
    pub(super) fn slice(&self) -> u64 {
        self.slice.get()
    }

    /// Returns the number of bits set in the filter.
    pub(super) fn ones(&self) -> u64 {
        self.ones.get()
    }

    pub(super) fn set_ones(&mut self, ones: u64) {
        self.ones = ones.into();
    }

    /// Returns the length of name and tag in bytes.
    fn text_len(&self) -> usize {
        self.name_len.get() as usize + self.tag_len.get() as usize
    }
}

/// A set of an index: its name, and what else is stored with it.
#[derive(Clone, Copy)]
pub struct Set<'a> {
    // Read on demand: an answer that is only counted touches no label.
    labels: &'a Labels,
    slot: usize,
}

impl<'a> Set<'a> {
    fn label(&self) -> &'a Label {
        &self.labels.all()[self.slot]
    }

    /// Returns name and tag.
    fn texts(&self) -> (&'a [u8], &'a [u8]) {
        let label = self.label();
        let text = &self.labels.text()[label.text.get() as usize..];
        let (name, rest) = text.split_at(label.name_len.get() as usize);
        (name, &rest[..label.tag_len.get() as usize])
    }

    /// Returns its number, which never changes.
    pub fn id(&self) -> SetId {
        self.label().id()
    }

    /// Returns its name, which is bytes because file names are.
    pub fn name(&self) -> &'a [u8] {
        self.texts().0
    }

    /// Returns the tag that the caller stored with it.
    pub fn tag(&self) -> &'a [u8] {
        self.texts().1
    }

    /// Returns the number of bits set in its filter.
    pub fn ones(&self) -> u64 {
        self.label().ones()
    }

    /// Returns the slice that was found, if the set consists of time slices.
    pub fn slice(&self) -> Option<u64> {
        Some(self.label().slice()).filter(|&slice| slice != NO_SLICE)
    }
}

impl std::fmt::Debug for Set<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Set({} {})", self.id(), self.name().escape_ascii())
    }
}

/// The labels of a segment, by slot.
#[derive(Debug)]
pub(super) struct Labels {
    stored: Stored,
    /// Whether every id is greater than the one before: then an answer in the order of the slots
    /// is in the order of the ids, and names no set twice.
    ascending: bool,
}

#[derive(Debug)]
enum Stored {
    Owned {
        labels: Vec<Label>,
        text: Vec<u8>,
        /// Bytes of text that no label refers to any more.
        unused: usize,
    },
    Mapped {
        count: usize,
        bytes: MappedBytes,
    },
}

/// The content of a new label.
#[derive(Clone, Copy, Debug)]
pub(super) struct New<'a> {
    pub(super) id: SetId,
    pub(super) slice: u64,
    pub(super) ones: u64,
    pub(super) name: &'a [u8],
    pub(super) tag: &'a [u8],
}

impl New<'_> {
    /// Checks whether it can be encoded.
    pub(super) fn check(&self) -> Result<(), Error> {
        match u32::try_from(self.name.len().max(self.tag.len())) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::params("names and tags must be shorter than 4 GiB")),
        }
    }
}

impl Labels {
    pub(super) fn new() -> Self {
        Self {
            stored: Stored::Owned {
                labels: Vec::new(),
                text: Vec::new(),
                unused: 0,
            },
            ascending: true,
        }
    }

    pub(super) fn is_ascending(&self) -> bool {
        self.ascending
    }

    pub(super) fn all(&self) -> &[Label] {
        match &self.stored {
            Stored::Owned { labels, .. } => labels,
            // `mapped` has checked that they are within the text.
            Stored::Mapped { count, bytes } => {
                <[Label]>::ref_from_prefix_with_elems(bytes.as_ref(), *count)
                    .map_or(&[], |(labels, _)| labels)
            }
        }
    }

    fn text(&self) -> &[u8] {
        match &self.stored {
            Stored::Owned { text, .. } => text,
            Stored::Mapped { count, bytes } => &bytes.as_ref()[count * size_of::<Label>()..],
        }
    }

    pub(super) fn set(&self, slot: usize) -> Set<'_> {
        Set { labels: self, slot }
    }

    /// Stores a label, which must have been checked, in a slot, which may be the one after the
    /// last.
    pub(super) fn put(&mut self, slot: usize, new: New<'_>) {
        let Stored::Owned {
            labels,
            text,
            unused,
        } = &mut self.stored
        else {
            return;
        };
        let label = Label {
            id: new.id.0.into(),
            slice: new.slice.into(),
            ones: new.ones.into(),
            text: (text.len() as u64).into(),
            name_len: (new.name.len() as u32).into(),
            tag_len: (new.tag.len() as u32).into(),
        };
        text.extend_from_slice(new.name);
        text.extend_from_slice(new.tag);
        if slot == labels.len() {
            self.ascending &= labels.last().is_none_or(|last| last.id() < new.id);
            labels.push(label);
        } else {
            self.ascending &= labels[slot].id() == new.id;
            *unused += labels[slot].text_len();
            labels[slot] = label;
        }
        // Otherwise, sets that are added and removed would leave their names behind forever.
        if *unused > text.len() / 2 && *unused > TOLERATED {
            let mut kept = Vec::with_capacity(text.len() - *unused);
            for label in labels {
                let start = label.text.get() as usize;
                let own = &text[start..start + label.text_len()];
                label.text = (kept.len() as u64).into();
                kept.extend_from_slice(own);
            }
            (*text, *unused) = (kept, 0);
        }
    }

    /// Returns the size on disk in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.to_bytes().iter().map(|part| part.len() as u64).sum()
    }

    pub(super) fn set_ones(&mut self, slot: usize, ones: u64) {
        if let Stored::Owned { labels, .. } = &mut self.stored {
            labels[slot].set_ones(ones);
        }
    }

    /// Returns the bytes, as they are on disk.
    pub(super) fn to_bytes(&self) -> [&[u8]; 2] {
        [self.all().as_bytes(), self.text()]
    }

    /// Reads the labels from a mapped file. The error says what is wrong with them.
    pub(super) fn mapped(count: usize, bytes: MappedBytes) -> Result<Self, &'static str> {
        let (labels, text) = <[Label]>::ref_from_prefix_with_elems(bytes.as_ref(), count)
            .map_err(|_| "there are fewer labels than filters")?;
        for label in labels {
            let len = label.text_len() as u64;
            let end = label.text.get().checked_add(len);
            if end.is_none_or(|end| end > text.len() as u64) {
                return Err("a name is outside the text");
            }
        }
        let ascending = labels.is_sorted_by(|a, b| a.id() < b.id());
        Ok(Self {
            stored: Stored::Mapped { count, bytes },
            ascending,
        })
    }
}
