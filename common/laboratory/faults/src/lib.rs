//! Both daemons on a bad network and under attack, measured where the pictures are shown.
//!
//! ```text
//! cli ─▶ scenario: one or all of them, with daemons, relay, floods, a hostile peer, and what is done to the machine
//!    ├─▶ attack: what an attacker does to one daemon, and what it costs
//!    ├─▶ siege: all kinds of hostile peers in turn beside a running call
//!    ├─▶ rehearsal: a call of hours, through outages, restarts, stalled cameras and other sizes
//!    └─▶ rival: Duet and a browser's WebRTC over the same lines
//! ```

pub mod attack;
mod bulk;
pub mod cli;
pub mod daemons;
mod flood;
mod hostile;
mod machine;
pub mod mailbox;
mod pictures;
mod quality;
mod rehearsal;
pub mod relay;
mod rival;
mod scenario;
mod siege;
