//! The receiving half: video from a link to a window or a file.
//!
//! ```text
//! network thread            decode thread             main thread
//! link: socket, stream --> decode: blocks, inverse --> present: sinks, statistics
//!                    slot of one: the newest wins
//! ```
//!
//! With files as the only sinks, frames queue up for a while before any is lost.
//!
//! The window must live on the main thread, so the sinks do; a decoder and its device belong to one thread; the
//! network thread never decodes.

#![deny(unsafe_code)]

mod absence;
pub mod check;
pub mod decode;
pub mod handover;
pub mod link;
mod picture_log;
pub mod predicted;
pub mod present;
pub mod report;
mod resolved;
mod run;
pub mod sink;
pub mod sound;

pub use link::ReceiverLink;
pub use resolved::Resolved;
pub use run::{Network, OpenSinks, Shows, run_over};
