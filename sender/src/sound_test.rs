//! `sound-test`: noise is played and captured again, through a cable or JACK's own ties: the card's round trip and its dropouts.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cards::{Capture, Card, CardInfo, CardSpec, Change, Halves, Playback, Wanted, open};
use net::failure::Failure;
use sound::format::Channels;
use sound::round_trip::{Found, LOUDNESS, Noise, Search};
use sound::{Cycle, RATE_HZ};

/// Time between two looks at what was captured.
const LOOK: Duration = Duration::from_millis(50);
/// Room for what is captured meanwhile, frames: a second.
const ROOM: usize = RATE_HZ as usize;

/// Wishes for a test.
#[derive(Clone, Debug)]
pub(crate) struct SoundTest {
    pub(crate) card: CardSpec,
    pub(crate) frames: u32,
    pub(crate) seconds: u64,
    /// JACK's ties instead of a cable.
    pub(crate) is_tied: bool,
}

/// Captures the first channel into a ring; what finds no room is lost.
struct Captured(rtrb::Producer<(u64, f32)>);

impl Capture for Captured {
    fn capture(&mut self, samples: &[f32], cycle: Cycle) {
        for (frame, &sample) in (cycle.frame..).zip(samples) {
            let _ = self.0.push((frame, sample));
        }
    }
}

struct Played(Noise);

impl Playback for Played {
    fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
        for (frame, sample) in (cycle.frame..).zip(samples) {
            *sample = self.0.at(frame);
        }
    }
}

/// Plays and captures, and prints what it found.
pub(crate) fn run(test: &SoundTest) -> Result<(), Failure> {
    let only_jack = || Failure::usage("only JACK ties a card's output to its input: leave --tied out and use a cable");
    if test.is_tied && matches!(test.card, CardSpec::Alsa(_)) {
        return Err(only_jack());
    }
    // Before it is heard.
    println!("noise of {:.0} dB for {} s: take headphones off", 20.0 * LOUDNESS.log10(), test.seconds);
    let (mut captured, mut card) = start(test)?;
    let info = card.info().clone();
    if test.is_tied && !card.tie_back() {
        return Err(only_jack());
    }
    println!("{info}");
    let mut search = Search::default();
    let (begin, limit) = (Instant::now(), Duration::from_secs(test.seconds));
    while begin.elapsed() < limit {
        sleep(LOOK);
        if let Some(Change::Gone(why)) = card.poll(begin.elapsed().as_micros() as u64) {
            return Err(Failure::device(format!("{}: {why}", info.name)));
        }
        // No more than there was: looking may take longer than playing.
        for (frame, sample) in (0..captured.slots()).map_while(|_| captured.pop().ok()) {
            search.push(frame, sample);
        }
    }
    print!("{}", report(&info, search.found(), card.xruns())?);
    Ok(())
}

fn start(test: &SoundTest) -> Result<(rtrb::Consumer<(u64, f32)>, Card), Failure> {
    let wanted = Wanted { frames: test.frames, capture: Some(Channels::Mono), playback: Some(Channels::Mono) };
    let mut taken = None;
    let mut make = |_: &CardInfo| {
        let (capture, captured) = rtrb::RingBuffer::new(ROOM);
        taken = Some(captured);
        Halves { capture: Some(Box::new(Captured(capture))), playback: Some(Box::new(Played(Noise::default()))) }
    };
    let card = open(&test.card, wanted, &mut make).map_err(|error| Failure::device(error.to_string()))?;
    let captured = taken.ok_or_else(|| Failure::device("the card has asked for nothing to play"))?;
    Ok((captured, card))
}

fn ms(frames: usize) -> f64 {
    frames as f64 * 1e3 / f64::from(RATE_HZ)
}

fn report(info: &CardInfo, found: Found, xruns: u64) -> Result<String, Failure> {
    let Some(frames) = found.frames else {
        return Err(Failure::device(format!(
            "{}: the noise has not come back: lead the first output into the first input by a cable and turn both up, or add --tied \
             with JACK",
            info.name
        )));
    };
    let mut text = String::new();
    let mut line = |name: &str, value: String| writeln!(text, "{name:<14}{value}").is_ok();
    line("round trip", format!("{frames} frames, {:.1} ms", ms(frames)));
    let seconds = found.heard as f64 / f64::from(RATE_HZ);
    line("dropouts", format!("{} in {seconds:.0} s; the driver counts {xruns} late periods", found.dropouts));
    line("came back", format!("{:+.1} dB, {:.0} % alike", 20.0 * found.gain.log10(), 100.0 * found.likeness));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use cards::Backend;

    use super::*;

    #[test]
    fn the_report_is_in_frames_and_milliseconds() {
        let info = CardInfo {
            backend: Backend::Alsa,
            name: "alsa:default".to_owned(),
            rate_hz: RATE_HZ,
            period_frames: 64,
            capture: None,
            playback: None,
            input_latency_frames: 0,
            output_latency_frames: 0,
        };
        let found = Found { frames: Some(192), likeness: 0.987, gain: 0.5, dropouts: 2, heard: 10 * 48_000 };
        assert_eq!(
            report(&info, found, 3).unwrap(),
            "round trip    192 frames, 4.0 ms\n\
             dropouts      2 in 10 s; the driver counts 3 late periods\n\
             came back     -6.0 dB, 99 % alike\n"
        );
        let failure = report(&info, Found::default(), 0).unwrap_err();
        assert!(failure.code() == 3 && failure.message.contains("by a cable"), "{failure}");
        assert_eq!(info.to_string(), "alsa:default, 48000 Hz, periods of 64 frames (1.3 ms)");
    }
}
