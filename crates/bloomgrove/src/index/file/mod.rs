//! An index on disk: opened as a memory map, changed by appending.
//!
//! ```text
//!   | header | bits | labels | MANIFEST | COMMIT | bits | labels | MANIFEST | COMMIT |
//!              segment 0                           segment 1
//! ```
//!
//! Every [`commit`](IndexFile::commit) writes new filters as a segment, and a manifest that lists
//! the segments of the index and which of their slots are live. A crash at any time leaves the
//! state of the last commit.
//!
//! To keep the number of segments low, a commit merges the small ones at the end with the new one:
//! each is kept at least twice as large as all that follow it. This results in O(log N) segments,
//! and each filter is written O(log N) times. Data that is no longer used stays in the file until
//! it exceeds the data in use. Then the file is rewritten and atomically replaced.

mod change;
mod manifest;
mod pack;
mod whole;

pub(super) use manifest::Home;
pub(crate) use whole::check_file;
pub use whole::{open_checked, open_unchecked};

use std::ops::Deref;
use std::path::Path;

use manifest::{Manifest, Record};

use super::body::Shape;
use super::directory::Place;
use super::segment::Segment;
use super::{Class, Duplicates, Index, Set, fresh_epoch};
use crate::format::{Content, Growing, Origin, Writer, lock_target};
use crate::{Error, Filter};

/// Below this size, unused data does not matter.
const SMALL_FILE: u64 = 1 << 20;
/// An implicit index must not be writable by others, or it would not be trusted.
const PRIVATE: u32 = 0o755;
/// The padding around the two sections of a segment.
const PADDING: u64 = 2 * 4096;

/// An index in a file that can be changed. It can be queried and changed like an [`Index`]. Changes
/// are durable after [`commit`](Self::commit).
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
/// The index itself cannot be moved out or replaced, because what a commit writes is only valid for
/// this file.
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
    /// Opens an index for changes, and locks out other writers. Readers are not affected.
    ///
    /// # Errors
    /// Same as for [`Index::open`]; [`Error::Busy`] if another process has it open for changes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open_from(path.as_ref(), Origin::Named)
    }

    /// Saves an index to a file, and opens it for changes.
    ///
    /// # Errors
    /// Same as for [`Index::save`] and [`open`](Self::open).
    pub fn create(path: impl AsRef<Path>, index: &Index) -> Result<Self, Error> {
        create_from(path.as_ref(), index, Origin::Named, None)
    }

    /// The caller must hold the lock of the existing file.
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

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns how many bytes of filters the next commit has to write, at least. They are in
    /// memory.
    pub fn pending_bytes(&self) -> u64 {
        let pending = self.index.all_segments();
        let pending = pending.filter(|(_, segment)| segment.home().is_none());
        pending.map(|(_, segment)| segment.bytes()).sum()
    }

    /// Writes all changes to the file. They are durable when this returns. If it fails, the file is
    /// unchanged, and the changes are still in memory.
    ///
    /// # Errors
    /// [`Error::Io`] with the path; [`Error::Replaced`] if another program has replaced the file.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.check_current()?;
        for class in &mut self.index.classes {
            // Empty segments are useless and would never be removed.
            let before = class.segments.len();
            class.segments.retain(|segment| segment.len() > 0);
            if class.segments.len() < before {
                self.index.directory.take();
            }
        }
        self.index.epoch = fresh_epoch();
        // If there is no space or permission to rewrite the file, it just grows.
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
        // The changes are durable now, whatever follows. What cannot be mapped stays in memory, and
        // is written again by the next commit.
        let _ = self
            .file
            .advance(end, number)
            .and_then(|()| self.take_in(manifest, &kept));
        Ok(())
    }

    /// Checks that the file has not been replaced: otherwise our changes would never be seen.
    fn check_current(&self) -> Result<(), Error> {
        match self.file.is_current() {
            true => Ok(()),
            false => Err(Error::in_file(self.file.path())(Error::Replaced)),
        }
    }

    /// Adds all sets of another index, of any size, with a commit for every `budget` bytes. A set
    /// that is new here gets the tag that `tag` returns for it.
    ///
    /// # Errors
    /// Same as for [`Index::merge`] and [`commit`](Self::commit). Sets that were committed stay.
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

    /// Replaces segments in memory by those that were just written, after the `kept` ones of each
    /// class.
    fn take_in(&mut self, manifest: Manifest, kept: &[usize]) -> Result<(), Error> {
        for (c, class) in self.index.classes.iter_mut().enumerate() {
            let records = manifest.segments.iter().filter(|record| record.class == c);
            let opened = records
                .skip(kept[c])
                .map(|record| pack::open(&self.file, &class.params, record));
            let opened: Vec<Segment> = opened.collect::<Result<_, _>>()?;
            class.segments.truncate(kept[c]);
            class.segments.extend(opened);
            // Only these have moved. With very many sets, rebuilding the directory would take far
            // longer than the commit.
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

    /// Rewrites the file with one segment for each class (and the sealed ones), and without unused
    /// data. Processes that have the old file open can continue to query it.
    ///
    /// # Errors
    /// [`Error::Io`] with the path, and [`Error::Replaced`]. The file is then unchanged.
    pub fn compact(&mut self) -> Result<(), Error> {
        self.check_current()?;
        let origin = self.file.origin();
        *self = Self::write_anew(self.file.path(), &self.index, origin, None)?;
        Ok(())
    }

    /// Returns whether more of the file is unused than used.
    fn is_wasteful(&self) -> bool {
        let used: u64 = self
            .index
            .all_segments()
            .filter(|(_, segment)| segment.home().is_some())
            .map(|(_, segment)| {
                // Slots that are not live count as unused.
                let all = segment.bytes() + segment.labels().bytes();
                let share = segment.len() as f64 / segment.slot_count().max(1) as f64;
                (all as f64 * share) as u64 + PADDING
            })
            .sum();
        self.file.end() > SMALL_FILE.max(2 * used)
    }
}

/// Same as [`IndexFile::open`]. An implicit index ([`Origin::Implicit`]) is one that a program
/// looks for by default, next to data that may have come from anywhere. For such an index, links
/// are not followed, and a file that other users own or can write to, or that has other hard links,
/// is rejected.
pub fn open_from(path: &Path, origin: Origin) -> Result<IndexFile, Error> {
    let file = Growing::open_to_change(path, Content::Index, origin)?;
    let index = Index::of(&file).map_err(Error::in_file(path))?;
    Ok(IndexFile { index, file })
}

/// Same as [`IndexFile::create`], readable only by users to whom `mode` (as in `chmod`)
/// grants access, because an index reveals a lot about its sets. Others cannot write to an implicit index.
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

/// Denies access to all users to whom this mode does not grant it.
///
/// # Errors
/// [`Error::Io`] with the path.
#[cfg(unix)]
pub fn restrict(file: &IndexFile, mode: u32) -> Result<(), Error> {
    file.file.restrict(mode)
}

impl Class {
    /// Returns how many segments stay where they are in the file. The rest is merged, so that each
    /// is at least twice as large as all that follow it.
    fn kept(&self) -> usize {
        let in_file = |segment: &Segment| segment.home().is_some();
        let mut kept = self.segments.iter().take_while(|s| in_file(s)).count();
        if kept == self.segments.len() {
            return kept;
        }
        let mut behind: usize = self.segments[kept..].iter().map(Segment::len).sum();
        while kept > 0 {
            let last = &self.segments[kept - 1];
            // A sealed segment stays unchanged.
            if last.shape() == Shape::Sealed || last.len() >= 2 * behind {
                break;
            }
            behind += last.len();
            kept -= 1;
        }
        kept
    }
}
