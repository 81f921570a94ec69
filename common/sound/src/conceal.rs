//! Concealment of what is missing: what would have followed, by linear prediction from what was heard last. The callback only
//! extrapolates; a worker keeps coefficients ready.

mod burg;
pub(crate) mod extrapolate;
mod shapes;

use rtrb::{Consumer, Producer, RingBuffer};

use self::burg::Burg;
use self::extrapolate::Extrapolator;
pub(crate) use self::shapes::{Coefficients, Frame};
pub use self::shapes::{HISTORY_FRAMES, ORDER};

/// New frames after which coefficients are computed anew. Half as many make concealment better by 0.1 dB, and cost twice the time.
const UPDATE_FRAMES: usize = 512;
/// Frames that wait for the worker at most: a stall of 170 ms.
const RING_FRAMES: usize = 8192;
/// Sets of coefficients that wait for the callback at most.
const RING_SETS: usize = 2;

/// Computes beside the callback what concealment needs.
#[derive(Debug)]
pub struct Concealer {
    heard: Consumer<Frame>,
    sets: Producer<Coefficients>,
    /// Newest frames by channel, [`HISTORY_FRAMES`] of them.
    history: [Vec<f32>; 2],
    /// Frames since the last computation.
    fresh: usize,
    burg: Burg,
}

/// Returns the callback's and the worker's half.
pub(crate) fn halves() -> (Extrapolator, Concealer) {
    let (heard, heard_there) = RingBuffer::new(RING_FRAMES);
    let (sets_there, sets) = RingBuffer::new(RING_SETS);
    let history = [vec![0.0; HISTORY_FRAMES], vec![0.0; HISTORY_FRAMES]];
    let concealer =
        Concealer { heard: heard_there, sets: sets_there, history, fresh: 0, burg: Burg::new(HISTORY_FRAMES) };
    (Extrapolator::new(heard, sets), concealer)
}

impl Concealer {
    /// Computes anew where there is enough new sound, and returns true if it did: some 0.1 ms a channel. To be called each few
    /// milliseconds by a thread that may wait.
    pub fn work(&mut self) -> bool {
        let waiting = self.heard.slots();
        if waiting == RING_FRAMES {
            // What did not fit in is missing: what is here does not go on to what comes next.
            self.history.iter_mut().for_each(|channel| channel.fill(0.0));
        }
        let Ok(chunk) = self.heard.read_chunk(waiting) else { return false };
        let (first, second) = chunk.as_slices();
        for frames in [first, second] {
            let newest = &frames[frames.len().saturating_sub(HISTORY_FRAMES)..];
            for (side, channel) in self.history.iter_mut().enumerate() {
                channel.copy_within(newest.len().., 0);
                let place = channel.len() - newest.len();
                for (sample, frame) in channel[place..].iter_mut().zip(newest) {
                    *sample = frame[side];
                }
            }
        }
        chunk.commit_all();
        self.fresh += waiting;
        if self.fresh < UPDATE_FRAMES {
            return false;
        }
        self.fresh = 0;
        let mut set = [[0.0; ORDER]; 2];
        self.burg.compute(&self.history[0], &mut set[0]);
        if self.history[0] == self.history[1] {
            set[1] = set[0];
        } else {
            self.burg.compute(&self.history[1], &mut set[1]);
        }
        // Full where nobody plays.
        self.sets.push(set).is_ok()
    }
}
