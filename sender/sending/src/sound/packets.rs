//! Captured samples as packets of a fixed number of frames.

use common::stream::sound::SoundPacket;
use common::units::Timestamp;
use sound::adpcm::{self, AdpcmEncoder};
use sound::format::{Coding, Format};
use sound::level::Level;
use sound::opus::Encoder;
use sound::{Cycle, RATE_HZ, pcm};

/// Most bytes of a packet of Opus: its length travels in one byte.
const OPUS_BYTES_MAX: usize = u8::MAX as usize;

/// Cuts what is captured into packets and codes them.
pub(super) struct Packets {
    format: Format,
    number: u32,
    /// Samples that are no packet yet, all channels.
    samples: Vec<f32>,
    /// Count and time of the next packet's first frame.
    begin: Option<Cycle>,
    /// Count of the card's next frame.
    next_frame: u64,
    adpcm: AdpcmEncoder,
    /// None but of Opus.
    opus: Option<Encoder>,
    /// True if packets of Opus have what was captured, too.
    keeps_captured: bool,
    /// Gain at the end of the last packet: it follows the mute without a jump.
    gain: f32,
}

impl Packets {
    /// Creates packets of this format. `bps`: rate of Opus, bits a second; `keeps_captured`: whether packets of Opus have what was
    /// captured, too.
    pub(super) fn new(format: Format, bps: u32, keeps_captured: bool) -> Self {
        Self {
            format,
            number: 0,
            samples: Vec::new(),
            begin: None,
            next_frame: 0,
            adpcm: AdpcmEncoder::default(),
            opus: encoder(format, bps),
            keeps_captured,
            gain: 1.0,
        }
    }

    /// Goes on with packets of this format, if it is another. Nothing that waits is lost, and a microphone that is muted stays so.
    pub(super) fn change(&mut self, format: Format, bps: u32) {
        if self.format != format {
            (self.format, self.opus, self.adpcm) = (format, encoder(format, bps), AdpcmEncoder::default());
        }
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
        let left_out = cycle.frame.wrapping_sub(self.next_frame);
        self.next_frame = cycle.frame.wrapping_add((samples.len() / channels) as u64);
        let begin = match self.begin {
            Some(begin) if left_out == 0 => begin,
            // The card has left something out, and what waits does not belong to what comes. A later packet begins where it would have
            // begun, so that a number stays a position.
            Some(begin) if left_out < u64::from(RATE_HZ) => {
                let packets = cycle.frame.saturating_sub(begin.frame).div_ceil(frames as u64);
                self.number = self.number.wrapping_add(packets as u32);
                self.samples.clear();
                let frame = begin.frame + packets * frames as u64;
                Cycle { frame, us: cycle.us + us_of(frame - cycle.frame) }
            }
            // Another card, or one that went back.
            _ => {
                self.samples.clear();
                cycle
            }
        };
        self.begin = Some(begin);
        let early = begin.frame.saturating_sub(cycle.frame) as usize * channels;
        self.samples.extend_from_slice(samples.get(early..).unwrap_or_default());
        let mut used = 0;
        while let (Some(begin), true) = (self.begin, self.samples.len() - used >= frames * channels) {
            let end = used + frames * channels;
            let mut block = self.samples[used..end].to_vec();
            let packet = self.packet(&mut block, time(begin.us), is_muted);
            // What cannot be coded is as if it were lost.
            if packet.is_muted || !packet.whole.is_empty() {
                put(packet);
            }
            used = end;
            self.begin = Some(Cycle { frame: begin.frame + frames as u64, us: begin.us + us_of(frames as u64) });
        }
        self.samples.drain(..used);
        // The time of the rest is that of its own period, or a clock that is not quite 48 kHz would go wrong.
        if let (Some(begin), true) = (&mut self.begin, used > 0) {
            begin.us = cycle
                .us
                .saturating_add_signed(begin.frame.wrapping_sub(cycle.frame) as i64 * 1_000_000 / i64::from(RATE_HZ));
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
        let mut packet = SoundPacket {
            number,
            format,
            capture,
            is_muted: is_silent,
            level,
            whole: Vec::new(),
            adpcm: Vec::new(),
            captured: Vec::new(),
        };
        if is_silent {
            return packet;
        }
        if format.coding == Coding::Opus {
            packet.whole.resize(OPUS_BYTES_MAX, 0);
            let bytes = self.opus.as_mut().map_or(0, |opus| opus.encode(block, &mut packet.whole));
            packet.whole.truncate(bytes);
            if self.keeps_captured {
                packet.captured.resize(2 * block.len(), 0);
                pcm::encode_16(block, &mut packet.captured);
            }
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

/// Returns what packets of Opus are coded with.
fn encoder(format: Format, bps: u32) -> Option<Encoder> {
    let opus = (format.coding == Coding::Opus).then(|| Encoder::new(format.channels, bps));
    opus.and_then(|opus| opus.inspect_err(|error| tracing::warn!("{error}")).ok())
}

/// Returns the time of so many frames, us.
fn us_of(frames: u64) -> u64 {
    frames * 1_000_000 / u64::from(RATE_HZ)
}

/// Changes the gain of a block evenly from `from` to `to`.
fn fade(block: &mut [f32], channels: usize, from: f32, to: f32) {
    let frames = block.len() / channels;
    for (place, frame) in block.chunks_exact_mut(channels).enumerate() {
        let part = (place + 1) as f32 / frames as f32;
        frame.iter_mut().for_each(|sample| *sample *= from + (to - from) * part);
    }
}

#[cfg(test)]
mod tests {
    use sound::format::Channels;

    use super::*;

    const STEREO: Format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 128 };

    /// Takes periods of `frames` frames, of which each sample is `value`; the card's clock begins at frame 1000.
    struct Card {
        packets: Packets,
        frame: u64,
        made: Vec<SoundPacket>,
    }

    impl Card {
        fn new(format: Format) -> Self {
            Self { packets: Packets::new(format, 128_000, true), frame: 1_000, made: Vec::new() }
        }

        fn period(&mut self, frames: u64, value: f32, is_muted: bool) {
            let samples = vec![value; frames as usize * self.packets.format.channels.count()];
            let cycle = Cycle { frame: self.frame, us: 1_000_000 + self.frame / 6 * 125 };
            self.packets.take(&samples, cycle, is_muted, Timestamp::from_us, |packet| self.made.push(packet));
            self.frame += frames;
        }

        fn numbers(&self) -> Vec<u32> {
            self.made.iter().map(|packet| packet.number).collect()
        }
    }

    #[test]
    fn whatever_the_cards_period_packets_have_their_frames_and_the_time_of_their_first() {
        for period in [32, 64, 100, 128, 256, 441, 1_024] {
            let mut card = Card::new(STEREO);
            (0..40).for_each(|_| card.period(period, 0.25, false));
            let first = (40 * period / 128) as usize;
            assert_eq!((card.made.len(), card.numbers()[0]), (first, 0), "{period}");
            for (place, packet) in card.made.iter().enumerate() {
                let expected = 1_000_000 + (1_000 + 128 * place as u64) / 6 * 125;
                assert!(packet.capture.as_us().abs_diff(expected) <= 126, "{period}: {place}");
                assert_eq!((packet.whole.len(), packet.adpcm.len()), (512, adpcm::block_bytes(2, 128)));
                assert!(packet.whole.chunks(2).all(|sample| sample == 8_192_i16.to_le_bytes()));
                assert_eq!(packet.level, Level::of(0.25));
            }
        }
    }

    #[test]
    fn what_a_card_leaves_out_is_left_out_and_a_number_stays_a_position() {
        let mut card = Card::new(STEREO);
        card.period(64, 0.1, false);
        let mut random = 1_u64;
        for _ in 0..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let frames = [32, 64, 100, 128, 441][(random >> 33) as usize % 5];
            card.frame += [0, 0, 0, 1, 40, 127, 128, 5_000][(random >> 40) as usize % 8];
            card.period(frames, 0.1, false);
        }
        assert!(card.made.len() > 500, "{}", card.made.len());
        for packet in &card.made {
            // The time of its first frame: the card's frame 1000 is the first of packet 0.
            let expected = 1_000_000 + (1_000 + 128 * u64::from(packet.number)) * 1_000 / 48;
            assert!(packet.capture.as_us().abs_diff(expected) <= 150, "{}: {:?}", packet.number, packet.capture);
            assert_eq!(packet.whole.len(), 512);
        }
        // A clock that goes back or far ahead neither panics nor floods, and numbers rise.
        for frame in [0, u64::MAX / 64, 5] {
            card.frame = frame;
            (0..4).for_each(|_| card.period(64, 0.1, false));
        }
        let numbers = card.numbers();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]) && numbers.len() < 50_000);
    }

    #[test]
    fn a_change_of_coding_loses_nothing_and_opens_no_microphone() {
        let opus = Format { coding: Coding::Opus, frames: sound::opus::FRAMES, ..STEREO };
        let mut card = Card::new(STEREO);
        (0..3).for_each(|_| card.period(64, 0.1, true));
        card.packets.change(opus, 128_000);
        (0..8).for_each(|_| card.period(64, 0.1, true));
        assert_eq!(card.made.len(), 1 + (64 + 8 * 64) / 120);
        assert!(card.made[1..].iter().all(|packet| packet.is_muted && packet.whole.is_empty()));
        assert_eq!(card.numbers(), (0..card.made.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn a_microphone_is_muted_and_opened_without_a_jump() {
        let mut card = Card::new(STEREO);
        for is_muted in [false, true, true, false, false] {
            card.period(128, 0.5, is_muted);
        }
        let samples: Vec<i16> = card
            .made
            .iter()
            .flat_map(|packet| match packet.is_muted {
                true => vec![0; 256],
                false => packet.whole.chunks(2).map(|sample| i16::from_le_bytes([sample[0], sample[1]])).collect(),
            })
            .collect();
        assert_eq!(
            card.made.iter().map(|packet| packet.is_muted).collect::<Vec<_>>(),
            [false, false, true, false, false]
        );
        assert!(card.made[2].whole.is_empty() && card.made[2].level == Level::SILENCE);
        let left: Vec<_> = samples.chunks(2).map(|frame| i32::from(frame[0])).collect();
        assert!(left.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 130), "{left:?}");
        assert_eq!((left[0], left[2 * 128], left[4 * 128 + 127]), (16_384, 0, 16_384));
    }

    #[test]
    fn opus_has_packets_of_its_own_length() {
        let mut card = Card::new(Format { coding: Coding::Opus, frames: sound::opus::FRAMES, ..STEREO });
        (0..30).for_each(|_| card.period(64, 0.1, false));
        assert_eq!(card.made.len(), 16);
        assert!(card.made.iter().all(|packet| packet.whole.len() == 40 && packet.adpcm.is_empty()));
        assert!(card.made.iter().all(|packet| packet.captured.len() == 480), "for a recording here");
    }
}
