//! The thread that looks for echoes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use net::failure::Failure;
use rtrb::Consumer;
use shell::settings::SoundSide;
use shell::threads::{Ending, join, spawn};
use sound::RATE_HZ;
use sound::echo::Echo;
use sound::own::Pair;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(200);
/// Longest way from a loudspeaker to a microphone, with what a card takes, frames.
const HERE_FRAMES: usize = RATE_HZ as usize / 4;
/// Longest way to the other side and back, frames.
const THERE_FRAMES: usize = RATE_HZ as usize;

/// The thread, and its end.
pub struct Echoes {
    thread: Ending,
    is_over: Arc<AtomicBool>,
    pairs: Sender<Consumer<Pair>>,
}

impl Echoes {
    /// Starts the thread. It tells `side` what it hears.
    pub fn start(side: &SoundSide) -> Result<Self, Failure> {
        let (pairs, pairs_end) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, side) = (Arc::clone(&is_over), side.clone());
        let thread = spawn("echo", move || {
            work(&pairs_end, &over, &side);
            Ok(())
        })?;
        Ok(Self { thread, is_over, pairs })
    }

    /// Returns what takes the sound of each card that is opened, in place of the one before.
    pub fn pairs(&self) -> Sender<Consumer<Pair>> {
        self.pairs.clone()
    }

    /// Ends the thread.
    pub fn end(self) -> Result<(), Failure> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        join(self.thread)
    }
}

fn work(newer: &Receiver<Consumer<Pair>>, is_over: &AtomicBool, side: &SoundSide) {
    let mut finders = Finders::default();
    let mut pairs: Option<Consumer<Pair>> = None;
    while !is_over.load(Ordering::Relaxed) {
        if let Some(newer) = newer.try_iter().last() {
            (pairs, finders) = (Some(newer), Finders::default());
        }
        while let Some(pair) = pairs.as_mut().and_then(|pairs| pairs.pop().ok()) {
            finders.take(pair);
        }
        side.set_echoes(finders.here.heard().is_some(), finders.there.heard().is_some());
        thread::park_timeout(LOOK);
    }
}

/// Finders of both echoes.
struct Finders {
    here: Echo,
    there: Echo,
}

impl Default for Finders {
    fn default() -> Self {
        Self { here: Echo::new(HERE_FRAMES), there: Echo::new(THERE_FRAMES) }
    }
}

impl Finders {
    fn take(&mut self, Pair { other, own }: Pair) {
        self.here.push(&[other], &[own]);
        self.there.push(&[own], &[other]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise that each side makes, and what of it comes back.
    #[test]
    fn each_echo_is_told_from_the_other() {
        let noise = |seed: u64, frame: i64| {
            let mixed = (seed.wrapping_add(frame as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        for (here, there) in [(0.0, 0.0), (0.4, 0.0), (0.0, 0.4)] {
            let mut finders = Finders::default();
            for frame in 0..4 * 48_000 {
                let (own, other) = (noise(1, frame), noise(1 << 40, frame));
                let own_back = there * noise(1, frame - 9_600);
                let other_back = here * noise(1 << 40, frame - 960);
                finders.take(Pair { other: other + own_back, own: own + other_back });
            }
            let heard = [&finders.here, &finders.there].map(|finder| finder.heard().is_some());
            assert_eq!(heard, [here > 0.0, there > 0.0]);
        }
    }
}
