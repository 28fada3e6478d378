//! An index on disk: opened through a memory map, changed at its end.
//!
//! ```text
//!   | header | bits | labels | MANIFEST | COMMIT | bits | labels | MANIFEST | COMMIT |
//!              segment 0                           segment 1
//! ```
//!
//! Every [`commit`](IndexFile::commit) writes what is new as a segment, and a manifest that
//! says which segments make up the index now and which of their slots are live. A crash at
//! any moment leaves the state of the last commit.
//!
//! Segments would become many, so a commit writes the small ones at the end together with
//! the new one: each is kept at least twice as large as all behind it, which makes O(log N)
//! of them and writes each filter O(log N) times. What is no longer used stays in the file
//! until it is more than what is used; then the file is written anew, and replaced as a
//! whole.

mod change;
mod manifest;
mod pack;
mod whole;

pub(super) use manifest::Home;
pub(crate) use whole::check_file;
pub use whole::open_checked;

use std::ops::Deref;
use std::path::Path;

use manifest::{Manifest, Record};

use super::body::Shape;
use super::directory::Place;
use super::segment::Segment;
use super::{Class, Duplicates, Index, Set, fresh_epoch};
use crate::format::{Content, Growing, Origin, Writer, lock_target};
use crate::{Error, Filter};

/// Below this size nobody minds what is no longer used.
const SMALL_FILE: u64 = 1 << 20;
/// Nobody else may write to an index that nobody named: it would not be trusted.
const PRIVATE: u32 = 0o755;
/// Around the two sections of a segment.
const PADDING: u64 = 2 * 4096;

/// An index in a file, to be changed. It answers as the [`Index`] it holds, and has its changes; what
/// has been changed is in the file, and safe there, after [`commit`](Self::commit).
///
/// ```
/// use bloomgrove::{Filter, Params};
/// use bloomgrove::index::{Index, IndexFile};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sites.grove");
///
/// let params = Params::for_items(100, 0.01)?;
/// Index::new(params.clone()).save(&path)?;
///
/// let mut file = IndexFile::open(&path)?;
/// let mut filter = Filter::new(params)?;
/// filter.insert("apple");
/// file.add("north", &filter)?;
/// file.commit()?;
///
/// assert_eq!(Index::open(&path)?.count("apple"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The index itself cannot be taken out or put in: what a commit writes of it holds for this file only.
///
/// ```compile_fail,E0596
/// # use bloomgrove::index::IndexFile;
/// fn mix_up(one: &mut IndexFile, other: &mut IndexFile) {
///     std::mem::swap(&mut **one, &mut **other);
/// }
/// ```
#[derive(Debug)]
pub struct IndexFile {
    index: Index,
    file: Growing,
}

impl Deref for IndexFile {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

impl IndexFile {
    /// Opens an index to be changed, and keeps others from changing it meanwhile. They can
    /// go on asking it.
    ///
    /// # Errors
    /// As [`Index::open`]; [`Error::Busy`] while another process has it open to change.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open_from(path.as_ref(), Origin::Named)
    }

    /// Saves an index to a file, whole, and opens that to be changed.
    ///
    /// # Errors
    /// As [`Index::save`] and [`open`](Self::open).
    pub fn create(path: impl AsRef<Path>, index: &Index) -> Result<Self, Error> {
        create_from(path.as_ref(), index, Origin::Named, None)
    }

    /// Whoever calls this holds the lock of the file that is there.
    fn write_anew(
        path: &Path,
        index: &Index,
        origin: Origin,
        mode: Option<u32>,
    ) -> Result<Self, Error> {
        let mut writer = Writer::create_at(path, Content::Index, origin)?;
        #[cfg(unix)]
        if let Some(mode) = mode {
            writer.restrict(mode)?;
        }
        #[cfg(not(unix))]
        let _ = mode;
        writer.lock()?;
        index.write_whole(&mut writer)?;
        let file = Growing::of_file(path, writer.persist()?, Content::Index, origin)
            .map_err(Error::in_file(path))?;
        let index = Index::of(&file).map_err(Error::in_file(path))?;
        Ok(Self { index, file })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// How many bytes of filters the next commit has to write at least: they are in memory.
    pub fn pending_bytes(&self) -> u64 {
        let pending = self.index.all_segments();
        let pending = pending.filter(|(_, segment)| segment.home().is_none());
        pending.map(|(_, segment)| segment.bytes()).sum()
    }

    /// Writes all changes to the file. When this returns they are on disk, and are there
    /// after a crash; if it fails, the file is as it was and they are still in memory.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file; [`Error::Replaced`] when another program has put
    /// another file in its place.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.check_current()?;
        for class in &mut self.index.classes {
            // Empty ones are of no use, and would never go away.
            let before = class.segments.len();
            class.segments.retain(|segment| segment.len() > 0);
            if class.segments.len() < before {
                self.index.directory.take();
            }
        }
        self.index.epoch = fresh_epoch();
        // There may be no room, or no right, to write it anew: then it just grows.
        if self.is_wasteful() && self.compact().is_ok() {
            return Ok(());
        }
        let kept: Vec<usize> = self.index.classes.iter().map(Class::kept).collect();
        let append = || {
            let mut writer = self.file.append()?;
            let mut records = Vec::new();
            for (c, class) in self.index.classes.iter().enumerate() {
                for segment in &class.segments[..kept[c]] {
                    records.extend(segment.home().map(|home| Record {
                        class: c,
                        home,
                        live: segment.live().to_vec(),
                    }));
                }
                let rest: Vec<&Segment> = class.segments[kept[c]..].iter().collect();
                records.extend(self.index.write_segments(&mut writer, c, class, &rest)?);
            }
            let manifest = self.index.manifest(records);
            let number = self.file.number() + 1;
            let end = writer.commit(number, &manifest.to_bytes())?;
            Ok((manifest, number, end))
        };
        let (manifest, number, end) = append()?;
        // It is safe now, whatever follows. What cannot be mapped stays in memory, and is
        // written once more by the next commit.
        let _ = self
            .file
            .advance(end, number)
            .and_then(|()| self.take_in(manifest, &kept));
        Ok(())
    }

    /// That nobody has put another file in the place of this one, where our changes would
    /// never be seen.
    fn check_current(&self) -> Result<(), Error> {
        match self.file.is_current() {
            true => Ok(()),
            false => Err(Error::in_file(self.file.path())(Error::Replaced)),
        }
    }

    /// Adds all sets of another index, with a commit whenever `budget` bytes have come
    /// together: of any size. A set that is new here gets the tag that `tag` makes for it.
    ///
    /// # Errors
    /// As [`Index::merge`] and [`commit`](Self::commit). Sets that were committed stay.
    pub fn merge_in_parts(
        &mut self,
        other: &Index,
        duplicates: Duplicates,
        budget: u64,
        mut tag: impl FnMut(&Set<'_>) -> Vec<u8>,
    ) -> Result<(), Error> {
        self.index.check_merge(other, duplicates)?;
        for (class, segment) in other.all_segments() {
            segment.each_filter(|slot, words| {
                let filter = Filter::from_words(class.params.clone(), words)?;
                let tag = tag(&segment.set(slot));
                self.index.take_over(segment, slot, &filter, &tag)?;
                if self.pending_bytes() > budget {
                    self.commit()?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Puts the segments that were just written in the place of those in memory, behind the
    /// `kept` ones of each class.
    fn take_in(&mut self, manifest: Manifest, kept: &[usize]) -> Result<(), Error> {
        for (c, class) in self.index.classes.iter_mut().enumerate() {
            let records = manifest.segments.iter().filter(|record| record.class == c);
            let opened = records
                .skip(kept[c])
                .map(|record| pack::open(&self.file, &class.params, record));
            let opened: Vec<Segment> = opened.collect::<Result<_, _>>()?;
            class.segments.truncate(kept[c]);
            class.segments.extend(opened);
            // Only these have moved: with very many sets, finding all names again would take
            // far longer than the commit.
            let Some(directory) = self.index.directory.get_mut() else {
                continue;
            };
            for (s, segment) in class.segments.iter().enumerate().skip(kept[c]) {
                for slot in segment.slots() {
                    let (set, slice) = (segment.set(slot), segment.label(slot).slice());
                    let place = Place {
                        class: c,
                        segment: s,
                        slot,
                    };
                    directory.add(set.name(), set.id(), slice, place);
                }
            }
        }
        Ok(())
    }

    /// Writes the file anew, with one segment for each class (and the sealed ones), and
    /// without what is no longer used. Whoever has the old one open can go on asking it.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file, and [`Error::Replaced`]. The file is then as it was.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.check_current()?;
        let origin = self.file.origin();
        *self = Self::write_anew(self.file.path(), &self.index, origin, None)?;
        Ok(())
    }

    /// Whether more of the file is out of use than in use.
    fn is_wasteful(&self) -> bool {
        let used: u64 = self
            .index
            .all_segments()
            .filter(|(_, segment)| segment.home().is_some())
            .map(|(_, segment)| {
                // What is dead in a segment is as good as gone.
                let all = segment.bytes() + segment.labels().bytes();
                let share = segment.len() as f64 / segment.slot_count().max(1) as f64;
                (all as f64 * share) as u64 + PADDING
            })
            .sum();
        self.file.end() > SMALL_FILE.max(2 * used)
    }
}

/// As [`IndexFile::open`]. An index that nobody named ([`Origin::Implicit`]) lies where a
/// program always looks, beside data that may have come from anywhere: links are not
/// followed, and a file that others own, can write to or have under another name is refused.
pub fn open_from(path: &Path, origin: Origin) -> Result<IndexFile, Error> {
    let file = Growing::open_to_change(path, Content::Index, origin)?;
    let index = Index::of(&file).map_err(Error::in_file(path))?;
    Ok(IndexFile { index, file })
}

/// As [`IndexFile::create`], for nobody whom this mode (as of `chmod`) does not let
/// read: an index tells much of its sets. Nobody else can write to one that nobody named.
pub fn create_from(
    path: &Path,
    index: &Index,
    origin: Origin,
    mode: Option<u32>,
) -> Result<IndexFile, Error> {
    let mode = match origin {
        Origin::Named => mode,
        Origin::Implicit => mode.map(|mode| mode & PRIVATE),
    };
    let _nobody_else = lock_target(path, origin).map_err(Error::in_file(path))?;
    IndexFile::write_anew(path, index, origin, mode)
}

/// Lets nobody read or write the file from now on whom this mode does not let.
///
/// # Errors
/// [`Error::Io`], naming the file.
#[cfg(unix)]
pub fn restrict(file: &IndexFile, mode: u32) -> Result<(), Error> {
    file.file.restrict(mode)
}

impl Class {
    /// How many segments stay where they are in the file: the rest is written together, so
    /// that each is at least twice as large as all behind it.
    fn kept(&self) -> usize {
        let in_file = |segment: &Segment| segment.home().is_some();
        let mut kept = self.segments.iter().take_while(|s| in_file(s)).count();
        if kept == self.segments.len() {
            return kept;
        }
        let mut behind: usize = self.segments[kept..].iter().map(Segment::len).sum();
        while kept > 0 {
            let last = &self.segments[kept - 1];
            // A sealed one stays as it is.
            if last.shape() == Shape::Sealed || last.len() >= 2 * behind {
                break;
            }
            behind += last.len();
            kept -= 1;
        }
        kept
    }
}
