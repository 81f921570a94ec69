//! Both daemons on a bad network and under attack, measured where the pictures are shown.
//!
//! ```text
//! cli ─▶ scenario: a call on a line, a table of events and bars; also the soak, the siege and the rehearsal
//!    ├─▶ attack: what an attacker does to one daemon, and what it costs
//!    └─▶ rival: Duet and a browser's WebRTC over the same lines
//! ```

pub mod attack;
mod bars;
mod bulk;
mod camera;
pub mod cli;
mod clip;
pub mod daemons;
mod flood;
mod hostile;
mod initial;
pub mod logs;
pub mod machine;
pub mod mailbox;
mod pictures;
mod quality;
pub mod relay;
mod rival;
mod scenario;
mod strip;
pub mod testbed;
