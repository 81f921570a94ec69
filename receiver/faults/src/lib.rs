//! Both daemons on a bad network and under attack, measured where the pictures are shown.
//!
//! ```text
//! cli ─▶ cases: the scenarios ─▶ run: one of them, with daemons, relay, floods, a hostile peer ─▶ measured ─▶ checks
//!    ├─▶ attack: what an attacker does to one daemon, and what it costs
//!    ├─▶ siege: all kinds of hostile peers in turn beside a running call
//!    └─▶ rival: Duet and a browser's WebRTC over the same lines
//! ```

pub mod attack;
mod bulk;
mod cases;
mod checks;
pub mod cli;
mod confine;
pub mod daemons;
mod device;
mod flood;
mod hostile;
mod measured;
mod namespaces;
mod quality;
pub mod relay;
mod rival;
mod run;
mod siege;
mod soak;
mod stalls;
mod starve;
mod table;
