//! Sound that was captured, kept for a recording at the other end that lacks some of it.

use std::collections::VecDeque;
use std::time::Duration;

use sound::format::Format;

use super::packet::SoundPacket;
use super::{HELD_BYTES_MAX, HELD_MAX, WANTED_MAX};
use crate::units::{Bitrate, Timestamp};
use crate::wire::control::{ControlMessage, FoundSound};
use crate::wire::on_wire;

/// Bytes of an answer besides its sound.
const ANSWER_BYTES: usize = 24;

/// A packet that is kept. One of a muted microphone has no sound.
#[derive(Debug)]
struct Kept {
    number: u32,
    format: Format,
    capture: Timestamp,
    /// None: the microphone was muted.
    sound: Option<Box<[u8]>>,
    /// True if it was asked for on this connection: once is enough on a stream that loses nothing.
    is_answered: bool,
}

/// The last packets of a stream that is recorded at the other end, and those of them that are to be sent again.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    is_on: bool,
    /// In the order of their numbers.
    kept: VecDeque<Kept>,
    bytes: usize,
    asked: VecDeque<u32>,
    next_answer: Timestamp,
}

impl Keeping {
    /// Begins to keep packets.
    pub(super) fn begin(&mut self) {
        self.is_on = true;
    }

    /// Returns true if packets are kept.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Keeps a packet; of a muted one nothing but that it was.
    pub(super) fn keep(&mut self, packet: &SoundPacket) {
        if !self.is_on {
            return;
        }
        // Numbers that go back are those of another stream.
        if self.kept.back().is_some_and(|last| packet.number.wrapping_sub(last.number) as i32 <= 0) {
            self.forget_kept();
        }
        let SoundPacket { number, format, capture, .. } = *packet;
        let sound = (!packet.is_muted).then(|| packet.whole.clone().into_boxed_slice());
        self.bytes += sound.as_ref().map_or(0, |sound| sound.len());
        self.kept.push_back(Kept { number, format, capture, sound, is_answered: false });
        while self.kept.len() > HELD_MAX || self.bytes > HELD_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.sound.map_or(0, |sound| sound.len());
        }
    }

    /// Takes a wish; false: more is asked for than may wait.
    pub(super) fn want(&mut self, first: u32, count: u8) -> bool {
        let has_room = self.asked.len() + usize::from(count) <= WANTED_MAX;
        if has_room {
            self.asked.extend((0..u32::from(count)).map(|place| first.wrapping_add(place)));
        }
        has_room
    }

    /// Returns the time of the next answer.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        (!self.asked.is_empty()).then_some(self.next_answer)
    }

    /// Returns the next answer, if it may leave; all together take at most `rate`.
    pub(super) fn poll(&mut self, rate: Bitrate, now: Timestamp) -> Option<ControlMessage> {
        if now < self.next_answer {
            return None;
        }
        let number = self.asked.pop_front()?;
        let found = self.find(number);
        let bytes = match &found {
            FoundSound::Sound { sound, .. } => sound.len(),
            _ => 0,
        };
        let bits = 8 * on_wire(ANSWER_BYTES + bytes) as u64;
        self.next_answer = now + Duration::from_micros(1_000_000 * bits / rate.as_bps().max(1));
        Some(ControlMessage::LateSound { number, found })
    }

    fn find(&mut self, number: u32) -> FoundSound {
        let Some(oldest) = self.kept.front().map(|oldest| oldest.number) else { return FoundSound::Gone };
        let place = |number: u32| number.wrapping_sub(oldest);
        match self.kept.binary_search_by_key(&place(number), |kept| place(kept.number)) {
            Ok(place) if !self.kept[place].is_answered => {
                let Kept { format, capture, sound, is_answered, .. } = &mut self.kept[place];
                *is_answered = true;
                let (format, capture) = (*format, *capture);
                match sound {
                    Some(sound) => FoundSound::Sound { format, capture, sound: sound.to_vec() },
                    None => FoundSound::Muted { format, capture },
                }
            }
            // The card left it out.
            Err(place) if (1..self.kept.len()).contains(&place) => FoundSound::Nothing,
            _ => FoundSound::Gone,
        }
    }

    /// Takes the end of a connection: what was asked for on it may be asked for again on the next.
    pub(super) fn on_disconnected(&mut self) {
        self.asked.clear();
        self.kept.iter_mut().for_each(|kept| kept.is_answered = false);
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.forget_kept();
        self.is_on = false;
    }

    fn forget_kept(&mut self) {
        self.kept = VecDeque::new();
        self.bytes = 0;
        self.asked.clear();
    }

    /// Returns what is kept, packets and bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.kept.len(), self.bytes)
    }
}
