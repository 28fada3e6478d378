//! When a file counts as unchanged.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks of file systems tick in steps, the coarsest of them two seconds wide: a file
/// written again within one step has the same times as before.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

/// What is remembered of a file: if all of it is the same, so is the content. The
/// change time cannot be set by programs, and the inode tells a replaced file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    inode: u64,
    modified: i128,
    changed: i128,
    /// When the file was read, in nanoseconds since 1970.
    read_at: i128,
}

impl Stamp {
    /// Of a file that is about to be read.
    pub(super) fn now(about: &Metadata) -> Self {
        let nanos =
            |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as i128);
        Self {
            size: about.size(),
            inode: about.ino(),
            modified: nanos(about.mtime(), about.mtime_nsec()),
            changed: nanos(about.ctime(), about.ctime_nsec()),
            read_at: now,
        }
    }

    /// Whether a file that now looks like `now` still has the content that was read
    /// under `self`. A file that changed just before it was read may have changed
    /// once more in the same tick: it is read again.
    pub(super) fn covers(&self, now: &Stamp) -> bool {
        let settled =
            self.read_at - self.modified.max(self.changed) > COARSEST_CLOCK.as_nanos() as i128;
        settled && self.same_file(now)
    }

    /// Whether two looks at a file, with nothing but a read between, saw the same.
    pub(super) fn same_file(&self, other: &Stamp) -> bool {
        Stamp {
            read_at: 0,
            ..*self
        } == Stamp {
            read_at: 0,
            ..*other
        }
    }

    /// A stamp that covers nothing: the file will be read again next time.
    pub(super) fn never(self) -> Self {
        Stamp { read_at: 0, ..self }
    }

    /// As the tag of a set of an index.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.inode.to_le_bytes());
        for time in [self.modified, self.changed, self.read_at] {
            bytes.extend(time.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (two, times) = bytes.split_at_checked(16)?;
        let (size, inode) = two.split_at(8);
        let mut times = times
            .chunks_exact(16)
            .map(|time| Some(i128::from_le_bytes(time.try_into().ok()?)));
        let stamp = Self {
            size: u64::from_le_bytes(size.try_into().ok()?),
            inode: u64::from_le_bytes(inode.try_into().ok()?),
            modified: times.next()??,
            changed: times.next()??,
            read_at: times.next()??,
        };
        (bytes.len() == 64).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        size: 5,
        inode: 6,
        modified: 1_000_000_000,
        changed: 2_000_000_000,
        read_at: 9_000_000_000,
    };

    #[test]
    fn bytes_and_back() {
        let bytes = STAMP.to_bytes();
        assert_eq!(Stamp::from_bytes(&bytes), Some(STAMP));
        assert_eq!(Stamp::from_bytes(&bytes[1..]), None);
        assert_eq!(Stamp::from_bytes(b""), None);
    }

    #[test]
    fn any_change_and_any_doubt_means_reading_again() {
        let later = Stamp {
            read_at: 99_000_000_000,
            ..STAMP
        };
        assert!(STAMP.covers(&later));
        for changed in [
            Stamp { size: 4, ..later },
            Stamp { inode: 4, ..later },
            Stamp {
                modified: 4,
                ..later
            },
            Stamp {
                changed: 4,
                ..later
            },
        ] {
            assert!(!STAMP.covers(&changed));
        }
        // Read in the same tick as it was changed.
        let hasty = Stamp {
            read_at: 3_000_000_000,
            ..STAMP
        };
        assert!(!hasty.covers(&later));
        assert!(!STAMP.never().covers(&later));
    }
}
