//! A packet before it is sent.

use sound::format::Format;
use sound::level::Level;

use crate::units::Timestamp;

/// The coded sound of one packet.
#[derive(Clone, Debug)]
pub struct SoundPacket {
    /// Counts the packets of the stream; what the card has skipped is skipped here, too.
    pub number: u32,
    /// Form of the sound. Another one than before begins an epoch.
    pub format: Format,
    /// Time of the first sample's capture.
    pub capture: Timestamp,
    /// True while the microphone is muted: there is no sound.
    pub is_muted: bool,
    /// Greatest absolute sample.
    pub level: Level,
    /// As the format says; empty while muted.
    pub whole: Vec<u8>,
    /// The same as ADPCM, for copies; empty for Opus and while muted.
    pub adpcm: Vec<u8>,
    /// Of Opus, for a recording here: what was captured, as PCM of 16 bits; empty where nobody wants it and while muted.
    pub captured: Vec<u8>,
}
