//! Many files read on all processors, what comes of them taken in one after the other.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

use anyhow::Result;

use crate::interrupt;

/// Does `work` on every item, on all processors, and hands each result to `take` as it
/// comes. Stops early when Ctrl-C was pressed or `take` fails.
pub(crate) fn each<'i, I: Sync, T: Send>(
    items: &'i [I],
    work: impl Fn(&'i I) -> T + Sync,
    mut take: impl FnMut(&'i I, T) -> Result<()>,
) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // Bounded, so that finished filters do not pile up before a slow disk.
        let (sender, receiver) = mpsc::sync_channel(2 * threads);
        for _ in 0..threads.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Relaxed)) {
                    // The receiver is gone when taking failed: nothing more to do.
                    if interrupt::was_asked() || sender.send((item, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (item, result) in receiver {
            take(item, result)?;
        }
        Ok(())
    })
}
