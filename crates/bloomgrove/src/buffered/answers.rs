//! Answering the probes of one block: its page is read, each entry is tested and replaced by its
//! answer, and every answer is passed on with its tag.
//!
//! ```text
//!   before   | entry     | tag difference | entry     | tag difference | ...
//!   after    | yes or no | tag difference | yes or no | tag difference | ...
//! ```
//!
//! Source: Buffered Bloom Filters, Algorithm 2, lines 6 to 20. The tags are ours ([`super::probe`]).
//!
//! Cost: one page read per block, and k bits tested per entry until one is not set.

use crate::Error;

use super::blocks::Block;
use super::file::PageFile;
use super::state::{Phase, State};
use super::store::Buffer;

/// Entries tested at once, to bound the memory of their answers, which is not part of the
/// budget.
const AT_ONCE: usize = 4096;
/// Bytes of the tag difference after each entry.
pub(super) const TAG: usize = 2;
/// Differences of at least this value say instead which piece of the tag the entry contains,
/// counting down from the largest.
pub(super) const PIECES: u64 = 0xfff0;
pub(super) const LAST_PIECE: u64 = 0xffff;

/// Calls `$function::<N>`, where N is the length of an entry of `$bytes` bytes with its tag.
/// With a constant length, entries are located without arithmetic.
macro_rules! with_width {
    ($bytes:expr, $function:ident($($arg:expr),*)) => {
        match $bytes {
            3 => $function::<{ 3 + TAG }>($($arg),*),
            4 => $function::<{ 4 + TAG }>($($arg),*),
            5 => $function::<{ 5 + TAG }>($($arg),*),
            6 => $function::<{ 6 + TAG }>($($arg),*),
            7 => $function::<{ 7 + TAG }>($($arg),*),
            _ => $function::<{ 8 + TAG }>($($arg),*),
        }
    };
}

/// The bits of a tag that its piece with this number contains.
pub(super) fn piece_mask(piece: u32, bits: u32) -> u64 {
    let ones = u64::MAX >> (64 - bits);
    ones.checked_shl(piece * bits).unwrap_or(0)
}

/// Performs one flush: Algorithm 2, lines 6 to 20. Each answer replaces its entry.
pub(super) fn test(
    file: &PageFile,
    buffer: &mut Buffer,
    block: &mut Block,
    state: &State,
) -> Result<(), Error> {
    let page = block.page;
    let (written, finished) = (state.is_written(page), state.phase == Phase::Finished);
    if finished && !written {
        buffer.bytes_mut().fill(0);
    } else {
        file.read_page(page, buffer, written, finished)?;
    }
    let bytes = file.geometry().entry_bytes() as usize;
    with_width!(bytes, test_by(file, buffer, block));
    Ok(())
}

fn test_by<const N: usize>(file: &PageFile, buffer: &Buffer, block: &mut Block) {
    let mut found = Vec::new();
    let slices = block
        .parts_mut()
        .flat_map(|part| part.chunks_mut(N * AT_ONCE));
    for part in slices {
        found.clear();
        found.resize(part.len() / N, false);
        file.marker()
            .contains(buffer.words(), part, N, N - TAG, &mut found);
        for (entry, &found) in part.as_chunks_mut::<N>().0.iter_mut().zip(&found) {
            // Pieces of tags are not queries.
            if u64::from(distance_of(entry)) < PIECES {
                entry[0] = u8::from(found);
            }
        }
    }
}

/// Passes every answer of a block processed by [`test`] to the sink.
pub(super) fn answer(block: &Block, bytes: usize, sink: &mut impl FnMut(u64, bool)) {
    with_width!(bytes, answer_by(block, sink));
}

fn answer_by<const N: usize>(block: &Block, sink: &mut impl FnMut(u64, bool)) {
    let bits = 8 * (N - TAG) as u32;
    let mut tag = 0u64;
    for part in block.parts() {
        for entry in part.as_chunks::<N>().0 {
            let distance = u64::from(distance_of(entry));
            if distance < PIECES {
                tag = tag.wrapping_add(distance);
                sink(tag, entry[0] != 0);
                continue;
            }
            let piece = (LAST_PIECE - distance) as u32;
            let mut value = [0; 8];
            value[..N - TAG].copy_from_slice(&entry[..N - TAG]);
            let mask = piece_mask(piece, bits);
            let shifted = u64::from_le_bytes(value).checked_shl(piece * bits);
            tag = tag & !mask | shifted.unwrap_or(0) & mask;
        }
    }
}

#[inline(always)]
fn distance_of<const N: usize>(entry: &[u8; N]) -> u16 {
    u16::from_le_bytes([entry[N - 2], entry[N - 1]])
}

const _: () = assert!(super::blocks::SLACK >= 8 + TAG);
