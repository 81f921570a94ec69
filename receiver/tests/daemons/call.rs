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
        std::fs::write(folder.join(".config/duet/duet.toml"), "[expert]\nstun = []\nopen_port = false\n").unwrap();
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
    let learned = || std::fs::read_to_string(&peers).unwrap().lines().any(|line| line.starts_with("found = [\""));
    until("the new address in her file", || learned().then_some(()));
    Daemon::start("sender", robert.sender().args(["call", "ana"])).wait().check(2, &["called \"ana\"", "only: clara"]);
    for calling in [robert_calls, clara_calls] {
        calling.stop();
    }
}

/// Keys, names and ports of three musicians, each of whom has a port for each other.
struct Band {
    folder: Folder,
    keys: [String; 3],
    ports: [[String; 3]; 3],
}

impl Band {
    const NAMES: [&str; 3] = ["robert", "clara", "tina"];

    fn new() -> Self {
        let folder = Folder::new();
        let keys = Self::NAMES.map(|name| folder.identity(&format!("{name}.pem")).1);
        let ports = [[(); 3]; 3].map(|row| row.map(|()| free_address().rsplit_once(':').unwrap().1.to_owned()));
        Self { folder, keys, ports }
    }

    /// One of them calls another.
    fn call(&self, who: usize, whom: usize) -> Daemon {
        let mut text = "expert.open_port = false\nexpert.house = false\nexpert.stun = []\n".to_owned();
        for other in (0..3).filter(|other| *other != who) {
            let (name, key) = (Self::NAMES[other], &self.keys[other]);
            let (own, theirs) = (&self.ports[who][other], &self.ports[other][who]);
            text += &format!("[[peer]]\nname = \"{name}\"\npublic_key = \"{key}\"\nport = {own}\n");
            text += &format!("addresses = [\"127.0.0.1:{theirs}\"]\n");
        }
        let name = Self::NAMES[who];
        let file = self.folder.join(&format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        let mut command = sender();
        command.args(["call", Self::NAMES[whom], "--sink", "headless", "--backend", "cpu", "--rate", "2M"]);
        command.args(["--source", "pattern:size=64x48:fps=30", "--config"]).arg(file);
        command.arg("--identity").arg(self.folder.join(&format!("{name}.pem")));
        Daemon::start(name, &mut command)
    }
}

#[test]
fn who_calls_somebody_in_a_call_learns_that_and_is_told_of() {
    // Whichever key is the smaller: one of the two that are apart dials.
    let mut dialled = [false; 2];
    while dialled.contains(&false) {
        let band = Band::new();
        let dials = usize::from(band.keys[2] < band.keys[0]);
        if std::mem::replace(&mut dialled[dials], true) {
            continue;
        }
        let calls = [band.call(0, 1), band.call(1, 0)];
        calls[0].says(&["connected to clara"]);
        let tina = band.call(2, 0);
        tina.says(&["robert is in a call with another machine"]);
        calls[0].says(&["tina called and was told that this machine is in a call"]);
        assert!(!tina.said().contains("was not accepted"), "{}", tina.said());
        assert!(!calls[0].said().contains("the connection to clara has ended"), "{}", calls[0].said());
        calls.into_iter().chain([tina]).for_each(Daemon::stop);
    }
}

#[test]
fn a_receiver_that_a_call_meets_is_told_of_on_both_sides() {
    let pair = Pair::new();
    let receiver = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    let mut call = pair.sender();
    call.args([
        "call",
        "--sink",
        "headless",
        "--backend",
        "cpu",
        "--rate",
        "2M",
        "--source",
        "pattern:size=64x48:fps=30",
    ]);
    let call = Daemon::start("call", &mut call);
    for side in [&call, &receiver] {
        side.says(&["speaks no protocol known here", "start both alike"]);
    }
    [call, receiver].into_iter().for_each(Daemon::stop);
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
                "expert.open_port = false\n[[peer]]\nname = \"{other}\"\npublic_key = \"{key}\"\nport = {port}\n{known}"
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
    std::fs::write(home.folder.join(".config/duet/duet.toml"), "[receiver.display]\nsink = \"nowhere\"\n").unwrap();
    let checked = Daemon::start("receiver", home.of(receiver()).arg("check")).wait();
    checked.check(2, &["`nowhere` is no sink"]);
}
