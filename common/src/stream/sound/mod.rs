//! A stream of sound: its two ends as state machines without a clock or a socket.
//!
//! Sound obeys no rate control: its bytes come off the path's target first. What the line loses is mended by copies in the packets that
//! follow, never by sending again.
//!
//! ```text
//! sender: WelcomeSound   receiver: Ready   sender: sound datagrams ..    either: Bye
//! ```

mod packet;
mod receiver;
mod redundancy;
mod sender;

pub use self::packet::SoundPacket;
pub use self::receiver::{SoundReceiver, SoundReceiverCounters, SoundReceiverEvent};
pub use self::sender::{SoundSender, SoundSenderCounters, SoundSenderEvent};

/// Number of the stream of a microphone's sound.
pub const SOUND: u8 = 1;
