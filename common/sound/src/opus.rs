//! Opus in frames of 2.5 ms, through libopus: for lines on which PCM leaves too little for pictures. Restricted low delay adds 2.5 ms to
//! its frame; its own mending is for speech, so that what is lost is mended by copies and concealment as with PCM.

use ::opus::{Application, Bitrate, Channels as Count};

use crate::RATE_HZ;
use crate::format::Channels;

/// Frames of a packet.
pub const FRAMES: u16 = 120;

/// libopus refused.
#[derive(Debug, thiserror::Error)]
#[error("sound cannot be coded with Opus: {0}")]
pub struct OpusError(#[from] ::opus::Error);

fn count(channels: Channels) -> Count {
    match channels {
        Channels::Mono => Count::Mono,
        Channels::Stereo => Count::Stereo,
    }
}

/// Encodes packet after packet.
pub struct Encoder(::opus::Encoder);

impl Encoder {
    /// Creates an encoder of `bps` bits a second.
    pub fn new(channels: Channels, bps: u32) -> Result<Self, OpusError> {
        let mut encoder = ::opus::Encoder::new(RATE_HZ, count(channels), Application::LowDelay)?;
        encoder.set_bitrate(Bitrate::Bits(bps as i32))?;
        // Each packet has as much as the line was told.
        encoder.set_vbr(false)?;
        Ok(Self(encoder))
    }

    /// Encodes [`FRAMES`] interleaved frames into `out` and returns the bytes; 0 where they are others, or do not fit.
    pub fn encode(&mut self, samples: &[f32], out: &mut [u8]) -> usize {
        self.0.encode_float(samples, out).unwrap_or(0)
    }
}

/// Decodes packet after packet, of one channel or two. Decoding does not allocate.
pub struct Decoder([::opus::Decoder; 2]);

impl Decoder {
    /// Creates a decoder.
    pub fn new() -> Result<Self, OpusError> {
        let decoder = |count| ::opus::Decoder::new(RATE_HZ, count);
        Ok(Self([decoder(Count::Mono)?, decoder(Count::Stereo)?]))
    }

    /// Decodes a packet of [`FRAMES`] frames into `out`; false where it is none.
    pub fn decode(&mut self, channels: Channels, bytes: &[u8], out: &mut [f32]) -> bool {
        let decoder = &mut self.0[channels.count() - 1];
        // Of a longer packet nothing is used: its sound would have no room. Nothing would be libopus's own concealment.
        !bytes.is_empty() && decoder.decode_float(bytes, out, false).is_ok_and(|frames| frames == usize::from(FRAMES))
    }

    /// Begins with a stream whose encoder is new.
    pub fn start(&mut self) {
        // libopus refuses this of no decoder that it has made.
        self.0.iter_mut().for_each(|decoder| drop(decoder.reset_state()));
    }

    /// Takes that a packet is missing. Otherwise what comes next, which tells its loudness by the difference to it, might be twice as loud.
    pub fn miss(&mut self, channels: Channels) {
        let mut out = [0.0; 2 * FRAMES as usize];
        // None of it is heard, and what libopus says of it changes nothing.
        let _ =
            self.0[channels.count() - 1].decode_float(&[], &mut out[..channels.count() * usize::from(FRAMES)], false);
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoder")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_heard_a_frame_later() {
        for channels in [Channels::Mono, Channels::Stereo] {
            let mut encoder = Encoder::new(channels, 64_000 * channels.count() as u32).unwrap();
            let mut decoder = Decoder::new().unwrap();
            let (mut sent, mut heard) = (Vec::new(), Vec::new());
            for packet in 0..80 {
                let at = |frame: usize| (0.06 * (packet * 120 + frame) as f32).sin() * 0.5;
                let block: Vec<f32> = (0..120).flat_map(|frame| vec![at(frame); channels.count()]).collect();
                let (mut bytes, mut out) = ([0; 255], vec![0.0; block.len()]);
                let len = encoder.encode(&block, &mut bytes);
                // 20 bytes a channel each 2.5 ms.
                assert!((15 * channels.count()..=21 * channels.count()).contains(&len), "{len}");
                assert!(decoder.decode(channels, &bytes[..len], &mut out));
                sent.extend(block);
                heard.extend(out);
            }
            let delayed = 120 * channels.count();
            let (mut signal, mut noise) = (0.0, 0.0);
            for (sent, heard) in sent.iter().zip(&heard[delayed..]).skip(20 * delayed) {
                signal += sent * sent;
                noise += (sent - heard) * (sent - heard);
            }
            assert!(signal > 100.0 * noise, "{channels:?}: {signal} {noise}");
        }
    }

    #[test]
    fn what_is_no_packet_is_not_heard() {
        let mut decoder = Decoder::new().unwrap();
        let mut out = [0.0; 240];
        let long = [3 << 3, 1, 2, 3];
        for bytes in [&[][..], &[0xff], &[0xff; 255], &long] {
            assert!(!decoder.decode(Channels::Stereo, bytes, &mut out), "{bytes:?}");
        }
    }
}
