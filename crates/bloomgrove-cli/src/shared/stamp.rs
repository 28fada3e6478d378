//! When a file counts as unchanged, and what an index knows of the file that a set was read from.
//!
//! A [`Stamp`] is taken before a file is read and compared when the index is asked. It is kept in
//! the tag of the set, with where the file is: FORMAT section 10.

use std::borrow::Cow;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// File times advance in ticks: a file written again within one tick has the same times as before.
/// The coarsest ticks are two seconds wide (FAT), and such times have no fraction of a millisecond.
/// Where times have one, they are from the clock of a kernel that ticks at least 100 times a second.
const COARSE_TICK: Duration = Duration::from_secs(2);
const FINE_TICK: Duration = Duration::from_millis(50);

/// What is recorded of a file: if all of it is the same, so is the content. Programs cannot set
/// the change time, and a replaced file has another inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    /// Never 0: the default is the stamp of no file.
    inode: u64,
    /// In nanoseconds since 1970.
    modified: i64,
    changed: i64,
}

impl Stamp {
    pub(crate) fn of(about: &Metadata) -> Self {
        let time = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
        Self {
            size: about.size(),
            inode: about.ino(),
            modified: time(about.mtime(), about.mtime_nsec()),
            changed: time(about.ctime(), about.ctime_nsec()),
        }
    }

    /// Of a file as it is now.
    pub(crate) fn now(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|about| Self::of(&about))
    }

    pub(crate) fn to_bytes(self) -> [u8; STAMP] {
        let mut bytes = [0; STAMP];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.inode.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.modified.to_le_bytes());
        bytes[24..].copy_from_slice(&self.changed.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; STAMP]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        Self {
            size: number(0),
            inode: number(8),
            modified: number(16).cast_signed(),
            changed: number(24).cast_signed(),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// What `read` makes of a file, and the stamp that it had: any later change gives the file
    /// another. A file that is being written gets a stamp that no file has, so that it counts as
    /// changed.
    pub(crate) fn of_reading<T>(
        path: &Path,
        read: impl FnOnce() -> Result<T>,
    ) -> Result<(Self, T)> {
        let look = || Self::now(path).with_context(|| path.display().to_string());
        let mut before = look()?;
        let pause = before.unsettled();
        if !pause.is_zero() {
            std::thread::sleep(pause.min(COARSE_TICK));
            before = look()?;
        }
        let is_settled = before.unsettled().is_zero();
        let made = read()?;
        let stamp = match is_settled && look()? == before {
            true => before,
            false => Self::default(),
        };
        Ok((stamp, made))
    }

    /// How long a change to the file may leave its times as they are.
    fn unsettled(&self) -> Duration {
        let tick = match self.changed % 1_000_000 {
            0 => COARSE_TICK,
            _ => FINE_TICK,
        };
        let changed = Duration::from_nanos(self.changed.max(0) as u64);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (changed + tick).saturating_sub(now.unwrap_or_default())
    }
}

/// What an index knows of the file that a set was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileTag {
    pub(crate) stamp: Stamp,
    /// How many bytes of the path are the directory in which the file was found; 0 if the file
    /// was named itself.
    root: usize,
    /// Absolute, or relative to the directory of the index; empty if it is the name of the set.
    path: Vec<u8>,
    pub(crate) part: Part,
}

/// Which part of its file a set is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) extent: Extent,
    /// The text has a NUL byte, and was read up to there.
    pub(crate) is_binary: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    #[default]
    Whole,
    /// These bytes of a plain file: whole lines, and how many line feeds there are.
    Block { start: u64, end: u64, lines: u64 },
    /// A file in an archive, by its place there.
    Member { ordinal: u64 },
}

impl Part {
    fn to_bytes(self) -> [u8; PART] {
        let (kind, numbers) = match self.extent {
            Extent::Whole => (0, [0; 3]),
            Extent::Block { start, end, lines } => (1, [start, end, lines]),
            Extent::Member { ordinal } => (2, [ordinal, 0, 0]),
        };
        let mut bytes = [0; PART];
        (bytes[0], bytes[1]) = (kind, u8::from(self.is_binary));
        for (at, number) in numbers.iter().enumerate() {
            bytes[8 + 8 * at..16 + 8 * at].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; PART]) -> Option<Self> {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[8 + 8 * at..16 + 8 * at]);
            u64::from_le_bytes(number)
        };
        let extent = match bytes[0] {
            0 => Extent::Whole,
            1 => Extent::Block {
                start: number(0),
                end: number(1),
                lines: number(2),
            },
            2 => Extent::Member { ordinal: number(0) },
            _ => return None,
        };
        Some(Self {
            extent,
            is_binary: bytes[1] != 0,
        })
    }
}

const MARK: &[u8; 4] = b"FILE";
const STAMP: usize = 32;
const HEAD: usize = 8 + STAMP;
/// The mark of a set that is a part of a file, and how many bytes say which.
const PART_MARK: &[u8; 4] = b"PART";
const PART: usize = 32;

impl FileTag {
    /// Of a file whose name in the index is its path.
    pub(crate) fn named(stamp: Stamp) -> Self {
        Self {
            stamp,
            root: 0,
            path: Vec::new(),
            part: Part::default(),
        }
    }

    /// Of a part of a file, whose name begins with the path of the file.
    pub(crate) fn part_of(path: &[u8], stamp: Stamp, part: Part) -> Self {
        let path = match part.extent {
            Extent::Whole => Vec::new(),
            _ => path.to_vec(),
        };
        Self {
            stamp,
            root: 0,
            path,
            part,
        }
    }

    /// The path of the file, as it stands here.
    pub(crate) fn path<'p>(&'p self, name: &'p [u8]) -> &'p [u8] {
        match self.path.is_empty() {
            true => name,
            false => &self.path,
        }
    }

    /// The same, for as long as the name.
    pub(crate) fn into_path(self, name: &[u8]) -> Cow<'_, [u8]> {
        match self.path.is_empty() {
            true => Cow::Borrowed(name),
            false => Cow::Owned(self.path),
        }
    }

    /// Of a file in an index in the directory `base`. Paths in or below it are relative, so that an
    /// index can be moved together with its files; others are absolute.
    pub(crate) fn placed(stamp: Stamp, place: &Place, name: &[u8], base: &Path) -> Self {
        let (root, path) = match &place.root {
            None => (None, place.path.strip_prefix(base).unwrap_or(&place.path)),
            Some(root) => match (root.strip_prefix(base), place.path.strip_prefix(base)) {
                (Ok(root), Ok(path)) => (Some(root), path),
                _ => (Some(root.as_path()), place.path.as_path()),
            },
        };
        let (root, path) = match root {
            // The directory of the index itself.
            Some(root) if root == Path::new("") => (1, Path::new(".").join(path)),
            root => (
                root.map_or(0, |root| root.as_os_str().len()),
                path.to_owned(),
            ),
        };
        let path = path.into_os_string().into_vec();
        match root == 0 && path == name {
            true => Self::named(stamp),
            false => Self {
                stamp,
                root,
                path,
                part: Part::default(),
            },
        }
    }

    /// Where the file is, for an index in the directory `base`.
    pub(crate) fn place(&self, name: &[u8], base: &Path) -> Place {
        let of = |bytes: &[u8]| base.join(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        let path = match self.path.is_empty() {
            true => of(name),
            false => of(&self.path),
        };
        Place {
            root: (self.root > 0).then(|| of(&self.path[..self.root])),
            path,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + PART + self.path.len());
        let is_whole = self.part == Part::default();
        bytes.extend(if is_whole { MARK } else { PART_MARK });
        bytes.extend((self.root as u32).to_le_bytes());
        bytes.extend(self.stamp.to_bytes());
        if !is_whole {
            bytes.extend(self.part.to_bytes());
        }
        bytes.extend(&self.path);
        bytes
    }

    /// None if the set was not read from a file, but came as a filter or is the caller's own.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mark, rest) = bytes.split_first_chunk()?;
        let (root, rest) = rest.split_first_chunk()?;
        let (stamp, rest) = rest.split_first_chunk()?;
        let (part, path) = match mark {
            MARK => (Part::default(), rest),
            PART_MARK => {
                let (part, path) = rest.split_first_chunk()?;
                (Part::from_bytes(part)?, path)
            }
            _ => return None,
        };
        let root = u32::from_le_bytes(*root) as usize;
        (root <= path.len()).then(|| Self {
            stamp: Stamp::from_bytes(stamp),
            root,
            path: path.to_vec(),
            part,
        })
    }
}

/// Where a file is, and the directory that was named and has it in or below it, if one was. Links
/// in the directories are resolved, but not that of the file: it may lead elsewhere tomorrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) root: Option<PathBuf>,
    pub(crate) path: PathBuf,
}

impl Place {
    /// Of a file that was named.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let directory = fs::canonicalize(directory_of(path))?;
        Ok(Self {
            root: None,
            path: directory.join(path.file_name().unwrap_or_default()),
        })
    }
}

/// The directory of an index, existing or not: relative paths of its files start there.
pub(crate) fn base_of(index: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(index) {
        Ok(real) => Ok(directory_of(&real).to_owned()),
        Err(_) => fs::canonicalize(directory_of(index)),
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        size: 5,
        inode: 6,
        modified: -7,
        changed: 8,
    };

    fn place(root: Option<&str>, path: &str) -> Place {
        Place {
            root: root.map(PathBuf::from),
            path: path.into(),
        }
    }

    #[test]
    fn tags_lead_back_to_their_files() {
        let base = Path::new("/a/b");
        for (place, name, kept) in [
            (place(None, "/a/b/x"), "x", ""),
            (place(None, "/a/b/c/x"), "x", "c/x"),
            (place(None, "/a/x"), "x", "/a/x"),
            (place(Some("/a/b/c"), "/a/b/c/x"), "x", "c/x"),
            (place(Some("/a/b"), "/a/b/x"), "x", "./x"),
            // Above the index: some of its files lie below it, and stay together with the others.
            (place(Some("/a"), "/a/b/x"), "b/x", "/a/b/x"),
            (place(Some("/d"), "/d/x"), "x", "/d/x"),
        ] {
            let tag = FileTag::placed(STAMP, &place, name.as_bytes(), base);
            assert_eq!(tag.path, kept.as_bytes(), "{place:?}");
            let bytes = tag.to_bytes();
            let back = FileTag::from_bytes(&bytes).unwrap();
            assert_eq!(back, tag);
            let found = back.place(name.as_bytes(), base);
            assert_eq!(fs_like(&found), fs_like(&place));
        }
    }

    /// Without the `.` of the directory itself.
    fn fs_like(place: &Place) -> (Option<PathBuf>, PathBuf) {
        let plain = |path: &PathBuf| path.components().collect::<PathBuf>();
        (place.root.as_ref().map(plain), plain(&place.path))
    }

    #[test]
    fn parts_of_files_lead_back_to_them() {
        let block = Extent::Block {
            start: 1,
            end: 1 << 40,
            lines: 7,
        };
        for (extent, is_binary) in [
            (Extent::Whole, false),
            (Extent::Whole, true),
            (block, false),
            (Extent::Member { ordinal: 3 }, true),
        ] {
            let tag = FileTag::part_of(b"a.zip", STAMP, Part { extent, is_binary });
            let back = FileTag::from_bytes(&tag.to_bytes()).unwrap();
            assert_eq!(back, tag);
            let whole = extent == Extent::Whole;
            assert_eq!(
                back.path(b"name"),
                if whole { &b"name"[..] } else { b"a.zip" }
            );
        }
    }

    #[test]
    fn tags_of_others_are_not_taken_for_ours() {
        let bytes = FileTag::named(STAMP).to_bytes();
        assert_eq!(bytes.len(), HEAD);
        assert!(FileTag::from_bytes(&bytes).is_some());
        assert_eq!(FileTag::from_bytes(&bytes[..39]), None);
        assert_eq!(FileTag::from_bytes(b""), None);
        assert_eq!(FileTag::from_bytes(&[b'x'; 60]), None);
        let mut long = bytes;
        long[4] = 1;
        assert_eq!(FileTag::from_bytes(&long), None, "a root beyond the path");
    }

    #[test]
    fn every_change_after_reading_gives_another_stamp() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        for _ in 0..20 {
            fs::write(&path, "one").unwrap();
            let (stamp, ()) = Stamp::of_reading(&path, || Ok(())).unwrap();
            assert_eq!(stamp, Stamp::of(&fs::metadata(&path).unwrap()));
            fs::write(&path, "two").unwrap();
            assert_ne!(stamp, Stamp::of(&fs::metadata(&path).unwrap()));
        }
        let (stamp, ()) = Stamp::of_reading(&path, || Ok(fs::write(&path, "three")?)).unwrap();
        assert_eq!(stamp, Stamp::default());
    }
}
