//! Stream of frames in the sender's time, out of packets. Whatever does not follow what was heard before is faded in over what would
//! have followed.

use super::losses::Losses;
use super::slots::{self, Frame, SLOTS, Slots};
use crate::RATE_HZ;
use crate::conceal::extrapolate::Extrapolator;
use crate::format::{Coding, FRAMES_MAX, Format};
use crate::observed::{Outcome, Shared};
use crate::opus::{self, Decoder};
use crate::unit::Body;

/// Frames over which sound is faded in.
const CROSS_FRAMES: usize = 64;
/// Frames of silence after which nothing of what was heard is in a filter any more.
const QUIET_FRAMES: usize = 128;
/// Frames after which a packet that has not come is lost: longer than a pause of a line.
const LOST_FRAMES: i64 = RATE_HZ as i64 / 4;

/// Reads frame after frame from the packets that are there.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) slots: Slots,
    format: Format,
    /// Frame that is read next, counted from the stream's first packet.
    pub(crate) position: i64,
    /// The packet read last was the silence of a muted microphone.
    pub(crate) is_muted: bool,
    /// Number of the packet in `packet`.
    number: Option<i64>,
    packet: Vec<Frame>,
    /// None: libopus refused, and its packets are as if they were lost.
    opus: Option<Decoder>,
    extrapolator: Extrapolator,
    /// Nothing is there, and the extrapolation is heard.
    is_missing: bool,
    /// Frames that are still faded in.
    cross: usize,
    /// Greatest number whose outcome was counted, and whether it was concealed.
    judged: (i64, bool),
    /// Greatest number that has come or is lost for good.
    settled: i64,
    pub(crate) losses: Losses,
    /// Frames of silence that were read last.
    quiet: usize,
}

impl Reader {
    pub(crate) fn new(extrapolator: Extrapolator) -> Self {
        Self {
            slots: Slots::new(),
            format: Format::default(),
            position: 0,
            is_muted: false,
            number: None,
            packet: vec![[0.0; 2]; FRAMES_MAX],
            opus: Decoder::new().ok(),
            extrapolator,
            is_missing: false,
            cross: 0,
            judged: (-1, false),
            settled: -1,
            losses: Losses::default(),
            quiet: 0,
        }
    }

    /// Begins a stream, so many frames before its first packet.
    pub(crate) fn start(&mut self, format: Format, position: i64) {
        self.slots.clear();
        self.opus.iter_mut().for_each(Decoder::start);
        (self.format, self.position, self.number) = (format, position, None);
        (self.judged, self.settled, self.losses) = ((-1, false), -1, Losses::default());
        self.turn();
    }

    /// Goes on at another place, later or earlier by so many frames.
    pub(crate) fn jump(&mut self, frames: i64) {
        self.position += frames;
        self.turn();
    }

    /// Returns true where what was read last was silence, for longer than a filter.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet > QUIET_FRAMES
    }

    /// Reads what was heard last once more, up to now.
    pub(crate) fn recall(&self, out: &mut [Frame]) {
        self.extrapolator.recall(out);
    }

    /// Returns true where the packet of a number has been read, or what stood in for it.
    pub(crate) fn is_past(&self, number: i64) -> bool {
        number <= self.judged.0
    }

    /// Fades over to what does not follow what was heard before.
    fn turn(&mut self) {
        if !self.is_missing {
            self.extrapolator.begin();
        }
        self.fade_in();
    }

    fn fade_in(&mut self) {
        // Opus is a packet late: a stream's first one is next to silence, and the next begins as suddenly as what was coded.
        let is_silent = self.format.coding == Coding::Opus && self.position < i64::from(opus::FRAMES);
        self.cross = CROSS_FRAMES + if is_silent { usize::from(opus::FRAMES) } else { 0 };
    }

    /// Reads the next frames.
    pub(crate) fn read(&mut self, out: &mut [Frame], shared: &Shared) {
        let frames = i64::from(self.format.frames);
        let mut rest = out;
        while !rest.is_empty() {
            let offset = self.position.rem_euclid(frames) as usize;
            let run = rest.len().min(frames as usize - offset);
            let (part, later) = rest.split_at_mut(run);
            let mut faded = 0;
            if self.load(self.position.div_euclid(frames), shared) {
                if std::mem::take(&mut self.is_missing) {
                    self.fade_in();
                }
                part.copy_from_slice(&self.packet[offset..offset + run]);
                faded = self.cross.min(run);
                for place in &mut part[..faded] {
                    let before = self.extrapolator.next();
                    let share = self.cross.min(CROSS_FRAMES) as f32 / (CROSS_FRAMES + 1) as f32;
                    for (sample, before) in place.iter_mut().zip(before) {
                        *sample += share * (before - *sample);
                    }
                    self.cross -= 1;
                }
            } else {
                self.go_on_without(part);
            }
            self.quiet = if part.iter().all(|frame| *frame == [0.0; 2]) { self.quiet.saturating_add(run) } else { 0 };
            self.extrapolator.hear(part, faded, !self.is_missing);
            self.position += run as i64;
            rest = later;
        }
    }

    /// Goes on from what was heard last, and fades out: also where there is no stream any more.
    pub(crate) fn go_on_without(&mut self, out: &mut [Frame]) {
        // What is heard while it is faded in is the newest that there is.
        if !self.is_missing {
            self.extrapolator.begin();
        }
        (self.is_missing, self.cross) = (true, 0);
        out.fill_with(|| self.extrapolator.next());
    }

    /// Makes a packet's frames ready and returns true; false where it is not there.
    fn load(&mut self, number: i64, shared: &Shared) -> bool {
        if self.number == Some(number) {
            return true;
        }
        let held = self.slots.get(number);
        let is_after_gap = number > self.judged.0 + if held.is_some() { 1 } else { 0 };
        if let Some(opus) = self.opus.as_mut().filter(|_| self.format.coding == Coding::Opus && is_after_gap) {
            opus.miss(self.format.channels);
        }
        let Some(held) = held else {
            self.judge(number, Outcome::Concealed, shared);
            return false;
        };
        let packet = &mut self.packet[..usize::from(self.format.frames)];
        if held.is_muted {
            packet.fill([0.0; 2]);
        } else if !slots::decode(self.opus.as_mut(), self.format, held.body, held.bytes, packet) {
            self.judge(number, Outcome::Concealed, shared);
            return false;
        }
        let outcome = match (held.body, held.is_copy) {
            (Body::Whole, false) => Outcome::Own,
            (Body::Whole, true) => Outcome::RepairedWhole,
            (Body::Adpcm, _) => Outcome::RepairedAdpcm,
        };
        if std::mem::replace(&mut self.is_muted, held.is_muted) != self.is_muted {
            self.turn();
        }
        self.number = Some(number);
        self.judge(number, outcome, shared);
        true
    }

    /// Counts the outcome of a number, once.
    fn judge(&mut self, number: i64, outcome: Outcome, shared: &Shared) {
        let (last, was_concealed) = self.judged;
        if number <= last {
            return;
        }
        let is_concealed = outcome == Outcome::Concealed;
        self.judged = (number, is_concealed);
        shared.count(outcome);
        if number > last + 1 {
            shared.count_all(Outcome::Skipped, (number - last - 1) as u64);
        }
        if is_concealed && !was_concealed {
            shared.count(Outcome::Gap);
        }
        let settled = number - LOST_FRAMES / i64::from(self.format.frames);
        self.settled = self.settled.max(settled - SLOTS as i64 / 2);
        while self.settled < settled {
            self.settled += 1;
            let is_lost = !self.slots.has_own(self.settled);
            self.losses.settle(is_lost, self.format.frames.into());
            if is_lost {
                shared.count(Outcome::Lost);
            }
        }
    }
}
