//! Rules and data that both ends of Duet share.
//!
//! This crate is pure: it reads no clock, opens no socket or file, starts no thread and knows no device.
//! Time is always an argument ([`units::Timestamp`]); bytes come in and go out through the two session
//! state machines in [`session`].

#![forbid(unsafe_code)]

mod act_limit;
pub mod clock;
pub mod config;
pub mod latency;
pub mod linktest;
pub mod metrics;
mod named;
#[cfg(feature = "netsim")]
pub mod netsim;
pub mod packetise;
pub mod percentiles;
pub mod prediction;
pub mod protection;
pub mod reach;
pub mod reassemble;
pub mod session;
pub mod stats;
pub mod units;
pub mod wire;
