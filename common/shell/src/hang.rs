//! The end of a daemon, or its new start with the processor, when an OpenCL driver hangs.

use std::os::unix::process::CommandExt;
use std::process::Command;

use common::config::SharedConfig;
use kernels::{BUILD_MAX, BackendChoice, WITHOUT_OPENCL};
use net::failure::Failure;

use crate::log;
use kernels::apart::Patience;

const _: () = assert!(BUILD_MAX.as_secs() < Patience::OPEN.longest().as_secs(), "a compiler that hangs is told first");

/// Ends `program` with a sentence from now on if a driver does not come back; or, if nobody asked for OpenCL, starts it
/// anew without: as the same process, which is the only way to end a thread that is inside the driver.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn systemd_waits_for_a_device_as_long_as_a_daemon_does() {
        for unit in [
            include_str!("../../../config/systemd/duet-receiver.service"),
            include_str!("../../../config/systemd/duet-sender.service"),
        ] {
            let limit = unit.lines().find_map(|line| line.strip_prefix("TimeoutStartSec=")).unwrap();
            assert!(Duration::from_secs(limit.parse().unwrap()) > Patience::OPEN.longest());
        }
    }
}
