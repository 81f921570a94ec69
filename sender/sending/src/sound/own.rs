//! Recording of the sound that is sent, as it was captured.

use common::stream::sound::{RecordedSound, SoundFate, SoundPacket, interval};
use common::units::Timestamp;
use shell::record::Tap;
use sound::RATE_HZ;
use sound::format::{Coding, Format};

/// Number, form and time of a packet.
#[derive(Clone, Copy, Debug)]
struct Last {
    number: u32,
    format: Format,
    capture: Timestamp,
}

/// Gives what is sent to a recording.
pub(super) struct OwnRecording {
    tap: Tap,
    /// The last packet; none: it begins.
    last: Option<Last>,
}

impl OwnRecording {
    pub(super) fn new(tap: Tap) -> Self {
        Self { tap, last: None }
    }

    /// Returns true if what is sent goes there.
    pub(super) fn is_into(&self, tap: &Tap) -> bool {
        self.tap.is_of_same(tap)
    }

    /// Takes a packet that is sent.
    pub(super) fn on_packet(&mut self, packet: &SoundPacket, now: Timestamp) {
        recorded(packet, &mut self.last, |sound| self.tap.sound(sound, now));
    }

    /// Takes notice that nothing is sent.
    pub(super) fn on_pause(&mut self) {
        self.last = None;
    }
}

/// Gives `put` the sound of a packet, and before it what the card has left out after `last`, which has the form and the time that the other
/// end takes for it: those of the packet before.
fn recorded(packet: &SoundPacket, last: &mut Option<Last>, mut put: impl FnMut(RecordedSound)) {
    let is_opus = packet.format.coding == Coding::Opus;
    // Opus is for the line only.
    let coding = if is_opus { Coding::Pcm16 } else { packet.format.coding };
    let format = Format { coding, ..packet.format };
    let left_out = last.map_or(0, |last| packet.number.wrapping_sub(last.number).wrapping_sub(1));
    // More is another card, or none for a while: its place is that of its time.
    let before = last.filter(|_| left_out <= RATE_HZ / 64);
    if let Some(Last { format, mut capture, .. }) = before {
        for _ in 0..left_out {
            capture = capture + interval(format);
            put(RecordedSound { format, capture, fate: SoundFate::LeftOut, begins: false });
        }
    }
    let begins = before.is_none();
    let sound = if is_opus { &packet.captured } else { &packet.whole };
    let fate = if packet.is_muted { SoundFate::Muted } else { SoundFate::Sound(sound.clone()) };
    put(RecordedSound { format, capture: packet.capture, fate, begins });
    *last = Some(Last { number: packet.number, format, capture: packet.capture });
}

#[cfg(test)]
mod tests {
    use sound::format::Channels;
    use sound::level::Level;

    use super::*;

    #[test]
    fn what_was_captured_is_recorded_whatever_the_line_gets_and_nothing_of_a_muted_microphone() {
        let format = Format { channels: Channels::Mono, coding: Coding::Opus, frames: 120 };
        let packet = |number, is_muted| SoundPacket {
            number,
            format,
            // The clock of the card finds its pace.
            capture: Timestamp::from_us(1_000_000 + 2_500 * u64::from(number) + if number > 10 { 130 } else { 0 }),
            is_muted,
            level: Level(0),
            whole: vec![1; 20],
            adpcm: Vec::new(),
            captured: vec![2; 240],
        };
        let (mut last, mut sounds) = (None, Vec::new());
        for (number, is_muted) in [(7, false), (8, true), (11, false), (90_000, false)] {
            recorded(&packet(number, is_muted), &mut last, |sound| sounds.push(sound));
        }
        let fates: Vec<_> = sounds.iter().map(|sound| (sound.fate.clone(), sound.begins)).collect();
        let heard = || SoundFate::Sound(vec![2; 240]);
        let left_out = || (SoundFate::LeftOut, false);
        assert_eq!(
            fates,
            [(heard(), true), (SoundFate::Muted, false), left_out(), left_out(), (heard(), false), (heard(), true)]
        );
        assert!(sounds.iter().all(|sound| sound.format.coding == Coding::Pcm16));
        assert_eq!(sounds[2].capture.as_us(), 1_000_000 + 2_500 * 9);
    }
}
