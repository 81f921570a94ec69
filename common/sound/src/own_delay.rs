//! Practice delay: one's own sound comes later, to match what is heard from the other side when both play to a beat over a long line.

/// Frames in which a change fades from one delay to the other.
const FADE: usize = 960;

/// Delays sound by a number of frames, which may change without a click. Only `new` allocates.
#[derive(Clone, Debug)]
pub struct OwnDelay {
    ring: Box<[f32]>,
    channels: usize,
    /// Frame of the ring that is written next.
    at: usize,
    delay: usize,
    /// Delay that fades in, and the frames for which it has.
    coming: Option<(usize, usize)>,
    wanted: usize,
}

impl OwnDelay {
    /// Creates a delay of 0 that can be up to `frames_max`, of interleaved sound.
    pub fn new(channels: usize, frames_max: usize) -> Self {
        let channels = channels.max(1);
        let ring = vec![0.0; (frames_max + 1) * channels].into_boxed_slice();
        Self { ring, channels, at: 0, delay: 0, coming: None, wanted: 0 }
    }

    /// Sets the delay; more than is possible is the most that is.
    pub fn set(&mut self, frames: usize) {
        self.wanted = frames.min(self.frames() - 1);
    }

    /// Returns the delay that was set, frames.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    fn frames(&self) -> usize {
        self.ring.len() / self.channels
    }

    /// Replaces sound, interleaved, by that of before.
    pub fn delay_by(&mut self, samples: &mut [f32]) {
        let (channels, frames) = (self.channels, self.frames());
        for frame in samples.chunks_exact_mut(channels) {
            if self.coming.is_none() && self.wanted != self.delay {
                self.coming = Some((self.wanted, 0));
            }
            self.ring[self.at * channels..][..channels].copy_from_slice(frame);
            let before = |delay: usize| &self.ring[(self.at + frames - delay) % frames * channels..][..channels];
            match self.coming {
                None => frame.copy_from_slice(before(self.delay)),
                Some((coming, faded)) => {
                    // Both are of one sound, so that loudness is kept where they are alike.
                    let part = (faded + 1) as f32 / FADE as f32;
                    for (out, (old, new)) in frame.iter_mut().zip(before(self.delay).iter().zip(before(coming))) {
                        *out = old + part * (new - old);
                    }
                    self.coming = Some((coming, faded + 1));
                    if faded + 1 == FADE {
                        (self.delay, self.coming) = (coming, None);
                    }
                }
            }
            self.at = (self.at + 1) % frames;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delay_is_exact() {
        for delay in [0, 1, 63, 1000, 48_000] {
            let mut own = OwnDelay::new(2, 48_000);
            own.set(delay);
            own.delay_by(&mut [0.0; 2 * FADE]);
            let mut samples: Vec<f32> = (0..100_000).map(|sample| sample as f32).collect();
            for block in samples.chunks_mut(2 * 61) {
                own.delay_by(block);
            }
            assert!(samples[..2 * delay].iter().all(|sample| *sample == 0.0));
            assert!((0..100_000 - 2 * delay).all(|sample| samples[2 * delay + sample] == sample as f32), "{delay}");
        }
    }

    /// A loud sine over changes in the middle of others has no larger step than it has itself.
    #[test]
    fn changes_do_not_click() {
        let mut own = OwnDelay::new(1, 24_000);
        let step = 0.05_f32;
        let mut last = 0.0;
        for block in 0..2000_usize {
            let mut samples: Vec<f32> = (0..64).map(|frame| ((block * 64 + frame) as f32 * step).sin()).collect();
            if block % 7 == 0 {
                own.set(block * 7919 % 30_000);
            }
            own.delay_by(&mut samples);
            for sample in samples {
                assert!((sample - last).abs() < step + 0.003, "block {block}: {last} to {sample}");
                last = sample;
            }
        }
        own.set(usize::MAX);
        assert_eq!(own.wanted(), 24_000);
    }
}
