//! A stream of sound: its two ends as state machines without a clock or a socket.
//!
//! Sound obeys no rate control: its bytes come off the path's target first. What the line loses is mended by copies in the packets that
//! follow, never by sending again. What came too late for the ear is sent again, slowly, to a receiver that records.
//!
//! ```text
//! sender: WelcomeSound   receiver: Ready   sender: sound datagrams ..              either: Bye
//!    of one that records: RecordSound Ready                        SoundEnds
//!                         WantSound .. RecordSound { goes_on: false }    sender: LateSound ..
//! ```
//!
//! RecordSound comes once on a connection. Before Ready, every packet that leaves is kept for the recording; a recording that begins
//! later has what leaves from then on.

mod completing;
mod keeping;
mod packet;
mod receiver;
mod redundancy;
mod sender;

pub use self::completing::{RecordedSound, SoundFate, interval};
pub use self::packet::SoundPacket;
pub use self::receiver::{SoundReceiver, SoundReceiverCounters, SoundReceiverEvent};
pub use self::sender::{SoundSender, SoundSenderCounters, SoundSenderEvent};

/// Number of the stream of a microphone's sound.
pub const SOUND: u8 = 1;

/// Packets that a sender keeps for a recording, and that a recording holds for one that lacks: 60 s of 64 frames.
const HELD_MAX: usize = 45_000;
/// Bytes of them: 60 s of two channels at 24 bits.
const HELD_BYTES_MAX: usize = 18_000_000;
/// Packets that may be asked for and not answered yet.
const WANTED_MAX: usize = 512;
/// Longest time for which an end waits for what a recording lacks after the other one, or somebody here, has ended the call.
pub const LINGER: std::time::Duration = std::time::Duration::from_secs(5);
/// Part of the stream's own rate that sending again takes at most, as a divisor: a loss of so much can be made good as it happens.
const LATE_PART: u64 = 6;

#[cfg(test)]
#[path = "completing_tests.rs"]
mod tests;
