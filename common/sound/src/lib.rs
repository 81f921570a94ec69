//! Sound between two machines: formats, what packets carry, and the receiving side, which runs as it is in a card's callback and in
//! virtual time. No card, clock, socket or thread.

pub mod adpcm;
pub mod click;
pub mod conceal;
mod drift;
pub mod echo;
pub mod format;
pub mod level;
pub mod observed;
pub mod opus;
pub mod own;
pub mod pcm;
pub mod playout;
pub mod round_trip;
pub mod tone;
pub mod unit;

/// Sample rate of all sound, of cards and packets.
pub const RATE_HZ: u32 = 48_000;

/// Time of a card's period: when the callback's first captured sample was taken and its first played one will leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Count of samples of the card's own clock at the beginning of this period.
    pub frame: u64,
    /// The same instant in microseconds of `CLOCK_MONOTONIC`, smoothed.
    pub us: u64,
}
