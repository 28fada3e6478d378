//! BloomSampleTrees in `.grove` files, which are saved and loaded as a whole. FORMAT section 20.
//!
//! A file contains the filters of the leaves, and the names of a pruned tree. These determine the
//! nodes, and those above the leaves are computed again on loading: this hashes no names, which is
//! most of the time of building a tree.

use std::io::Write;
use std::path::Path;

use super::build::{Frame, insert_all};
use super::{BloomSampleTree, Span};
use bloomgrove::format::{Content, Notes};
use bloomgrove::raw::bits::Words;
use bloomgrove::raw::format::{Grove, Kind, Writer};
use bloomgrove::{Error, Filter};

/// Bytes of SHAPE before those of the leaves.
const HEAD: usize = 24;
/// Names that are hashed before their filter is checked.
const PIECE: usize = 4096;

impl BloomSampleTree {
    /// Writes the tree to a file, which is replaced atomically.
    ///
    /// ```
    /// use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;
    /// use bloomgrove::Params;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("names.grove");
    ///
    /// let params = Params::for_items(1000, 0.01)?;
    /// BloomSampleTree::pruned(&params, 0..1 << 40, 10, [7, 8])?.save(&path)?;
    ///
    /// let mut tree = BloomSampleTree::load(&path)?;
    /// assert!(tree.insert(1 << 39)?);
    /// assert!(tree.iter().eq([7, 8, 1 << 39]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`], naming the file. The old file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut writer = Writer::create(path.as_ref(), Content::BloomSampleTree)?;
        self.write_sections(&mut writer)?;
        writer.finish()?;
        Ok(())
    }

    /// Writes the bytes that [`save`](Self::save) would write to a file.
    ///
    /// # Errors
    /// [`Error::Io`] if writing to `out` fails.
    pub fn write_to(&self, out: impl Write) -> Result<(), Error> {
        let mut writer = Writer::stream(out, Content::BloomSampleTree)?;
        self.write_sections(&mut writer)?;
        writer.flush()
    }

    fn write_sections(&self, writer: &mut Writer<impl Write>) -> Result<(), Error> {
        let leaves = self.leaves();
        let names = self.names();
        let mut shape = [names.start.to_le_bytes(), names.end.to_le_bytes()].concat();
        shape.extend(self.span.depth.to_le_bytes());
        shape.extend(u32::from(self.pruned).to_le_bytes());
        // At most as many as there are hashes, which is 64.
        shape.extend(leaves.iter().map(|&leaf| self.nodes.get(leaf).least as u8));
        writer.section(Kind::Params, &self.params.to_bytes())?;
        writer.section(Kind::Shape, &shape)?;
        if self.pruned {
            let names: Vec<u8> = self.iter().flat_map(u64::to_le_bytes).collect();
            writer.section(Kind::Names, &names)?;
        }
        writer.words_of(leaves.iter().map(|&leaf| self.nodes.words(leaf)))
    }

    /// Reads a tree into memory and checks every byte of it.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(&Grove::open(path.as_ref(), Content::BloomSampleTree)?)
    }

    /// Like [`load`](Self::load), from the bytes of a file.
    ///
    /// # Errors
    /// If they are damaged, or those of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::of(&Grove::of_bytes(bytes, Content::BloomSampleTree)?)
    }

    fn of(grove: &Grove<'_>) -> Result<Self, Error> {
        Self::read(grove).map_err(|error| grove.locate(error))
    }

    /// Like [`load`](Self::load), but errors do not name the file.
    pub(crate) fn read(grove: &Grove<'_>) -> Result<Self, Error> {
        let corrupt = |kind: Kind, what: String| -> Error {
            Error::corrupt(kind.name(), grove.offset(kind), what)
        };
        Notes::of(grove)?;
        let params = grove.params()?;
        let shape = grove.small(Kind::Shape)?;
        let (span, pruned, least) = shape_of(shape).map_err(|what| corrupt(Kind::Shape, what))?;
        let names = match pruned {
            true => names_of(grove.small(Kind::Names)?, &span)
                .map_err(|what| corrupt(Kind::Names, what))?,
            false if grove.offset(Kind::Names) > 0 => {
                let what = "a complete tree must not list names";
                return Err(corrupt(Kind::Names, what.into()));
            }
            false => Vec::new(),
        };
        // Before their nodes are allocated.
        if !pruned && span.leaves() != least.len() as u64 {
            let what = format!("{} leaves, but {} expected", least.len(), span.leaves());
            return Err(corrupt(Kind::Shape, what));
        }
        let words = grove.load_words()?;
        if (least.len() as u64).checked_mul(params.words() as u64)
            != Some(words.as_ref().len() as u64)
        {
            let what = format!(
                "{} words for {} leaves of {}",
                words.as_ref().len(),
                least.len(),
                params.words()
            );
            return Err(corrupt(Kind::Bits, what));
        }
        let mut frame = match pruned {
            true => Frame::pruned(&params, &span, &names)?,
            false => Frame::complete(&params, &span)?,
        };
        if frame.leaf_count() != least.len() {
            let what = format!(
                "{} leaves, but {} have names",
                least.len(),
                frame.leaf_count()
            );
            return Err(corrupt(Kind::Shape, what));
        }
        let (leaf_words, nodes) = frame.leaves_mut();
        leaf_words.copy_from_slice(words.as_ref());
        let filters = leaf_words.chunks_exact(params.words());
        for ((node, filter), &least) in nodes.iter_mut().zip(filters).zip(least) {
            let filter = Filter::from_words(params.clone(), filter)
                .map_err(|error| corrupt(Kind::Bits, error.to_string()))?;
            if !(1..=params.hashes()).contains(&least.into()) {
                let what = format!("a name sets {least} bits of {} hashes", params.hashes());
                return Err(corrupt(Kind::Shape, what));
            }
            (node.ones, node.least) = (filter.count_ones(), least.into());
        }
        Ok(Self {
            params,
            span,
            pruned,
            nodes: frame.joined(),
        })
    }

    /// Checks that every leaf has the filter of its names: the part of `verify` that checksums do not
    /// cover.
    pub(crate) fn check_filters(&self) -> Result<(), Error> {
        let mut words = Words::zeroed(self.params.words())?;
        for (number, slot) in (0..).zip(self.leaves()) {
            let (node, wanted) = (self.nodes.get(slot), self.nodes.words(slot));
            let corrupt = || {
                let what = format!("leaf {number} does not have the filter of its names");
                Error::corrupt(Kind::Bits.name(), 0, what)
            };
            words.as_mut().fill(0);
            let mut least = u32::MAX;
            // In a pruned tree, a leaf lists its names, and they are not its range.
            let mut names = node
                .leaf_names(self.span.range(self.span.depth, number))
                .peekable();
            while names.peek().is_some() {
                let some = names.by_ref().take(PIECE);
                least = least.min(insert_all(&self.params, words.as_mut(), some));
                let is_more = |(one, all): (&u64, &u64)| one & !all != 0;
                // Fail at once: the namespace of a damaged file may be enormous.
                if words.as_ref().iter().zip(wanted).any(is_more) {
                    return Err(corrupt());
                }
            }
            if words.as_ref() != wanted || least != node.least {
                return Err(corrupt());
            }
        }
        Ok(())
    }
}

/// The namespace, whether the tree is pruned, and a byte per leaf.
///
/// # Errors
/// A description of what is wrong with the bytes.
fn shape_of(bytes: &[u8]) -> Result<(Span, bool, &[u8]), String> {
    let Some((head, leaves)) = bytes.split_first_chunk::<HEAD>() else {
        return Err(format!("{} bytes are too few", bytes.len()));
    };
    let (numbers, _) = head.as_chunks::<8>();
    let [start, end, last] = [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]));
    let pruned = match last >> 32 {
        0 => false,
        1 => true,
        other => return Err(format!("its pruning, {other}, is unknown")),
    };
    let span = Span::new(start..end, last as u32).map_err(|error| error.to_string())?;
    Ok((span, pruned, leaves))
}

/// Names of the span, in ascending order.
fn names_of(bytes: &[u8], span: &Span) -> Result<Vec<u64>, String> {
    let (numbers, []) = bytes.as_chunks::<8>() else {
        return Err("it ends inside a name".into());
    };
    let names: Vec<u64> = numbers
        .iter()
        .map(|name| u64::from_le_bytes(*name))
        .collect();
    if !names.is_sorted_by(|a, b| a < b) {
        return Err("its names are not in ascending order".into());
    }
    for name in names.first().into_iter().chain(names.last()) {
        span.check(*name).map_err(|error| error.to_string())?;
    }
    Ok(names)
}
