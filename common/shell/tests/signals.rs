//! Signals that nobody waits for end a process that has taken them over as they would any other.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const CHILD: &str = "child-that-is-stopped";

fn main() {
    // The first thread of a process, as in a daemon; a test harness has others.
    if std::env::args().any(|argument| argument == CHILD) {
        shell::signals::take_over().unwrap();
        println!("ready");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // Whoever runs this in the background may ignore SIGINT, which a child inherits.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,TERM").arg(std::env::current_exe().unwrap()).arg(CHILD);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
    }
}
