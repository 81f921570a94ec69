//! Headphones hint: what a loudspeaker plays is found again in what a microphone hears.
//!
//! Both are thinned out, made white (music of both sides in one key would be alike otherwise) and correlated. Only a delay that stays is an
//! echo: two who play the same notes never keep one to a quarter of a millisecond.

/// Frames that become one.
const THINNED: usize = 12;
/// Thinned frames that are looked at together: half a second.
const WINDOW: usize = 2000;
/// Coefficients of the filter that makes sound white.
const ORDER: usize = 24;
/// Least correlation of an echo: that of noise in so long a window stays below 0.1.
const LEAST: f32 = 0.13;
/// Windows in a row with one delay that make an echo, and without that end it.
const WINDOWS: u32 = 3;
/// Samples below this are silence: the noise of cards is no sound.
const SILENCE: f32 = 1e-4;

/// An echo that is heard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Returned {
    /// Frames from the played sound to its echo, to a thinned frame.
    pub delay_frames: usize,
    /// Correlation of the window that was looked at last, 0 to 1.
    pub likeness: f32,
}

/// Finds echoes. It works for some milliseconds each half second, so it belongs on a thread that may.
#[derive(Clone, Debug)]
pub struct Echo {
    lags: usize,
    /// Thinned sound: `lags` frames more of what was played than of what was heard.
    played: Vec<f32>,
    heard: Vec<f32>,
    sum: (f32, f32, usize),
    candidate: Option<(usize, u32)>,
    without: u32,
    found: Option<Returned>,
}

impl Echo {
    /// Creates a finder of echoes that come within `frames` of what is played.
    pub fn new(frames: usize) -> Self {
        let lags = (frames / THINNED).max(1);
        Self {
            lags,
            played: vec![0.0; lags],
            heard: Vec::with_capacity(WINDOW),
            sum: (0.0, 0.0, 0),
            candidate: None,
            without: 0,
            found: None,
        }
    }

    /// Returns the echo that is heard now.
    pub fn heard(&self) -> Option<Returned> {
        self.found
    }

    /// Takes what was played and heard in the same frames, one channel each.
    pub fn push(&mut self, played: &[f32], heard: &[f32]) {
        for (&played, &heard) in played.iter().zip(heard) {
            let finite = |sample: f32| if sample.is_finite() { sample } else { 0.0 };
            self.sum = (self.sum.0 + finite(played), self.sum.1 + finite(heard), self.sum.2 + 1);
            if self.sum.2 == THINNED {
                self.played.push(self.sum.0 / THINNED as f32);
                self.heard.push(self.sum.1 / THINNED as f32);
                self.sum = (0.0, 0.0, 0);
            }
            if self.heard.len() == WINDOW {
                self.look();
                self.played.drain(..WINDOW);
                self.heard.clear();
            }
        }
    }

    fn look(&mut self) {
        let best = self.likest();
        let is_near = |a: usize, b: usize| a.abs_diff(b) <= 1;
        match (best, self.candidate) {
            (Some((lag, likeness)), Some((before, count))) if is_near(lag, before) => {
                self.candidate = Some((lag, count + 1));
                if count + 1 >= WINDOWS {
                    self.found = Some(Returned { delay_frames: lag * THINNED, likeness });
                }
                self.without = 0;
            }
            (best, _) => {
                self.candidate = best.map(|(lag, _)| (lag, 1));
                self.without += 1;
                if self.without >= WINDOWS {
                    self.found = None;
                }
            }
        }
    }

    /// Returns the delay with the greatest likeness and that, if it is one.
    fn likest(&self) -> Option<(usize, f32)> {
        let loudest = |samples: &[f32]| samples.iter().fold(0.0_f32, |most, sample| most.max(sample.abs()));
        if loudest(&self.played) < SILENCE || loudest(&self.heard) < SILENCE {
            return None;
        }
        let played = white(&self.played);
        let heard = white(&self.heard);
        let energy = |samples: &[f32]| samples.iter().map(|sample| sample * sample).sum::<f32>();
        let own = energy(&heard);
        let mut best = (0, 0.0_f32);
        for lag in 0..self.lags {
            let before = &played[self.lags - lag..][..WINDOW];
            let sum: f32 = before.iter().zip(&heard).map(|(a, b)| a * b).sum();
            let likeness = sum.abs() / (own * energy(before)).sqrt().max(1e-12);
            if likeness > best.1 {
                best = (lag, likeness);
            }
        }
        (best.1 >= LEAST).then_some(best)
    }
}

/// Returns what linear prediction does not know of `samples`: sound of any colour becomes white.
fn white(samples: &[f32]) -> Vec<f32> {
    let mut lags = [0.0_f64; ORDER + 1];
    for (lag, sum) in lags.iter_mut().enumerate() {
        *sum = samples[lag..].iter().zip(samples).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    }
    // A little noise, so that pure tones are predicted and nothing more.
    lags[0] = lags[0] * (1.0 + 1e-5) + 1e-12;
    let (mut filter, mut error) = ([0.0_f64; ORDER + 1], lags[0]);
    filter[0] = 1.0;
    for order in 1..=ORDER {
        let sum: f64 = (0..order).map(|i| filter[i] * lags[order - i]).sum();
        let reflection = -sum / error;
        let before = filter;
        for i in 1..=order {
            filter[i] = before[i] + reflection * before[order - i];
        }
        error = (error * (1.0 - reflection * reflection)).max(1e-15);
    }
    let at = |index: usize| {
        filter.iter().take(index + 1).enumerate().map(|(i, a)| a * f64::from(samples[index - i])).sum::<f64>()
    };
    (0..samples.len()).map(|index| at(index) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers from -1 to 1.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
        }
    }

    /// Notes of one scale, one after another, with harmonics, a strike of noise and slightly other times: what a musician plays.
    fn music(seed: u64, seconds: usize, notes: &[f32]) -> Vec<f32> {
        let mut random = Random(seed);
        let mut all = Vec::new();
        let mut voices: Vec<(f32, f32)> = Vec::new();
        let mut left = 0;
        while all.len() < seconds * 48_000 {
            if left == 0 {
                left = 9_000 + (random.next() * 3000.0) as usize;
                let note = notes[(random.next().abs() * notes.len() as f32) as usize % notes.len()];
                voices.push((note * (1.0 + 0.002 * random.next()), 1.0));
            }
            left -= 1;
            let time = all.len() as f32 / 48_000.0;
            let mut sample = 0.0;
            for (hz, loudness) in &mut voices {
                let turn = (time * *hz).fract() * std::f32::consts::TAU;
                sample += 0.1
                    * *loudness
                    * (turn.sin() + 0.5 * (2.0 * turn).sin() + 0.3 * (3.0 * turn).sin() + 0.2 * random.next());
                *loudness *= 0.9999;
            }
            voices.retain(|(_, loudness)| *loudness > 0.01);
            all.push(sample);
        }
        all
    }

    const SCALE: [f32; 6] = [220.0, 246.94, 277.18, 329.63, 369.99, 440.0];

    fn found(played: &[f32], heard: &[f32]) -> (Option<Returned>, usize) {
        let mut echo = Echo::new(24_000);
        let mut windows = 0;
        for (played, heard) in played.chunks(128).zip(heard.chunks(128)) {
            echo.push(played, heard);
            windows += usize::from(echo.heard().is_some());
        }
        (echo.heard(), windows)
    }

    fn delayed(played: &[f32], frames: usize, loudness: f32, own: &[f32]) -> Vec<f32> {
        let echo = std::iter::repeat_n(&0.0, frames).chain(played).map(|sample| loudness * sample);
        echo.zip(own).map(|(echo, own)| echo + own).collect()
    }

    #[test]
    fn an_echo_is_found_beside_ones_own_playing() {
        let mut random = Random(9);
        for (seed, frames, loudness) in [(1, 480, 1.0), (2, 2400, 0.5), (3, 9600, 0.3), (4, 20_000, 0.5)] {
            let played = music(seed, 8, &SCALE);
            let noise: Vec<f32> = played.iter().map(|_| 0.001 * random.next()).collect();
            let (heard, _) = found(&played, &delayed(&played, frames, loudness, &noise));
            let heard = heard.unwrap_or_else(|| panic!("seed {seed}: not found alone"));
            assert!(heard.delay_frames.abs_diff(frames) <= 2 * THINNED, "{heard:?} of {frames}");
            let own = music(seed + 100, 8, &SCALE);
            let (heard, _) = found(&played, &delayed(&played, frames, loudness, &own));
            let heard = heard.unwrap_or_else(|| panic!("seed {seed}: not found beside"));
            assert!(heard.delay_frames.abs_diff(frames) <= 2 * THINNED, "{heard:?} of {frames}");
        }
    }

    /// Two who play in one key, or the same single note, are no echo; neither are noise and silence.
    #[test]
    fn two_who_play_together_are_no_echo() {
        for seed in 0..6 {
            let notes = if seed % 3 == 0 { &SCALE[..1] } else { &SCALE[..] };
            let (a, b) = (music(seed, 12, notes), music(seed + 1000, 12, notes));
            assert_eq!(found(&a, &b).1, 0, "seed {seed}");
        }
        let mut random = Random(5);
        let [a, b] = [(); 2].map(|()| (0..480_000).map(|_| random.next()).collect::<Vec<_>>());
        assert_eq!(found(&a, &b).1, 0);
        let silence = vec![0.0; 480_000];
        for (a, b) in [(&a, &silence), (&silence, &b), (&silence, &silence)] {
            assert_eq!(found(a, b).1, 0);
        }
        let odd = vec![f32::NAN; 48_000];
        assert_eq!(found(&odd, &odd).1, 0);
    }

    #[test]
    fn an_echo_ends_when_headphones_are_put_on() {
        let played = music(7, 16, &SCALE);
        let mut heard = delayed(&played, 960, 0.5, &vec![0.0; played.len()]);
        let mut random = Random(3);
        heard[8 * 48_000..].iter_mut().for_each(|sample| *sample = 0.01 * random.next());
        let (last, windows) = found(&played, &heard);
        assert!(last.is_none() && windows > 0, "{last:?}, {windows}");
    }
}
