//! Three musicians, each of whom calls both others with one command.

use serde_json::Value;

use crate::support::{Daemon, Folder, free_address, sender, until};

/// Keys and ports of three musicians, each of whom has a port for each other.
struct Band {
    folder: Folder,
    keys: [String; 3],
    ports: [[String; 3]; 3],
}

const NAMES: [&str; 3] = ["robert", "clara", "tina"];

impl Band {
    fn new() -> Self {
        let folder = Folder::new();
        let keys = NAMES.map(|name| folder.identity(&format!("{name}.pem")).1);
        let ports = [[(); 3]; 3].map(|row| row.map(|()| free_address().rsplit_once(':').unwrap().1.to_owned()));
        Self { folder, keys, ports }
    }

    /// One of them calls these.
    fn call(&self, who: usize, whom: &[usize], more: &[&str]) -> Daemon {
        let mut text =
            "expert.open_port = false\nexpert.house = false\nexpert.stun = []\nsound.card = \"none\"\n".to_owned();
        for other in (0..3).filter(|other| *other != who) {
            let (name, key) = (NAMES[other], &self.keys[other]);
            let (own, theirs) = (&self.ports[who][other], &self.ports[other][who]);
            text += &format!("[[peer]]\nname = \"{name}\"\npublic_key = \"{key}\"\nport = {own}\n");
            text += &format!("addresses = [\"127.0.0.1:{theirs}\"]\n");
        }
        let name = NAMES[who];
        let file = self.folder.join(&format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        let mut command = sender();
        command.arg("call").args(whom.iter().map(|&other| NAMES[other])).args(more);
        command.args(["--sink", "headless", "--backend", "cpu", "--rate", "4M"]);
        command.args(["--source", "pattern:size=64x48:fps=30", "--config"]).arg(file);
        command.arg("--identity").arg(self.folder.join(&format!("{name}.pem")));
        command.arg("--stats").arg(self.folder.join(&format!("{name}.jsonl")));
        Daemon::start(name, &mut command)
    }

    /// The last line of what one has received of another.
    fn received(&self, who: usize, of: usize) -> Value {
        self.folder.last_stats(&format!("{}-{}-received.jsonl", NAMES[who], NAMES[of]))
    }

    /// Waits for pictures of another that come now.
    #[track_caller]
    fn sees(&self, who: usize, other: usize) {
        let shown = || self.received(who, other)["frames_shown"].as_u64().unwrap_or(0);
        let before = shown();
        until("pictures", || (self.received(who, other)["state"] == "streaming" && shown() > before + 5).then_some(()));
    }
}

#[test]
fn three_call_each_other_in_any_order_and_one_that_is_killed_and_returns_disturbs_nobody() {
    let band = Band::new();
    let robert = band.call(0, &[1, 2], &[]);
    let tina = band.call(2, &[1, 0], &[]);
    // Two of them play already.
    band.sees(0, 2);
    band.sees(2, 0);
    let clara = band.call(1, &[0, 2], &[]);
    for (who, other) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
        band.sees(who, other);
    }
    clara.kill();
    until("the end of a call", || (band.received(0, 1)["state"] != "streaming").then_some(()));
    band.sees(0, 2);
    band.sees(2, 0);
    let clara = band.call(1, &[2, 0], &[]);
    for (who, other) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)] {
        band.sees(who, other);
    }
    // One that ends well leaves the others alone, too.
    clara.stop();
    band.sees(0, 2);
    band.sees(2, 0);
    for calling in [robert, tina] {
        calling.stop();
    }
    let sent = band.folder.last_stats("robert-tina.jsonl");
    assert!(sent["frames_sent"].as_u64().is_some_and(|sent| sent > 30), "{sent}");
}

#[test]
fn a_fifth_musician_is_one_too_many() {
    let band = Band::new();
    band.call(0, &[1, 2, 1, 2], &[]).wait().check(2, &["a band is four at most", "4 are named"]);
    band.call(0, &[1, 2, 1], &[]).wait().check(2, &["\"clara\" is named twice"]);
    band.call(0, &[1, 2], &["--to", "127.0.0.1"]).wait().check(2, &["--to and --listen are for a call of two"]);
}
