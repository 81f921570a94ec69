//! Packets that wait for their time, by number.

pub(crate) use crate::conceal::Frame;
use crate::format::{Coding, Format};
use crate::opus::Decoder;
use crate::unit::{Body, UNIT_BYTES_MAX, Unit};
use crate::{adpcm, opus, pcm};

/// Numbers that are held at once, those just played among them: more than a second of the shortest packets.
pub(crate) const SLOTS: usize = 1024;

/// Place of a number.
#[derive(Clone, Debug)]
struct Slot {
    number: i64,
    body: Option<Body>,
    /// The body is a copy that a later packet brought.
    is_copy: bool,
    /// The packet itself has come.
    has_own: bool,
    is_muted: bool,
    len: usize,
    bytes: [u8; UNIT_BYTES_MAX],
}

/// Sound of a number, as it is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<'a> {
    pub(crate) body: Body,
    pub(crate) is_copy: bool,
    pub(crate) is_muted: bool,
    pub(crate) bytes: &'a [u8],
}

/// All places.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
}

impl Slots {
    pub(crate) fn new() -> Self {
        let empty = Slot {
            number: i64::MIN,
            body: None,
            is_copy: false,
            has_own: false,
            is_muted: false,
            len: 0,
            bytes: [0; UNIT_BYTES_MAX],
        };
        Self { slots: vec![empty; SLOTS] }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        for slot in &mut self.slots {
            slot.number = i64::MIN;
        }
    }

    /// Holds a unit under its number as counted from the stream's beginning. Own sound comes before copies, whole ones before others.
    /// Returns true where the packet itself has not come before.
    pub(crate) fn put(&mut self, number: i64, unit: &Unit) -> bool {
        let slot = &mut self.slots[number.rem_euclid(SLOTS as i64) as usize];
        if slot.number != number {
            (slot.number, slot.body, slot.has_own) = (number, None, false);
        }
        let is_copy = unit.copies_back > 0;
        let is_first = !is_copy && !slot.has_own;
        slot.has_own |= !is_copy;
        let is_better = match slot.body {
            None => true,
            Some(Body::Adpcm) => unit.body == Body::Whole,
            Some(Body::Whole) => is_first,
        };
        if is_better {
            let bytes = &unit.bytes[..usize::from(unit.len).min(UNIT_BYTES_MAX)];
            slot.bytes[..bytes.len()].copy_from_slice(bytes);
            (slot.body, slot.is_copy, slot.is_muted, slot.len) = (Some(unit.body), is_copy, unit.is_muted, bytes.len());
        }
        is_first
    }

    /// Returns true where the packet itself has come, in time or not.
    pub(crate) fn has_own(&self, number: i64) -> bool {
        let slot = &self.slots[number.rem_euclid(SLOTS as i64) as usize];
        slot.number == number && slot.has_own
    }

    /// Returns the sound of a number.
    pub(crate) fn get(&self, number: i64) -> Option<Held<'_>> {
        let slot = &self.slots[number.rem_euclid(SLOTS as i64) as usize];
        let body = slot.body.filter(|_| slot.number == number)?;
        Some(Held { body, is_copy: slot.is_copy, is_muted: slot.is_muted, bytes: &slot.bytes[..slot.len] })
    }
}

/// Returns true where a unit is what its format says, and the format one that there is.
pub(crate) fn is_sound(unit: &Unit) -> bool {
    let Format { channels, coding, frames } = unit.format;
    let samples = channels.count() * usize::from(frames);
    let len = usize::from(unit.len);
    let fits = match (unit.body, coding) {
        (Body::Whole, _) if unit.is_muted && len == 0 => true,
        (Body::Adpcm, Coding::Opus) => false,
        (Body::Adpcm, _) => len == adpcm::block_bytes(channels.count(), frames.into()),
        (Body::Whole, Coding::Pcm16) => len == 2 * samples,
        (Body::Whole, Coding::Pcm24) => len == 3 * samples,
        (Body::Whole, Coding::Opus) => len > 0,
    };
    let is_length = if coding == Coding::Opus { frames == opus::FRAMES } else { [64, 128, 256].contains(&frames) };
    fits && is_length && len <= UNIT_BYTES_MAX
}

/// Decodes a packet into frames and returns true; false, with silence in `out`, where they are not what is said.
pub(crate) fn decode(opus: Option<&mut Decoder>, format: Format, body: Body, bytes: &[u8], out: &mut [Frame]) -> bool {
    let samples = out.as_flattened_mut();
    let (channels, frames) = (format.channels.count(), usize::from(format.frames));
    let Some(plain) = samples.get_mut(..channels * frames) else { return false };
    let is_read = match (body, format.coding) {
        (Body::Adpcm, _) => adpcm::decode(bytes, channels, frames, plain),
        (Body::Whole, Coding::Pcm16) => pcm::decode_16(bytes, plain) == plain.len(),
        (Body::Whole, Coding::Pcm24) => pcm::decode_24(bytes, plain) == plain.len(),
        (Body::Whole, Coding::Opus) => opus.is_some_and(|opus| opus.decode(format.channels, bytes, plain)),
    };
    if !is_read {
        samples.fill(0.0);
    } else if channels == 1 {
        // From the end, so that nothing is overwritten before it is read.
        for frame in (0..frames).rev() {
            let sample = samples[frame];
            samples[2 * frame..2 * frame + 2].fill(sample);
        }
    }
    is_read
}
