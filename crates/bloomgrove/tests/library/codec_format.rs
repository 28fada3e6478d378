//! FORMAT.md section 15 is enough to read a message: a second reader, written from it alone.

use std::path::Path;

use crate::support::{filled, parts};
use bloomgrove::Params;

/// What FORMAT.md section 15 says of plain numbers, densities, tables, gaps, bytes and the arithmetic
/// code, written down a second time from there, without the reader and as simply as can be.
mod by_the_format {
    pub(super) struct Table(Vec<u64>);

    impl Table {
        fn of_weights(weights: &[u64]) -> Self {
            let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
            let parts = (1u128 << 20) - weights.len() as u128;
            let mut table: Vec<u64> = weights
                .iter()
                .map(|&weight| 1 + (u128::from(weight) * parts / sum) as u64)
                .collect();
            let heaviest = weights.iter().max().unwrap();
            let at = weights.iter().position(|w| w == heaviest).unwrap();
            table[at] += (1 << 20) - table.iter().sum::<u64>();
            Table(table)
        }

        pub(super) fn of_bytes(chance: u64) -> Self {
            let weight = |byte: u32| {
                let mut weight = 1u128 << 62;
                for bit in 0..8 {
                    let set = bit < byte.count_ones();
                    let chance = if set { chance } else { (1 << 32) - chance };
                    weight = (weight * u128::from(chance)) >> 32;
                }
                weight.max(1) as u64
            };
            Table::of_weights(&(0..256).map(weight).collect::<Vec<_>>())
        }

        pub(super) fn of_gaps(chance: u64) -> (u32, Self) {
            let low = (0..40).rev().find(|&low| chance << low <= 1 << 29);
            let low = low.unwrap_or(0);
            let mut empty = u128::from((1 << 32) - chance) << 31;
            (0..low).for_each(|_| empty = (empty * empty) >> 63);
            let mut beyond = 1u128 << 63;
            let mut weights = Vec::new();
            for _ in 0..255 {
                let further = (beyond * empty) >> 63;
                weights.push((beyond - further).max(1) as u64);
                beyond = further;
            }
            weights.push(beyond.max(1) as u64);
            (low, Table::of_weights(&weights))
        }
    }

    pub(super) fn chance(step: u64) -> u64 {
        (32 + step % 32) << (step / 32)
    }

    pub(super) fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return value;
            }
        }
        unreachable!()
    }

    /// The decoder that the description of the encoder implies.
    pub(super) struct Code<'a> {
        bytes: &'a [u8],
        range: u64,
        /// The code, less L.
        above: u64,
    }

    impl<'a> Code<'a> {
        pub(super) fn new(bytes: &'a [u8]) -> Self {
            let mut code = Code {
                bytes,
                range: u64::MAX,
                above: 0,
            };
            code.above = code.four() << 32 | code.four();
            code
        }

        fn four(&mut self) -> u64 {
            let Some((four, rest)) = self.bytes.split_first_chunk::<4>() else {
                return 0;
            };
            self.bytes = rest;
            u32::from_le_bytes(*four).into()
        }

        pub(super) fn symbol(&mut self, table: &Table) -> u64 {
            let scale = self.range >> 20;
            let (mut start, mut symbol) = (0, 0);
            while self.above >= scale * (start + table.0[symbol]) {
                start += table.0[symbol];
                symbol += 1;
            }
            self.above -= scale * start;
            self.range = scale * table.0[symbol];
            if self.range < 1 << 32 {
                self.range <<= 32;
                self.above = self.above << 32 | self.four();
            }
            symbol as u64
        }
    }
}

/// The golden messages, read by the second reader.
#[test]
fn the_format_is_enough_to_read_a_message() {
    use by_the_format::{Code, Table, chance, number};
    for (frame, keys) in [("gaps", 900), ("flipped", 80_000), ("bytes", 8000)] {
        for model in ["framed", "static"] {
            let name = format!("tests/golden/v1-filter-{frame}-{model}.msg");
            let message = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
            let parts = parts(&message);
            let [head, notes, bits, _] = &parts[..] else {
                panic!("{} parts", parts.len());
            };
            assert_eq!(head[..6], [0x89, 0x47, 0x0d, 0x0a, 1, 1]);
            assert_eq!((notes[0], &notes[2..]), (1, &b"keys=integer\n"[..]));

            let mut head = &head[6..];
            assert_eq!(number(&mut head) as usize, head.len());
            let mut params = Vec::new();
            let (eights, mut head) = head.split_first().unwrap();
            for _ in 0..*eights {
                let there = head[0];
                head = &head[1..];
                for bit in 0..8 {
                    params.push(0);
                    if there >> bit & 1 == 1 {
                        *params.last_mut().unwrap() = head[0];
                        head = &head[1..];
                    }
                }
            }
            assert_eq!(u64::from_le_bytes(params[..8].try_into().unwrap()), 20_001);
            assert_eq!(head[0] & 7, u8::from(model == "static"));
            assert!((20..=26).contains(&head[1]));
            let mut plan = &head[2..];

            let mut coded = &bits[1..];
            assert_eq!((bits[0], number(&mut coded) as usize), (2, coded.len()));
            let kind = coded[0];
            coded = &coded[1..];
            let step = match model {
                "framed" => number(&mut coded),
                _ => number(&mut plan),
            };
            let mut words = vec![0u64; 20_001usize.div_ceil(64)];
            if kind & 7 == 3 {
                let table = Table::of_bytes(chance(step));
                let mut code = Code::new(coded);
                for byte in 0..20_001usize.div_ceil(8) {
                    words[byte / 8] |= code.symbol(&table) << (byte % 8 * 8);
                }
            } else {
                let (low_bits, table) = Table::of_gaps(chance(step));
                let len = number(&mut coded) as usize;
                let (high, low) = coded.split_at(len);
                let mut code = Code::new(high);
                let mut read = 0;
                let mut take = |count: u32| {
                    (0..count).fold(0, |value, bit| {
                        let place = read;
                        read += 1;
                        value | u64::from(low[place / 8] >> (place % 8) & 1) << bit
                    })
                };
                let mut at = 0;
                loop {
                    let mut gap = code.symbol(&table);
                    if gap == 255 {
                        gap += take(32);
                    }
                    at += (gap << low_bits) | take(low_bits);
                    if at == 20_001 {
                        break;
                    }
                    words[(at / 64) as usize] |= 1 << (at % 64);
                    at += 1;
                }
            }
            if kind & 8 != 0 {
                (0..20_001).for_each(|bit| words[bit / 64] ^= 1 << (bit % 64));
            }
            let params = Params::builder(20_001, 1).seed(9).build().unwrap();
            assert!(words == filled(&params, keys).words(), "{frame} {model}");
        }
    }
}
