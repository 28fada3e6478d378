//! Bloofi trees in `.grove` files, which are saved and loaded as a whole. FORMAT section 19.
//!
//! A file contains the filters of the leaves, their names, and the number of children of each inner
//! node. The values of inner nodes are computed again on loading: this halves the size, and nothing
//! in the file can contradict the leaves.

use std::io::Write;
use std::path::Path;

use super::nodes::NONE;
use super::{Bloofi, BloofiOptions, Metric, NamedBloofi};
use bloomgrove::format::{Content, Notes};
use bloomgrove::raw::format::{Grove, Kind, Writer};
use bloomgrove::{Error, Filter, Params};

/// Bytes of SHAPE before the numbers of children.
const HEAD: usize = 16;

impl NamedBloofi {
    /// Writes the tree to a file, which is replaced atomically.
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
        let mut writer = Writer::create(path.as_ref(), Content::Bloofi)?;
        self.write_sections(&mut writer, notes)?;
        writer.finish()?;
        Ok(())
    }

    /// Writes the bytes that [`save`](Self::save) would write to a file.
    ///
    /// # Errors
    /// [`Error::Io`] if writing to `out` fails.
    pub fn write_to(&self, out: impl Write) -> Result<(), Error> {
        let mut writer = Writer::stream(out, Content::Bloofi)?;
        self.write_sections(&mut writer, &Notes::new())?;
        writer.flush()
    }

    fn write_sections(&self, writer: &mut Writer<impl Write>, notes: &Notes) -> Result<(), Error> {
        let leaves = self.tree.leaves_in_order();
        writer.section(Kind::Params, &self.tree.params.to_bytes())?;
        writer.section(Kind::Shape, &self.tree.shape_bytes())?;
        writer.section(Kind::Names, &self.name_bytes(&leaves)?)?;
        writer.section(Kind::Notes, &notes.to_bytes())?;
        writer.words_of(leaves.iter().map(|&leaf| self.tree.nodes.value(leaf)))
    }

    /// The lengths of the names, followed by the names.
    fn name_bytes(&self, leaves: &[u32]) -> Result<Vec<u8>, Error> {
        let names = || {
            let slots = leaves.iter().map(|&leaf| self.tree.nodes.slot(leaf));
            slots.map(|slot| &self.names[slot as usize])
        };
        let mut bytes = Vec::new();
        for name in names() {
            let len = u32::try_from(name.len());
            let len = len.map_err(|_| Error::params("the name of a set is 4 GiB or longer"))?;
            bytes.extend(len.to_le_bytes());
        }
        names().for_each(|name| bytes.extend(name));
        Ok(bytes)
    }

    /// Reads a tree into memory and checks every byte of it.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(&Grove::open(path.as_ref(), Content::Bloofi)?)
    }

    /// Like [`load`](Self::load), from the bytes of a file.
    ///
    /// # Errors
    /// If they are damaged, or those of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::of(&Grove::of_bytes(bytes, Content::Bloofi)?)
    }

    fn of(grove: &Grove<'_>) -> Result<Self, Error> {
        Self::read(grove).map_err(|error| grove.locate(error))
    }

    /// Like [`load`](Self::load), but errors do not name the file.
    pub(crate) fn read(grove: &Grove<'_>) -> Result<Self, Error> {
        Notes::of(grove)?;
        let params = grove.params()?;
        let corrupt =
            |kind: Kind| move |what: String| Error::corrupt(kind.name(), grove.offset(kind), what);
        let shape = Shape::from_bytes(grove.small(Kind::Shape)?).map_err(corrupt(Kind::Shape))?;
        let names = names(grove.small(Kind::Names)?, shape.leaves).map_err(corrupt(Kind::Names))?;
        let words = grove.load_words()?;
        let tree = Bloofi::assemble(params, &shape, words.as_ref());
        let tree = tree.map_err(|error| match error {
            Error::Params { what } => corrupt(Kind::Bits)(what),
            other => other,
        })?;
        Self::of_tree(tree, names).map_err(|error| corrupt(Kind::Names)(error.to_string()))
    }
}

/// Options, and the number of children of each inner node.
struct Shape {
    options: BloofiOptions,
    leaves: u64,
    /// For the nodes of each level, from the root down.
    levels: Vec<Vec<u32>>,
}

impl Shape {
    /// # Errors
    /// A description of what is wrong with the bytes.
    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let Some((head, counts)) = bytes.split_first_chunk::<HEAD>() else {
            return Err(format!("{} bytes are too few", bytes.len()));
        };
        let [
            a,
            b,
            c,
            d,
            metric,
            split,
            zeros @ ..,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
        ] = *head;
        let order = u32::from_le_bytes([a, b, c, d]) as usize;
        let leaves = u64::from_le_bytes(*head.last_chunk().unwrap_or(&[0; 8]));
        let metric = [Metric::Hamming, Metric::Jaccard, Metric::Cosine]
            .into_iter()
            .find(|known| known.code() == metric)
            .ok_or_else(|| format!("metric {metric} is unknown"))?;
        if split > 1 || zeros != [0; 2] {
            return Err("a reserved field is not zero".into());
        }
        let (counts, []) = counts.as_chunks::<4>() else {
            return Err("it ends inside a number".into());
        };
        let options = BloofiOptions::default()
            .order(order)
            .metric(metric)
            .split_full(split == 1);
        options.check().map_err(|error| error.to_string())?;
        let mut counts = counts.iter().map(|count| u32::from_le_bytes(*count));
        let mut levels: Vec<Vec<u32>> = Vec::new();
        let mut width = leaves.min(1);
        while counts.len() > 0 {
            if !(1..=counts.len() as u64).contains(&width) {
                return Err(format!("it ends inside a level of {width} nodes"));
            }
            let level: Vec<u32> = counts.by_ref().take(width as usize).collect();
            let least = if levels.is_empty() { 2 } else { order as u32 };
            let most = match options.split_full {
                true => 2 * order as u32,
                false => u32::MAX,
            };
            if let Some(count) = level.iter().find(|count| !(least..=most).contains(count)) {
                return Err(format!(
                    "a node of a tree of order {order} has {count} children"
                ));
            }
            // There are at most as many numbers as the file has bytes, so the sum cannot overflow.
            width = level.iter().map(|&count| u64::from(count)).sum();
            levels.push(level);
        }
        if width != leaves || leaves >= NONE.into() {
            return Err(format!(
                "it has room for {width} leaves, but there are {leaves}"
            ));
        }
        Ok(Self {
            options,
            leaves,
            levels,
        })
    }
}

impl Metric {
    fn code(self) -> u8 {
        match self {
            Metric::Hamming => 0,
            Metric::Jaccard => 1,
            Metric::Cosine => 2,
        }
    }
}

impl Bloofi {
    fn shape_bytes(&self) -> Vec<u8> {
        let BloofiOptions {
            order,
            metric,
            split_full,
        } = self.options;
        // At most 2^16.
        let mut bytes = (order as u32).to_le_bytes().to_vec();
        bytes.extend([metric.code(), split_full.into(), 0, 0]);
        bytes.extend((self.len() as u64).to_le_bytes());
        let mut level: Vec<u32> = vec![self.root];
        for _ in 0..self.height {
            let children = || level.iter().map(|&node| self.nodes.children(node));
            children().for_each(|below| bytes.extend((below.len() as u32).to_le_bytes()));
            level = children().flatten().copied().collect();
        }
        bytes
    }

    /// The tree of this shape, with the concatenated filters of its leaves.
    fn assemble(params: Params, shape: &Shape, words: &[u64]) -> Result<Self, Error> {
        let wanted = shape.leaves.checked_mul(params.words() as u64);
        if wanted != Some(words.len() as u64) {
            return Err(Error::params(format!(
                "{} words for {} leaves of {}",
                words.len(),
                shape.leaves,
                params.words()
            )));
        }
        let mut tree = Self::new(params, shape.options)?;
        let inner: usize = shape.levels.iter().map(Vec::len).sum();
        tree.nodes.reserve(shape.leaves as usize + inner)?;
        let mut level = Vec::with_capacity(shape.leaves as usize);
        for (slot, words) in (0..).zip(words.chunks_exact(tree.params.words())) {
            Filter::from_words(tree.params.clone(), words)?;
            level.push(tree.add_leaf(slot, words)?);
        }
        for counts in shape.levels.iter().rev() {
            let mut below = &level[..];
            let mut parents = Vec::with_capacity(counts.len());
            for &count in counts {
                let (children, others) = below.split_at(count as usize);
                parents.push(tree.parent_of(children));
                below = others;
            }
            level = parents;
        }
        tree.root = level.first().copied().unwrap_or(NONE);
        tree.height = shape.levels.len() as u32;
        Ok(tree)
    }
}

/// The names of this many leaves.
fn names(bytes: &[u8], leaves: u64) -> Result<Vec<Vec<u8>>, String> {
    let cut = || "it ends inside a name".to_owned();
    let lengths = usize::try_from(leaves).ok();
    let lengths = lengths.and_then(|leaves| bytes.split_at_checked(leaves.checked_mul(4)?));
    let (lengths, mut text) = lengths.ok_or_else(cut)?;
    let (lengths, _) = lengths.as_chunks::<4>();
    let mut names = Vec::with_capacity(lengths.len());
    for len in lengths {
        let split = text.split_at_checked(u32::from_le_bytes(*len) as usize);
        let (name, others) = split.ok_or_else(cut)?;
        names.push(name.to_vec());
        text = others;
    }
    match text {
        [] => Ok(names),
        more => Err(format!("{} bytes after the last name", more.len())),
    }
}
