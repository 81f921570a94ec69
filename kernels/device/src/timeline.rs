//! Timeline of a frame: its commands with the device's own timestamps.

use picture::frame::Channel;

use crate::Result;
use crate::queue::Event;

/// Stage of a frame that commands of the device belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceStage {
    /// Host to device.
    Upload,
    /// Colour conversion and wavelet transform, either way.
    Transform,
    /// Block encoder or decoder.
    Code,
    /// Prediction from a state.
    Compensate,
    /// Device to host.
    Download,
}

/// One command, or all kernels of a stage that run one after another on one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Channel whose queue ran it or them.
    pub channel: Channel,
    /// Its purpose.
    pub stage: DeviceStage,
    /// Start, nanoseconds of the device's clock.
    pub start_ns: u64,
    /// End, nanoseconds of the device's clock.
    pub end_ns: u64,
}

impl Interval {
    /// Returns true if the two ran at the same time.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start_ns < other.end_ns && other.start_ns < self.end_ns
    }
}

/// The device's work for one frame: transfers, and either each kernel or each stage's kernels from the moment at which
/// the first could start to the end of the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In the order in which they were queued.
    pub intervals: Vec<Interval>,
}

impl Timeline {
    /// Nanoseconds during which at least one entry of `stage` ran.
    pub fn busy_ns(&self, stage: DeviceStage) -> u64 {
        self.busy_with(|of| of == stage)
    }

    /// Nanoseconds during which at least one kernel ran: everything but transfers.
    pub fn computing_ns(&self) -> u64 {
        self.busy_with(|of| matches!(of, DeviceStage::Transform | DeviceStage::Code | DeviceStage::Compensate))
    }

    fn busy_with(&self, counts: impl Fn(DeviceStage) -> bool) -> u64 {
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

/// Frames that are measured.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    every: u64,
    frame: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self::every(MEASURED_EVERY)
    }
}

impl Sampling {
    /// Measures the next two frames, and every `frames`-th one after the first.
    pub fn every(frames: u64) -> Self {
        Self { every: frames.max(1), frame: 0 }
    }

    /// Returns true if the next frame is measured.
    pub fn measures_next(&mut self) -> bool {
        // The second frame too: in the first one, drivers are still compiling.
        let measured = self.frame.is_multiple_of(self.every) || self.frame == 1;
        self.frame = self.frame.wrapping_add(1);
        measured
    }
}

/// A timed command, or the time between the end of one and the start of another.
enum Timed {
    Command(Event),
    Between(Event, Event),
}

impl Timed {
    /// Returns start and end, nanoseconds of the device's clock; `None` if nobody noted them.
    fn ran(&self) -> Result<Option<(u64, u64)>> {
        match self {
            Self::Command(event) => event.ran(),
            Self::Between(from, to) => {
                let around = from.ran()?.zip(to.ran()?);
                Ok(around.map(|((_, start), (end, _))| (start, end.max(start))))
            }
        }
    }
}

/// Events of the frame in work.
#[derive(Default)]
pub struct Recorder {
    timed: Vec<(Channel, DeviceStage, Timed)>,
    /// The command behind which a stage of the channel begins.
    begun: Vec<(Channel, Event)>,
}

impl Recorder {
    /// Forgets the last frame.
    pub fn clear(&mut self) {
        self.timed.clear();
        self.begun.clear();
    }

    /// Notes a command, if it has an event.
    pub fn note(&mut self, channel: Channel, stage: DeviceStage, event: impl Into<Option<Event>>) {
        self.timed.extend(event.into().map(|event| (channel, stage, Timed::Command(event))));
    }

    /// Notes that the kernels of a stage begin behind this command.
    pub fn begin(&mut self, channel: Channel, after: &Event) {
        self.begun.retain(|(of, _)| *of != channel);
        self.begun.push((channel, after.clone()));
    }

    /// Notes the kernels of `stage`, all that lies between the command of [`Self::begin`], if any, and this one.
    pub fn end(&mut self, channel: Channel, stage: DeviceStage, before: &Event) {
        if let Some(at) = self.begun.iter().position(|(of, _)| *of == channel) {
            let (_, after) = self.begun.swap_remove(at);
            self.timed.push((channel, stage, Timed::Between(after, before.clone())));
        }
    }

    /// Returns the timestamps of everything of which they were noted.
    pub fn timeline(&self) -> Result<Timeline> {
        let mut intervals = Vec::with_capacity(self.timed.len());
        for (channel, stage, timed) in &self.timed {
            if let Some((start_ns, end_ns)) = timed.ran()? {
                intervals.push(Interval { channel: *channel, stage: *stage, start_ns, end_ns });
            }
        }
        Ok(Timeline { intervals })
    }
}

#[cfg(test)]
mod tests {
    use ocl::core as cl;

    use super::*;
    use crate::named;
    use crate::queue::Queue;

    #[test]
    fn commands_that_nobody_timed_are_left_out() {
        let device = named(None).unwrap().built_in();
        let queue = Queue::new(device).unwrap();
        let (from, to) = (queue.pinned::<f32>(16).unwrap(), queue.buffer::<f32>(16).unwrap());
        let untimed = cl::create_user_event(&**device.context().unwrap()).unwrap();
        cl::set_user_event_status(&untimed, cl::CommandExecutionStatus::Complete).unwrap();
        let mut recorder = Recorder::default();
        recorder.note(Channel::Y, DeviceStage::Upload, Event::from(untimed));
        assert_eq!(recorder.timeline().unwrap().intervals.len(), 0);
        recorder.note(Channel::Y, DeviceStage::Upload, queue.upload(&from, &to, 16).unwrap());
        assert_eq!(recorder.timeline().unwrap().intervals.len(), 1);
    }
}
