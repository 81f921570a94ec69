//! The step of ear and eye: what is heard and what is seen now, on the sender's one clock.

use std::time::Duration;

use common::config::Sync;
use common::stats::{ReceiverReport, SoundHeardCounts};
use common::units::Timestamp;
use net::clock;
use shell::settings::SoundSide;
use sound::RATE_HZ;
use sound::level::Level;
use sound::observed::{EXTRA_US_MAX, Outcome};

use super::ear::{Ear, Hearing};
use crate::report::Status;

/// Weight of the newest picture in the eye's delay, and in the ear's: a second of 30 pictures.
const WEIGHT: f64 = 1.0 / 30.0;
/// A picture is seen so long after it was given to the display, ms: half a refresh of 60 a second.
const DISPLAY_MS: f64 = 8.0;
/// Most of the step that counts at a picture, ms: a picture that was held up is no reason to wait for long.
const CHANGE_MS_MAX: f64 = 5.0;

/// Delays of ear and eye, milliseconds from capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    /// From the microphone's callback there to the air here.
    pub ear_ms: f64,
    /// From the camera's time stamp there to the display here.
    pub eye_ms: f64,
}

impl Delays {
    /// Returns by how much the eye is later than the ear; negative: the ear is later.
    pub fn step_ms(&self) -> f64 {
        self.eye_ms - self.ear_ms
    }
}

/// The sound of a call, for who shows it.
#[derive(Clone, Debug)]
pub struct Audible {
    /// The own side.
    pub side: SoundSide,
    /// State of what is heard.
    pub hearing: Hearing,
    /// Relation of sound and picture.
    pub sync: Sync,
}

impl Audible {
    /// Returns the level of the other side.
    pub fn level(&self) -> Level {
        self.hearing.ear().map_or(Level::SILENCE, |ear| ear.observed.level())
    }

    /// Returns what is amiss: the card, or a microphone that is off.
    pub fn alert(&self) -> Option<String> {
        let there = self.hearing.ear().is_some_and(|ear| ear.observed.is_muted());
        let off = match (self.side.is_muted(), there) {
            (true, true) => Some("Both microphones are off: Space opens yours"),
            (true, false) => Some("Your microphone is off: Space opens it"),
            (false, true) => Some("The other side's microphone is off"),
            (false, false) => None,
        };
        self.side.card_said().map(|why| format!("Without sound: {why}")).or_else(|| off.map(str::to_owned))
    }
}

/// Compares ear and eye at each picture, and lets the sound wait where it shall.
#[derive(Debug)]
pub struct Step {
    /// The sound.
    pub audible: Audible,
    eye_ms: Option<f64>,
    ear_ms: Option<f64>,
    /// Delay that the sound was asked for beyond its own.
    extra_ms: f64,
}

impl Step {
    /// Creates it.
    pub fn new(audible: Audible) -> Self {
        Self { audible, eye_ms: None, ear_ms: None, extra_ms: 0.0 }
    }

    /// Takes a picture that was captured at `capture` of the sender's clock, which is `offset_us` before this machine's, and has been
    /// shown at `presented`.
    pub fn on_picture(&mut self, capture: Timestamp, offset_us: Option<i64>, presented: Timestamp) {
        let Some(offset_us) = offset_us else { return };
        let here = |there_us: u64| there_us as i64 - offset_us;
        let eye_ms = (presented.as_us() as i64 - here(capture.as_us())) as f64 / 1e3 + DISPLAY_MS;
        follow(&mut self.eye_ms, eye_ms);
        let Some(ear) = self.audible.hearing.ear() else { return };
        let Some(heard) = ear.observed.heard() else {
            self.ear_ms = None;
            return;
        };
        let out_ms = f64::from(ear.output_latency_frames) * 1e3 / f64::from(RATE_HZ);
        let local = clock::of_monotonic(heard.local_us).as_us() as i64;
        follow(&mut self.ear_ms, (local - here(heard.capture_us)) as f64 / 1e3 + out_ms);
        if self.audible.sync == Sync::Picture
            && let Some(delays) = self.delays()
        {
            let change_ms = delays.step_ms().clamp(-CHANGE_MS_MAX, CHANGE_MS_MAX) * WEIGHT * 4.0;
            self.extra_ms = (self.extra_ms + change_ms).clamp(0.0, f64::from(EXTRA_US_MAX) / 1e3);
            ear.controls.set_extra_us(Duration::from_secs_f64(self.extra_ms / 1e3).as_micros() as u32);
        }
    }

    /// Returns the report with what is known of the sound.
    pub(crate) fn reported(&self, mut report: ReceiverReport) -> ReceiverReport {
        (report.ear_ms, report.eye_ms) = (self.ear_ms, self.eye_ms);
        report.sound.sound_packets_received = self.audible.side.received();
        let Some(Ear { observed, .. }) = self.audible.hearing.ear() else { return report };
        let count = |outcome| observed.count(outcome);
        report.sound = SoundHeardCounts {
            sound_packets_repaired: count(Outcome::RepairedWhole),
            sound_packets_repaired_coarsely: count(Outcome::RepairedAdpcm),
            sound_packets_concealed: count(Outcome::Concealed),
            sound_gaps: count(Outcome::Gap),
            sound_packets_late: count(Outcome::Late),
            sound_packets_lost: count(Outcome::Lost),
            sound_packets_refused: count(Outcome::Refused) + count(Outcome::Stray) + count(Outcome::Dropped),
            ..report.sound
        };
        if observed.heard().is_some() {
            report.sound_added_ms = Some(f64::from(observed.added_us()) / 1e3);
            report.sound_drift_ppm = observed.drift_ppm().map(f64::from);
        }
        report
    }

    /// Adds what is known of the sound to what a window says of the picture.
    pub(crate) fn add_to(&self, status: &mut Status) {
        let Some(Ear { observed, .. }) = self.audible.hearing.ear() else { return };
        if observed.heard().is_none() {
            return;
        }
        if let Some(Delays { ear_ms, eye_ms }) = self.delays() {
            status.line += &format!("; sound {ear_ms:.0} ms behind");
            let step_ms = eye_ms - ear_ms;
            let later = if step_ms >= 0.0 { "the picture" } else { "the sound" };
            status
                .details
                .push(format!("ear {ear_ms:.1} ms, eye {eye_ms:.1} ms: {later} is {:.1} ms later", step_ms.abs()));
        }
        let count = |outcome| observed.count(outcome);
        status.details.push(format!(
            "sound: {:.1} ms for what comes late; packets: {} from copies, {} concealed in {} gaps, {} late",
            f64::from(observed.added_us()) / 1e3,
            count(Outcome::RepairedWhole) + count(Outcome::RepairedAdpcm),
            count(Outcome::Concealed),
            count(Outcome::Gap),
            count(Outcome::Late)
        ));
        let drift = observed.drift_ppm().map(|ppm| format!("the other card is {ppm:+.0} ppm faster"));
        let resampled = if observed.is_resampling() { "resampled" } else { "as it was captured" };
        status.details.push(format!(
            "sound is {resampled}; {}",
            drift.unwrap_or_else(|| "its clock is not known yet".to_owned())
        ));
    }

    /// Returns the delays, once both are known.
    pub fn delays(&self) -> Option<Delays> {
        Some(Delays { ear_ms: self.ear_ms?, eye_ms: self.eye_ms? })
    }
}

fn follow(mean: &mut Option<f64>, value: f64) {
    *mean = Some(mean.map_or(value, |mean| mean + WEIGHT * (value - mean)));
}
