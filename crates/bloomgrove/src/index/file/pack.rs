//! Writing segments to a file, and opening them.
//!
//! Filters are written one after the other, with at most 64 of them (of a flat segment: one panel)
//! in memory, so an index of any size can be written.
//!
//! ```text
//!   loose    filter | filter | ...                        each padded to whole lines
//!   flat     panel | panel | ...                          the last may be narrower
//!   sliced   block | block | ... | summary
//!   sealed   rows, codes, bases, overflow
//! ```

use super::manifest::{Home, Packing, Record, all_live};
use crate::bits::{self, LINE_WORDS, Words};
use crate::format::Store;
use crate::format::{Durable, Growing, Kind, MappedWords, Writer};
use crate::index::body::{Body, Plain, Shape};
use crate::index::flat::{self, Flat};
use crate::index::labels::Labels;
use crate::index::loose::Loose;
use crate::index::sealed::{Sealed, Sizes};
use crate::index::segment::Segment;
use crate::index::sliced::{Sliced, Summary};
use crate::{Error, Params};

/// Returns the number of words that a part takes in the file.
fn padded(words: usize) -> usize {
    words.next_multiple_of(LINE_WORDS)
}

/// Writes the live filters of segments as one segment in this shape, and returns its location.
pub(super) fn write<W: Durable>(
    writer: &mut Writer<W>,
    params: &Params,
    segments: &[&Segment],
    shape: Shape,
) -> Result<Home, Error> {
    let (bits, packing) = match shape {
        Shape::Loose => write_loose(writer, params, segments)?,
        Shape::Flat => write_flat(writer, params, segments)?,
        Shape::Sliced => write_sliced(writer, params, segments)?,
        Shape::Sealed => match segments {
            // Already sealed, and all of it in use: copied unchanged.
            [segment] if segment.len() == segment.slot_count() => match segment.body() {
                Body::Sealed(body) => write_sealed(writer, body)?,
                _ => write_sealed(writer, &seal(params, segments)?)?,
            },
            _ => write_sealed(writer, &seal(params, segments)?)?,
        },
    };
    let mut labels = Labels::new();
    for segment in segments {
        for slot in segment.slots() {
            labels.put(labels.all().len(), segment.described(slot));
        }
    }
    Ok(Home {
        slots: labels.all().len() as u64,
        labels: write_labels(writer, &labels)?,
        bits,
        packing,
    })
}

fn write_labels<W: Durable>(writer: &mut Writer<W>, labels: &Labels) -> Result<u64, Error> {
    let head = writer.at();
    let parts = labels.to_bytes();
    writer.begin(
        Kind::Labels,
        parts.iter().map(|part| part.len() as u64).sum(),
    )?;
    for part in parts {
        writer.append(part)?;
    }
    writer.end()?;
    Ok(head)
}

fn write_sealed<W: Durable>(writer: &mut Writer<W>, body: &Sealed) -> Written {
    let head = writer.at();
    writer.begin(Kind::Bits, body.bytes())?;
    writer.append_words(body.words())?;
    writer.end()?;
    let sizes = body.sizes();
    let (codes, overflow) = (sizes.codes as u64, sizes.overflow as u64);
    Ok((head, Packing::Sealed { codes, overflow }))
}

/// Seals the live filters of segments in memory, which takes room only for nonempty words.
fn seal(params: &Params, segments: &[&Segment]) -> Result<Sealed, Error> {
    let slots = segments.iter().enumerate();
    let slots = slots.flat_map(|(s, segment)| segment.slots().map(move |slot| (s, slot)));
    let slots: Vec<(usize, usize)> = slots.collect();
    let rows = params.bits() as usize;
    let mut old = Words::zeroed(rows)?;
    Sealed::build(rows, slots.len().div_ceil(64), |block, out| {
        out.fill(0);
        let mut at = None;
        for (place, &(s, slot)) in slots.iter().skip(block * 64).take(64).enumerate() {
            if at != Some((s, slot / 64)) {
                at = Some((s, slot / 64));
                segments[s].block(slot / 64, old.as_mut());
            }
            for (out, old) in out.iter_mut().zip(old.as_ref()) {
                *out |= (old >> (slot % 64) & 1) << place;
            }
        }
    })
}

/// The offset of the section's head, and how the section is packed.
type Written = Result<(u64, Packing), Error>;

fn each_filter(
    segments: &[&Segment],
    mut each: impl FnMut(&[u64]) -> Result<(), Error>,
) -> Result<(), Error> {
    segments
        .iter()
        .try_for_each(|segment| segment.each_filter(|_, filter| each(filter)))
}

fn append_padded<W: Durable>(writer: &mut Writer<W>, words: &[u64]) -> Result<(), Error> {
    writer.append_words(words)?;
    writer.append_words(&[0; LINE_WORDS][..padded(words.len()) - words.len()])
}

/// Estimates the size of the filters of segments in bytes.
fn size(params: &Params, segments: &[&Segment]) -> u64 {
    let filters: usize = segments.iter().map(|segment| segment.len()).sum();
    padded(params.words()) as u64 * 8 * filters as u64
}

fn write_loose<W: Durable>(
    writer: &mut Writer<W>,
    params: &Params,
    segments: &[&Segment],
) -> Written {
    let head = writer.at();
    writer.begin(Kind::Bits, size(params, segments))?;
    each_filter(segments, |filter| append_padded(writer, filter))?;
    writer.end()?;
    Ok((head, Packing::Loose))
}

/// Collects filters into blocks of 64.
struct Blocks {
    words: usize,
    arrays: Words,
    filled: usize,
    block: Words,
}

impl Blocks {
    fn new(params: &Params) -> Result<Self, Error> {
        Ok(Self {
            words: params.words(),
            arrays: Words::zeroed(64 * params.words())?,
            filled: 0,
            block: Words::zeroed(params.bits() as usize)?,
        })
    }

    /// Adds a filter. Returns the block if it is now full.
    fn push(&mut self, filter: &[u64]) -> Option<&[u64]> {
        self.arrays.as_mut()[self.filled * self.words..][..self.words].copy_from_slice(filter);
        self.filled += 1;
        if self.filled == 64 {
            self.finish()
        } else {
            None
        }
    }

    /// Returns the last block, if it is not empty.
    fn finish(&mut self) -> Option<&[u64]> {
        if self.filled == 0 {
            return None;
        }
        let arrays = self.arrays.as_ref().chunks_exact(self.words);
        let arrays: Vec<&[u64]> = arrays.take(self.filled).collect();
        bits::weave(&arrays, self.block.as_mut(), 1, 0);
        self.filled = 0;
        Some(self.block.as_ref())
    }
}

fn write_sliced<W: Durable>(
    writer: &mut Writer<W>,
    params: &Params,
    segments: &[&Segment],
) -> Written {
    let filters: usize = segments.iter().map(|segment| segment.len()).sum();
    let mut summary = Summary::new(params.bits() as usize, filters.div_ceil(64))?;
    let mut blocks = Blocks::new(params)?;
    let mut count = 0;
    let head = writer.at();
    writer.begin(Kind::Bits, size(params, segments))?;
    let mut put = |block: &[u64]| {
        summary.add_block(count, block);
        count += 1;
        append_padded(writer, block)
    };
    each_filter(segments, |filter| {
        blocks.push(filter).map_or(Ok(()), &mut put)
    })?;
    blocks.finish().map_or(Ok(()), &mut put)?;
    append_padded(writer, summary.words())?;
    writer.end()?;
    let stride = summary.stride() as u64;
    Ok((head, Packing::Sliced { stride }))
}

fn write_flat<W: Durable>(
    writer: &mut Writer<W>,
    params: &Params,
    segments: &[&Segment],
) -> Written {
    let rows = params.bits() as usize;
    let filters: usize = segments.iter().map(|segment| segment.len()).sum();
    let row_bits = flat::row_bits(0, filters);
    if row_bits < 64 {
        return write_narrow(writer, params, segments, row_bits);
    }
    let (widest, total) = (flat::widest(rows), filters.div_ceil(64));
    let width_from = |done: usize| (total - done).min(widest);
    let mut panel = Words::zeroed(rows * width_from(0))?;
    let mut blocks = Blocks::new(params)?;
    let mut done = 0;
    let mut at = 0;
    let head = writer.at();
    writer.begin(Kind::Bits, size(params, segments))?;
    let mut put = |block: &[u64]| {
        let width = width_from(done);
        let words = &mut panel.as_mut()[..rows * width];
        for (row, word) in words.chunks_exact_mut(width).zip(block) {
            row[at] = *word;
        }
        at += 1;
        if at < width {
            return Ok(());
        }
        (done, at) = (done + width, 0);
        append_padded(writer, words)
    };
    each_filter(segments, |filter| {
        blocks.push(filter).map_or(Ok(()), &mut put)
    })?;
    blocks.finish().map_or(Ok(()), &mut put)?;
    writer.end()?;
    Ok((head, panels_of(rows, filters)))
}

/// Writes fewer than 64 filters, whose rows share words. Bit by bit, since a block of 64 would be many
/// times their size.
fn write_narrow<W: Durable>(
    writer: &mut Writer<W>,
    params: &Params,
    segments: &[&Segment],
    row_bits: usize,
) -> Written {
    let rows = params.bits() as usize;
    let mut words = Words::zeroed(flat::panel_words(rows, row_bits).unwrap_or(usize::MAX))?;
    let mut column = 0;
    each_filter(segments, |filter| {
        for position in bits::ones(filter) {
            bits::set(words.as_mut(), position * row_bits as u64 + column);
        }
        column += 1;
        Ok(())
    })?;
    let head = writer.at();
    writer.begin(Kind::Bits, words.as_ref().len() as u64 * 8)?;
    append_padded(writer, words.as_ref())?;
    writer.end()?;
    Ok((head, panels_of(rows, row_bits)))
}

/// Returns how the filters are divided into panels. With fewer than 64 filters, the last panel has no
/// whole words.
fn panels_of(rows: usize, filters: usize) -> Packing {
    let full = flat::widest(rows) as u64;
    let last = match filters {
        0..64 => 0,
        filters => (filters.div_ceil(64) as u64 - 1) % full + 1,
    };
    Packing::Flat { full, last }
}

/// Opens the segment that a record describes, in the mapped file.
pub(super) fn open(file: &Growing, params: &Params, record: &Record) -> Result<Segment, Error> {
    let Home {
        slots,
        labels,
        bits,
        packing,
    } = record.home;
    let corrupt = |what: &'static str| Error::corrupt(Kind::Bits.name(), bits, what);
    let slots = usize::try_from(slots).map_err(|_| corrupt("it has too many slots"))?;
    let bytes = file.small(labels, Kind::Labels)?;
    let labels = Labels::mapped(slots, bytes)
        .map_err(|what| Error::corrupt(Kind::Labels.name(), labels, what))?;
    if labels
        .all()
        .iter()
        .any(|label| label.ones() > params.bits())
    {
        let what = "a label counts more bits than a filter has";
        return Err(Error::corrupt(
            Kind::Labels.name(),
            record.home.labels,
            what,
        ));
    }
    let rows = usize::try_from(params.bits()).map_err(|_| corrupt("it has too many bits"))?;
    let words = file.words(bits)?;
    let mut parts = Parts { words, at: 0 };
    let too_short = || corrupt("it is too short for its filters");
    let body = match packing {
        Packing::Loose => {
            let filters = (0..slots).map(|_| parts.next(params.words()).ok_or_else(too_short));
            let filters = filters.collect::<Result<_, _>>()?;
            Body::Plain(Plain::Loose(Loose::mapped(rows, filters)))
        }
        Packing::Sliced { stride } => {
            let count = slots.div_ceil(64);
            let blocks = padded(rows).checked_mul(count);
            let blocks = blocks
                .and_then(|len| parts.next(len))
                .ok_or_else(too_short)?;
            let stride = usize::try_from(stride)
                .ok()
                .filter(|&stride| stride == Summary::stride_for(count))
                .ok_or_else(|| corrupt("its summary has a wrong width"))?;
            let summary = Summary::words_for(rows, stride).and_then(|len| parts.next(len));
            let summary = summary.ok_or_else(too_short)?;
            let summary = Summary::mapped(stride, summary);
            Body::Plain(Plain::Sliced(Sliced::mapped(rows, count, blocks, summary)))
        }
        Packing::Flat { .. } => {
            let widest = flat::widest(rows) * 64;
            if packing != panels_of(rows, slots) {
                return Err(corrupt("its panels have a wrong width"));
            }
            let panels = (0..slots.div_ceil(widest)).map(|panel| {
                let row_bits = flat::row_bits(panel, (slots - panel * widest).min(widest));
                let len = flat::panel_words(rows, row_bits).ok_or_else(too_short)?;
                Ok((row_bits, parts.next(len).ok_or_else(too_short)?))
            });
            let panels = panels.collect::<Result<Vec<_>, Error>>()?;
            Body::Plain(Plain::Flat(Flat::mapped(rows, panels)))
        }
        Packing::Sealed { codes, overflow } => {
            let sizes = Sizes {
                rows,
                blocks: slots.div_ceil(64),
                codes: usize::try_from(codes).map_err(|_| too_short())?,
                overflow: usize::try_from(overflow).map_err(|_| too_short())?,
            };
            let words = sizes.words().and_then(|len| parts.next_exactly(len));
            let words = words.ok_or_else(too_short)?;
            Body::Sealed(Sealed::mapped(sizes, words).map_err(corrupt)?)
        }
    };
    if !parts.is_done() {
        return Err(corrupt("there are words after its last part"));
    }
    let live = if record.live.is_empty() {
        all_live(slots as u64)
    } else {
        record.live.clone()
    };
    Ok(Segment::mapped(params, body, labels, live, record.home))
}

/// The parts of a bits section, one after the other.
struct Parts {
    words: MappedWords,
    at: usize,
}

impl Parts {
    fn next(&mut self, len: usize) -> Option<Store> {
        let part = self.words.part(self.at, len)?;
        self.at = self
            .at
            .checked_add(len.checked_next_multiple_of(LINE_WORDS)?)?;
        Some(Store::Mapped(part))
    }

    /// Returns the last part, which has no padding.
    fn next_exactly(&mut self, len: usize) -> Option<Store> {
        let part = self.words.part(self.at, len)?;
        self.at = self.at.checked_add(len)?;
        Some(Store::Mapped(part))
    }

    fn is_done(&self) -> bool {
        self.words.as_ref().len() == self.at
    }
}
