//! Rules and data that both ends of Duet share.
//!
//! This crate is pure: it reads no clock, opens no socket or file, starts no thread and knows no device.
//! Time is always an argument ([`units::Timestamp`]); bytes come in and go out through the two session
//! state machines in [`session`].

#![forbid(unsafe_code)]

mod allowance;
pub mod clock;
pub mod coded;
pub mod config;
pub mod container;
pub mod frame;
pub mod gaps;
pub mod linktest;
pub mod metrics;
#[cfg(feature = "netsim")]
pub mod netsim;
pub mod packetise;
pub mod params;
pub mod prediction;
pub mod protection;
pub mod pyramid;
pub mod reach;
pub mod reassemble;
pub mod session;
pub mod stats;
pub mod units;
pub mod vectors;
pub mod weights;
pub mod wire;
pub mod y4m;
