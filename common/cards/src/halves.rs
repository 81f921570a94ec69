//! The two halves that a card's callback serves, and the wish of a program.

use sound::Cycle;
use sound::format::Channels;

/// Takes what a card captures. It runs in the card's callback: no lock, allocation, log or system call but one that wakes a thread.
pub trait Capture: Send {
    /// Takes a period: `samples` interleaved, `channels` as opened; full scale is 1.
    fn capture(&mut self, samples: &[f32], cycle: Cycle);
}

/// Gives what a card plays. It runs in the card's callback: no lock, allocation, log or system call.
pub trait Playback: Send {
    /// Fills a period: `samples` interleaved, `channels` as opened; full scale is 1.
    fn play(&mut self, samples: &mut [f32], cycle: Cycle);
}

/// Wish of a program for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Frames of a period. The card may have another: [`CardInfo`](crate::CardInfo) and [`Change::Period`](crate::Change::Period) say which.
    pub frames: u32,
    /// Channels that the capturing half gets; none: nothing is captured.
    pub capture: Option<Channels>,
    /// Channels that the playing half fills; none: nothing is played.
    pub playback: Option<Channels>,
}

/// The two halves that a card's callback serves.
#[derive(Default)]
pub struct Halves {
    /// Gets what is captured, before the same period is played.
    pub capture: Option<Box<dyn Capture>>,
    /// Gives what is played.
    pub playback: Option<Box<dyn Playback>>,
}
