//! What the process uses of the machine.

/// Processor time and memory of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds of processor time, in the program and in the system for it.
    pub cpu_seconds: f64,
    /// Bytes of memory, where `/proc` tells.
    pub resident_bytes: Option<u64>,
}

/// What it uses now.
pub fn usage() -> Usage {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    };
    Usage {
        cpu_seconds: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
        resident_bytes: resident(),
    }
}
