//! Configuration and files as the daemons read them: who is known, how each is waited for, and what a call with one takes.

use std::path::Path;

use common::config::{
    ConfigFile, LinkMode, Meet, PeerSection, Program, PublicKey, SenderConfig, SharedConfig, resolve_sender,
};
use net::failure::Failure;
use net::reach::PeersFile;
use sending::source::SourceSpec;
use shell::cli::{CommonFlags, call, call_all};
use shell::config::load;
use showing::Resolved;

/// All that a call with somebody takes.
pub(crate) struct CallConfig {
    pub(crate) config: SenderConfig,
    pub(crate) source: SourceSpec,
    pub(crate) receiving: Resolved,
}

/// The people who are known, and the way in which each is waited for.
pub(super) struct Known {
    pub(super) shared: SharedConfig,
    /// Keys and names, in the order of the names.
    pub(super) people: Vec<(PublicKey, String)>,
    pub(super) meets: Vec<Meet>,
}

fn read(flags: &CommonFlags) -> Result<(ConfigFile, Option<std::path::PathBuf>), Failure> {
    let (mut file, path) = load(flags.config.as_deref(), Program::Sender)?;
    flags.apply(&mut file)?;
    Ok((file, path))
}

fn checked(file: &ConfigFile, path: Option<&Path>) -> Result<SenderConfig, Failure> {
    let mut config = resolve_sender(file).map_err(|error| Failure::in_file(path, &error))?;
    config.shared.file = path.map(Path::to_owned);
    Ok(config)
}

fn key_of(peer: &PeerSection) -> Option<PublicKey> {
    peer.public_key.as_deref()?.parse().ok()
}

/// Reads who is known.
pub(super) fn known(flags: &CommonFlags) -> Result<Known, Failure> {
    let (mut file, path) = read(flags)?;
    let mut people: Vec<_> = file
        .peers
        .iter()
        .filter_map(|peer| {
            let key = key_of(peer)?;
            Some((key, peer.name.clone().unwrap_or_else(|| key.start())))
        })
        .collect();
    people.sort_by_cached_key(|(_, name)| name.to_lowercase());
    let introduced = file.peers.iter().find(|peer| peer.addresses.is_some()).and_then(|peer| peer.public_key.clone());
    let Some(introduced) = introduced else {
        file.network.mode = None;
        return Ok(Known { shared: checked(&file, path.as_deref())?.shared, people, meets: Vec::new() });
    };
    call(&CommonFlags::default(), Some(&introduced), &mut file)?;
    let shared = checked(&file, path.as_deref())?.shared;
    let mut meets = Vec::new();
    if let LinkMode::Meet(meet) = &shared.mode {
        meets.push(Meet { others: Vec::new(), ..(**meet).clone() });
        meets.extend(meet.others.iter().cloned());
    }
    Ok(Known { shared, people, meets })
}

/// Reads what a call with the person of this key takes.
pub(crate) fn call_with(flags: &CommonFlags, key: &PublicKey) -> Result<CallConfig, Failure> {
    let (mut file, path) = read(flags)?;
    let path = path.as_deref();
    call(flags, Some(&key.to_string()), &mut file)?;
    config_of(&file, path)
}

/// Reads what a call with each of these takes, all at once, in their order.
pub(super) fn band_with(flags: &CommonFlags, keys: &[PublicKey]) -> Result<Vec<CallConfig>, Failure> {
    let (file, path) = read(flags)?;
    let names: Vec<_> = keys.iter().map(PublicKey::to_string).collect();
    let files = call_all(flags, &names, &file)?;
    files.iter().zip(0..).map(|(file, place)| config_of(&calling::of_member(file, place), path.as_deref())).collect()
}

fn config_of(file: &ConfigFile, path: Option<&Path>) -> Result<CallConfig, Failure> {
    let config = checked(file, path)?;
    if config.shared.tuned {
        kernels::tune::use_tuned_settings();
    }
    let source = SourceSpec::parse(&file.video.source)?;
    let receiving = calling::of_one_file(file, &[], path)?;
    Ok(CallConfig { config, source, receiving })
}

/// Changes each file that lists the person of this key. An error says why nothing more was changed.
pub(super) fn change(
    shared: &SharedConfig,
    change: impl Fn(&PeersFile) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut is_listed = false;
    for file in PeersFile::all(shared) {
        is_listed |= change(&file)?;
    }
    if is_listed { Ok(()) } else { Err(Failure::usage("nobody of that key is in the files of people")) }
}
