//! Resampling from the sender's clock to this card's.

use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{
    Adjustable as _, Async, FixedAsync, Resampler as _, ResamplerConstructionError, Resizable as _,
    SincInterpolationParameters, WindowFunction,
};

use crate::conceal::Frame;

/// Frames that can be made at once.
pub(crate) const PART_FRAMES: usize = 256;
/// Length of the filter, frames. Sound is later by half of it.
pub(crate) const FILTER_FRAMES: usize = 32;
/// Greatest difference from equal clocks that a ratio may have.
pub(crate) const RATIO_MAX: f64 = 0.002;
/// Pass band's end, as a part of half the rate. The ratio is next to 1, so that there is next to nothing to fold back; a lower one, as
/// rubato would choose for so short a filter, dulls everything above 10 kHz.
const CUTOFF: f32 = 0.9;
/// Phases of the filter for each frame; rubato's table has the filter by one of them later than its index says.
const OVERSAMPLING: usize = 256;
/// Room for what goes into a part.
const INPUT_ROOM: usize = PART_FRAMES + 2 * FILTER_FRAMES;

/// Makes frames of one clock from those of another.
pub(crate) struct Resampler {
    inner: Async<f32>,
    /// Frames of input per frame of output.
    ratio: f64,
    /// The filter's place, as the inner one counts it.
    index: f64,
    input: Vec<Frame>,
}

impl std::fmt::Debug for Resampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resampler").field("ratio", &self.ratio).field("index", &self.index).finish_non_exhaustive()
    }
}

impl Resampler {
    /// Returns one with all memory that it needs.
    pub(crate) fn new() -> Result<Self, ResamplerConstructionError> {
        let parameters = SincInterpolationParameters::new(FILTER_FRAMES, WindowFunction::Hann2)
            .f_cutoff(CUTOFF)
            .oversampling_factor(OVERSAMPLING);
        let inner = Async::new_sinc(1.0, 1.0 + 2.0 * RATIO_MAX, &parameters, PART_FRAMES, 2, FixedAsync::Output)?;
        let mut new = Self { inner, ratio: 1.0, index: 0.0, input: vec![[0.0; 2]; INPUT_ROOM] };
        new.reset();
        Ok(new)
    }

    /// Forgets what went in.
    pub(crate) fn reset(&mut self) {
        self.inner.reset();
        self.index = 1.0 - FILTER_FRAMES as f64;
        self.ratio = 1.0;
    }

    /// Sets the frames of input per frame of output, near 1.
    pub(crate) fn set_ratio(&mut self, ratio: f64) {
        let ratio = ratio.clamp(1.0 - RATIO_MAX, 1.0 + RATIO_MAX);
        if self.inner.set_resample_ratio(1.0 / ratio, false).is_ok() {
            self.ratio = ratio;
        }
    }

    /// Returns by how many frames of input the next frame that comes out lies behind the next that goes in.
    pub(crate) fn behind(&self) -> f64 {
        // The middle of the filter is half its length behind its newest frame.
        -(self.index + self.ratio) - FILTER_FRAMES as f64 / 2.0 + 1.0 - 1.0 / OVERSAMPLING as f64
    }

    /// Makes at most [`PART_FRAMES`] frames from as many as `read` is asked for.
    pub(crate) fn process(&mut self, out: &mut [Frame], read: impl FnOnce(&mut [Frame])) {
        let frames = out.len();
        if self.inner.set_chunk_size(frames).is_err() {
            return out.fill([0.0; 2]);
        }
        let needed = self.inner.input_frames_next().min(INPUT_ROOM);
        read(&mut self.input[..needed]);
        let input = InterleavedSlice::new(self.input[..needed].as_flattened(), 2, needed);
        let output = InterleavedSlice::new_mut(out.as_flattened_mut(), 2, frames);
        if let (Ok(input), Ok(mut output)) = (input, output)
            && self.inner.process_into_buffer(&input, &mut output, None).is_ok()
        {
            self.index += frames as f64 * self.ratio - needed as f64;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Returns decibels between a tone and what is left of it beside where it should be.
    fn snr_db(hz: f64, ratio: f64) -> f64 {
        let mut resampler = Resampler::new().unwrap();
        resampler.set_ratio(ratio);
        let tone = |at: f64| (at * std::f64::consts::TAU * hz / 48_000.0).sin();
        let (mut at, mut signal, mut noise) = (0, 0.0, 0.0);
        for part in 0..400 {
            let frames = [64, 31, 256, 1][part % 4];
            let begin = at as f64 - resampler.behind();
            let mut out = [[0.0; 2]; PART_FRAMES];
            resampler.process(&mut out[..frames], |input| {
                for place in input {
                    *place = [0.5 * tone(at as f64) as f32; 2];
                    at += 1;
                }
            });
            for (frame, place) in out[..frames].iter().enumerate().filter(|_| part > 4) {
                let wanted = 0.5 * tone(begin + frame as f64 * ratio);
                signal += wanted * wanted;
                noise += (wanted - f64::from(place[1])).powi(2);
            }
        }
        10.0 * f64::log10(signal / noise)
    }

    #[test]
    fn tones_of_all_heights_are_what_they_were_and_where_it_says() {
        for ratio in [1.0, 1.0001, 0.9998] {
            for (hz, least_db) in
                [(100.0, 105.0), (3_000.0, 105.0), (10_000.0, 100.0), (15_000.0, 80.0), (18_000.0, 45.0)]
            {
                let snr_db = snr_db(hz, ratio);
                assert!(snr_db > least_db, "{hz} Hz at {ratio}: {snr_db:.1} dB");
            }
        }
    }
}
