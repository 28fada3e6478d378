//! The resources that the process uses; zero or none where the system does not report them.

use std::cell::Cell;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads, in seconds.
#[must_use]
pub fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Resident memory in bytes.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Memory available to this process in bytes: that of the machine or of its container.
pub(crate) fn machine_memory() -> u64 {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let machine = text("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        kib.checked_mul(1024)
    });
    let container =
        text("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    // If neither is known (another system), assume a small machine.
    machine
        .into_iter()
        .chain(container)
        .min()
        .unwrap_or(4 << 30)
}

/// Number of open files and connections.
#[must_use]
pub fn open_files() -> Option<u64> {
    // One of them is the directory being read.
    let entries = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    entries.checked_sub(1)
}

/// Lowers the priority of this thread, on systems where threads have one: long tasks must not keep queries
/// waiting that take microseconds.
pub fn step_back() {
    thread_local! {
        static DONE: Cell<bool> = const { Cell::new(false) };
    }
    const PRIORITY: i32 = 10;
    if cfg!(target_os = "linux") && !DONE.replace(true) {
        // If the system refuses, the priority stays the same.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_takes_something() {
        assert!(cpu_seconds() > 0.0);
        if cfg!(target_os = "linux") {
            assert!(resident_bytes().unwrap() > 100_000);
            assert!(open_files().unwrap() >= 3);
        }
    }
}
