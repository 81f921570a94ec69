//! SIGINT, SIGTERM and, from a terminal that closes, SIGHUP, which ask a daemon to stop.
//!
//! OpenCL drivers may handle them as well: NVIDIA's ends the process, whoever else has a handler. The signals are therefore
//! blocked in every thread, so that no handler runs, and one thread takes them. The same thread sees to it that a daemon ends
//! although a driver does not let go of one of its threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use net::failure::Failure;
use net::stop;
use nix::sys::signal::{SigSet, Signal, raise};

use crate::exit;

/// Longest time from the request to stop to the end.
pub const END_MAX: Duration = Duration::from_secs(10);

/// True if this process is a daemon, which ends with an exit code.
static SERVES: AtomicBool = AtomicBool::new(false);
/// True if the end has a limit.
static LIMITED: AtomicBool = AtomicBool::new(false);

/// Takes the signals over, in this thread and all that it starts from now on: to be called before there are others. Until
/// someone waits for them, and after that, they end the process as if nobody had; a daemon ([`serve`]) they end with an exit
/// code.
///
/// Errors: the system does not let this thread block signals or start another one.
pub fn take_over() -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::network(format!("signals cannot be received: {error}"));
    let mut signals: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    if !is_hangup_ignored() {
        signals.add(Signal::SIGHUP);
    }
    // A file that may not grow is an error of that file, not the end of the process.
    let too_large: SigSet = std::iter::once(Signal::SIGXFSZ).collect();
    too_large.thread_block().map_err(|error| failed(&error))?;
    signals.thread_block().map_err(|error| failed(&error))?;
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || take(signals)).map_err(|error| failed(&error))?;
    Ok(())
}

/// True if whoever started this process wants it to outlive its terminal, as `nohup` does.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    bits >> (Signal::SIGHUP as u32 - 1) & 1 == 1
}

/// This process is a daemon from here on. Asked to stop while it still opens its devices, which may take long, it ends at
/// once, with code 0; later it says goodbye first and ends within [`END_MAX`].
pub fn serve() {
    SERVES.store(true, Ordering::Relaxed);
}

/// Returns true once [`end_within`] has set a limit.
pub fn is_ending() -> bool {
    LIMITED.load(Ordering::Relaxed)
}

/// Ends the daemon with code 3 if it has not ended by itself in `limit` from now; of several limits the first counts.
/// Does nothing in a process that is no daemon.
pub fn end_within(limit: Duration) {
    if !SERVES.load(Ordering::Relaxed) || LIMITED.swap(true, Ordering::Relaxed) {
        return;
    }
    // Without another thread there is only the service manager's limit.
    let _ = thread::Builder::new().name("end".to_owned()).spawn(move || {
        thread::sleep(limit);
        tracing::error!("a thread does not end, perhaps because of a driver: the process ends without it");
        exit::now(3);
    });
}

fn take(signals: SigSet) {
    while let Ok(signal) = signals.wait() {
        if !SERVES.load(Ordering::Relaxed) && !stop::is_waited_for() {
            // As the system would: the parent sees which signal it was.
            let _ = signals.thread_unblock();
            let _ = raise(signal);
        }
        if !stop::has_begun() {
            tracing::info!("asked to stop before anything has begun");
            exit::now(0);
        }
        end_within(END_MAX);
        stop::ask();
    }
}
