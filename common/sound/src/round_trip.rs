//! A loop's round trip: counted noise is played, and found again in what is captured.

/// Length of the noise, a maximum-length sequence: the longest round trip is 341 ms.
pub const PERIOD: usize = (1 << 14) - 1;
/// Loudness of the noise, of full scale: -26 dB.
pub const LOUDNESS: f32 = 0.05;
/// Frames in which the noise is looked for.
const WINDOW: usize = 2048;
/// Frames that are looked at one after another once it is found in a good loop.
const BLOCK: usize = 128;
/// Least likeness: that of other sound stays below 0.12.
const LEAST: f32 = 0.2;
/// Likeness from which each block is looked at alone: a cable's, and no room's.
const GOOD: f32 = 0.8;

/// Noise that has a number at each place.
#[derive(Clone, Debug)]
pub struct Noise(Box<[f32]>);

impl Default for Noise {
    fn default() -> Self {
        let mut register = 1_u32;
        let signs = std::iter::repeat_with(|| {
            // x^14 + x^13 + x^12 + x^2 + 1, which is primitive.
            let bit = (register ^ register >> 1 ^ register >> 2 ^ register >> 12) & 1;
            register = register >> 1 | bit << 13;
            if bit == 1 { 1.0 } else { -1.0 }
        });
        Self(signs.take(PERIOD).collect())
    }
}

impl Noise {
    /// Returns the sample that is played at a frame.
    pub fn at(&self, frame: u64) -> f32 {
        LOUDNESS * self.sign(frame)
    }

    fn sign(&self, frame: u64) -> f32 {
        self.0[(frame % PERIOD as u64) as usize]
    }

    /// Returns how alike `samples`, captured from `frame` on, are to what was played `lag` frames before, and how much louder.
    fn likeness(&self, samples: &[f32], frame: u64, lag: usize) -> (f32, f32) {
        let from = frame + (PERIOD - lag) as u64;
        let (mut sum, mut energy) = (0.0, 1e-20);
        for (at, &sample) in (from..).zip(samples) {
            sum += sample * self.sign(at);
            energy += sample * sample;
        }
        let count = samples.len() as f32;
        (sum.abs() / (energy * count).sqrt(), sum.abs() / count / LOUDNESS)
    }
}

/// Finding of a loop test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// From playing to capturing, frames; none: the noise has not come back.
    pub frames: Option<usize>,
    /// Likeness of what came back, 0 to 1.
    pub likeness: f32,
    /// Loudness of what came back, of what was played.
    pub gain: f32,
    /// Times at which the noise was broken or came at another time.
    pub dropouts: u64,
    /// Frames that were looked at since the noise was found.
    pub heard: u64,
}

/// Looks for the noise in what is captured.
#[derive(Clone, Debug, Default)]
pub struct Search {
    noise: Noise,
    /// Captured from frame `from` on.
    window: Vec<f32>,
    from: u64,
    found: Found,
    /// Frames since which nothing is alike.
    bad: usize,
}

impl Search {
    /// Takes the sample captured at a frame; frames that are left out were lost.
    pub fn push(&mut self, frame: u64, sample: f32) {
        if frame != self.from + self.window.len() as u64 {
            if self.found.frames.is_some() && self.bad == 0 {
                self.found.dropouts += 1;
            }
            self.window.clear();
            self.from = frame;
        }
        self.window.push(if sample.is_finite() { sample } else { 0.0 });
        let Some(lag) = self.found.frames else {
            if self.window.len() == WINDOW {
                self.look();
                self.advance();
            }
            return;
        };
        let block = if self.found.likeness > GOOD { BLOCK } else { WINDOW };
        if !self.window.len().is_multiple_of(block) {
            return;
        }
        let begin = self.window.len() - block;
        let (likeness, gain) = self.noise.likeness(&self.window[begin..], self.from + begin as u64, lag);
        self.found.heard += block as u64;
        if likeness < self.found.likeness / 2.0 {
            self.found.dropouts += u64::from(self.bad == 0);
            self.bad += block;
        } else {
            self.bad = 0;
            self.found.gain = gain;
        }
        if self.window.len() == WINDOW {
            if self.bad >= WINDOW {
                self.look();
            } else {
                // The first window may have been half silent.
                let (likeness, _) = self.noise.likeness(&self.window, self.from, lag);
                self.found.likeness = self.found.likeness.max(likeness);
            }
            self.advance();
        }
    }

    /// Returns what was found until now.
    pub fn found(&self) -> Found {
        self.found
    }

    fn advance(&mut self) {
        self.from += self.window.len() as u64;
        self.window.clear();
    }

    fn look(&mut self) {
        if self.window.iter().all(|sample| *sample == 0.0) {
            return;
        }
        let all = (0..PERIOD).map(|lag| (lag, self.noise.likeness(&self.window, self.from, lag)));
        let best = all.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
        if let Some((lag, (likeness, gain))) = best
            && likeness >= LEAST
        {
            (self.found.frames, self.found.likeness, self.found.gain) = (Some(lag), likeness, gain);
            self.bad = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the finding of a loop of `lag` frames, from frame 7,000 on, changed by `change` of the frame.
    fn run(lag: u64, seconds: u64, mut change: impl FnMut(u64, f32) -> Option<f32>) -> Found {
        let (noise, mut search) = (Noise::default(), Search::default());
        for frame in 7000..7000 + seconds * 48_000 {
            if let Some(sample) = change(frame, noise.at(frame + 10 * PERIOD as u64 - lag)) {
                search.push(frame, sample);
            }
        }
        search.found()
    }

    #[test]
    fn the_noise_is_white_and_as_long_as_it_may_be() {
        let noise = Noise::default();
        assert_eq!(noise.0.iter().sum::<f32>(), 1.0);
        // Each lag of a sequence of greatest length is as good as another.
        for lag in (1..PERIOD).step_by(61) {
            let likeness: f32 =
                (0..PERIOD as u64).map(|frame| noise.sign(frame) * noise.sign(frame + lag as u64)).sum();
            assert_eq!(likeness, -1.0, "{lag}");
        }
    }

    #[test]
    fn round_trips_are_exact_and_a_clean_loop_has_no_dropout() {
        for lag in [0, 1, 64, 192, 5000, 16_382] {
            let found = run(lag, 2, |_, sample| Some(-0.25 * sample));
            assert_eq!((found.frames, found.dropouts), (Some(lag as usize), 0));
            assert!(found.likeness > 0.99 && (found.gain - 0.25).abs() < 0.01, "{found:?}");
            assert!(found.heard > 85_000, "{found:?}");
        }
    }

    #[test]
    fn each_dropout_is_counted_once() {
        // One period of silence, then a longer one, then frames that are lost.
        let silent = run(300, 3, |frame, sample| {
            let is_lost = (60_000..60_200).contains(&frame) || (80_000..90_000).contains(&frame);
            Some(if is_lost { 0.0 } else { sample })
        });
        assert_eq!((silent.frames, silent.dropouts), (Some(300), 2));
        let lost = run(300, 3, |frame, sample| (!(60_000..60_064).contains(&frame)).then_some(sample));
        assert_eq!((lost.frames, lost.dropouts), (Some(300), 1));
        // A loop that is longer from some time on.
        let noise = Noise::default();
        let later = run(300, 3, |frame, sample| {
            Some(if frame < 70_000 { sample } else { noise.at(frame + 10 * PERIOD as u64 - 364) })
        });
        assert_eq!((later.frames, later.dropouts), (Some(364), 1));
    }

    #[test]
    fn other_sound_is_no_noise_and_a_room_is_one() {
        let mut seed = 1_u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        for found in [
            run(300, 1, |_, _| Some(0.0)),
            run(300, 1, |_, _| Some(random())),
            run(300, 1, |frame, _| Some((frame as f32 * 0.05).sin())),
            run(300, 1, |_, _| Some(f32::NAN)),
        ] {
            assert_eq!((found.frames, found.dropouts), (None, 0));
        }
        let late = run(300, 1, |frame, sample| Some(if frame < 8500 { 0.0 } else { sample }));
        assert!(late.frames == Some(300) && late.likeness > 0.99 && late.dropouts == 0, "{late:?}");
        let room = run(1500, 3, |_, sample| Some(0.1 * sample + 0.012 * random()));
        assert_eq!((room.frames, room.dropouts), (Some(1500), 0), "{room:?}");
    }
}
