//! Flags and subcommands that both daemons have.

use std::path::PathBuf;

use cards::CardSpec;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use common::config::table::help;
use common::config::{ConfigFile, PeerSection, SharedConfig, is_same_key};

use net::failure::Failure;
use net::identity::Identity;
use net::quoted::Quoted;
use net::reach::known_peers;
use net::zones;

use crate::handed;
use crate::usage;

/// Flags of both daemons; they win over the file, whose keys they are described by.
#[derive(Args, Clone, Debug, Default)]
#[allow(missing_docs, reason = "the table of keys has the others")]
pub struct CommonFlags {
    /// Configuration file (TOML), or a folder with a duet.toml; without it, ~/.config/duet, if there is one
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Dial this address; without a port, 4820
    #[arg(long, global = true, value_name = "HOST[:PORT]", conflicts_with = "listen")]
    pub to: Option<String>,
    /// Wait for the other side at this address
    #[arg(long, global = true, value_name = "IP:PORT")]
    pub listen: Option<String>,
    /// The machine that may connect: its public key (duet-key-..., from `identity` there), or the name of one that was
    /// introduced, which is then called wherever it is; may be repeated
    #[arg(long, global = true, value_name = "KEY|NAME")]
    pub peer: Vec<String>,
    #[arg(long, global = true, value_name = "NAME", help = help("expert.backend"))]
    pub backend: Option<String>,
    #[arg(long, global = true, value_name = "NAME", help = help("expert.device"))]
    pub device: Option<String>,
    /// End cleanly after this many frames, or when the other side has finished. Without it, and with no file to read or
    /// write, wait for the next call (or go on dialling) whatever the other side does
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,
    #[arg(long, global = true, value_name = "FILE", help = help("stats.file"))]
    pub stats: Option<PathBuf>,
    #[arg(long, global = true, value_name = "PATH", help = help("record.path"))]
    pub record: Option<PathBuf>,
    #[arg(long, global = true, value_name = "FILE", help = help("expert.identity"))]
    pub identity: Option<PathBuf>,
    /// Without sound
    #[arg(long, global = true)]
    pub no_sound: bool,
}

/// The command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Stream (default)
    #[default]
    Run,
    /// Print this machine's public key, making the key if there is none
    Identity,
    /// List devices
    Devices {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check what streaming needs on this machine
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the configuration
    Check,
    /// Change a setting of the running program, such as rate=8M (sender) or latency_max_ms=40 (receiver, and sender in a call)
    Set {
        /// Setting and its value; a wrong one is answered with those that are right
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// Get to know another machine: print a ticket for it and wait until it joins
    Invite {
        /// Name for the other machine here
        name: Option<String>,
    },
    /// Get to know the machine where `invite` has printed a ticket: asks for that line
    Join {
        /// Name for the other machine here. The ticket may stand before it, but then it also stands in the shell's history
        #[arg(value_name = "NAME", num_args = 0..=2)]
        given: Vec<String>,
    },
    /// Get to know another machine by four words: shows them, or asks for those that the other machine shows
    Pair {
        /// The words that `pair` shows there. They are better typed when asked for: here they stay in the shell's history
        words: Vec<String>,
        /// Name for the other machine here
        #[arg(long)]
        name: Option<String>,
    },
}

impl Command {
    /// Returns true if it makes two machines known to each other; how they find each other later is no matter then.
    pub fn introduces(&self) -> bool {
        matches!(self, Self::Invite { .. } | Self::Join { .. } | Self::Pair { .. })
    }

    /// Returns true if a ticket or words may stand behind it, which nobody else may see.
    pub(crate) fn holds_secret(&self) -> bool {
        matches!(self, Self::Join { given: words } | Self::Pair { words, .. } if !words.is_empty())
    }

    /// Returns the word for it on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Identity => "identity",
            Self::Devices { .. } => "devices",
            Self::Doctor { .. } => "doctor",
            Self::Check => "check",
            Self::Set { .. } => "set",
            Self::Invite { .. } => "invite",
            Self::Join { .. } => "join",
            Self::Pair { .. } => "pair",
        }
    }
}

/// Reads the command line. Help and version are printed to standard output, manual pages written to their folder, and the
/// process ends with 0; a mistake is a one-sentence failure with the nearest valid flag.
pub fn parse<P: Parser>() -> Result<P, Failure> {
    if let Some(folder) = manual::asked() {
        manual::write(P::command(), &folder).map_err(Failure::usage)?;
        std::process::exit(0);
    }
    let arguments = handed::arguments()?;
    P::try_parse_from(&arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        _ => {
            let arguments: Vec<_> = arguments.iter().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
            Failure::usage(usage::sentence(&error, &arguments))
        }
    })
}

impl CommonFlags {
    /// Lays the flags over a configuration.
    pub fn apply(&self, file: &mut ConfigFile) -> Result<(), Failure> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        replace(&mut file.expert.backend, self.backend.clone());
        replace(&mut file.expert.device, self.device.clone());
        replace(&mut file.expert.identity, self.identity.as_ref().map(text));
        replace(&mut file.stats.file, self.stats.as_ref().map(text));
        replace(&mut file.record.path, self.record.as_ref().map(text));
        replace(&mut file.sound.card, self.no_sound.then(|| CardSpec::None.to_string()));
        let ConfigFile { network, peers, .. } = file;
        for (mode, address) in [("dial", &self.to), ("listen", &self.listen)] {
            if address.is_some() {
                network.mode = Some(mode.to_owned());
                network.address.clone_from(address);
            }
        }
        // One to dial is looked up each time: the network may come later.
        if network.mode.as_deref() != Some("dial")
            && let Some(address) = &mut network.address
        {
            *address = zones::numbered(address);
        }
        if self.config.is_none() {
            // What was learned last counts.
            let mut known = known_peers(&file.expert.identity)?;
            let is_known =
                |key: &str| known.iter().filter_map(|peer| peer.public_key.as_deref()).any(|k| is_same_key(k, key));
            peers.retain(|peer| !peer.public_key.as_deref().is_some_and(is_known));
            known.append(peers);
            *peers = known;
        }
        if !self.peer.is_empty() {
            let named = |text: &String| peers.iter().find(|peer| peer.name.as_ref() == Some(text)).cloned();
            let of_key = |text: &String| PeerSection { public_key: Some(text.clone()), ..PeerSection::default() };
            *peers = self.peer.iter().map(|text| named(text).unwrap_or_else(|| of_key(text))).collect();
            // Whoever was introduced is called by its name, unless an address is given.
            if self.to.is_none() && self.listen.is_none() && peers.iter().any(|peer| peer.addresses.is_some()) {
                network.mode = Some("meet".to_owned());
            }
        }
        Ok(())
    }
}

/// Leaves of the peers in `file` the one of that name or key, or the only one, for both directions over one connection: found
/// wherever it is, unless the file or a flag says how to connect with a peer that was not introduced.
pub fn call(flags: &CommonFlags, name: Option<&str>, file: &mut ConfigFile) -> Result<(), Failure> {
    let ConfigFile { network, peers, others, .. } = file;
    let is_named = |peer: &PeerSection, name: &str| {
        peer.name.as_deref() == Some(name) || peer.public_key.as_deref().is_some_and(|key| is_same_key(key, name))
    };
    let names = || peers.iter().filter_map(|peer| peer.name.as_deref()).collect::<Vec<_>>().join(", ");
    let peer = match (name, peers.as_slice()) {
        (_, []) => {
            let message = format!("there is nobody to call yet: {INTRODUCE}; then `sender call` does");
            return Err(Failure::usage(message));
        }
        (None, [peer]) => peer,
        (None, _) => return Err(Failure::usage(format!("say whom to call, such as `call NAME`: {}", names()))),
        (Some(name), _) => peers.iter().find(|peer| is_named(peer, name)).ok_or_else(|| {
            Failure::usage(format!("nobody called {} is known here, only: {}", Quoted(name), names()))
        })?,
    };
    let peer = peer.clone();
    network.share_port = true;
    if flags.to.is_none() && flags.listen.is_none() && (peer.addresses.is_some() || network.mode.is_none()) {
        network.mode = Some("meet".to_owned());
    }
    *others = peers.drain(..).filter(|other| other.public_key != peer.public_key).collect();
    others.retain(|other| other.addresses.is_some());
    peers.push(peer);
    Ok(())
}

/// Most machines that are called at once: with this one a band of four.
pub const OTHERS_MAX: usize = 3;

/// Returns a configuration for a call with each of the peers of these names or keys, all at once: what [`call`] makes of `file`. The first
/// one turns away those who are known and not called.
pub fn call_all(flags: &CommonFlags, names: &[String], file: &ConfigFile) -> Result<Vec<ConfigFile>, Failure> {
    if names.len() > OTHERS_MAX {
        return Err(Failure::usage(format!(
            "a band is four at most, you among them: {} are named; call {OTHERS_MAX} of them",
            names.len()
        )));
    }
    let mut files: Vec<ConfigFile> = Vec::new();
    for name in names.iter().map(Some).chain(names.is_empty().then_some(None)) {
        let mut of_peer = file.clone();
        call(flags, name.map(String::as_str), &mut of_peer)?;
        files.push(of_peer);
    }
    let key = |file: &ConfigFile| file.peers.first().and_then(|peer| peer.public_key.clone());
    let keys: Vec<_> = files.iter().map(key).collect();
    if let Some(twice) = (1..names.len()).find(|&at| keys[..at].contains(&keys[at])) {
        return Err(Failure::usage(format!("{} is named twice: once is enough", Quoted(&names[twice]))));
    }
    if files.len() > 1 {
        if flags.to.is_some() || flags.listen.is_some() {
            return Err(Failure::usage(
                "--to and --listen are for a call of two: a band's members are found by their names",
            ));
        }
        let is_known = |file: &&ConfigFile| file.peers.iter().all(|peer| peer.addresses.is_some());
        if let Some(at) = files.iter().position(|file| !is_known(&file)) {
            return Err(Failure::usage(format!("{} was not introduced: {INTRODUCE}", Quoted(&names[at]))));
        }
    }
    for (at, file) in files.iter_mut().enumerate() {
        let is_called = |key: &Option<String>| {
            key.as_ref().is_some_and(|key| keys.iter().flatten().any(|called| is_same_key(called, key)))
        };
        file.others.retain(|other| at == 0 && !is_called(&other.public_key));
    }
    Ok(files)
}

/// The way for two machines to get to know each other.
pub const INTRODUCE: &str =
    "`sender invite NAME` prints a ticket for the other musician, who types `sender join NAME` and pastes it";

/// Puts `value` in `target` if there is one.
pub fn replace<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// Prints the public key, and nothing else, on standard output: the command `identity`.
pub fn print_identity(shared: &SharedConfig) -> Result<(), Failure> {
    let identity = Identity::load_or_create(&Identity::path_of(shared)?)?;
    println!("{}", identity.public_key());
    Ok(())
}

#[cfg(test)]
mod tests {
    use common::config::parse_sender;

    use super::*;

    fn peer(name: &str, more: PeerSection) -> PeerSection {
        PeerSection { name: Some(name.to_owned()), public_key: Some(format!("key of {name}")), ..more }
    }

    fn introduced(name: &str) -> PeerSection {
        peer(name, PeerSection { addresses: Some(vec!["203.0.113.5:1".to_owned()]), ..PeerSection::default() })
    }

    /// The one who is called, and the way.
    fn called(
        name: Option<&str>,
        peers: &[PeerSection],
        mode: Option<&str>,
    ) -> Result<(Vec<String>, Option<String>), Failure> {
        let mut file = parse_sender("").unwrap();
        (file.network.mode, file.peers) = (mode.map(str::to_owned), peers.to_vec());
        call(&CommonFlags::default(), name, &mut file)?;
        assert!(file.network.share_port);
        Ok((file.peers.into_iter().filter_map(|peer| peer.name).collect(), file.network.mode))
    }

    #[test]
    fn a_band_is_a_call_with_each_of_those_who_are_named_and_four_is_the_most() {
        let peers = ["ana", "bob", "eva", "leo", "tom"].map(introduced);
        let mut file = parse_sender("").unwrap();
        file.peers = [&peers[..], &[peer("zoe", PeerSection::default())]].concat();
        let called = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            call_all(&CommonFlags::default(), &names, &file)
        };
        let names = |peers: &[PeerSection]| peers.iter().filter_map(|peer| peer.name.clone()).collect::<Vec<_>>();
        let files = called(&["bob", "key of eva"]).unwrap();
        assert_eq!(files.iter().map(|file| names(&file.peers)).collect::<Vec<_>>(), [["bob"], ["eva"]]);
        assert_eq!(
            files.iter().map(|file| names(&file.others)).collect::<Vec<_>>(),
            [vec!["ana", "leo", "tom"], vec![]]
        );
        for (names, words) in [
            (&["ana", "bob", "eva", "leo"][..], "a band is four at most, you among them: 4 are named"),
            (&["ana", "bob", "key of ana"], "\"key of ana\" is named twice"),
            (&["ana", "max"], "nobody called \"max\" is known here, only: ana, bob"),
            (&["ana", "zoe"], "\"zoe\" was not introduced: `sender invite"),
            (&[], "say whom to call"),
        ] {
            let message = called(names).unwrap_err().message;
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn whoever_is_named_is_called_and_the_only_one_without_a_name() {
        let (ana, bob) = (introduced("ana"), peer("bob", PeerSection::default()));
        let meets = |name: &str| Ok((vec![name.to_owned()], Some("meet".to_owned())));
        assert_eq!(called(None, std::slice::from_ref(&ana), None), meets("ana"));
        let both = [ana, bob.clone()];
        assert_eq!(called(Some("bob"), &both, None), meets("bob"));
        assert_eq!(called(Some("key of bob"), &both, None), meets("bob"));
        // A fixed place counts for whoever was not introduced.
        assert_eq!(called(Some("ana"), &both, Some("listen")), meets("ana"));
        assert_eq!(called(Some("bob"), &both, Some("listen")), Ok((vec!["bob".to_owned()], Some("listen".to_owned()))));
        for (name, peers, words) in [
            (None, &[][..], ["`sender invite NAME`", "`sender join NAME`"]),
            (Some("ana"), &[][..], ["`sender invite NAME`", "`sender join NAME`"]),
            (None, &both[..], ["`call NAME`", "ana, bob"]),
            (Some("clara"), &both[..], ["called \"clara\"", "ana, bob"]),
        ] {
            let message = called(name, peers, None).unwrap_err().message;
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
    }
}
