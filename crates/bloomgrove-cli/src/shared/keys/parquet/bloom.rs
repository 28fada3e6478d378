//! The Bloom filters that a Parquet file may have, for each column of each row group.
//!
//! ```text
//!   footer: where it is --> | header (Thrift) | bits: blocks of 32 bytes |
//!                             1: size   2: algorithm   3: hash   4: compression
//! ```
//!
//! There is one kind so far: split blocks, XXH64 of the value as it is stored, not compressed
//! (BloomFilter.md of the Parquet format). It is a filter of ours bit for bit. A filter of any other
//! kind counts as none: then the values are read.
//!
//! Nothing in the file tells whether a filter is undamaged, so a flipped bit in one can hide a row,
//! here as in every engine that uses it. Only an empty one is noticed.

use ::parquet::file::metadata::ColumnChunkMetaData;
use anyhow::{Context, Result, bail};
use bloomgrove::{Family, Filter, Layout, Params};

use super::footer::{I32, STRUCT, Walk, number, zigzag};
use super::source::Source;

/// More than any header takes.
const HEADER: u64 = 256;
const BLOCK: u64 = 32;
/// The largest filter that the format allows.
const MOST: u64 = 128 << 20;

pub(super) fn read(
    source: &Source,
    chunk: &ColumnChunkMetaData,
) -> Result<Option<Filter<Vec<u64>>>> {
    let Some(offset) = chunk.bloom_filter_offset() else {
        return Ok(None);
    };
    let room = u64::try_from(offset)
        .ok()
        .and_then(|offset| Some((offset, source.size().checked_sub(offset)?)));
    let (offset, room) = room.context("damaged: it begins outside of the file")?;
    // The whole filter, if its length is known.
    let len = chunk
        .bloom_filter_length()
        .and_then(|len| u64::try_from(len).ok());
    let len = len
        .filter(|&len| len <= room.min(MOST))
        .unwrap_or(room.min(HEADER));
    source.fetch(offset..offset + len).context("reading")?;
    let mut head = vec![0; room.min(HEADER) as usize];
    source.read_exact_at(&mut head, offset).context("reading")?;
    let Some(header) = Header::parse(&head) else {
        bail!("damaged: its header cannot be read");
    };
    if !header.is_known {
        return Ok(None);
    }
    let Header { bytes, len, .. } = header;
    if bytes == 0 || bytes > MOST || !bytes.is_multiple_of(BLOCK) || len + bytes > room {
        bail!("damaged: {bytes} bytes in a file with {room} bytes left");
    }
    let mut bits = vec![0; bytes as usize];
    source
        .read_exact_at(&mut bits, offset + len)
        .context("reading")?;
    let (words, _) = bits.as_chunks();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    if chunk.num_values() > 0 && words.iter().all(|&word| word == 0) {
        // It has only nulls, or it was lost. Reading them is safe.
        return Ok(None);
    }
    let params = Params::builder(8 * bytes, 8)
        .layout(Layout::SplitBlock)
        .family(Family::Xxh64)
        .build()?;
    Ok(Some(Filter::from_words(params, words)?))
}

struct Header {
    /// The size of the filter.
    bytes: u64,
    is_known: bool,
    /// How long the header is.
    len: u64,
}

impl Header {
    fn parse(head: &[u8]) -> Option<Self> {
        let mut walk = Walk { bytes: head };
        let (mut id, mut bytes, mut known) = (0, None, 0);
        while let Some(kind) = walk.field(&mut id)? {
            match (id, kind) {
                (1, I32) => bytes = u64::try_from(zigzag(number(&mut walk.bytes)?)).ok(),
                // Unions: the first member of each is the only one defined.
                (2..=4, STRUCT) => known += u32::from(is_first_member(&mut walk)?),
                _ => walk.skip(kind, 0)?,
            }
        }
        Some(Self {
            bytes: bytes?,
            is_known: known == 3,
            len: (head.len() - walk.bytes.len()) as u64,
        })
    }
}

fn is_first_member(walk: &mut Walk<'_>) -> Option<bool> {
    let (mut id, mut first) = (0, false);
    while let Some(kind) = walk.field(&mut id)? {
        first = id == 1;
        walk.skip(kind, 1)?;
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1024 bytes of blocks, XXHASH, uncompressed.
    const USUAL: [u8; 15] = [
        0x15, 0x80, 0x10, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0,
    ];

    #[test]
    fn a_header_says_what_the_filter_is() {
        let whole = [&USUAL[..], &[0, 0xff]].concat();
        let header = Header::parse(&whole).unwrap();
        assert_eq!(
            (header.bytes, header.len, header.is_known),
            (1024, 16, true)
        );
        // Another hash, another algorithm: a filter that we cannot use.
        for at in [4, 8, 12] {
            let mut other = whole.clone();
            other[at] = 0x2c;
            assert!(!Header::parse(&other).unwrap().is_known);
        }
        for len in 0..16 {
            assert!(Header::parse(&whole[..len]).is_none(), "{len}");
        }
    }
}
