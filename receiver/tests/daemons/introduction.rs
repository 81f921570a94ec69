//! Two machines that have never met: a ticket from one, typed at the other, and then calls by name.

use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::config::parse_peers;
use common::reach::Ticket;

use crate::support::{Daemon, Folder, receiver, sender, until};

/// Contents of the sender's file before: nobody outside is asked for an address, and no router.
const SENDER_FILE: &str = "# Mine.\n[expert]\nstun = [] # nobody\nopen_port = false\n";
const FRAMES: &str = "20";

struct Homes {
    folder: Folder,
}

impl Homes {
    fn new() -> Self {
        let folder = Folder::new();
        for name in ["sender", "receiver"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        std::fs::write(folder.join("sender/sender.toml"), SENDER_FILE).unwrap();
        Self { folder }
    }

    /// Returns the sender with its configuration and its key.
    fn sender(&self) -> Command {
        let mut command = sender();
        command.arg("--config").arg(self.folder.join("sender/sender.toml"));
        command.arg("--identity").arg(self.folder.join("sender/identity.pem"));
        command
    }

    /// Returns the receiver with its key and no configuration.
    fn receiver(&self) -> Command {
        let mut command = receiver();
        command.arg("--identity").arg(self.folder.join("receiver/identity.pem"));
        command
    }

    /// Runs `invite` at the sender; returns it and the ticket that it prints.
    fn invite(&self, name: &str) -> (Daemon, String) {
        let path = self.folder.join("ticket");
        let output = std::fs::File::create(&path).unwrap();
        let inviting = Daemon::start_with_output("sender", self.sender().args(["invite", name]), output.into());
        let ticket = until("a ticket", || {
            let text = std::fs::read_to_string(&path).unwrap();
            text.lines().find(|line| line.starts_with("duet-ticket-")).map(str::to_owned)
        });
        (inviting, ticket)
    }

    fn remembered(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let text = text.strip_prefix(SENDER_FILE).unwrap_or(&text).to_owned();
        parse_peers(&text).unwrap().peers.into_iter().filter_map(|peer| peer.name).collect()
    }
}

#[test]
fn a_ticket_introduces_two_machines_and_they_call_by_name() {
    let homes = Homes::new();
    let (inviting, ticket) = homes.invite("clara");
    let joined = Daemon::start("receiver", homes.receiver().args(["join", &ticket, "robert"])).wait();
    joined.check(0, &["robert is remembered in", "peers.toml"]);
    inviting.wait().check(0, &["clara is remembered in", "sender.toml"]);
    assert_eq!(homes.remembered("sender/sender.toml"), ["clara"]);
    assert_eq!(homes.remembered("receiver/peers.toml"), ["robert"]);
    assert!(homes.folder.read("sender/sender.toml").starts_with(SENDER_FILE), "what stood there stays");

    let stats = homes.folder.join("receiver.jsonl");
    let mut receiving = homes.receiver();
    receiving.args(["--peer", "robert", "--sink", "headless", "--backend", "cpu", "--frames", FRAMES]);
    let receiving = Daemon::start("receiver", receiving.arg("--stats").arg(&stats));
    let mut sending = homes.sender();
    sending.args(["--peer", "clara", "--source", "pattern:size=64x48:fps=30", "--rate", "2M", "--backend", "cpu"]);
    let sending = Daemon::start("sender", &mut sending);
    receiving.wait().check(0, &[]);
    sending.stop();
    let shown = homes.folder.stats("receiver.jsonl").pop().unwrap()["frames_shown"].as_u64().unwrap();
    assert!(shown > 0, "{shown}");
}

#[test]
fn a_ticket_that_is_typed_when_asked_for_introduces_two_machines() {
    let homes = Homes::new();
    let (inviting, ticket) = homes.invite("clara");
    std::fs::write(homes.folder.join("typed"), format!("  {ticket}\n")).unwrap();
    let typed = std::fs::File::open(homes.folder.join("typed")).unwrap();
    let joined = homes.receiver().args(["join", "robert"]).stdin(typed).output().unwrap();
    let said = String::from_utf8(joined.stderr).unwrap();
    assert!(
        joined.status.success() && said.contains("Paste the line") && said.contains("robert is remembered"),
        "{said}"
    );
    inviting.wait().check(0, &["clara is remembered in"]);
}

#[test]
fn who_does_not_know_the_secret_is_not_introduced() {
    let homes = Homes::new();
    let (mut inviting, ticket) = homes.invite("clara");
    let mut forged: Ticket = ticket.parse().unwrap();
    forged.proof[0] ^= 1;
    // Knocks of another secret are not answered, so it never gets as far as to dial.
    let joining = Daemon::start("receiver", homes.receiver().args(["join", &forged.to_string()]));
    joining.says(&["nobody has answered for this ticket yet"]);
    assert!(inviting.is_running());
    joining.kill();
    assert!(homes.remembered("sender/sender.toml").is_empty() && homes.remembered("receiver/peers.toml").is_empty());
    // The right one still comes in, once; its name is made up.
    Daemon::start("receiver", homes.receiver().args(["join", &ticket])).wait().check(0, &["friend is remembered"]);
    inviting.wait().check(0, &["clara is remembered"]);
}

#[test]
fn tickets_that_are_no_good_are_refused_with_a_sentence() {
    let homes = Homes::new();
    let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap();
    let purpose = common::reach::Purpose::Invitation;
    let mut ticket = Ticket { purpose, key, proof: [7; 16], expires: 1_000, candidates: Vec::new() };
    let cases = [
        (ticket.to_string(), "has expired"),
        (ticket.to_string().replace("duet-ticket-A", "duet-ticket-B"), "is not whole"),
        ("duet-ticket-\u{1b}[2J".to_owned(), "is not whole"),
        ("hello".to_owned(), "is no ticket"),
        (
            {
                ticket.purpose = common::reach::Purpose::Answer;
                ticket.to_string()
            },
            "where `invite` waits for it",
        ),
    ];
    for (text, words) in cases {
        let ended = Daemon::start("receiver", homes.receiver().args(["join", &text, "robert"])).wait();
        ended.check(2, &[words]);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    }
    Daemon::start("receiver", homes.receiver().args(["invite", "no name"])).wait().check(2, &["is no name"]);
}

/// Returns the ticket of these bytes, with a right checksum (CRC-32), which anybody can make.
fn with_checksum(bytes: &[u8]) -> String {
    let prefix = "duet-ticket-";
    let sum = [prefix.as_bytes(), bytes].concat().iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode([bytes, &(!sum).to_be_bytes()].concat()))
}

#[test]
fn hostile_bytes_behind_a_right_checksum_are_refused_and_strange_addresses_only_knocked_at() {
    let homes = Homes::new();
    let nobody = |n| {
        common::path::ways::Candidate::new(common::path::ways::Kind::ServerReflexive, ([203, 0, 113, n], 7).into())
            .unwrap()
    };
    let ticket = Ticket {
        purpose: common::reach::Purpose::Invitation,
        key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap(),
        proof: [7; 16],
        expires: u64::MAX,
        candidates: (1..=8).map(nobody).collect(),
    };
    let text = ticket.to_string();
    let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix("duet-ticket-").unwrap()).unwrap();
    let bytes = bytes.strip_suffix(bytes.last_chunk::<4>().unwrap()).unwrap();
    assert_eq!(with_checksum(bytes), text);
    // Version, key, proof and time; then the number of addresses.
    let (head, count) = (&bytes[..57], 57);
    let changed = |at: usize, to: u8| [&bytes[..at], &[to], &bytes[at + 1..]].concat();
    for (bytes, words) in [
        (vec![], "is not whole"),
        (vec![0xff; 200], "another version"),
        (head.to_vec(), "is not whole"),
        (changed(count, 9), "is not whole"),
        (changed(count, 255), "is not whole"),
        (changed(count, 1), "is not whole"),
        // An address of no kind, one of a group, and port 0.
        (changed(count + 1, 0x7f), "is not whole"),
        (changed(count + 2, 224), "is not whole"),
        ([head, &[1, 3, 203, 0, 113, 1, 0, 0]].concat(), "is not whole"),
        // A key that anybody can sign for.
        ([&bytes[..1], &[0; 32], &bytes[33..]].concat(), "is not whole"),
    ] {
        let ended = Daemon::start("receiver", homes.receiver().args(["join", &with_checksum(&bytes)])).wait();
        ended.check(2, &[words]);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    }
    let mut joining = Daemon::start("receiver", homes.receiver().args(["join", &text]));
    joining.says(&["nobody has answered for this ticket yet"]);
    assert!(joining.is_running());
    joining.kill();
    assert!(homes.remembered("receiver/peers.toml").is_empty());
}

#[test]
fn what_is_typed_as_an_answer_is_checked() {
    let homes = Homes::new();
    let mut command = homes.sender();
    let output = std::fs::File::create(homes.folder.join("ticket")).unwrap();
    let mut inviting =
        command.args(["invite"]).stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    let ticket: Ticket = until("a ticket", || homes.folder.read("ticket").trim().parse().ok());
    let mut other = ticket.clone();
    other.purpose = common::reach::Purpose::Answer;
    use std::io::{BufRead, BufReader, Write};
    let mut input = inviting.stdin.take().unwrap();
    writeln!(input, "hello\n{ticket}\n{other}").unwrap();
    let mut lines = BufReader::new(inviting.stderr.take().unwrap()).lines();
    for words in ["this is no ticket", "this is an invitation", "to another ticket"] {
        assert!(lines.by_ref().any(|line| line.unwrap().contains(words)), "{words}");
    }
    inviting.kill().unwrap();
    inviting.wait().unwrap();
}
