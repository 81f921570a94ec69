//! Duet's sound beside that of other programs, measured to the sample through JACK.
//!
//! ```text
//! cli ─▶ rivals: programs on lines, one after the other in one run
//!    ├─▶ beside: a program's sound beside Duet's picture on one line
//!    ├─▶ drift: two cards whose clocks differ
//!    ├─▶ incidents: stalls and servers that end, and how long it takes until sound is back
//!    ├─▶ step: the delays of ear and eye in one call, and what Duet says of them
//!    └─▶ probe: the JACK client that each of them runs as a process of its own
//! ```

mod bars;
mod beside;
pub mod cli;
mod conditions;
mod drift;
mod incidents;
mod measure;
mod options;
mod probe;
mod programs;
mod rivals;
mod stage;
mod step;
mod table;
mod ticker;
