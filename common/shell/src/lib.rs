//! What both daemons do alike with the world outside: command line, identity, QUIC, the link's event loop,
//! slots between threads, statistics file, service manager.

pub mod cli;
pub mod clock;
pub mod doctor;
pub mod exit;
pub mod identity;
pub mod link;
pub mod log;
mod quic;
pub mod sd;
pub mod slot;
pub mod stats;
pub mod tls;
