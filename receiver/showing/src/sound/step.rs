//! The step of ear and eye: what is heard and what is seen now, on the sender's one clock.

use std::collections::VecDeque;
use std::time::Duration;

use common::config::Sync;
use common::stats::{ReceiverReport, SoundHeardCounts};
use common::units::Timestamp;
use shell::settings::SoundSide;
use sound::level::Level;
use sound::observed::{EXTRA_US_MAX, Outcome};

use super::ear::{Ear, Hearing};
use crate::report::Status;

/// Time whose pictures tell the delays of eye and ear: each comes with jitter of its own, and both are told of the same time.
const SEEN: Duration = Duration::from_secs(1);
/// Pictures of that time that count at most.
const SEEN_MAX: usize = 240;
/// Part of the step by which the sound waits longer or less at a picture.
const WEIGHT: f64 = 4.0 / 30.0;
/// A picture is seen so long after it was given to the display, ms: half a refresh of 60 a second.
const DISPLAY_MS: f64 = 8.0;
/// Most of the step that counts at a picture, ms: a picture that was held up is no reason to wait for long.
const CHANGE_MS_MAX: f64 = 5.0;
/// Pictures and sound that have not come for so long do not.
const COMES: Duration = Duration::from_secs(1);

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
    /// Returns the level of the other side, and the greatest that is held.
    pub fn levels(&self) -> (Level, Level) {
        self.hearing.ear().map_or((Level::SILENCE, Level::SILENCE), |ear| (ear.observed.level(), ear.observed.peak()))
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
        let card = self.side.card_said().map(|why| format!("Without sound: {why}"));
        card.or_else(|| off.or_else(|| self.side.echo_said()).map(str::to_owned))
    }
}

/// Ear and eye at the time of a picture. The offset that is known of the sender's clock changes by milliseconds on a line with jitter,
/// so it enters only when delays are told: the same offset for all of them.
#[derive(Clone, Copy, Debug)]
struct Instant {
    presented: Timestamp,
    /// Time of the display less the sender's time of capture, us.
    eye_us: i64,
    /// Time of the air less the sender's time of capture, us; none: nothing was heard.
    ear_us: Option<i64>,
}

/// Change of the offset of the sender's clock from which on it is another clock, us.
const OTHER_CLOCK_US: u64 = 100_000;

/// Returns the median of times between the two clocks as a delay, ms. `offset_us`: the sender's clock less this one's.
fn median_ms(between_us: impl Iterator<Item = i64>, offset_us: i64) -> Option<f64> {
    let mut between_us: Vec<i64> = between_us.collect();
    between_us.sort_unstable();
    between_us.get(between_us.len() / 2).map(|us| us.saturating_add(offset_us) as f64 / 1e3)
}

/// Compares ear and eye at each picture, and lets the sound wait where it shall.
#[derive(Debug)]
pub struct Step {
    /// The sound.
    pub audible: Audible,
    pictures: VecDeque<Instant>,
    eye_ms: Option<f64>,
    ear_ms: Option<f64>,
    /// Offset of the sender's clock at the last picture, us.
    offset_us: i64,
    /// Times of the last picture shown and of the last packet of sound, with the number of these.
    seen: Option<Timestamp>,
    heard: (Option<Timestamp>, u64),
    /// True if sound comes.
    hears: bool,
    /// Delay that the sound was asked for beyond its own.
    extra_ms: f64,
}

impl Step {
    /// Creates it.
    pub fn new(audible: Audible) -> Self {
        Self {
            audible,
            pictures: VecDeque::with_capacity(SEEN_MAX),
            eye_ms: None,
            ear_ms: None,
            offset_us: 0,
            seen: None,
            heard: (None, 0),
            hears: false,
            extra_ms: 0.0,
        }
    }

    /// Looks at the sound, also while no picture comes; returns true if it does.
    pub fn look(&mut self, offset_us: Option<i64>, now: Timestamp) -> bool {
        let received = self.audible.side.received();
        if std::mem::replace(&mut self.heard.1, received) != received {
            self.heard.0 = Some(now);
        }
        self.hears = self.heard.0.is_some_and(|heard| now.since(heard) < COMES);
        if self.seen.is_none_or(|seen| now.since(seen) >= COMES) {
            // The eye has nothing to be compared with, and the ear goes on.
            self.eye_ms = None;
            self.pictures.clear();
            let ear = self.audible.hearing.ear();
            if std::mem::take(&mut self.extra_ms) > 0.0 {
                ear.iter().for_each(|ear| ear.controls.set_extra_us(0));
            }
            self.ear_ms = ear.and_then(|ear| Some(ear.delay_us(offset_us?)? as f64 / 1e3));
        }
        self.hears
    }

    /// Returns true if sound came when it was looked at last.
    pub(crate) fn hears(&self) -> bool {
        self.hears
    }

    /// Takes a picture that was captured at `capture` of the sender's clock, which is `offset_us` before this machine's, and has been
    /// shown at `presented`.
    pub fn on_picture(&mut self, capture: Timestamp, offset_us: Option<i64>, presented: Timestamp) {
        self.seen = Some(presented);
        let Some(offset_us) = offset_us else { return };
        if self.offset_us.abs_diff(offset_us) > OTHER_CLOCK_US {
            self.pictures.clear();
        }
        self.offset_us = offset_us;
        let ear = self.audible.hearing.ear();
        let eye_us = (presented.as_us() as i64).saturating_sub(capture.as_us() as i64) + (DISPLAY_MS * 1e3) as i64;
        let ear_us = ear.as_ref().and_then(Ear::between_us);
        self.see(Instant { presented, eye_us, ear_us });
        self.eye_ms = median_ms(self.pictures.iter().map(|instant| instant.eye_us), offset_us);
        // The delay of a card that has gone is none.
        let heard = self.pictures.iter().filter(|_| ear_us.is_some()).filter_map(|instant| instant.ear_us);
        self.ear_ms = median_ms(heard, offset_us);
        if let (Sync::Picture, Some(ear), Some(ear_us), Some(eye_ms)) = (self.audible.sync, ear, ear_us, self.eye_ms) {
            let step_ms = eye_ms - ear_us.saturating_add(offset_us) as f64 / 1e3;
            // What the sound is late by and will not stay is no reason to wait for less: it waits until its aim is the picture.
            let lingers_ms = (f64::from(ear.observed.added_us()) - f64::from(ear.observed.target_us())) / 1e3;
            let change_ms = (step_ms + lingers_ms).clamp(-CHANGE_MS_MAX, CHANGE_MS_MAX) * WEIGHT;
            self.extra_ms = (self.extra_ms + change_ms).clamp(0.0, f64::from(EXTRA_US_MAX) / 1e3);
            ear.controls.set_extra_us(Duration::from_secs_f64(self.extra_ms / 1e3).as_micros() as u32);
        }
    }

    fn see(&mut self, instant: Instant) {
        let is_old = |then: &Instant| instant.presented.since(then.presented) >= SEEN;
        while self.pictures.len() == SEEN_MAX || self.pictures.front().is_some_and(is_old) {
            self.pictures.pop_front();
        }
        self.pictures.push_back(instant);
    }

    /// Returns the report with what is known of the sound.
    pub(crate) fn reported(&self, mut report: ReceiverReport) -> ReceiverReport {
        (report.ear_ms, report.eye_ms) = (self.ear_ms, self.eye_ms);
        report.sound_lacking_ms = self.audible.side.lacking().map(|lacking| lacking.as_secs_f64() * 1e3);
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
        let side = &self.audible.side;
        if let Some(lacking) = side.lacking() {
            status.details.push(match lacking.as_secs_f64() {
                0.0 => "sound is recorded, nothing lacks".to_owned(),
                seconds => format!("sound is recorded, {seconds:.2} s of it are still to be filled in"),
            });
        }
        if let Some((tempo, is_theirs)) = side.click() {
            let who = if is_theirs { "the other side" } else { "this one" };
            status.details.push(format!("click: {}, set by {who}", tempo.metre));
        }
        let heard = self.audible.hearing.ear().map(|ear| ear.observed).filter(|observed| observed.heard().is_some());
        if let (Some(ear_ms), true) = (self.ear_ms, heard.is_some()) {
            status.line += &format!("; sound {ear_ms:.0} ms behind");
        }
        if side.is_practising() {
            status.line += match side.own_delay_us() {
                Some(_) => ", and yours as late (practice)",
                None if side.is_muted() => "; practice: your microphone is off",
                None => "; practice begins with the other side's sound",
            };
        }
        let Some(observed) = heard else { return };
        if let Some(Delays { ear_ms, eye_ms }) = self.delays() {
            let step_ms = eye_ms - ear_ms;
            let later = if step_ms >= 0.0 { "the picture" } else { "the sound" };
            status
                .details
                .push(format!("ear {ear_ms:.1} ms, eye {eye_ms:.1} ms: {later} is {:.1} ms later", step_ms.abs()));
        }
        let count = |outcome| observed.count(outcome);
        status.details.push(format!(
            "sound: {:.1} ms for what comes late, {:.1} aimed at; packets: {} from copies, {} concealed in {} gaps, {} late",
            f64::from(observed.added_us()) / 1e3,
            f64::from(observed.target_us()) / 1e3,
            count(Outcome::RepairedWhole) + count(Outcome::RepairedAdpcm),
            count(Outcome::Concealed),
            count(Outcome::Gap),
            count(Outcome::Late)
        ));
        status.details.push(format!(
            "sound: {} pauses of the line, {} jumps of the delay, begun {} times",
            count(Outcome::Pause),
            count(Outcome::Jump),
            count(Outcome::Start)
        ));
        if let Some(hz) = side.tone_hz() {
            status.details.push(format!("tone: {hz} Hz by this card's clock"));
        }
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

#[cfg(test)]
mod tests {
    use sound::Cycle;
    use sound::playout::{self, Receiving};

    use super::*;

    #[test]
    fn sound_without_pictures_waits_for_none_and_is_told_from_silence() {
        let at = |ms: u64| Timestamp::from_us(1_000_000 + 1000 * ms);
        let side = SoundSide::default();
        let mut step = Step::new(Audible { side: side.clone(), hearing: Hearing::default(), sync: Sync::Picture });
        assert!(!step.look(Some(0), at(0)), "nothing has come");
        step.on_picture(at(0), Some(0), at(40));
        step.extra_ms = 30.0;
        side.set_received(7);
        assert!(step.look(Some(0), at(500)));
        assert_eq!((step.eye_ms, step.extra_ms), (Some(48.0), 30.0), "a slow picture is one");
        side.set_received(400);
        assert!(step.look(Some(0), at(1_040)));
        assert_eq!((step.eye_ms, step.extra_ms), (None, 0.0));
        assert!(step.look(Some(0), at(2_039)) && !step.look(Some(0), at(2_040)), "and then it ends");
    }

    /// A second's click as it was heard and the pictures around it as they were seen, by what came out, ms; and what was told then.
    struct Second {
        true_ms: f64,
        told_ms: f64,
    }

    /// Shows pictures and plays sound, which clicks each second, over a line of 5 ms jitter that changes, in virtual time, while what is
    /// known of the other clock changes each second.
    fn seconds(seed: u64, sync: Sync) -> Vec<Second> {
        use net::clock::to_monotonic;
        use sound::format::{Channels, Coding, Format};
        use sound::unit::{UNIT_BYTES_MAX, Unit};

        const FRAMES: u64 = 64;
        let us = |frames: u64| 1_000_000 + frames * 125 / 6;
        let format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: FRAMES as u16 };
        let mut state = seed;
        let mut late_us = move || {
            let mut share = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / f64::from(1_u32 << 31)
            };
            let normal = (0..12).map(|_| share()).sum::<f64>() - 6.0;
            (normal.abs() * 5_000.0) as u64
        };
        let Receiving { mut feed, mut playout, observed, controls, .. } = playout::new();
        let (hearing, wishes) = (Hearing::default(), controls.clone());
        hearing.set(Ear { observed, controls, output_latency_frames: 0 });
        let mut step = Step::new(Audible { side: SoundSide::default(), hearing, sync });
        let (mut way, mut newest_us) = (VecDeque::new(), 0);
        let (mut pictures, mut shown, mut newest_shown) = (VecDeque::new(), Vec::new(), 0);
        let (mut clicks, mut told, mut last_click) = (Vec::new(), Vec::new(), 0);
        let mut out = [0.0; FRAMES as usize];
        for number in 0..90 * 750_u64 {
            let now_us = us((number + 1) * FRAMES);
            newest_us = (now_us + 25_000 + late_us()).max(newest_us);
            let mut bytes = [0; UNIT_BYTES_MAX];
            if number % 750 == 0 {
                bytes[..2].copy_from_slice(&i16::MAX.to_le_bytes());
            }
            way.push_back(Unit {
                capture_us: us(number * FRAMES),
                arrival_us: to_monotonic(Timestamp::from_us(newest_us)),
                len: 2 * FRAMES as u16,
                bytes,
                ..Unit::new(number as u32, format)
            });
            if number % 25 == 0 {
                // Pictures are later by 20 ms every other ten seconds.
                let way_us = if (number + 6_937) / 7_500 % 2 == 0 { 40_000 } else { 60_000 };
                newest_shown = (now_us + late_us() + way_us).max(newest_shown);
                pictures.push_back((now_us, newest_shown));
            }
            while way.front().is_some_and(|unit| unit.arrival_us <= to_monotonic(Timestamp::from_us(now_us))) {
                feed.push(&way.pop_front().unwrap());
            }
            // And so is the sound, by 3 ms more each ten seconds.
            if number % 7_500 == 563 && sync == Sync::Free {
                wishes.set_extra_us(3_000 * (number / 7_500) as u32);
            }
            let cycle = Cycle { frame: number * FRAMES, us: to_monotonic(Timestamp::from_us(now_us)) };
            playout.play(&mut out, 1, cycle);
            if let Some(at) = out.iter().position(|sample| *sample > 0.5)
                && now_us - last_click > 500_000
            {
                let heard_us = now_us + at as u64 * 125 / 6;
                last_click = now_us;
                clicks.push((heard_us, (heard_us % 1_000_000) as f64 / 1e3));
            }
            while pictures.front().is_some_and(|(_, shown_us)| *shown_us <= now_us) {
                let (captured_us, shown_us) = pictures.pop_front().unwrap();
                let offset_us = (shown_us / 1_000_000 * 7 % 5) as i64 * 1_000 - 2_000;
                step.on_picture(Timestamp::from_us(captured_us), Some(offset_us), Timestamp::from_us(shown_us));
                shown.push((shown_us, (shown_us - captured_us) as f64 / 1e3 + DISPLAY_MS));
            }
            if number % 750 == 330 {
                told.extend(step.delays().map(|delays| (now_us, delays.step_ms())));
            }
        }
        let second = |&(heard_us, ear_ms): &(u64, f64)| {
            let mut eyes: Vec<f64> =
                shown.iter().filter(|seen| seen.0.abs_diff(heard_us) < 500_000).map(|seen| seen.1).collect();
            eyes.sort_by(f64::total_cmp);
            let told_ms = told.iter().find(|told| told.0 > heard_us)?.1;
            Some(Second { true_ms: eyes[eyes.len() / 2] - ear_ms, told_ms })
        };
        clicks.iter().skip(10).filter_map(second).collect()
    }

    fn p95(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() * 95 / 100]
    }

    #[test]
    fn what_is_told_of_ear_and_eye_is_what_comes_out() {
        for (seed, sync) in (1..=3).flat_map(|seed| [(seed, Sync::Free), (seed, Sync::Picture)]) {
            let seconds = seconds(seed, sync);
            let wrong = p95(seconds.iter().map(|second| (second.told_ms - second.true_ms).abs()).collect());
            // A click is one instant of a second in which sound that waits for the picture moves.
            let most_ms = if sync == Sync::Free { 2.0 } else { 4.0 };
            assert!(
                seconds.len() > 60 && wrong < most_ms,
                "seed {seed}, {sync:?}: {wrong:.1} ms wrong in one of 20 of {} seconds",
                seconds.len()
            );
        }
    }
}
