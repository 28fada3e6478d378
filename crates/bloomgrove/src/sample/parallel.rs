//! Parallel work in pieces, with the results consumed in order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, PoisonError};

/// Runs `work` on the numbers 0 to `pieces - 1` in `threads` threads, and passes each result to
/// `take` in numeric order, so that the outcome does not depend on the threads. Stops soon
/// after `take` breaks.
pub(super) fn in_order<T: Send>(
    pieces: u64,
    threads: usize,
    work: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(u64, T) -> ControlFlow<()>,
) {
    if threads <= 1 || pieces <= 1 {
        for piece in 0..pieces {
            if take(piece, work(piece)).is_break() {
                return;
            }
        }
        return;
    }
    let threads = threads.min(1024);
    let ahead = 4 * threads as u64;
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    // The number of results taken. A thread that is too far ahead of it waits.
    let taken = (Mutex::new(0u64), Condvar::new());
    let advance = |to: u64| {
        let mut due = taken.0.lock().unwrap_or_else(PoisonError::into_inner);
        *due = to.max(*due);
        taken.1.notify_all();
    };
    // However a thread ends, no other may be left waiting.
    let release = || {
        stop.store(true, Relaxed);
        advance(u64::MAX);
    };
    let wait_for = |piece: u64| {
        let mut due = taken.0.lock().unwrap_or_else(PoisonError::into_inner);
        while piece >= due.saturating_add(ahead) {
            due = taken.1.wait(due).unwrap_or_else(PoisonError::into_inner);
        }
    };
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, stop, work) = (sender.clone(), &next, &stop, &work);
            let (wait_for, release) = (&wait_for, &release);
            scope.spawn(move || {
                let alarm = Release(release);
                loop {
                    let piece = next.fetch_add(1, Relaxed);
                    if piece >= pieces {
                        break;
                    }
                    wait_for(piece);
                    if stop.load(Relaxed) || sender.send((piece, work(piece))).is_err() {
                        break;
                    }
                }
                // Only a panic ends the work of all threads.
                std::mem::forget(alarm);
            });
        }
        drop(sender);
        let _release = Release(&release);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (piece, result) in results {
            early.insert(piece, result);
            while let Some(result) = early.remove(&due) {
                if take(due, result).is_break() {
                    return;
                }
                due += 1;
                advance(due);
            }
        }
    });
}

/// Calls a function when it is dropped.
struct Release<'r, F: Fn()>(&'r F);

impl<F: Fn()> Drop for Release<'_, F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_can_be_broken_off() {
        for threads in [1, 2, 7] {
            let slow = |piece: u64| {
                std::thread::sleep(std::time::Duration::from_micros(piece * 7919 % 200));
                piece * piece
            };
            let mut taken = Vec::new();
            in_order(300, threads, slow, |piece, square| {
                assert_eq!(square, piece * piece);
                taken.push(piece);
                ControlFlow::Continue(())
            });
            assert!(taken.into_iter().eq(0..300));
            let mut count = 0;
            in_order(1 << 40, threads, slow, |piece, _| {
                count += 1;
                match piece {
                    20 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            assert_eq!(count, 21);
        }
    }

    #[test]
    fn nobody_runs_far_ahead_of_what_was_taken() {
        let begun = AtomicU64::new(0);
        let work = |piece: u64| {
            begun.fetch_max(piece, Relaxed);
            if piece == 0 {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        };
        in_order(100_000, 2, work, |piece, ()| {
            assert!(begun.load(Relaxed) <= piece + 10);
            ControlFlow::Continue(())
        });
    }

    #[test]
    fn a_panic_anywhere_ends_it() {
        for guilty in [0, 50] {
            let at_work = std::panic::catch_unwind(|| {
                in_order(
                    1 << 40,
                    2,
                    |piece| assert_ne!(piece, guilty),
                    |_, ()| ControlFlow::Continue(()),
                )
            });
            assert!(at_work.is_err());
            let taking = std::panic::catch_unwind(|| {
                in_order(
                    1 << 40,
                    2,
                    |piece| piece,
                    |piece, _| {
                        assert_ne!(piece, guilty);
                        ControlFlow::Continue(())
                    },
                )
            });
            assert!(taking.is_err());
        }
    }
}
