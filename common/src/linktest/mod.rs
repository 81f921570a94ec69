//! Measuring a link before a call: round trip, loss, and the rate that it carries without queueing.
//!
//! The tester dials a receiver that is waiting for a call; the answerer there shows nothing and holds a few numbers.
//! Both are state machines like the sessions: time is an argument, datagrams come in and go out.
//!
//! ```text
//! pings, idle: round trip and loss
//! bursts: dispersion, a first guess at the capacity (Dovrolis, Ramanathan, Moore: Packet dispersion techniques, 2004)
//! steps:  trains at a rate, up by half until one is lost or queues, then halving the interval (self-loading streams;
//!         Jain and Dovrolis: Pathload, 2002)
//! hold:   two seconds at nine tenths of the result, with pings: round trip and loss under load; less if a queue grows
//! turn:   all of this from the other side, which tells what it has found
//! ```

mod answerer;
mod other_way;
mod pings;
mod quality;
mod search;
mod tester;

pub use answerer::Answerer;
pub use other_way::{Turning, told};
pub use quality::{ExpectedPsnr, RateChoice, choices, expected_psnr, recommended};
pub use tester::{Measured, Silent, Tester};
