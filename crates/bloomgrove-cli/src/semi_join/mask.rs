//! A bit per row: whether it is kept. Written in one pass over a table, read in the next.

use std::io::{BufReader, BufWriter, Read, Seek, Write};

use anyhow::{Context, Result};
use tempfile::SpooledTempFile;

/// Masks of fewer bytes than this are in memory: of eight million rows.
const SMALL: usize = 1 << 20;
const TROUBLE: &str = "keeping a bit per row in the temporary directory (TMPDIR can name another)";

pub(super) struct Mask {
    file: BufWriter<SpooledTempFile>,
    /// The rows that are kept.
    pub(super) kept: u64,
}

impl Mask {
    pub(super) fn new() -> Self {
        Self {
            file: BufWriter::new(SpooledTempFile::new(SMALL)),
            kept: 0,
        }
    }

    /// Appends 64 rows, or the last ones.
    pub(super) fn push(&mut self, word: u64) -> Result<()> {
        self.kept += u64::from(word.count_ones());
        self.file.write_all(&word.to_le_bytes()).context(TROUBLE)
    }

    /// Reads it from the beginning.
    pub(super) fn read(&mut self) -> Result<MaskReader<'_>> {
        self.file.flush().context(TROUBLE)?;
        self.file.get_mut().rewind().context(TROUBLE)?;
        Ok(MaskReader {
            file: BufReader::new(self.file.get_mut()),
            word: 0,
            left: 0,
        })
    }
}

pub(super) struct MaskReader<'m> {
    file: BufReader<&'m mut SpooledTempFile>,
    word: u64,
    /// How many bits of it are still to come.
    left: u32,
}

impl MaskReader<'_> {
    /// Whether the next row is kept.
    pub(super) fn next(&mut self) -> Result<bool> {
        if self.left == 0 {
            let mut word = [0; 8];
            // It ends early only if the table has grown in between.
            self.file
                .read_exact(&mut word)
                .context("the table was changed while it was read; run the command again")?;
            (self.word, self.left) = (u64::from_le_bytes(word), 64);
        }
        let kept = self.word & 1 != 0;
        (self.word, self.left) = (self.word >> 1, self.left - 1);
        Ok(kept)
    }

    /// The bits of this many rows.
    pub(super) fn take(&mut self, rows: u64) -> Result<Vec<u64>> {
        let mut words = Vec::new();
        for row in 0..rows {
            if row % 64 == 0 {
                words.push(0);
            }
            if self.next()?
                && let Some(word) = words.last_mut()
            {
                *word |= 1 << (row % 64);
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_in_order_however_they_are_cut() {
        let mut mask = Mask::new();
        let words: Vec<u64> = (1..300_000u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        for &word in &words {
            mask.push(word).unwrap();
        }
        let bit = |row: usize| words[row / 64] >> (row % 64) & 1 != 0;
        let mut reader = mask.read().unwrap();
        let mut row = 0;
        for rows in [1, 63, 64, 65, 1000, 7, 200_000] {
            let taken = reader.take(rows).unwrap();
            assert_eq!(taken.len() as u64, rows.div_ceil(64));
            for i in 0..rows as usize {
                assert_eq!(taken[i / 64] >> (i % 64) & 1 != 0, bit(row + i));
            }
            row += rows as usize;
        }
        assert_eq!(reader.next().unwrap(), bit(row));
        let ones = words.iter().map(|word| u64::from(word.count_ones()));
        assert_eq!(mask.kept, ones.sum::<u64>());
        assert_eq!(mask.read().unwrap().next().unwrap(), bit(0));
    }
}
