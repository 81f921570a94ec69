//! The audience of a call: what its host sees and hears, in a coding of its own, given to an existing relay (Media over QUIC) from
//! which browsers watch. A call has a publisher beside it; neither waits for it, nor ends with it.
//!
//! Pictures and sound go by [`Taps`]. A thread of low priority composes the pictures of all players ([`canvas`](Canvas)), codes them as H.264
//! in two sizes, in groups of a second, and the mix of the sound with Opus; all carry times of one clock, the one of
//! [`net::clock`]. How much of it is sent is decided beside the call's own rate ([`Allowance`]): the call goes first.

#![deny(unsafe_code)]

mod allowance;
mod backlog;
mod canvas;
mod catalogue;
mod dial;
mod h264;
mod publisher;
mod relay;
mod show;
mod sound;
mod target;
mod tracks;
mod watcher;
mod wishes;

pub use allowance::{Allowance, Call, Part};
pub use canvas::{Canvas, Layout, Raw};
pub use catalogue::Programme;
pub use publisher::{Publisher, Taps};
pub use relay::{RelayState, Seen};
pub use sound::SoundTap;
pub use target::{InvalidTarget, Target};
pub use watcher::{WatchError, Watcher, Watchers};
pub use wishes::{BASE_BPS, MAIN_BPS, SOUND_BPS, Wishes};
