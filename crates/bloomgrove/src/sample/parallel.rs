//! Pieces of work on all processors, their results taken in order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;

/// Does `work` on the numbers 0 to `pieces - 1` in `threads` threads, and hands each result to
/// `take` in the order of the numbers, so that the outcome does not depend on the threads.
/// Stops soon after `take` breaks off.
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
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    // Who is ahead waits here until the results before are taken.
    let (sender, results) = sync_channel(4 * threads);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, stop, work) = (sender.clone(), &next, &stop, &work);
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    let piece = next.fetch_add(1, Relaxed);
                    if piece >= pieces || sender.send((piece, work(piece))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (piece, result) in results {
            early.insert(piece, result);
            while let Some(result) = early.remove(&due) {
                if take(due, result).is_break() {
                    stop.store(true, Relaxed);
                    return;
                }
                due += 1;
            }
        }
    });
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
}
