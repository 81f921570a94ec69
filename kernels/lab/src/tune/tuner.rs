//! The tuner: measures which work-group shapes and segment sizes suit a device.
//!
//! Every candidate must give the default's result to the bit. Times are by the device's clock, of the forward and the
//! inverse transform of whole 4:2:0 frames, all channels side by side.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use device::settings::Tuning;
use kernels::DeviceInfo;
use kernels::OpenError;
use picture::frame::{Chroma, FrameSize};
use picture::params::StreamParams;

use super::search::{self, Verdict};
use crate::opencl::{PassTimes, Trial, TrialDevice};

/// Longest duration of the tuner, building the kernels included.
pub const BUDGET: Duration = Duration::from_secs(9);
/// Sizes in pixels that are tuned for unless others are asked for.
pub const SIZES: [(u32, u32); 2] = [(1280, 720), (1920, 1080)];

/// Time in which a candidate and the default are run again and again in turn at one size.
const SLICE: Duration = Duration::from_millis(150);
/// Runs within a slice: some, however slow, and no more than it takes.
const RUNS: RangeInclusive<usize> = 3..=50;
/// A candidate that is slower than this share of the default at one size is not tried at the others.
const HOPELESS: f64 = 1.25;

/// The findings of the tuner.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The device.
    pub device: DeviceInfo,
    /// Its built-in settings.
    pub default: Tuning,
    /// The best ones; the built-in ones if none are better.
    pub chosen: Tuning,
    /// The times with both, size by size, measured in turn.
    pub times: Vec<SizeTimes>,
    /// Candidates measured.
    pub tried: usize,
    /// Candidates that the device does not run, or not with the same result.
    pub unfit: usize,
    /// True if there was time for all candidates.
    pub complete: bool,
    /// Duration.
    pub elapsed: Duration,
}

/// Times of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeTimes {
    /// Size of the frames.
    pub size: FrameSize,
    /// With the built-in settings.
    pub before: PassTimes,
    /// With the chosen ones.
    pub after: PassTimes,
}

/// Progress of the tuner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Candidate of this round, from 1.
    pub position: usize,
    /// Candidates of this round.
    pub of: usize,
    /// Setting and value being measured.
    pub what: &'a str,
}

impl SizeTimes {
    /// Returns the time with the chosen settings in units of that with the built-in ones.
    fn ratio(&self) -> f64 {
        self.after.total().as_secs_f64() / self.before.total().as_secs_f64().max(1e-9)
    }
}

/// Looks for the best settings of the OpenCL device whose name contains `device`, or of the best one, for frames of
/// these sizes, within `budget`: a candidate that would take too long is left out.
pub fn tune(
    device: Option<&str>,
    sizes: &[FrameSize],
    budget: Duration,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Report, OpenError> {
    let start = Instant::now();
    let device = TrialDevice::open(device)?;
    let kind = device.info().kind;
    let default = Tuning::default_for(kind);
    let mut tuner = Tuner { yardsticks: Vec::new(), device };
    for size in sizes {
        tuner.yardsticks.push(Yardstick::new(&tuner.device, &default, *size)?);
    }
    let mut clock = Clock { start, budget, building: start.elapsed(), running: Duration::ZERO };
    clock.time(true, || tuner.compare(&default))?;
    let found = search::search(kind, &default, |candidate, what, (position, of)| {
        let built = tuner.is_built(candidate);
        if !clock.has_time(built) {
            return Ok(Verdict::NoTime);
        }
        progress(Progress { position, of, what });
        let times = clock.time(built, || tuner.compare(candidate));
        match times {
            Ok(Some(times)) => Ok(Verdict::Cost(mean_ratio(&times))),
            Ok(None) | Err(OpenError::Device(_)) => Ok(Verdict::Unfit),
            Err(error) => Err(error),
        }
    })?;
    let mut times = tuner.compare(&found.tuning)?.unwrap_or_default();
    let better = times.len() == sizes.len() && mean_ratio(&times) < 1.0;
    let chosen = if better { found.tuning } else { default.clone() };
    if chosen == default {
        times.iter_mut().for_each(|times| times.after = times.before);
    }
    let device = tuner.device.info().clone();
    let search::Best { tried, unfit, complete, .. } = found;
    Ok(Report { device, default, chosen, times, tried, unfit, complete, elapsed: start.elapsed() })
}

fn mean_ratio(times: &[SizeTimes]) -> f64 {
    times.iter().map(SizeTimes::ratio).sum::<f64>() / times.len().max(1) as f64
}

/// Time left for further candidates.
struct Clock {
    start: Instant,
    budget: Duration,
    /// The longest that settings took whose kernels had to be built.
    building: Duration,
    /// The longest that settings took whose kernels were there.
    running: Duration,
}

impl Clock {
    /// Returns true if a candidate, and after it the one that is chosen, can be timed.
    fn has_time(&self, built: bool) -> bool {
        // A driver that keeps what it compiled may have had the first kernels ready, but not the next ones.
        let candidate = if built { self.running } else { self.building.max(self.budget / 3) };
        self.start.elapsed() + candidate + self.running <= self.budget
    }

    /// Runs `measure` and notes how long it took.
    fn time<R>(&mut self, built: bool, measure: impl FnOnce() -> R) -> R {
        let began = Instant::now();
        let result = measure();
        let longest = if built { &mut self.running } else { &mut self.building };
        *longest = began.elapsed().max(*longest);
        result
    }
}

/// The device, and what candidates are compared with.
struct Tuner {
    device: TrialDevice,
    yardsticks: Vec<Yardstick>,
}

impl Tuner {
    fn is_built(&self, tuning: &Tuning) -> bool {
        self.yardsticks.iter().all(|yardstick| self.device.is_built(tuning, &yardstick.params))
    }

    /// Returns the times of these settings, size by size; `None` if the result differs from the default's. A size at
    /// which they are hopeless is the last one.
    fn compare(&mut self, tuning: &Tuning) -> Result<Option<Vec<SizeTimes>>, OpenError> {
        let mut times: Vec<SizeTimes> = Vec::new();
        for yardstick in &mut self.yardsticks {
            match yardstick.compare(&self.device, tuning)? {
                Some(of_size) => times.push(of_size),
                None => return Ok(None),
            }
            if times.last().is_some_and(|times| times.ratio() > HOPELESS) {
                break;
            }
        }
        Ok(Some(times))
    }
}

/// The built-in settings at one size.
struct Yardstick {
    params: StreamParams,
    default: Trial,
    /// Coefficients that they give.
    result: Vec<Vec<f32>>,
}

impl Yardstick {
    fn new(device: &TrialDevice, default: &Tuning, size: FrameSize) -> Result<Self, OpenError> {
        let params = StreamParams::new(size, Chroma::C420);
        let mut default = device.prepare(default, &params)?;
        let result = default.first_run()?;
        Ok(Self { params, default, result })
    }

    /// Times the built-in settings and these in turn; `None` if the result differs.
    fn compare(&mut self, device: &TrialDevice, tuning: &Tuning) -> Result<Option<SizeTimes>, OpenError> {
        let mut trial = device.prepare(tuning, &self.params)?;
        if trial.first_run()? != self.result {
            return Ok(None);
        }
        let [before, after] = shortest([&mut self.default, &mut trial])?;
        Ok(Some(SizeTimes { size: self.params.size, before, after }))
    }
}

/// Returns the times of all trials, run in turn: the shortest of several runs, since other work only adds time.
fn shortest<const N: usize>(mut trials: [&mut Trial; N]) -> Result<[PassTimes; N], OpenError> {
    let start = Instant::now();
    let mut shortest = [PassTimes { forward: Duration::MAX, inverse: Duration::MAX }; N];
    let mut runs = 0;
    while runs < *RUNS.start() || (runs < *RUNS.end() && start.elapsed() < SLICE) {
        for (trial, shortest) in trials.iter_mut().zip(&mut shortest) {
            let PassTimes { forward, inverse } = trial.run()?;
            shortest.forward = shortest.forward.min(forward);
            shortest.inverse = shortest.inverse.min(inverse);
        }
        runs += 1;
    }
    Ok(shortest)
}
