//! A common click: both sides render it from one tempo and the shared clock, so that both hear a beat at the same instant.

use std::f64::consts::TAU;

use crate::RATE_HZ;

/// Slowest and fastest tempo, beats a minute.
pub const BPM: (f64, f64) = (20.0, 400.0);
/// Most beats of a bar, and most bars of a count-in.
pub const BEATS_MAX: u8 = 16;
/// Time in which a click falls by 60 dB, us; it ends there.
const LENGTH_US: f64 = 60_000.0;
/// A beat that is this late when it is looked at is left out, us.
const LATE_US: f64 = 20_000.0;
const FRAME_US: f64 = 1e6 / RATE_HZ as f64;

/// A tempo, as either side sets it for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tempo {
    bpm: f64,
    beats: u8,
    count_in_bars: u8,
    goes_on: bool,
    start_us: u64,
}

/// A tempo that nobody can play to.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a click has {least} to {most} beats a minute, bars of 1 to {BEATS_MAX} beats and at most {BEATS_MAX} bars of count-in", least = BPM.0, most = BPM.1)]
pub struct BadTempo;

impl Tempo {
    /// Creates a tempo of `bpm` in bars of `beats`. The first bar after `count_in_bars` begins at `start_us` of the shared clock; `goes_on`:
    /// the click is heard after the count-in, too.
    pub fn new(bpm: f64, beats: u8, count_in_bars: u8, goes_on: bool, start_us: u64) -> Result<Self, BadTempo> {
        let is_good = (BPM.0..=BPM.1).contains(&bpm) && (1..=BEATS_MAX).contains(&beats) && count_in_bars <= BEATS_MAX;
        is_good.then_some(Self { bpm, beats, count_in_bars, goes_on, start_us }).ok_or(BadTempo)
    }

    /// Returns true if another is the same but for its start, which is less than `us` apart.
    pub fn is_near(&self, other: &Self, us: u64) -> bool {
        *self == Self { start_us: self.start_us, ..*other } && self.start_us.abs_diff(other.start_us) < us
    }

    /// Returns the time of a beat, counted from the first after the count-in, from its start, us.
    fn beat_us(&self, beat: i64) -> f64 {
        beat as f64 * 60e6 / self.bpm
    }

    /// Returns how a beat sounds; none: not at all.
    fn sound(&self, beat: i64) -> Option<(f64, f64)> {
        let is_first = beat.rem_euclid(i64::from(self.beats)) == 0;
        let count_in = i64::from(self.count_in_bars) * i64::from(self.beats);
        let is_heard = beat >= -count_in && (beat < 0 || self.goes_on);
        is_heard.then_some(match (beat < 0, is_first) {
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
        let first = ((from_start - LATE_US) * tempo.bpm / 60e6).ceil();
        let beat = self.next.max(first.clamp(-1e15, 1e15) as i64);
        let at = (tempo.beat_us(beat) - from_start) / FRAME_US;
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
        click.set(Some(Tempo::new(120.0, 3, 1, true, 5_000_000).unwrap()));
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
        let tempo = Tempo::new(97.3, 4, 0, true, 1_000_000_000).unwrap();
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
        let tempo = |start_us| Tempo::new(120.0, 4, 0, true, start_us).ok();
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
        click.set(Some(Tempo::new(60.0, 2, 1, false, 2_000_000).unwrap()));
        assert_eq!(heard(&mut click, 0, 5, 128).len(), 2);
        click.set(None);
        click.set(Some(Tempo::new(60.0, 2, 0, true, 0).unwrap()));
        let mut out = [0.0; 480];
        click.add(&mut out, 1, 999_000);
        let begun = out.iter().position(|sample| *sample != 0.0);
        click.add(&mut out, 1, 998_000);
        // The click goes on, and does not begin anew.
        assert!(begun.is_some() && click.voice.is_some_and(|voice| voice.since_us > 18_000.0), "{click:?}");
        // What is long past is not made up for.
        let mut late = Click::default();
        late.set(Some(Tempo::new(60.0, 2, 0, true, 0).unwrap()));
        assert_eq!(heard(&mut late, 500_000, 1, 128).len(), 1);
    }

    #[test]
    fn no_tempo_and_no_time_breaks_it() {
        for (bpm, beats, bars) in
            [(0.0, 4, 1), (f64::NAN, 4, 1), (f64::INFINITY, 4, 1), (120.0, 0, 1), (120.0, 17, 1), (120.0, 4, 17)]
        {
            assert_eq!(Tempo::new(bpm, beats, bars, true, 0), Err(BadTempo));
        }
        let mut click = Click::default();
        for (start, now) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
            click.set(Some(Tempo::new(400.0, 16, 16, true, start).unwrap()));
            let mut out = [0.0; 100];
            click.add(&mut out, 2, now);
            click.add(&mut [], 0, now);
            assert!(out.iter().all(|sample| sample.abs() <= 1.0));
        }
    }
}
