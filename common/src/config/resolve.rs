//! A configuration as it is written to checked values.

use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use picture::backend::BackendChoice;
use picture::effects::{Effect, Effects};
use picture::frame::{BitDepth, Chroma, FrameRate, FrameSize};
use picture::params::{Boundary, CodecParams, Levels, Padding, Profile, Wavelet, Weights};
use sound::format::{Channels, Coding};

use super::error::ConfigError;
use super::resolved::{
    Controller, LinkMode, Meet, Password, Peer, Prediction, PublishConfig, ReceiverConfig, SenderConfig, SharedConfig,
    SnapshotFile, SoundCoding, SoundConfig, Sync, Turn, WindowBackend,
};
use super::table::{ConfigFile, Expert, LevelCount, PeerSection};
use crate::path::ways::{ADDRESSES_MAX, Candidate, Kind, PLACES_MAX, is_of_one_cable, usable};
use crate::public_key::PublicKey;
use crate::reach::{FOUND_MAX, NAME_MAX, told_name};
use crate::stream::video::protection::Protection;
use crate::units::Bitrate;

/// Nodes by which the DHT is entered, at most.
const DHT_NODES_MAX: usize = 8;

/// UDP port of a listener that names none.
pub const DEFAULT_PORT: u16 = 4820;

/// Checks a sender's file with the flags laid over it.
pub fn resolve_sender(file: &ConfigFile) -> Result<SenderConfig, ConfigError> {
    let ConfigFile { video, codec, network, expert, .. } = file;
    let rate: Bitrate = checked("codec.rate", codec.rate.parse())?;
    let rate_max: Option<Bitrate> =
        network.rate_max.as_deref().map(|text| checked("network.rate_max", text.parse())).transpose()?;
    let beside = match network.beside.as_str() {
        "auto" => None,
        "0" => Some(Bitrate::from_bps(0)),
        text => Some(checked("network.beside", text.parse())?),
    };
    Ok(SenderConfig {
        shared: shared(file, true)?,
        size: video.size.as_deref().map(|text| checked("video.size", parse_size(text))).transpose()?,
        frame_rate: video.fps.map(|fps| checked("video.fps", parse_frame_rate(&fps.to_string()))).transpose()?,
        chroma: choice(
            "expert.chroma",
            &expert.chroma,
            &[("420", Chroma::C420), ("444", Chroma::C444), ("grey", Chroma::Grey)],
        )?,
        codec: params(expert)?,
        prediction: choice(
            "codec.prediction",
            &codec.prediction,
            &[("auto", Prediction::Auto), ("on", Prediction::On), ("off", Prediction::Off)],
        )?,
        rate_most: rate_max.unwrap_or(Bitrate::from_bps(rate.as_bps().saturating_mul(2))),
        rate: rate_max.map_or(rate, |max| rate.min(max)),
        beside,
        protection: choice("expert.fec", &expert.fec, &[("auto", Protection::Auto), ("off", Protection::Off)])?,
        controller: choice(
            "expert.controller",
            &expert.controller,
            &[("duet", Controller::Duet), ("cubic", Controller::Cubic)],
        )?,
        record: record(file)?,
        effects: effects(file)?,
        publish: publish(file)?,
    })
}

/// Characters of a word for the audience's page.
const WORDS_MAX: usize = 200;
/// Names on the page.
const NAMES_MAX: usize = 16;

fn publish(file: &ConfigFile) -> Result<Option<PublishConfig>, ConfigError> {
    let publish = &file.publish;
    if publish.url.is_empty() {
        return Ok(None);
    }
    let words = |key: &'static str, text: &String| match text.chars().count() <= WORDS_MAX {
        true => Ok(text.clone()),
        false => Err(value(key, format!("it takes {WORDS_MAX} characters at most"))),
    };
    if publish.names.len() > NAMES_MAX {
        return Err(value("publish.names", format!("it takes {NAMES_MAX} names at most")));
    }
    Ok(Some(PublishConfig {
        url: Password(publish.url.clone()),
        token: Password(publish.token.clone().unwrap_or_default()),
        title: words("publish.title", &publish.title)?,
        names: publish.names.iter().map(|name| words("publish.names", name)).collect::<Result<_, _>>()?,
        starts: words("publish.starts", &publish.starts)?,
        cap: checked("publish.cap", publish.cap.parse())?,
    }))
}

fn effects(file: &ConfigFile) -> Result<Effects, ConfigError> {
    let mut effects = Effects::default();
    for (effect, asked) in [
        (Effect::Detail, file.effects.detail),
        (Effect::Noise, file.effects.noise),
        (Effect::StillNoise, file.effects.still_noise),
        (Effect::EvenLight, file.effects.even_light),
    ] {
        let wrong = |_| value(effect.key(), format!("it takes {}, not {asked}", effect.takes()));
        effects = effects.with(effect, asked).map_err(wrong)?;
    }
    Ok(effects)
}

/// Longest wait for missing parts of a frame, milliseconds.
pub const LATENCY_MS_MAX: u64 = 1000;

/// Checks a receiver's file with the flags laid over it.
pub fn resolve_receiver(file: &ConfigFile) -> Result<ReceiverConfig, ConfigError> {
    if let Some(ms) = file.display.latency_max_ms.filter(|&ms| ms > LATENCY_MS_MAX) {
        return Err(value("display.latency_max_ms", format!("{ms} ms is too long: at most {LATENCY_MS_MAX}")));
    }
    Ok(ReceiverConfig {
        shared: shared(file, false)?,
        window: choice(
            "expert.window",
            &file.expert.window,
            &[("auto", WindowBackend::Auto), ("winit", WindowBackend::Winit), ("minifb", WindowBackend::Minifb)],
        )?,
        status_line: file.display.status_line,
        snapshot: choice(
            "display.snapshot",
            &file.display.snapshot,
            &[("png", SnapshotFile::Png), ("jph", SnapshotFile::Jph)],
        )?,
        latency_max: file.display.latency_max_ms.map(Duration::from_millis),
        size_max: checked("expert.size_max", parse_size(&file.expert.size_max))?,
        pictures_file: path(&file.expert.pictures),
        record: record(file)?,
    })
}

fn shared(file: &ConfigFile, dials_by_default: bool) -> Result<SharedConfig, ConfigError> {
    let ConfigFile { network, expert, .. } = file;
    let bytes = expert.socket_buffer;
    if !(1 << 16..=1 << 26).contains(&bytes) {
        return Err(value("expert.socket_buffer", format!("{bytes} bytes: it takes 65536 to 67108864")));
    }
    let dscp = expert.dscp.map(|class| u8::try_from(class).ok().filter(|class| *class < 64).ok_or(class));
    let dscp = dscp.transpose().map_err(|class| value("expert.dscp", format!("{class}: it takes 0 to 63")))?;
    Ok(SharedConfig {
        name: owner(&network.name)?,
        backend: choice(
            "expert.backend",
            &expert.backend,
            &[
                ("auto", BackendChoice::Auto),
                ("opencl", BackendChoice::Opencl),
                ("cpu", BackendChoice::Cpu),
                ("reference", BackendChoice::Reference),
            ],
        )?,
        device: Some(expert.device.clone()).filter(|name| !name.is_empty()),
        tuned: choice("expert.tune", &expert.tune, &[("auto", true), ("off", false)])?,
        mode: link_mode(file, dials_by_default)?,
        socket_buffer_bytes: bytes as usize,
        gso: expert.gso,
        dscp,
        share_port: network.share_port,
        stun: stun(file)?,
        open_port: expert.open_port,
        turn: turn(file)?,
        mailbox: mailbox(file)?,
        dht: dht(file)?,
        identity_file: path(&expert.identity),
        file: None,
        peers: file.peers.iter().map(peer).collect::<Result<_, _>>()?,
        stats_file: path(&file.stats.file),
        metrics: expert.metrics.as_deref().filter(|address| !address.is_empty()).map(metrics).transpose()?,
        sound: sound(file)?,
    })
}

fn owner(name: &str) -> Result<String, ConfigError> {
    let told = told_name(name);
    if told == name.trim() {
        return Ok(told);
    }
    let message = format!(
        "`{}` is no name: it takes letters, digits, spaces, `-`, `_` and `.`, {NAME_MAX} at most",
        name.escape_debug()
    );
    Err(value("network.name", message))
}

fn sound(file: &ConfigFile) -> Result<SoundConfig, ConfigError> {
    let sound = &file.sound;
    let always = SoundCoding::Always;
    let wrong = |key, given: u64, takes: &str| value(key, format!("it takes {takes}, not {given}"));
    Ok(SoundConfig {
        card: sound.card.clone(),
        period: match sound.period {
            period @ (64 | 128 | 256) => period as u16,
            other => return Err(wrong("sound.period", other, "64, 128 or 256 samples")),
        },
        channels: match sound.channels {
            1 => Channels::Mono,
            2 => Channels::Stereo,
            other => return Err(wrong("sound.channels", other, "1 or 2")),
        },
        coding: choice(
            "sound.coding",
            &sound.coding,
            &[
                ("auto", SoundCoding::Auto),
                ("pcm16", always(Coding::Pcm16)),
                ("pcm24", always(Coding::Pcm24)),
                ("opus", always(Coding::Opus)),
            ],
        )?,
        sync: choice("sound.sync", &sound.sync, &[("free", Sync::Free), ("picture", Sync::Picture)])?,
        practice_delay: file.expert.practice_delay,
    })
}

/// Returns where frames are kept, if they are.
fn record(file: &ConfigFile) -> Result<Option<PathBuf>, ConfigError> {
    if file.record.path == "-" {
        let message = "`-` is no file: it takes a file, such as call.duet, or a folder; pictures for other programs go to \
                       the sink y4m:-";
        return Err(value("record.path", message));
    }
    Ok(path(&file.record.path))
}

/// Returns a path; none if it is empty.
fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| PathBuf::from(text))
}

fn link_mode(file: &ConfigFile, dials_by_default: bool) -> Result<LinkMode, ConfigError> {
    let ConfigFile { network, peers, .. } = file;
    let (dial, listen, meet) = (("dial", Mode::Dial), ("listen", Mode::Listen), ("meet", Mode::Meet));
    let modes = if dials_by_default { [dial, listen, meet] } else { [listen, dial, meet] };
    let mode = network.mode.as_deref().unwrap_or(modes[0].0);
    let mode = choice("network.mode", mode, &modes)?;
    let introduced = peers.iter().find(|peer| peer.addresses.is_some());
    if mode == Mode::Meet {
        let introduced = introduced.or(peers.first()).ok_or_else(|| value("network.mode", NOBODY_TO_MEET))?;
        let mut meet = meeting(introduced, file)?;
        // What is wrong about them is no reason not to call somebody else.
        let others = file.others.iter().filter_map(|other| meeting(other, file).ok());
        meet.others = others.filter(|other| other.port != meet.port).take(OTHERS_MAX).collect();
        return Ok(LinkMode::Meet(Box::new(meet)));
    }
    if mode == Mode::Dial {
        let of_peer = || peers.iter().find_map(|peer| peer.address.as_ref());
        let Some(address) = network.address.as_ref().or_else(of_peer) else {
            return match introduced {
                Some(peer) if network.mode.is_none() => meeting(peer, file).map(Box::new).map(LinkMode::Meet),
                _ => Ok(LinkMode::DialNobody),
            };
        };
        let to_dial = with_port(address).ok_or_else(|| {
            let message =
                format!("`{address}` is not an address to dial: write HOST or HOST:PORT, such as home.example:4820");
            value("network.address", message)
        })?;
        return has_its_zone("network.address", to_dial).map(LinkMode::Dial);
    }
    let address = network.address.clone().unwrap_or_else(|| format!("[::]:{DEFAULT_PORT}"));
    let address = has_its_zone("network.address", address)?;
    address.parse().map(LinkMode::Listen).map_err(|_| {
        let message = match address.contains('%') {
            true => format!("`{address}` is not an address to listen at: this machine has no network of that name"),
            false => {
                format!(
                    "`{address}` is not an address to listen at: write IP:PORT, such as 0.0.0.0:4820 or [::]:4820; one that \
                     only the sender dials belongs in [sender.network]"
                )
            }
        };
        value("network.address", message)
    })
}

/// Returns `address`, a `HOST:PORT`, unless it is one that each cable may have and lacks the zone that says which.
fn has_its_zone(key: &'static str, address: String) -> Result<String, ConfigError> {
    match address.parse() {
        Ok(found) if is_of_one_cable(found) && !usable(found) && found.port() > 0 => Err(value(
            key,
            format!(
                "`{address}` may be on any cable: say on which of this machine's networks, as in [{}%eth0]:{}",
                found.ip(),
                found.port()
            ),
        )),
        _ => Ok(address),
    }
}

/// Returns `HOST:PORT` for `HOST[:PORT]`, with [`DEFAULT_PORT`] where there is none and an IPv6 address in brackets; nothing
/// for a text that is no such address.
pub fn with_port(address: &str) -> Option<String> {
    if address.is_empty() || address.contains(char::is_whitespace) {
        return None;
    }
    let without_zone = address.split_once('%').map_or(address, |(ip, _)| ip);
    if without_zone.parse::<Ipv6Addr>().is_ok() {
        return Some(format!("[{address}]:{DEFAULT_PORT}"));
    }
    match address.rsplit_once(':') {
        None => Some(format!("{address}:{DEFAULT_PORT}")),
        Some((_, rest)) if rest.ends_with(']') => Some(format!("{address}:{DEFAULT_PORT}")),
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => {
            Some(address.to_owned())
        }
        Some(_) => None,
    }
}

/// Machines at most that are told that this one is in a call.
const OTHERS_MAX: usize = 32;

const NOBODY_TO_MEET: &str = "`meet` needs a peer: type `invite` on one side and `join` on the other";

/// Values of `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Dial,
    Listen,
    Meet,
}

/// Returns the address as one where a machine may be; none if it reaches no single machine. How it was found shows.
pub fn candidate_of(address: SocketAddr) -> Option<Candidate> {
    let kind = match address.ip().to_canonical() {
        IpAddr::V6(_) => Kind::HostIpv6,
        IpAddr::V4(ip) if ip.is_private() || ip.is_loopback() => Kind::Host,
        IpAddr::V4(_) => Kind::ServerReflexive,
    };
    Candidate::new(kind, address)
}

/// Returns the way to find a peer: where it was found when it was introduced, or its address. Without any it may call
/// from anywhere.
fn meeting(raw: &PeerSection, file: &ConfigFile) -> Result<Meet, ConfigError> {
    let texts = raw.addresses.as_deref().unwrap_or_default();
    let found = raw.found.as_deref().unwrap_or_default();
    let candidate = |(key, text): (&'static str, &String)| {
        text.parse()
            .ok()
            .and_then(candidate_of)
            .ok_or_else(|| value(key, format!("`{text}` is not an address: write IP:PORT, such as 203.0.113.5:20000")))
    };
    let introduced = raw.addresses.is_some();
    if introduced && texts.is_empty() || texts.len() > ADDRESSES_MAX {
        return Err(value("peer.addresses", format!("{} addresses: it takes 1 to {ADDRESSES_MAX}", texts.len())));
    }
    if found.len() > FOUND_MAX {
        return Err(value("peer.found", format!("{} addresses: it takes {FOUND_MAX} at most", found.len())));
    }
    let port = raw.port.or((!introduced).then_some(DEFAULT_PORT)).filter(|port| *port > 0);
    let host = raw.address.as_ref().filter(|_| !introduced).map(|address| {
        let host = with_port(address).ok_or_else(|| {
            value(
                "peer.address",
                format!("`{address}` is not an address: write HOST or HOST:PORT, such as home.example:4820"),
            )
        })?;
        has_its_zone("peer.address", host)
    });
    // Numbers of networks change from one start of the machine to the next, so that one on a cable is looked up.
    let known = found.iter().map(|text| ("peer.found", text)).chain(texts.iter().map(|text| ("peer.addresses", text)));
    let (on_cables, others): (Vec<_>, Vec<_>) = known.partition(|(_, text)| text.contains('%'));
    let host = host.or_else(|| on_cables.first().map(|(_, text)| Ok(text.to_string())));
    let (mailbox, dht) = (mailbox(file)?, dht(file)?);
    Ok(Meet {
        peer: peer(raw)?,
        candidates: others.into_iter().map(candidate).collect::<Result<_, _>>()?,
        host: host.transpose()?,
        port: port
            .ok_or_else(|| value("peer.port", "this machine's UDP port is missing: 1 to 65535, beside `addresses`"))?,
        turn: turn(file)?,
        open_port: file.expert.open_port,
        house: file.expert.house,
        stun: if mailbox.is_some() || !dht.is_empty() { stun(file)? } else { Vec::new() },
        mailbox,
        dht,
        others: Vec::new(),
    })
}

/// Returns the nodes by which the DHT is entered; none if it is not to be used.
fn dht(file: &ConfigFile) -> Result<Vec<String>, ConfigError> {
    let nodes = &file.expert.dht_nodes;
    if let Some(wrong) = nodes.iter().find(|node| !is_server(node)) {
        let message = format!("`{wrong}` is no node: write HOST:PORT, such as router.bittorrent.com:6881");
        return Err(value("expert.dht_nodes", message));
    }
    if nodes.len() > DHT_NODES_MAX || file.network.dht && nodes.is_empty() {
        return Err(value("expert.dht_nodes", format!("{} nodes: it takes 1 to {DHT_NODES_MAX}", nodes.len())));
    }
    Ok(if file.network.dht { nodes.clone() } else { Vec::new() })
}

fn stun(file: &ConfigFile) -> Result<Vec<String>, ConfigError> {
    let servers = &file.expert.stun;
    match servers.iter().find(|server| !is_server(server)) {
        Some(server) => {
            Err(value("expert.stun", format!("`{server}` is no server: write HOST:PORT, such as stun.example:3478")))
        }
        None => Ok(servers.clone()),
    }
}

/// True for `HOST:PORT`.
fn is_server(text: &str) -> bool {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    matches!(port, Some(Ok(1..))) && !text.contains(char::is_whitespace)
}

fn mailbox(file: &ConfigFile) -> Result<Option<String>, ConfigError> {
    let text = &file.reach.mailbox;
    if text.is_empty() {
        return Ok(None);
    }
    let server = text.strip_prefix("ws://").map(|rest| rest.split('/').next().unwrap_or_default());
    if server.is_some_and(|server| is_server(server) || !server.is_empty() && !server.contains([':', ' '])) {
        return Ok(Some(text.clone()));
    }
    let message = format!(
        "`{text}` is no mailbox server: write ws://HOST:PORT/PATH, such as ws://meet.example:4000/v1 (what it carries is \
         sealed by the words, so that it needs no wss)"
    );
    Err(value("reach.mailbox", message))
}

fn turn(file: &ConfigFile) -> Result<Turn, ConfigError> {
    let reach = &file.reach;
    let servers = reach.turn.iter().map(|text| {
        let server = text.strip_prefix("turn:").filter(|server| is_server(server));
        server.map(str::to_owned).ok_or_else(|| {
            value("reach.turn", format!("`{text}` is no relay: write turn:HOST:PORT, such as turn:relay.example:3478"))
        })
    });
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let (user, password) =
        (reach.turn_user.clone().unwrap_or_default(), reach.turn_password.clone().unwrap_or_default());
    for (key, text) in [("reach.turn_user", &user), ("reach.turn_password", &password)] {
        if !servers.is_empty() && text.is_empty() {
            return Err(value(
                key,
                "is missing: the relays in `reach.turn` serve whoever has a name and a password there",
            ));
        }
        if text.len() > TURN_WORD_MAX {
            return Err(value(key, format!("is too long: at most {TURN_WORD_MAX} bytes")));
        }
    }
    let [first, last] = file.expert.turn_ports;
    if first == 0 || last < first || last - first >= PLACES_MAX {
        let message =
            format!("[{first}, {last}] is no range: write the first and the last port, at most {PLACES_MAX} in all");
        return Err(value("expert.turn_ports", message));
    }
    Ok(Turn { servers, user, password: Password(password), ports: first..=last })
}

/// Longest name or password at a relay, bytes.
const TURN_WORD_MAX: usize = 256;

fn metrics(address: &str) -> Result<SocketAddr, ConfigError> {
    address.parse().map_err(|_| {
        let message =
            format!("`{address}` is not an address for the metrics page: write IP:PORT, such as 127.0.0.1:9464");
        value("expert.metrics", message)
    })
}

fn peer(raw: &PeerSection) -> Result<Peer, ConfigError> {
    let text = raw.public_key.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| {
        let whose = raw.name.as_ref().map(|name| format!(" of `{name}`")).unwrap_or_default();
        let message = format!(
            "a [[peer]] section{whose} has none: put the line there that `identity` prints on that machine, or get to know it with \
             `invite` and `join`"
        );
        value("peer.public_key", message)
    })?;
    let key: PublicKey = checked("peer.public_key", text.parse())?;
    Ok(Peer { name: raw.name.clone().unwrap_or_else(|| key.start()), key })
}

fn params(expert: &Expert) -> Result<CodecParams, ConfigError> {
    let levels = match &expert.levels {
        LevelCount::Word(word) if word == "full" => Levels::Full,
        LevelCount::Count(count @ 1..=14) => Levels::AtMost(*count as u8),
        _ => return Err(value("expert.levels", "it takes \"full\" or a number of levels, 1 to 14")),
    };
    Ok(CodecParams {
        profile: Profile::Quad,
        wavelet: Wavelet::Cdf97,
        depth: BitDepth::Eight,
        levels,
        boundary: choice(
            "expert.boundary",
            &expert.boundary,
            &[("symmetric", Boundary::Symmetric), ("periodic", Boundary::Periodic), ("zero", Boundary::Zero)],
        )?,
        padding: choice("expert.padding", &expert.padding, &[("smooth", Padding::Smooth), ("zero", Padding::Zero)])?,
        weights: choice("expert.weights", &expert.weights, &[("psnr", Weights::Psnr), ("visual", Weights::Visual)])?,
    })
}

/// Reads `WxH`, such as `1280x720`; the error says what is wrong.
pub fn parse_size(text: &str) -> Result<FrameSize, String> {
    let (width, height) = text.split_once('x').unwrap_or((text, ""));
    let (Ok(width), Ok(height)) = (width.parse(), height.parse()) else {
        return Err(format!("`{text}` is not a size: write WIDTHxHEIGHT, such as 1280x720"));
    };
    FrameSize::new(width, height).map_err(|error| error.to_string())
}

/// Reads frames a second, such as `30`, `29.97` or `30000/1001`; the error says what is wrong.
pub fn parse_frame_rate(text: &str) -> Result<FrameRate, String> {
    let rate = match text.split_once('/') {
        Some((numerator, denominator)) => match (numerator.parse(), denominator.parse()) {
            (Ok(numerator), Ok(denominator)) => FrameRate::new(numerator, denominator),
            _ => None,
        },
        None => match text.parse::<f64>() {
            Ok(fps) if (0.001..=1000.0).contains(&fps) => decimal_rate(fps),
            _ => None,
        },
    };
    rate.ok_or_else(|| format!("`{text}` is not a frame rate: write frames a second, above 0 and at most 1000"))
}

/// Returns a rate in lowest terms; 23.976, 29.97, 59.94 and the like are thousands of 1001, as cameras have them.
fn decimal_rate(fps: f64) -> Option<FrameRate> {
    let television = [15, 24, 30, 48, 60, 120].into_iter().find(|whole| {
        let exact = f64::from(*whole) * 1000.0 / 1001.0;
        (fps - exact).abs() < 0.005
    });
    let thousandths = (fps * 1000.0).round() as u32;
    let by = (1..=1000).rev().find(|by| 1000_u32.is_multiple_of(*by) && thousandths.is_multiple_of(*by)).unwrap_or(1);
    television.map_or_else(|| FrameRate::new(thousandths / by, 1000 / by), |whole| FrameRate::new(whole * 1000, 1001))
}

/// Returns the value that `text` names among `choices`.
fn choice<T: Copy>(key: &'static str, text: &str, choices: &[(&str, T)]) -> Result<T, ConfigError> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        value(key, format!("`{text}` is not one of {}", names.join(", ")))
    })
}

fn checked<T>(key: &'static str, result: Result<T, impl Display>) -> Result<T, ConfigError> {
    result.map_err(|error| value(key, error.to_string()))
}

fn value(key: &'static str, message: impl Into<String>) -> ConfigError {
    ConfigError::Value { key, message: message.into() }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
