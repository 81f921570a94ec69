//! When the device did what: the commands of a frame with the device's own timestamps.

use super::queue::Event;
use crate::Error;
use common::frame::Channel;

/// Stage of a frame that a command belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Host to device.
    Upload,
    /// Colour conversion and wavelet transform, either way.
    Transform,
    /// Block encoder or decoder.
    Code,
    /// Device to host.
    Download,
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Channel whose queue ran it.
    pub channel: Channel,
    /// What it was for.
    pub stage: Stage,
    /// Start, nanoseconds of the device's clock.
    pub start_ns: u64,
    /// End, nanoseconds of the device's clock.
    pub end_ns: u64,
}

impl Interval {
    /// Whether the two ran at the same time.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start_ns < other.end_ns && other.start_ns < self.end_ns
    }
}

/// The commands of one frame, in the order in which they were queued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// One entry per command.
    pub intervals: Vec<Interval>,
}

impl Timeline {
    /// Nanoseconds during which at least one command of `stage` ran.
    pub fn busy_ns(&self, stage: Stage) -> u64 {
        self.busy_with(|of| of == stage)
    }

    /// Nanoseconds during which at least one kernel ran: everything but transfers.
    pub fn computing_ns(&self) -> u64 {
        self.busy_with(|of| matches!(of, Stage::Transform | Stage::Code))
    }

    fn busy_with(&self, counts: impl Fn(Stage) -> bool) -> u64 {
        let counted = self.intervals.iter().filter(|interval| counts(interval.stage));
        let mut spans: Vec<_> = counted.map(|interval| (interval.start_ns, interval.end_ns)).collect();
        spans.sort_unstable();
        let (mut busy, mut covered) = (0, 0);
        for (start, end) in spans {
            busy += end.saturating_sub(start.max(covered));
            covered = covered.max(end);
        }
        busy
    }

    /// Nanoseconds from the first start to the last end.
    pub fn span_ns(&self) -> u64 {
        let start = self.intervals.iter().map(|i| i.start_ns).min().unwrap_or(0);
        let end = self.intervals.iter().map(|i| i.end_ns).max().unwrap_or(0);
        end - start
    }
}

/// Frames from one that is measured to the next, unless told otherwise: about a second of them.
const MEASURED_EVERY: u64 = 64;

/// Which frames are measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    every: u64,
    frame: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self::every(MEASURED_EVERY)
    }
}

impl Sampling {
    /// The next frame and every `frames`-th one after it.
    pub(super) fn every(frames: u64) -> Self {
        Self { every: frames.max(1), frame: 0 }
    }

    /// Whether the next frame is measured.
    pub(super) fn next(&mut self) -> bool {
        let measured = self.frame.is_multiple_of(self.every);
        self.frame = self.frame.wrapping_add(1);
        measured
    }
}

/// Events of the frame in work.
#[derive(Default)]
pub(super) struct Recorder {
    events: Vec<(Channel, Stage, Event)>,
}

impl Recorder {
    /// Forgets the last frame.
    pub(super) fn clear(&mut self) {
        self.events.clear();
    }

    /// Notes a command, if it has an event.
    pub(super) fn note(&mut self, channel: Channel, stage: Stage, event: impl Into<Option<Event>>) {
        self.events.extend(event.into().map(|event| (channel, stage, event)));
    }

    /// The timestamps of all commands of which they were noted.
    pub(super) fn timeline(&self) -> Result<Timeline, Error> {
        let mut intervals = Vec::with_capacity(self.events.len());
        for (channel, stage, event) in &self.events {
            if let Some((start_ns, end_ns)) = event.ran()? {
                intervals.push(Interval { channel: *channel, stage: *stage, start_ns, end_ns });
            }
        }
        Ok(Timeline { intervals })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use ocl::core as cl;

    use super::super::device;
    use super::super::queue::Queue;
    use super::*;

    #[test]
    fn commands_that_nobody_timed_are_left_out() {
        let device = device::find(None).unwrap();
        let queue = Queue::new(&device).unwrap();
        let (from, to) = (queue.pinned::<f32>(16).unwrap(), queue.buffer::<f32>(16).unwrap());
        let untimed = cl::create_user_event(&**device.context().unwrap()).unwrap();
        cl::set_user_event_status(&untimed, cl::CommandExecutionStatus::Complete).unwrap();
        let mut recorder = Recorder::default();
        recorder.note(Channel::Y, Stage::Upload, Event::from(untimed));
        assert_eq!(recorder.timeline().unwrap().intervals.len(), 0);
        recorder.note(Channel::Y, Stage::Upload, queue.upload(&from, &to, 16).unwrap());
        assert_eq!(recorder.timeline().unwrap().intervals.len(), 1);
    }
}
