//! Sound that was sent, kept for a recording at the other end that lacks some of it.

use std::collections::VecDeque;

use super::packet::SoundPacket;
use crate::wire::control::ControlMessage;

/// Packets that are kept: 87 s of 64 frames, 33 MB at most.
pub const KEPT_MAX: usize = 65_536;
/// Packets that may be asked for and not answered yet.
const ASKED_MAX: usize = 1_024;

/// The last packets, and those that are to be sent again.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// In the order of their numbers.
    kept: VecDeque<(u32, Box<[u8]>)>,
    asked: VecDeque<u32>,
}

impl Keeping {
    /// Keeps a packet.
    pub(super) fn keep(&mut self, packet: &SoundPacket) {
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((packet.number, packet.whole.clone().into()));
    }

    /// Takes a wish. What is too much is not answered.
    pub(super) fn want(&mut self, first: u32, count: u8) {
        let wanted = (0..u32::from(count)).map(|place| first.wrapping_add(place));
        self.asked.extend(wanted.take(ASKED_MAX - self.asked.len()));
    }

    /// Returns the next answer.
    pub(super) fn poll(&mut self) -> Option<ControlMessage> {
        let number = self.asked.pop_front()?;
        let place = self.kept.binary_search_by_key(&number, |(number, _)| *number);
        let sound = place.map_or_else(|_| Vec::new(), |place| self.kept[place].1.to_vec());
        Some(ControlMessage::Sound { number, sound })
    }

    /// Returns true if an answer waits.
    pub(super) fn waits(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Forgets what was asked for.
    pub(super) fn forget_asked(&mut self) {
        self.asked.clear();
    }
}
