//! Shared parts of both daemons: command line, settings during the call, identity, QUIC, the link's event loop, link tests,
//! slots of threads, threads that drivers may hold, limits on log lines, recordings, statistics file, metrics page, signals,
//! service manager.

#![deny(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod config;
pub mod control;
pub mod devices;
pub mod doctor;
pub mod exit;
mod handed;
pub mod hang;
pub mod log;
pub mod record;
pub mod sd;
pub mod settings;
pub mod signals;
pub mod slot;
pub mod sound;
pub mod stats;
pub mod tap;
mod terminal;
pub mod threads;
mod usage;

pub use doctor::speed;
pub use log::outlet;
pub use stats::metrics;
