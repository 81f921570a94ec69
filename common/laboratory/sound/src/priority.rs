//! Real-time priority, where this user may have it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Returns true if this user may give programs real-time priority.
pub(crate) fn has_real_time() -> bool {
    let tried = Command::new("chrt").args(["--fifo", "1", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Lets the threads that `start` starts have this priority, if this user may: they have what the thread has that starts them.
pub(crate) fn raised<T>(priority: u8, start: impl FnOnce() -> T) -> T {
    let thread = std::fs::read_link("/proc/thread-self").ok();
    let thread = thread.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let set = |policy: &[&str]| {
        if let Some(thread) = &thread {
            let mut chrt = Command::new("chrt");
            // Without the right to it they are as late as other programs are.
            let _ = chrt.args(policy).arg(thread).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    };
    set(&["--fifo", "--pid", &priority.to_string()]);
    let started = start();
    set(&["--other", "--pid", "0"]);
    started
}
