//! Target and pace while sound shares the line: what [`Line`] shows, less the sound, and somewhat less than all.

use std::time::Duration;

use super::line::{Beside, Line};
use super::{LEAST_BPS, PACE, RateControl, bitrate};
use crate::reason::Reason;
use crate::units::{Bitrate, Timestamp};

/// Share of the line that all take together; more where all the sound is our own, of which nothing comes unexpectedly.
const USE: f64 = 0.82;
const USE_OWN: f64 = 0.9;
/// Share of what the sound leaves at which a frame leaves.
const GENTLE_PACE: f64 = 0.95;
/// Time after which sound that was found is looked for anew.
const FOUND_HELD: Duration = Duration::from_secs(600);
/// Highest target of pictures before the line is known, bits a second: a line of 4 Mbit/s bears it with the sound.
const START_BESIDE_BPS: f64 = 1.5e6;
/// Line on which a large datagram takes too long, bits a second: below it they are small, and above the other one large again.
const NARROW_BPS: [f64; 2] = [6e6, 7e6];

impl RateControl {
    /// Sets what sound is on the line; none: there is none, as far as is known. `looks`: whether others' is looked for.
    pub(in crate::path) fn set_beside(&mut self, beside: Option<Beside>, looks: bool) {
        if beside.is_some() && self.beside.is_none() && self.line.found.bps.is_none() {
            (self.line, self.is_narrow) = (Line::default(), true);
        }
        (self.beside, self.looks) = (beside, looks);
        self.set_target(self.target_bps);
    }

    /// Returns the bits a second of others' sound that was found on the line; none: none was.
    pub(in crate::path) fn found(&self) -> Option<Bitrate> {
        self.line.found.bps.map(|bps| Bitrate::from_bps(bps as u64))
    }

    /// Looks whether sound was found; not what fills the line, as TCP does. The path tells of it with all that is beside.
    fn look_for_others(&mut self, now: Timestamp) {
        if !self.looks || self.is_competing() {
            self.line.found.clear();
        } else if let Some(found) = self.found() {
            self.found_at = now;
            self.line.limit_to_shown();
            let line = self.line.bears().unwrap_or(0.0);
            self.tell(Reason::SoundFound { found, line: bitrate(line) });
        }
    }

    /// Returns true if datagrams should be small: a large one would hold the sound up.
    pub(in crate::path) fn is_narrow(&self) -> bool {
        self.beside.is_some() && self.is_narrow
    }

    /// Returns what the line bears with all that is on it, as far as that is looked for and known.
    pub(in crate::path) fn line(&self) -> Option<Bitrate> {
        self.beside.and(self.line.bears()).map(|bps| Bitrate::from_bps(bps as u64))
    }

    /// Returns the bytes on the wire with which a frame may begin at once, so that the line is known.
    pub(in crate::path) fn burst_bytes(&self, now: Timestamp) -> Option<usize> {
        self.beside.and_then(|_| self.line.burst_bytes(now))
    }

    /// Returns true if own sound alone takes nearly all of the line: a queue is no sign of anybody else then.
    pub(super) fn is_filled_by_own(&self) -> bool {
        self.line.shown().is_some_and(|shown| self.own_bps() > USE * shown)
    }

    /// Returns the highest target.
    pub(super) fn most_bps(&self) -> f64 {
        let most = match (self.beside, self.line.bears()) {
            (None, _) => return self.max_bps,
            // What fills the line is another's, and as long as it does the sound waits whatever we leave free.
            _ if self.is_competing() => return self.max_bps,
            (Some(beside), Some(bears)) if beside.others > 0.0 => USE * bears - beside.others,
            (Some(_), Some(bears)) => USE_OWN * bears,
            (Some(beside), None) => START_BESIDE_BPS + beside.own,
        };
        most.clamp(self.least_bps, self.max_bps)
    }

    /// Returns the rate at which a frame leaves beside sound, bits a second.
    pub(super) fn pace_beside(&self, beside: Beside) -> f64 {
        match self.line.bears() {
            // The rest of what a slow line has is still better than a frame that never ends.
            Some(bears) => {
                let left = (bears - beside.others - beside.own).max(self.target_bps - beside.own);
                GENTLE_PACE * left.max(LEAST_BPS)
            }
            None => PACE * self.target_bps,
        }
    }

    /// Takes what the last feedback report has shown of the line.
    pub(super) fn follow_line(&mut self, now: Timestamp) {
        if self.found().is_some() && now.since(self.found_at) >= FOUND_HELD {
            // It may have ended; else it is found again within seconds.
            self.line.found.bps = None;
        }
        if self.beside.is_none() {
            self.look_for_others(now);
            return;
        }
        self.line.forget(now.since(self.updated));
        let [narrow, wide] = NARROW_BPS;
        if let Some(bears) = self.line.bears().filter(|_| self.line.shown().is_some()) {
            self.is_narrow = bears < if self.is_narrow { wide } else { narrow };
        }
        self.set_target(self.target_bps);
    }
}
