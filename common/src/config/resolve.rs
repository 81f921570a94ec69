//! Raw structs to checked values.

use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use picture::backend::BackendChoice;
use picture::effects::{Effect, Effects};
use picture::frame::{BitDepth, Chroma, FrameRate, FrameSize};
use picture::params::{Boundary, CodecParams, Levels, Padding, Profile, Wavelet, Weights};

use super::error::ConfigError;
use super::raw;
use super::resolved::{
    Controller, LinkMode, Meet, Password, Peer, Prediction, ReceiverConfig, SenderConfig, SharedConfig, TURN_PORTS,
    Turn, WindowBackend,
};
use crate::public_key::PublicKey;
use crate::reach::{ADDRESSES_MAX, Candidate, FOUND_MAX, Kind, PLACES_MAX, is_of_one_cable, usable};
use crate::stream::video::protection::Protection;
use crate::units::Bitrate;

/// UDP port of a listener that names none.
pub const DEFAULT_PORT: u16 = 4820;

/// Checks a sender's file with the flags laid over it.
pub fn resolve_sender(file: &raw::SenderFile) -> Result<SenderConfig, ConfigError> {
    let rate = bitrate("codec.rate", file.codec.rate.as_deref().unwrap_or("20M"))?;
    let rate_max = file.network.rate_max.as_deref().map(|text| bitrate("network.rate_max", text)).transpose()?;
    if file.stats.pictures.is_some() {
        return Err(value("stats.pictures", "belongs in the receiver's file: pictures are shown there"));
    }
    let predictions = [("auto", Prediction::Auto), ("on", Prediction::On), ("off", Prediction::Off)];
    let prediction = choice("codec.prediction", &file.codec.prediction, &predictions)?;
    let shared = shared(&file.compute, &file.network, &file.reach, &file.identity, &file.peers, &file.stats, true)?;
    Ok(SenderConfig {
        shared,
        size: file.video.size.as_deref().map(|text| checked("video.size", parse_size(text))).transpose()?,
        frame_rate: file.video.fps.map(|fps| checked("video.fps", parse_frame_rate(&fps.to_string()))).transpose()?,
        chroma: choice(
            "codec.chroma",
            &file.codec.chroma,
            &[("420", Chroma::C420), ("444", Chroma::C444), ("grey", Chroma::Grey)],
        )?,
        codec: codec(&file.codec)?,
        prediction,
        rate_most: rate_max.unwrap_or(Bitrate::from_bps(rate.as_bps().saturating_mul(2))),
        rate: rate_max.map_or(rate, |max| rate.min(max)),
        protection: choice("network.fec", &file.network.fec, &[("auto", Protection::Auto), ("off", Protection::Off)])?,
        controller: choice(
            "network.controller",
            &file.network.controller,
            &[("duet", Controller::Duet), ("cubic", Controller::Cubic)],
        )?,
        record: record(&file.record)?,
        effects: effects(&file.effects)?,
    })
}

fn effects(file: &raw::Effects) -> Result<Effects, ConfigError> {
    let mut effects = Effects::default();
    for (effect, asked) in [
        (Effect::Detail, file.detail),
        (Effect::Noise, file.noise),
        (Effect::StillNoise, file.still_noise),
        (Effect::EvenLight, file.even_light),
    ] {
        if let Some(asked) = asked {
            let wrong = |_| value(effect.key(), format!("it takes {}, not {asked}", effect.takes()));
            effects = effects.with(effect, asked).map_err(wrong)?;
        }
    }
    Ok(effects)
}

/// Longest wait for missing parts of a frame, milliseconds.
pub const LATENCY_MS_MAX: u64 = 1000;
/// Largest pictures that a receiver takes unless told otherwise.
const SIZE_MAX: &str = "3840x2160";

/// Checks a receiver's file with the flags laid over it.
pub fn resolve_receiver(file: &raw::ReceiverFile) -> Result<ReceiverConfig, ConfigError> {
    for (key, set) in [
        ("network.rate_max", file.network.rate_max.is_some()),
        ("network.fec", file.network.fec.is_some()),
        ("network.controller", file.network.controller.is_some()),
    ] {
        if set {
            return Err(value(key, "belongs in the sender's file: the sender decides what it sends"));
        }
    }
    let latency_max = match file.display.latency_max_ms {
        Some(ms) if ms > LATENCY_MS_MAX => {
            return Err(value("display.latency_max_ms", format!("{ms} ms is too long: at most {LATENCY_MS_MAX}")));
        }
        ms => ms.map(Duration::from_millis),
    };
    Ok(ReceiverConfig {
        shared: shared(&file.compute, &file.network, &file.reach, &file.identity, &file.peers, &file.stats, false)?,
        window: choice(
            "display.backend",
            &file.display.backend,
            &[("auto", WindowBackend::Auto), ("winit", WindowBackend::Winit), ("minifb", WindowBackend::Minifb)],
        )?,
        status_line: file.display.status_line.unwrap_or(true),
        latency_max,
        size_max: checked("display.size_max", parse_size(file.display.size_max.as_deref().unwrap_or(SIZE_MAX)))?,
        pictures_file: path(&file.stats.pictures),
        record: record(&file.record)?,
    })
}

fn shared(
    compute: &raw::Compute,
    network: &raw::NetworkSection,
    reach: &raw::Reach,
    identity: &raw::Identity,
    peers: &[raw::PeerSection],
    stats: &raw::Stats,
    dials_by_default: bool,
) -> Result<SharedConfig, ConfigError> {
    let bytes = network.socket_buffer.unwrap_or(8 << 20);
    if !(1 << 16..=1 << 26).contains(&bytes) {
        return Err(value("network.socket_buffer", format!("{bytes} bytes: it takes 65536 to 67108864")));
    }
    let dscp = network.dscp.map(|class| u8::try_from(class).ok().filter(|class| *class < 64).ok_or(class));
    let dscp = dscp.transpose().map_err(|class| value("network.dscp", format!("{class}: it takes 0 to 63")))?;
    Ok(SharedConfig {
        backend: choice(
            "compute.backend",
            &compute.backend,
            &[
                ("auto", BackendChoice::Auto),
                ("opencl", BackendChoice::Opencl),
                ("cpu", BackendChoice::Cpu),
                ("reference", BackendChoice::Reference),
            ],
        )?,
        device: compute.device.clone().filter(|name| !name.is_empty()),
        tuned: choice("compute.tune", &compute.tune, &[("auto", true), ("off", false)])?,
        mode: link_mode(network, reach, peers, dials_by_default)?,
        socket_buffer_bytes: bytes as usize,
        gso: network.gso.unwrap_or(true),
        dscp,
        share_port: network.share_port.unwrap_or(false),
        stun: stun(reach)?,
        open_port: open_port(reach),
        turn: turn(reach)?,
        mailbox: mailbox(reach)?,
        identity_file: path(&identity.file),
        file: None,
        peers: peers.iter().map(peer).collect::<Result<_, _>>()?,
        stats_file: path(&stats.file),
        metrics: stats.metrics.as_deref().filter(|address| !address.is_empty()).map(metrics).transpose()?,
    })
}

/// Returns where frames are kept, if they are.
fn record(record: &raw::Record) -> Result<Option<PathBuf>, ConfigError> {
    if record.path.as_deref() == Some("-") {
        let message = "`-` is no file: it takes a file, such as call.duet, or a folder; pictures for other programs go to \
                       the sink y4m:-";
        return Err(value("record.path", message));
    }
    Ok(path(&record.path))
}

/// Returns a path; none if it is unset or empty.
fn path(text: &Option<String>) -> Option<PathBuf> {
    text.clone().filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn link_mode(
    network: &raw::NetworkSection,
    reach: &raw::Reach,
    peers: &[raw::PeerSection],
    dials_by_default: bool,
) -> Result<LinkMode, ConfigError> {
    let (dial, listen, meet) = (("dial", Mode::Dial), ("listen", Mode::Listen), ("meet", Mode::Meet));
    let modes = if dials_by_default { [dial, listen, meet] } else { [listen, dial, meet] };
    let mode = choice("network.mode", &network.mode, &modes)?;
    let introduced = peers.iter().find(|peer| peer.addresses.is_some());
    if mode == Mode::Meet {
        let introduced = introduced.or(peers.first()).ok_or_else(|| value("network.mode", NOBODY_TO_MEET))?;
        let mut meet = meeting(introduced, reach)?;
        // What is wrong about them is no reason not to call somebody else.
        let others = network.others.iter().filter_map(|other| meeting(other, reach).ok());
        meet.others = others.filter(|other| other.port != meet.port).take(OTHERS_MAX).collect();
        return Ok(LinkMode::Meet(Box::new(meet)));
    }
    if mode == Mode::Dial {
        let of_peer = || peers.iter().find_map(|peer| peer.address.as_ref());
        let Some(address) = network.address.as_ref().or_else(of_peer) else {
            return match introduced {
                Some(peer) if network.mode.is_none() => meeting(peer, reach).map(Box::new).map(LinkMode::Meet),
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
                format!("`{address}` is not an address to listen at: write IP:PORT, such as 0.0.0.0:4820 or [::]:4820")
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
        IpAddr::V6(_) => Kind::Ipv6,
        IpAddr::V4(ip) if ip.is_private() || ip.is_loopback() => Kind::Local,
        IpAddr::V4(_) => Kind::Seen,
    };
    Candidate::new(kind, address)
}

/// Returns the way to find a peer: where it was found when it was introduced, or its address. Without any it may call
/// from anywhere.
fn meeting(raw: &raw::PeerSection, reach: &raw::Reach) -> Result<Meet, ConfigError> {
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
    let mailbox = mailbox(reach)?;
    Ok(Meet {
        peer: peer(raw)?,
        candidates: others.into_iter().map(candidate).collect::<Result<_, _>>()?,
        host: host.transpose()?,
        port: port
            .ok_or_else(|| value("peer.port", "this machine's UDP port is missing: 1 to 65535, beside `addresses`"))?,
        turn: turn(reach)?,
        open_port: open_port(reach),
        house: reach.house.unwrap_or(true),
        stun: if mailbox.is_some() { stun(reach)? } else { Vec::new() },
        mailbox,
        others: Vec::new(),
    })
}

/// Servers that are asked unless others are named; of two, so that a router shows whether it treats each differently.
const STUN: [&str; 2] = ["stun.cloudflare.com:3478", "stun.l.google.com:19302"];

fn stun(reach: &raw::Reach) -> Result<Vec<String>, ConfigError> {
    let servers = reach.stun.clone().unwrap_or_else(|| STUN.map(str::to_owned).to_vec());
    match servers.iter().find(|server| !is_server(server)) {
        Some(server) => {
            let message = format!("`{server}` is no server: write HOST:PORT, such as stun.example:3478");
            Err(value("reach.stun", message))
        }
        None => Ok(servers),
    }
}

/// True for `HOST:PORT`.
fn is_server(text: &str) -> bool {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    matches!(port, Some(Ok(1..))) && !text.contains(char::is_whitespace)
}

fn mailbox(reach: &raw::Reach) -> Result<Option<String>, ConfigError> {
    let Some(text) = reach.mailbox.clone().filter(|text| !text.is_empty()) else { return Ok(None) };
    let server = text.strip_prefix("ws://").map(|rest| rest.split('/').next().unwrap_or_default());
    if server.is_some_and(|server| is_server(server) || !server.is_empty() && !server.contains([':', ' '])) {
        return Ok(Some(text));
    }
    let message = format!(
        "`{text}` is no mailbox server: write ws://HOST:PORT/PATH, such as ws://meet.example:4000/v1 (what it carries is \
         sealed by the words, so that it needs no wss)"
    );
    Err(value("reach.mailbox", message))
}

fn open_port(reach: &raw::Reach) -> bool {
    reach.open_port.unwrap_or(true)
}

fn turn(reach: &raw::Reach) -> Result<Turn, ConfigError> {
    let servers = reach.turn.iter().flatten().map(|text| {
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
    let [first, last] = reach.turn_ports.unwrap_or(TURN_PORTS);
    if first == 0 || last < first || last - first >= PLACES_MAX {
        let message =
            format!("[{first}, {last}] is no range: write the first and the last port, at most {PLACES_MAX} in all");
        return Err(value("reach.turn_ports", message));
    }
    Ok(Turn { servers, user, password: Password(password), ports: first..=last })
}

/// Longest name or password at a relay, bytes.
const TURN_WORD_MAX: usize = 256;

fn metrics(address: &str) -> Result<SocketAddr, ConfigError> {
    address.parse().map_err(|_| {
        let message =
            format!("`{address}` is not an address for the metrics page: write IP:PORT, such as 127.0.0.1:9464");
        value("stats.metrics", message)
    })
}

fn peer(raw: &raw::PeerSection) -> Result<Peer, ConfigError> {
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

fn codec(raw: &raw::Codec) -> Result<CodecParams, ConfigError> {
    let levels = match &raw.levels {
        None => Levels::Full,
        Some(raw::LevelCount::Word(word)) if word == "full" => Levels::Full,
        Some(raw::LevelCount::Count(count @ 1..=14)) => Levels::AtMost(*count as u8),
        Some(_) => return Err(value("codec.levels", "it takes \"full\" or a number of levels, 1 to 14")),
    };
    Ok(CodecParams {
        profile: choice("codec.profile", &raw.profile, &[("quad", Profile::Quad)])?,
        wavelet: choice("codec.wavelet", &raw.wavelet, &[("cdf97", Wavelet::Cdf97)])?,
        depth: BitDepth::Eight,
        levels,
        boundary: choice(
            "codec.boundary",
            &raw.boundary,
            &[("symmetric", Boundary::Symmetric), ("periodic", Boundary::Periodic), ("zero", Boundary::Zero)],
        )?,
        padding: choice("codec.padding", &raw.padding, &[("smooth", Padding::Smooth), ("zero", Padding::Zero)])?,
        weights: choice("codec.weights", &raw.weights, &[("psnr", Weights::Psnr), ("visual", Weights::Visual)])?,
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

fn bitrate(key: &'static str, text: &str) -> Result<Bitrate, ConfigError> {
    checked(key, text.parse())
}

/// Returns the value that `text` names among `choices`; the first when there is no text.
fn choice<T: Copy>(key: &'static str, text: &Option<String>, choices: &[(&str, T)]) -> Result<T, ConfigError> {
    let text = text.as_deref().unwrap_or(choices[0].0);
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
