//! One period of a card through the two halves.

use sound::Cycle;

use crate::guard;
use crate::halves::Halves;

/// Frames that the halves get at once at most; longer periods come in parts. JACK's longest are 8192.
const FRAMES_AT_ONCE: usize = 1024;

/// The halves of a card, with memory that a callback needs.
pub(crate) struct Served {
    halves: Halves,
    samples: Box<[f32]>,
}

impl Served {
    pub(crate) fn new(halves: Halves) -> Self {
        Self { halves, samples: vec![0.0; FRAMES_AT_ONCE * sound::format::CHANNELS_MAX].into_boxed_slice() }
    }

    /// Serves a period of `frames`: what `inputs` hold is captured, then `outputs` are filled. They are planes, one a channel, of
    /// `frames` samples, and none where nothing is captured or played. It allocates nothing; a debug build asserts it.
    pub(crate) fn serve(&mut self, frames: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]], cycle: Cycle) {
        guard::no_allocation(|| {
            for begin in (0..frames).step_by(FRAMES_AT_ONCE) {
                let range = begin..frames.min(begin + FRAMES_AT_ONCE);
                let us = begin as u64 * 1_000_000 / u64::from(sound::RATE_HZ);
                let cycle = Cycle { frame: cycle.frame + begin as u64, us: cycle.us + us };
                if let (Some(capture), false) = (&mut self.halves.capture, inputs.is_empty()) {
                    let samples = &mut self.samples[..range.len() * inputs.len()];
                    for (channel, plane) in inputs.iter().enumerate() {
                        let plane = &plane[range.clone()];
                        for (to, &from) in samples.iter_mut().skip(channel).step_by(inputs.len()).zip(plane) {
                            // What another program sends may be no number.
                            *to = if from.is_finite() { from } else { 0.0 };
                        }
                    }
                    capture.capture(samples, cycle);
                }
                let channels = outputs.len();
                if let (Some(playback), false) = (&mut self.halves.playback, outputs.is_empty()) {
                    let samples = &mut self.samples[..range.len() * channels];
                    samples.fill(0.0);
                    playback.play(samples, cycle);
                    for (channel, plane) in outputs.iter_mut().enumerate() {
                        let from = samples.iter().skip(channel).step_by(channels);
                        for (to, &from) in plane[range.clone()].iter_mut().zip(from) {
                            *to = from;
                        }
                    }
                } else {
                    outputs.iter_mut().for_each(|plane| plane[range.clone()].fill(0.0));
                }
            }
        });
    }
}

/// Makes one count of a 32-bit one that wraps, as JACK's frames do after a day.
#[derive(Debug, Default)]
pub(crate) struct Unwrapped(Option<u64>);

impl Unwrapped {
    /// Returns the count that `low` continues; it may step back by less than half of its range.
    pub(crate) fn next(&mut self, low: u32) -> u64 {
        let next = match self.0 {
            None => u64::from(low),
            Some(last) => last.saturating_add_signed(i64::from(low.wrapping_sub(last as u32) as i32)),
        };
        self.0 = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::halves::{Capture, Playback};

    /// Plays what it captured, and notes the cycles of both.
    #[derive(Clone)]
    struct Loop(Arc<Mutex<(VecDeque<f32>, Vec<Cycle>)>>);

    impl Loop {
        fn with_room() -> Self {
            Self(Arc::new(Mutex::new((VecDeque::with_capacity(2048), Vec::with_capacity(16)))))
        }
    }

    impl Capture for Loop {
        fn capture(&mut self, samples: &[f32], cycle: Cycle) {
            let mut noted = self.0.lock().unwrap();
            noted.0.extend(samples);
            noted.1.push(cycle);
        }
    }

    impl Playback for Loop {
        fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
            let mut noted = self.0.lock().unwrap();
            samples.fill_with(|| noted.0.pop_front().unwrap());
            noted.1.push(cycle);
        }
    }

    /// The planes of a period come back as they are, in parts if it is long, each part at its time.
    #[test]
    fn periods_of_any_length_pass_through() {
        let looped = Loop::with_room();
        let mut served =
            Served::new(Halves { capture: Some(Box::new(looped.clone())), playback: Some(Box::new(looped.clone())) });
        for frames in [1, 64, 1024, 1025, 2048, 8192] {
            let left: Vec<f32> = (0..frames).map(|i| i as f32).collect();
            let right: Vec<f32> = left.iter().map(|x| -x).collect();
            let (mut out_left, mut out_right) = (vec![9.0; frames], vec![9.0; frames]);
            let inputs: [&[f32]; 2] = [&left, &right];
            served.serve(frames, &inputs, &mut [&mut out_left, &mut out_right], Cycle { frame: 7, us: 9 });
            assert!(out_left == left && out_right == right, "{frames}");
            let cycles: Vec<Cycle> = looped.0.lock().unwrap().1.drain(..).collect();
            assert_eq!(cycles.len(), 2 * frames.div_ceil(FRAMES_AT_ONCE));
            assert_eq!(cycles.first(), Some(&Cycle { frame: 7, us: 9 }));
            if frames == 8192 {
                assert_eq!(cycles.last(), Some(&Cycle { frame: 7 + 7168, us: 9 + 149_333 }));
            }
        }
    }

    #[test]
    fn what_is_no_number_is_silence_and_without_halves_nothing_is_heard() {
        let looped = Loop::with_room();
        let mut served = Served::new(Halves { capture: Some(Box::new(looped.clone())), playback: None });
        let mut out = [5.0; 3];
        served.serve(3, &[&[f32::NAN, 0.5, f32::INFINITY]], &mut [&mut out], Cycle { frame: 0, us: 0 });
        assert_eq!(looped.0.lock().unwrap().0, [0.0, 0.5, 0.0]);
        assert_eq!(out, [0.0; 3]);
    }

    #[test]
    fn a_count_goes_on_where_its_low_half_begins_anew() {
        let mut unwrapped = Unwrapped::default();
        let counts = [4_294_967_200, 4_294_967_264, 32, 0, 96].map(|low| unwrapped.next(low));
        assert_eq!(counts, [4_294_967_200, 4_294_967_264, 4_294_967_328, 4_294_967_296, 4_294_967_392]);
    }
}
