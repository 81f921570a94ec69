//! How much memory this machine has left.

use sysinfo::System;

use crate::Error;

/// [`Error::OutOfMemory`] unless this machine has `needed_bytes` left. A machine that does not tell has.
pub(crate) fn check(needed_bytes: u64) -> Result<(), Error> {
    available_bytes().map_or(Ok(()), |there_bytes| fits(needed_bytes, there_bytes))
}

/// What is available without swapping, in a container no more than its limit.
fn available_bytes() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let available = Some(system.available_memory()).filter(|&bytes| bytes > 0)?;
    let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    Some(available.min(limit))
}

fn fits(needed_bytes: u64, there_bytes: u64) -> Result<(), Error> {
    if needed_bytes <= there_bytes { Ok(()) } else { Err(Error::OutOfMemory { needed_bytes, there_bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers() {
        assert!(available_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(check(1 << 20), Ok(()));
        assert!(matches!(check(1 << 62), Err(Error::OutOfMemory { needed_bytes: 0x4000_0000_0000_0000, .. })));
        assert_eq!(fits(8, 7), Err(Error::OutOfMemory { needed_bytes: 8, there_bytes: 7 }));
    }
}
