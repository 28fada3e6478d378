//! Many files read on all processors, their results taken one after the other.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::interrupt;

/// Does `work` on every item, on all processors, and hands each result to `take`, in the
/// order of the items: the same input gives the same file. Stops early when Ctrl-C was
/// pressed or `take` fails.
pub(crate) fn each<'i, I: Sync, T: Send>(
    items: &'i [I],
    work: impl Fn(&'i I) -> T + Sync,
    mut take: impl FnMut(&'i I, T) -> Result<()>,
) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // How far ahead threads may work: a slow first file must not make the filters of all others
    // pile up in memory.
    let ahead = 8 * threads;
    let queue = Mutex::new(Queue {
        next: 0,
        taken: 0,
        done: BTreeMap::new(),
        stop: false,
    });
    let changed = Condvar::new();
    let wait = |guard| changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                // A panicking thread must not keep the others waiting: the scope passes it on.
                let alarm = Stop(&queue, &changed);
                let mut state = lock(&queue);
                loop {
                    while state.next >= state.taken + ahead && !state.stop {
                        state = wait(state);
                    }
                    let at = state.next;
                    let Some(item) = items.get(at).filter(|_| !state.stop) else {
                        std::mem::forget(alarm);
                        return;
                    };
                    state.next += 1;
                    drop(state);
                    let result = work(item);
                    state = lock(&queue);
                    state.done.insert(at, result);
                    changed.notify_all();
                }
            });
        }
        let _stop = Stop(&queue, &changed);
        for (at, item) in items.iter().enumerate() {
            let mut state = lock(&queue);
            let done = loop {
                if let Some(done) = state.done.remove(&at) {
                    break done;
                }
                if state.stop {
                    return Ok(());
                }
                state = wait(state);
            };
            state.taken = at + 1;
            drop(state);
            changed.notify_all();
            take(item, done)?;
            if interrupt::was_asked() {
                break;
            }
        }
        Ok(())
    })
}

/// Ends the work of all threads when it is dropped.
struct Stop<'q, T>(&'q Mutex<Queue<T>>, &'q Condvar);

impl<T> Drop for Stop<'_, T> {
    fn drop(&mut self) {
        lock(self.0).stop = true;
        self.1.notify_all();
    }
}

struct Queue<T> {
    /// The next item that no thread works on.
    next: usize,
    taken: usize,
    done: BTreeMap<usize, T>,
    stop: bool,
}

/// A thread that panicked takes the others with it when the scope ends.
fn lock<T>(queue: &Mutex<Queue<T>>) -> MutexGuard<'_, Queue<T>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_order_and_an_error_ends_it() {
        let items: Vec<u64> = (0..500).collect();
        let slow = |item: &u64| {
            std::thread::sleep(std::time::Duration::from_micros(item * 7919 % 300));
            item * 2
        };
        let mut taken = Vec::new();
        let all = super::each(&items, slow, |item, double| {
            assert_eq!(double, item * 2);
            taken.push(*item);
            Ok(())
        });
        all.unwrap();
        assert_eq!(taken, items);
        let failed = super::each(&items, slow, |item, _| {
            anyhow::ensure!(*item < 100, "enough");
            Ok(())
        });
        assert!(failed.is_err());
    }

    #[test]
    fn a_panic_anywhere_ends_it() {
        let items: Vec<u64> = (0..500).collect();
        let bad_work = std::panic::catch_unwind(|| {
            super::each(&items, |item| assert_ne!(*item, 100), |_, ()| Ok(()))
        });
        assert!(bad_work.is_err());
        let bad_take = std::panic::catch_unwind(|| {
            super::each(
                &items,
                |item| *item,
                |_, item| {
                    assert_ne!(item, 100);
                    Ok(())
                },
            )
        });
        assert!(bad_take.is_err());
    }
}
