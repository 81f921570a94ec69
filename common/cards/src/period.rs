//! One period of a card through the two halves.

use std::ops::Range;

use sound::Cycle;
use sound::format::Channels;

use crate::guard;
use crate::halves::{Capture, Playback};

/// Frames that the halves get at once at most, which is a whole period: who plays waits for as much as is wanted at once. JACK's longest
/// are 8192; of a longer one parts come, of which the later ones are wanted too early.
const FRAMES_AT_ONCE: usize = 8192;

/// A capturing half, with the memory that its callback needs.
pub(crate) struct Capturing {
    half: Box<dyn Capture>,
    channels: usize,
    samples: Box<[f32]>,
}

/// A playing half, with the memory that its callback needs.
pub(crate) struct Playing {
    half: Box<dyn Playback>,
    channels: usize,
    samples: Box<[f32]>,
}

fn room(channels: Channels) -> (usize, Box<[f32]>) {
    (channels.count(), vec![0.0; FRAMES_AT_ONCE * channels.count()].into_boxed_slice())
}

/// Returns the parts of a period, and the time of each.
fn parts(frames: usize, cycle: Cycle) -> impl Iterator<Item = (Range<usize>, Cycle)> {
    (0..frames).step_by(FRAMES_AT_ONCE).map(move |begin| {
        let us = begin as u64 * 1_000_000 / u64::from(sound::RATE_HZ);
        let part = Cycle { frame: cycle.frame + begin as u64, us: cycle.us.saturating_add(us) };
        (begin..frames.min(begin + FRAMES_AT_ONCE), part)
    })
}

impl Capturing {
    pub(crate) fn new(half: Box<dyn Capture>, channels: Channels) -> Self {
        let (channels, samples) = room(channels);
        Self { half, channels, samples }
    }

    /// Hands on a period of `frames`; `sample` returns that of a frame and channel. It allocates nothing; a debug build asserts it.
    pub(crate) fn serve(&mut self, frames: usize, cycle: Cycle, sample: impl Fn(usize, usize) -> f32) {
        guard::no_allocation(|| {
            for (range, cycle) in parts(frames, cycle) {
                let samples = &mut self.samples[..range.len() * self.channels];
                for (frame, samples) in range.zip(samples.chunks_exact_mut(self.channels)) {
                    for (channel, to) in samples.iter_mut().enumerate() {
                        let sample = sample(frame, channel);
                        // What another program sends may be no number.
                        *to = if sample.is_finite() { sample } else { 0.0 };
                    }
                }
                self.half.capture(samples, cycle);
            }
        });
    }
}

impl Playing {
    pub(crate) fn new(half: Box<dyn Playback>, channels: Channels) -> Self {
        let (channels, samples) = room(channels);
        Self { half, channels, samples }
    }

    /// Lets a period of `frames` be filled; `put` takes the samples of a frame. It allocates nothing; a debug build asserts it.
    pub(crate) fn serve(&mut self, frames: usize, cycle: Cycle, mut put: impl FnMut(usize, &[f32])) {
        guard::no_allocation(|| {
            for (range, cycle) in parts(frames, cycle) {
                let samples = &mut self.samples[..range.len() * self.channels];
                samples.fill(0.0);
                self.half.play(samples, cycle);
                for (frame, samples) in range.zip(samples.chunks_exact(self.channels)) {
                    put(frame, samples);
                }
            }
        });
    }
}

/// Returns the time on `CLOCK_MONOTONIC`, us.
pub(crate) fn monotonic_us() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is this function's own; a callback may ask for it, since it is read without a system call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Plays what it captured, and notes the cycles of both.
    #[derive(Clone)]
    struct Loop(Arc<Mutex<(VecDeque<f32>, Vec<Cycle>)>>);

    impl Loop {
        fn with_room() -> Self {
            Self(Arc::new(Mutex::new((VecDeque::with_capacity(1 << 16), Vec::with_capacity(16)))))
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

    /// Periods come back as they are, in parts if they are long, each part at its time.
    #[test]
    fn periods_of_any_length_pass_through() {
        let looped = Loop::with_room();
        let mut capturing = Capturing::new(Box::new(looped.clone()), Channels::Stereo);
        let mut playing = Playing::new(Box::new(looped.clone()), Channels::Stereo);
        for frames in [1, 64, 1024, 1025, 2048, 8192, 16_384] {
            let planes: [Vec<f32>; 2] = [1.0, -1.0].map(|sign| (0..frames).map(|i| sign * i as f32).collect());
            let mut out = [vec![9.0; frames], vec![9.0; frames]];
            let cycle = Cycle { frame: 7, us: 9 };
            capturing.serve(frames, cycle, |frame, channel| planes[channel][frame]);
            playing.serve(frames, cycle, |frame, samples| [0, 1].iter().for_each(|&c| out[c][frame] = samples[c]));
            assert!(out == planes, "{frames}");
            let cycles: Vec<Cycle> = looped.0.lock().unwrap().1.drain(..).collect();
            assert_eq!(cycles.len(), 2 * frames.div_ceil(FRAMES_AT_ONCE));
            assert_eq!(cycles.first(), Some(&cycle));
            // What a card wants at once is asked for at once.
            if frames == 16_384 {
                assert_eq!(cycles.last(), Some(&Cycle { frame: 7 + 8192, us: 9 + 170_666 }));
            }
        }
    }

    #[test]
    fn what_is_no_number_is_silence() {
        let looped = Loop::with_room();
        let mut capturing = Capturing::new(Box::new(looped.clone()), Channels::Mono);
        let sent = [f32::NAN, 0.5, f32::INFINITY];
        capturing.serve(3, Cycle { frame: 0, us: 0 }, |frame, _| sent[frame]);
        assert_eq!(looped.0.lock().unwrap().0, [0.0, 0.5, 0.0]);
    }
}
