//! `sender call`: both pictures over one connection, without any file of the other program.

use std::process::Command;

use serde_json::Value;

use crate::support::{Daemon, Folder, Pair, free_address, receiver, sender, until};

/// A person's folder on a machine: what would be in the home directory.
struct Home {
    folder: Folder,
}

impl Home {
    /// An empty one, but for a configuration in the usual place: nobody outside is asked for an address, and no
    /// router.
    fn new() -> Self {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.join(".config/duet")).unwrap();
        std::fs::write(folder.join(".config/duet/sender.toml"), "[reach]\nstun = []\nopen_port = false\n").unwrap();
        Self { folder }
    }

    fn of(&self, mut program: Command) -> Command {
        let unset = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"];
        for variable in unset {
            program.env_remove(variable);
        }
        program.env("HOME", self.folder.join(""));
        program
    }

    fn sender(&self) -> Command {
        self.of(sender())
    }

    /// A call with statistics.
    fn call(&self, arguments: &[&str]) -> Daemon {
        let mut command = self.sender();
        command.arg("call").args(arguments).args(["--sink", "headless", "--backend", "cpu", "--rate", "2M"]);
        command.args(["--source", "pattern:size=64x48:fps=30", "--stats"]).arg(self.folder.join("call.jsonl"));
        Daemon::start("call", &mut command)
    }

    /// The last line about what is received.
    fn received(&self) -> Value {
        self.folder.last_stats("call-received.jsonl")
    }

    /// Waits for pictures of the other side that come now.
    fn sees_the_other(&self) {
        let shown = || self.received()["frames_shown"].as_u64().unwrap_or(0);
        let before = shown();
        until("pictures", || (self.received()["state"] == "streaming" && shown() > before + 5).then_some(()));
    }
}

#[test]
fn two_empty_homes_are_introduced_and_call_and_come_back_after_a_kill() {
    let (robert, clara) = (Home::new(), Home::new());
    Daemon::start("sender", robert.sender().arg("call")).wait().check(2, &["`sender invite NAME`", "`sender join"]);
    let path = robert.folder.join("ticket");
    let output = std::fs::File::create(&path).unwrap();
    let inviting = Daemon::start_with_output("sender", robert.sender().args(["invite", "clara"]), output.into());
    let ticket = until("a ticket", || {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().find(|line| line.starts_with("duet-ticket-")).map(str::to_owned)
    });
    let joined = Daemon::start("sender", clara.sender().args(["join", &ticket, "robert"])).wait();
    joined.check(0, &["`sender call robert` calls"]);
    inviting.wait().check(0, &["`sender call clara` calls"]);

    let robert_calls = robert.call(&["clara"]);
    let clara_calls = clara.call(&[]);
    for home in [&robert, &clara] {
        home.sees_the_other();
        for line in [home.received(), home.folder.last_stats("call.jsonl")] {
            assert!(line["path"].as_str().is_some_and(|path| path.starts_with("directly")), "{line}");
        }
    }
    clara_calls.kill();
    until("the end of the call", || (robert.received()["state"] != "streaming").then_some(()));
    std::fs::remove_file(clara.folder.join("call-received.jsonl")).unwrap();
    // Clara's home has another address, and she does not know Robert's any more.
    let peers = clara.folder.join(".local/state/duet/peers.toml");
    let lines = std::fs::read_to_string(&peers).unwrap();
    let lines = lines
        .lines()
        .map(|line| if line.starts_with("addresses") { "addresses = [\"192.0.2.1:9\"] # old" } else { line });
    std::fs::write(&peers, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let clara_calls = clara.call(&["robert"]);
    robert.sees_the_other();
    clara.sees_the_other();
    let learned = || {
        std::fs::read_to_string(&peers).unwrap().lines().any(|line| line.starts_with("addresses") && line.contains(','))
    };
    until("the new address in her file", || learned().then_some(()));
    Daemon::start("sender", robert.sender().args(["call", "ana"])).wait().check(2, &["called \"ana\"", "only: clara"]);
    for calling in [robert_calls, clara_calls] {
        calling.stop();
    }
}

#[test]
fn whichever_side_knows_the_others_address_they_find_each_other() {
    let pair = Pair::new();
    let own_port = |address: &str| address.rsplit_once(':').unwrap().1.to_owned();
    for knows in ["sender", "receiver"] {
        let addresses = [("sender", free_address()), ("receiver", free_address())];
        let calls = addresses.iter().map(|(name, address)| {
            let (other, key, there) = match *name {
                "sender" => ("receiver", &pair.receiver_key, &addresses[1].1),
                _ => ("sender", &pair.sender_key, &addresses[0].1),
            };
            let known = if *name == knows { format!("address = \"{there}\"\n") } else { String::new() };
            let file = pair.folder.join(&format!("{name}.toml"));
            let port = own_port(address);
            let text = format!(
                "reach.open_port = false\n[[peer]]\nname = \"{other}\"\npublic_key = \"{key}\"\nport = {port}\n{known}"
            );
            std::fs::write(&file, text).unwrap();
            let mut command = sender();
            command.args(["call", other, "--sink", "headless", "--backend", "cpu", "--rate", "2M", "--frames", "20"]);
            command.args(["--source", "pattern:size=64x48:fps=30", "--config"]).arg(file);
            command.arg("--identity").arg(pair.folder.join(&format!("{name}.pem")));
            command.arg("--stats").arg(pair.folder.join(&format!("{name}-{knows}.jsonl")));
            Daemon::start("call", &mut command)
        });
        let calls: Vec<_> = calls.collect();
        calls.into_iter().for_each(|call| call.wait().check(0, &[]));
        for name in ["sender", "receiver"] {
            let received = pair.folder.stats(&format!("{name}-{knows}-received.jsonl")).pop().unwrap();
            assert!(received["frames_shown"].as_u64() > Some(0), "{knows} knows: {received}");
        }
    }
}

#[test]
fn a_receiver_has_its_configuration_in_the_usual_place_too() {
    let home = Home::new();
    std::fs::write(home.folder.join(".config/duet/receiver.toml"), "[display]\nsink = \"nowhere\"\n").unwrap();
    let checked = Daemon::start("receiver", home.of(receiver()).arg("check")).wait();
    checked.check(2, &["`nowhere` is no sink"]);
}
