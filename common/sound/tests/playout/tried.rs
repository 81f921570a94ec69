//! Trials in virtual time, and what must hold of each, whatever happens.

use std::collections::BTreeMap;

use sound::observed::Outcome;
use sound::playout::{self, Receiving};
use sound::unit::Unit;
use sound::{Cycle, RATE_HZ};

use crate::line::{Line, Sender};
use crate::trial::{Event, Trial};
use crate::world::{Chance, tones};

const RATE: f64 = RATE_HZ as f64;
/// Time at the end for which sound on one clock and a clean line must be what was sent, s.
const EXACT_S: f64 = 4.0;
/// Time within which sound must be back, s.
const BACK_S: f64 = 1.0;
/// Greatest delay that sound takes for what comes late, s.
const ADDED_MAX_S: f64 = 0.03;

/// Outcome of a trial.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    /// Sentences on each thing that did not hold.
    pub(crate) faults: Vec<String>,
    /// Greatest step from a sample to the next, and of the step's change.
    pub(crate) step: f32,
    pub(crate) bend: f32,
    pub(crate) peak: f32,
    /// Delay at the end, and what the line needs there, ms.
    pub(crate) added_ms: f64,
    pub(crate) needed_ms: f64,
    /// Greatest delay in the second half, ms.
    pub(crate) most_ms: f64,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Jumps of the last 20 s.
    pub(crate) jumps_late: u64,
    pub(crate) drift_ppm: Option<f32>,
    pub(crate) is_resampling: bool,
    /// Samples heard at the end, or all.
    pub(crate) heard: Vec<f32>,
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Runs a trial; `keep` keeps what is heard.
pub(crate) fn run(trial: &Trial, keep: bool) -> Tried {
    let Receiving { mut feed, mut playout, mut concealer, observed, .. } = playout::new();
    let mut chance = Chance::new(trial.seed);
    let phase = 0.3 + chance.share() * trial.period as f64 / RATE;
    let rate = RATE * (1.0 + trial.receiver_ppm * 1e-6);
    let mut sender = Sender::new(trial);
    let mut line = Line::new(trial);
    let mut tried = Tried::default();
    let mut fault = |text: String| tried.faults.push(text);
    let (mut captured, mut played) = (0, 0);
    let mut next_capture: Option<(f64, Vec<Vec<Unit>>)> = None;
    let (mut frame, mut last, mut last_step) = (0_usize, 0.0_f32, 0.0_f32);
    let mut out = vec![0.0; trial.period];
    let mut worked = 0.0;
    // Sound that was concealed when, and jumps.
    let mut history: Vec<(f64, u64, u64)> = Vec::new();
    let mut delays: Vec<(f64, f64)> = Vec::new();
    let mut heard_us = 0;
    loop {
        let due = phase + frame as f64 / rate;
        if due > trial.seconds {
            break;
        }
        let missed = trial.events.iter().filter_map(|&(at, event)| match event {
            Event::Played(periods) if at < due => Some(periods),
            _ => None,
        });
        if let Some(periods) = missed.clone().nth(played) {
            played += 1;
            frame += periods as usize * trial.period;
            continue;
        }
        // When the callback really runs.
        let mut now = due + 20e-6;
        for &(from, event) in &trial.events {
            if let (Event::Held(long), true) = (event, due >= from)
                && due < from + long
            {
                now = from + long;
            }
        }
        loop {
            let (at, packets) = next_capture.take().unwrap_or_else(|| {
                let missed = trial.events.iter().filter_map(|&(at, event)| match event {
                    Event::Captured(periods) if at < sender.frame as f64 / sender.rate => Some(periods),
                    _ => None,
                });
                if let Some(periods) = missed.clone().nth(captured) {
                    captured += 1;
                    sender.miss(periods);
                }
                sender.capture()
            });
            if at > now {
                next_capture = Some((at, packets));
                break;
            }
            packets.into_iter().for_each(|units| line.send(at, units));
        }
        for units in line.arrived(now).values() {
            for unit in units {
                if !feed.push(unit) {
                    fault(format!("{now:.3} s: the ring is full"));
                }
            }
        }
        let us = (due * 1e6 + 20.0 * chance.share()) as u64 + 1_000_000;
        playout.play(&mut out, 1, Cycle { frame: frame as u64, us });
        if now > worked + 0.2 {
            worked = now;
            concealer.work();
        }
        frame += trial.period;
        for &sample in &out {
            let step = sample - last;
            tried.step = tried.step.max(step.abs());
            tried.bend = tried.bend.max((step - last_step).abs());
            tried.peak = tried.peak.max(sample.abs());
            (last, last_step) = (sample, step);
        }
        if keep || now > trial.seconds - EXACT_S {
            tried.heard.extend_from_slice(&out);
        }
        history.push((now, observed.count(Outcome::Concealed), observed.count(Outcome::Jump)));
        if let Some(heard) = observed.heard() {
            heard_us = heard.capture_us;
            delays.push((now, (heard.local_us as f64 - 1e6 - heard.capture_us as f64) * 1e-3));
        }
    }
    for outcome in Outcome::ALL {
        tried.counts.insert(name(outcome), observed.count(outcome));
    }
    (tried.drift_ppm, tried.is_resampling) = (observed.drift_ppm(), observed.is_resampling());
    tried.judge(trial, &line, &history, &delays);
    tried.judge_counts(trial, &line, heard_us as f64 * 1e-6 * sender.rate / trial.frames as f64);
    tried
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Own => "own",
        Outcome::RepairedWhole => "whole",
        Outcome::RepairedAdpcm => "adpcm",
        Outcome::Concealed => "concealed",
        Outcome::Skipped => "skipped",
        Outcome::Gap => "gap",
        Outcome::Late => "late",
        Outcome::Lost => "lost",
        Outcome::Pause => "pause",
        Outcome::Jump => "jump",
        Outcome::Refused => "refused",
        Outcome::Stray => "stray",
        Outcome::Dropped => "dropped",
        Outcome::Start => "start",
    }
}

impl Tried {
    fn judge(&mut self, trial: &Trial, line: &Line<'_>, history: &[(f64, u64, u64)], delays: &[(f64, f64)]) {
        let mut faults = std::mem::take(&mut self.faults);
        // The tones' own greatest step is 0.045.
        if self.step > 0.1 {
            faults.push(format!("a click: a step of {:.3}", self.step));
        }
        if self.peak > 0.8 {
            faults.push(format!("a peak of {:.3}, of 0.75 sent", self.peak));
        }
        // Sound is back.
        let rate_hz = RATE / trial.frames as f64;
        let is_noisy = trial.jitter_s > 0.0 || trial.reorder > 0.0 || trial.loss > 0.0;
        let count_at = |at: f64| history[history.partition_point(|(then, ..)| *then < at).min(history.len() - 1)];
        for (place, &(at, event)) in trial.events.iter().enumerate() {
            let long = match event {
                Event::Stall(long) | Event::Held(long) => long,
                Event::Played(periods) => periods as f64 * trial.period as f64 / RATE,
                Event::Captured(periods) => periods as f64 * trial.sender_period as f64 / RATE + trial.wire_s + 0.02,
                Event::Route(_) => 0.07,
            };
            let next = trial.events.get(place + 1).map_or(trial.seconds, |(next, _)| *next);
            let (from, until) = (at + long + BACK_S, (next - 0.02).min(at + long + BACK_S + 4.0));
            if until <= from + 0.1 {
                continue;
            }
            let concealed = count_at(until).1 - count_at(from).1;
            // What the line has lost may be missing, and what its jitter makes later than the quantile.
            let most =
                if is_noisy { line.lost(from, until) as f64 + 0.01 * (until - from) * rate_hz + 12.0 } else { 0.0 };
            if concealed as f64 > most {
                faults.push(format!("{concealed} concealed from {from:.2} to {until:.2} s after {event:?} at {at:.2}"));
            }
        }
        let end = trial.seconds - 0.5;
        self.jumps_late = count_at(end).2 - count_at(end - 20.0).2;
        // The delay.
        let (least, late) = line.needs_ms(end);
        let grid = gcd(trial.period, trial.frames);
        let phase = if self.is_resampling { trial.period + 16 + 8 } else { trial.period - grid };
        let copies = if trial.loss > 0.0 { trial.copies * trial.frames } else { 0 };
        self.needed_ms = (late + (phase + copies) as f64 / 48.0).min(1e3 * ADDED_MAX_S);
        let delay = delays.last().map_or(f64::NAN, |(_, delay)| *delay);
        self.added_ms = delay - least;
        let room = 0.75 + 0.3 * late + if self.is_resampling { 0.7 } else { grid as f64 / 48.0 };
        let is_slow = self.added_ms > self.needed_ms + room;
        if !self.added_ms.is_finite() || is_slow {
            faults.push(format!("added {:.2} ms where {:.2} are needed", self.added_ms, self.needed_ms));
        }
        for (_, delay) in delays.iter().filter(|(at, _)| *at > trial.seconds / 2.0) {
            self.most_ms = self.most_ms.max(delay - least);
        }
        // Clocks.
        let wanted = trial.sender_ppm - trial.receiver_ppm;
        let is_one = wanted == 0.0;
        if is_one && self.is_resampling {
            faults.push(format!("one clock is resampled, {:?} ppm", self.drift_ppm));
        }
        if is_one && !is_noisy && !self.is_exact() {
            faults.push("one clock and a clean line, and sound is not what was sent".to_owned());
        }
        if self.is_resampling
            && self.drift_ppm.is_none_or(|found| (f64::from(found) - wanted).abs() > 40.0 + 15e3 * trial.jitter_s)
        {
            faults.push(format!("{:?} ppm found of {wanted}", self.drift_ppm));
        }
        self.faults = faults;
    }

    /// Returns true where the end of what was heard is what was sent, sample by sample.
    fn is_exact(&self) -> bool {
        let tail = &self.heard[self.heard.len() - ((EXACT_S - 1.0) * RATE) as usize..];
        (0..RATE_HZ as usize).any(|begin| (begin..).zip(tail).all(|(at, sample)| *sample == tones(at)))
    }

    /// Judges the counts; `end` is the number of the packet that is heard at the end.
    fn judge_counts(&mut self, trial: &Trial, line: &Line<'_>, end: f64) {
        let count = |name: &str| self.counts[name];
        let mut faults = Vec::new();
        for never in ["refused", "stray", "dropped"] {
            if count(never) > 0 {
                faults.push(format!("{} {never}", count(never)));
            }
        }
        if count("start") != 1 {
            faults.push(format!("{} beginnings", count("start")));
        }
        let begin = *line.came.keys().next().unwrap();
        let told: u64 = ["own", "whole", "adpcm", "concealed", "skipped"].map(count).iter().sum();
        let past = end - f64::from(begin) + 1.0;
        if (told as f64 - past).abs() > 2.0 + (trial.period + 64) as f64 / trial.frames as f64 {
            faults.push(format!("outcomes of {told} packets, of {past:.1} that are past"));
        }
        // What is heard at the begin of the last period: by its end a period more has been read, and half a filter.
        let settled = end as u32 - (RATE_HZ / 4) / trial.frames as u32;
        let read = settled + (trial.period + 64).div_ceil(trial.frames) as u32;
        let lost = |until: u32| (begin..=until).filter(|number| !line.came.contains_key(number)).count() as u64;
        let (least, most) = (lost(settled), lost(read));
        let doubtful = 2 + line.came.values().filter(|is_late| **is_late).count() as u64;
        if !(least.saturating_sub(2)..=most + doubtful).contains(&count("lost")) {
            faults.push(format!("{} lost where {least} to {most} never came", count("lost")));
        }
        let late = line.came.len() as u64 - count("own").min(line.came.len() as u64);
        if count("late") > late {
            faults.push(format!("{} late where {late} that came were not played", count("late")));
        }
        self.faults.extend(faults);
    }
}
