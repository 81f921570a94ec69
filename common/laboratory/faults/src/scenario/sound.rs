//! Sound of a run: the call's own, through a JACK server without a card, or a model of JackTrip's beside the picture.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use serde_json::Value;

use crate::daemons::Daemon;
use crate::logs::percentile;
use crate::machine::priority::{has_real_time, raised};

/// Sound of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sound {
    /// None: the daemons are told so.
    Off,
    /// The call's own, from and to a JACK server without a card.
    On,
    /// A model of JackTrip's on the same line, which the sender is told of.
    Jacktrip,
}

/// Samples of a period, of both kinds of sound.
const SAMPLES: u32 = 128;
/// Priorities of what stands for a card and for a sound program.
const SERVER: u8 = 75;
const PROGRAM: u8 = 60;

impl Sound {
    /// Returns the options of the daemon that sends (`is_sender`) or only receives.
    pub(crate) fn options(self, is_sender: bool) -> &'static [&'static str] {
        match self {
            Self::On => &[],
            Self::Jacktrip if is_sender => &["--no-sound", "--beside", "1.8M"],
            Self::Off | Self::Jacktrip => &["--no-sound"],
        }
    }
}

/// A JACK server without a card. It ends with its value.
pub(crate) struct Server {
    name: String,
    _daemon: Daemon,
}

impl Server {
    /// Starts one, whose log is in `folder`. The daemons open it when it answers.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let name = format!("duet-faults-{}", std::process::id());
        // It ends with this program, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "jackd", "-n", &name]);
        match has_real_time() {
            true => command.args(["-R", "-P", &SERVER.to_string()]),
            false => command.arg("-r"),
        };
        command.args(["-d", "dummy", "-r", "48000", "-p", &SAMPLES.to_string()]);
        Ok(Self { _daemon: Daemon::start("JACK server", &mut command, &folder.join("jackd.log"))?, name })
    }

    /// Lets a daemon find it.
    pub(crate) fn join(&self, command: &mut Command) {
        command.env("JACK_DEFAULT_SERVER", &self.name);
    }
}

/// Figures of the sound that one hears; not a number where there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Milliseconds that it was later than it had to be: median and most of the seconds.
    pub(crate) added: [f64; 2],
    /// Gaps and packets a minute.
    pub(crate) gaps: f64,
    pub(crate) concealed: f64,
    late: f64,
    received: f64,
}

impl Heard {
    /// Takes what the statistics of who hears say of the sound since `began` (wall clock since 1970).
    pub(crate) fn of(stats: &str, began: Duration) -> Self {
        let all = stats.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines: Vec<_> =
            all.filter(|line| line["unix_ms"].as_f64().is_some_and(|ms| ms / 1e3 >= began.as_secs_f64())).collect();
        let grown = |key: &str| {
            let [first, last] = [lines.first(), lines.last()].map(|line| line.and_then(|line| line[key].as_f64()));
            last.unwrap_or(f64::NAN) - first.unwrap_or(f64::NAN)
        };
        let a_minute = |key: &str| grown(key) / (grown("unix_ms") / 6e4);
        let added: Vec<_> = lines.iter().filter_map(|line| line["sound_added_ms"].as_f64()).collect();
        Self {
            added: [0.5, 1.0].map(|share| percentile(&added, share)),
            gaps: a_minute("sound_gaps"),
            concealed: a_minute("sound_packets_concealed"),
            late: a_minute("sound_packets_late"),
            received: a_minute("sound_packets_received"),
        }
    }
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added: [half, most], gaps, concealed, late, received } = self;
        write!(
            f,
            "sound: added p50/most of the seconds {half:.1}/{most:.1} ms; a minute {gaps:.1} gaps, {concealed:.1} packets concealed, {late:.1} late, {received:.1} received"
        )
    }
}

/// Bytes of a packet of JackTrip in stereo, of 16 bits, with its header.
const PACKET_BYTES: usize = SAMPLES as usize * 4 + 16;
/// Periods for which a queue of four (`-q 4`) holds what has come: it begins half full.
const HELD_PERIODS: u32 = 2;
/// Longest wait for a packet, and for the last of them.
const LAST: Duration = Duration::from_millis(500);

/// A model of JackTrip: a packet of one size at each period, on the way until it is told to end.
pub(crate) struct Model {
    stop: Arc<AtomicBool>,
    sends: JoinHandle<()>,
    hears: JoinHandle<Vec<Option<Duration>>>,
}

impl Model {
    /// Returns the socket at which one hears, for a line that leads there.
    pub(crate) fn listen() -> Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(LAST))?;
        Ok(socket)
    }

    /// Starts to send to `to`, from where it comes to `hears`.
    pub(crate) fn start(to: SocketAddr, hears: UdpSocket) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (stop, begun) = (Arc::new(AtomicBool::new(false)), Instant::now());
        let stopped = stop.clone();
        Ok(raised(PROGRAM, || Self {
            stop,
            sends: std::thread::spawn(move || {
                let mut packet = [0; PACKET_BYTES];
                for number in 0_u32.. {
                    std::thread::sleep((begun + due(number)).saturating_duration_since(Instant::now()));
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    packet[..4].copy_from_slice(&number.to_le_bytes());
                    // A line that takes nothing loses it.
                    let _ = socket.send_to(&packet, to);
                }
            }),
            hears: std::thread::spawn(move || {
                let (mut packet, mut came) = ([0; PACKET_BYTES], Vec::new());
                while let Ok(PACKET_BYTES) = hears.recv(&mut packet) {
                    let number = u32::from_le_bytes([packet[0], packet[1], packet[2], packet[3]]);
                    // It was late if the machine let it be sent late: a card would not wait either.
                    let delay = begun.elapsed().saturating_sub(due(number));
                    came.resize(came.len().max(number as usize + 1), None);
                    came[number as usize].get_or_insert(delay);
                }
                came
            }),
        }))
    }

    /// Ends it and returns how its sound was, in words.
    pub(crate) fn end(self) -> Result<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.sends.join().map_err(|_| anyhow!("the model's sender has failed"))?;
        let came = self.hears.join().map_err(|_| anyhow!("the model's receiver has failed"))?;
        Ok(suffered(&came))
    }
}

/// Returns the time of a packet.
fn due(number: u32) -> Duration {
    Duration::from_nanos(u64::from(number) * u64::from(SAMPLES) * 1_000_000 / 48)
}

/// Returns in words what the packets waited beyond the line's own delay, which the quickest shows, and how many were lost or too late.
fn suffered(came: &[Option<Duration>]) -> String {
    let Some(least) = came.iter().flatten().min() else { return "JackTrip's model: nothing came".to_owned() };
    let waits: Vec<_> = came.iter().flatten().map(|delay| delay.saturating_sub(*least)).collect();
    let held = HELD_PERIODS * due(1);
    let dropped = came.len() - waits.iter().filter(|&&wait| wait <= held).count();
    let minutes = due(came.len() as u32).as_secs_f64() / 60.0;
    let ms: Vec<_> = waits.iter().map(|wait| 1e3 * wait.as_secs_f64()).collect();
    format!(
        "JackTrip's model: waits p50/p99/most {:.1}/{:.1}/{:.1} ms; a minute {:.0} lost or later than its queue",
        percentile(&ms, 0.5),
        percentile(&ms, 0.99),
        percentile(&ms, 1.0),
        dropped as f64 / minutes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_or_lost_is_counted_and_nothing_else() {
        let ms = |ms: u64| Some(Duration::from_millis(ms));
        // A minute has 22,500 periods.
        let mut came = vec![ms(12); 22_500];
        (came[7], came[8], came[9]) = (None, ms(17), ms(18));
        assert_eq!(
            suffered(&came),
            "JackTrip's model: waits p50/p99/most 0.0/0.0/6.0 ms; a minute 2 lost or later than its queue"
        );
        assert_eq!(suffered(&[None]), "JackTrip's model: nothing came");
    }

    #[test]
    fn a_stream_over_the_loopback_comes() {
        let hears = Model::listen().unwrap();
        let to = hears.local_addr().unwrap();
        let model = Model::start(to, hears).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let said = model.end().unwrap();
        assert!(said.contains("waits p50"), "{said}");
    }

    #[test]
    fn statistics_before_the_begin_do_not_count() {
        let line = |ms: u64, added: f64, gaps: u64| {
            serde_json::json!({ "unix_ms": ms, "sound_added_ms": added, "sound_gaps": gaps, "sound_packets_concealed": 2 * gaps,
                "sound_packets_late": 0, "sound_packets_received": ms })
            .to_string()
        };
        let stats = [line(1_000, 50.0, 90), line(10_000, 3.0, 100), line(40_000, 5.0, 104)].join("\n");
        assert_eq!(
            Heard::of(&stats, Duration::from_secs(10)).to_string(),
            "sound: added p50/most of the seconds 3.0/5.0 ms; a minute 8.0 gaps, 16.0 packets concealed, 0.0 late, 60000.0 received"
        );
    }
}
