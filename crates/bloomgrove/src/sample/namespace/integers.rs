//! An ascending list of integers, stored in about as many bits as they need.
//!
//! ```text
//!   heads   | first, place and width |  one per block of 256
//!   data    | distance to the first  |  255 per block, all of the same width
//! ```
//!
//! Ids spread over billions have gaps of a few hundred: 17 bits each instead of 64. Cost:
//! reading a number takes constant time; finding one takes a binary search, first over the
//! heads and then within a block.

use crate::Error;
use crate::bits::{Packer, Words, packed_get, packed_words, width_of};
use crate::format::Store;

/// The number of integers that share a head.
const BLOCK: u64 = 256;
/// The lowest bits of a head's second word are the width of the block's numbers; the other bits
/// are the offset of the first of them, in words.
const WIDTH_BITS: u32 = 7;

#[derive(Debug)]
pub(in crate::sample) struct Integers {
    len: u64,
    heads: Store,
    data: Store,
}

impl Integers {
    /// Creates a list from the words of [`heads`](Self::heads) and [`data`](Self::data), or
    /// returns `None` if they are inconsistent.
    pub(in crate::sample) fn from_parts(len: u64, heads: Store, data: Store) -> Option<Self> {
        let found = heads.as_ref();
        let words = data.as_ref().len() as u64;
        if len == 0 || found.len() as u64 != 2 * len.div_ceil(BLOCK) {
            return None;
        }
        let mut fits = true;
        for (i, head) in found.chunks_exact(2).enumerate() {
            let (place, width) = unpack(head[1]);
            let count = BLOCK.min(len - i as u64 * BLOCK) - 1;
            let end = packed_words(count, width).and_then(|need| need.checked_add(place));
            let rising = i == 0 || found[2 * i - 2] < head[0];
            fits &= (1..=64).contains(&width) && end.is_some_and(|end| end <= words) && rising;
        }
        fits.then_some(Self { len, heads, data })
    }

    pub(in crate::sample) fn heads(&self) -> &[u64] {
        self.heads.as_ref()
    }

    pub(in crate::sample) fn data(&self) -> &[u64] {
        self.data.as_ref()
    }

    pub(in crate::sample) fn len(&self) -> u64 {
        self.len
    }

    pub(in crate::sample) fn bytes(&self) -> u64 {
        self.heads.bytes() + self.data.bytes()
    }

    /// Returns number `rank` of the list.
    ///
    /// # Panics
    /// If the list has no such rank.
    #[inline]
    pub(in crate::sample) fn get(&self, rank: u64) -> u64 {
        assert!(rank < self.len, "rank {rank} of {}", self.len);
        let head = &self.heads()[2 * (rank / BLOCK) as usize..][..2];
        match rank % BLOCK {
            0 => head[0],
            i => {
                let (place, width) = unpack(head[1]);
                // Wrapping: a damaged file yields a wrong number, but nothing worse.
                head[0].wrapping_add(packed_get(&self.data()[place as usize..], width, i - 1))
            }
        }
    }

    /// Returns how many numbers of the list are below `number`.
    pub(in crate::sample) fn below(&self, number: u64) -> u64 {
        let heads = self.heads();
        // The last block that begins below the number, if there is one.
        let block = partition_point(heads.len() as u64 / 2, |i| heads[2 * i as usize] < number);
        let Some(block) = block.checked_sub(1) else {
            return 0;
        };
        let start = block * BLOCK;
        let in_block = BLOCK.min(self.len - start);
        start + partition_point(in_block, |i| self.get(start + i) < number)
    }
}

/// Returns the length of the prefix of `0..len` for which `holds` is true.
fn partition_point(len: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn unpack(word: u64) -> (u64, u32) {
    (word >> WIDTH_BITS, (word & ((1 << WIDTH_BITS) - 1)) as u32)
}

/// Builds [`Integers`] from numbers as they arrive.
#[derive(Debug, Default)]
pub(in crate::sample) struct Builder {
    len: u64,
    heads: Vec<u64>,
    data: Vec<u64>,
    block: Vec<u64>,
}

impl Builder {
    /// Appends a number, which must be greater than the last.
    ///
    /// # Errors
    /// The last number, if the new one is not greater.
    pub(in crate::sample) fn push(&mut self, number: u64) -> Result<(), u64> {
        if let Some(&last) = self.block.last() {
            if last >= number {
                return Err(last);
            }
            if self.block.len() as u64 == BLOCK {
                self.pack();
            }
        }
        self.block.push(number);
        self.len += 1;
        Ok(())
    }

    pub(in crate::sample) fn finish(mut self) -> Result<Integers, Error> {
        if !self.block.is_empty() {
            self.pack();
        }
        Ok(Integers {
            len: self.len,
            heads: Store::Owned(Words::copy_of(&self.heads)?),
            data: Store::Owned(Words::copy_of(&self.data)?),
        })
    }

    fn pack(&mut self) {
        let (first, last) = (self.block[0], self.block[self.block.len() - 1]);
        let width = width_of(last - first);
        // The extra word of the previous block is this block's first word.
        self.data.pop();
        let place = self.data.len() as u64;
        self.heads
            .extend([first, place << WIDTH_BITS | u64::from(width)]);
        let mut packer = Packer::new(width);
        for number in &self.block[1..] {
            packer.push(number - first, &mut self.data);
        }
        packer.finish(&mut self.data);
        self.block.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(numbers: &[u64]) -> Integers {
        let mut builder = Builder::default();
        for &number in numbers {
            builder.push(number).unwrap();
        }
        builder.finish().unwrap()
    }

    proptest! {
        #[test]
        fn every_number_is_where_it_was_put(
            gaps in proptest::collection::vec(
                prop_oneof![1u64..4, 1u64..1000, Just(1u64 << 40)], 1..1500),
            start in prop_oneof![Just(0u64), any::<u32>().prop_map(u64::from)],
            asked in proptest::collection::vec(any::<u64>(), 20),
        ) {
            let numbers: Vec<u64> = gaps
                .iter()
                .scan(start, |at, gap| { *at += gap; Some(*at) })
                .collect();
            let integers = list(&numbers);
            prop_assert_eq!(integers.len(), numbers.len() as u64);
            for (rank, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(integers.get(rank as u64), number);
                for near in [number - 1, number, number + 1] {
                    let naive = numbers.partition_point(|&x| x < near) as u64;
                    prop_assert_eq!(integers.below(near), naive);
                }
            }
            for number in asked {
                let naive = numbers.partition_point(|&x| x < number) as u64;
                prop_assert_eq!(integers.below(number), naive);
            }
        }
    }

    #[test]
    fn the_extremes_fit_and_disorder_is_refused() {
        let integers = list(&[0, 1, u64::MAX]);
        assert_eq!([0, 1, 2].map(|rank| integers.get(rank)), [0, 1, u64::MAX]);
        assert_eq!(integers.below(u64::MAX), 2);
        let mut builder = Builder::default();
        builder.push(5).unwrap();
        assert_eq!(builder.push(5), Err(5));
        assert_eq!(builder.push(3), Err(5));
    }

    #[test]
    fn spread_ids_take_few_bits() {
        let numbers: Vec<u64> = (0..100_000).map(|i| i * 305 + i * i % 300).collect();
        let bits = 8.0 * list(&numbers).bytes() as f64 / 1e5;
        assert!(bits < 18.0, "{bits}");
    }
}
