//! The table of all configuration keys: of each its name, type, default and meaning, and the program that uses it.
//!
//! The structs that a file is read into, the defaults, hints at misspelt keys, `config/duet.toml` and the list in `config/README.md` come
//! from it (the last two by `common/tests/config_files.rs`).

#![allow(missing_docs, reason = "the table's texts are macros' input")]
#![allow(rustdoc::broken_intra_doc_links, reason = "in a configuration [network] is a section")]

use serde::Deserialize;

/// The program that uses a key; a call is the sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Sender,
    Receiver,
    Both,
}

/// A key of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    /// Its default as it is written in a file, or an example where it has none.
    pub shown: &'static str,
    pub has_default: bool,
    pub program: Program,
    /// Its unit or range and the reason for it: what it does, in a line, and more about it in others.
    pub why: &'static [&'static str],
    /// Its place in files of before, `section.key`; empty: the same.
    pub was: &'static str,
}

/// A section of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub name: &'static str,
    pub about: &'static [&'static str],
    pub keys: &'static [Key],
}

impl Section {
    /// Returns its header as it is written in a file.
    pub fn header(&self) -> String {
        if self.name == PEER { format!("[[{PEER}]]") } else { format!("[{}]", self.name) }
    }
}

/// Keys before whose default is set have `=`, those that are unset and shown with an example `~`.
macro_rules! section {
    ($(#[derive($more:ident)])? $(#[doc = $about:literal])+ $struct:ident $name:literal {
        $($(#[doc = $why:literal])+ $program:ident $key:ident: $type:ty, $sign:tt $shown:expr $(, was $was:literal)?;)+
    }) => {
        $(#[doc = $about])+
        $(#[derive($more)])?
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $struct {
            $($(#[doc = $why])+ pub $key: $type,)+
        }

        impl $struct {
            /// Its part of the table.
            pub const TABLE: Section = Section {
                name: $name,
                about: &[$($about),+],
                keys: &[$(Key {
                    name: stringify!($key),
                    shown: stringify!($shown),
                    has_default: stringify!($sign).as_bytes()[0] == b'=',
                    program: Program::$program,
                    why: &[$($why),+],
                    was: concat!($($was)?),
                }),+],
            };
        }
    };
}

section! {
    /// Pictures that are sent.
    Video "video" {
        /// Source: camera, none (sound only), pattern, a file such as y4m:PATH, mjpeg:PATH or duet:PATH, or strip (the time, for latency-film).
        /// camera[:index=0][:size=WxH][:fps=N], pattern and strip[:size=WxH][:fps=N], files[:loop][:live][:fps=N].
        /// `sender devices` lists the cameras and what is taken of each.
        Sender source: String, = "camera";
        /// WIDTHxHEIGHT in pixels, where the source names none: 720p is the sweet spot of cost and detail.
        Sender size: Option<String>, ~ "1280x720";
        /// Frames a second, 1 to 1000, where the source names none. Unset: 30, a camera's highest up to 60, or what a file says.
        Sender fps: Option<f64>, ~ 30;
    }
}

section! {
    /// The rate, and how pictures become bytes. A receiver learns it from the sender.
    Codec "codec" {
        /// Most video bits a second (suffix k, M or G); while the network bears less, less is sent.
        /// Stay below half of your uplink: at a higher share each frame takes longer to leave the house, and bits are latency.
        Sender rate: String, = "20M";
        /// Frames coded from the picture that the receiver holds: auto, on or off. It saves bits where the camera stands still.
        /// auto: where frames have at most 0.3 bit per pixel and the computer has time for it. A sender that records does without.
        Sender prediction: String, = "auto";
    }
}

section! {
    /// Sound of both sides, in step with the picture. `sender devices` lists the cards, `sender doctor` says what they lack.
    Sound "sound" {
        /// Card: auto (JACK or PipeWire if one runs, else ALSA's default), jack, jack:NAME, alsa:NAME, or none: a call without sound.
        Both card: String, = "auto";
        /// Samples of a packet: 64, 128 or 256. Fewer are sooner there (64 are 1.3 ms) and take more bits and processor time.
        Sender period: u64, = 128;
        /// Channels that are sent: 1 (the card's first) or 2.
        Sender channels: u64, = 2;
        /// Coding: auto (16 bits a sample, 1.7 Mbit/s of two channels; Opus where the line bears too little), pcm16, pcm24 or opus.
        Sender coding: String, = "auto";
        /// Order of sound and picture: free (each as soon as it is there) or picture (the sound waits for the picture of the same instant).
        Both sync: String, = "free";
    }
}

section! {
    /// Changes of pictures before they are coded. `sender set effects.noise=2` and the key E change them during a call.
    Effects "effects" {
        /// Gain of the finest detail, 0 to 4: below 1 softens skin and paper, above 1 sharpens; 1 is off.
        Sender detail: f32, = 1.0;
        /// Threshold of the camera's noise, 0 to 32 grey levels, 0 is off: fainter fine detail is left out. 1 to 3 for a webcam.
        Sender noise: f32, = 0.0;
        /// Noise where the picture stands still, 0 to 20 grey levels, 0 is off: what differs by less from the picture before is averaged.
        /// 2 to 4 for a webcam that stands still; with prediction it saves up to a third of a noisy picture's bits.
        Sender still_noise: f32, = 0.0;
        /// Light evened, 0 to 1, 0 is off: the share of the coarsest differences in brightness that is taken away.
        Sender even_light: f32, = 0.0;
    }
}

section! {
    /// Pictures that come.
    Display "display" {
        /// Place for the pictures: window[:fullscreen], headless (decoded and counted only), y4m:PATH or v4l2:DEVICE (a virtual camera).
        /// A recording or a virtual camera that fails is given up with a warning: the call goes on, and ends with exit code 3.
        Both sink: String, = "window";
        /// true: the line about delay and losses is shown at start. I in the window toggles it, H there lists all keys.
        Both status_line: bool, = true;
        /// File that the key S in the window keeps a picture in: png, or jph (JPEG 2000 of Part 15, HTJ2K), which is smaller.
        /// Both hold every pixel as it is shown. jph is read by what has OpenJPEG 2.5, such as Pillow.
        Both snapshot: String, = "png";
        /// Milliseconds, 0 to 1000, to wait for missing parts of a frame. Unset: three quarters of a frame.
        /// Longer waits mend more frames, shorter ones show the next frame sooner.
        Both latency_max_ms: Option<u64>, ~ 25;
    }
}

section! {
    /// The one connection to the other machine.
    Network "network" {
        /// Your name, which those hear to whom `invite`, `join` and `pair` introduce you; they are free to call you something else.
        /// Letters, digits, spaces, `-`, `_` and `.`, 32 at most. Empty: none is told.
        Both name: String, = "";
        /// Beginning of it: dial, listen or meet. Unset: a sender dials (or meets who was introduced), a receiver listens.
        /// Either may dial; the one whose router forwards a port listens. meet: both look for each other through their routers.
        Both mode: Option<String>, ~ "dial";
        /// HOST[:PORT] to dial or IP:PORT to listen at. Unset: the first peer's address; to listen, [::]:4820 (IPv4 and IPv6).
        /// An address of one cable has this machine's network on it: [fe80::1234%eth0]:4820.
        Both address: Option<String>, ~ "friend.example:4820";
        /// Video bits a second that nothing exceeds, whatever asks; own sound comes on top.
        /// Unset: twice the rate of the start, for keys during the call.
        Sender rate_max: Option<String>, ~ "50M";
        /// Bits a second that a sound program sends on the same line (2M: JackTrip in stereo), auto (found where it takes much) or 0.
        /// Pictures then leave so that its packets do not wait behind them, and some of the line stays free.
        Sender beside: String, = "auto";
        /// true: pictures go and come over one connection and UDP port, as with `sender call`. Both machines must do it.
        /// For a service that calls, with mode = "meet", in [sender.network]: the receiver alone refuses it.
        /// What comes has statistics and a recording with "-received" in their names.
        Sender share_port: bool, = false;
        /// true: addresses of now are also left in BitTorrent's network (DHT), sealed for the other machine: no server is needed.
        /// Calls by name, `invite` and `join` so find homes whose addresses have changed. Nodes see that an address stores something.
        /// Some schools and firms forbid BitTorrent's protocol. It takes a few MB an hour while somebody is looked for, little later.
        Both dht: bool, = false;
    }
}

section! {
    /// Help of servers, for two homes that do not find each other. docker/meet has both to host.
    Reach "reach" {
        /// ws://HOST:PORT/PATH of a mailbox server, at which `pair` meets by four words and later calls find new addresses. Empty: none.
        /// It learns both addresses and when the programs run; what it carries is sealed.
        Both mailbox: String, = "";
        /// turn:HOST:PORT of relays, for routers between which there is no direct way; one that is found is preferred. Empty: none.
        /// A relay learns both addresses, when and how much is sent; pictures stay encrypted from one end to the other.
        Both turn: Vec<String>, = [];
        /// Name that the relay's host has given.
        Both turn_user: Option<String>, ~ "band";
        /// Password of that name. It protects the relay from strangers and nothing of a call; `chmod 600` this file if others use the machine.
        Both turn_password: Option<String>, ~ "any words";
    }
}

section! {
    /// Frames kept as they were coded.
    Record "record" {
        /// Folder, for files named by the time in UTC, or a file; nothing is replaced. 4.5 GB an hour at 10 Mbit/s.
        /// The sound is beside it, in WAV files with the same begin. A disk that is full or slow costs the recording, not the call.
        /// `wavelet info FILE` says what one holds. Empty: none.
        Both path: String, = "";
    }
}

section! {
    /// An audience in browsers, through a relay: docker/audience has one to host. It gets a coding of its own, and what the call leaves.
    Publish "publish" {
        /// https://HOST[:PORT]/NAME of the relay and the call's name there. Behind it #sha256=HASH of a certificate that is the relay's own.
        /// Whoever runs the relay can see and hear the call: run it yourselves, or ask somebody whom you trust. Empty: no audience.
        Sender url: String, = "";
        /// Token that the relay's host has given. Whoever has it can publish under that name; `chmod 600` this file if others use the machine.
        Sender token: Option<String>, ~ "any words";
        /// Name of the evening, for the page.
        Sender title: String, = "";
        /// Names of the players for the page, the host's first. Unset: none are told.
        Sender names: Vec<String>, = [];
        /// Beginning, in words for the page.
        Sender starts: String, = "";
        /// Most bits a second for the audience, all parts: 1.7M has both pictures and the sound, 400k the small picture.
        /// While the line bears less than the call wants, the audience gets an eighth of it at most.
        Sender cap: String, = "1.7M";
    }
}

section! {
    /// Counts and times of the call.
    Stats "stats" {
        /// File that gets a JSON object a second and a last one, some 4 MB an hour; a start goes on where it ends.
        /// Two programs need a file each. Empty: none.
        Both file: String, = "";
    }
}

section! {
    #[derive(Default)]
    /// A machine that may connect: no other gets a byte. One section each. `invite`, `join` and `pair` write them.
    PeerSection "peer" {
        /// Name used in messages. Unset: the start of the key.
        Both name: Option<String>, ~ "Clara";
        /// The line that `sender identity` or `receiver identity` prints there.
        Both public_key: Option<String>, ~ "the line";
        /// HOST[:PORT] to dial unless [network] address is set.
        Both address: Option<String>, ~ "clara.example:4820";
        /// IP:PORT at which it may be: written by `invite` and `join`, used by calls by name and the mode meet.
        Both addresses: Option<Vec<String>>, ~ ["203.0.113.5:20817", "192.168.1.7:20817"];
        /// IP:PORT at which calls have found it since, newest first, 4 at most: written by the programs.
        Both found: Option<Vec<String>>, ~ ["203.0.113.9:20817"];
        /// This machine's UDP port for calls with it. Unset, for one that was not introduced: 4820.
        Both port: Option<u16>, ~ 24391;
    }
}

section! {
    /// Rarely needed, for who measures or repairs.
    Expert "expert" {
        /// Back end, which computes: auto (an OpenCL graphics card, else the processor), opencl, cpu or reference. All make the same bytes.
        Both backend: String, = "auto", was "compute.backend";
        /// Part of an OpenCL device's name, for machines with several. Empty: the first that fits.
        Both device: String, = "", was "compute.device";
        /// Work-group shapes of an OpenCL device: auto (those that `wavelet tune` has kept for it) or off (the built-in ones).
        Both tune: String, = "auto", was "compute.tune";
        /// Chroma sampling: 420, 444 or grey. Eyes see colour coarsely: 420 halves the samples for little loss.
        Sender chroma: String, = "420", was "codec.chroma";
        /// Error's place: psnr (even) or visual (into what eyes see least, at 60 pixels per degree; colour is then much coarser).
        Sender weights: String, = "psnr", was "codec.weights";
        /// Decomposition levels: "full" (down to one coefficient) or 1 to 14. More cost little and save bits.
        Sender levels: LevelCount, = "full", was "codec.levels";
        /// Continuation of a plane in its square: smooth (costs no bits) or zero (the picture in a black frame).
        Sender padding: String, = "smooth", was "codec.padding";
        /// Extension at the ends of rows and columns: symmetric, periodic or zero. Symmetric makes no edge where there is none.
        Sender boundary: String, = "symmetric", was "codec.boundary";
        /// Forward error correction within the rate: auto (coarse parts twice, others by the loss seen) or off.
        Sender fec: String, = "auto", was "network.fec";
        /// Congestion controller: duet, or cubic, QUIC's usual one, for comparison: it sends far less where packets get lost.
        Sender controller: String, = "duet", was "network.controller";
        /// Bytes asked for each of the socket's buffers, 65536 to 67108864: room for a whole frame's burst.
        Both socket_buffer: u64, = 8388608, was "network.socket_buffer";
        /// Several datagrams per system call; false where a network card or container loses bursts.
        Both gso: bool, = true, was "network.gso";
        /// Class of the packets (DSCP), 0 to 63, by which routers may prefer them; 34 is that of video calls. Unset: none.
        /// Wi-Fi sends those of 34 first. Many providers clear it, and a few lose packets that have one.
        Both dscp: Option<u64>, ~ 34, was "network.dscp";
        /// HOST:PORT of servers that tell how this machine is seen outside, for `invite`, `join` and, with a mailbox, calls. Empty: none.
        Both stun: Vec<String>, = ["stun.cloudflare.com:3478", "stun.l.google.com:19302"], was "reach.stun";
        /// true: the router is asked (UPnP, PCP, NAT-PMP) to open the one UDP port of a call by name or an introduction, until its end.
        Both open_port: bool, = true, was "reach.open_port";
        /// true: calls by name also look for each other in the same house (mDNS), under a name that only the other machine can compute.
        Both house: bool, = true, was "reach.house";
        /// HOST:PORT of nodes by which BitTorrent's network is entered with [network] dht, 8 at most.
        Both dht_nodes: Vec<String>, = ["router.bittorrent.com:6881", "dht.transmissionbt.com:6881", "dht.libtorrent.org:25401", "router.utorrent.com:6881"];
        /// First and last port at which a relay passes packets on (coturn: min-port, max-port), 64 at most; alike on both machines.
        Both turn_ports: [u16; 2], = [49152, 49215], was "reach.turn_ports";
        /// true: a call begins with practice delay, as if P were pressed: the own sound is played as late as the other side's.
        /// Both then hear the same mix and can keep a beat over a long line. With headphones, and no monitoring by the card.
        Sender practice_delay: bool, = false;
        /// Library that opens the window: winit (Wayland or X11), minifb (X11), or auto: winit, and minifb if winit cannot.
        Both window: String, = "auto", was "display.backend";
        /// WIDTHxHEIGHT of the largest pictures that are taken, so that no peer makes this machine set aside more memory than it has.
        /// Refused is also what needs a larger transform than these, or comes faster than 120 of these a second.
        Both size_max: String, = "3840x2160", was "display.size_max";
        /// IP:PORT of a page for Prometheus with what [stats] file has, at /metrics. Whoever reaches it can read it. Unset: none.
        /// Two programs on one machine need an address each: that of the receiver goes into [receiver.expert].
        Both metrics: Option<String>, ~ "127.0.0.1:9464", was "stats.metrics";
        /// File that gets a JSON object for each picture shown; each start empties it. Empty: none.
        Both pictures: String, = "", was "stats.pictures";
        /// Private key (Ed25519, PKCS#8 PEM, mode 0600), which `identity` makes.
        /// Empty: identity.pem in systemd's credentials or state directory, else ~/.local/state/duet/identity.pem.
        Both identity: String, = "", was "identity.file";
    }
}

/// Value of `levels`: a word or a number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`levels` takes \"full\" or a number of levels, 1 to 14")]
pub enum LevelCount {
    Count(u64),
    Word(String),
}

/// Returns what the key at `section.key` is, for a program's help.
pub fn help(place: &str) -> &'static str {
    let (section, key) = place.split_once('.').unwrap_or_default();
    let section = SECTIONS.into_iter().find(|known| known.name == section);
    let key = section.and_then(|section| section.keys.iter().find(|known| known.name == key));
    key.map_or("", |key| key.why[0].trim().trim_end_matches('.'))
}

/// Name of the sections that may be there several times.
pub(super) const PEER: &str = "peer";

/// All sections, in the order of the file.
pub const SECTIONS: [&Section; 12] = [
    &Video::TABLE,
    &Codec::TABLE,
    &Sound::TABLE,
    &Effects::TABLE,
    &Display::TABLE,
    &Network::TABLE,
    &Reach::TABLE,
    &Record::TABLE,
    &Publish::TABLE,
    &Stats::TABLE,
    &PeerSection::TABLE,
    &Expert::TABLE,
];

/// Keys of files of before that had one value: place and value.
pub(super) const GONE: [(&str, &str); 2] = [("codec.profile", "quad"), ("codec.wavelet", "cdf97")];

/// A configuration as it is written, values unchecked. The command line's flags are laid over it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    pub video: Video,
    pub codec: Codec,
    pub sound: Sound,
    pub effects: Effects,
    pub display: Display,
    pub network: Network,
    pub reach: Reach,
    pub record: Record,
    pub publish: Publish,
    pub stats: Stats,
    #[serde(rename = "peer", default)]
    pub peers: Vec<PeerSection>,
    pub expert: Expert,
    /// Not in the file: peers that are known and not called. Whoever of them calls is told that this machine is in a call.
    #[serde(skip)]
    pub others: Vec<PeerSection>,
}
