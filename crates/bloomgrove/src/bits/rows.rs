//! Bit matrices: rows of words, and the intersection of several rows.
//!
//! ```text
//!              column  0 1 2 3 4 5 6 7 ...          64 columns per word
//!   row 17             0 1 0 0 1 1 0 0
//!   row 41             0 1 1 0 0 1 0 1              and
//!   row 93             1 1 0 0 0 1 0 0
//!                        ^       ^
//!                      the columns set in all three
//! ```
//!
//! An index of many filters is such a matrix, with a row for each bit position and a column for
//! each filter. A key's positions select the rows.

use super::Backend;

/// Words processed together: one cache line.
const CHUNK: usize = 8;
/// The number of words of each row to prefetch before reading any: waiting for one row to find
/// out whether the next is needed takes longer than reading it. The processor prefetches the
/// following words, because the access is sequential.
const AHEAD: usize = 64;

/// Calls `each(word, bits)` for every word of the columns that all `rows` share and `mask`
/// keeps, until it returns false. A row is `width` words. Returns the number of words read: a
/// chunk is abandoned as soon as its intersection is empty.
///
/// # Panics
/// If a row is not in `words`.
pub(crate) fn common(
    words: &[u64],
    width: usize,
    rows: &[u64],
    mask: impl Fn(usize) -> u64,
    each: impl FnMut(usize, u64) -> bool,
) -> u64 {
    Backend::best().common(words, width, rows, mask, each)
}

impl Backend {
    #[inline]
    pub(super) fn common(
        self,
        words: &[u64],
        width: usize,
        rows: &[u64],
        mask: impl Fn(usize) -> u64,
        mut each: impl FnMut(usize, u64) -> bool,
    ) -> u64 {
        self.run(
            #[inline(always)]
            || {
                if width > 1 {
                    for &row in rows {
                        let start = row as usize * width;
                        for ahead in (0..width.min(AHEAD)).step_by(CHUNK) {
                            super::prefetch(words, start + ahead);
                        }
                        // The last word may be in a separate cache line.
                        super::prefetch(words, start + width.min(AHEAD) - 1);
                    }
                }
                let mut read = 0;
                let mut at = 0;
                while at + CHUNK <= width {
                    let mut common: [u64; CHUNK] = std::array::from_fn(|i| mask(at + i));
                    for (i, &row) in rows.iter().enumerate() {
                        let start = row as usize * width + at;
                        let line: &[u64; CHUNK] = words[start..start + CHUNK]
                            .try_into()
                            .unwrap_or(&[0; CHUNK]);
                        for (common, word) in common.iter_mut().zip(line) {
                            *common &= word;
                        }
                        read += CHUNK as u64;
                        // Not after the first row, which is almost never empty.
                        if i > 0 && common == [0; CHUNK] {
                            break;
                        }
                    }
                    if common != [0; CHUNK] {
                        for (i, &bits) in common.iter().enumerate() {
                            if bits != 0 && !each(at + i, bits) {
                                return read;
                            }
                        }
                    }
                    at += CHUNK;
                }
                // Narrow rows are one cache line each: all are fetched at once, since waiting
                // for one to be empty costs more than reading the others.
                for at in at..width {
                    let mut common = mask(at);
                    for &row in rows {
                        common &= words[row as usize * width + at];
                    }
                    read += rows.len() as u64;
                    if common != 0 && !each(at, common) {
                        return read;
                    }
                }
                read
            },
        )
    }
}

/// Transposes a square of 64 by 64 bits.
pub(crate) fn transpose(square: &mut [u64; 64]) {
    let mut size = 32;
    let mut low: u64 = 0xffff_ffff;
    while size > 0 {
        // Exchange the upper right with the lower left quarter of every square of 2 size.
        let mut i = 0;
        while i < 64 {
            let swap = (square[i] >> size ^ square[i + size]) & low;
            square[i] ^= swap << size;
            square[i + size] ^= swap;
            i = (i + size + 1) & !size;
        }
        size /= 2;
        low ^= low << size;
    }
}

/// Writes up to 64 bit arrays as one column of words: bit j of row p is bit p of
/// `arrays[j]`. Rows are `width` words, of which `column` is written.
pub(crate) fn weave(arrays: &[&[u64]], rows: &mut [u64], width: usize, column: usize) {
    let count = rows.len() / width;
    for at in 0..count.div_ceil(64) {
        let mut square = [0; 64];
        for (line, array) in square.iter_mut().zip(arrays) {
            *line = array[at];
        }
        transpose(&mut square);
        for (row, word) in (at * 64..count).zip(square) {
            rows[row * width + column] = word;
        }
    }
}

/// The inverse of [`weave`]: extracts the 64 bit arrays of one column, each
/// `count.div_ceil(64)` words, where `count` is the number of rows.
pub(crate) fn unweave(rows: &[u64], width: usize, column: usize, arrays: &mut [&mut [u64]]) {
    let count = rows.len() / width;
    for at in 0..count.div_ceil(64) {
        let mut square = [0; 64];
        for (row, word) in (at * 64..count).zip(&mut square) {
            *word = rows[row * width + column];
        }
        transpose(&mut square);
        for (line, array) in square.iter().zip(arrays.iter_mut()) {
            array[at] = *line;
        }
    }
}
