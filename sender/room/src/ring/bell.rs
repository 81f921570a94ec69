//! The sound of a call that comes.

use cards::keep::Kept;
use cards::{CardSpec, Halves, Playback, Wanted};
use common::config::SharedConfig;
use sound::format::Channels;
use sound::tone::Tone;
use sound::{Cycle, RATE_HZ};

/// Tones of a ring, each with its length, milliseconds; none: a pause.
const RING: [(Option<f64>, u32); 6] =
    [(Some(659.26), 180), (Some(880.0), 260), (None, 240), (Some(659.26), 180), (Some(880.0), 260), (None, 1880)];
/// Channels that the card is asked for.
const CHANNELS: Channels = Channels::Stereo;

/// A bell that rings until it is dropped.
pub(super) struct Bell(#[expect(dead_code, reason = "its end ends the sound")] Kept);

impl Bell {
    /// Rings on the configured card; none if there is to be no sound.
    pub(super) fn ring(shared: &SharedConfig) -> Option<Self> {
        let spec = shell::sound::spec(shared).ok().filter(|spec| *spec != CardSpec::None)?;
        let wanted = Wanted { frames: shared.sound.period.into(), capture: None, playback: Some(CHANNELS) };
        let make = Box::new(|_: &_| Halves { capture: None, playback: Some(Box::new(Ring::default())) });
        let tell = Box::new(|news| tracing::debug!("the bell: {news:?}"));
        Kept::start(spec, wanted, make, tell).ok().map(Self)
    }
}

/// The card's callback that rings.
#[derive(Default)]
struct Ring {
    tone: Tone,
    /// The part of the ring, and its frames that have sounded.
    part: usize,
    sounded: usize,
}

impl Playback for Ring {
    fn play(&mut self, samples: &mut [f32], _: Cycle) {
        samples.fill(0.0);
        let channels = CHANNELS.count();
        let mut rest = samples;
        while rest.len() >= channels {
            let (hz, ms) = RING[self.part % RING.len()];
            let left = (ms * (RATE_HZ / 1000)) as usize - self.sounded;
            let frames = left.min(rest.len() / channels);
            let (now, later) = rest.split_at_mut(frames * channels);
            self.tone.add(hz, now, channels);
            rest = later;
            self.sounded += frames;
            if frames == left {
                (self.part, self.sounded) = (self.part + 1, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: Cycle = Cycle { frame: 0, us: 0 };

    #[test]
    fn it_rings_and_pauses_and_rings_again_whatever_the_period_is() {
        let channels = CHANNELS.count();
        let whole: u32 = RING.iter().map(|(_, ms)| ms * (RATE_HZ / 1000)).sum();
        let heard = |period: usize| {
            let mut ring = Ring::default();
            let mut all = vec![1.0; 2 * whole as usize * channels];
            all.chunks_mut(period * channels).for_each(|period| ring.play(period, CYCLE));
            all
        };
        let once = heard(128);
        assert!(once == heard(1024) && once == heard(77));
        let loudest = |samples: &[f32]| samples.iter().fold(0.0_f32, |most, sample| most.max(sample.abs()));
        let (first, second) = once.split_at(once.len() / 2);
        for ring in [first, second] {
            let (begin, end) = ring.split_at(ring.len() / 2);
            assert!((0.05..0.2).contains(&loudest(begin)), "{}", loudest(begin));
            assert_eq!(loudest(end), 0.0);
        }
    }
}
