//! Exit of a daemon: an exit code and one sentence on standard error.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use net::failure::Failure;

use crate::log;

/// Returns the failure of a coder: exit code 3 if the device is at fault, 2 if what was asked of it is.
pub fn codec_failure(error: &impl kernels::CodecError) -> Failure {
    if error.is_of_device() { Failure::device(error) } else { Failure::usage(error) }
}

/// Prints the failure, if there is one, as one line on standard error and gives the exit code. If a driver still holds
/// a thread, the process ends here.
pub fn report(program: &str, result: Result<(), Failure>) -> ExitCode {
    let code = match result {
        Ok(()) => {
            log::flush();
            0
        }
        Err(failure) => {
            log::last_words(&format!("{program}: {}", in_one_line(&failure.message)));
            failure.code()
        }
    };
    if kernels::apart::has_left() {
        now(i32::from(code));
    }
    ExitCode::from(code)
}

/// Prints the failure and ends the process at once, where the caller cannot go on and a library would end it otherwise. What is
/// open stays as it is.
pub fn at_once(failure: &Failure) -> ! {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    log::last_words(&format!("{name}: {}", in_one_line(&failure.message)));
    now(i32::from(failure.code()))
}

fn in_one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ends the process at once, whatever its threads do; only the log is written. Drivers get no chance to clean up, since
/// some wait for ever then.
#[allow(unsafe_code, reason = "ending without what drivers do at the end has no other way")]
pub(crate) fn now(code: i32) -> ! {
    log::flush();
    // SAFETY: it ends the process and touches nothing of it.
    unsafe { libc::_exit(code) }
}
