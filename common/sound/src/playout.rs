//! Receiving side: units come in from the network's thread, sound goes out to the card's callback, and a worker computes what concealment
//! needs. Everything happens in the card's own time, so it runs as it is in virtual time.

mod feed;
mod reader;
mod slots;

use std::sync::Arc;

use rtrb::{Consumer, RingBuffer};

pub use self::feed::Feed;
use self::reader::Reader;
use self::slots::Frame;
use crate::conceal::Concealer;
use crate::level::Level;
use crate::observed::{Controls, Heard, Observed, Outcome, Shared, Told};
use crate::unit::Unit;
use crate::{Cycle, RATE_HZ};

/// Units that the ring into the callback holds: a stall of some 200 ms with two copies of everything.
const RING_UNITS: usize = 512;
/// Frames that are made at once. A longer period of the card is made in parts.
const PART_FRAMES: usize = 256;

/// Choices of a receiving side.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Greatest delay beyond the line's own that the sound takes for what comes late, us. [`Controls::set_extra_us`] comes on top.
    pub added_us_max: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { added_us_max: 30_000 }
    }
}

/// Parts of a receiving side, each for its own thread.
#[derive(Debug)]
pub struct Receiving {
    /// The network's thread pushes units here.
    pub feed: Feed,
    /// The card's callback takes sound here.
    pub playout: Playout,
    /// A worker computes here.
    pub concealer: Concealer,
    /// State that anybody reads.
    pub observed: Observed,
    /// Wishes that anybody sets.
    pub controls: Controls,
}

/// Returns a receiving side that waits for its first unit.
pub fn new(options: Options) -> Receiving {
    let shared = Arc::new(Shared::default());
    let (producer, units) = RingBuffer::new(RING_UNITS);
    Receiving {
        feed: Feed::new(producer, shared.clone()),
        playout: Playout {
            units,
            reader: Reader::new(),
            options,
            line: None,
            capture: None,
            parts: vec![[0.0; 2]; PART_FRAMES],
            shared: shared.clone(),
        },
        concealer: Concealer {},
        observed: Observed { shared: shared.clone() },
        controls: Controls { shared },
    }
}

/// Stream that is heard.
#[derive(Debug)]
struct Line {
    epoch: u8,
    /// Newest number, as it came and as counted from the stream's first.
    newest: (u32, i64),
}

impl Line {
    /// Returns a number as counted from the stream's first.
    fn count(&self, number: u32) -> i64 {
        self.newest.1 + i64::from(number.wrapping_sub(self.newest.0) as i32)
    }
}

/// State of the sound that is heard: the callback owns it.
#[derive(Debug)]
pub struct Playout {
    units: Consumer<Unit>,
    reader: Reader,
    options: Options,
    line: Option<Line>,
    /// A position of the stream, and when it was captured.
    capture: Option<(i64, u64)>,
    parts: Vec<Frame>,
    shared: Arc<Shared>,
}

impl Playout {
    /// Fills a period of the card with interleaved samples. Never waits, allocates or asks the system for anything.
    pub fn play(&mut self, out: &mut [f32], channels: usize, cycle: Cycle) {
        while let Ok(unit) = self.units.pop() {
            self.arrive(&unit, cycle);
        }
        let gain = self.shared.gain();
        let played = self.reader.position;
        for out in out.chunks_mut(PART_FRAMES * channels.max(1)) {
            let parts = &mut self.parts[..out.len() / channels.max(1)];
            if self.line.is_some() {
                self.reader.read(parts, &self.shared);
            } else {
                parts.fill([0.0; 2]);
            }
            for (place, &[left, right]) in out.chunks_mut(channels.max(1)).zip(&*parts) {
                place.fill(0.0);
                match place {
                    [] => {}
                    [one] => *one = (gain * 0.5 * (left + right)).clamp(-1.0, 1.0),
                    [one, two, ..] => {
                        (*one, *two) = ((gain * left).clamp(-1.0, 1.0), (gain * right).clamp(-1.0, 1.0));
                    }
                }
            }
        }
        let heard = self.capture.map(|(position, capture_us)| {
            let later_us = (played - position) * 1_000_000 / i64::from(RATE_HZ);
            Heard { capture_us: capture_us.saturating_add_signed(later_us), local_us: cycle.us }
        });
        self.shared.tell(&Told {
            target_us: self.options.added_us_max / 3,
            added_us: self.options.added_us_max / 3,
            drift_ppm: None,
            is_resampling: false,
            level: Level::SILENCE,
            peak: Level::SILENCE,
            is_muted: self.reader.is_muted,
            heard: heard.filter(|_| self.line.is_some()),
        });
    }

    /// Takes a unit in.
    fn arrive(&mut self, unit: &Unit, cycle: Cycle) {
        if !slots::is_sound(unit) {
            return self.shared.count(Outcome::Refused);
        }
        if self.line.as_ref().is_none_or(|line| line.epoch != unit.epoch) {
            self.line = Some(Line { epoch: unit.epoch, newest: (unit.number, 0) });
            let waited_us = cycle.us.saturating_sub(unit.arrival_us) as i64;
            let wait_us = i64::from(self.options.added_us_max / 3) - waited_us;
            self.reader.start(unit.format, -(wait_us * i64::from(RATE_HZ) / 1_000_000));
            self.shared.count(Outcome::Start);
        }
        let Some(line) = &mut self.line else { return };
        let number = line.count(unit.number);
        if number > line.newest.1 {
            line.newest = (unit.number, number);
        }
        self.capture = Some((number * i64::from(unit.format.frames), unit.capture_us));
        self.reader.slots.put(number, unit);
    }
}
