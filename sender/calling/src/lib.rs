//! A call: both directions in one process over one connection, for `sender call` and for the room.
//!
//! [`Call::open`] opens camera, encoder and sound card; [`Call::handle`] is what a window shows and steers;
//! [`Call::run`] turns it on a thread of the caller's choice until it has ended. A process may have one call after the other.

#![deny(unsafe_code)]

mod beside;
mod call;
mod handle;
mod recordings;
mod sound;
mod talking;

pub use beside::{of_one_file, of_other_file};
pub use call::Call;
pub use handle::{Handle, Stage};
pub use recordings::Recordings;
pub use sound::Sound;
