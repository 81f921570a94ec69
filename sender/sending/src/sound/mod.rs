//! Sound that is sent: what the card captures becomes packets on a thread of its own, which the link takes to the network.
//!
//! `microphone` (card's callback) -> ring -> `coder` (thread) -> `link`

mod coder;
mod link;
mod microphone;
mod own;
mod packets;
mod wanted;

pub use self::coder::Coder;
pub use self::link::SoundLink;
pub use self::microphone::Microphone;
