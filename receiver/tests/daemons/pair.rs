//! Two machines that have never met: four words from one, typed at the other; and servers in between of all kinds.

use std::fs::File;
use std::process::Command;

use faults::mailbox::{MailboxServer, Manners};

use crate::support::{Daemon, Ended, Folder, receiver, sender, until};

struct Homes {
    folder: Folder,
}

impl Homes {
    /// Two homes without anything but a mailbox server in their configuration.
    fn new(server: &str) -> Self {
        let folder = Folder::new();
        for name in ["sender", "receiver"] {
            std::fs::create_dir(folder.join(name)).unwrap();
            let file = format!("[expert]\nstun = []\nopen_port = false\n[reach]\nmailbox = \"{server}\"\n");
            std::fs::write(folder.join(&format!("{name}/{name}.toml")), file).unwrap();
        }
        Self { folder }
    }

    fn program(&self, name: &str) -> Command {
        let mut command = if name == "sender" { sender() } else { receiver() };
        command.arg("--config").arg(self.folder.join(&format!("{name}/{name}.toml")));
        command.arg("--identity").arg(self.folder.join(&format!("{name}/identity.pem")));
        command.arg("pair");
        command
    }

    /// Shows words at the sender; returns it and the words.
    fn show(&self) -> (Daemon, String) {
        let output = File::create(self.folder.join("words")).unwrap();
        let mut command = self.program("sender");
        let showing = Daemon::start_with_output("sender", command.args(["--name", "clara"]), output.into());
        let words = until("words", || {
            let text = self.folder.read("words");
            text.lines().find(|line| line.split('-').count() == 4).map(str::to_owned)
        });
        (showing, words)
    }

    /// Types words at the receiver.
    fn types(&self, words: &str) -> Ended {
        Daemon::start("receiver", self.program("receiver").args([words, "--name", "robert"])).wait()
    }

    fn remembered(&self, name: &str) -> Vec<String> {
        let text = self.folder.read(&format!("{name}/{name}.toml"));
        let names = text.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        names.map(str::to_owned).collect()
    }

    fn check_nobody_is_remembered(&self) {
        assert!(self.remembered("sender").is_empty() && self.remembered("receiver").is_empty());
    }
}

fn homes(manners: Manners) -> Homes {
    Homes::new(&MailboxServer::start(manners).unwrap().url())
}

#[test]
fn four_words_introduce_two_machines() {
    let homes = homes(Manners::Honest);
    let (showing, words) = homes.show();
    homes.types(&words.to_uppercase().replace('-', " ")).check(0, &["robert is remembered in"]);
    showing.wait().check(0, &["clara is remembered in"]);
    assert_eq!(
        (homes.remembered("sender"), homes.remembered("receiver")),
        (vec!["clara".into()], vec!["robert".into()])
    );
}

#[test]
fn words_that_are_typed_when_asked_for_introduce_two_machines() {
    let homes = homes(Manners::Honest);
    let (showing, words) = homes.show();
    std::fs::write(homes.folder.join("typed"), format!("{words}\n")).unwrap();
    let typed = File::open(homes.folder.join("typed")).unwrap();
    let ended = homes.program("receiver").args(["--name", "robert"]).stdin(typed).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && said.contains("robert is remembered in"), "{said}");
    showing.wait().check(0, &["clara is remembered in"]);
}

#[test]
fn a_server_that_gives_the_newest_first_is_borne() {
    let homes = homes(Manners::Reorders);
    let (showing, words) = homes.show();
    homes.types(&words).check(0, &["robert is remembered in"]);
    showing.wait().check(0, &["clara is remembered in"]);
}

#[test]
fn wrong_words_introduce_nobody_and_three_are_the_end() {
    let homes = homes(Manners::Honest);
    let (showing, words) = homes.show();
    let first = words.split('-').next().unwrap();
    // The same place, and a guess at the rest that is right by chance once in 2^33 times.
    let wrong = format!("{first}-zoo-zoo-zoo");
    for _ in 0..3 {
        homes.types(&wrong).check(4, &["the words are not those that the other machine shows"]);
    }
    showing.wait().check(4, &["three times somebody came with wrong words"]);
    homes.check_nobody_is_remembered();
}

#[test]
fn after_a_mistyped_word_the_right_ones_work() {
    let homes = homes(Manners::Honest);
    let (showing, words) = homes.show();
    let first = words.split('-').next().unwrap();
    homes.types(&format!("{first}-zoo-zoo-zoo")).check(4, &["compare them and try again"]);
    homes.types(&words).check(0, &["robert is remembered in"]);
    showing.wait().check(0, &["clara is remembered in"]);
}

#[test]
fn a_server_that_changes_what_it_carries_introduces_nobody() {
    let homes = homes(Manners::Changes);
    let (showing, words) = homes.show();
    homes.types(&words).check(4, &[]);
    showing.kill();
    homes.check_nobody_is_remembered();
}

#[test]
fn a_server_that_loses_all_leaves_nobody_waiting_for_ever() {
    let homes = homes(Manners::Drops);
    let (showing, words) = homes.show();
    homes.types(&words).check(4, &["nobody waits with these words"]);
    showing.kill();
    homes.check_nobody_is_remembered();
}

#[test]
fn servers_that_refuse_or_are_not_there_are_named() {
    let refusing = homes(Manners::Refuses);
    refusing.types("zoo zoo zoo zoo").check(4, &["the mailbox server refuses: \"only friends here\""]);
    let nobody = Homes::new("ws://127.0.0.1:9/v1");
    nobody.types("zoo zoo zoo zoo").check(4, &["ws://127.0.0.1:9/v1 cannot be reached"]);
    let none = Homes::new("");
    none.types("zoo zoo zoo zoo").check(2, &["set `mailbox` in [reach] on both machines"]);
    none.types("zoo zoo quaver zoo").check(2, &["`quaver` is not one of the words"]);
    none.types("zoo zoo").check(2, &["there are 2 words"]);
    refusing.check_nobody_is_remembered();
}
