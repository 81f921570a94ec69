//! Sound cards: JACK, PipeWire's JACK and ALSA behind one interface. A program opens one [`Card`] with the two ends that its callback
//! serves.

use sound::Cycle;

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
