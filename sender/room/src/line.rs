//! The line to somebody, tested on a thread of its own: what it carries, in words, and the rate that calls take from then on.

use std::sync::{Arc, Mutex};

use common::config::{LinkMode, PublicKey};
use common::linktest::{Found, Measured, choices, recommended};
use common::units::Bitrate;
use net::failure::Failure;
use net::linktest::{Target, Tested};
use net::lock::lock;
use picture::frame::{FrameRate, FrameSize};
use sending::source::asked;
use shell::cli::CommonFlags;
use shell::threads::spawn;

use crate::files::chosen::{self, Configuration};
use crate::people::call_with;

/// PSNR from which on common pictures are fine, and from which on they are good, dB.
const FINE_DB: f64 = 40.0;
const GOOD_DB: f64 = 34.0;
/// Longest round trip over which two play together, and over which they do with practice delay, milliseconds.
const TOGETHER_MS: f64 = 30.0;
const PRACTICE_MS: f64 = 120.0;

/// The rate of who has chosen none, bits a second.
const USUAL_BPS: u64 = 20_000_000;

/// A test that has begun.
pub(crate) struct LineTest {
    key: PublicKey,
    state: Arc<Mutex<Course>>,
}

/// State of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Course {
    /// It is under way.
    #[default]
    Runs,
    /// It has ended.
    Tested(Line),
    /// It has failed, and why.
    Failed(String),
}

/// A line as it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Mbit/s from here to there.
    pub(crate) there: f64,
    /// Mbit/s from there to here, if that was measured.
    pub(crate) back: Option<f64>,
    /// Milliseconds there and back.
    pub(crate) round_trip_ms: f64,
    /// Packets that were lost, of a hundred.
    pub(crate) lost_percent: f64,
    /// Key of the sentence about pictures, and of the one about playing together.
    pub(crate) verdicts: [&'static str; 2],
}

impl LineTest {
    /// Begins to test the line to the machine of this key. What is found is written into the configuration: as good as the line allows.
    pub(crate) fn begin(flags: &CommonFlags, key: PublicKey) -> Self {
        let state = Arc::<Mutex<Course>>::default();
        let (flags, told) = (flags.clone(), Arc::clone(&state));
        let _ = spawn("line test", move || {
            *lock(&told) = match test(&flags, &key) {
                Ok(line) => Course::Tested(line),
                Err(failure) => Course::Failed(failure.message),
            };
            Ok(())
        });
        Self { key, state }
    }

    /// Returns to whom the line is tested, and how that stands.
    pub(crate) fn course(&self) -> (PublicKey, Course) {
        (self.key, lock(&self.state).clone())
    }
}

fn test(flags: &CommonFlags, key: &PublicKey) -> Result<Line, Failure> {
    let wanted = call_with(flags, key)?;
    let LinkMode::Meet(meet) = &wanted.config.shared.mode else {
        return Err(Failure::usage("the line can be tested to those who were introduced"));
    };
    let tested = net::linktest::run(&wanted.config.shared, Target::Named(meet))?;
    let (size, frame_rate) = asked(&wanted.source, &wanted.config);
    let (line, rate) = judged(&tested, size, frame_rate);
    if let Some(rate) = rate {
        // Above what somebody has written as the most, no configuration is taken.
        let most = Configuration::read(flags)?;
        let rate = if most.file.network.rate_max.is_some() { rate.min(most.config.rate_most) } else { rate };
        chosen::write(flags, "codec", "rate", flag(rate))?;
    }
    Ok(line)
}

/// Returns what is told of a line, and the rate to take; none: it carries no pictures.
fn judged(Tested { found, .. }: &Tested, size: FrameSize, frame_rate: FrameRate) -> (Line, Option<Bitrate>) {
    let Found { there, back } = found;
    let Measured { rtt, loss_loaded, usable, .. } = *there;
    let megabits = |rate: Bitrate| rate.as_bps() as f64 / 1e6;
    let choice = Some(recommended(usable, size, frame_rate)).filter(|choice| choice.rate.as_bps() > 0);
    // Whoever takes a larger picture later shall not be held to what a small one needs.
    let half = choices(usable, size, frame_rate)[1].rate.min(Bitrate::from_bps(USUAL_BPS));
    let pictures = match choice.map(|choice| choice.psnr.middle) {
        None => "line-none",
        Some(db) if db >= FINE_DB => "line-fine",
        Some(db) if db >= GOOD_DB => "line-good",
        Some(_) => "line-coarse",
    };
    let round_trip_ms = rtt.p50 as f64 / 1e3;
    let playing = match round_trip_ms {
        ms if ms <= TOGETHER_MS => "line-together",
        ms if ms <= PRACTICE_MS => "line-practice",
        _ => "line-far",
    };
    let line = Line {
        there: megabits(usable),
        back: back.as_ref().map(|back| megabits(back.usable)),
        round_trip_ms,
        lost_percent: 100.0 * loss_loaded,
        verdicts: [pictures, playing],
    };
    (line, choice.map(|choice| choice.rate.max(half)))
}

/// Writes a rate as the configuration takes it.
fn flag(rate: Bitrate) -> String {
    format!("{}k", rate.as_bps() / 1000)
}

#[cfg(test)]
mod tests {
    use common::config::Peer;
    use common::path::ways::Kind;
    use common::percentiles::Percentiles;

    use super::*;

    fn line(bps: u64, rtt_us: u64) -> (Line, Option<Bitrate>) {
        line_for(FrameSize::USUAL, bps, rtt_us)
    }

    fn line_for(size: FrameSize, bps: u64, rtt_us: u64) -> (Line, Option<Bitrate>) {
        let rtt = Percentiles { p50: rtt_us, p95: rtt_us, p99: rtt_us, ..Percentiles::default() };
        let usable = Bitrate::from_bps(bps);
        let there = Measured { rtt, rtt_loaded: rtt, loss: 0.0, loss_loaded: 0.01, usable, at_least: false };
        let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap();
        let tested = Tested {
            peer: Peer { name: "Clara".to_owned(), key },
            way: (Kind::Mapped, "203.0.113.5:4820".parse().unwrap()),
            found: Found { there, back: None },
        };
        judged(&tested, size, FrameRate::USUAL)
    }

    #[test]
    fn a_line_is_told_in_words_and_calls_take_what_it_carries() {
        for (bps, rtt_us, verdicts, rate) in [
            (60_000_000, 12_000, ["line-fine", "line-together"], Some("30000k")),
            (12_000_000, 60_000, ["line-good", "line-practice"], Some("6000k")),
            (1_500_000, 200_000, ["line-coarse", "line-far"], Some("750k")),
            (0, 20_000, ["line-none", "line-together"], None),
        ] {
            let (line, found) = line(bps, rtt_us);
            assert_eq!((line.verdicts, found.map(flag).as_deref()), (verdicts, rate), "{bps}");
            assert_eq!((line.there, line.back, line.lost_percent), (bps as f64 / 1e6, None, 1.0));
            assert!(rate.is_none_or(|rate| rate.parse() == Ok(found.unwrap())));
        }
        // A small picture needs little, and whoever takes a camera later needs more.
        let small = FrameSize::new(320, 180).unwrap();
        for (bps, rate) in [(180_000_000, "20000k"), (10_000_000, "5000k")] {
            assert_eq!(line_for(small, bps, 5_000).1.map(flag).as_deref(), Some(rate));
        }
    }
}
