//! The sound of one packet number as it crosses from the network's thread to the card's callback, in memory of fixed size.

use crate::format::Format;
use crate::level::Level;

/// Bytes of sound that a unit can hold: 256 frames of two channels at 16 bits, or 128 at 24 and more.
pub const UNIT_BYTES_MAX: usize = 1024;

/// Most copies that a packet carries.
pub const COPIES_MAX: u8 = 3;

/// Form of a unit's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// As the format says: the packet's own sound, or a whole copy of it.
    Whole,
    /// IMA ADPCM, 4 bits a sample.
    Adpcm,
}

/// The sound of one packet number: what a packet brings for itself, and what it brings as copies of those before, are a unit each.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Number of the packet whose sound this is; packet `n` begins `n * frames` samples after packet 0 of its epoch.
    pub number: u32,
    /// Form of the sender's samples.
    pub format: Format,
    /// Counts the sender's changes of format.
    pub epoch: u8,
    /// Time of the first sample's capture, us, sender's clock.
    pub capture_us: u64,
    /// Time of the packet's arrival, us, this machine's clock.
    pub arrival_us: u64,
    /// The packet's own sound (0), or a copy of the sound of so many packets before.
    pub copies_back: u8,
    /// Copies that the sender adds to each packet now.
    pub copies: u8,
    /// True while the sender's microphone is muted: what is heard is silence on purpose.
    pub is_muted: bool,
    /// Level of the packet.
    pub level: Level,
    /// Form of the bytes.
    pub body: Body,
    /// Number of bytes.
    pub len: u16,
    /// The bytes, and room behind them.
    pub bytes: [u8; UNIT_BYTES_MAX],
}

impl Unit {
    /// Returns the packet's own sound, still without times and bytes.
    pub fn new(number: u32, format: Format) -> Self {
        Self {
            number,
            format,
            epoch: 0,
            capture_us: 0,
            arrival_us: 0,
            copies_back: 0,
            copies: 0,
            is_muted: false,
            level: Level::SILENCE,
            body: Body::Whole,
            len: 0,
            bytes: [0; UNIT_BYTES_MAX],
        }
    }
}
