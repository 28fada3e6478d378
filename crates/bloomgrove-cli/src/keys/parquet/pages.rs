//! The pages of a column, as far as they can be true.
//!
//! A page says how many values it holds, and the decoder takes memory for that many before
//! it looks for them. A damaged number must not end the program for want of memory, so it
//! is compared with what the page and the footer leave room for.

use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::schema::types::ColumnDescPtr;

pub(super) struct Checked {
    pages: Box<dyn PageReader>,
    /// Values that the footer still announces.
    left: u64,
    /// The least bytes that a value of a dictionary takes.
    least: u64,
    /// How many kinds of levels come before the values.
    levels: usize,
}

impl Checked {
    pub(super) fn new(pages: Box<dyn PageReader>, column: &ColumnDescPtr, values: u64) -> Self {
        let least = match column.physical_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0).max(1),
        };
        let kinds = [column.max_rep_level(), column.max_def_level()];
        Self {
            pages,
            left: values,
            least,
            levels: kinds.iter().filter(|&&most| most > 0).count(),
        }
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let damaged = |what: String| Err(ParquetError::General(format!("damaged page: {what}")));
        let (count, bytes) = (u64::from(page.num_values()), page.buffer().len());
        if page.is_dictionary_page() {
            if count * self.least > bytes as u64 {
                return damaged(format!("{count} different values in {bytes} bytes"));
            }
            return Ok(());
        }
        self.left = match self.left.checked_sub(count) {
            Some(left) => left,
            None => return damaged(format!("{count} values, beyond what the footer says")),
        };
        if let Some(written) = self.delta_count(page).filter(|&written| written > count) {
            return damaged(format!("{written} values where there are {count}"));
        }
        Ok(())
    }

    /// How many values there are by what stands before differences, if the page has them.
    fn delta_count(&self, page: &Page) -> Option<u64> {
        if !matches!(
            page.encoding(),
            Encoding::DELTA_BINARY_PACKED
                | Encoding::DELTA_LENGTH_BYTE_ARRAY
                | Encoding::DELTA_BYTE_ARRAY
        ) {
            return None;
        }
        let mut bytes: &[u8] = page.buffer();
        match page {
            Page::DataPageV2 {
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                bytes = bytes.get(usize::try_from(levels).ok()?..)?;
            }
            _ => {
                for _ in 0..self.levels {
                    let (len, rest) = bytes.split_first_chunk()?;
                    bytes = rest.get(u32::from_le_bytes(*len) as usize..)?;
                }
            }
        }
        // The size of a block, its parts, and then the number of values.
        super::footer::varint(&mut bytes)?;
        super::footer::varint(&mut bytes)?;
        super::footer::varint(&mut bytes)
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
