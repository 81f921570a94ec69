//! The configuration files as they are written: every key optional, values unchecked.
//!
//! The command line's flags are laid over these structs; `super::resolve` then checks the whole once.

use serde::Deserialize;

/// `sender.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SenderFile {
    /// `[video]`
    pub video: Video,
    /// `[codec]`
    pub codec: Codec,
    /// `[compute]`
    pub compute: Compute,
    /// `[network]`
    pub network: NetworkSection,
    /// `[reach]`
    pub reach: Reach,
    /// `[identity]`
    pub identity: Identity,
    /// `[[peer]]`
    #[serde(rename = "peer")]
    pub peers: Vec<PeerSection>,
    /// `[stats]`
    pub stats: Stats,
    /// `[display]`: of a call in both directions.
    pub display: Display,
    /// `[record]`
    pub record: Record,
    /// `[effects]`
    pub effects: Effects,
}

/// `receiver.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiverFile {
    /// `[display]`
    pub display: Display,
    /// `[compute]`
    pub compute: Compute,
    /// `[network]`
    pub network: NetworkSection,
    /// `[reach]`
    pub reach: Reach,
    /// `[identity]`
    pub identity: Identity,
    /// `[[peer]]`
    #[serde(rename = "peer")]
    pub peers: Vec<PeerSection>,
    /// `[stats]`
    pub stats: Stats,
    /// `[record]`
    pub record: Record,
}

/// `peers.toml`, where machines that were introduced are remembered if no configuration is named.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeersFile {
    /// `[[peer]]`
    #[serde(rename = "peer")]
    pub peers: Vec<PeerSection>,
}

/// `[video]`: where pictures come from (sender).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Video {
    /// `camera[:index=0][:size=WxH][:fps=N]`, `pattern[:size=WxH][:fps=N]`, `y4m:PATH[:loop][:live][:fps=N]` or
    /// `mjpeg:PATH[:loop][:live][:fps=N]`. Default `camera`.
    pub source: Option<String>,
    /// Size asked of a camera or the pattern when `source` names none, such as `1280x720`. Default: 1280x720.
    pub size: Option<String>,
    /// Frames a second asked of a source that names none, 1 to 1000. Default: 30, or what a file's header says.
    pub fps: Option<f64>,
}

/// `[codec]`: how pictures become bytes (sender; the receiver learns it in the welcome).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Codec {
    /// Coefficient code: `quad`. Default `quad`.
    pub profile: Option<String>,
    /// Chroma sampling: `420`, `444` or `grey`. Default `420`.
    pub chroma: Option<String>,
    /// Filter bank: `cdf97`. Default `cdf97`.
    pub wavelet: Option<String>,
    /// `"full"` (until the low band is one coefficient) or a number of levels, 1 to 14. Default `"full"`.
    pub levels: Option<LevelCount>,
    /// Continuation of a plane in its square: `smooth` or `zero`. Default `smooth`.
    pub padding: Option<String>,
    /// Extension at the ends of rows and columns: `symmetric`, `periodic` or `zero`. Default `symmetric`.
    pub boundary: Option<String>,
    /// Quantisation of the bands: `psnr` or `visual`. Default `psnr`.
    pub weights: Option<String>,
    /// Frames coded from what the receiver holds: `on`, `off` or `auto`. Default `auto`.
    pub prediction: Option<String>,
    /// Highest video bit rate, such as `20M` (bits a second). Default `20M`.
    pub rate: Option<String>,
}

/// Value of `levels`: a word or a number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`levels` takes \"full\" or a number of levels, 1 to 14")]
pub enum LevelCount {
    /// Number of levels.
    Count(u64),
    /// `full`.
    Word(String),
}

/// `[compute]`: what runs the transform.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// `auto` (an OpenCL GPU, else the CPU), `opencl`, `cpu` or `reference`. Default `auto`.
    pub backend: Option<String>,
    /// Part of an OpenCL device's name, for machines with several. Default: the first that fits.
    pub device: Option<String>,
    /// Work-group shapes of an OpenCL device: `auto` (those that `wavelet tune` has kept for it, else the built-in
    /// ones) or `off` (the built-in ones). Default `auto`.
    pub tune: Option<String>,
}

/// `[network]`: the one connection to the other side.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSection {
    /// `dial` (connect to `address`), `listen` (wait at `address`) or `meet` (find the first peer that was introduced,
    /// or the first one, wherever it is). Default: the sender dials, the receiver listens.
    pub mode: Option<String>,
    /// `HOST[:PORT]` to dial or `IP:PORT` to listen at. Default: the first peer's address when dialling; `[::]:4820`, which
    /// hears IPv4 and IPv6, when listening.
    pub address: Option<String>,
    /// Never send video faster than this, whatever `[codec] rate` or `--rate` ask (sender only). Default: no limit.
    pub rate_max: Option<String>,
    /// Forward error correction (sender only): `auto` (coarse parts always, others by the loss seen) or `off`. Default
    /// `auto`.
    pub fec: Option<String>,
    /// Bytes asked for the socket's receive and send buffers, 65536 to 67108864. Default 8388608; the system may
    /// give less, which is logged.
    pub socket_buffer: Option<u64>,
    /// Both directions of this machine over one connection and UDP port, as with `sender call`. Default false.
    pub share_port: Option<bool>,
    /// Congestion controller (sender only): `duet`, or `cubic`, which is QUIC's usual one and there for comparison.
    /// Default `duet`.
    pub controller: Option<String>,
    /// Generic segmentation offload: several datagrams per system call. Turn it off where a network card or
    /// container loses bursts. Default true.
    pub gso: Option<bool>,
    /// Class of the packets (DSCP), 0 to 63, by which routers may send them before others. Default: none.
    pub dscp: Option<u64>,
    /// Not in the file: peers that are known and not called. Whoever of them calls is told that this machine is in a call.
    #[serde(skip)]
    pub others: Vec<PeerSection>,
}

/// `[reach]`: how this machine finds out where others can reach it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reach {
    /// `HOST:PORT` of the STUN servers that `invite` and `join` ask for this machine's address outside. Default: two public
    /// ones; empty: none is asked.
    pub stun: Option<Vec<String>>,
    /// True if the house's router is asked to open the port of calls by name. Default: true.
    pub open_port: Option<bool>,
    /// True if calls by name look for each other in the same house by mDNS. Default: true.
    pub house: Option<bool>,
    /// `turn:HOST:PORT` of relays, for two routers between which there is no direct way. Default: none.
    pub turn: Option<Vec<String>>,
    /// Name that the relays know, and its password.
    pub turn_user: Option<String>,
    /// Protects the relay from strangers; no picture depends on it.
    pub turn_password: Option<String>,
    /// First and last port at which the relays pass packets on. Default: 49152 to 49215.
    pub turn_ports: Option<[u16; 2]>,
    /// `ws://HOST:PORT/PATH` of the mailbox server at which `pair` meets the other machine, and both leave their addresses for
    /// later calls. Default: none.
    pub mailbox: Option<String>,
}

/// `[identity]`: this machine's key.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Identity {
    /// Ed25519 private key file (PKCS#8 PEM, readable by its owner only). Default: `identity.pem` in the
    /// credentials or state directory that systemd gives, else `~/.local/state/duet/identity.pem`.
    pub file: Option<String>,
}

/// `[[peer]]`: a machine that may connect. No other can.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeerSection {
    /// Name used in messages. Default: the start of the key.
    pub name: Option<String>,
    /// The line that `identity` prints on that machine. Required.
    pub public_key: Option<String>,
    /// Its `HOST[:PORT]`, dialled in `dial` mode unless `[network] address` is set.
    pub address: Option<String>,
    /// `IP:PORT` where it may be, as `invite` and `join` have written: for calls by name and the mode `meet`.
    pub addresses: Option<Vec<String>>,
    /// `IP:PORT` where calls have found it since, newest first, as the programs write themselves.
    pub found: Option<Vec<String>>,
    /// This machine's UDP port for such calls, likewise. Default for a peer that was not introduced: 4820.
    pub port: Option<u16>,
}

/// `[display]`: where pictures go (receiver, and sender in a call in both directions).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Display {
    /// `window[:fullscreen]`, `headless`, `y4m:PATH` or `v4l2:DEVICE`. Default `window`.
    pub sink: Option<String>,
    /// Library that opens the window: `winit` (Wayland or X11), `minifb` (X11) or `auto`: winit, or minifb if winit cannot.
    /// Default `auto`.
    pub backend: Option<String>,
    /// True if the line about delay and losses is shown at start (a key toggles it). Default true.
    pub status_line: Option<bool>,
    /// Longest wait for the missing parts of a frame beyond its expected arrival, ms, 0 to 1000. Default:
    /// three quarters of a frame interval.
    pub latency_max_ms: Option<u64>,
    /// Pictures of more pixels are refused, such as `3840x2160`. Default: 3840x2160.
    pub size_max: Option<String>,
}

/// `[stats]`: what is written about the stream.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stats {
    /// File that gets one JSON object a second and a last one. Default: none.
    pub file: Option<String>,
    /// `IP:PORT` of a metrics page for Prometheus, served at `/metrics`. Default: none.
    pub metrics: Option<String>,
    /// File that gets one JSON object for each picture shown (receiver only). Default: none.
    pub pictures: Option<String>,
}

/// `[record]`: what is kept of the stream as it was coded.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// A `.duet` file or a folder for such files, for the frames that are sent or received. Default: none.
    pub path: Option<String>,
}

/// `[effects]`: what is done to pictures before they are coded (sender).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Effects {
    /// Gain of the finest detail, 0 to 4: below 1 softens, above 1 sharpens. Default 1.
    pub detail: Option<f32>,
    /// Threshold of the camera's noise, 0 to 32 grey levels. Default 0.
    pub noise: Option<f32>,
    /// Difference to the picture before below which a part stands still, 0 to 20 grey levels. Default 0.
    pub still_noise: Option<f32>,
    /// Share of the coarsest differences in brightness that is taken away, 0 to 1. Default 0.
    pub even_light: Option<f32>,
}
