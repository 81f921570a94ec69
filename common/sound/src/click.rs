//! A common click: both sides render it from one tempo and the shared clock, so that both hear a beat at the same instant.

use std::f64::consts::TAU;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::RATE_HZ;

/// Least and most beats a minute, thousandths.
const MBPM: RangeInclusive<u32> = 20_000..=400_000;
/// Least and most beats of a bar.
const BEATS: RangeInclusive<u8> = 1..=16;
/// Time in which a click falls by 60 dB, us; it ends there.
const LENGTH_US: f64 = 60_000.0;
/// A beat that is this late when it is looked at is left out, us.
const LATE_US: f64 = 20_000.0;
const FRAME_US: f64 = 1e6 / RATE_HZ as f64;

/// Tempo and bar, which somebody can play to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metre {
    mbpm: u32,
    beats: u8,
}

impl Default for Metre {
    fn default() -> Self {
        Self { mbpm: 120_000, beats: 4 }
    }
}

/// A tempo that nobody can play to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a click has {} to {} beats a minute, and {} to {} to a bar: 120, or 90/3", MBPM.start() / 1000, MBPM.end() / 1000, BEATS.start(), BEATS.end())]
pub struct BadMetre;

impl Metre {
    /// Creates one of so many thousandths of beats a minute (20,000 to 400,000), in bars of `beats` (1 to 16).
    pub fn new(mbpm: u32, beats: u8) -> Result<Self, BadMetre> {
        (MBPM.contains(&mbpm) && BEATS.contains(&beats)).then_some(Self { mbpm, beats }).ok_or(BadMetre)
    }

    /// Returns thousandths of beats a minute.
    pub fn mbpm(self) -> u32 {
        self.mbpm
    }

    /// Returns the beats of a bar, of which the first is accented.
    pub fn beats(self) -> u8 {
        self.beats
    }

    /// Returns the time from a bar's beginning to the next one's, us.
    pub fn bar_us(self) -> u64 {
        self.time_us(self.beats.into()) as u64
    }

    /// Returns the time of so many beats, us.
    fn time_us(self, beats: i64) -> f64 {
        beats as f64 * 60e9 / f64::from(self.mbpm)
    }
}

/// From `TEMPO` or `TEMPO/BEATS`: `90`, `97.5/3`.
impl FromStr for Metre {
    type Err = BadMetre;

    fn from_str(text: &str) -> Result<Self, BadMetre> {
        let (tempo, beats) =
            text.split_once('/').map_or((text, Ok(Self::default().beats)), |(tempo, beats)| (tempo, beats.parse()));
        let mbpm = (tempo.parse::<f64>().map_err(|_| BadMetre)? * 1e3).round();
        // What is no number becomes 0, and what is too much the most that there is.
        Self::new(mbpm as u32, beats.map_err(|_| BadMetre)?)
    }
}

impl fmt::Display for Metre {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} beats a minute, {} to a bar", f64::from(self.mbpm) / 1e3, self.beats)
    }
}

/// A click in time, as either side sets it for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tempo {
    /// Tempo and bar.
    pub metre: Metre,
    /// Bars that are counted in before the first.
    pub count_in_bars: u8,
    /// True if the click is heard after the count-in, too.
    pub goes_on: bool,
    /// Begin of the first bar after the count-in, us: of the clock of the machine that says it, or of the one that renders it.
    pub start_us: u64,
}

impl Tempo {
    /// Returns the time of the first click, us.
    pub fn begin_us(&self) -> u64 {
        self.start_us.saturating_sub(u64::from(self.count_in_bars) * self.metre.bar_us())
    }

    /// Returns true if another is the same but for its start, which is less than `us` apart.
    pub fn is_near(&self, other: &Self, us: u64) -> bool {
        *self == Self { start_us: self.start_us, ..*other } && self.start_us.abs_diff(other.start_us) < us
    }

    /// Returns how a beat, counted from the first after the count-in, sounds; none: not at all.
    fn sound(&self, beat: i64) -> Option<(f64, f64)> {
        let bar = i64::from(self.metre.beats);
        let is_heard = beat >= -bar * i64::from(self.count_in_bars) && (beat < 0 || self.goes_on);
        is_heard.then_some(match (beat < 0, beat.rem_euclid(bar) == 0) {
            (true, true) => (1976.0, 0.35),
            (true, false) => (1976.0, 0.2),
            (false, true) => (1568.0, 0.35),
            (false, false) => (1047.0, 0.2),
        })
    }
}

/// Renders the click. It neither allocates nor waits.
#[derive(Clone, Debug, Default)]
pub struct Click {
    tempo: Option<Tempo>,
    /// Beats before this one have been heard or are past.
    next: i64,
    voice: Option<Voice>,
}

/// A click that sounds.
#[derive(Clone, Copy, Debug)]
struct Voice {
    since_us: f64,
    hz: f64,
    loudness: f64,
}

impl Click {
    /// Sets the tempo; none: no click. One that sounds fades out by itself.
    pub fn set(&mut self, tempo: Option<Tempo>) {
        // One whose start has moved by a little, since two clocks are not quite alike, is the same: no beat is heard twice.
        let is_same = self.tempo.zip(tempo).is_some_and(|(own, new)| own.is_near(&new, LATE_US as u64));
        if !is_same {
            self.next = i64::MIN;
        }
        self.tempo = tempo;
    }

    /// Adds the click to `out`, interleaved, whose first frame leaves at `first_us` of the shared clock.
    pub fn add(&mut self, out: &mut [f32], channels: usize, first_us: u64) {
        let frames = out.chunks_exact_mut(channels.max(1));
        let mut onset = self.tempo.and_then(|tempo| self.onset(&tempo, first_us, frames.len()));
        for (index, frame) in frames.enumerate() {
            if let Some((at, voice)) = onset
                && index as f64 >= at
            {
                self.voice = Some(Voice { since_us: (index as f64 - at) * FRAME_US, ..voice });
                onset = None;
            }
            let Some(voice) = &mut self.voice else { continue };
            let decay = (-6.9 * voice.since_us / LENGTH_US).exp();
            // From nothing within a quarter of a millisecond.
            let attack = (voice.since_us / 250.0).min(1.0);
            let sample = voice.loudness * attack * decay * (TAU * voice.hz * voice.since_us / 1e6).sin();
            frame.iter_mut().for_each(|out| *out += sample as f32);
            voice.since_us += FRAME_US;
            if voice.since_us > LENGTH_US {
                self.voice = None;
            }
        }
    }

    /// Returns the beat that begins in the next `frames`, with the frame, in parts of one. There is at most one in so short a time; of
    /// several the first is heard.
    fn onset(&mut self, tempo: &Tempo, first_us: u64, frames: usize) -> Option<(f64, Voice)> {
        // Clocks that begin anew are far apart, and a difference of them exact enough.
        let from_start = first_us as f64 - tempo.start_us as f64;
        let first = ((from_start - LATE_US) / tempo.metre.time_us(1)).ceil();
        let beat = self.next.max(first.clamp(-1e15, 1e15) as i64);
        let at = (tempo.metre.time_us(beat) - from_start) / FRAME_US;
        if at >= frames as f64 {
            return None;
        }
        self.next = beat + 1;
        let (hz, loudness) = tempo.sound(beat)?;
        Some((at.max(0.0), Voice { since_us: 0.0, hz, loudness }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tempo(mbpm: u32, beats: u8, count_in_bars: u8, goes_on: bool, start_us: u64) -> Tempo {
        Tempo { metre: Metre::new(mbpm, beats).unwrap(), count_in_bars, goes_on, start_us }
    }

    /// Renders two seconds and more from `from_us` in blocks, and returns the frames at which clicks begin and their greatest sample.
    fn heard(click: &mut Click, from_us: u64, seconds: usize, block: usize) -> Vec<(usize, f32)> {
        let mut all = vec![0.0_f32; seconds * 48_000];
        for (index, out) in all.chunks_mut(block).enumerate() {
            click.add(out, 1, from_us + (index * block) as u64 * 1_000_000 / 48_000);
        }
        let (mut found, mut quiet): (Vec<(usize, f32)>, usize) = (Vec::new(), usize::MAX);
        for (frame, &sample) in all.iter().enumerate() {
            match (sample.abs() > 1e-4, found.last_mut()) {
                (false, _) => quiet = quiet.saturating_add(1),
                (true, Some(last)) if quiet < 1000 => (last.1, quiet) = (last.1.max(sample.abs()), 0),
                (true, _) => {
                    found.push((frame, sample.abs()));
                    quiet = 0;
                }
            }
        }
        found
    }

    #[test]
    fn beats_come_in_time_with_accents_after_a_count_in() {
        let mut click = Click::default();
        click.set(Some(tempo(120_000, 3, 1, true, 5_000_000)));
        let found = heard(&mut click, 3_000_000, 5, 64);
        // The count-in from 3.5 s, the first bar from 5 s.
        let expected: Vec<usize> = (0..9).map(|beat| 24_000 + beat * 24_000).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (beat, ((frame, peak), expected)) in found.iter().zip(expected).enumerate() {
            assert!((expected..expected + 8).contains(frame), "beat {beat}: {frame}, not {expected}");
            assert_eq!(*peak > 0.25, beat % 3 == 0, "beat {beat}: {peak}");
        }
    }

    /// Two sides with other blocks, which begin at other times, hear the same instants.
    #[test]
    fn both_sides_hear_the_same_instant() {
        let tempo = tempo(97_300, 4, 0, true, 1_000_000_000);
        let [mut here, mut there] = [(); 2].map(|()| Click::default());
        here.set(Some(tempo));
        there.set(Some(tempo));
        let here = heard(&mut here, 1_000_900_000, 10, 64);
        let there = heard(&mut there, 1_001_000_007, 9, 1000);
        let there: Vec<_> = there.iter().map(|(frame, _)| frame + 4800).collect();
        let here: Vec<_> = here.iter().map(|(frame, _)| *frame).filter(|frame| there[0] < frame + 100).collect();
        assert!(here.len() >= 14, "{here:?}");
        for (a, b) in here.iter().zip(&there) {
            assert!(a.abs_diff(*b) <= 1, "{a}, {b}");
        }
    }

    #[test]
    fn a_start_that_moves_by_a_millisecond_repeats_no_beat() {
        let tempo = |start_us| Some(tempo(120_000, 4, 0, true, start_us));
        let mut click = Click::default();
        click.set(tempo(1_000_000));
        assert_eq!(heard(&mut click, 1_000_000 - 5_000, 1, 128).len(), 2);
        // Ten milliseconds after a beat.
        let mut before = vec![0.0; 480 + 240];
        click.set(tempo(1_000_000));
        click.add(&mut before, 1, 2_000_000 - 5_000);
        click.set(tempo(1_001_000));
        let after = heard(&mut click, 2_010_000, 1, 128);
        // What sounded fades out; the next two beats are half a second and a second later.
        assert!(after.len() == 3 && after[0].1 < 0.1, "the bar's first beat again: {after:?}");
        assert!(
            [24_000, 48_000].iter().zip(&after[1..]).all(|(at, beat)| beat.0.abs_diff(at - 480) < 100),
            "{after:?}"
        );
    }

    #[test]
    fn a_count_in_ends_and_a_clock_that_steps_repeats_no_beat() {
        let mut click = Click::default();
        click.set(Some(tempo(60_000, 2, 1, false, 2_000_000)));
        assert_eq!(heard(&mut click, 0, 5, 128).len(), 2);
        click.set(None);
        click.set(Some(tempo(60_000, 2, 0, true, 0)));
        let mut out = [0.0; 480];
        click.add(&mut out, 1, 999_000);
        let begun = out.iter().position(|sample| *sample != 0.0);
        click.add(&mut out, 1, 998_000);
        // The click goes on, and does not begin anew.
        assert!(begun.is_some() && click.voice.is_some_and(|voice| voice.since_us > 18_000.0), "{click:?}");
        // What is long past is not made up for.
        let mut late = Click::default();
        late.set(Some(tempo(60_000, 2, 0, true, 0)));
        assert_eq!(heard(&mut late, 500_000, 1, 128).len(), 1);
    }

    /// A count-in alone is heard by both in the same bar, and nothing after it.
    #[test]
    fn a_bar_that_is_counted_in_begins_a_bar_before_the_start() {
        for bars in [0, 1, 2] {
            let mut click = Click::default();
            click.set(Some(tempo(120_000, 3, bars, true, 10_000_000)));
            assert_eq!(
                heard(&mut click, 5_000_000, 6, 64).len(),
                3 * usize::from(bars) + 2,
                "{bars} bars, and a second"
            );
        }
        let counted = tempo(90_000, 3, 1, false, 10_000_000);
        assert_eq!((counted.begin_us(), Tempo { start_us: 5, ..counted }.begin_us()), (8_000_000, 0));
        let mut click = Click::default();
        click.set(Some(counted));
        let found = heard(&mut click, 7_000_000, 8, 128);
        let expected = [48_000, 80_000, 112_000];
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().zip(expected).all(|((frame, _), at)| frame.abs_diff(at) < 8), "{found:?}");
    }

    #[test]
    fn no_tempo_and_no_time_breaks_it() {
        for (mbpm, beats) in [(0, 4), (19_999, 4), (400_001, 4), (u32::MAX, 4), (120_000, 0), (120_000, 17)] {
            assert_eq!(Metre::new(mbpm, beats), Err(BadMetre));
        }
        for text in ["", "a", "nan", "inf", "-120", "19", "401", "120/", "120/0", "120/17", "120/4/4", "1e99"] {
            assert_eq!(text.parse::<Metre>(), Err(BadMetre), "{text}");
        }
        assert_eq!(BadMetre.to_string(), "a click has 20 to 400 beats a minute, and 1 to 16 to a bar: 120, or 90/3");
        let said = ["97.5/3", "90"].map(|text| text.parse::<Metre>().unwrap().to_string());
        assert_eq!(said, ["97.5 beats a minute, 3 to a bar", "90 beats a minute, 4 to a bar"]);
        let mut click = Click::default();
        for (start, now) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
            click.set(Some(tempo(400_000, 16, u8::MAX, true, start)));
            let mut out = [0.0; 100];
            click.add(&mut out, 2, now);
            click.add(&mut [], 0, now);
            assert!(out.iter().all(|sample| sample.abs() <= 1.0));
        }
    }
}
