//! Signals that nobody waits for end a process that has taken them over as they would any other; a daemon they end with
//! an exit code, also while it hangs.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const CHILD: &str = "child-that-is-stopped";
const DAEMON: &str = "daemon-that-opens-its-devices";
const HANGING: &str = "daemon-that-hangs-at-its-end";

fn main() {
    // The first thread of a process, as in a daemon; a test harness has others.
    if let Some(role) = std::env::args().find(|argument| [CHILD, DAEMON, HANGING].contains(&argument.as_str())) {
        shell::signals::take_over().unwrap();
        if role != CHILD {
            shell::signals::serve();
        }
        if role == HANGING {
            shell::signals::end_within(Duration::from_millis(100));
        }
        println!("ready");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut child = start(CHILD);
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
        let mut daemon = start(DAEMON);
        kill(Pid::from_raw(daemon.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(daemon.wait().unwrap().code(), Some(0));
    }
    assert_eq!(start(HANGING).wait().unwrap().code(), Some(3));
}

/// Starts this program in that role and waits until it is ready.
fn start(role: &str) -> Child {
    // Whoever runs this in the background may ignore SIGINT, which a child inherits.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM").arg(std::env::current_exe().unwrap()).arg(role);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}
