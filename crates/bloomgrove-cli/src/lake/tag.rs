//! What a lake index stores with each of its sets: FORMAT section 21.

use crate::shared::keys::parquet::Spelling;

const MARK: &[u8; 4] = b"LAKE";

/// Of the filter of one column in one row group of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    pub(super) group: u32,
    /// The number of the column among those of the index.
    pub(super) column: u32,
    /// How many sets the file has. If some are missing, the file is read.
    pub(super) sets: u32,
    pub(super) origin: Origin,
    /// The type of the column in this file.
    pub(super) spelling: Spelling,
    /// The file had this version when it was read: where it is local, its stamp.
    pub(super) version: &'t [u8],
    /// The path of the file from the directory of the table.
    pub(super) path: &'t [u8],
}

/// Where a filter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Origin {
    /// We read the values: its keys are texts.
    Values,
    /// It was in the file: its keys are values as they are stored.
    Footer,
    /// The file has nothing to look for: no rows, or none of the columns.
    Nothing,
}

impl<'t> Tag<'t> {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = MARK.to_vec();
        for number in [self.group, self.column, self.sets] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.push(self.origin as u8);
        bytes.extend(self.spelling.to_bytes());
        bytes.push(self.version.len() as u8);
        bytes.extend(self.version);
        bytes.extend(self.path);
        bytes
    }

    /// None if the set is not one of a lake index.
    pub(super) fn from_bytes(bytes: &'t [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MARK)?;
        let (group, rest) = rest.split_first_chunk()?;
        let (column, rest) = rest.split_first_chunk()?;
        let (sets, rest) = rest.split_first_chunk()?;
        let (&origin, rest) = rest.split_first()?;
        let (spelling, rest) = rest.split_first_chunk()?;
        let (&len, rest) = rest.split_first()?;
        let (version, path) = rest.split_at_checked(usize::from(len))?;
        Some(Self {
            group: u32::from_le_bytes(*group),
            column: u32::from_le_bytes(*column),
            sets: u32::from_le_bytes(*sets),
            origin: match origin {
                0 => Origin::Values,
                1 => Origin::Footer,
                2 => Origin::Nothing,
                _ => return None,
            },
            spelling: Spelling::from_bytes(*spelling)?,
            version,
            path,
        })
    }

    /// The name of the set: no path contains a NUL byte.
    pub(super) fn name(&self) -> Vec<u8> {
        let place = format!("\0{}\0{}", self.group, self.column);
        [self.path, place.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::keys::parquet::Spelling;

    #[test]
    fn tags_are_read_as_they_were_written() {
        let codes = [
            [0, 0, 0, 0, 0, 0],
            [1, 3, 0, 0, 0, 0],
            [2, 4, 6, 1, 0, 0],
            [3, 0, 0, 0, 0, 0],
            [4, 5, 0, 0, 16, 0],
            [4, 2, 38, 0, 16, 0],
        ];
        for code in codes {
            let tag = Tag {
                group: 3,
                column: 1,
                sets: 8,
                origin: Origin::Footer,
                spelling: Spelling::from_bytes(code).unwrap(),
                version: &[1; 32],
                path: b"day=1/part-0.parquet",
            };
            let bytes = tag.to_bytes();
            assert_eq!(Tag::from_bytes(&bytes), Some(tag));
            for len in 0..bytes.len() - tag.path.len() {
                assert_eq!(Tag::from_bytes(&bytes[..len]), None);
            }
        }
        // Types that we do not write.
        for code in [
            [5, 0, 0, 0, 0, 0],
            [1, 5, 0, 0, 0, 0],
            [2, 4, 4, 0, 0, 0],
            [2, 2, 39, 0, 0, 0],
            [0, 1, 0, 0, 0, 0],
        ] {
            assert_eq!(Spelling::from_bytes(code), None, "{code:?}");
        }
    }
}
