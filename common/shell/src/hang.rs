//! What a daemon does when an OpenCL driver hangs.

use std::os::unix::process::CommandExt;
use std::process::Command;

use common::config::{BackendChoice, SharedConfig};
use kernels::WITHOUT_OPENCL;

use crate::exit::Failure;
use crate::log;

/// From now on a driver that does not come back ends `program` with a sentence; or, if nobody asked for OpenCL, starts it
/// anew without: as the same process, which is the one way to be rid of a thread that is inside the driver.
pub fn watch(program: &'static str, shared: &SharedConfig) {
    let is_own_choice = shared.backend == BackendChoice::Auto && shared.device.is_none();
    kernels::on_hang(move |sentence| {
        let mut failure = Failure::device(sentence);
        if is_own_choice {
            tracing::warn!("{sentence}; starting anew with the processor");
            log::flush();
            let arguments = std::env::args_os().skip(1);
            let error = Command::new("/proc/self/exe").args(arguments).env(WITHOUT_OPENCL, sentence).exec();
            failure = Failure::device(format!("{sentence}; it cannot start anew: {error}"));
        }
        log::last_words(&format!("{program}: {failure}"));
        std::process::exit(failure.code().into());
    });
}
