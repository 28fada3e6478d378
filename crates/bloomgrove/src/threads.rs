//! Parallel loops.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{panic, thread};

/// Returns the number of available processors, at least 1.
pub fn processors() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// Calls `work` with each number below `count`, on several threads, and returns the results in
/// order.
pub fn by_all<T: Send>(
    count: usize,
    threads: NonZero<usize>,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let share = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)));
        let mine = numbers.take_while(|&number| number < count);
        mine.map(|number| (number, work(number))).collect()
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.get().min(count))
            .map(|_| scope.spawn(share))
            .collect();
        let mut done: Vec<_> = share();
        for other in others {
            // Passes on a panic of another thread.
            done.extend(other.join().unwrap_or_else(|p| panic::resume_unwind(p)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, made)| made).collect()
}
