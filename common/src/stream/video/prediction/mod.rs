//! Prediction from the receiver's states: the states that both ends keep, the choice of the reference frame, and what
//! the sender knows of the receiver's states.
//!
//! The state of a frame is the picture that its decoder made of it. The state of a frame that was not decoded is that
//! of the frame before. The receiver keeps the states of the last frames ([`Held`]) and reports of each frame whether
//! it was used and what was missing of it ([`crate::wire::states`]). The sender ([`References`]) keeps the frames that
//! it has sent with the states that it believes the receiver to have. It assumes that a frame without a report arrived
//! whole. When a report says otherwise, it decodes the frames from there on again, as the receiver did, and so knows
//! the receiver's states, gaps included.
//!
//! | the next frame refers to | when |
//! |---|---|
//! | the frame before it, replayed | as a rule |
//! | the newest frame reported | while reports are overdue, or most frames lose something for good |
//! | the newest frame reported whose state is known | where time counts, and frames are left to decode again |
//! | nothing | nothing is held, a hash did not fit, the receiver lacks a reference, or prediction costs more |
//!
//! Nothing here knows a picture: states and frames are of any type, and decoding is the caller's.

mod held;
mod receivers;
mod references;

pub use held::Held;
pub use receivers::{Hindrance, ReceiverId, Receivers};
pub use references::{PredictionCounters, REPLAYS_MAX, References, SentFrame, StatesOutcome};

use picture::frame::FrameRate;

/// A report has the hash of the newest state whose number is a multiple of this.
pub const HASH_EVERY: u32 = 8;
/// Age of the oldest state that is kept, seconds.
const STATES_SECONDS: f64 = 0.5;

/// Returns the number of frames back that a stream of this rate can refer.
pub fn states_of(frame_rate: FrameRate) -> u8 {
    (STATES_SECONDS * frame_rate.as_f64()).ceil().clamp(1.0, picture::params::STATES_MAX.into()) as u8
}
