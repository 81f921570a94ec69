//! Stream of frames in the sender's time, out of packets.

use super::slots::{self, Frame, Slots};
use crate::format::{FRAMES_MAX, Format};
use crate::observed::{Outcome, Shared};
use crate::unit::Body;

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
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
            format: Format::default(),
            position: 0,
            is_muted: false,
            number: None,
            packet: vec![[0.0; 2]; FRAMES_MAX],
        }
    }

    /// Begins a stream, so many frames before its first packet.
    pub(crate) fn start(&mut self, format: Format, position: i64) {
        self.slots.clear();
        (self.format, self.position, self.number) = (format, position, None);
    }

    /// Reads the next frames.
    pub(crate) fn read(&mut self, out: &mut [Frame], shared: &Shared) {
        let frames = i64::from(self.format.frames);
        for place in out {
            let number = self.position.div_euclid(frames);
            if self.number != Some(number) {
                self.number = Some(number);
                let packet = &mut self.packet[..frames as usize];
                let outcome = match self.slots.get(number) {
                    Some(held) if slots::decode(self.format, held.body, held.bytes, packet) => {
                        self.is_muted = held.is_muted;
                        if held.is_muted {
                            packet.fill([0.0; 2]);
                        }
                        match (held.body, held.is_copy) {
                            (Body::Whole, false) => Some(Outcome::Own),
                            (Body::Whole, true) => Some(Outcome::RepairedWhole),
                            (Body::Adpcm, _) => Some(Outcome::RepairedAdpcm),
                        }
                    }
                    _ => {
                        packet.fill([0.0; 2]);
                        (number >= 0).then_some(Outcome::Concealed)
                    }
                };
                if let Some(outcome) = outcome {
                    shared.count(outcome);
                }
            }
            *place = self.packet[self.position.rem_euclid(frames) as usize];
            self.position += 1;
        }
    }
}
