//! What the process takes of the machine; zero or nothing where that cannot be told.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time, of all threads.
#[must_use]
pub fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes of memory that are really there.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// How many files and connections are open.
#[must_use]
pub fn open_files() -> Option<u64> {
    // One of them is the folder that is being read.
    let entries = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    entries.checked_sub(1)
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
