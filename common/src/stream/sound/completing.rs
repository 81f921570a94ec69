//! Sound for a recording: in order, without what was heard in place of it, and with what came too late for the ear.

use std::collections::VecDeque;
use std::time::Duration;

use sound::RATE_HZ;
use sound::format::{Coding, Format};

use super::{HELD_BYTES_MAX, HELD_MAX, WANTED_MAX};
use crate::units::Timestamp;
use crate::wire::control::{ControlMessage, FoundSound};

/// A new connection whose sound is so much older than that before is of another clock: the other program has started anew.
const BACK_MAX: Duration = Duration::from_secs(1);
/// Numbers by which a stream may go ahead in a second, more than any has, and at once: a peer that makes them up must not keep us busy.
const NUMBERS_PER_S: u64 = 2_000;
const NUMBERS_AT_ONCE: u64 = 1_500;

/// Packets before the first that came which are asked for: nobody says with which number a stream begins.
const BEFORE_FIRST: u32 = 64;

/// Outcome of a packet's sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoundFate {
    /// It is there, as the format says.
    Sound(Vec<u8>),
    /// The microphone was muted.
    Muted,
    /// The card there left it out.
    LeftOut,
    /// It did not come and cannot be had any more.
    Missing,
}

/// The sound of one packet, for a recording; each follows the one before, but where a run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSound {
    /// Form of its samples.
    pub format: Format,
    /// Time of the first sample's capture, sender's clock.
    pub capture: Timestamp,
    /// Its outcome.
    pub fate: SoundFate,
    /// True if numbers do not say how far it is from the one before.
    pub begins: bool,
}

#[derive(Debug)]
enum Slot {
    /// It has not come.
    Lacking,
    Asked,
    Here {
        format: Format,
        capture: Timestamp,
        fate: SoundFate,
    },
}

/// Puts packets in order, and knows what to ask for.
#[derive(Debug, Default)]
pub(super) struct Completing {
    /// Number of the first slot's packet; none: nothing has come.
    next: Option<u32>,
    slots: VecDeque<Slot>,
    /// Bytes in the slots.
    bytes: usize,
    /// Slots that lack their sound.
    lacking: usize,
    /// Slots behind this one may still get their sound by themselves.
    ripe: usize,
    /// Numbers that are asked for on this connection, in the order of their answers.
    asked: VecDeque<u32>,
    /// True until the first packet of a connection.
    is_new: bool,
    /// True if no packet is waited for that comes by itself.
    is_closed: bool,
    newest: Timestamp,
    /// Numbers by which the stream may go ahead, and when that was so.
    allowance: (u64, Option<Timestamp>),
    last: Option<(Format, Timestamp)>,
    begins: bool,
    done: VecDeque<RecordedSound>,
}

impl Completing {
    /// Takes a new connection: what was asked for on the old one is not answered.
    pub(super) fn on_connected(&mut self) {
        self.asked.clear();
        self.is_new = true;
        self.is_closed = false;
        self.slots.iter_mut().filter(|slot| matches!(slot, Slot::Asked)).for_each(|slot| *slot = Slot::Lacking);
    }

    /// Takes the sound of a packet that came by itself; none: the microphone was muted.
    pub(super) fn on_sound(
        &mut self,
        number: u32,
        format: Format,
        capture: Timestamp,
        sound: Option<&[u8]>,
        now: Timestamp,
    ) {
        let is_new = std::mem::take(&mut self.is_new);
        let ahead = |next: u32| number.wrapping_sub(next) as i32;
        let has_gone_back = is_new && capture + BACK_MAX < self.newest;
        let allowed = self.allowed(now);
        match self.next.map(ahead) {
            // Too late: it was given up, or has come.
            Some(place) if !is_new && place < 0 => return,
            Some(place) if !has_gone_back && (0..HELD_MAX as i32).contains(&place) => {
                let more = (place as u64 + 1).saturating_sub(self.slots.len() as u64);
                if more > allowed {
                    self.begin(number);
                }
            }
            _ => self.begin(number),
        }
        let place = self.next.map_or(0, ahead);
        let Ok(place) = usize::try_from(place) else { return };
        if place >= self.slots.len() {
            if self.is_closed {
                return;
            }
            self.allowance.0 = self.allowance.0.saturating_sub((place + 1 - self.slots.len()) as u64);
            self.extend(place + 1);
        }
        self.newest = self.newest.max(capture);
        if is_new {
            self.newest = capture;
        }
        let fate = sound.map_or(SoundFate::Muted, |sound| SoundFate::Sound(sound.to_vec()));
        self.fill(place, format, capture, fate);
        self.release();
    }

    /// Begins a run of numbers that has nothing to do with those before, of which `number` is the first that came.
    fn begin(&mut self, number: u32) {
        if !self.is_closed {
            self.give_up();
            let unknown = self.next.map_or(number, |next| number.wrapping_sub(next));
            (self.next, self.begins) = (Some(number.wrapping_sub(unknown.min(BEFORE_FIRST))), true);
        }
    }

    /// Returns by how many numbers the stream may go ahead now.
    fn allowed(&mut self, now: Timestamp) -> u64 {
        let (left, at) = self.allowance;
        let more = at.map_or(NUMBERS_AT_ONCE, |at| now.since(at).as_micros() as u64 * NUMBERS_PER_S / 1_000_000);
        // What is less than one is not lost: the time stands still until it is one.
        if more > 0 {
            self.allowance = (left.saturating_add(more).min(HELD_MAX as u64), Some(now));
        }
        self.allowance.0
    }

    fn extend(&mut self, len: usize) {
        self.lacking += len - self.slots.len();
        self.slots.resize_with(len, || Slot::Lacking);
    }

    fn fill(&mut self, place: usize, format: Format, capture: Timestamp, fate: SoundFate) {
        let Some(slot @ (Slot::Lacking | Slot::Asked)) = self.slots.get_mut(place) else { return };
        self.lacking -= 1;
        self.bytes += fate.bytes();
        *slot = Slot::Here { format, capture, fate };
    }

    /// Takes an answer; false: nobody has asked for it.
    pub(super) fn on_late(&mut self, number: u32, found: FoundSound) -> bool {
        if self.asked.pop_front() != Some(number) {
            return false;
        }
        let place = self.next.map_or(usize::MAX, |next| number.wrapping_sub(next) as usize);
        if !matches!(self.slots.get(place), Some(Slot::Asked)) {
            return true;
        }
        let (format, capture) = self.last_before(place);
        let (format, capture, fate) = match found {
            FoundSound::Sound { format, capture, sound } if fits(format, &sound) => {
                (format, capture, SoundFate::Sound(sound))
            }
            FoundSound::Muted { format, capture } => (format, capture, SoundFate::Muted),
            FoundSound::Nothing => (format, capture, SoundFate::LeftOut),
            FoundSound::Sound { .. } | FoundSound::Gone => (format, capture, SoundFate::Missing),
        };
        self.fill(place, format, capture, fate);
        self.release();
        true
    }

    /// Returns form and time of a packet of which nothing is known but those before it.
    fn last_before(&self, place: usize) -> (Format, Timestamp) {
        let before = (0..place).rev().find_map(|place| match self.slots[place] {
            Slot::Here { format, capture, .. } => Some((format, capture, place)),
            _ => None,
        });
        let (format, capture, packets) = match (before, self.last) {
            (Some((format, capture, before)), _) => (format, capture, place - before),
            (None, Some((format, capture))) => (format, capture, place + 1),
            (None, None) => (Format::default(), Timestamp::default(), 0),
        };
        (format, capture + interval(format) * packets as u32)
    }

    /// Gives what is complete from the front, and gives up the oldest where too much waits for it.
    fn release(&mut self) {
        loop {
            match self.slots.front() {
                Some(Slot::Here { .. }) => self.release_first(),
                Some(_) if self.slots.len() > HELD_MAX || self.bytes > HELD_BYTES_MAX => self.release_first(),
                _ => break,
            }
        }
    }

    fn release_first(&mut self) {
        let known = self.last_before(0);
        let Some(slot) = self.slots.pop_front() else { return };
        self.next = self.next.map(|next| next.wrapping_add(1));
        self.ripe = self.ripe.saturating_sub(1);
        let (format, capture, fate) = match slot {
            Slot::Here { format, capture, fate } => (format, capture, fate),
            Slot::Lacking | Slot::Asked => {
                self.lacking -= 1;
                (known.0, known.1, SoundFate::Missing)
            }
        };
        self.bytes -= fate.bytes();
        // A run begins with the first that is there.
        if self.begins && matches!(fate, SoundFate::Missing | SoundFate::LeftOut) {
            return;
        }
        self.last = Some((format, capture));
        self.done.push_back(RecordedSound { format, capture, fate, begins: std::mem::take(&mut self.begins) });
    }

    /// Gives all that has come; what lacks then is missing for ever.
    pub(super) fn give_up(&mut self) {
        while !self.slots.is_empty() {
            self.release_first();
        }
    }

    /// Ends the recording for a while: what comes next begins a run.
    pub(super) fn pause(&mut self) {
        self.give_up();
        self.next = None;
    }

    /// Returns what is to be asked for now. Call it at intervals in which a packet overtakes another.
    pub(super) fn ask(&mut self) -> Vec<ControlMessage> {
        let Some(next) = self.next else { return Vec::new() };
        let mut runs: Vec<(u32, u8)> = Vec::new();
        for place in 0..self.ripe.min(self.slots.len()) {
            if self.lacking <= self.asked.len() || self.asked.len() == WANTED_MAX {
                break;
            }
            if !matches!(self.slots[place], Slot::Lacking) {
                continue;
            }
            self.slots[place] = Slot::Asked;
            let number = next.wrapping_add(place as u32);
            self.asked.push_back(number);
            match runs.last_mut() {
                Some((first, count)) if *count < u8::MAX && first.wrapping_add((*count).into()) == number => {
                    *count += 1
                }
                _ => runs.push((number, 1)),
            }
        }
        self.ripe = self.slots.len();
        runs.into_iter().map(|(first, count)| ControlMessage::WantSound { first, count }).collect()
    }

    /// Takes notice that no more comes by itself; `end`: the number behind the last packet that was sent, if somebody has said so.
    pub(super) fn close(&mut self, end: Option<u32>) {
        let len = self.next.zip(end).map_or(0, |(next, end)| end.wrapping_sub(next) as usize);
        if !self.is_new && (self.slots.len() + 1..HELD_MAX).contains(&len) {
            self.extend(len);
        }
        self.is_closed = true;
        self.ripe = self.slots.len();
    }

    /// Returns how much sound lacks that may still come.
    pub(super) fn lacking(&self) -> Duration {
        let format = self.last.map_or(Format::default(), |(format, _)| format);
        interval(format) * self.lacking as u32
    }

    /// Returns true if nothing lacks.
    pub(super) fn is_complete(&self) -> bool {
        self.lacking == 0
    }

    /// Returns the next sound of the recording.
    pub(super) fn poll(&mut self) -> Option<RecordedSound> {
        self.done.pop_front()
    }

    /// Returns what is held, packets and bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.slots.len(), self.bytes)
    }
}

impl SoundFate {
    fn bytes(&self) -> usize {
        if let Self::Sound(bytes) = self { bytes.len() } else { 0 }
    }
}

/// Returns true if so many bytes are sound of this form.
fn fits(format: Format, sound: &[u8]) -> bool {
    match format.whole_bytes() {
        Some(bytes) => sound.len() == bytes,
        None => format.coding == Coding::Opus && (1..=usize::from(u8::MAX)).contains(&sound.len()),
    }
}

/// Returns the time that the sound of a packet takes.
pub fn interval(format: Format) -> Duration {
    Duration::from_secs(1) * u32::from(format.frames) / RATE_HZ
}
