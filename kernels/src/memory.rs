//! Memory that this machine has left.

use std::fs;

use crate::OpenError;

/// Returns [`OpenError::OutOfMemory`] unless this machine has `needed_bytes` left. A machine that does not tell has.
pub fn check(needed_bytes: u64) -> Result<(), OpenError> {
    available_bytes().map_or(Ok(()), |there_bytes| fits(needed_bytes, there_bytes))
}

/// Returns what is available without swapping, in a container no more than its limit.
fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = limits.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    Some(meminfo_bytes(&text)?.min(limit.unwrap_or(u64::MAX)))
}

/// Returns `MemAvailable` of the text of `/proc/meminfo`, which is in KiB.
fn meminfo_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

fn fits(needed_bytes: u64, there_bytes: u64) -> Result<(), OpenError> {
    if needed_bytes <= there_bytes { Ok(()) } else { Err(OpenError::OutOfMemory { needed_bytes, there_bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers() {
        assert!(available_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(check(1 << 20), Ok(()));
        assert!(matches!(check(1 << 62), Err(OpenError::OutOfMemory { needed_bytes: 0x4000_0000_0000_0000, .. })));
        assert_eq!(fits(8, 7), Err(OpenError::OutOfMemory { needed_bytes: 8, there_bytes: 7 }));
    }

    #[test]
    fn the_kernels_figure_is_read_in_kib() {
        let text = "MemTotal:       16384 kB\nMemFree:  100 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(meminfo_bytes(text), Some(2 << 20));
        assert_eq!(meminfo_bytes("MemAvailable: many kB"), None);
    }
}
