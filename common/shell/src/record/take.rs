//! One file of sound. Samples are kept as they are, and what does not follow what was before is placed by its time.
//!
//! Two clocks that nobody compares drift apart, the card's and the camera's: the file says in its comment by what factor the times of the
//! pictures are to be stretched so that both stay in step.

use std::io;
use std::path::{Path, PathBuf};

use common::stream::sound::{RecordedSound, SoundFate};
use common::units::Timestamp;
use net::clock;
use sound::format::{CHANNELS_MAX, Channels, Coding, FRAMES_MAX, Format};
use sound::opus::Decoder;
use sound::{RATE_HZ, pcm};

use super::name::{self, UtcTime};
use super::numbers::OUTAGE_MAX;
use super::slope::Slope;
use super::wav::Wav;
use super::whole::Whole;

/// Difference of a packet's time from that of the one before that is no jitter of a clock, us.
const JUMP_US: i64 = 20_000;
/// Difference of a place by the packet before from that by the file's zero, which counts pictures, up to which the former is taken, seconds.
const NEAR_S: f64 = 0.04;
/// Difference of two clocks from which on they are not the same program's, us.
const OTHER_CLOCK_US: u64 = 1_000_000;
/// Time by which a file may get longer than the time since its begin, and part of that time: a sender with strange times must not make it
/// endless, and one whose card is fast may send all that it captures.
const AHEAD_S: f64 = 2.0;
const FAST: f64 = 1.001;
/// Packets between two looks at how fast the clocks are.
const LOOK: u64 = 256;

/// Time of a file's begin by the clock of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zero {
    /// Time at which what is first in the file was captured, or would have been, us.
    capture_us: i64,
    /// That clock less ours, roughly, us: it tells one sender's clock from another's.
    offset_us: i64,
}

impl Zero {
    /// Takes the time of capture of what is first, which was here at `at`.
    pub(super) fn new(capture: Timestamp, at: Timestamp) -> Self {
        Self { capture_us: us(capture), offset_us: us(capture).saturating_sub(us(at)) }
    }

    /// Returns how far this clock is from the one by which something was captured at `capture` that was here at `at`: what was filled in
    /// came late, which is little beside the distance of two programs' clocks.
    pub(super) fn distance_us(&self, capture: Timestamp, at: Timestamp) -> u64 {
        self.offset_us.abs_diff(us(capture).saturating_sub(us(at)))
    }

    /// Returns true if this is within a packet of this clock.
    pub(super) fn is_within(&self, sound: &RecordedSound) -> bool {
        let begin = us(sound.capture);
        let length_us = i64::from(sound.format.frames) * 1_000_000 / i64::from(RATE_HZ);
        (begin..begin.saturating_add(length_us)).contains(&self.capture_us)
    }

    /// Returns the time from here to `capture`, seconds.
    fn seconds_to(&self, capture: Timestamp) -> f64 {
        us(capture).saturating_sub(self.capture_us) as f64 / 1e6
    }
}

fn us(time: Timestamp) -> i64 {
    i64::try_from(time.as_us()).unwrap_or(i64::MAX)
}

/// A file, which is made when there is sound for it.
pub(super) struct Take {
    /// The file of pictures beside which it is.
    beside: Option<PathBuf>,
    path: PathBuf,
    what: &'static str,
    file: Option<(PathBuf, Wav<Whole>)>,
    /// The clocks of senders, the newest last, at most two: a sender that starts anew has another.
    zeros: Vec<Zero>,
    begun: Timestamp,
    opus: Option<Decoder>,
    /// Time at which what follows the last packet was captured, us.
    next_us: Option<i64>,
    /// True once sound was left out, until the next comes.
    is_left_out: bool,
    packets: u64,
    frames: Frames,
    /// Seconds in the file for seconds of capture.
    sound: Slope,
    pictures: Slope,
    says_other_form: bool,
    /// True once something could not be written.
    is_cut: bool,
}

/// Counts of frames.
#[derive(Clone, Copy, Debug, Default)]
struct Frames {
    missing: u64,
    muted: u64,
    of_opus: u64,
}

impl Take {
    /// Begins a file beside `pictures`, or, where there are none, of a recording at `path`.
    pub(super) fn new(pictures: Option<&Path>, path: &Path, what: &'static str, zero: Zero, begun: Timestamp) -> Self {
        Self {
            beside: pictures.map(Path::to_owned),
            path: path.to_owned(),
            what,
            file: None,
            zeros: vec![zero],
            begun,
            opus: None,
            next_us: None,
            is_left_out: false,
            packets: 0,
            frames: Frames::default(),
            sound: Slope::default(),
            pictures: Slope::default(),
            says_other_form: true,
            is_cut: false,
        }
    }

    /// Takes notice that sound was left out.
    pub(super) fn on_left_out(&mut self) {
        self.is_left_out = true;
        self.next_us = None;
    }

    /// Returns true if sound that was captured at `capture`, and was here at `at`, is of this file rather than of one that begins at `next`.
    pub(super) fn has(&self, capture: Timestamp, at: Timestamp, next: Zero) -> bool {
        let own = self.zeros.iter().map(|zero| zero.distance_us(capture, at)).min();
        let is_own_clock = own.is_some_and(|own| own.saturating_add(OTHER_CLOCK_US) < next.distance_us(capture, at));
        is_own_clock || us(capture) < next.capture_us
    }

    /// Takes notice of a picture at `file_s` seconds of its file.
    pub(super) fn on_picture(&mut self, file_s: f64, capture: Timestamp, at: Timestamp) {
        if !self.zeros.iter().any(|zero| zero.distance_us(capture, at) < OTHER_CLOCK_US) {
            let Zero { capture_us, offset_us } = Zero::new(capture, at);
            let capture_us = capture_us.saturating_sub((file_s * 1e6) as i64);
            self.zeros.drain(..self.zeros.len() - 1);
            self.zeros.push(Zero { capture_us, offset_us });
            (self.sound, self.pictures) = (Slope::default(), Slope::default());
        }
        if let Some(zero) = self.zeros.last() {
            self.pictures.add(zero.seconds_to(capture), file_s);
        }
    }

    /// Appends the sound of a packet, which was here at `at`.
    pub(super) fn write(&mut self, sound: &RecordedSound, at: Timestamp) -> io::Result<()> {
        self.put(sound, at).map_err(|error| {
            self.is_cut = true;
            name::failed(self.file.as_ref().map_or(&self.path, |(path, _)| path), &error)
        })
    }

    fn put(&mut self, sound: &RecordedSound, at: Timestamp) -> io::Result<()> {
        let RecordedSound { format, capture, fate, begins } = sound;
        let capture_us = us(*capture);
        if matches!(fate, SoundFate::Missing | SoundFate::LeftOut) && self.file.is_none() {
            return Ok(());
        }
        self.open(*format)?;
        let Some((_, wav)) = &mut self.file else { return Ok(()) };
        let Some(zero) = self.zeros.iter().rev().min_by_key(|zero| zero.distance_us(*capture, at)).copied() else {
            return Ok(());
        };
        let frames = u64::from(format.frames);
        let follows = !begins && self.next_us.is_some_and(|next| capture_us.abs_diff(next) <= JUMP_US as u64);
        let longest = (at.since(self.begun).as_secs_f64() * FAST + AHEAD_S) * f64::from(RATE_HZ);
        let room = (longest as u64).saturating_sub(wav.frames());
        let mut skipped = 0;
        if !follows {
            // By the times of both packets, which the other end's recording has, too: a file with another zero places it alike.
            let since =
                self.next_us.map(|next| ((capture_us.saturating_sub(next)) as f64 * f64::from(RATE_HZ) / 1e6).round());
            let wanted = zero.seconds_to(*capture) * self.sound.get() * f64::from(RATE_HZ);
            let gap = (wanted - wav.frames() as f64).round();
            let gap = since.filter(|since| (since - gap).abs() <= NEAR_S * f64::from(RATE_HZ)).unwrap_or(gap);
            let outage = OUTAGE_MAX.as_secs_f64() * f64::from(RATE_HZ);
            if gap < 0.0 {
                skipped = (-gap as u64).min(frames);
            } else if gap <= outage {
                let gap = (gap as u64).min(room);
                wav.silence(gap)?;
                self.frames.missing += if std::mem::take(&mut self.is_left_out) { gap } else { 0 };
            }
        }
        if skipped == frames {
            self.next_us = None;
            return Ok(());
        }
        if frames - skipped > room {
            return Ok(());
        }
        let is_of_last_clock = self.zeros.last().is_some_and(|last| last.capture_us == zero.capture_us);
        if is_of_last_clock && matches!(fate, SoundFate::Sound(_) | SoundFate::Muted) && skipped == 0 {
            self.sound.add(zero.seconds_to(*capture), wav.frames() as f64 / f64::from(RATE_HZ));
        }
        self.next_us = Some(capture_us.saturating_add((frames * 1_000_000 / u64::from(RATE_HZ)) as i64));
        match fate {
            SoundFate::Sound(bytes) => {
                let is_opus = format.coding == Coding::Opus;
                self.frames.of_opus += if is_opus { frames - skipped } else { 0 };
                let samples = samples(*format, bytes, (wav.channels(), wav.bits()), &mut self.opus);
                let frame_bytes = usize::from(wav.channels() * wav.bits() / 8);
                wav.write(samples.get(skipped as usize * frame_bytes..).unwrap_or_default())?;
            }
            SoundFate::Muted | SoundFate::LeftOut | SoundFate::Missing => {
                let count = match fate {
                    SoundFate::Muted => &mut self.frames.muted,
                    _ => &mut self.frames.missing,
                };
                *count += if *fate == SoundFate::LeftOut { 0 } else { frames - skipped };
                wav.silence(frames - skipped)?;
            }
        }
        self.packets += 1;
        if self.packets.is_multiple_of(LOOK) {
            wav.set_comment(factor(&self.sound, &self.pictures));
        }
        Ok(())
    }

    /// Makes the file, if there is none.
    fn open(&mut self, format: Format) -> io::Result<()> {
        let channels = format.channels.count() as u16;
        let bits = if format.coding == Coding::Pcm24 { 24 } else { 16 };
        if let Some((path, wav)) = &self.file {
            let is_other = (wav.channels(), wav.bits()) != (channels, bits) && format.coding != Coding::Opus;
            if is_other && std::mem::take(&mut self.says_other_form) {
                let path = path.display();
                tracing::info!("{path} goes on with {} channels of {} bits", wav.channels(), wav.bits());
            }
            return Ok(());
        }
        let (file, path) = match &self.beside {
            Some(pictures) => name::create_new(&pictures.with_extension("wav"))?,
            None => name::create(&self.path, self.what, "wav", clock::unix_ms())?,
        };
        let ago_ms = clock::now().since(self.begun).as_millis() as u64;
        let begun = UtcTime::new(clock::unix_ms().saturating_sub(ago_ms));
        // One that takes nothing is no file.
        let mut wav = Wav::new(file, channels, bits, begun).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        wav.set_comment(factor(&self.sound, &self.pictures));
        tracing::info!("recording the sound that is {} to {}", self.what, path.display());
        self.file = Some((path, wav));
        Ok(())
    }

    /// Ends the file and says what it lacks.
    pub(super) fn finish(self) -> io::Result<()> {
        let Some((path, mut wav)) = self.file else { return Ok(()) };
        wav.set_comment(factor(&self.sound, &self.pictures));
        let Frames { missing, muted, of_opus } = self.frames;
        let all = wav.frames();
        wav.finish().map_err(|error| name::failed(&path, &error))?;
        let seconds = |frames: u64| frames as f64 / f64::from(RATE_HZ);
        let mut more = String::new();
        for (frames, words) in [(muted, "muted"), (of_opus, "coded with Opus")] {
            if frames > 0 {
                more += &format!(", {:.1} s of it {words}", seconds(frames));
            }
        }
        let path = path.display();
        match missing {
            _ if self.is_cut => tracing::info!("{path} has {:.1} s of sound{more}, and lacks its end", seconds(all)),
            0 => tracing::info!("{path} has {:.1} s of sound{more}: sound complete", seconds(all)),
            _ => {
                tracing::warn!("{path} has {:.1} s of sound{more}: {:.3} s are missing", seconds(all), seconds(missing))
            }
        }
        Ok(())
    }
}

/// Returns by what factor the times of pictures are to be stretched.
fn factor(sound: &Slope, pictures: &Slope) -> String {
    format!("{:.9}", sound.get() / pictures.get())
}

/// Returns the samples of a packet as the file has them.
fn samples(format: Format, bytes: &[u8], (channels, bits): (u16, u16), opus: &mut Option<Decoder>) -> Vec<u8> {
    let is_as_it_is = usize::from(channels) == format.channels.count()
        && matches!((format.coding, bits), (Coding::Pcm16, 16) | (Coding::Pcm24, 24));
    if is_as_it_is {
        return bytes.to_owned();
    }
    let (mut values, count) = ([0.0; CHANNELS_MAX * FRAMES_MAX], format.channels.count());
    let values = &mut values[..usize::from(format.frames) * count];
    match format.coding {
        Coding::Pcm16 => _ = pcm::decode_16(bytes, values),
        Coding::Pcm24 => _ = pcm::decode_24(bytes, values),
        Coding::Opus => {
            if opus.is_none() {
                *opus = Decoder::new().inspect_err(|error| tracing::warn!("{error}")).ok();
            }
            _ = opus.as_mut().is_some_and(|opus| opus.decode(format.channels, bytes, values));
        }
    }
    let mapped: Vec<f32> = match (format.channels, channels) {
        (Channels::Mono, 2) => values.iter().flat_map(|&value| [value, value]).collect(),
        (Channels::Stereo, 1) => values.chunks_exact(2).map(|frame| (frame[0] + frame[1]) / 2.0).collect(),
        _ => values.to_vec(),
    };
    let mut out = vec![0; mapped.len() * usize::from(bits / 8)];
    let _ = if bits == 24 { pcm::encode_24(&mapped, &mut out) } else { pcm::encode_16(&mapped, &mut out) };
    out
}
