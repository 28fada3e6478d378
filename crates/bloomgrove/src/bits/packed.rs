//! Arrays of numbers of a few bits each, without gaps.
//!
//! ```text
//!   width 5:   |aaaaabbbbbcccccddddd...|       number i is bits 5 i to 5 i + 4
//! ```
//!
//! Cost: a number is in one word or two, and is read from both without a branch.

/// Returns number `i` of numbers of `width` bits each, 1 to 64.
///
/// # Panics
/// If the words do not contain the number and one more word, which [`packed_words`] allows for.
#[inline(always)]
pub(crate) fn packed_get(words: &[u64], width: u32, i: u64) -> u64 {
    let bit = i * u64::from(width);
    let (word, place) = ((bit >> 6) as usize, (bit & 63) as u32);
    let pair = &words[word..word + 2];
    let low = pair[0] >> place;
    // Shifted twice, because a shift by 64 would have no effect.
    let high = (pair[1] << 1) << (63 - place);
    (low | high) & mask(width)
}

#[inline(always)]
fn mask(width: u32) -> u64 {
    match width {
        64.. => u64::MAX,
        _ => (1 << width) - 1,
    }
}

/// Returns the number of words for `len` numbers, including the extra word that [`packed_get`]
/// may read. `None` on overflow.
pub(crate) fn packed_words(len: u64, width: u32) -> Option<u64> {
    Some(len.checked_mul(width.into())?.div_ceil(64) + 1)
}

/// Returns the number of bits that the numbers 0 to `largest` need; at least one.
pub(crate) fn width_of(largest: u64) -> u32 {
    (64 - largest.leading_zeros()).max(1)
}

/// Packs numbers as they arrive; words are emitted as soon as they are full.
pub(crate) struct Packer {
    width: u32,
    word: u64,
    used: u32,
}

impl Packer {
    pub(crate) fn new(width: u32) -> Self {
        Self {
            width,
            word: 0,
            used: 0,
        }
    }

    /// Appends a number; the bits above its `width` must be zero.
    #[inline]
    pub(crate) fn push(&mut self, number: u64, out: &mut Vec<u64>) {
        debug_assert_eq!(number & !mask(self.width), 0);
        self.word |= number << (self.used & 63);
        self.used += self.width;
        if self.used >= 64 {
            out.push(self.word);
            self.used -= 64;
            let written = self.width - self.used;
            self.word = if written < 64 { number >> written } else { 0 };
        }
    }

    /// Emits the last word, and the extra one.
    pub(crate) fn finish(self, out: &mut Vec<u64>) {
        if self.used > 0 {
            out.push(self.word);
        }
        out.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_at_every_width() {
        for width in 1..=64 {
            let numbers: Vec<u64> = (0..200u64)
                .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask(width))
                .collect();
            let mut words = Vec::new();
            let mut packer = Packer::new(width);
            for &number in &numbers {
                packer.push(number, &mut words);
            }
            packer.finish(&mut words);
            assert_eq!(
                Some(words.len() as u64),
                packed_words(200, width),
                "{width}"
            );
            for (i, &number) in numbers.iter().enumerate() {
                assert_eq!(packed_get(&words, width, i as u64), number, "{width} {i}");
            }
        }
        assert_eq!(
            [0, 1, 2, 255, 256, u64::MAX].map(width_of),
            [1, 1, 2, 8, 9, 64]
        );
    }
}
