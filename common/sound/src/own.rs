//! Practice delay: one's own sound comes as late as the other side's. What both play at the same instant of the shared clock both hear
//! together, so both hear the same mix and can keep a beat over a long line.

use rtrb::{Consumer, Producer, RingBuffer};

use crate::RATE_HZ;
use crate::format::Channels;

/// Greatest delay, us.
pub const DELAY_US_MAX: u32 = 900_000;
/// Frames that are kept.
const KEPT: u64 = RATE_HZ as u64;
/// Frames that wait for the callback that plays.
const WAITING: usize = RATE_HZ as usize / 2;
/// Periods that wait.
const PERIODS: usize = 1024;
/// Frames of both sides that wait for who looks for echoes.
const PAIRS: usize = RATE_HZ as usize;
/// Frames by which what is captured may be ahead of what is played before some of it is left out: they are to stand beside each other.
const BEHIND: u64 = 2048;
/// Frames in which one place fades into another, and sound begins and ends.
const FADE: u32 = 960;
/// Frames by which a place may be wrong before it is left: two cards' clocks drift apart, and the other's delay changes by little all
/// the time.
const TOLERANCE: u64 = 96;
const FRAME_US: f64 = 1e6 / RATE_HZ as f64;

/// Period that was captured.
#[derive(Clone, Copy, Debug)]
struct Period {
    frames: usize,
    /// Time of its first frame in the air, us.
    first_us: u64,
}

/// The end of the callback that captures.
#[derive(Debug)]
pub struct Captured {
    periods: Producer<Period>,
    samples: Producer<f32>,
    channels: usize,
}

/// The end of the callback that plays.
#[derive(Debug)]
pub struct Own {
    periods: Consumer<Period>,
    samples: Consumer<f32>,
    channels: usize,
    kept: Box<[f32]>,
    /// Frames that have been captured, and when the next one is in the air, us.
    count: u64,
    count_us: f64,
    /// Frame that is played next.
    at: u64,
    /// Frame that it takes the place of, and the frames in which it has done so.
    left: Option<(u64, u32)>,
    /// Frames of the fade from silence.
    risen: u32,
    pairs: Producer<Pair>,
    /// Frame that is paired next.
    paired: u64,
}

/// Sound that was played of the other side and captured at once, a channel of each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// The other side's sound as it is heard here.
    pub other: f32,
    /// The own one.
    pub own: f32,
}

/// Returns the way of one's own sound from a card's capture of so many channels to its playback, and both sides' sound for who looks for
/// echoes.
pub fn new(channels: Channels) -> (Captured, Own, Consumer<Pair>) {
    let channels = channels.count();
    let (periods, periods_end) = RingBuffer::new(PERIODS);
    let (samples, samples_end) = RingBuffer::new(WAITING * channels);
    let (pairs, pairs_end) = RingBuffer::new(PAIRS);
    let own = Own {
        periods: periods_end,
        samples: samples_end,
        channels,
        kept: vec![0.0; KEPT as usize * channels].into_boxed_slice(),
        count: 0,
        count_us: 0.0,
        at: 0,
        left: None,
        risen: 0,
        pairs,
        paired: 0,
    };
    (Captured { periods, samples, channels }, own, pairs_end)
}

impl Captured {
    /// Takes a period, interleaved, whose first frame was in the air at `first_us`. One for which there is no room is lost whole.
    pub fn push(&mut self, samples: &[f32], first_us: u64) {
        if self.periods.slots() > 0 && self.samples.slots() >= samples.len() {
            let _ = self.samples.push_partial_slice(samples);
            let _ = self.periods.push(Period { frames: samples.len() / self.channels, first_us });
        }
    }
}

impl Own {
    /// Adds what was captured `delay_us` before to `out`, interleaved, the other side's sound, whose first frame is in the air at `first_us`; none: nothing.
    pub fn add(&mut self, out: &mut [f32], channels: usize, first_us: u64, delay_us: Option<u32>) {
        self.take();
        self.pair(out, channels.max(1));
        if delay_us.is_none() && self.risen == 0 {
            return;
        }
        let frames = out.len() / channels.max(1);
        if let Some(delay_us) = delay_us
            && !self.follow(first_us as f64 - f64::from(delay_us.min(DELAY_US_MAX)), frames as u64)
        {
            return;
        }
        for frame in out.chunks_exact_mut(channels.max(1)) {
            self.risen = if delay_us.is_some() { (self.risen + 1).min(FADE) } else { self.risen.saturating_sub(1) };
            let loudness = self.risen as f32 / FADE as f32;
            for (channel, out) in frame.iter_mut().enumerate() {
                let mut sample = self.sample(self.at, channel);
                if let Some((left, faded)) = self.left {
                    let before = self.sample(left, channel);
                    sample = before + (sample - before) * faded as f32 / FADE as f32;
                }
                *out += loudness * sample;
            }
            self.at += 1;
            self.left = self.left.map(|(left, faded)| (left + 1, faded + 1)).filter(|(_, faded)| *faded < FADE);
        }
    }

    /// Gives both sides' sound away; where nobody takes it, it is lost.
    fn pair(&mut self, out: &[f32], channels: usize) {
        let frames = (out.len() / channels) as u64;
        if self.paired + frames > self.count || self.count - self.paired > frames + BEHIND {
            self.paired = self.count.saturating_sub(frames);
        }
        for frame in out.chunks_exact(channels) {
            let pair = Pair { other: frame[0], own: self.sample(self.paired, 0) };
            self.paired += 1;
            let _ = self.pairs.push(pair);
        }
    }

    /// Goes to where the sound of that time is, unless it is near already. Returns false while it has not been captured: nothing begins
    /// before.
    fn follow(&mut self, wanted_us: f64, frames: u64) -> bool {
        let back = ((self.count_us - wanted_us) / FRAME_US).round().clamp(0.0, (KEPT - u64::from(FADE)) as f64) as u64;
        // What the card has not captured yet cannot be played.
        let wanted = self.count.checked_sub(back.max(frames));
        if self.risen == 0 {
            (self.at, self.left) = (wanted.unwrap_or_default(), None);
            return wanted.is_some();
        }
        let wanted = wanted.unwrap_or_default();
        if self.left.is_none() && (self.at.abs_diff(wanted) > TOLERANCE || self.at + frames > self.count) {
            (self.at, self.left) = (wanted, Some((self.at, 0)));
        }
        true
    }

    fn take(&mut self) {
        while let Ok(Period { frames, first_us }) = self.periods.pop() {
            for _ in 0..frames {
                let place = (self.count % KEPT) as usize * self.channels;
                // Samples come before their period.
                self.kept[place..][..self.channels].fill_with(|| self.samples.pop().unwrap_or_default());
                self.count += 1;
            }
            self.count_us = first_us as f64 + frames as f64 * FRAME_US;
        }
    }

    /// Returns a captured sample; silence of a frame that is not there. One channel is heard on all.
    fn sample(&self, frame: u64, channel: usize) -> f32 {
        let is_there = frame < self.count && self.count - frame <= KEPT;
        let sample = self.kept[(frame % KEPT) as usize * self.channels + channel.min(self.channels - 1)];
        if is_there && sample.is_finite() { sample } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card in virtual time: what it captures and plays has periods of their own.
    struct Card {
        captured: Captured,
        own: Own,
        frame: u64,
        /// Captured frames in a second of its own clock, beyond those that are played.
        drift_ppm: f64,
        pushed: u64,
    }

    const START_US: f64 = 7e9;

    impl Card {
        fn new(channels: Channels, drift_ppm: f64) -> Self {
            let (captured, own, _) = new(channels);
            Self { captured, own, frame: 0, drift_ppm, pushed: 0 }
        }

        /// Returns what is played in the next period of so many frames, one channel. `sound`: what is in the air, by time in frames.
        fn period(&mut self, frames: usize, delay_us: Option<u32>, sound: impl Fn(f64) -> f32) -> Vec<f32> {
            let now = self.frame as f64;
            let rate = 1.0 + self.drift_ppm / 1e6;
            let until = (now * rate) as u64;
            while self.pushed + 64 <= until {
                let at = |index: u64| index as f64 / rate;
                let channels = self.captured.channels;
                let samples: Vec<f32> =
                    (0..64 * channels as u64).map(|sample| sound(at(self.pushed + sample / channels as u64))).collect();
                self.captured.push(&samples, (START_US + at(self.pushed) * FRAME_US) as u64);
                self.pushed += 64;
            }
            let mut out = vec![0.0; frames];
            self.own.add(&mut out, 1, (START_US + now * FRAME_US) as u64, delay_us);
            self.frame += frames as u64;
            out
        }
    }

    fn sine(frame: f64) -> f32 {
        (frame * 0.05).sin() as f32
    }

    #[test]
    fn the_delay_is_that_which_was_asked_for() {
        for channels in [Channels::Mono, Channels::Stereo] {
            for (block, delay) in [(64, 960_u32), (100, 1920), (256, 14_400), (1024, 43_200)] {
                let mut card = Card::new(channels, 0.0);
                let delay_us = (f64::from(delay) * FRAME_US).round() as u32;
                let ramp = |frame: f64| frame as f32 / 1e6;
                let mut heard = Vec::new();
                while heard.len() < 100_000 {
                    heard.extend(card.period(block, Some(delay_us), ramp));
                }
                for (frame, sample) in heard.iter().enumerate().skip(60_000) {
                    assert!((sample * 1e6 - (frame as f32 - delay as f32)).abs() <= 2.0, "{delay}: {frame} {sample}");
                }
            }
        }
    }

    /// Two who play at the same instants hear each beat of both at once, on each side, whatever the line takes in either direction.
    #[test]
    fn both_hear_the_same_mix() {
        for (there_us, back_us) in [(40_000_u32, 40_000_u32), (25_000, 90_000)] {
            let mixes = [there_us, back_us].map(|ear_us| {
                let mut card = Card::new(Channels::Mono, 0.0);
                let click = |frame: f64| if frame.rem_euclid(24_000.0) < 40.0 { 0.5 } else { 0.0 };
                let later = f64::from(ear_us) / FRAME_US;
                let mut sum = Vec::new();
                while sum.len() < 200_000 {
                    let begin = sum.len();
                    let own = card.period(128, Some(ear_us), click);
                    sum.extend(own.iter().enumerate().map(|(i, own)| own + click((begin + i) as f64 - later)));
                }
                // From the instant that is heard first on both sides.
                sum.split_off(48_000 + later.round() as usize)
            });
            let differ = mixes[0].iter().zip(&mixes[1]).take(140_000).filter(|(a, b)| (*a - *b).abs() > 0.01).count();
            let loud = mixes[0].iter().take(140_000).filter(|sample| **sample > 0.9).count();
            // A frame of rounding at either end of a beat.
            assert!(differ <= 6 * 4 && loud > 5 * 36, "{there_us}, {back_us}: {differ}, {loud}");
        }
    }

    #[test]
    fn changes_and_ends_and_two_clocks_do_not_click() {
        let mut card = Card::new(Channels::Mono, 100.0);
        let (mut last, mut moved) = (0.0, 0);
        for block in 0..120_000_usize {
            let delay_us = match block / 1000 % 4 {
                3 => None,
                other => Some(10_000 + 7_919 * (other as u32) * (block as u32 / 4000 % 9)),
            };
            let before = card.own.left;
            for sample in card.period(64, delay_us, sine) {
                assert!((sample - last).abs() < 0.05 + 3.0 / FADE as f32, "block {block}: {last} to {sample}");
                last = sample;
            }
            moved += usize::from(before.is_none() && card.own.left.is_some());
        }
        assert!(moved > 50, "{moved}");
    }

    /// Twenty minutes of two cards whose clocks differ: the delay stays right, and the place changes only as often as they part.
    #[test]
    fn two_clocks_are_followed() {
        for drift_ppm in [-200.0, 200.0] {
            let mut card = Card::new(Channels::Mono, drift_ppm);
            let mut changes = 0;
            for _ in 0..1_200 * 48_000 / 1024 {
                let before = card.own.at;
                card.period(1024, Some(50_000), |_| 0.0);
                changes += usize::from(card.own.at != before + 1024);
                if card.frame < 48_000 {
                    continue;
                }
                let back_us = card.own.count_us - (card.own.count - card.own.at) as f64 * FRAME_US;
                let delay_us = START_US + card.frame as f64 * FRAME_US - back_us;
                assert!((delay_us - 50_000.0).abs() < 2_200.0, "{delay_us}");
            }
            // A quarter of a second of drift, in steps of 2 ms.
            assert!((100..140).contains(&changes), "{changes}");
        }
    }

    /// Sound that is captured while another is played stands beside it, also after a half of the card has stood still.
    #[test]
    fn both_sides_are_paired_by_time() {
        let (mut captured, mut own, mut pairs) = new(Channels::Mono);
        let mut frame = 0_u64;
        for period in 0..3000 {
            let sound: Vec<f32> = (frame..frame + 64).map(|frame| frame as f32 / 1e6).collect();
            if !(500..600).contains(&period) {
                captured.push(&sound, frame * 1_000_000 / 48_000);
            }
            if !(1000..1100).contains(&period) {
                own.add(&mut sound.clone(), 1, 0, None);
            }
            frame += 64;
            while let Ok(pair) = pairs.pop() {
                let apart = 1e6 * (pair.other - pair.own);
                assert!((500..600).contains(&period) || apart.abs() < 1.0, "{period}: {apart} frames");
            }
        }
    }

    #[test]
    fn no_time_and_no_sample_breaks_it() {
        let (mut captured, mut own, mut pairs) = new(Channels::Stereo);
        for (first_us, now_us) in [(0, u64::MAX), (u64::MAX, 0), (5, 5)] {
            for delay_us in [None, Some(0), Some(u32::MAX)] {
                captured.push(&[f32::NAN, f32::INFINITY, 0.5], first_us);
                let mut out = [0.0; 99];
                own.add(&mut out, 2, now_us, delay_us);
                own.add(&mut [], 0, now_us, delay_us);
                assert!(out.iter().all(|sample| sample.abs() <= 0.5));
            }
        }
        assert!(pairs.read_chunk(pairs.slots()).is_ok_and(|pairs| pairs.into_iter().all(|pair| pair.own.is_finite())));
        // Nobody plays: what finds no room is lost, and nothing else.
        (0..10_000).for_each(|_| captured.push(&[0.1; 128], 9));
    }
}
