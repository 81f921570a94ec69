//! Priority of threads that stand for other machines, for the line or for a sound card.

use std::path::Path;
use std::process::{Command, Stdio};

/// Takes real-time priority from the calling thread and those that it starts, if it has it: an attacker that catches up
/// after a stall of this machine must not keep the processor from the attacked, as it could not from elsewhere.
pub(crate) fn lower() {
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return };
    let Some(thread) = thread.file_name() else { return };
    let mut chrt = Command::new("chrt");
    chrt.args(["--other", "--pid", "0"]).arg(thread).stdout(Stdio::null()).stderr(Stdio::null());
    // Without the program nobody has such a priority.
    let _ = chrt.status();
}

/// Returns true if this user may give programs real-time priority.
pub fn has_real_time() -> bool {
    let tried = Command::new("chrt").args(["--fifo", "1", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Lets the threads that `start` starts have this priority, if this user may: they have what the thread has that starts them.
pub fn raised<T>(priority: u8, start: impl FnOnce() -> T) -> T {
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
