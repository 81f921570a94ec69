//! Rules and data that both ends of Duet share.
//!
//! This crate is pure: it reads no clock, opens no socket or file, starts no thread and knows no device.
//! Time is always an argument ([`units::Timestamp`]); bytes come in and go out through state
//! machines: the [`path`] to a peer, and the ends of each [`stream`] on it.

#![forbid(unsafe_code)]

mod act_limit;
pub mod config;
pub mod dht;
pub mod latency;
pub mod linktest;
pub mod metrics;
mod named;
#[cfg(feature = "netsim")]
pub mod netsim;
pub mod path;
pub mod percentiles;
mod public_key;
pub mod reach;
pub mod reason;
pub mod stats;
pub mod stream;
pub mod units;
pub mod wire;
