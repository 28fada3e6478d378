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
/// The lines of a row that are processed before the next row: fewer tests and wrong predictions than with
/// single lines, but few enough to be empty after few rows.
const TILE: usize = 4;
/// How many words ahead each row is prefetched. Waiting for one row to find out whether the next is
/// needed takes longer than reading it, and a processor that reads several rows in turn does not
/// recognize that each of them is sequential.
pub(crate) const ROW_AHEAD: usize = 64;

/// Which columns are wanted.
pub(crate) trait Mask {
    /// Returns the columns of this word.
    fn word(&self, at: usize) -> u64;

    /// Returns the columns of the words from `at` on.
    #[inline(always)]
    fn chunk(&self, at: usize) -> [u64; CHUNK] {
        std::array::from_fn(|i| self.word(at + i))
    }
}

/// All columns.
impl Mask for () {
    #[inline(always)]
    fn word(&self, _: usize) -> u64 {
        !0
    }
}

/// The columns whose bits are set; none beyond the end.
impl Mask for &[u64] {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        self.get(at).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn chunk(&self, at: usize) -> [u64; CHUNK] {
        match self.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(chunk) => *chunk,
            None => std::array::from_fn(|i| self.word(at + i)),
        }
    }
}

/// The rows of a key to intersect, and what to prefetch meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'r, L = ()> {
    own: &'r [u64],
    later: L,
}

/// The rows of a later key, if there is one: known when compiling, not tested for every row.
pub(crate) trait Later: Copy {
    const ANY: bool;
    fn row(self, i: usize) -> Option<u64>;
}

impl Later for () {
    const ANY: bool = false;

    #[inline(always)]
    fn row(self, _: usize) -> Option<u64> {
        None
    }
}

impl Later for &[u64] {
    const ANY: bool = true;

    #[inline(always)]
    fn row(self, i: usize) -> Option<u64> {
        self.get(i).copied()
    }
}

impl<'r> Rows<'r> {
    /// The rows of one key. What is read soon is prefetched.
    pub(crate) fn alone(own: &'r [u64]) -> Self {
        Self { own, later: () }
    }
}

impl<L: Later> Rows<'_, L> {
    #[inline(always)]
    fn is_alone(self) -> bool {
        !L::ANY
    }
}

impl<'r> Rows<'r, &'r [u64]> {
    /// The rows of one key of many, which have been prefetched, and those of a later one, to be prefetched.
    /// This keeps the memory busy while columns are listed, and never too busy: if all rows were
    /// requested at once, the processor would wait for most of the requests.
    pub(crate) fn before(own: &'r [u64], later: &'r [u64]) -> Self {
        Self { own, later }
    }
}

/// Calls `each(word, bits)` for every word of the columns that all `rows` share and `mask`
/// keeps, until it returns false. A row is `width` words. Returns the number of words read: a
/// chunk is abandoned as soon as its intersection is empty.
///
/// # Panics
/// If a row is not in `words`.
pub(crate) fn common(
    words: &[u64],
    width: usize,
    rows: Rows<'_, impl Later>,
    mask: impl Mask,
    each: impl FnMut(usize, u64) -> bool,
) -> u64 {
    Backend::best().common(words, width, rows, mask, each)
}

/// Prefetches the first `count` words of rows.
#[inline(always)]
pub(crate) fn prefetch_rows(words: &[u64], width: usize, rows: &[u64], count: usize) {
    for &row in rows {
        prefetch_words(words, row as usize * width, width.min(count));
    }
}

#[inline(always)]
fn prefetch_words(words: &[u64], start: usize, count: usize) {
    for ahead in (0..count).step_by(CHUNK) {
        super::prefetch(words, start + ahead);
    }
    // The last word may be in a separate cache line.
    super::prefetch(words, start + count.saturating_sub(1));
}

#[inline(always)]
fn and(common: [u64; CHUNK], line: &[u64]) -> [u64; CHUNK] {
    let line: &[u64; CHUNK] = line.first_chunk().unwrap_or(&[0; CHUNK]);
    std::array::from_fn(|i| common[i] & line[i])
}

#[inline(always)]
fn or_all<const N: usize>(tile: &[[u64; CHUNK]; N]) -> [u64; CHUNK] {
    std::array::from_fn(|i| tile.iter().fold(0, |all, line| all | line[i]))
}

#[inline(always)]
fn is_zero(common: [u64; CHUNK]) -> bool {
    common.iter().fold(0, |all, word| all | word) == 0
}

/// Intersects a tile with the words of all rows that start at `at`, until nothing is left of it. Returns
/// the number of words read.
#[inline(always)]
fn and_rows<const N: usize>(
    tile: &mut [[u64; CHUNK]; N],
    words: &[u64],
    width: usize,
    rows: Rows<'_, impl Later>,
    at: usize,
) -> u64 {
    let is_far = rows.is_alone() && at + ROW_AHEAD < width;
    let mut read = 0;
    for (i, &row) in rows.own.iter().enumerate() {
        let start = row as usize * width + at;
        let later = rows.later.row(i).map(|row| row as usize * width + at);
        if let Some(start) = later.or(is_far.then_some(start + ROW_AHEAD)) {
            for line in 0..N {
                super::prefetch(words, start + line * CHUNK);
            }
        }
        let from = &words[start..start + N * CHUNK];
        for (line, from) in tile.iter_mut().zip(from.chunks_exact(CHUNK)) {
            *line = and(*line, from);
        }
        read += (N * CHUNK) as u64;
        // Not after the first row, which is almost never empty.
        if i > 0 && is_zero(or_all(tile)) {
            break;
        }
    }
    read
}

/// Calls `each` for every word of a line that is not zero, until it returns false.
#[inline(always)]
fn each_word(at: usize, line: [u64; CHUNK], each: &mut impl FnMut(usize, u64) -> bool) -> bool {
    if is_zero(line) {
        return true;
    }
    // Which words are empty is not predictable, so they are left out without a branch.
    let mut found = [(0, 0); CHUNK];
    let mut count = 0;
    for (i, bits) in line.into_iter().enumerate() {
        found[count] = (i, bits);
        count += usize::from(bits != 0);
    }
    found[..count].iter().all(|&(i, bits)| each(at + i, bits))
}

impl Backend {
    #[inline]
    pub(super) fn common(
        self,
        words: &[u64],
        width: usize,
        rows: Rows<'_, impl Later>,
        mask: impl Mask,
        mut each: impl FnMut(usize, u64) -> bool,
    ) -> u64 {
        self.run(
            #[inline(always)]
            || {
                if width > 1 && rows.is_alone() {
                    prefetch_rows(words, width, rows.own, ROW_AHEAD);
                }
                let mut read = 0;
                let mut at = 0;
                while at + TILE * CHUNK <= width {
                    // With a loop instead, all of this takes a fifth longer if there are ten rows or more.
                    let mut tile: [_; TILE] = std::array::from_fn(|i| mask.chunk(at + i * CHUNK));
                    read += and_rows(&mut tile, words, width, rows, at);
                    for (i, common) in tile.into_iter().enumerate() {
                        if !each_word(at + i * CHUNK, common, &mut each) {
                            return read;
                        }
                    }
                    at += TILE * CHUNK;
                }
                while at + CHUNK <= width {
                    let mut line = [mask.chunk(at)];
                    read += and_rows(&mut line, words, width, rows, at);
                    if !each_word(at, line[0], &mut each) {
                        return read;
                    }
                    at += CHUNK;
                }
                // Narrow rows are one cache line each: all are fetched at once, since waiting
                // for one to be empty costs more than reading the others.
                if at < width {
                    for row in (0..).map_while(|i| rows.later.row(i)) {
                        prefetch_words(words, row as usize * width + at, width - at);
                    }
                }
                for at in at..width {
                    let mut common = mask.word(at);
                    for &row in rows.own {
                        common &= words[row as usize * width + at];
                    }
                    read += rows.own.len() as u64;
                    if common != 0 && !each(at, common) {
                        return read;
                    }
                }
                read
            },
        )
    }
}

/// Same as [`common`] for all columns of rows of `W` words.
///
/// # Panics
/// If a row is not in `words`.
#[inline(always)]
pub(crate) fn common_of_few<const W: usize>(words: &[u64], rows: &[u64]) -> [u64; W] {
    let mut common = [!0; W];
    for &row in rows {
        let row: &[u64] = &words[row as usize * W..][..W];
        for (common, word) in common.iter_mut().zip(row) {
            *common &= word;
        }
    }
    common
}

/// Same as [`common`] for rows of `columns` columns, a power of two below 64, one after the other from the
/// lowest bit of each word on.
///
/// # Panics
/// If a row is not in `words`.
#[inline(always)]
pub(crate) fn common_of_narrow(words: &[u64], columns: usize, rows: &[u64]) -> u64 {
    match columns {
        // A row is an integer: one load, and no shifts.
        8 => rows
            .iter()
            .fold(u8::MAX, |common, &row| {
                common & u8::rows(words)[u8::place(row)]
            })
            .into(),
        16 => rows
            .iter()
            .fold(u16::MAX, |common, &row| {
                common & u16::rows(words)[u16::place(row)]
            })
            .into(),
        32 => rows
            .iter()
            .fold(u32::MAX, |common, &row| {
                common & u32::rows(words)[u32::place(row)]
            })
            .into(),
        _ => rows.iter().fold((1 << columns) - 1, |common, &row| {
            let bit = row as usize * columns;
            common & words[bit / 64] >> (bit % 64)
        }),
    }
}

/// An integer that is a row of a narrow matrix.
trait NarrowRow: Sized {
    /// Returns all rows in these words.
    fn rows(words: &[u64]) -> &[Self];
    /// Returns the place of a row among them.
    fn place(row: u64) -> usize;
}

macro_rules! narrow_rows {
    ($($int:ty)*) => {$(
        impl NarrowRow for $int {
            #[inline(always)]
            fn rows(words: &[u64]) -> &[Self] {
                const IN_WORD: usize = size_of::<u64>() / size_of::<$int>();
                // SAFETY: the same memory, all of it initialized, as integers that need no greater alignment
                // and can have any value.
                unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * IN_WORD) }
            }

            #[inline(always)]
            fn place(row: u64) -> usize {
                // In a word, the lowest bits come first or last.
                let flip = if cfg!(target_endian = "big") { 8 / size_of::<$int>() - 1 } else { 0 };
                row as usize ^ flip
            }
        }
    )*};
}
narrow_rows!(u8 u16 u32);

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
