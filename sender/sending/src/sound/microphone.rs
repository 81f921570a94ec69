//! The card's callback: what is captured goes into a ring, and the coder's thread is woken.

use std::sync::mpsc::Sender;
use std::thread::Thread;

use cards::{Capture, CardInfo};
use rtrb::{Consumer, Producer, RingBuffer};
use sound::{Cycle, RATE_HZ, own};

/// Samples that a ring holds: half a second of two channels.
const SAMPLES: usize = RATE_HZ as usize;
/// Periods that a ring holds.
const PERIODS: usize = 1024;

/// A period in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// Count and time of its first sample, in the air.
    pub(super) cycle: Cycle,
    /// Samples of all channels.
    pub(super) samples: usize,
}

/// The coder's end of a ring.
#[derive(Debug)]
pub(super) struct Captured {
    pub(super) periods: Consumer<Period>,
    pub(super) samples: Consumer<f32>,
}

/// Makes the callback's end of a ring for each card that is opened.
#[derive(Clone, Debug)]
pub struct Microphone {
    coder: Thread,
    rings: Sender<Captured>,
}

impl Microphone {
    pub(super) fn new(coder: Thread, rings: Sender<Captured>) -> Self {
        Self { coder, rings }
    }

    /// Returns what a card calls that has been opened; the one before gives nothing any more. `own`: gets the same.
    pub fn half(&self, card: &CardInfo, own: Option<own::Captured>) -> Box<dyn Capture> {
        let (periods, periods_end) = RingBuffer::new(PERIODS);
        let (samples, samples_end) = RingBuffer::new(SAMPLES);
        // A coder that has ended takes none.
        let _ = self.rings.send(Captured { periods: periods_end, samples: samples_end });
        let latency_us = u64::from(card.input_latency_frames) * 1_000_000 / u64::from(RATE_HZ);
        Box::new(Half { periods, samples, own, latency_us, coder: self.coder.clone() })
    }
}

struct Half {
    periods: Producer<Period>,
    samples: Producer<f32>,
    own: Option<own::Captured>,
    /// From the air to the callback.
    latency_us: u64,
    coder: Thread,
}

impl Capture for Half {
    fn capture(&mut self, samples: &[f32], cycle: Cycle) {
        let cycle = Cycle { us: cycle.us.saturating_sub(self.latency_us), ..cycle };
        self.own.iter_mut().for_each(|own| own.push(samples, cycle.us));
        // A period for which there is no room is lost whole: the coder sees that by the next one's time.
        if self.periods.slots() > 0 && self.samples.slots() >= samples.len() {
            let (_, rest) = self.samples.push_partial_slice(samples);
            debug_assert!(rest.is_empty(), "there was room");
            let _ = self.periods.push(Period { cycle, samples: samples.len() });
        }
        // The one system call of the callback: a futex that wakes a thread and does not wait.
        self.coder.unpark();
    }
}
