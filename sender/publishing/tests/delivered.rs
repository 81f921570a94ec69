//! `docker/audience/start` as it is delivered, with a program in the place of the token server's that writes down what it is asked.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const DELIVERED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docker/audience");
/// Signs with the word `token`, and makes keys that are empty.
const MOQ: &str = "#!/bin/sh
echo \"$*\" >>asked
case $2 in
sign) echo a.b.c ;;
generate) while [ \"$1\" != --out ]; do shift; done; : >\"$2\" ;;
revalidate) [ -e relay-runs ] ;;
esac
";

/// A machine on which nothing has been started.
struct Machine(PathBuf);

impl Machine {
    fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("audience-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        for file in ["start", "relay.toml"] {
            fs::copy(Path::new(DELIVERED).join(file), folder.join(file)).unwrap();
        }
        let moq = folder.join("bin/moq");
        fs::write(&moq, MOQ).unwrap();
        fs::set_permissions(moq, fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    fn start(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:{}", self.0.join("bin").display(), std::env::var("PATH").unwrap());
        let mut start = Command::new("sh");
        start.arg(self.0.join("start")).args(arguments).env("PATH", path).env("DUET_HOST", "relay.example");
        start.output().unwrap()
    }

    /// Returns what it prints when all is well.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.start(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, arguments: &[&str], why: &str) {
        let output = self.start(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(why), "{arguments:?}: {said}");
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.0.join("asked")).unwrap_or_default()
    }

    fn keys(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.join("state/keys")).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the word behind `before`.
fn behind<'a>(said: &'a str, before: &str) -> &'a str {
    said.split(before).nth(1).unwrap_or_else(|| panic!("no {before:?} in {said}")).split(['\'', '\n']).next().unwrap()
}

#[test]
fn a_link_is_read_by_the_sender_and_taken_back_by_the_key_that_it_names() {
    let machine = Machine::new("link");
    let said = machine.says(&["link", "duet/anna", "4"]);
    let target = publishing::Target::parse(behind(&said, "--publish '"), None).unwrap();
    assert_eq!((target.host.as_str(), target.port, target.name.as_str()), ("relay.example", 4443, "duet/anna"));
    assert!(target.pin.is_some(), "a certificate that nobody has signed is known by its hash: {said}");
    assert!(said.contains(": https://relay.example/#duet/anna?jwt=a.b.c\n"), "{said}");
    let asked = machine.asked();
    let signs: Vec<_> = asked.lines().filter(|line| line.starts_with("auth sign")).collect();
    assert!(signs.len() == 2 && signs.iter().all(|line| line.contains("--expires")), "{asked}");
    assert!(!signs[0].contains("--publish") && signs[1].contains("--publish duet/anna"), "{asked}");
    // Two at once are two.
    machine.says(&["link", "duet/anna"]);
    assert_eq!(machine.keys().len(), 2);
    let key = behind(&said, "start revoke ");
    assert!(machine.says(&["revoke", key]).contains("within half a minute"));
    machine.refuses(&["revoke", key], "there is no key");
    let left = machine.keys();
    fs::write(machine.0.join("relay-runs"), "").unwrap();
    assert!(machine.says(&["revoke", &left[0]]).contains("sent away now"));
    assert!(machine.asked().ends_with("auth revalidate --internal-url http://127.0.0.1:4480\n"), "{}", machine.asked());
    assert!(machine.keys().is_empty());
}

#[test]
fn names_and_hours_that_are_none_make_no_key() {
    let machine = Machine::new("names");
    for name in ["", "/anna", "anna/", "a//b", "a b", "duet/*", "../a", "duet/.a"] {
        machine.refuses(&["link", name], if name.is_empty() { "which name" } else { "a name has letters" });
    }
    for hours in ["0", "-1", "x", "4h", "1000", "0x10"] {
        machine.refuses(&["link", "duet/anna", hours], "for how many hours");
    }
    machine.refuses(&["revoke"], "which key");
    assert_eq!(machine.asked(), "");
}

#[test]
fn a_second_machine_knows_the_first_ones_certificate_and_has_its_settings() {
    let machine = Machine::new("cluster");
    let said = machine.says(&["cluster"]);
    assert!(said.contains("start second"), "{said}");
    let second = fs::read_to_string(machine.0.join("state/cluster/relay.toml")).unwrap();
    let first = fs::read_to_string(machine.0.join("relay.toml")).unwrap();
    assert!(first.lines().skip(1).all(|line| second.contains(line)), "{second}");
    let told = fs::read_to_string(machine.0.join("state/relay.json")).unwrap();
    let hash = behind(&told, "\"sha256\": \"").split('"').next().unwrap();
    assert!(second.ends_with(&format!(
        "connect = [\"https://relay.example:4443/\"]\n\n[connect]\ntls.fingerprint = [\"{hash}\"]\n"
    )));
    assert_eq!(fs::read_to_string(machine.0.join("state/cluster/token")).unwrap(), "a.b.c\n");
    // Its key signs for good: it is made once.
    machine.says(&["cluster"]);
    assert_eq!(machine.asked().matches("generate").count(), 1);
}

#[test]
fn units_containers_and_the_page_say_of_tokens_the_same() {
    let read = |file: &str| fs::read_to_string(Path::new(DELIVERED).join(file)).unwrap();
    let unit = read("duet-audience-tokens.service");
    let words = |text: &str, from: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(from)).unwrap().to_owned();
        let line = line.replace(['"', '[', ']', ','], " ").replace("/etc/duet-audience/keys", "/keys");
        line.split_whitespace().map(str::to_owned).skip_while(|word| word != "serve").collect::<Vec<_>>()
    };
    let compose = read("compose.yaml");
    let command = words(&compose, "command: [moq, auth");
    assert!(command.len() > 5, "{command:?}");
    assert_eq!(words(&unit, "ExecStart=").join(" "), command.join(" "));
    // What `start revoke` promises.
    assert!(command.windows(2).any(|two| two == ["--revalidate", "30s"]), "{command:?}");
    assert!(
        read("relay.toml").contains("listen = \"127.0.0.1:4480\"") && read("start").contains("http://127.0.0.1:4480")
    );
    let page = read("README.md");
    assert!(
        page.contains("--public-subscribe 'duet/anna/**'"),
        "the token server takes no public name but one with all below it"
    );
}
