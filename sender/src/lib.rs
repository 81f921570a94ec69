//! Duet's sender daemon: pictures from a source, coded on their own thread, sent over QUIC.
//!
//! `capture` -> slot -> `encode` -> slot -> `link`; only `link` joins a clock to the session.

#![deny(unsafe_code)]

pub mod both;
mod capture;
pub mod cli;
pub mod devices;
mod effects;
mod encode;
mod gate;
pub mod latency;
mod link;
pub mod linktest;
mod pace;
pub mod predict;
mod recorder;
mod run;
pub mod source;
mod stall;
mod thin;

pub use run::run;
