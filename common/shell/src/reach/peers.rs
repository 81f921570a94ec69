//! Machines that were introduced, kept as `[[peer]]` tables of a configuration file.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use common::config::{LinkMode, Peer, PublicKey, SharedConfig, is_same_key, looks_like_key, raw};
use common::reach::{ADDRESSES_MAX, Candidate};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

// A circle of two: `cli` reads the peers that are known, and its flags name their file.
use crate::cli::CommonFlags;
use crate::exit::Failure;
use crate::identity::Identity;
use crate::limited;

/// Name of the file without which no configuration is named.
const FILE_NAME: &str = "peers.toml";
/// Longest name of a peer, characters.
const NAME_MAX: usize = 32;

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
    /// Returns the configuration file that the flags name, or else `peers.toml` beside this machine's key, which both
    /// programs read where no configuration is named.
    pub fn of(flags: &CommonFlags, config: &SharedConfig) -> Result<Self, Failure> {
        let path = match &flags.config {
            Some(path) => path.clone(),
            None => crate::cli::identity_path(config)?.with_file_name(FILE_NAME),
        };
        Ok(Self { path })
    }

    /// Returns its path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Remembers the peer; returns its name: the old one if its key was known, else `wanted`, with a number if another
    /// machine has that name. The file is replaced at once or not at all.
    pub(super) fn remember(&self, wanted: &str, peer: &NewPeer) -> Result<String, Failure> {
        let mut document = self.read()?;
        let tables = document.entry("peer").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let tables = tables.as_array_of_tables_mut().ok_or_else(|| {
            Failure::usage(format!(
                "{} lists its peers in a form that cannot be added to: write [[peer]] sections",
                self.path.display()
            ))
        })?;
        let key = peer.key.to_string();
        let known =
            tables.iter().position(|table| text(table, "public_key").is_some_and(|text| is_same_key(text, &key)));
        let is_free = |name: &String| !tables.iter().any(|table| text(table, "name") == Some(name));
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
        let name = text(table, "name").map_or(free, str::to_owned);
        table.insert("name", value(&name));
        let addresses = peer.candidates.iter().map(|candidate| candidate.address.to_string());
        table.insert("addresses", value(addresses.collect::<toml_edit::Array>()));
        table.insert("port", value(i64::from(peer.port)));
        self.write(&document.to_string())?;
        Ok(name)
    }

    /// Puts `address` before those at which the peer was found before, if it is listed here as one that was introduced;
    /// false if it is not. Comments stay.
    fn learn(&self, key: &PublicKey, address: SocketAddr) -> Result<bool, Failure> {
        let mut document = self.read()?;
        let (key, address) = (key.to_string(), address.to_string());
        let tables = document.get_mut("peer").and_then(Item::as_array_of_tables_mut);
        let is_peer = |table: &&mut Table| text(table, "public_key").is_some_and(|text| is_same_key(text, &key));
        let table = tables.and_then(|tables| tables.iter_mut().find(is_peer));
        let Some(known) = table.and_then(|table| table.get_mut("addresses")?.as_array_mut()) else { return Ok(false) };
        if known.iter().any(|known| known.as_str() == Some(address.as_str())) {
            return Ok(true);
        }
        known.insert(0, address);
        // Those of the introduction stay: what is learned may be a port that is another one each time.
        while known.len() > ADDRESSES_MAX {
            known.remove(1);
        }
        self.write(&document.to_string())?;
        Ok(true)
    }

    fn read(&self) -> Result<DocumentMut, Failure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(self.failed("read", &error)),
        };
        text.parse().map_err(|error: toml_edit::TomlError| {
            Failure::usage(format!("{}: {}", self.path.display(), error.message().replace('\n', ", ")))
        })
    }

    /// Puts `text` in the place of the file, with the same rights; a new file is for its owner only.
    fn write(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: std::io::Error| self.failed("written", &error);
        if let Some(directory) = self.path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        // A link stays one.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let mode = fs::metadata(&path).map_or(0o600, |known| known.permissions().mode() & 0o777);
        let mut beside = path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&beside).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&beside, &path).map_err(failed)
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Failure {
        Failure::usage(format!("{} cannot be {what}: {error}", self.path.display()))
    }
}

/// Place at which an introduced peer was found, for the next call.
#[derive(Clone, Debug)]
pub struct Learning {
    files: Vec<PeersFile>,
    known: Vec<SocketAddr>,
}

impl Learning {
    /// Of the peer that `config` looks for; none if it looks for none that was introduced. It is listed beside this
    /// machine's key or in the configuration.
    pub fn of(config: &SharedConfig) -> Option<Self> {
        let LinkMode::Meet(meet) = &config.mode else { return None };
        let beside = crate::cli::identity_path(config).ok().map(|key| key.with_file_name(FILE_NAME));
        let files = beside.into_iter().chain(config.file.clone()).map(|path| PeersFile { path }).collect();
        Some(Self { files, known: meet.candidates.iter().map(|known| known.address).collect() })
    }

    /// The peer is at `address`, as its key proves. What is new is written down, on another thread.
    pub(crate) fn found(&mut self, peer: &Peer, address: SocketAddr) {
        if self.known.contains(&address) {
            return;
        }
        self.known.push(address);
        let (files, peer) = (self.files.clone(), peer.clone());
        tokio::task::spawn_blocking(move || {
            for file in files {
                match file.learn(&peer.key, address) {
                    Ok(true) => return tracing::info!("{} is remembered at {address}", peer.name),
                    Ok(false) => {}
                    Err(failure) => limited!(warn, "the new address of {}, {address}: {failure}", peer.name),
                }
            }
        });
    }
}

/// Machines that were introduced where no configuration was named.
pub fn known_peers(identity: &raw::Identity) -> Result<Vec<raw::PeerSection>, Failure> {
    // A machine without a place for its key has none for this file.
    let key = identity.file.as_ref().filter(|file| !file.is_empty()).map(PathBuf::from);
    let Ok(path) = key.map_or_else(Identity::default_path, Ok) else { return Ok(Vec::new()) };
    let path = path.with_file_name(FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::usage(format!("{} cannot be read: {error}", path.display()))),
    };
    let file = common::config::parse_peers(&text);
    Ok(file.map_err(|error| crate::cli::in_file(Some(&path), &error))?.peers)
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Item::as_str)
}

/// Returns the name asked for, if it can be one; `friend` if none is.
pub(super) fn name(wanted: Option<&str>) -> Result<&str, Failure> {
    let Some(name) = wanted else { return Ok("friend") };
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == '.';
    // A name that is a key would stand for another machine than it names.
    if name.is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(fits) || looks_like_key(name) {
        return Err(Failure::usage(format!(
            "`{}` is no name for a peer: use up to {NAME_MAX} letters, digits, `-`, `_` and `.`",
            crate::quoted::Quoted(name)
        )));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use common::reach::Kind;

    use super::*;

    /// As printed by programs of before.
    const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn file(name: &str) -> PeersFile {
        let directory = std::env::temp_dir().join(format!("duet-peers-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        PeersFile { path: directory.join("deep/peers.toml") }
    }

    fn peer(address: &str) -> NewPeer {
        let candidates = vec![Candidate::new(Kind::Seen, address.parse().unwrap()).unwrap()];
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
        assert_eq!(name(None).unwrap(), "friend");
        for wrong in ["", "a b", "a\nb", KEY, "duet-key-mistyped", &"x".repeat(33)] {
            assert!(name(Some(wrong)).is_err(), "{wrong}");
        }
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
        let after = fs::read_to_string(&file.path).unwrap();
        for kept in ["# mine\n", "# where\n", "# by hand\n"] {
            assert!(after.contains(kept), "{after}");
        }
        let addresses = || {
            common::config::parse_peers(&fs::read_to_string(&file.path).unwrap()).unwrap().peers[0]
                .addresses
                .clone()
                .unwrap()
        };
        assert_eq!(addresses(), ["203.0.113.2:1", "203.0.113.1:1", "198.51.100.1:1"]);
        (3..20).for_each(|n| assert_eq!(file.learn(&key, address(n)), Ok(true)));
        assert_eq!((addresses().len(), addresses()[0].as_str()), (ADDRESSES_MAX, "203.0.113.19:1"));
        assert_eq!(addresses()[ADDRESSES_MAX - 1], "198.51.100.1:1", "that of the introduction");
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
