//! The sound that the audience hears: what is played at the host's place and what the host plays, mixed by the card's clock.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cards::{Capture, CardInfo, Halves, Playback};
use common::units::Timestamp;
use net::clock;
use rtrb::{Consumer, Producer, RingBuffer};
use shell::settings::SoundSide;
use sound::format::Channels;
use sound::{Cycle, RATE_HZ};

/// Frames of a block: 20 ms.
pub(crate) const BLOCK_FRAMES: usize = RATE_HZ as usize / 50;
/// Channels of the mix.
pub(crate) const CHANNELS: usize = 2;
/// Frames that wait for the mixer at most.
const WAITING: usize = RATE_HZ as usize / 2;
/// Periods that wait.
const PERIODS: usize = 1024;
/// Frames by which a side may be behind the other before the mix goes on without it.
const BEHIND: i64 = RATE_HZ as i64 / 10;
/// Frames that are mixed at once.
const MIXED: i64 = RATE_HZ as i64;

/// A place at which a call's sound goes by. It costs the callback a copy.
#[derive(Debug)]
pub struct SoundTap(Sender<Sides>);

/// The ends of the two callbacks of a card: captured, and played.
#[derive(Debug)]
struct Sides([Option<Side>; 2]);

#[derive(Clone, Copy, Debug)]
struct Period {
    cycle: Cycle,
    samples: usize,
}

#[derive(Debug)]
struct Side {
    periods: Consumer<Period>,
    samples: Consumer<f32>,
    channels: usize,
    /// Frames from the count of the card to the air: negative to the past.
    to_air: i64,
}

/// The end in a callback.
struct Out {
    periods: Producer<Period>,
    samples: Producer<f32>,
}

impl Out {
    /// Copies a period; one for which there is no room is lost whole.
    fn push(&mut self, samples: &[f32], cycle: Cycle) {
        if self.periods.slots() > 0 && self.samples.slots() >= samples.len() {
            let _ = self.samples.push_partial_slice(samples);
            let _ = self.periods.push(Period { cycle, samples: samples.len() });
        }
    }
}

fn ring(channels: Channels, to_air: i64) -> (Out, Side) {
    let channels = channels.count();
    let (periods, periods_end) = RingBuffer::new(PERIODS);
    let (samples, samples_end) = RingBuffer::new(WAITING * channels);
    (Out { periods, samples }, Side { periods: periods_end, samples: samples_end, channels, to_air })
}

struct TappedCapture {
    inner: Box<dyn Capture>,
    out: Out,
    side: SoundSide,
    /// True if the own sound is in what is played already.
    plays: bool,
}

impl Capture for TappedCapture {
    fn capture(&mut self, samples: &[f32], cycle: Cycle) {
        self.inner.capture(samples, cycle);
        let is_heard_twice = self.plays && self.side.own_delay_us().is_some();
        if !self.side.is_muted() && !is_heard_twice {
            self.out.push(samples, cycle);
        }
    }
}

struct TappedPlayback {
    inner: Box<dyn Playback>,
    out: Out,
}

impl Playback for TappedPlayback {
    fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
        self.inner.play(samples, cycle);
        self.out.push(samples, cycle);
    }
}

/// Returns a place for sound to go by, and what mixes it.
pub(crate) fn tap() -> (SoundTap, Mixer) {
    let (sides, sides_end) = channel();
    (SoundTap(sides), Mixer { opened: sides_end, sides: None, mix: Mix::default() })
}

impl SoundTap {
    /// Returns halves of a card that do what `halves` do, and whose sound is heard here too. `side` says when the microphone is off.
    pub fn tapped(&self, halves: Halves, card: &CardInfo, side: &SoundSide) -> Halves {
        let Halves { capture, playback } = halves;
        let plays = playback.is_some();
        let mut sides = [None, None];
        let capture = capture.map(|inner| {
            let (out, end) = ring(card.capture.unwrap_or_default(), -i64::from(card.input_latency_frames));
            sides[0] = Some(end);
            Box::new(TappedCapture { inner, out, side: side.clone(), plays }) as Box<dyn Capture>
        });
        let playback = playback.map(|inner| {
            let (out, end) = ring(card.playback.unwrap_or_default(), i64::from(card.output_latency_frames));
            sides[1] = Some(end);
            Box::new(TappedPlayback { inner, out }) as Box<dyn Playback>
        });
        // A publisher that has ended takes none.
        let _ = self.0.send(Sides(sides));
        Halves { capture, playback }
    }
}

/// Sound of [`BLOCK_FRAMES`], two channels interleaved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// Time at which its first frame was in the air.
    pub(crate) at: Timestamp,
    /// Its samples.
    pub(crate) samples: Vec<f32>,
}

/// Mixes both sides.
#[derive(Debug)]
pub(crate) struct Mixer {
    opened: Receiver<Sides>,
    sides: Option<Sides>,
    mix: Mix,
}

impl Mixer {
    /// Takes what has come and returns the next block, once it is whole.
    pub(crate) fn next(&mut self) -> Option<Block> {
        if let Some(sides) = self.opened.try_iter().last() {
            (self.sides, self.mix) = (Some(sides), Mix::default());
        }
        let mut room = Vec::new();
        for (number, side) in self.sides.iter_mut().flat_map(|sides| sides.0.iter_mut().enumerate()) {
            let Some(side) = side else { continue };
            while let Ok(Period { cycle, samples }) = side.periods.pop() {
                room.resize(samples, 0.0);
                let (taken, _) = side.samples.pop_partial_slice(&mut room);
                let first = cycle.frame as i64 + side.to_air;
                self.mix.add(number, taken, side.channels, first, cycle, side.to_air);
            }
        }
        self.mix.next()
    }
}

/// Sound by the count of a card's frames.
#[derive(Debug, Default)]
struct Mix {
    /// Frame of the first sample.
    at: Option<i64>,
    samples: Vec<f32>,
    /// End of what each side has given.
    through: [Option<i64>; 2],
    /// A frame and its time on the monotonic clock, us.
    known: (i64, u64),
}

impl Mix {
    fn add(&mut self, side: usize, samples: &[f32], channels: usize, first: i64, cycle: Cycle, to_air: i64) {
        let frames = (samples.len() / channels.max(1)) as i64;
        let at = *self.at.get_or_insert(first);
        if first - at > 2 * MIXED || at - first > 2 * MIXED {
            // The card counts anew.
            *self = Self { at: Some(first), ..Self::default() };
        }
        let at = self.at.unwrap_or(first);
        self.known = (first, cycle.us.saturating_add_signed(to_air * 1_000_000 / i64::from(RATE_HZ)));
        self.through[side] = Some(first + frames);
        let end = (first + frames - at).clamp(0, 3 * MIXED) as usize * CHANNELS;
        if self.samples.len() < end {
            self.samples.resize(end, 0.0);
        }
        for (frame, sound) in samples.chunks_exact(channels.max(1)).enumerate() {
            let Ok(place) = usize::try_from(first + frame as i64 - at) else { continue };
            let Some(out) = self.samples.get_mut(place * CHANNELS..(place + 1) * CHANNELS) else { break };
            for (channel, out) in out.iter_mut().enumerate() {
                let sample = sound[channel.min(sound.len() - 1)];
                *out += if sample.is_finite() { sample } else { 0.0 };
            }
        }
    }

    fn next(&mut self) -> Option<Block> {
        let at = self.at?;
        let newest = self.through.iter().flatten().max()?;
        let through = self.through.iter().flatten().filter(|through| *newest - **through < BEHIND).min()?;
        if through - at < BLOCK_FRAMES as i64 {
            return None;
        }
        let rest = self.samples.split_off(self.samples.len().min(BLOCK_FRAMES * CHANNELS));
        let mut samples = std::mem::replace(&mut self.samples, rest);
        samples.resize(BLOCK_FRAMES * CHANNELS, 0.0);
        samples.iter_mut().for_each(|sample| *sample = sample.clamp(-1.0, 1.0));
        self.at = Some(at + BLOCK_FRAMES as i64);
        let (frame, us) = self.known;
        let us = us.saturating_add_signed((at - frame) * 1_000_000 / i64::from(RATE_HZ));
        Some(Block { at: clock::of_monotonic(us), samples })
    }
}

/// Codes blocks with Opus.
pub(crate) struct OpusCoder {
    encoder: opus::Encoder,
    /// Time by which what is decoded is behind what was coded.
    lookahead: Duration,
}

impl std::fmt::Debug for OpusCoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpusCoder")
    }
}

impl OpusCoder {
    /// Creates a coder of so many bits a second.
    pub(crate) fn new(bps: u32) -> Result<Self, opus::Error> {
        let mut encoder = opus::Encoder::new(RATE_HZ, opus::Channels::Stereo, opus::Application::Audio)?;
        encoder.set_bitrate(opus::Bitrate::Bits(bps as i32))?;
        let lookahead = encoder.get_lookahead()?.unsigned_abs();
        Ok(Self { encoder, lookahead: Duration::from_secs(lookahead.into()) / RATE_HZ })
    }

    /// Returns a block as a packet, and the time of the first sample that is decoded from it.
    pub(crate) fn code(&mut self, block: &Block) -> Result<(Timestamp, Vec<u8>), opus::Error> {
        let packet = self.encoder.encode_vec_float(&block.samples, 1500)?;
        let lookahead_us = self.lookahead.as_micros() as u64;
        Ok((Timestamp::from_us(block.at.as_us().saturating_sub(lookahead_us)), packet))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Returns the next blocks.
    fn blocks(mixer: &mut Mixer, count: usize) -> Vec<Block> {
        std::iter::from_fn(|| mixer.next()).take(count).collect()
    }

    fn card(input: u32, output: u32, channels: [Option<Channels>; 2]) -> CardInfo {
        CardInfo {
            backend: cards::Backend::Alsa,
            name: String::new(),
            rate_hz: RATE_HZ,
            period_frames: 128,
            capture: channels[0],
            playback: channels[1],
            input_latency_frames: input,
            output_latency_frames: output,
        }
    }

    struct Hears;

    impl Capture for Hears {
        fn capture(&mut self, _: &[f32], _: Cycle) {}
    }

    /// Plays a ramp by time in the air.
    struct Plays(i64);

    impl Playback for Plays {
        fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
            for (frame, out) in samples.chunks_exact_mut(2).enumerate() {
                out.fill((cycle.frame as i64 + self.0 + frame as i64) as f32 / 2e6);
            }
        }
    }

    #[test]
    fn what_is_in_the_air_at_once_is_mixed_together() {
        let (tap, mut mixer) = tap();
        let side = SoundSide::default();
        let card = card(300, 500, [Some(Channels::Mono), Some(Channels::Stereo)]);
        let halves = Halves { capture: Some(Box::new(Hears)), playback: Some(Box::new(Plays(500))) };
        let mut halves = tap.tapped(halves, &card, &side);
        let (mut heard, mut played) = ([0.0; 128], [0.0; 256]);
        for period in 0..400_u64 {
            let us = clock::to_monotonic(Timestamp::from_us(1_000_000 + 128 * period * 125 / 6));
            let cycle = Cycle { frame: 128 * period, us };
            for (frame, sample) in heard.iter_mut().enumerate() {
                *sample = (128 * period as i64 - 300 + frame as i64) as f32 / 2e6;
            }
            side.set_muted(period >= 300);
            halves.capture.as_mut().unwrap().capture(&heard, cycle);
            halves.playback.as_mut().unwrap().play(&mut played, cycle);
            assert_eq!(played[0], (128 * period + 500) as f32 / 2e6, "the ear has what it had");
            if period % 9 == 8 {
                for block in blocks(&mut mixer, 100) {
                    // Of what the microphone had while it was off, nothing is heard.
                    let frame = |at: Timestamp| (at.as_us() as f64 - 1e6) * 6.0 / 125.0;
                    let first = frame(block.at).round();
                    let both = first > 600.0 && first < 300.0 * 128.0 - 1_300.0;
                    let one = first > 300.0 * 128.0;
                    for (at, sample) in block.samples.iter().enumerate() {
                        let wanted = (first as f32 + (at / 2) as f32) / if one { 2e6 } else { 1e6 };
                        assert!(!(both || one) || (sample - wanted).abs() < 3e-6, "{first} {at}: {sample} {wanted}");
                    }
                }
            }
        }
        let mix = &mixer.mix;
        assert!(mix.at.unwrap() > 49_000 && mix.samples.len() < 2 * 9_600, "{:?} {}", mix.at, mix.samples.len());
    }

    #[test]
    fn one_side_alone_is_enough_and_any_count_is_borne() {
        let (tap, mut mixer) = tap();
        let side = SoundSide::default();
        let halves = Halves { capture: Some(Box::new(Hears)), playback: None };
        let mut halves = tap.tapped(halves, &card(u32::MAX, 0, [Some(Channels::Stereo), None]), &side);
        for frame in [0, 128, u64::MAX / 4, 0, 1 << 40] {
            halves.capture.as_mut().unwrap().capture(&[f32::NAN; 256], Cycle { frame, us: u64::MAX });
            assert!(mixer.next().is_none_or(|block| block.samples.iter().all(|sample| *sample == 0.0)));
        }
        for period in 0..20 {
            let cycle = Cycle { frame: 128 * period, us: 9 };
            halves.capture.as_mut().unwrap().capture(&[0.5; 256], cycle);
        }
        let blocks = blocks(&mut mixer, 9);
        assert_eq!(blocks.len(), 2);
        assert!(blocks.iter().all(|block| block.samples == [0.5; 1920]));
        let mut coder = OpusCoder::new(96_000).unwrap();
        let bytes = coder.code(&blocks[0]).unwrap().1.len();
        assert!((10..800).contains(&bytes), "{bytes}");
    }

    /// A click is decoded at the time at which it was in the air.
    #[test]
    fn a_packet_has_the_time_of_what_is_decoded_from_it() {
        let mut coder = OpusCoder::new(96_000).unwrap();
        let mut decoder = opus::Decoder::new(RATE_HZ, opus::Channels::Stereo).unwrap();
        let (clicks_us, mut heard_us) = (1_543_210_u64, None);
        let mut samples = [0.0; 2 * BLOCK_FRAMES];
        for number in 0..50_u64 {
            let at = Timestamp::from_us(1_000_000 + 20_000 * number);
            let mut block = Block { at, samples: vec![0.0; 2 * BLOCK_FRAMES] };
            for (frame, out) in block.samples.chunks_exact_mut(2).enumerate() {
                let us = at.as_us() + frame as u64 * 125 / 6;
                out.fill(if us >= clicks_us { (frame as f32 * 0.4).sin() * 0.7 } else { 0.0 });
            }
            let (time, packet) = coder.code(&block).unwrap();
            let frames = decoder.decode_float(&packet, &mut samples, false).unwrap();
            let loud = samples[..2 * frames].iter().step_by(2).position(|sample| sample.abs() > 0.1);
            heard_us = heard_us.or(loud.map(|frame| time.as_us() + frame as u64 * 125 / 6));
        }
        let off_us = heard_us.unwrap().abs_diff(clicks_us);
        assert!(off_us < 1_000, "{off_us} us");
    }
}
