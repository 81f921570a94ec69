//! Sound beside pictures: one zero, in step, and whatever befalls it.

use std::path::PathBuf;

use common::units::FrameId;
use picture::coded::{FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize, Raster};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;
use sound::RATE_HZ;
use sound::format::{Channels, Coding, Format};

use super::numbers::{Numbers, Unnumbered};
use super::slope::Slope;
use super::wav::HEADER_BYTES;
use super::writer::Writer;
use super::*;

const MONO: Format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: 256 };

/// A folder that goes with its value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("duet-record-sound-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A machine there with a camera, a card and a clock, and the recording here.
struct There {
    writer: Writer,
    stream: Arc<Recorded>,
    frames: u64,
    packets: u64,
    /// Clock there less the one here, us.
    offset_us: i64,
    /// The card's frame 0 was captured then, us of the clock there.
    card_us: f64,
    /// Samples a second of that clock.
    rate: f64,
    samples: u64,
}

fn stream(serial: u64, width: u32) -> Arc<Recorded> {
    let params = StreamParams {
        size: FrameSize::new(width, 64).unwrap(),
        frame_rate: FrameRate::new(30, 1).unwrap(),
        chroma: Chroma::Grey,
        colour: ColourSpace::JPEG,
        raster: Raster::default(),
        codec: CodecParams { profile: Profile::Quad, ..CodecParams::default() },
    };
    Arc::new(Recorded { serial, params, start: FrameId(0) })
}

impl There {
    fn new(path: &Path) -> Self {
        Self {
            writer: Writer::new(path, "received"),
            stream: stream(1, 64),
            frames: 0,
            packets: 0,
            offset_us: 7_000_000,
            card_us: 9_000_000.0,
            rate: 48_000.0,
            samples: 0,
        }
    }

    /// Takes a picture captured at `us` of the clock there, which is here 40 ms later.
    fn picture(&mut self, us: u64) {
        let steps = FrameHeader { step: StepIndex::MIN, fine_blocks: 1 };
        let mut frame = ReceivedFrame::empty(steps, BlockLayout::new(&self.stream.params).blocks().len());
        frame.insert(0, &[7; 10]);
        let id = FrameId(self.frames as u32);
        let kept = KeptFrame { id, reference: 0, frame, capture: Timestamp::from_us(us) };
        self.writer.frame(&self.stream, kept, self.here(us + 40_000), self.frames).unwrap();
        self.frames += 1;
    }

    fn here(&self, us: u64) -> Timestamp {
        Timestamp::from_us(us.saturating_add_signed(-self.offset_us))
    }

    /// Returns the time there at which the card's next sample is captured, us.
    fn next_us(&self) -> u64 {
        (self.card_us + self.samples as f64 * 1e6 / self.rate) as u64
    }

    /// Takes the next packet, of which each sample is its number's lower bits.
    fn sound(&mut self, format: Format) {
        let samples = self.samples..self.samples + u64::from(format.frames);
        let bytes = samples.flat_map(|sample| vec![sample as i16; format.channels.count()]).flat_map(i16::to_le_bytes);
        self.fate(format, SoundFate::Sound(bytes.collect()));
    }

    fn fate(&mut self, format: Format, fate: SoundFate) {
        let capture = self.next_us();
        let sound = RecordedSound { format, capture: Timestamp::from_us(capture), fate, begins: self.packets == 0 };
        self.writer.sound(sound, self.here(capture + 30_000), self.packets).unwrap();
        self.packets += 1;
        self.samples += u64::from(format.frames);
    }

    /// Takes sound and pictures in the order of their times until `us`; pictures begin at `picture_us`, one each `interval_us`.
    fn run(&mut self, us: u64, picture_us: &mut f64, interval_us: f64) {
        while self.next_us().min(*picture_us as u64) < us {
            if self.next_us() < *picture_us as u64 {
                self.sound(MONO);
            } else {
                self.picture(*picture_us as u64);
                *picture_us += interval_us;
            }
        }
    }
}

/// Returns the samples of a file of 16 bits and its comment.
fn read(path: &Path) -> (Vec<i16>, String) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let len = u32::from_le_bytes(bytes[HEADER_BYTES - 4..HEADER_BYTES].try_into().unwrap()) as usize;
    assert_eq!(bytes.len(), HEADER_BYTES + len, "the header knows of all");
    let samples = bytes[HEADER_BYTES..].chunks_exact(2).map(|sample| i16::from_le_bytes([sample[0], sample[1]]));
    let comment = bytes[92..112].split(|&byte| byte == 0).next().unwrap();
    (samples.collect(), String::from_utf8(comment.to_vec()).unwrap())
}

#[test]
fn the_first_sample_was_captured_when_the_first_picture_was_and_all_are_as_they_were() {
    for (name, before_s) in [("sound-first", 2.0), ("picture-first", -1.5)] {
        let folder = Folder::new(name);
        let mut there = There::new(&folder.join("call.duet"));
        there.card_us = 20_000_000.0 - before_s * 1e6;
        there.run(26_000_000, &mut 20_000_000.0, 1e6 / 30.0);
        there.writer.finish().unwrap();
        let (samples, comment) = read(&folder.join("call.wav"));
        let first = (before_s * 48_000.0) as i64;
        let silent = (-first).max(0) as usize;
        assert!(samples[..silent].iter().all(|&sample| sample == 0), "{name}");
        let expected = (0..).map(|place| (first.max(0) + place) as i16);
        assert!(samples[silent..].iter().copied().eq(expected.take(samples.len() - silent)), "{name}");
        assert!(samples.len() >= 6 * 48_000 - 256 && samples.len() <= 6 * 48_000 + 256, "{name}: {}", samples.len());
        assert_eq!(comment, "1.000000000");
    }
}

#[test]
fn muted_and_missing_sound_is_silence_and_what_follows_is_in_its_place() {
    let folder = Folder::new("fates");
    let mut there = There::new(&folder.join("call.duet"));
    there.picture(9_000_000);
    for packet in 0..400 {
        match packet % 4 {
            1 => there.fate(MONO, SoundFate::Muted),
            2 => there.fate(MONO, SoundFate::Missing),
            3 => there.fate(MONO, SoundFate::LeftOut),
            _ => there.sound(MONO),
        }
    }
    there.writer.finish().unwrap();
    let (samples, _) = read(&folder.join("call.wav"));
    assert_eq!(samples.len(), 400 * 256);
    for (place, &sample) in samples.iter().enumerate() {
        assert_eq!(sample, if place / 256 % 4 == 0 { place as i16 } else { 0 }, "{place}");
    }
}

#[test]
fn files_with_other_zeros_have_the_same_samples_also_after_a_card_was_away() {
    let folder = Folder::new("zeros");
    let record = |name: &str, first_us: u64| {
        let mut there = There::new(&folder.join(name));
        there.picture(first_us);
        let (packets, mut random) = (MONO.frames as u64 * 1_000_000 / u64::from(RATE_HZ), 1_u64);
        for packet in 0..4_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Times of a busy computer, and a card that is away for 1.3 s, three times.
            let us = 9_500_000 + packet * packets + packet / 1_000 * 1_300_000 + (random >> 40) % 6_000;
            let bytes = (0..256_u64).flat_map(|frame| ((packet * 256 + frame) as i16 | 1).to_le_bytes()).collect();
            let sound = RecordedSound {
                format: MONO,
                capture: Timestamp::from_us(us),
                fate: SoundFate::Sound(bytes),
                begins: packet == 0,
            };
            there.writer.sound(sound, there.here(us + 30_000), packet).unwrap();
        }
        there.writer.finish().unwrap();
        read(&folder.join(name).with_extension("wav")).0
    };
    let [early, late] = [("early.duet", 9_000_000), ("late.duet", 13_456_789)].map(|(name, us)| record(name, us));
    assert!(late.len() > 20 * 48_000);
    assert!(late == early[early.len() - late.len()..]);
}

#[test]
fn each_file_of_pictures_has_its_sound_with_a_zero_of_its_own_and_nothing_is_replaced() {
    let folder = Folder::new("several");
    std::fs::write(folder.join("call.wav"), "older").unwrap();
    let mut there = There::new(&folder.join("call.duet"));
    let mut picture_us = 10_000_000.0;
    there.run(16_000_000, &mut picture_us, 1e6 / 30.0);
    there.stream = stream(2, 128);
    let second_us = picture_us;
    there.run(21_000_000, &mut picture_us, 1e6 / 30.0);
    there.writer.finish().unwrap();
    assert_eq!(std::fs::read(folder.join("call.wav")).unwrap(), b"older");
    // Beside call.duet and call-2.duet.
    let [first, second] = ["call-2.wav", "call-2-2.wav"];
    let place = |us: f64| ((us - 9_000_000.0) * 0.048).round() as i64;
    let begins = |name: &str, us: f64| {
        let (samples, _) = read(&folder.join(name));
        // Times are whole microseconds.
        let is_from =
            |first: i64| samples.iter().copied().eq((first..).map(|sample| sample as i16).take(samples.len()));
        assert!((-1..=1).any(|error| is_from(place(us) + error)), "{name}");
        samples.len() as f64 / 48_000.0
    };
    let seconds = begins(first, 10_000_000.0);
    assert!((seconds - 6.0).abs() < 0.05, "{seconds}");
    let seconds = begins(second, second_us.floor());
    assert!((seconds - 5.0).abs() < 0.1, "{seconds}");
}

#[test]
fn a_card_and_a_camera_with_other_clocks_stay_in_step_by_the_factor_that_the_file_says() {
    for (card_ppm, camera_ppm) in [(100.0, -100.0), (-100.0, 100.0), (40.0, 0.0), (0.0, 0.0)] {
        let folder = Folder::new(&format!("drift{card_ppm}"));
        let mut there = There::new(&folder.join("call.duet"));
        there.rate = 48_000.0 * (1.0 + card_ppm / 1e6);
        let (begin_us, span_us) = (10_000_000.0, 150e6);
        let mut picture_us = begin_us;
        there.run((begin_us + span_us) as u64, &mut picture_us, 1e6 / 30.0 * (1.0 - camera_ppm / 1e6));
        let pictures_s = f64::from(there.writer.pictures()) / 30.0;
        there.writer.finish().unwrap();
        let (samples, comment) = read(&folder.join("call.wav"));
        let factor: f64 = comment.parse().unwrap();
        let step_ms = (samples.len() as f64 / 48.0 - pictures_s * factor * 1e3).abs();
        // What was captured last, within a picture's time.
        assert!(step_ms < 34.0, "{card_ppm} {camera_ppm}: {step_ms} ms, {factor}");
        let is_told = (factor - 1.0).abs() > 1e-6;
        assert_eq!(is_told, card_ppm != 0.0 || camera_ppm != 0.0, "{card_ppm} {camera_ppm}: {factor}");
    }
}

#[test]
fn after_an_hour_sound_and_picture_are_within_20_ms() {
    for (card_ppm, camera_ppm) in [(100.0, -100.0), (-100.0, 100.0), (100.0, 100.0), (-30.0, -50.0), (5.0, 0.0)] {
        let rate = FrameRate::new(30, 1).unwrap();
        let (mut numbers, mut pictures, mut sound) = (Numbers::new(rate, 0), Slope::default(), Slope::default());
        let mut random = 7_u64;
        let mut seen = Vec::new();
        for id in 0..30 * 3600_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Up to 2 ms of jitter.
            let jitter_s = if id > 0 { (random >> 40) as f64 / f64::from(1 << 24) * 0.002 } else { 0.0 };
            let capture_s = f64::from(id) / 30.0 / (1.0 + camera_ppm / 1e6) + jitter_s;
            let capture = Timestamp::from_us((capture_s * 1e6) as u64);
            let place = Unnumbered { stream: 1, id: FrameId(id), reference: 0, capture, at: capture };
            let file_s = f64::from(numbers.next(place).unwrap().0) / 30.0;
            pictures.add(capture_s, file_s);
            seen.push((capture_s, file_s));
        }
        let of_card = |capture_s: f64| capture_s * (1.0 + card_ppm / 1e6);
        (0..187 * 3600).for_each(|packet| sound.add(f64::from(packet) / 187.5, of_card(f64::from(packet) / 187.5)));
        let factor = sound.get() / pictures.get();
        let steps = seen.iter().map(|(capture_s, file_s)| (file_s * factor - of_card(*capture_s)).abs() * 1e3);
        let mut steps: Vec<f64> = steps.collect();
        steps.sort_by(f64::total_cmp);
        let [p95, most] = [steps[steps.len() * 95 / 100], steps[steps.len() - 1]];
        println!("card {card_ppm} ppm, camera {camera_ppm} ppm: p95 {p95:.1} ms, most {most:.1} ms");
        assert!(p95 < 20.0 && most < 23.0, "card {card_ppm} ppm, camera {camera_ppm} ppm: {p95} {most}");
    }
}

#[test]
fn a_sender_that_starts_anew_has_another_clock_and_its_sound_is_where_its_pictures_are() {
    let folder = Folder::new("restart");
    let mut there = There::new(&folder.join("call.duet"));
    let mut picture_us = 10_000_000.0;
    there.run(15_000_000, &mut picture_us, 1e6 / 30.0);
    // Four seconds later by our clock, its clock is near zero again.
    let here_us = 15_000_000 - 7_000_000 + 4_000_000;
    there.stream = stream(2, 64);
    (there.card_us, there.samples, there.packets) = (1_000_000.0, 0, 0);
    there.offset_us = 1_000_000 - here_us;
    let restarted = (there.frames, 1_000_000.0 + 500_000.0);
    let mut picture_us = restarted.1;
    there.run(9_000_000, &mut picture_us, 1e6 / 30.0);
    there.writer.finish().unwrap();
    let (samples, _) = read(&folder.join("call.wav"));
    // The second part's samples rise from 0 after a silence; its first picture is at 9.5 s of the file.
    let silence = samples.windows(1_000).rposition(|part| part.iter().all(|&sample| sample == 0)).unwrap();
    // Sample 0 is silent, too.
    let begin = silence + 999;
    let picture_s = 9.0 + 0.5;
    let found_s = (begin as f64 + 24_000.0) / 48_000.0;
    assert!((found_s - picture_s).abs() < 0.02, "{found_s}");
}

#[test]
fn times_and_forms_that_a_sender_makes_up_make_no_endless_file() {
    let folder = Folder::new("hostile");
    let mut there = There::new(&folder.join("call.duet"));
    there.picture(9_000_000);
    let mut random = 1_u64;
    for packet in 0..20_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let capture = [0, 9_000_000, u64::MAX, 500_000_000, 1 << 62, 9_100_000 + packet][(random >> 40) as usize % 6];
        let coding = [Coding::Pcm16, Coding::Pcm24, Coding::Opus][(random >> 50) as usize % 3];
        let channels = [Channels::Mono, Channels::Stereo][(random >> 55) as usize % 2];
        let format = Format { channels, coding, frames: if coding == Coding::Opus { 120 } else { 64 } };
        let bytes = vec![random as u8; format.whole_bytes().unwrap_or(9)];
        let fate = if random >> 60 < 8 { SoundFate::Sound(bytes) } else { SoundFate::Missing };
        let begins = (random >> 45).is_multiple_of(5);
        let sound = RecordedSound { format, capture: Timestamp::from_us(capture), fate, begins };
        // 5 s here.
        there.writer.sound(sound, Timestamp::from_us(2_040_000 + 250 * packet), packet).unwrap();
    }
    there.writer.finish().unwrap();
    let bytes = std::fs::metadata(folder.join("call.wav")).unwrap().len();
    let most = u64::from(RATE_HZ) * 4 * 8;
    assert!(bytes < most, "{bytes}");
}

#[test]
fn sound_that_cannot_be_written_costs_no_picture_and_sound_alone_has_a_file() {
    let folder = Folder::new("unwritable");
    let inner = folder.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut there = There::new(&inner.join("call.duet"));
    there.picture(9_000_000);
    std::fs::remove_dir_all(&inner).unwrap();
    there.run(14_000_000, &mut 9_100_000.0, 1e6 / 30.0);
    assert!(there.frames > 100);
    assert!(there.writer.has_no_sound());
    there.writer.finish().unwrap();

    let mut alone = There::new(&folder.join("alone.duet"));
    (0..200).for_each(|_| alone.sound(MONO));
    alone.writer.finish().unwrap();
    let (samples, _) = read(&folder.join("alone.wav"));
    assert!(samples.into_iter().eq((0..200 * 256).map(|sample| sample as i16)));
    assert!(!folder.join("alone.duet").exists());
}

#[test]
fn sound_for_which_there_is_no_room_is_silence_of_its_length() {
    let folder = Folder::new("slow");
    let mut there = There::new(&folder.join("call.duet"));
    there.picture(9_000_000);
    for packet in 0..600 {
        if (200..300).contains(&packet) {
            there.packets += 1;
            there.samples += 256;
        } else {
            there.sound(MONO);
        }
    }
    there.writer.finish().unwrap();
    let (samples, _) = read(&folder.join("call.wav"));
    let expected = (0..600 * 256).map(|place| if (200..300).contains(&(place / 256)) { 0 } else { place as i16 });
    assert!(samples.into_iter().eq(expected));
}

#[test]
fn a_change_of_form_goes_on_in_the_form_of_the_file() {
    let folder = Folder::new("forms");
    let mut there = There::new(&folder.join("call.duet"));
    there.picture(9_000_000);
    let wide = Format { channels: Channels::Stereo, coding: Coding::Pcm24, frames: 128 };
    there.sound(MONO);
    let frame = [[0, 0x10, 0], [0, 0x30, 0]].concat();
    there.fate(wide, SoundFate::Sound(frame.repeat(128)));
    there.sound(MONO);
    there.writer.finish().unwrap();
    let (samples, _) = read(&folder.join("call.wav"));
    assert_eq!(samples.len(), 640);
    assert!(samples[256..384].iter().all(|&sample| sample == 0x20));
    assert_eq!(samples[384], 384);
}

#[test]
fn who_kills_the_program_has_what_was_written() {
    let folder = Folder::new("killed");
    let path = folder.join("call.duet");
    let mut there = There::new(&path);
    there.run(19_000_000, &mut 9_000_000.0, 1e6 / 30.0);
    std::fs::copy(folder.join("call.wav"), folder.join("copy.wav")).unwrap();
    let bytes = std::fs::read(folder.join("copy.wav")).unwrap();
    let known = u32::from_le_bytes(bytes[HEADER_BYTES - 4..HEADER_BYTES].try_into().unwrap());
    let seconds = f64::from(known) / 2.0 / f64::from(RATE_HZ);
    // What waits for pictures, and a second.
    assert!((5.5..7.1).contains(&seconds), "{seconds}");
}
