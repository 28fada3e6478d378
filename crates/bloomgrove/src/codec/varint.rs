//! Integers in as few bytes as they need: seven bits per byte, lowest first, with the highest
//! bit set in all bytes but the last (LEB128).

use crate::Error;

/// The maximum number of bytes per integer.
pub const LONGEST: usize = 10;

/// Appends an integer.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads an integer byte by byte. The encoding must be canonical: trailing zero groups are
/// rejected.
pub fn read(next: impl FnMut() -> Result<u8, Error>) -> Result<u64, Error> {
    decode(next, false)
}

/// Reads an integer from the front of `bytes`.
pub fn take(bytes: &mut &[u8]) -> Result<u64, Error> {
    decode(|| first(bytes), false)
}

/// Reads an integer written by other software, possibly with trailing zero groups.
pub fn take_padded(bytes: &mut &[u8]) -> Result<u64, Error> {
    decode(|| first(bytes), true)
}

fn first(bytes: &mut &[u8]) -> Result<u8, Error> {
    let first = bytes.split_off_first();
    let first = first.ok_or_else(|| Error::message(0, "it ends inside a number"))?;
    Ok(*first)
}

fn decode(mut next: impl FnMut() -> Result<u8, Error>, padded: bool) -> Result<u64, Error> {
    let mut value = 0u64;
    for at in 0..LONGEST {
        let byte = next()?;
        let bits = u64::from(byte & 0x7f);
        let place = 7 * at as u32;
        if (bits << place) >> place != bits || (byte == 0 && at > 0 && !padded) {
            break;
        }
        value |= bits << place;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::message(0, "a number is not in canonical form"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_have_one_spelling() {
        for value in [0, 1, 127, 128, 16383, 16384, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut left = &bytes[..];
            assert_eq!(take(&mut left).unwrap(), value);
            assert!(left.is_empty());
            for len in 0..bytes.len() {
                assert!(take(&mut &bytes[..len]).is_err());
            }
        }
        assert!(take(&mut &[0x80, 0x00][..]).is_err());
        assert_eq!(take_padded(&mut &[0x81, 0x80, 0x00][..]).unwrap(), 1);
        let mut long = vec![0xff; LONGEST - 1];
        long.push(0x02);
        assert!(take(&mut &long[..]).is_err());
        assert!(take_padded(&mut &long[..]).is_err());
    }
}
