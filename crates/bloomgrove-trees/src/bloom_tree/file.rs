//! Trees in `.grove` files: saving, loading and mapping. FORMAT section 16.

use std::path::Path;

use super::{BloomTree, Level, TreeShape};
use bloomgrove::format::{Content, MappedWords, Notes};
use bloomgrove::raw::format::{Grove, Kind, Writer};
use bloomgrove::{Error, Params};

/// A tree in a memory-mapped file.
pub type MappedBloomTree = BloomTree<MappedWords>;

impl<S: AsRef<[u64]>> BloomTree<S> {
    /// Writes the tree to a file, uncompressed. The file is replaced atomically.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file. The old file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_with(path, &Notes::new())
    }

    /// Like [`save`](Self::save), with notes for the reader.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file.
    pub fn save_with(&self, path: impl AsRef<Path>, notes: &Notes) -> Result<(), Error> {
        let mut writer = Writer::create(path.as_ref(), Content::BloomTree)?;
        writer.section(Kind::Params, &self.shape.root().to_bytes())?;
        writer.section(Kind::Shape, &self.shape.to_bytes())?;
        writer.section(Kind::Notes, &notes.to_bytes())?;
        writer.words(self.words())?;
        writer.finish()?;
        Ok(())
    }
}

impl BloomTree {
    /// Reads a tree into memory and checks every byte of it.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let grove = Grove::open(path.as_ref(), Content::BloomTree)?;
        let load = || checked(&grove, shape_of(&grove)?, grove.load_words()?);
        load().map_err(|error| grove.locate(error))
    }
}

impl MappedBloomTree {
    /// Maps a tree of any size into memory, without reading its bits. Everything but the bits is
    /// checked; [`verify`](bloomgrove::verify()) checks those.
    ///
    /// ```
    /// # use bloomgrove_trees::bloom_tree::{BloomTree, MappedBloomTree, TreeShape};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("users.grove");
    /// let mut tree = BloomTree::new(TreeShape::for_items(1000, 1.0, &[4, 3], &[6, 3, 2])?)?;
    /// tree.insert("ada");
    /// tree.save(&path)?;
    ///
    /// let mapped = MappedBloomTree::map(&path)?;
    /// assert!(mapped.contains("ada"));
    /// assert!(mapped == tree);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn map(path: impl AsRef<Path>) -> Result<Self, Error> {
        let grove = Grove::open(path.as_ref(), Content::BloomTree)?;
        let map = || {
            grove.expect_jumps();
            checked(&grove, shape_of(&grove)?, grove.words()?)
        };
        map().map_err(|error| grove.locate(error))
    }
}

impl TreeShape {
    /// Everything but the root's [`Params`], as in a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let head = [self.depth() as u8, u8::from(self.is_partitioned())];
        let lower = self.levels()[1..].iter();
        // Both fit: a filter below the root has at most one word.
        let levels = lower.flat_map(|level| [level.bits as u8, level.hashes as u8]);
        head.into_iter().chain(levels).collect()
    }

    /// The shape of a tree with this root, decoded from `bytes`.
    ///
    /// # Errors
    /// A description of what is wrong with them.
    pub(crate) fn from_bytes(root: Params, bytes: &[u8]) -> Result<Self, String> {
        let (Some((&[depth, partitioned], lower)), true) =
            (bytes.split_first_chunk(), bytes.len().is_multiple_of(2))
        else {
            return Err(format!("{} bytes are not a shape", bytes.len()));
        };
        if lower.len() / 2 + 1 != usize::from(depth) {
            return Err(format!(
                "{depth} levels declared, but {} present",
                lower.len() / 2 + 1
            ));
        }
        let partitioned = match partitioned {
            0 => false,
            1 => true,
            other => {
                return Err(format!("its partitioning, {other}, is unknown"));
            }
        };
        let top = Level {
            bits: root.bits(),
            hashes: root.hashes(),
        };
        let lower = lower.chunks_exact(2).map(|level| Level {
            bits: u64::from(level[0]),
            hashes: u32::from(level[1]),
        });
        let levels = std::iter::once(top).chain(lower).collect();
        Self::of(root, levels, partitioned).map_err(|error| match error {
            Error::Params { what } => what,
            other => other.to_string(),
        })
    }
}

fn shape_of(grove: &Grove<'_>) -> Result<TreeShape, Error> {
    let corrupt = |what| Error::corrupt(Kind::Shape.name(), grove.offset(Kind::Shape), what);
    TreeShape::from_bytes(grove.params()?, grove.small(Kind::Shape)?).map_err(corrupt)
}

/// Combines the two, if they match.
fn checked<S: AsRef<[u64]>>(
    grove: &Grove<'_>,
    shape: TreeShape,
    words: S,
) -> Result<BloomTree<S>, Error> {
    let corrupt = |error: Error| {
        let bits = Kind::Bits;
        Error::corrupt(bits.name(), grove.offset(bits), error.to_string())
    };
    BloomTree::from_words(shape, words).map_err(corrupt)
}

/// The part of `verify` for trees.
pub(crate) fn check_file(grove: &Grove<'_>) -> Result<(), Error> {
    Notes::of(grove)?;
    checked(grove, shape_of(grove)?, grove.words()?).map(|_| ())
}
