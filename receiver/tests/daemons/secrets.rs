//! Tickets and words are nobody else's: what other users of the machine, and core dumps, have of a program that waits.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use common::path::ways::{Candidate, Kind};
use common::reach::{Purpose, Ticket};

use crate::support::{Folder, receiver, sender};

/// A ticket of a machine that answers nowhere.
fn ticket() -> String {
    let nobody = Candidate::new(Kind::ServerReflexive, ([203, 0, 113, 1], 7).into()).unwrap();
    let ticket = Ticket {
        purpose: Purpose::Invitation,
        key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap(),
        proof: [7; 16],
        expires: u64::MAX,
        candidates: vec![nobody],
    };
    ticket.to_string()
}

/// Gives a program a configuration and a key of its own; `server`: the mailbox server.
fn configured(mut program: Command, folder: &Folder, server: &str) -> Command {
    let config = folder.join("duet.toml");
    std::fs::write(&config, format!("[expert]\nstun = []\nopen_port = false\n[reach]\nmailbox = \"{server}\"\n"))
        .unwrap();
    program.arg("--config").arg(config).arg("--identity").arg(folder.join("identity.pem"));
    program
}

/// A program that waits; ended with the value.
struct Waiting(Child);

impl Waiting {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits until it looks for the machine that made the ticket.
    fn looks(&mut self) {
        let mut lines = BufReader::new(self.0.stderr.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("looking for the other machine")), "it has ended");
    }

    fn types(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Returns what other users see of it in /proc, and more than they do.
    fn seen(&self) -> String {
        let files = ["cmdline", "environ"].map(|file| std::fs::read(format!("/proc/{}/{file}", self.0.id())).unwrap());
        String::from_utf8_lossy(&files.concat()).replace('\0', " ")
    }

    /// Asks it to stop; it ends by the signal, as a shell expects of it.
    fn stop(mut self, signal: &str) -> std::process::ExitStatus {
        assert!(Command::new("kill").args(["-s", signal, &self.0.id().to_string()]).status().unwrap().success());
        self.0.wait().unwrap()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nobody_sees_a_ticket_in_the_process_list_wherever_it_was_typed() {
    let ticket = ticket();
    for program in [sender, receiver] {
        for given in [&["join", &ticket, "robert"][..], &["join", "robert"]] {
            let folder = Folder::new();
            let mut waiting = Waiting::start(configured(program(), &folder, "").args(given));
            if !given.contains(&ticket.as_str()) {
                waiting.types(&ticket);
            }
            waiting.looks();
            let seen = waiting.seen();
            assert!(seen.contains("join"), "{seen}");
            assert!(!seen.contains(&ticket) && !seen.contains(&ticket[20..40]), "{seen}");
            let status = waiting.stop("INT");
            assert_eq!(status.signal(), Some(2), "{status}");
        }
    }
}

#[test]
fn nobody_sees_words_in_the_process_list_wherever_they_were_typed() {
    for program in [sender, receiver] {
        for given in [&["pair", "zoo", "--name", "robert", "zoo", "zoo", "zoo"][..], &["pair", "--name", "robert"]] {
            let folder = Folder::new();
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("ws://{}/v1", server.local_addr().unwrap());
            let mut waiting = Waiting::start(configured(program(), &folder, &url).args(given));
            if given.len() == 3 {
                waiting.types("zoo-zoo-zoo-zoo");
            }
            // It is on its way to where the words lead.
            let _connection = server.accept().unwrap();
            let seen = waiting.seen();
            assert!(seen.contains("pair") && !seen.contains("zoo"), "{seen}");
            assert_eq!(waiting.stop("TERM").signal(), Some(15));
        }
    }
}

#[test]
fn a_program_that_has_a_ticket_leaves_no_core_dump() {
    let folder = Folder::new();
    let dumping = |program: &Command| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "ulimit -c unlimited && cd \"$0\" && exec \"$@\""])
            .arg(folder.join(""))
            .arg(program.get_program());
        shell.args(program.get_args());
        shell
    };
    let mut sleep = Command::new("sleep");
    let control = Waiting::start(&mut dumping(sleep.arg("90")));
    crate::support::until("sleep", || control.seen().starts_with("sleep").then_some(()));
    if !control.stop("QUIT").core_dumped() {
        let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/skipped");
        let note = "core dumps with a ticket: this machine writes none at all";
        assert!(Command::new(skipped).args(["note", note]).status().unwrap().success());
        return;
    }
    for program in [sender, receiver] {
        let mut waiting = Waiting::start(&mut dumping(configured(program(), &folder, "").args(["join", &ticket()])));
        waiting.looks();
        let ended = waiting.stop("QUIT");
        assert_eq!((ended.signal(), ended.core_dumped()), (Some(3), false));
    }
}

#[test]
fn what_is_asked_for_and_does_not_come_is_named() {
    let folder = Folder::new();
    let nothing = File::open("/dev/null").unwrap();
    let ended = configured(receiver(), &folder, "").args(["join"]).stdin(nothing).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.trim_end().lines().last().unwrap().contains("no ticket came: paste the line"), "{said}");
    // Too long to be hidden.
    let ended = configured(receiver(), &folder, "").args(["join", &"x".repeat(5_000)]).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(2) && said.contains("type them when you are asked"), "{said}");
    let ended = receiver().args(["join", "--arguments-from", "9"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", String::from_utf8_lossy(&ended.stderr));
}
