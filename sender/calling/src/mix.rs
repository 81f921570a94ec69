//! Several sources and takers of sound at one card: what it captures goes to all, and what it plays is the sum of all.
//!
//! It runs in the card's callback: all memory is there before.

use cards::{Capture, Playback};
use sound::Cycle;

/// Samples that are mixed at once.
const AT_ONCE: usize = 4096;

/// Returns what gives each period to all of `takers`; none for nobody.
pub(crate) fn captured_by_all(mut takers: Vec<Box<dyn Capture>>) -> Option<Box<dyn Capture>> {
    match takers.len() {
        0 | 1 => takers.pop(),
        _ => Some(Box::new(All(takers))),
    }
}

/// Returns what plays the sum of `sources`, no louder than full scale; none for nothing.
pub(crate) fn mixed(mut sources: Vec<Box<dyn Playback>>) -> Option<Box<dyn Playback>> {
    match sources.len() {
        0 | 1 => sources.pop(),
        _ => Some(Box::new(Mix { sources, own: vec![0.0; AT_ONCE] })),
    }
}

struct All(Vec<Box<dyn Capture>>);

impl Capture for All {
    fn capture(&mut self, samples: &[f32], cycle: Cycle) {
        self.0.iter_mut().for_each(|taker| taker.capture(samples, cycle));
    }
}

struct Mix {
    sources: Vec<Box<dyn Playback>>,
    /// A source's own samples.
    own: Vec<f32>,
}

impl Playback for Mix {
    fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
        let Some((first, others)) = self.sources.split_first_mut() else { return };
        first.play(samples, cycle);
        // No card has a period that does not fit.
        let Some(own) = self.own.get_mut(..samples.len()) else { return };
        for source in others {
            source.play(own, cycle);
            samples.iter_mut().zip(&*own).for_each(|(sum, own)| *sum += own);
        }
        samples.iter_mut().for_each(|sample| *sample = sample.clamp(-1.0, 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Constant(f32);

    impl Playback for Constant {
        fn play(&mut self, samples: &mut [f32], _: Cycle) {
            samples.fill(self.0);
        }
    }

    #[test]
    fn all_are_heard_together_and_no_louder_than_full_scale() {
        let played = |levels: &[f32]| {
            let sources = levels.iter().map(|&level| Box::new(Constant(level)) as Box<dyn Playback>).collect();
            let mut samples = [9.0; 64];
            mixed(sources)?.play(&mut samples, Cycle { frame: 0, us: 0 });
            Some(samples)
        };
        assert_eq!(played(&[]), None);
        assert_eq!(played(&[0.5]), Some([0.5; 64]));
        assert_eq!(played(&[0.5, -0.25, 0.125]), Some([0.375; 64]));
        assert_eq!(played(&[0.75, 0.75]), Some([1.0; 64]));
    }
}
