//! A call: both directions in one process over one connection, for `sender call` and for the room; and a band, which is several
//! calls with one camera and one coding.
//!
//! [`Call::open`] opens camera, encoder and sound card; [`Call::handle`] is what a window shows and steers;
//! [`Call::run`] turns it on a thread of the caller's choice until it has ended. A process may have one call after the other.

#![deny(unsafe_code)]

mod audience;
mod band;
mod beside;
mod call;
mod handle;
mod mix;
mod recordings;
mod sound;
mod stage;
mod talking;
mod turn;

pub use audience::{Audience, check as check_audience, learns};
pub use band::Band;
pub use beside::{of_member, of_one_file, of_other_file};
pub use call::Call;
pub use handle::{Handle, Stage};
pub use recordings::Recordings;
pub use sound::Sound;
#[cfg(feature = "window")]
pub use stage::BandView;
