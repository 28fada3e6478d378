//! Disks that fail once, and machines that are turned off in the middle of a write.
//!
//! Databases are real files; between them and redb is a disk that counts operations. When the machine is turned off nothing
//! reaches the files any more, and if it also loses power, only the start of what was written since the last sync
//! remains.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError};

/// The disk of one machine, until the machine is turned off.
#[derive(Debug)]
pub(crate) struct Disk {
    is_off: AtomicBool,
    /// Nothing is counted, and nothing fails.
    is_calm: AtomicBool,
    /// Writes and syncs until the machine is turned off.
    left: AtomicI64,
    /// Syncs until one fails.
    fails: AtomicI64,
    /// The share of unsynced writes, in 1/256, that remains when the machine is turned off.
    left_over: u8,
    /// Undoes the writes since the last sync.
    undo: Mutex<Vec<Undo>>,
}

#[derive(Debug)]
struct Undo {
    file: Arc<File>,
    length: u64,
    offset: u64,
    bytes: Vec<u8>,
}

static DISKS: Mutex<BTreeMap<PathBuf, Arc<Disk>>> = Mutex::new(BTreeMap::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    /// The disk for the contents of a directory, replacing the previous one.
    pub(crate) fn mount(directory: &Path, left_over: u8) -> Arc<Self> {
        let disk = Arc::new(Self {
            is_off: AtomicBool::new(false),
            is_calm: AtomicBool::new(false),
            left: AtomicI64::new(i64::MAX),
            fails: AtomicI64::new(i64::MAX),
            left_over,
            undo: Mutex::default(),
        });
        locked(&DISKS).insert(directory.to_owned(), disk.clone());
        disk
    }

    /// The machine is turned off after this many more writes and syncs.
    pub(crate) fn off_after(&self, effects: i64) {
        self.left.store(effects, SeqCst);
    }

    /// A sync fails after this many more.
    pub(crate) fn fail_after(&self, syncs: i64) {
        self.fails.store(syncs, SeqCst);
    }

    /// Whether operations are not counted now, because their number is not deterministic.
    pub(crate) fn set_calm(&self, is_calm: bool) {
        self.is_calm.store(is_calm, SeqCst);
    }

    /// From now on nothing fails, unless the machine is off.
    pub(crate) fn mend(&self) {
        self.left.store(i64::MAX, SeqCst);
        self.fails.store(i64::MAX, SeqCst);
    }

    pub(crate) fn is_off(&self) -> bool {
        self.is_off.load(SeqCst)
    }

    /// Turns the machine off.
    pub(crate) fn go_off(&self) {
        let mut undo = locked(&self.undo);
        if self.is_off.swap(true, SeqCst) {
            return;
        }
        let kept = undo.len() * usize::from(self.left_over) / 255;
        for undo in undo.drain(kept..).rev() {
            // Cannot fail in memory.
            let written = undo.file.write_all_at(&undo.bytes, undo.offset);
            written
                .and_then(|()| undo.file.set_len(undo.length))
                .unwrap();
        }
    }

    fn effect(&self) -> io::Result<()> {
        let counts = !self.is_off() && !self.is_calm.load(SeqCst);
        if counts && self.left.fetch_sub(1, SeqCst) <= 0 {
            self.go_off();
        }
        match self.is_off() {
            true => Err(io::Error::other("the machine is off")),
            false => Ok(()),
        }
    }
}

/// Opens a database on the disk that its directory is on.
pub(crate) fn open(path: &Path, builder: Builder) -> Result<Database, DatabaseError> {
    let wrong = |error: io::Error| DatabaseError::Storage(StorageError::Io(error));
    let disk = locked(&DISKS).get(path.parent().unwrap()).cloned();
    let disk = disk.ok_or_else(|| wrong(io::Error::other("no such disk")))?;
    if disk.is_off() {
        return Err(wrong(io::Error::other("the machine is off")));
    }
    let file = File::options().read(true).write(true).open(path);
    let file = Arc::new(file.map_err(wrong)?);
    builder.create_with_backend(OnDisk { file, disk })
}

#[derive(Debug)]
struct OnDisk {
    file: Arc<File>,
    disk: Arc<Disk>,
}

impl OnDisk {
    fn remember(&self, offset: u64, count: u64) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut bytes = vec![0; count.min(length.saturating_sub(offset)) as usize];
        self.file.read_exact_at(&mut bytes, offset)?;
        locked(&self.disk.undo).push(Undo {
            file: self.file.clone(),
            length,
            offset,
            bytes,
        });
        Ok(())
    }
}

impl StorageBackend for OnDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.disk.is_off() {
            true => Err(io::Error::other("the machine is off")),
            false => self.file.read_exact_at(out, offset),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.effect()?;
        self.remember(length, u64::MAX)?;
        self.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.effect()?;
        if self.disk.fails.fetch_sub(1, SeqCst) == 0 {
            return Err(io::Error::other("the disk is broken"));
        }
        locked(&self.disk.undo).clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.effect()?;
        self.remember(offset, data.len() as u64)?;
        self.file.write_all_at(data, offset)
    }

    fn close(&self) -> io::Result<()> {
        Ok(())
    }
}
