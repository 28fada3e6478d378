//! Opening, saving and verifying whole indexes.

use std::io::Write;
use std::path::Path;

use super::manifest::{self, Manifest, Record};
use super::pack;
use crate::Error;
use crate::format::{Content, Durable, Growing, Kind, Origin, Report, Writer, lock_target};
use crate::index::body::Shape;
use crate::index::directory::Directory;
use crate::index::segment::Segment;
use crate::index::{Class, Index, planner};

impl Index {
    /// Opens an index of any size as a memory map. The bits are not read now, but when they are
    /// needed. Everything else is checked.
    ///
    /// The index can be changed in memory; to change the file, use [`IndexFile`](super::IndexFile).
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or contains something else.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open_unchecked(path.as_ref(), Origin::Named)
    }

    pub(super) fn of(file: &Growing) -> Result<Self, Error> {
        let bytes = file.manifest()?;
        let manifest = Manifest::from_bytes(bytes.as_ref())
            .map_err(|what| Error::corrupt(Kind::Manifest.name(), 0, what))?;
        file.expect_jumps();
        let mut index = Index::mixed();
        let classes = manifest.classes.into_iter();
        index.classes = classes
            .map(|params| Class {
                params,
                segments: Vec::new(),
            })
            .collect();
        for record in &manifest.segments {
            let class = &mut index.classes[record.class];
            let segment = pack::open(file, &class.params, record)?;
            class.segments.push(segment);
        }
        index.mixed = manifest.mixed;
        index.fixed = manifest.fixed;
        index.next_id = manifest.next_id;
        index.len = usize::try_from(manifest.sets)
            .ok()
            .filter(|&sets| sets <= index.sets_and_slices())
            .ok_or_else(|| {
                Error::corrupt(Kind::Manifest.name(), 0, "there are more sets than filters")
            })?;
        if index.sets().any(|set| set.id().0 >= index.next_id) {
            let what = "a set has a number that has not been assigned yet";
            return Err(Error::corrupt(Kind::Labels.name(), 0, what));
        }
        index.notes = manifest.notes;
        Ok(index)
    }

    fn sets_and_slices(&self) -> usize {
        self.all_segments().map(|(_, segment)| segment.len()).sum()
    }

    /// Writes the index to a file, atomically replacing any index there.
    ///
    /// # Errors
    /// [`Error::Io`] with the path; [`Error::Busy`] if another process has the existing index open
    /// for changes. An existing file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let _nobody_else = lock_target(path, Origin::Named).map_err(Error::in_file(path))?;
        let mut writer = Writer::create(path, Content::Index)?;
        self.write_whole(&mut writer)?;
        writer.persist()?;
        Ok(())
    }

    /// Writes the bytes that [`save`](Self::save) would write to a file. They are built in memory
    /// first.
    ///
    /// ```
    /// # use bloomgrove::{Filter, Params, index::Index};
    /// # let params = Params::for_items(100, 0.01)?;
    /// let mut index = Index::new(params.clone());
    /// let mut filter = Filter::new(params)?;
    /// filter.insert("apple");
    /// index.add("north", &filter)?;
    ///
    /// let mut bytes = Vec::new();
    /// index.write_to(&mut bytes)?;
    /// assert_eq!(Index::from_bytes(&bytes)?.count("apple"), 1);
    /// # Ok::<(), bloomgrove::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if writing to `out` fails; [`Error::OutOfMemory`].
    pub fn write_to(&self, mut out: impl Write) -> Result<(), Error> {
        let mut writer = Writer::in_memory(Content::Index)?;
        self.write_whole(&mut writer)?;
        out.write_all(&writer.into_bytes()?)
            .map_err(Error::io("writing"))
    }

    /// Reads an index from the bytes of a file, and checks every one of them. It keeps a copy.
    ///
    /// # Errors
    /// If the bytes are damaged or contain something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let file = Growing::of_bytes(bytes, Content::Index)?;
        Self::of(&file)
    }

    /// Writes each class as one segment, and commits.
    pub(super) fn write_whole<W: Durable>(&self, writer: &mut Writer<W>) -> Result<u64, Error> {
        let mut records = Vec::new();
        for (c, class) in self.classes.iter().enumerate() {
            let segments: Vec<&Segment> = class.segments.iter().collect();
            records.extend(self.write_segments(writer, c, class, &segments)?);
        }
        let manifest = self.manifest(records);
        writer.commit(0, &manifest.to_bytes())
    }

    /// Writes segments merged into one, except for sealed ones, which stay separate.
    pub(super) fn write_segments<W: Durable>(
        &self,
        writer: &mut Writer<W>,
        number: usize,
        class: &Class,
        segments: &[&Segment],
    ) -> Result<Vec<Record>, Error> {
        let (sealed, plain): (Vec<&Segment>, Vec<&Segment>) = segments
            .iter()
            .filter(|segment| segment.len() > 0)
            .partition(|segment| segment.shape() == Shape::Sealed);
        let mut records = Vec::new();
        for segment in sealed {
            let home = pack::write(writer, &class.params, &[segment], Shape::Sealed)?;
            records.push(Record {
                class: number,
                live: manifest::all_live(home.slots),
                home,
            });
        }
        if !plain.is_empty() {
            let sets: usize = plain.iter().map(|segment| segment.len()).sum();
            let ones: u64 = plain.iter().map(|segment| segment.ones()).sum();
            let density = planner::density(&class.params, sets, ones);
            let planned = planner::choose_shape(&class.params, sets, density).shape;
            let shape = self.fixed.unwrap_or(planned);
            let home = pack::write(writer, &class.params, &plain, shape)?;
            records.push(Record {
                class: number,
                live: manifest::all_live(home.slots),
                home,
            });
        }
        Ok(records)
    }

    pub(super) fn manifest(&self, segments: Vec<Record>) -> Manifest {
        Manifest {
            next_id: self.next_id,
            sets: self.len as u64,
            mixed: self.mixed,
            fixed: self.fixed,
            classes: self.params().cloned().collect(),
            segments,
            notes: self.notes.clone(),
        }
    }
}

/// Same as [`Index::open`], for a file that may not have been named by the user.
pub fn open_unchecked(path: &Path, origin: Origin) -> Result<Index, Error> {
    let file = Growing::open(path, Content::Index, origin)?;
    Index::of(&file).map_err(Error::in_file(file.path()))
}

/// Same as [`open_unchecked`], but reads the whole file and verifies every checksum: if a disk has
/// lost bits, a key in a set can appear absent.
pub fn open_checked(path: &Path, origin: Origin) -> Result<Index, Error> {
    let file = Growing::open(path, Content::Index, origin)?;
    let open = || {
        file.check_all()?;
        Index::of(&file)
    };
    open().map_err(Error::in_file(file.path()))
}

/// The part of `verify` that is specific to indexes.
pub(crate) fn check_file(path: &Path) -> Result<Report, Error> {
    let file = Growing::open(path, Content::Index, Origin::Named)?;
    let check = || {
        let report = file.check_all()?;
        let index = Index::of(&file)?;
        let wrong = |what: String| Error::corrupt(Kind::Bits.name(), 0, what);
        for (class, segment) in index.all_segments() {
            segment.check(&class.params).map_err(wrong)?;
        }
        let directory = Directory::of(&index);
        if directory.len() != index.len() || directory.filters() != index.sets_and_slices() {
            let what = "the number of sets is wrong, or two sets have the same number";
            return Err(Error::corrupt(Kind::Manifest.name(), 0, what));
        }
        Ok(report)
    };
    check().map_err(Error::in_file(path))
}
