//! The memory that a measurement takes, and the system's cache of files.

use std::fs::{self, File};
use std::path::Path;
use std::sync::LazyLock;

/// Resets the peak of resident memory.
pub fn begin_anew() {
    LazyLock::force(&FIRST);
    // 5: resets the peak to what is resident now.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The resident memory when the first contender started.
static FIRST: LazyLock<Option<f64>> = LazyLock::new(|| of_status("VmRSS:"));

/// Peak megabytes, minus those at the start.
pub fn resident() -> Option<f64> {
    Some((of_status("VmHWM:")? - (*FIRST)?).max(0.0))
}

fn of_status(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    kilobytes(&status, name).map(|kilobytes| kilobytes / 1024.0)
}

/// Megabytes of available memory.
pub fn available() -> Option<f64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(&info, "MemAvailable:").map(|kilobytes| kilobytes / 1024.0)
}

fn kilobytes(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Drops a file from the system's cache; returns false if the system refuses.
pub fn forget(path: &Path) -> bool {
    let drop = || {
        let file = File::open(path).ok()?;
        file.sync_all().ok()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).ok()
    };
    drop().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_what_the_system_says() {
        let text = "VmPeak:\t 10 kB\nVmHWM:\t  2048 kB\n";
        assert_eq!(kilobytes(text, "VmHWM:"), Some(2048.0));
        assert_eq!(kilobytes(text, "VmRSS:"), None);
    }
}
