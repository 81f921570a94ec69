//! Two machines that were introduced and whose addresses have changed since: they find each other by notes at a mailbox
//! server; and servers of all kinds, which cost a call nothing that has another way.

use faults::mailbox::{MailboxServer, Manners};

use crate::support::{Daemon, Pair, free_address, sender, until};

const SIDES: [&str; 2] = ["sender", "receiver"];

/// Two machines that know each other's keys, and a mailbox server.
struct Homes {
    pair: Pair,
}

impl Homes {
    /// Each knows of the other the address that `known` makes of where it is.
    fn new(server: &str, known: impl Fn(&str) -> String) -> Self {
        let pair = Pair::new();
        let addresses = SIDES.map(|_| free_address());
        for (side, name) in SIDES.iter().enumerate() {
            let key = if side == 0 { &pair.receiver_key } else { &pair.sender_key };
            let port = addresses[side].rsplit_once(':').unwrap().1;
            let text = format!(
                "[expert]\nstun = []\nopen_port = false\n[reach]\nmailbox = \"{server}\"\n[[peer]]\nname = \"other\"\npublic_key = \
                 \"{key}\"\nport = {port}\naddresses = [\"{}\"]\n",
                known(&addresses[1 - side])
            );
            std::fs::write(pair.folder.join(&format!("{name}.toml")), text).unwrap();
        }
        Self { pair }
    }

    fn call(&self, name: &str) -> Daemon {
        let folder = &self.pair.folder;
        let mut command = sender();
        command.args(["call", "other", "--sink", "headless", "--backend", "cpu", "--rate", "2M"]);
        command.args(["--source", "pattern:size=64x48:fps=30", "--config"]).arg(folder.join(&format!("{name}.toml")));
        command.arg("--identity").arg(folder.join(&format!("{name}.pem")));
        command.arg("--stats").arg(folder.join(&format!("{name}.jsonl")));
        Daemon::start("call", &mut command)
    }

    /// Waits until both have pictures of each other, and each says a line with all `words`; returns what they said.
    fn see_each_other(&self, calls: [Daemon; 2], words: &[&str]) -> [String; 2] {
        for name in SIDES {
            let file = format!("{name}-received.jsonl");
            let shown = || self.pair.folder.last_stats(&file)["frames_shown"].as_u64();
            until("pictures", || shown().filter(|&shown| shown > 5));
        }
        for call in &calls {
            call.says(words);
            call.terminate();
        }
        calls.map(|call| {
            let ended = call.wait();
            ended.check(0, &[]);
            ended.stderr
        })
    }

    fn call_each_other(&self, words: &[&str]) -> [String; 2] {
        self.see_each_other(SIDES.map(|name| self.call(name)), words)
    }
}

/// A place where nobody is.
fn nowhere(_: &str) -> String {
    "192.0.2.1:9".to_owned()
}

const HAS_NOTE: &str = "the mailbox server has a note of the other machine";

#[test]
fn two_machines_find_each_other_by_notes_where_all_else_has_changed() {
    for manners in [Manners::Honest, Manners::Reorders] {
        let homes = Homes::new(&MailboxServer::start(manners).unwrap().url(), nowhere);
        homes.call_each_other(&[HAS_NOTE]);
    }
}

#[test]
fn the_one_that_comes_late_finds_the_note_of_the_other() {
    for (early, late) in [(0, 1), (1, 0)] {
        let homes = Homes::new(&MailboxServer::start(Manners::Honest).unwrap().url(), nowhere);
        let first = homes.call(SIDES[early]);
        first.says(&["looking for other"]);
        let second = homes.call(SIDES[late]);
        homes.see_each_other([first, second], &[HAS_NOTE]);
    }
}

#[test]
fn a_server_that_is_not_to_be_trusted_costs_a_call_nothing() {
    let known = |address: &str| address.to_owned();
    for (manners, words) in [
        (Manners::Changes, None),
        (Manners::Drops, None),
        (Manners::Refuses, Some("it refuses: \"only friends here\"; going on without")),
        (Manners::Leaves, Some("the connection has ended; going on without")),
    ] {
        let homes = Homes::new(&MailboxServer::start(manners).unwrap().url(), known);
        let said = homes.call_each_other(words.as_slice());
        assert!(said.iter().all(|said| !said.contains(HAS_NOTE)), "{manners:?}: {said:?}");
    }
    let homes = Homes::new("ws://127.0.0.1:9/v1", known);
    homes.call_each_other(&["the mailbox server ws://127.0.0.1:9/v1", "going on without"]);
}
