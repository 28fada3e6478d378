//! Failures that must not cause a key to be reported as durable when it is not, or a caller to
//! wait forever.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;
use crate::buffered::{Geometry, QueueOptions};

/// A disk whose first syncs fail, and which discards what it could not write, as operating
/// systems do.
#[derive(Debug)]
struct Forgetful(Arc<Disk>, AtomicUsize);

impl Store for Forgetful {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read(buffer, offset)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        let failing = |left: usize| left.checked_sub(1);
        if self.1.fetch_update(SeqCst, SeqCst, failing).is_ok() {
            self.0.inner.lock().unwrap().unsure.clear();
            return Err(io::ErrorKind::Other.into());
        }
        self.0.sync()
    }

    fn is_direct(&self) -> bool {
        false
    }

    fn is_locked(&self) -> bool {
        false
    }
}

#[test]
fn a_sync_that_failed_does_not_succeed_the_second_time() {
    let geometry = geometry();
    let disk = Disk::new(fresh(&geometry), usize::MAX);
    let store = Arc::new(Forgetful(disk.clone(), AtomicUsize::new(1)));
    let file = PageFile::of_store(Path::new("disk"), store, geometry, Notes::new(), 0);
    let state = file.read_state().unwrap();
    let mut builder = Builder::start(file, state, &options(), false).unwrap();
    (0..2000u64).for_each(|key| builder.insert(&key).unwrap());
    assert!(builder.sync().is_err());
    assert!(builder.sync().is_err());
    assert_eq!(builder.synced_keys(), 0);
    assert!(builder.finish().is_err());
}

#[test]
fn keys_are_not_called_sure_when_a_write_failed() {
    let geometry = geometry();
    for writes in 1..60 {
        let disk = Disk::new(fresh(&geometry), writes);
        let mut builder = builder(&disk, &geometry).unwrap();
        let inserted = (0..2000u64).all(|key| builder.insert(&key).is_ok());
        if inserted && builder.sync().is_err() {
            assert_eq!(builder.synced_keys(), 0, "after {writes} writes");
        }
    }
}

#[test]
fn what_an_interrupted_session_left_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.grove");
    let mut builder = Builder::create(&path, &geometry(), &options()).unwrap();
    (0..50_000u64).for_each(|key| builder.insert(&key).unwrap());
    drop(builder);
    Builder::open(&path, &options()).unwrap().finish().unwrap();
    crate::verify(&path).unwrap();
}

/// Returns a finished filter with one damaged page.
fn damaged(geometry: &Geometry) -> Filter {
    let disk = Disk::new(fresh(geometry), usize::MAX);
    let mut builder = builder(&disk, geometry).unwrap();
    (0..5000u64).for_each(|key| builder.insert(&key).unwrap());
    builder.finish().unwrap();
    let mut bytes = disk.inner.lock().unwrap().now();
    let page = 2 * State::len(geometry.pages()) as usize + 9 * geometry.page_bytes() as usize;
    bytes[page + 7] ^= 1;
    filter(&Disk::new(bytes, usize::MAX), geometry)
}

#[test]
fn everybody_hears_of_the_error_that_ends_a_queue() {
    let geometry = geometry();
    let mut options = options();
    options.t_max = Some(Duration::from_millis(2));
    let filter = damaged(&geometry);
    let mut queue = filter
        .probe_queue(&options, &QueueOptions::default())
        .unwrap();
    (0..5_000_000u64)
        .find_map(|key| queue.submit(&key, key).err())
        .expect("an error");
    while queue.receive(Duration::from_secs(10)).is_ok() {}
    assert!(queue.open() > 0);
    assert!(queue.receive(Duration::ZERO).is_err(), "again");
    assert!(queue.close().is_err());
}

#[test]
fn no_patience_is_too_long() {
    let geometry = geometry();
    let disk = Disk::new(fresh(&geometry), usize::MAX);
    let mut builder = builder(&disk, &geometry).unwrap();
    builder.insert(&1u64).unwrap();
    builder.finish().unwrap();
    let mut options = options();
    options.t_max = Some(Duration::MAX);
    let filter = filter(&disk, &geometry);
    let mut queue = filter
        .probe_queue(&options, &QueueOptions::default())
        .unwrap();
    assert!(queue.receive(Duration::MAX).unwrap().is_empty());
    queue.submit(&1u64, 7).unwrap();
    queue.close().unwrap();
    assert_eq!(queue.receive(Duration::MAX).unwrap(), [(7, true)]);
}

#[test]
fn what_cannot_be_is_refused_before_it_is_made() {
    let vast = Geometry::builder(1 << 62, 3).page_bytes(1 << 62).build();
    assert!(vast.unwrap_err().to_string().contains("pages of"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.grove");
    let notes = Notes::new().with("a", "x".repeat(2 << 20));
    let refused = Builder::create_with(&path, &geometry(), &options(), &notes);
    assert!(refused.unwrap_err().to_string().contains("notes"));
    assert!(!path.exists());
}

/// Pages so large that an ordinary filter would sort the keys first.
#[test]
fn a_large_page_of_the_standard_layout_takes_every_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.grove");
    let geometry = Geometry::builder(40 << 20, 10)
        .page_bytes(40 << 20)
        .layout(crate::Layout::Standard)
        .build()
        .unwrap();
    let options = BufferOptions {
        memory: 256 << 20,
        strategy: Strategy::Equal,
        workers: 1,
        ..BufferOptions::default()
    };
    let keys: Vec<u64> = (0..400_000).collect();
    let mut builder = Builder::create(&path, &geometry, &options).unwrap();
    builder.insert_batch(&keys).unwrap();
    builder.finish().unwrap();
    let filter = Filter::open(&path).unwrap();
    let mut missing = 0;
    let mut prober = filter
        .prober(&options, |_, yes| missing += u64::from(!yes))
        .unwrap();
    prober.submit_batch(&keys, 0).unwrap();
    prober.finish().unwrap();
    assert_eq!(missing, 0);
}
