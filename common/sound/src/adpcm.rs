//! IMA ADPCM: 4 bits a sample, for copies of packets. A block stands by itself: of each channel the first sample, the index of its
//! step and then its samples.

use crate::format::CHANNELS_MAX;

/// Bytes in front of a channel's samples: its first sample (16 bits, little-endian) and the index of its first step.
const HEADER_BYTES: usize = 3;

/// Changes of the step's index, by the three lower bits of a code.
const INDEX_STEPS: [i32; 8] = [-1, -1, -1, -1, 2, 4, 6, 8];

/// Steps of the IMA's recommendation.
const STEPS: [i32; 89] = [
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107,
    118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963,
    1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894,
    6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794,
    32767,
];

/// Returns the bytes of a block.
pub const fn block_bytes(channels: usize, frames: usize) -> usize {
    channels * (HEADER_BYTES + frames.div_ceil(2))
}

/// Prediction of a channel's next sample, and the index of its step.
#[derive(Clone, Copy, Debug, Default)]
struct Predictor {
    value: i32,
    index: usize,
}

impl Predictor {
    /// Follows a code to the sample that it stands for.
    fn follow(&mut self, code: u8) {
        let step = STEPS[self.index];
        let mut change = step >> 3;
        for (bit, part) in [(4, step), (2, step >> 1), (1, step >> 2)] {
            if code & bit != 0 {
                change += part;
            }
        }
        let change = if code & 8 != 0 { -change } else { change };
        self.value = (self.value + change).clamp(-32_768, 32_767);
        let index = self.index as i32 + INDEX_STEPS[usize::from(code & 7)];
        self.index = index.clamp(0, STEPS.len() as i32 - 1) as usize;
    }

    /// Returns the code that comes nearest to `wanted`, and follows it.
    fn code(&mut self, wanted: i32) -> u8 {
        let (mut left, sign) = ((wanted - self.value).abs(), if wanted < self.value { 8 } else { 0 });
        let step = STEPS[self.index];
        let mut code = sign;
        for (bit, part) in [(4, step), (2, step >> 1), (1, step >> 2)] {
            if left >= part {
                code |= bit;
                left -= part;
            }
        }
        self.follow(code);
        code
    }
}

/// Encodes packet after packet; the step's index of one is where the next begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdpcmEncoder {
    indices: [usize; CHANNELS_MAX],
}

impl AdpcmEncoder {
    /// Writes a block of interleaved samples of full scale 1 and returns its bytes; none where `out` is too small or the channels
    /// are neither one nor two.
    pub fn encode(&mut self, samples: &[f32], channels: usize, out: &mut [u8]) -> Option<usize> {
        if !(1..=CHANNELS_MAX).contains(&channels) {
            return None;
        }
        let frames = samples.len() / channels;
        let len = block_bytes(channels, frames);
        let block = out.get_mut(..len)?;
        let bytes = len / channels;
        for (channel, (block, index)) in block.chunks_exact_mut(bytes).zip(&mut self.indices).enumerate() {
            let wanted = |frame: usize| -> i32 {
                let sample = samples.get(frame * channels + channel).copied().unwrap_or_default();
                (sample * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i32
            };
            let mut predictor = Predictor { value: wanted(0), index: *index };
            let (header, codes) = block.split_at_mut(HEADER_BYTES);
            let [low, high] = (predictor.value as i16).to_le_bytes();
            header.copy_from_slice(&[low, high, predictor.index as u8]);
            for (place, code) in codes.iter_mut().enumerate() {
                let low = predictor.code(wanted(2 * place));
                // An odd last sample's neighbour stays where it is.
                let high = if 2 * place + 1 < frames { predictor.code(wanted(2 * place + 1)) } else { 0 };
                *code = low | (high << 4);
            }
            *index = predictor.index;
        }
        Some(len)
    }
}

/// Reads a block of so many channels and frames into interleaved samples, and returns true; false, and nothing written, where its
/// length is another, a step's index does not exist or `out` is too small.
pub fn decode(block: &[u8], channels: usize, frames: usize, out: &mut [f32]) -> bool {
    let is_whole = (1..=CHANNELS_MAX).contains(&channels) && block.len() == block_bytes(channels, frames);
    if !is_whole || out.len() < channels * frames {
        return false;
    }
    let bytes = block.len() / channels;
    if block.chunks_exact(bytes).any(|channel| usize::from(channel[2]) >= STEPS.len()) {
        return false;
    }
    for (channel, block) in block.chunks_exact(bytes).enumerate() {
        let value = i32::from(i16::from_le_bytes([block[0], block[1]]));
        let mut predictor = Predictor { value, index: usize::from(block[2]) };
        for frame in 0..frames {
            let pair = block[HEADER_BYTES + frame / 2];
            predictor.follow(if frame % 2 == 0 { pair & 15 } else { pair >> 4 });
            out[frame * channels + channel] = predictor.value as f32 / 32_768.0;
        }
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Returns decibels between a chord of two channels and what blocks of `frames` keep of it, their first aside.
    fn snr_db(frames: usize, channels: usize) -> f64 {
        let mut encoder = AdpcmEncoder::default();
        let (mut signal, mut noise) = (0.0, 0.0);
        for block in 0..200 {
            let samples: Vec<f32> = (block * frames..(block + 1) * frames)
                .flat_map(|frame| {
                    let turn = std::f64::consts::TAU * frame as f64 / f64::from(crate::RATE_HZ);
                    let left = 0.3 * (220.0 * turn).sin() + 0.2 * (277.0 * turn).sin() + 0.1 * (1320.0 * turn).sin();
                    [left as f32, (0.5 * (330.0 * turn).sin()) as f32].into_iter().take(channels)
                })
                .collect();
            let mut bytes = [0; 1024];
            let len = encoder.encode(&samples, channels, &mut bytes).unwrap();
            let mut back = vec![0.0; samples.len()];
            assert!(decode(&bytes[..len], channels, frames, &mut back));
            if block > 0 {
                signal += samples.iter().map(|&s| f64::from(s * s)).sum::<f64>();
                noise += samples.iter().zip(&back).map(|(s, b)| f64::from((s - b) * (s - b))).sum::<f64>();
            }
        }
        10.0 * (signal / noise).log10()
    }

    #[test]
    fn a_chord_keeps_35_decibels() {
        for (frames, channels) in [(64, 1), (64, 2), (128, 2), (256, 2)] {
            let snr_db = snr_db(frames, channels);
            assert!(snr_db > 35.0, "{frames} frames, {channels} channels: {snr_db:.1} dB");
        }
    }

    #[test]
    fn two_copies_of_64_stereo_frames_are_140_bytes() {
        assert_eq!(2 * block_bytes(2, 64), 140);
    }

    #[test]
    fn odd_blocks_are_refused_and_odd_frames_are_not() {
        let mut bytes = [0; 64];
        let len = AdpcmEncoder::default().encode(&[0.1, -0.2, 0.3], 1, &mut bytes).unwrap();
        let mut out = [0.0; 3];
        assert!(len == 5 && decode(&bytes[..len], 1, 3, &mut out));
        assert!((out[0] - 0.1).abs() < 0.001, "{out:?}");
        assert!(!decode(&bytes[..len], 1, 5, &mut [0.0; 5]), "a length that does not fit");
        assert!(!decode(&bytes[..len], 1, 3, &mut [0.0; 2]), "no room");
        assert!(!decode(&bytes[..len], 0, 3, &mut out) && !decode(&bytes[..len], 3, 1, &mut out), "channels");
        bytes[2] = 89;
        assert!(!decode(&bytes[..len], 1, 3, &mut out), "a step that does not exist");
        assert_eq!(AdpcmEncoder::default().encode(&[0.0; 640], 2, &mut bytes), None);
    }

    #[test]
    fn what_is_no_number_is_a_sample_all_the_same() {
        let mut bytes = [0; 64];
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 9.0];
        let len = AdpcmEncoder::default().encode(&odd, 2, &mut bytes).unwrap();
        let mut out = [0.0; 4];
        assert!(decode(&bytes[..len], 2, 2, &mut out));
        assert!(out.iter().all(|sample| sample.abs() <= 1.0));
    }
}
