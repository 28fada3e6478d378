//! Damages the bytes of a file, depending on a seed: for tests of the crates that write the files.

use std::ops::Range;

/// What a disk may do to a file: to one bit, one byte, a sector, its end. Returns what was done.
pub(crate) fn damage(bytes: &mut Vec<u8>, seed: u64) -> String {
    let mut random = Random(seed);
    let kind = random.below(20);
    // Most of a file is unused; damage is interesting where it is not.
    let used = |random: &mut Random, size: u64| loop {
        let at = random.below(bytes.len() as u64 / size) * size;
        let sector = at as usize..(at + size) as usize;
        if bytes[sector.clone()].iter().any(|&byte| byte != 0) {
            return sector;
        }
    };
    let inside = |random: &mut Random, sector: Range<usize>| {
        sector.start + random.below(sector.len() as u64) as usize
    };
    match kind {
        // The header: it is read first, and hardly covered by checksums.
        0 | 1 => {
            let (at, bit) = (random.below(320) as usize, random.below(8));
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} of the header")
        }
        2 => {
            let (at, new) = (random.below(320) as usize, random.below(255) as u8 + 1);
            bytes[at] ^= new;
            format!("byte {at} of the header, by {new:#x}")
        }
        3..=9 => {
            let sector = used(&mut random, 512);
            let (at, bit) = (inside(&mut random, sector), random.below(8));
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at}")
        }
        10..=13 => {
            let sector = used(&mut random, 512);
            let (at, new) = (inside(&mut random, sector), random.below(255) as u8 + 1);
            bytes[at] ^= new;
            format!("byte {at}, by {new:#x}")
        }
        14..=16 => {
            let sector = used(&mut random, 512);
            bytes[sector.clone()].fill(0);
            format!("zeroed {sector:?}")
        }
        17 | 18 => {
            let sector = used(&mut random, 4096);
            bytes[sector.clone()].fill(0);
            format!("zeroed {sector:?}")
        }
        _ => {
            let length = random.below(bytes.len() as u64) as usize;
            bytes.truncate(length);
            format!("cut to {length} bytes")
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
