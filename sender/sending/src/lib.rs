//! The sending half: pictures from a source, coded on their own thread, for a link to the other machine.
//!
//! `capture` -> slot -> `encode` -> slot -> `link`; only `link` joins a clock to the stream.

#![deny(unsafe_code)]

mod capture;
mod effects;
mod encode;
mod gate;
mod link;
mod pace;
mod pauses;
pub mod predict;
mod recorder;
mod sending;
pub mod sound;
pub mod source;
mod stall;
mod thin;

pub use link::{Given, SenderLink};
pub use sending::{Other, Sending, Start, Threads, no_peer};
