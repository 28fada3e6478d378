//! May the footer be parsed at all?
//!
//! The footer is a tree of fields (Thrift, compact protocol), and the parser trusts two
//! things in it that a damaged or hostile file can have wrong: a group of the schema says how
//! many columns it holds, for which memory is taken at once, and groups may be inside
//! groups, for which the parser calls itself. Both end the program, and neither can be
//! caught. So the schema is walked here first: the groups must hold what there is, and may
//! be a hundred deep.
//!
//! ```text
//!   | pages ... | footer | length, 4 | "PAR1" |
//!                 field 2: list of schema elements, each with field 5: children
//! ```

use anyhow::{Context, Result, bail};
use bloomgrove::raw::codec::varint;

use super::source::Source;

/// How deep columns, and the fields of the footer, may lie inside each other.
const DEEPEST: usize = 100;

const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

pub(super) fn check(file: &Source) -> Result<()> {
    let (mut tail, size) = ([0; 8], file.size());
    let end = size
        .checked_sub(8)
        .context("not a Parquet file, or truncated: it is too short")?;
    file.read_exact_at(&mut tail, end).context("reading")?;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => bail!("this Parquet file is encrypted; decrypt it first"),
        _ => bail!("not a Parquet file, or truncated: it does not end in PAR1"),
    }
    let [a, b, c, d, ..] = tail;
    let len = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = end.checked_sub(len) else {
        bail!("damaged: a footer of {len} bytes in a file of {size}");
    };
    let mut footer = vec![0; len as usize];
    file.read_exact_at(&mut footer, start).context("reading")?;
    let mut walk = Walk { bytes: &footer };
    walk.file().context("the footer is damaged")
}

pub(super) struct Walk<'f> {
    pub(super) bytes: &'f [u8],
}

impl Walk<'_> {
    fn file(&mut self) -> Option<()> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            if id == SCHEMA && kind == LIST {
                return self.schema();
            }
            self.skip(kind, 0)?;
        }
        // Without a schema: the parser says so.
        Some(())
    }

    /// The elements are a tree written from the top, each before its children.
    fn schema(&mut self) -> Option<()> {
        let (kind, count) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // How many children are still to come, at every depth.
        let mut open: Vec<u64> = Vec::new();
        for at in 0..count {
            let children = self.element()?;
            if at > 0 {
                *open.last_mut()? -= 1;
            }
            if children > count - at - 1 || open.len() > DEEPEST {
                return None;
            }
            open.push(children);
            while open.last() == Some(&0) {
                open.pop();
            }
        }
        open.is_empty().then_some(())
    }

    fn element(&mut self) -> Option<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == CHILDREN && kind == I32 {
                children = u64::try_from(zigzag(number(&mut self.bytes)?)).ok()?;
            } else {
                self.skip(kind, 0)?;
            }
        }
        Some(children)
    }

    /// The type of the next field of a struct, and its number; none at the end.
    pub(super) fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        let (step, kind) = (byte >> 4, byte & 0xf);
        if kind == 0 {
            return Some(None);
        }
        *id = match step {
            0 => zigzag(number(&mut self.bytes)?),
            step => id.checked_add(i64::from(step))?,
        };
        Some(Some(kind))
    }

    fn list(&mut self) -> Option<(u8, u64)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => number(&mut self.bytes)?,
            count => u64::from(count),
        };
        Some((byte & 0xf, count))
    }

    pub(super) fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.byte()?),
            I16 | I32 | I64 => drop(number(&mut self.bytes)?),
            DOUBLE => self.pass(8)?,
            BINARY => {
                let len = number(&mut self.bytes)?;
                self.pass(len)?;
            }
            LIST | SET => {
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    match kind {
                        // In a list these two have a byte of their own.
                        TRUE | FALSE => drop(self.byte()?),
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            // Parquet has no maps.
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
pub(super) const STRUCT: u8 = 12;

/// A number, as any writer may have spelled it.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    varint::take_padded(bytes).ok()
}

/// Signed numbers are 0, -1, 1, -2, ... in this order.
pub(super) fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a schema whose elements have these numbers of children.
    fn footer(children: &[i32]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xf0 | STRUCT];
        varint::put(&mut bytes, children.len() as u64);
        for &children in children {
            bytes.push(0x50 | I32);
            varint::put(
                &mut bytes,
                u64::from((children << 1).cast_unsigned() ^ (children >> 31).cast_unsigned()),
            );
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    fn passes(footer: &[u8]) -> bool {
        Walk { bytes: footer }.file().is_some()
    }

    #[test]
    fn groups_hold_what_there_is() {
        for (children, right) in [
            (vec![1, 0], true),
            (vec![2, 0, 0], true),
            (vec![2, 1, 0, 0], true),
            (vec![0], true),
            (vec![2, 0], false),
            (vec![1, 0, 0], false),
            (vec![1, i32::MAX], false),
            (vec![1, -1], false),
            ([vec![1; 90], vec![0]].concat(), true),
            ([vec![1; 5000], vec![0]].concat(), false),
        ] {
            let bytes = footer(&children);
            assert_eq!(passes(&bytes), right, "{children:?}");
            // Without its end it is damaged, wherever it was cut; the end is not read.
            for len in 0..bytes.len() - 1 {
                assert!(!passes(&bytes[..len]), "{children:?} cut at {len}");
            }
        }
    }

    #[test]
    fn structs_within_structs_end_the_walk_and_not_the_program() {
        assert!(!passes(&[0x10 | STRUCT].repeat(1 << 20)));
        assert!(!passes(&[0x19].repeat(1 << 20)));
    }
}
