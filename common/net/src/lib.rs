//! The way to the other machine: identity, QUIC, the link's event loop, link tests, and finding a machine behind a router.
//!
//! It knows no codec and no command line. What is decided is decided in [`common`]; here it meets sockets, a clock and files.

#![deny(unsafe_code)]

mod answering;
pub mod clock;
pub mod failure;
mod gate;
pub mod identity;
pub mod limit;
pub mod link;
pub mod linktest;
mod live_rate;
pub mod lock;
mod quic;
pub mod quoted;
pub mod reach;
pub mod reasons;
mod runtime;
pub mod stop;
pub mod tls;
pub mod wait;
pub mod zones;

pub use quic::{buffer_sizes, can_listen, can_meet};
