//! A compact encoding of set bits: ascending positions, each as its distance to the previous one in LEB128. FORMAT.md
//! section 17.

use anyhow::{Result, bail};
use bloomgrove::raw::codec::varint;

/// Appends ascending positions.
pub(super) fn put(out: &mut Vec<u8>, positions: &[u64]) {
    let mut before = 0;
    for &position in positions {
        varint::put(out, position - before);
        before = position;
    }
}

/// The positions, which must be ascending and below `bits`.
pub(super) fn take(mut bytes: &[u8], bits: u64) -> Result<Vec<u64>> {
    let mut positions: Vec<u64> = Vec::new();
    while !bytes.is_empty() {
        let gap = varint::take(&mut bytes)?;
        let before = positions.last().copied();
        let position = before.unwrap_or(0).checked_add(gap);
        match position.filter(|&position| position < bits) {
            Some(position) if before.is_none_or(|before| before < position) => {
                positions.push(position);
            }
            _ => bail!("a bit position is out of order, or not below {bits}"),
        }
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back() {
        for positions in [
            vec![],
            vec![0],
            vec![0, 1, 127, 128, 16_384, (1 << 56) - 1],
            (0..1000).map(|i| i * i).collect(),
        ] {
            let mut bytes = Vec::new();
            put(&mut bytes, &positions);
            assert_eq!(take(&bytes, 1 << 56).unwrap(), positions);
        }
    }

    #[test]
    fn the_bytes_are_those_of_format_md() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[3, 200, 70_000]);
        // 3, 197 and 69,800, each in groups of seven bits.
        assert_eq!(bytes, [0x03, 0xc5, 0x01, 0xa8, 0xa1, 0x04]);
    }

    #[test]
    fn what_is_no_list_of_bits_is_refused() {
        for (bytes, bits) in [
            (&[0x80][..], 100),
            (&[5, 0], 100),
            (&[100], 100),
            (&[99, 1], 100),
            (&[0xff; 12], u64::MAX),
            // A sum beyond 2^64; a number in more bytes than it needs.
            (
                &[
                    5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
                ],
                u64::MAX,
            ),
            (&[0x85, 0x00], 100),
        ] {
            assert!(take(bytes, bits).is_err(), "{bytes:?}");
        }
    }
}
