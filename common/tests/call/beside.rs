//! A sound program and our picture on one line: what the sound suffers and what the picture takes.

use std::time::Duration;

use common::netsim::{Bottleneck, NetConditions, Scenario};
use common::units::{Bitrate, Timestamp};
use common::wire::LOWER_LAYERS_BYTES;

use super::sound::Sound;
use super::{Call, mbit, ms};

/// Knowledge of the sound beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The line bears the picture alone, and the sound alone.
    Apart,
    /// There is sound, and nobody says so or looks for it.
    Nothing,
    /// There is sound, and the call must find it.
    Found,
    /// There is sound of so many bits a second, as somebody has said.
    Declared(Bitrate),
}

/// Samples in a packet of the sound program.
pub(crate) const SAMPLES: u32 = 128;
/// One way.
const DELAY: Duration = ms(12);
/// The sound is judged and the picture measured from here, and until there.
pub(crate) const FROM: Duration = Duration::from_secs(4);
pub(crate) const TO: Duration = Duration::from_secs(24);

/// A line and a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Mbit/s.
    pub(crate) line: u64,
    /// Frames a second.
    pub(crate) frames: u32,
    /// True if the picture may have half of the line, false if it may have all that there is.
    pub(crate) is_half: bool,
}

/// Returns the rows that are promised.
pub(crate) fn rows() -> Vec<Row> {
    let lines = [5, 8, 10, 20, 50].into_iter();
    let frames = lines.flat_map(|line| [30, 60].map(|frames| (line, frames)));
    frames.flat_map(|(line, frames)| [true, false].map(|is_half| Row { line, frames, is_half })).collect()
}

/// Figures of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// 99th percentile of the wait of the sound's packets, ms.
    pub(crate) p99_ms: f64,
    /// Packets of the sound that came too late, a minute.
    pub(crate) late: f64,
    /// Time from a coded frame to its last datagram's arrival, less the path, ms, median.
    pub(crate) picture_ms: f64,
    /// Mbit/s of the picture.
    pub(crate) rate: f64,
    /// Share of the line that all took.
    pub(crate) used: f64,
}

/// Returns a line of so many bits a second, on which a datagram takes what it takes with QUIC around it.
pub(crate) fn line(rate: Bitrate) -> NetConditions {
    let bottleneck = Bottleneck { rate, queue: ms(100), overhead_bytes: LOWER_LAYERS_BYTES };
    let jitter = Duration::from_micros(200);
    NetConditions { bottleneck: Some(bottleneck), jitter, ..NetConditions::perfect(DELAY) }
}

impl Row {
    /// Returns a call on this line, with sound beside from its begin.
    pub(crate) fn call(&self, seed: u64, known: Known) -> Call {
        let half = Bitrate::from_bps(self.line * 500_000);
        let max = if self.is_half { half } else { mbit(2 * self.line) };
        let scenario = Scenario::from(line(mbit(self.line))).with_seed(seed);
        let mut call = Call::beside(self.frames, max, scenario, known);
        call.sound = (known != Known::Apart).then(|| sound(seed, call.now));
        call
    }

    pub(crate) fn run(&self, seed: u64, known: Known) -> (Call, Outcome) {
        let mut call = self.call(seed, known);
        call.run(TO);
        let (p99_ms, late) = call.sound.as_ref().map_or((0.0, 0.0), |sound| sound.harm(FROM, TO));
        let rate = call.rates(FROM, TO).0;
        let sound = if known == Known::Apart { 0.0 } else { Sound::rate(SAMPLES).as_bps() as f64 / 1e6 };
        let picture_ms = 1e3 * call.latency(0.5, FROM, TO).as_secs_f64();
        let outcome = Outcome { p99_ms, late, picture_ms, rate, used: (rate + sound) / self.line as f64 };
        (call, outcome)
    }
}

/// Returns a sound program that begins now.
pub(crate) fn sound(seed: u64, now: Timestamp) -> Sound {
    Sound::new(SAMPLES, seed, LOWER_LAYERS_BYTES, DELAY, now)
}
