//! The manifest in bytes: FORMAT.md section 11.

use std::collections::HashSet;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Params;
use crate::format::Notes;
use crate::index::Shape;

/// Everything about an index except its labels and bits.
#[derive(Debug, PartialEq)]
pub(super) struct Manifest {
    pub(super) next_id: u64,
    pub(super) sets: u64,
    pub(super) mixed: bool,
    pub(super) fixed: Option<Shape>,
    pub(super) classes: Vec<Params>,
    pub(super) segments: Vec<Record>,
    pub(super) notes: Notes,
}

/// A segment in the file.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) class: usize,
    pub(super) home: Home,
    /// Which slots are live, one bit for each.
    pub(super) live: Vec<u64>,
}

/// The location of a segment in its file. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) struct Home {
    pub(super) slots: u64,
    /// The offsets of the heads of its sections.
    pub(super) labels: u64,
    pub(super) bits: u64,
    pub(super) packing: Packing,
}

/// How the bits of a segment are arranged in their section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Loose,
    Flat {
        /// The words in a row of a full panel, and of the last one.
        full: u64,
        last: u64,
    },
    Sliced {
        /// The number of bits in a row of the summary.
        stride: u64,
    },
    Sealed {
        codes: u64,
        /// In words.
        overflow: u64,
    },
}

impl Packing {
    /// Returns its shape and its two numbers, as in the file.
    fn fields(self) -> (Shape, u64, u64) {
        match self {
            Packing::Loose => (Shape::Loose, 0, 0),
            Packing::Flat { full, last } => (Shape::Flat, full, last),
            Packing::Sliced { stride } => (Shape::Sliced, stride, 0),
            Packing::Sealed { codes, overflow } => (Shape::Sealed, codes, overflow),
        }
    }

    fn from_fields(shape: Shape, first: u64, second: u64) -> Self {
        match shape {
            Shape::Loose => Packing::Loose,
            Shape::Flat => Packing::Flat {
                full: first,
                last: second,
            },
            Shape::Sliced => Packing::Sliced { stride: first },
            Shape::Sealed => Packing::Sealed {
                codes: first,
                overflow: second,
            },
        }
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Fixed {
    next_id: U64,
    sets: U64,
    mixed: U32,
    fixed: U32,
    classes: U32,
    segments: U32,
    notes_len: U64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct FixedRecord {
    class: U32,
    shape: U32,
    slots: U64,
    labels: U64,
    bits: U64,
    first: U64,
    second: U64,
    /// 0 if all slots are live, otherwise one for each 64 slots.
    live_words: U64,
}

/// No shape has this number.
const ANY_SHAPE: u32 = 0;

fn code(shape: Shape) -> u32 {
    match shape {
        Shape::Loose => 1,
        Shape::Flat => 2,
        Shape::Sliced => 3,
        Shape::Sealed => 4,
    }
}

fn shape(number: u32) -> Option<Shape> {
    Shape::ALL.into_iter().find(|&shape| code(shape) == number)
}

/// Returns a set bit for each of `slots` slots.
pub(super) fn all_live(slots: u64) -> Vec<u64> {
    let mut live = vec![!0; slots.div_ceil(64) as usize];
    if !slots.is_multiple_of(64)
        && let Some(last) = live.last_mut()
    {
        *last = (1 << (slots % 64)) - 1;
    }
    live
}

impl Manifest {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let notes = self.notes.to_bytes();
        let fixed = Fixed {
            next_id: self.next_id.into(),
            sets: self.sets.into(),
            mixed: u32::from(self.mixed).into(),
            fixed: self.fixed.map_or(ANY_SHAPE, code).into(),
            classes: (self.classes.len() as u32).into(),
            segments: (self.segments.len() as u32).into(),
            notes_len: (notes.len() as u64).into(),
        };
        let mut bytes = fixed.as_bytes().to_vec();
        for params in &self.classes {
            let params = params.to_bytes();
            bytes.extend_from_slice(&(params.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&params);
        }
        for Record { class, home, live } in &self.segments {
            let all = *live == all_live(home.slots);
            let (shape, first, second) = home.packing.fields();
            let fixed = FixedRecord {
                class: (*class as u32).into(),
                shape: code(shape).into(),
                slots: home.slots.into(),
                labels: home.labels.into(),
                bits: home.bits.into(),
                first: first.into(),
                second: second.into(),
                live_words: if all { 0 } else { live.len() as u64 }.into(),
            };
            bytes.extend_from_slice(fixed.as_bytes());
            if !all {
                for word in live {
                    bytes.extend_from_slice(&word.to_le_bytes());
                }
            }
        }
        bytes.extend_from_slice(&notes);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let mut rest = bytes;
        let fixed: Fixed = take(&mut rest)?;
        let mixed = match fixed.mixed.get() {
            0 => false,
            1 => true,
            _ => return Err("invalid value for mixed".into()),
        };
        let wanted = match fixed.fixed.get() {
            ANY_SHAPE => None,
            number => Some(shape(number).ok_or("unknown shape")?),
        };
        let mut classes: Vec<Params> = Vec::new();
        let mut known = HashSet::new();
        for _ in 0..fixed.classes.get() {
            let len: U64 = take(&mut rest)?;
            let params = Params::from_bytes(cut(&mut rest, len.get())?)?;
            if !known.insert(params.fingerprint()) {
                return Err("two classes have the same parameters".into());
            }
            classes.push(params);
        }
        if !mixed && classes.len() != 1 {
            return Err("an index that is not mixed must have one class".into());
        }
        let mut segments = Vec::new();
        for _ in 0..fixed.segments.get() {
            segments.push(record(&mut rest, classes.len())?);
        }
        let notes = cut(&mut rest, fixed.notes_len.get())?;
        let notes = Notes::from_bytes(notes)
            .ok_or("its notes are not a sorted list of name=value lines")?;
        if !rest.is_empty() {
            return Err("there are bytes after its end".into());
        }
        Ok(Self {
            next_id: fixed.next_id.get(),
            sets: fixed.sets.get(),
            mixed,
            fixed: wanted,
            classes,
            segments,
            notes,
        })
    }
}

fn record(rest: &mut &[u8], classes: usize) -> Result<Record, String> {
    let fixed: FixedRecord = take(rest)?;
    let class = fixed.class.get() as usize;
    if class >= classes {
        return Err("a segment belongs to an unknown class".into());
    }
    let slots = fixed.slots.get();
    // Each label takes at least a byte, so a small file cannot claim many. The number is checked
    // against the labels later, before anything is allocated for it.
    let words = fixed.live_words.get();
    let live = if words == 0 {
        Vec::new()
    } else if words == slots.div_ceil(64) {
        let bytes = cut(rest, words.checked_mul(8).ok_or("too many slots")?)?;
        let words = bytes.as_chunks().0.iter();
        let live: Vec<u64> = words.map(|word| u64::from_le_bytes(*word)).collect();
        let used = slots % 64;
        if used != 0 && live.last().is_some_and(|last| last >> used != 0) {
            return Err("a slot beyond the last is live".into());
        }
        live
    } else {
        return Err("the number of live bits does not match the slots".into());
    };
    let shape = shape(fixed.shape.get()).ok_or("unknown shape")?;
    let home = Home {
        slots,
        labels: fixed.labels.get(),
        bits: fixed.bits.get(),
        packing: Packing::from_fields(shape, fixed.first.get(), fixed.second.get()),
    };
    Ok(Record { class, home, live })
}

fn take<T: FromBytes>(rest: &mut &[u8]) -> Result<T, String> {
    let (value, after) = T::read_from_prefix(rest).map_err(|_| "it is truncated")?;
    *rest = after;
    Ok(value)
}

fn cut<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8], String> {
    let parts = usize::try_from(len)
        .ok()
        .and_then(|len| rest.split_at_checked(len));
    let (part, after) = parts.ok_or("it is truncated")?;
    *rest = after;
    Ok(part)
}
