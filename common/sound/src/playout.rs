//! Receiving side: units come in from the network's thread, sound goes out to the card's callback, and a worker computes what concealment
//! needs. Everything happens in the card's own time, so it runs as it is in virtual time.
//!
//! Positions are frames of the stream, counted from its first packet; times are frames of this card. A packet's transit is its arrival
//! less its position, the delay is a period's time less the position it plays, and both change by drift only. The delay *added* is what
//! it is above the least transit.

mod delay;
mod feed;
mod lateness;
mod losses;
mod output;
mod reader;
mod slots;

use std::sync::Arc;

use rtrb::{Consumer, RingBuffer};

use self::delay::{Delay, Sizes};
pub use self::feed::Feed;
use self::output::Output;
use self::reader::Reader;
use self::slots::{Frame, SLOTS};
use crate::conceal::{self, Concealer};
use crate::drift::resample::{FILTER_FRAMES, PART_FRAMES, Resampler};
use crate::format::Format;
use crate::observed::{Controls, Heard, Observed, Outcome, Shared, Told};
use crate::unit::Unit;
use crate::{Cycle, RATE_HZ};

/// Units that the ring into the callback holds: a stall of some 200 ms with two copies of everything.
const RING_UNITS: usize = 512;
/// Frames by which a packet may be away from what is played, before and behind.
const NEAR_FRAMES: i64 = RATE_HZ as i64 / 2;
/// Packets one after another that are not near, after which the stream has begun anew.
const STRAYS: u32 = 8;
/// Frames that a card may skip, for a stall of its callback; beyond, the stream begins anew.
const SKIP_FRAMES: i64 = 2 * RATE_HZ as i64;

/// Difference between what passed from packet to packet by the sender's time and by its frames, from which on its card has stood still:
/// its clock's jitter, and what clocks that drift make of a second.
const STOOD_STILL_US: (f64, f64) = (60.0, 300e-6);

/// Parts of a receiving side, each for its own thread.
#[derive(Debug)]
pub struct Receiving {
    /// The network's thread pushes units here.
    pub feed: Feed,
    /// The card's callback takes sound here.
    pub playout: Playout,
    /// A worker computes here.
    pub concealer: Concealer,
    /// Shows what is heard.
    pub observed: Observed,
    /// Takes wishes.
    pub controls: Controls,
}

/// Returns a receiving side that waits for its first unit.
pub fn new() -> Receiving {
    let shared = Arc::new(Shared::default());
    let (producer, units) = RingBuffer::new(RING_UNITS);
    let (extrapolator, concealer) = conceal::halves();
    let playout = Playout {
        units,
        reader: Reader::new(extrapolator),
        // Its parameters are constants that a test tries; without it two clocks are two clocks, and the delay jumps.
        resampler: Resampler::new().ok(),
        is_resampling: false,
        delay: Delay::new(),
        output: Output::new(),
        line: None,
        next_frame: None,
        has_started: false,
        part: vec![[0.0; 2]; PART_FRAMES],
        other_part: vec![[0.0; 2]; PART_FRAMES],
        shared: shared.clone(),
    };
    let feed = Feed::new(producer, shared.clone());
    Receiving { feed, playout, concealer, observed: Observed { shared: shared.clone() }, controls: Controls { shared } }
}

/// Frames in a microsecond.
const FRAMES_PER_US: f64 = RATE_HZ as f64 / 1e6;

/// Stream that is heard.
#[derive(Debug)]
struct Line {
    epoch: u8,
    format: Format,
    /// Newest number, as it came and as counted from the stream's first.
    newest: (u32, i64),
    /// Position of the newest packet, and when it was captured.
    capture: (i64, u64),
    /// Own packets in a row that were not near.
    strays: u32,
}

/// State of the sound that is heard: the callback owns it.
#[derive(Debug)]
pub struct Playout {
    units: Consumer<Unit>,
    reader: Reader,
    resampler: Option<Resampler>,
    is_resampling: bool,
    delay: Delay,
    output: Output,
    line: Option<Line>,
    /// Frame at which the next period should begin.
    next_frame: Option<u64>,
    /// A stream has begun in this period: no more than one may, each takes its time.
    has_started: bool,
    part: Vec<Frame>,
    other_part: Vec<Frame>,
    shared: Arc<Shared>,
}

impl Playout {
    /// Fills a period of the card with interleaved samples. Never waits, allocates or asks the system for anything.
    pub fn play(&mut self, out: &mut [f32], channels: usize, cycle: Cycle) {
        let period = out.len() / channels.max(1);
        self.skip(cycle.frame);
        self.next_frame = Some(cycle.frame.saturating_add(period as u64));
        self.has_started = false;
        // Those that are there now: a peer that floods does not keep the card waiting.
        for _ in 0..self.units.slots() {
            let Ok(unit) = self.units.pop() else { break };
            self.arrive(&unit, cycle, period);
        }
        self.steer(cycle, period);
        self.end_if_over();
        let played = self.played();
        let gain = self.shared.gain();
        for out in out.chunks_mut(PART_FRAMES * channels.max(1)) {
            let frames = out.len() / channels.max(1);
            self.make(frames);
            self.output.write(&self.part[..frames], gain, out, channels);
        }
        self.tell(cycle, played);
    }

    /// Ends the stream of a sender that has gone, once there has been nothing for a second.
    fn end_if_over(&mut self) {
        let end = |line: &Line| line.newest.1 * i64::from(line.format.frames) + i64::from(RATE_HZ);
        if self.line.as_ref().is_some_and(|line| self.reader.position > end(line)) {
            self.line = None;
        }
    }

    /// Returns the position that is played next.
    fn played(&self) -> f64 {
        let behind = self.resampler.as_ref().filter(|_| self.is_resampling).map_or(0.0, Resampler::behind);
        self.reader.position as f64 - behind
    }

    /// Makes the next frames in `part`.
    fn make(&mut self, frames: usize) {
        let part = &mut self.part[..frames];
        if self.line.is_none() {
            return self.reader.go_on_without(part);
        }
        let ratio = self.delay.ratio();
        let (reader, shared) = (&mut self.reader, &self.shared);
        let Some(resampler) = self.resampler.as_mut().filter(|_| self.is_resampling || ratio.is_some()) else {
            return reader.read(part, shared);
        };
        if self.is_resampling {
            resampler.set_ratio(ratio.unwrap_or(1.0));
            return resampler.process(part, |input| reader.read(input, shared));
        }
        self.is_resampling = true;
        // The filter is filled with what was heard, and says half its length of it again: what would have come plain fades into that.
        resampler.reset();
        let mut past = [[0.0; 2]; FILTER_FRAMES];
        resampler.process(&mut past, |input| reader.recall(input));
        let plain = &mut self.other_part;
        resampler.process(part, |input| {
            reader.read(input, shared);
            let known = input.len().min(frames);
            plain[..known].copy_from_slice(&input[..known]);
            plain[known..frames].fill(input.last().copied().unwrap_or_default());
        });
        for (at, (place, plain)) in part.iter_mut().zip(plain).enumerate() {
            let share = (at + 1) as f32 / (frames + 1) as f32;
            for (sample, plain) in place.iter_mut().zip(plain) {
                *sample = *plain + share * (*sample - *plain);
            }
        }
    }

    /// Follows a card that has skipped periods; where it goes back or far ahead the stream begins anew.
    fn skip(&mut self, frame: u64) {
        let Some(expected) = self.next_frame else { return };
        let skipped = frame.wrapping_sub(expected) as i64;
        if skipped == 0 {
        } else if (1..SKIP_FRAMES).contains(&skipped) {
            self.reader.jump(skipped);
            self.delay.stand_still(frame as f64);
        } else {
            self.line = None;
        }
    }

    /// Takes a unit in.
    fn arrive(&mut self, unit: &Unit, cycle: Cycle, period: usize) {
        if !slots::is_sound(unit) {
            return self.shared.count(Outcome::Refused);
        }
        let is_own = unit.copies_back == 0;
        let waited_us = (cycle.us as i64).saturating_sub(unit.arrival_us as i64);
        // A time that cannot be does not move the delay by more than this.
        let arrival = cycle.frame as f64 - waited_us.clamp(-1_000_000, 1_000_000) as f64 * FRAMES_PER_US;
        let frames = i64::from(unit.format.frames);
        let here = self.line.as_ref().and_then(|line| {
            let number = line.newest.1 + i64::from(unit.number.wrapping_sub(line.newest.0) as i32);
            let away = number * frames - self.reader.position;
            let is_near = (-NEAR_FRAMES..NEAR_FRAMES + i64::from(crate::observed::EXTRA_US_MAX) / 20).contains(&away)
                && away < (SLOTS as i64 / 2) * frames;
            (is_near && line.epoch == unit.epoch && line.format == unit.format).then_some(number)
        });
        let number = match (here, &mut self.line) {
            (Some(number), _) => number,
            (None, Some(line)) => {
                // Of three bits, the upper ones.
                let is_next = (unit.epoch.wrapping_sub(line.epoch) << 5) as i8 > 0;
                line.strays += u32::from(is_own);
                if self.has_started || !is_own || !(is_next || line.strays >= STRAYS) {
                    return self.shared.count(Outcome::Stray);
                }
                self.start(unit, cycle, arrival, period);
                0
            }
            (None, None) if is_own => {
                self.start(unit, cycle, arrival, period);
                0
            }
            (None, None) => return self.shared.count(Outcome::Stray),
        };
        let Some(line) = &mut self.line else { return };
        let position = number * frames;
        if is_own {
            line.strays = 0;
            if number >= line.newest.1 {
                let passed_us = unit.capture_us.wrapping_sub(line.capture.1) as i64 as f64;
                let expected_us = (position - line.capture.0) as f64 / FRAMES_PER_US;
                if (passed_us - expected_us).abs() > STOOD_STILL_US.0 + STOOD_STILL_US.1 * expected_us {
                    self.delay.stand_still(cycle.frame as f64);
                }
                (line.newest, line.capture) = ((unit.number, number), (position, unit.capture_us));
            }
        }
        let is_late = self.reader.is_past(number);
        if self.reader.slots.put(number, unit) {
            if is_late {
                self.shared.count(Outcome::Late);
            }
            let transit = arrival - position as f64;
            if self.delay.arrive(arrival, transit, frames as usize, unit.copies, is_late) {
                self.shared.count(Outcome::Pause);
            }
        }
    }

    /// Begins a stream with a packet's own sound.
    fn start(&mut self, unit: &Unit, cycle: Cycle, arrival: f64, period: usize) {
        let Unit { epoch, format, number, capture_us, .. } = *unit;
        self.shared.count(Outcome::Start);
        self.has_started = true;
        self.line = Some(Line { epoch, format, newest: (number, 0), capture: (0, capture_us), strays: 0 });
        let sizes = Sizes { period, frames: format.frames.into(), is_resampling: self.is_resampling };
        let delay = self.delay.start(cycle.frame as f64, arrival, sizes);
        let position = (cycle.frame as f64 - delay).floor() as i64;
        self.reader.start(format, position - position.rem_euclid(sizes.grid()));
    }

    /// Moves the delay to where it should be.
    fn steer(&mut self, cycle: Cycle, period: usize) {
        let Some(line) = &self.line else { return };
        if self.is_resampling && self.delay.ratio().is_none() && self.reader.is_quiet() {
            // In silence nobody hears that the filter's delay is gone.
            self.is_resampling = false;
        }
        let sizes = Sizes { period, frames: line.format.frames.into(), is_resampling: self.is_resampling };
        let now = cycle.frame as f64;
        if !sizes.is_resampling {
            // A period that has changed, or a stall, leaves a position that does not fit.
            let beside = self.reader.position.rem_euclid(sizes.grid());
            if beside > 0 {
                self.reader.jump(-beside);
            }
        }
        let extra = f64::from(self.shared.extra_us()) * FRAMES_PER_US;
        let jump = self.delay.steer(now, now - self.played(), extra, &self.reader.losses, sizes);
        if jump != 0 {
            self.shared.count(Outcome::Jump);
            self.reader.jump(jump);
        }
    }

    /// Tells what is heard.
    fn tell(&self, cycle: Cycle, played: f64) {
        let (target, added) = self.delay.target_and_added();
        let (level, peak) = self.output.levels();
        let line = self.line.as_ref();
        self.shared.tell(&Told {
            target_us: (target / FRAMES_PER_US) as u32,
            added_us: (added / FRAMES_PER_US) as u32,
            drift_ppm: line.and_then(|_| self.delay.drift_ppm()),
            is_resampling: self.is_resampling,
            level,
            peak,
            is_muted: line.is_some() && self.reader.is_muted,
            heard: line.map(|Line { capture: (position, capture_us), .. }| {
                let later_us = ((played - *position as f64) / FRAMES_PER_US) as i64;
                Heard { capture_us: capture_us.saturating_add_signed(later_us), local_us: cycle.us }
            }),
        });
    }
}
