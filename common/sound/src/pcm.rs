//! Samples as bytes: 16 and 24 bits, little-endian. A sample that came from as many bits comes back as it was.

/// Returns the nearest whole step of full scale `scale`, within what signed integers of it hold; what is no number is 0.
fn step(sample: f32, scale: f32) -> i32 {
    // `as` turns what is no number into 0.
    (sample * scale).round().clamp(-scale, scale - 1.0) as i32
}

/// Writes samples of full scale 1 as 16 bits each and returns the bytes written: two for each sample that `out` has room for.
pub fn encode_16(samples: &[f32], out: &mut [u8]) -> usize {
    let (places, _) = out.as_chunks_mut::<2>();
    let mut written = 0;
    for (place, &sample) in places.iter_mut().zip(samples) {
        *place = (step(sample, 32_768.0) as i16).to_le_bytes();
        written += 2;
    }
    written
}

/// Reads samples of 16 bits until one of both ends, and returns how many.
pub fn decode_16(bytes: &[u8], out: &mut [f32]) -> usize {
    let (places, _) = bytes.as_chunks::<2>();
    for (sample, &place) in out.iter_mut().zip(places) {
        *sample = f32::from(i16::from_le_bytes(place)) / 32_768.0;
    }
    places.len().min(out.len())
}

/// Writes samples of full scale 1 as 24 bits each and returns the bytes written: three for each sample that `out` has room for.
pub fn encode_24(samples: &[f32], out: &mut [u8]) -> usize {
    let (places, _) = out.as_chunks_mut::<3>();
    let mut written = 0;
    for (place, &sample) in places.iter_mut().zip(samples) {
        let [low, middle, high, _] = step(sample, 8_388_608.0).to_le_bytes();
        *place = [low, middle, high];
        written += 3;
    }
    written
}

/// Reads samples of 24 bits until one of both ends, and returns how many.
pub fn decode_24(bytes: &[u8], out: &mut [f32]) -> usize {
    let (places, _) = bytes.as_chunks::<3>();
    for (sample, &[low, middle, high]) in out.iter_mut().zip(places) {
        // In the upper three bytes, so that the sign comes by itself.
        *sample = (i32::from_le_bytes([0, low, middle, high]) >> 8) as f32 / 8_388_608.0;
    }
    places.len().min(out.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_16_bit_sample_comes_back_as_it_was() {
        let all: Vec<u8> = (i16::MIN..=i16::MAX).flat_map(i16::to_le_bytes).collect();
        let mut samples = vec![0.0; all.len() / 2];
        assert_eq!(decode_16(&all, &mut samples), samples.len());
        let mut back = vec![0; all.len()];
        assert_eq!(encode_16(&samples, &mut back), back.len());
        assert_eq!(all, back);
    }

    #[test]
    fn every_24_bit_sample_comes_back_as_it_was() {
        let all: Vec<u8> = (-8_388_608_i32..8_388_608)
            .step_by(7)
            .chain([8_388_607])
            .flat_map(|value| value.to_le_bytes().into_iter().take(3))
            .collect();
        let mut samples = vec![0.0; all.len() / 3];
        assert_eq!(decode_24(&all, &mut samples), samples.len());
        let mut back = vec![0; all.len()];
        assert_eq!(encode_24(&samples, &mut back), back.len());
        assert_eq!(all, back);
    }

    #[test]
    fn what_is_beyond_full_scale_or_no_number_is_held() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0, -1.0, -7.0];
        let (mut short, mut long) = ([0; 12], [0; 18]);
        assert_eq!((encode_16(&odd, &mut short), encode_24(&odd, &mut long)), (12, 18));
        let (mut from_short, mut from_long) = ([9.0; 6], [9.0; 6]);
        assert_eq!((decode_16(&short, &mut from_short), decode_24(&long, &mut from_long)), (6, 6));
        assert_eq!(from_short, [0.0, 32_767.0 / 32_768.0, -1.0, 32_767.0 / 32_768.0, -1.0, -1.0]);
        assert_eq!(from_long[..3], [0.0, 8_388_607.0 / 8_388_608.0, -1.0]);
    }

    #[test]
    fn the_shorter_side_ends_it() {
        let mut out = [0; 5];
        assert_eq!((encode_16(&[0.5; 9], &mut out), encode_24(&[0.5; 9], &mut out)), (4, 3));
        let mut samples = [0.0; 9];
        assert_eq!((decode_16(&out, &mut samples), decode_24(&out, &mut samples)), (2, 1));
    }
}
