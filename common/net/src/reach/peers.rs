//! Machines that were introduced, kept as `[[peer]]` tables of a configuration file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use common::config::{PeerSection, PublicKey, SharedConfig, is_same_key};
use common::path::ways::Candidate;
use common::reach::{FOUND_MAX, NAME_MAX, is_name, name_in};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::locked_file::{Change, LockedFile};

use crate::failure::Failure;
use crate::identity::Identity;
use crate::zones;

/// Name of the file without which no configuration is named.
const FILE_NAME: &str = "peers.toml";

/// Name of whoever has none.
const NAMELESS: &str = "friend";

/// A file with `[[peer]]` tables. Everything else in it stays as it is.
#[derive(Clone, Debug)]
pub struct PeersFile {
    path: PathBuf,
}

/// A machine that was introduced.
#[derive(Clone, Debug)]
pub(super) struct NewPeer {
    pub(super) key: PublicKey,
    /// Addresses to try.
    pub(super) candidates: Vec<Candidate>,
    /// This machine's UDP port for calls with it.
    pub(super) port: u16,
}

impl PeersFile {
    /// Returns the configuration file that is `named`, or else `peers.toml` beside this machine's key, which both programs
    /// read where no configuration is named.
    pub fn of(named: Option<&Path>, config: &SharedConfig) -> Result<Self, Failure> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => Identity::path_of(config)?.with_file_name(FILE_NAME),
        };
        Ok(Self { path })
    }

    /// Returns its path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Those that may list a peer of this configuration: the one beside this machine's key, and the configuration itself.
    pub fn all(config: &SharedConfig) -> Vec<Self> {
        let beside = Identity::path_of(config).ok().map(|key| key.with_file_name(FILE_NAME));
        beside.into_iter().chain(config.file.clone()).map(|path| Self { path }).collect()
    }

    /// Remembers the peer; returns its name: the old one if its key was known, else `wanted`, with a number if another
    /// machine has that name. The file is replaced at once or not at all.
    pub(super) fn remember(&self, wanted: &str, peer: &NewPeer) -> Result<String, Failure> {
        LockedFile::make(&self.path)?.change(|text| {
            let mut document = self.parse(text)?;
            let name = self.introduce(&mut document, wanted, peer)?;
            Ok((Change::To(document.to_string()), name))
        })
    }

    fn introduce(&self, document: &mut DocumentMut, wanted: &str, peer: &NewPeer) -> Result<String, Failure> {
        let tables = document.entry("peer").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let tables = tables.as_array_of_tables_mut().ok_or_else(|| {
            Failure::usage(format!(
                "{} lists its peers in a form that cannot be added to: write [[peer]] sections",
                self.path.display()
            ))
        })?;
        let key = peer.key.to_string();
        let known =
            tables.iter().position(|table| text_of(table, "public_key").is_some_and(|text| is_same_key(text, &key)));
        let is_free = |name: &String| !tables.iter().any(|table| text_of(table, "name") == Some(name));
        let mut names = std::iter::once(wanted.to_owned()).chain((2..).map(|number| format!("{wanted}{number}")));
        let free = names.find(is_free).unwrap_or_default();
        let at = known.unwrap_or_else(|| {
            let mut table = Table::new();
            table.insert("name", value(&free));
            table.insert("public_key", value(&key));
            tables.push(table);
            tables.len() - 1
        });
        let table = tables.get_mut(at).ok_or_else(|| Failure::usage("no such peer"))?;
        let name = text_of(table, "name").map_or(free, str::to_owned);
        table.insert("name", value(&name));
        let addresses = peer.candidates.iter().map(|candidate| candidate.address.to_string());
        table.insert("addresses", value(addresses.collect::<Array>()));
        table.remove("found");
        table.insert("port", value(i64::from(peer.port)));
        Ok(name)
    }

    /// Puts `address` before those at which calls have found the peer, if it is listed here as one that was introduced; false
    /// if it is not, as one that somebody has just taken out. The addresses of the introduction stay, and so do comments.
    pub(super) fn learn(&self, key: &PublicKey, address: SocketAddr) -> Result<bool, Failure> {
        let Some(file) = LockedFile::of(&self.path)? else { return Ok(false) };
        let (key, address) = (key.to_string(), zones::named(address));
        file.change(|text| {
            let mut document = self.parse(text)?;
            let Some(is_new) = note(&mut document, &key, &address) else { return Ok((Change::Nothing, false)) };
            Ok((if is_new { Change::To(document.to_string()) } else { Change::Nothing }, true))
        })
    }

    /// Takes the peer with this key out, with its addresses; false if it is not listed here. Everything else stays.
    pub fn remove(&self, key: &PublicKey) -> Result<bool, Failure> {
        self.change(key, |peers, at| {
            peers.remove(at);
            Ok(())
        })
    }

    /// Gives the peer with this key another name; false if it is not listed here. An error says what is wrong with the name.
    pub fn rename(&self, key: &PublicKey, wanted: &str) -> Result<bool, Failure> {
        let wanted = checked(wanted)?;
        self.change(key, |peers, at| {
            let is_other = |(place, table): (usize, &Table)| place != at && text_of(table, "name") == Some(wanted);
            if peers.iter().enumerate().any(is_other) {
                return Err(Failure::usage(format!("somebody else is called {wanted} already")));
            }
            peers.get_mut(at).map(|table| table.insert("name", value(wanted)));
            Ok(())
        })
    }

    /// Changes the list at the place of the peer with this key; false if it is not listed.
    fn change(
        &self,
        key: &PublicKey,
        change: impl Fn(&mut ArrayOfTables, usize) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Some(file) = LockedFile::of(&self.path)? else { return Ok(false) };
        let key = key.to_string();
        file.change(|text| {
            let mut document = self.parse(text)?;
            let Some(peers) = document.get_mut("peer").and_then(Item::as_array_of_tables_mut) else {
                return Ok((Change::Nothing, false));
            };
            let is_peer = |table: &Table| text_of(table, "public_key").is_some_and(|text| is_same_key(text, &key));
            let Some(at) = peers.iter().position(is_peer) else { return Ok((Change::Nothing, false)) };
            change(peers, at)?;
            Ok((Change::To(document.to_string()), true))
        })
    }

    fn parse(&self, text: &str) -> Result<DocumentMut, Failure> {
        text.parse().map_err(|error: toml_edit::TomlError| {
            Failure::usage(format!("{}: {}", self.path.display(), error.message().replace('\n', ", ")))
        })
    }
}

/// Notes that calls have found the peer there; false if that is known, none if no such peer was introduced.
fn note(document: &mut DocumentMut, key: &str, address: &str) -> Option<bool> {
    let is_peer = |table: &&mut Table| text_of(table, "public_key").is_some_and(|text| is_same_key(text, key));
    let table = document.get_mut("peer")?.as_array_of_tables_mut()?.iter_mut().find(is_peer)?;
    let holds = |known: &Array| known.iter().any(|known| known.as_str() == Some(address));
    if holds(table.get("addresses")?.as_array()?) {
        return Some(false);
    }
    let found = table.entry("found").or_insert_with(|| value(Array::new())).as_array_mut()?;
    if holds(found) {
        return Some(false);
    }
    found.insert(0, address);
    while found.len() > FOUND_MAX {
        found.remove(found.len() - 1);
    }
    Some(true)
}

/// Machines that were introduced where no configuration was named; beside the key in the file `identity`, or in the usual place.
pub fn known_peers(identity: &str) -> Result<Vec<PeerSection>, Failure> {
    // A machine without a place for its key has none for this file.
    let key = (!identity.is_empty()).then(|| PathBuf::from(identity));
    let Ok(path) = key.map_or_else(Identity::default_path, Ok) else { return Ok(Vec::new()) };
    let path = path.with_file_name(FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::usage(format!("{} cannot be read: {error}", path.display()))),
    };
    let file = common::config::parse_peers(&text);
    Ok(file.map_err(|error| Failure::in_file(Some(&path), &error))?.peers)
}

fn text_of<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Item::as_str)
}

/// Returns `name` if it can be one.
fn checked(name: &str) -> Result<&str, Failure> {
    if is_name(name) {
        return Ok(name);
    }
    Err(Failure::usage(format!(
        "`{}` is no name for a peer: use up to {NAME_MAX} letters, digits, `-`, `_` and `.`",
        crate::quoted::Quoted(name)
    )))
}

/// Name for a machine that is to be introduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewName<'a> {
    /// As the person here wants it.
    wanted: Option<&'a str>,
}

impl<'a> NewName<'a> {
    /// The name wanted, if it can be one; none: that which the other machine tells.
    pub(super) fn new(wanted: Option<&'a str>) -> Result<Self, Failure> {
        Ok(Self { wanted: wanted.map(checked).transpose()? })
    }

    /// Returns it for sentences before the other machine has told anything.
    pub(super) fn before(self) -> &'a str {
        self.wanted.unwrap_or(NAMELESS)
    }

    /// Returns it where the other machine says that it is called `told`.
    pub(super) fn of(self, told: &str) -> String {
        self.wanted.map(str::to_owned).or_else(|| name_in(told)).unwrap_or_else(|| NAMELESS.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use common::path::ways::{ADDRESSES_MAX, Kind};

    use super::*;

    /// As printed by programs of before.
    const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn file(name: &str) -> PeersFile {
        let directory = std::env::temp_dir().join(format!("duet-peers-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        PeersFile { path: directory.join("deep/peers.toml") }
    }

    fn peer(address: &str) -> NewPeer {
        let candidates = vec![Candidate::new(Kind::ServerReflexive, address.parse().unwrap()).unwrap()];
        NewPeer { key: KEY.parse().unwrap(), candidates, port: 20_000 }
    }

    #[test]
    fn a_new_file_is_private_and_a_peer_is_remembered_once() {
        let file = file("new");
        assert_eq!(file.remember("clara", &peer("203.0.113.5:1")).unwrap(), "clara");
        assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.remember("other", &peer("[2001:db8::1]:2")).unwrap(), "clara", "known by its key");
        let peers = common::config::parse_peers(&fs::read_to_string(&file.path).unwrap()).unwrap().peers;
        assert_eq!(peers.len(), 1);
        assert_eq!(peers[0].addresses.as_deref(), Some(&["[2001:db8::1]:2".to_owned()][..]));
        assert_eq!(peers[0].port, Some(20_000));
        let key = Identity::generate().unwrap().public_key();
        let other = NewPeer { key, ..peer("203.0.113.6:1") };
        assert_eq!(file.remember("clara", &other).unwrap(), "clara2", "no key takes another's name");
        let new = |wanted, told| NewName::new(wanted).map(|name| name.of(told));
        assert_eq!(new(None, ""), Ok("friend".to_owned()));
        assert_eq!(new(None, "Clara \u{202e}Schumann\n"), Ok("Clara-Schumann".to_owned()));
        assert_eq!(new(Some("clara"), "Maria"), Ok("clara".to_owned()));
        for wrong in ["", "a b", "a\nb", KEY, "duet-key-mistyped", &"x".repeat(33)] {
            assert!(NewName::new(Some(wrong)).is_err(), "{wrong}");
        }
    }

    /// Returns the addresses of the introduction and those found since, of the first peer of the file.
    fn addresses(file: &PeersFile) -> [Vec<String>; 2] {
        let peers = common::config::parse_peers(&fs::read_to_string(&file.path).unwrap()).unwrap().peers;
        [peers[0].addresses.clone(), peers[0].found.clone()].map(Option::unwrap_or_default)
    }

    #[test]
    fn a_new_address_is_learned_of_whoever_was_introduced_and_comments_stay() {
        let file = file("learn");
        let (key, address) = (KEY.parse().unwrap(), |n: usize| format!("203.0.113.{n}:1").parse().unwrap());
        assert_eq!(file.learn(&key, address(1)), Ok(false), "there is no file");
        file.remember("clara", &peer("198.51.100.1:1")).unwrap();
        let text = fs::read_to_string(&file.path).unwrap().replace("addresses", "# where\naddresses");
        fs::write(&file.path, format!("# mine\n{text}\n[[peer]]\npublic_key = \"x\" # by hand\n")).unwrap();
        assert_eq!(file.learn(&Identity::generate().unwrap().public_key(), address(1)), Ok(false));
        for n in [1, 2, 2] {
            assert_eq!(file.learn(&key, address(n)), Ok(true));
        }
        assert_eq!(file.learn(&key, "198.51.100.1:1".parse().unwrap()), Ok(true), "known from the introduction");
        let after = fs::read_to_string(&file.path).unwrap();
        for kept in ["# mine\n", "# where\n", "# by hand\n"] {
            assert!(after.contains(kept), "{after}");
        }
        let introduced = vec!["198.51.100.1:1".to_owned()];
        assert_eq!(addresses(&file), [introduced, ["203.0.113.2:1", "203.0.113.1:1"].map(str::to_owned).to_vec()]);
        assert_eq!(file.remember("clara", &peer("198.51.100.2:1")), Ok("clara".to_owned()));
        assert_eq!(addresses(&file), [vec!["198.51.100.2:1".to_owned()], vec![]], "introduced anew");
    }

    #[test]
    fn whatever_is_found_all_places_of_the_introduction_stay() {
        let file = file("places");
        let key = KEY.parse().unwrap();
        let told = (1..=ADDRESSES_MAX)
            .map(|n| Candidate::new(Kind::ServerReflexive, ([198, 51, 100, n as u8], 1).into()).unwrap());
        let told: Vec<_> = told.collect();
        file.remember("clara", &NewPeer { candidates: told.clone(), ..peer("198.51.100.1:1") }).unwrap();
        (1..20).for_each(|n| assert_eq!(file.learn(&key, ([203, 0, 113, n], 1).into()), Ok(true)));
        let introduced: Vec<_> = told.iter().map(|candidate| candidate.address.to_string()).collect();
        let found: Vec<_> = (0..FOUND_MAX).map(|n| format!("203.0.113.{}:1", 19 - n)).collect();
        assert_eq!(addresses(&file), [introduced, found]);
        // As a call reads it.
        let text = format!("[network]\nmode = \"meet\"\n{}", fs::read_to_string(&file.path).unwrap());
        let config = common::config::resolve_sender(&common::config::parse_sender(&text).unwrap()).unwrap();
        let common::config::LinkMode::Meet(meet) = config.shared.mode else { panic!("{:?}", config.shared.mode) };
        assert_eq!(meet.candidates.len(), ADDRESSES_MAX + FOUND_MAX);
    }

    #[test]
    fn a_peer_that_is_taken_out_during_a_call_stays_out() {
        let file = file("revoked");
        let key = KEY.parse().unwrap();
        for round in 0..40_u8 {
            file.remember("clara", &peer("198.51.100.1:1")).unwrap();
            std::thread::scope(|scope| {
                let learning = scope.spawn(|| {
                    for n in 1..4 {
                        let _ = file.learn(&key, ([203, 0, 113, n], 1).into()).unwrap();
                    }
                });
                assert_eq!(file.remove(&key), Ok(true));
                learning.join().unwrap();
            });
            assert_eq!(file.learn(&key, ([203, 0, 113, 9], 1).into()), Ok(false), "round {round}");
            let left = common::config::parse_peers(&fs::read_to_string(&file.path).unwrap()).unwrap().peers;
            assert_eq!(left, [], "round {round}");
        }
    }

    #[test]
    fn a_peer_gets_another_name_and_comments_stay() {
        let file = file("rename");
        let (key, other) = (KEY.parse().unwrap(), Identity::generate().unwrap().public_key());
        assert_eq!((file.rename(&key, "clara"), file.remove(&key)), (Ok(false), Ok(false)), "there is no file");
        file.remember("clara", &peer("198.51.100.1:1")).unwrap();
        file.remember("tina", &NewPeer { key: other, ..peer("198.51.100.2:1") }).unwrap();
        fs::write(&file.path, format!("# mine\n{}", fs::read_to_string(&file.path).unwrap())).unwrap();
        let right_to_left = format!("clara{}", '\u{202e}');
        for wrong in ["", "tina", "a\tb", "a b", &right_to_left, &"x".repeat(10_000), KEY] {
            let before = fs::read_to_string(&file.path).unwrap();
            assert!(file.rename(&key, wrong).is_err(), "{wrong}");
            assert_eq!(fs::read_to_string(&file.path).unwrap(), before);
        }
        assert_eq!(file.rename(&key, "klara"), Ok(true));
        assert_eq!(file.rename(&key, "klara"), Ok(true), "as it is");
        assert_eq!(file.remove(&other), Ok(true));
        let after = fs::read_to_string(&file.path).unwrap();
        assert!(after.starts_with("# mine\n") && after.contains("\"klara\"") && !after.contains("tina"), "{after}");
    }

    #[test]
    fn of_several_that_write_at_once_nobody_loses_anything() {
        const WRITERS: usize = 4;
        const EACH: usize = 10;
        let file = file("writers");
        let first = KEY.parse().unwrap();
        file.remember("clara", &peer("198.51.100.1:1")).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let file = file.clone();
                scope.spawn(move || {
                    for n in 0..EACH {
                        let key = Identity::generate().unwrap().public_key();
                        file.remember("friend", &NewPeer { key, ..peer("203.0.113.6:1") }).unwrap();
                        let found = ([203, 0, 113, 7], (writer * EACH + n) as u16 + 1).into();
                        assert_eq!(file.learn(&first, found), Ok(true));
                    }
                });
            }
        });
        let peers = common::config::parse_peers(&fs::read_to_string(&file.path).unwrap()).unwrap().peers;
        let names: std::collections::HashSet<_> = peers.iter().filter_map(|peer| peer.name.clone()).collect();
        assert_eq!((peers.len(), names.len()), (WRITERS * EACH + 1, WRITERS * EACH + 1));
        assert_eq!(peers[0].found.as_ref().map(Vec::len), Some(FOUND_MAX));
        let folder: Vec<_> =
            fs::read_dir(file.path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(folder, ["peers.toml"], "nothing is left beside it");
    }

    #[test]
    fn what_a_program_without_a_lock_writes_meanwhile_is_read_first() {
        let file = file("editor");
        file.remember("clara", &peer("198.51.100.1:1")).unwrap();
        let edits = std::cell::Cell::new(0);
        let locked = LockedFile::of(&file.path).unwrap().unwrap();
        let seen = locked.change(|text| {
            edits.set(edits.get() + 1);
            if edits.get() == 1 {
                fs::write(&file.path, "# another one\n").unwrap();
            }
            Ok((Change::To(format!("{text}# and this\n")), text.to_owned()))
        });
        assert_eq!(seen, Ok("# another one\n".to_owned()));
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "# another one\n# and this\n");
    }

    #[test]
    fn what_stands_in_the_file_stays() {
        let file = file("kept");
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        let text = "# mine\n[codec]\nrate = \"10M\" # not more\n\n[[peer]] # an old friend\nname = \"ana\"\npublic_key = \"x\"\n";
        fs::write(&file.path, text).unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
        file.remember("clara", &peer("203.0.113.5:1")).unwrap();
        let after = fs::read_to_string(&file.path).unwrap();
        assert!(after.starts_with(text), "{after}");
        assert_eq!(common::config::parse_sender(&after).unwrap().peers.len(), 2);
        assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o640);
        fs::write(&file.path, "peer = 3\n").unwrap();
        assert!(file.remember("clara", &peer("203.0.113.5:1")).unwrap_err().to_string().contains("[[peer]]"));
        fs::write(&file.path, "[peer\n").unwrap();
        assert!(file.remember("clara", &peer("203.0.113.5:1")).is_err());
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "[peer\n");
    }
}
