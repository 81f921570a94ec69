//! Captured samples as packets of a fixed number of frames.

use common::stream::sound::SoundPacket;
use common::units::Timestamp;
use sound::adpcm::{self, AdpcmEncoder};
use sound::format::{Coding, Format};
use sound::level::Level;
use sound::{Cycle, RATE_HZ, pcm};

/// Most bytes of a packet of Opus: its length travels in one byte.
const OPUS_BYTES_MAX: usize = u8::MAX as usize;

/// Cuts what is captured into packets and codes them.
pub(super) struct Packets {
    format: Format,
    number: u32,
    /// Samples that are no packet yet, all channels, and the time of the first.
    samples: Vec<f32>,
    begin: Option<Cycle>,
    adpcm: AdpcmEncoder,
    /// Gain at the end of the last packet: it follows the mute without a jump.
    gain: f32,
}

impl Packets {
    /// Creates packets of this format, of numbers from `number` on. `bps`: rate of Opus, bits a second.
    pub(super) fn new(format: Format, number: u32, bps: u32) -> Self {
        Self { format, number, samples: Vec::new(), begin: None, adpcm: AdpcmEncoder::default(), gain: 1.0 }
    }

    /// Returns the format.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Returns the number of the next packet.
    pub(super) fn next_number(&self) -> u32 {
        self.number
    }

    /// Takes a period; gives each packet that is full to `put`. `time`: the time of a card's clock as the network has it.
    pub(super) fn take(
        &mut self,
        samples: &[f32],
        cycle: Cycle,
        is_muted: bool,
        time: impl Fn(u64) -> Timestamp,
        mut put: impl FnMut(SoundPacket),
    ) {
        let channels = self.format.channels.count();
        let frames = usize::from(self.format.frames);
        let expected = self.begin.map(|begin| begin.frame + (self.samples.len() / channels) as u64);
        if expected.is_some_and(|expected| expected != cycle.frame) {
            // The card has left something out: what is there does not belong together, and the numbers skip as much.
            let begin = self.begin.map_or(cycle.frame, |begin| begin.frame);
            let skipped = cycle.frame.saturating_sub(begin).div_ceil(frames as u64).clamp(1, u64::from(RATE_HZ));
            self.number = self.number.wrapping_add(skipped as u32);
            self.samples.clear();
        }
        if self.samples.is_empty() {
            self.begin = Some(cycle);
        }
        self.samples.extend_from_slice(samples);
        let mut used = 0;
        while let (Some(begin), true) = (self.begin, self.samples.len() - used >= frames * channels) {
            let end = used + frames * channels;
            let mut block = self.samples[used..end].to_vec();
            put(self.packet(&mut block, time(begin.us), is_muted));
            used = end;
            self.begin = Some(Cycle {
                frame: begin.frame + frames as u64,
                us: begin.us + frames as u64 * 1_000_000 / u64::from(RATE_HZ),
            });
        }
        // The time of the rest is that of its own period, or a clock that is not quite 48 kHz would go wrong.
        self.samples.drain(..used);
        if used > 0 {
            let rest = (self.samples.len() / channels) as u64;
            let after = (samples.len() / channels) as u64 - rest.min((samples.len() / channels) as u64);
            let us = cycle.us + after * 1_000_000 / u64::from(RATE_HZ);
            self.begin = self.begin.map(|begin| Cycle { us, ..begin });
        }
    }

    fn packet(&mut self, block: &mut [f32], capture: Timestamp, is_muted: bool) -> SoundPacket {
        let format = self.format;
        let own = Level::of(block.iter().fold(0.0, |most: f32, sample| most.max(sample.abs())));
        let goal = if is_muted { 0.0 } else { 1.0 };
        let is_silent = is_muted && self.gain == 0.0;
        if self.gain != goal {
            fade(block, format.channels.count(), self.gain, goal);
            self.gain = goal;
        }
        let level = if is_silent { Level::SILENCE } else { own };
        let number = self.number;
        self.number = number.wrapping_add(1);
        let mut packet =
            SoundPacket { number, format, capture, is_muted: is_silent, level, whole: Vec::new(), adpcm: Vec::new() };
        if is_silent {
            return packet;
        }
        packet.whole.resize(format.whole_bytes().unwrap_or_default(), 0);
        packet.adpcm.resize(adpcm::block_bytes(format.channels.count(), format.frames.into()), 0);
        match format.coding {
            Coding::Pcm24 => pcm::encode_24(block, &mut packet.whole),
            Coding::Pcm16 | Coding::Opus => pcm::encode_16(block, &mut packet.whole),
        };
        self.adpcm.encode(block, format.channels.count(), &mut packet.adpcm);
        packet
    }
}

/// Changes the gain of a block evenly from `from` to `to`.
fn fade(block: &mut [f32], channels: usize, from: f32, to: f32) {
    let frames = block.len() / channels;
    for (place, frame) in block.chunks_exact_mut(channels).enumerate() {
        let part = (place + 1) as f32 / frames as f32;
        frame.iter_mut().for_each(|sample| *sample *= from + (to - from) * part);
    }
}
