//! Settings that may be changed during a call, by a key in the window or the command `set`.

mod latency_limit;
mod own;
mod sent;
mod sound;
mod talk;

pub use self::latency_limit::LatencyLimit;
pub use self::own::{OwnPicture, OwnSide};
pub use self::sound::{SoundSide, practice_said, tone_said};
pub use self::talk::{Said, TalkSide};
