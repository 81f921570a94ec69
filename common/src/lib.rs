//! What both ends of Duet must agree on.
//!
//! This crate is pure: it reads no clock, opens no socket or file, starts no thread and knows no device.
//! Time is always an argument ([`units::Timestamp`]); bytes come in and go out through the two session
//! state machines in [`session`].

pub mod coded;
pub mod frame;
pub mod params;
pub mod pyramid;
pub mod units;
