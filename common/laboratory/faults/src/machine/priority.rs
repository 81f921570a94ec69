//! Priority of threads that stand for other machines.

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
