//! The pages of a column, as far as they can be true.
//!
//! A page says how many values it holds, and the decoder takes memory for that many before
//! it looks for them. A damaged number must not end the program for want of memory, so it
//! is compared with what the page and the footer leave room for.

use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::schema::types::ColumnDescPtr;

use super::footer::number;

pub(crate) struct Checked {
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
        match self.deltas_fit(page, count) {
            true => Ok(()),
            false => damaged(format!(
                "its lengths or differences are not those of {count} values"
            )),
        }
    }

    /// Whether the numbers of differences in the page are at most `count`; true if it has
    /// none.
    fn deltas_fit(&self, page: &Page, count: u64) -> bool {
        let more = match page.encoding() {
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => false,
            // What the values share with those before them, and then the lengths of the rest.
            Encoding::DELTA_BYTE_ARRAY => true,
            _ => return true,
        };
        match self.values(page) {
            // Only nulls, or damage that the decoder sees before it takes memory.
            None | Some([]) => true,
            Some(mut bytes) => {
                let fits = |found: Option<u64>| found.is_some_and(|found| found <= count);
                (!more || fits(pass_deltas(&mut bytes)))
                    && fits(deltas(&mut bytes).map(|deltas| deltas.count))
            }
        }
    }

    /// The page after its levels.
    fn values<'p>(&self, page: &'p Page) -> Option<&'p [u8]> {
        let mut bytes: &[u8] = page.buffer();
        match page {
            Page::DataPageV2 {
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                bytes.get(usize::try_from(levels).ok()?..)
            }
            _ => {
                for _ in 0..self.levels {
                    let (len, rest) = bytes.split_first_chunk()?;
                    bytes = rest.get(u32::from_le_bytes(*len) as usize..)?;
                }
                Some(bytes)
            }
        }
    }
}

/// What stands before differences.
struct Deltas {
    /// Differences to a part of a block, and parts to a block.
    part: u64,
    parts: usize,
    count: u64,
}

fn deltas(bytes: &mut &[u8]) -> Option<Deltas> {
    let (block, parts, count) = (number(bytes)?, number(bytes)?, number(bytes)?);
    let _first = number(bytes)?;
    Some(Deltas {
        part: block.checked_div(parts).filter(|&part| part > 0)?,
        parts: usize::try_from(parts).ok()?,
        count,
    })
}

/// Moves `bytes` behind the differences they begin with. Returns how many there are.
///
/// ```text
///   | least | a width for each part | part | part | ...   a block; widths are in bits
/// ```
fn pass_deltas(bytes: &mut &[u8]) -> Option<u64> {
    let about = deltas(bytes)?;
    let mut left = about.count.saturating_sub(1);
    while left > 0 {
        let _least = number(bytes)?;
        let (widths, mut rest) = bytes.split_at_checked(about.parts)?;
        for width in widths {
            // Parts that are not needed have a width and nothing else.
            if left > 0 {
                let len = about.part.checked_mul(u64::from(*width))? / 8;
                rest = rest.get(usize::try_from(len).ok()?..)?;
                left = left.saturating_sub(about.part);
            }
        }
        *bytes = rest;
    }
    Some(about.count)
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
