//! The catalogue of a shelf in bytes: FORMAT.md section 7.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Params;

/// What the catalogue says of one filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) name: Vec<u8>,
    pub(super) tag: Vec<u8>,
    pub(super) params: Params,
    /// Where its words begin, counted in words from the start of the bits.
    pub(super) start: u64,
    /// Of its words, so that one can be checked without the others.
    pub(super) checksum: u64,
}

/// The fixed part; name, tag and params follow, padded to a multiple of 8.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Fixed {
    name_len: U32,
    tag_len: U32,
    params_len: U32,
    reserved: U32,
    start: U64,
    checksum: U64,
}

pub(super) fn encode(records: &[Record]) -> Vec<u8> {
    let mut bytes = (records.len() as u64).to_le_bytes().to_vec();
    for record in records {
        let params = record.params.to_bytes();
        let fixed = Fixed {
            name_len: (record.name.len() as u32).into(),
            tag_len: (record.tag.len() as u32).into(),
            params_len: (params.len() as u32).into(),
            reserved: 0.into(),
            start: record.start.into(),
            checksum: record.checksum.into(),
        };
        bytes.extend_from_slice(fixed.as_bytes());
        for part in [&record.name, &record.tag, &params] {
            bytes.extend_from_slice(part);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes
}

/// The records, or where (from the start of `bytes`) and what is wrong.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Record>, (usize, String)> {
    let (count, mut rest) =
        U64::read_from_prefix(bytes).map_err(|_| (0, "it has no count".to_owned()))?;
    let mut records = Vec::new();
    for _ in 0..count.get() {
        let at = bytes.len() - rest.len();
        let (record, after) = decode_one(rest).map_err(|what| (at, what))?;
        records.push(record);
        rest = after;
    }
    if rest.is_empty() {
        Ok(records)
    } else {
        let at = bytes.len() - rest.len();
        Err((at, "there are bytes after the last entry".to_owned()))
    }
}

fn decode_one(bytes: &[u8]) -> Result<(Record, &[u8]), String> {
    let short = || "an entry is cut off".to_owned();
    let (fixed, body) = Fixed::read_from_prefix(bytes).map_err(|_| short())?;
    let lens = [fixed.name_len, fixed.tag_len, fixed.params_len].map(|len| len.get() as usize);
    // Three lengths of 32 bits may be more than this machine can address.
    let len = lens
        .iter()
        .try_fold(0usize, |sum, &len| sum.checked_add(len))
        .and_then(|len| len.checked_next_multiple_of(8))
        .ok_or_else(short)?;
    let (mut parts, padding) = body.split_at_checked(len).ok_or_else(short)?;
    let mut take = |len: usize| {
        let (part, rest) = parts.split_at(len);
        parts = rest;
        part
    };
    let [name, tag, params] = lens.map(&mut take);
    if fixed.reserved != 0 || parts.iter().any(|&byte| byte != 0) {
        return Err("a reserved field or padding is not zero".to_owned());
    }
    let record = Record {
        name: name.to_vec(),
        tag: tag.to_vec(),
        params: Params::from_bytes(params)?,
        start: fixed.start.get(),
        checksum: fixed.checksum.get(),
    };
    Ok((record, padding))
}
