//! The decision how much the audience gets: the call goes first, on the line and on the processor.

use std::time::Duration;

use common::units::{Bitrate, Timestamp};

/// Bits a second of the sound, with what carries it.
const SOUND_BPS: u64 = 110_000;
/// The share of the call's own rate that the audience may take where the line limits the call: one in so many bits.
const SHARE: u64 = 8;
/// The share of its highest rate of the last seconds below which the call's rate counts as fallen, per cent.
const FALLEN_PERCENT: u64 = 85;
/// Time after a fall before pictures come back, and from one step up to the next.
const REST: Duration = Duration::from_secs(3);
/// Share of the time between two pictures that coding them may take.
const BUSY_PERCENT: u32 = 70;

/// Parts of what the audience gets; each brings those before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Nothing.
    #[default]
    Nothing,
    /// The sound.
    Sound,
    /// And the small picture.
    Base,
    /// And the large one.
    Main,
}

/// State of the call, as the sender's rate control tells it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The rate of its pictures that the line bears.
    pub rate: Bitrate,
    /// The rate that was asked for.
    pub wanted: Bitrate,
    /// This computer is too slow for all pictures of the call.
    pub is_slow: bool,
}

/// Decides from picture to picture.
#[derive(Clone, Debug)]
pub struct Allowance {
    base_bps: u64,
    main_bps: u64,
    /// Most for all together.
    cap_bps: u64,
    now: Part,
    /// Highest rate of the call since it last rose or fell.
    peak: Bitrate,
    /// Time before which nothing is added.
    rests_until: Timestamp,
    /// Time that coding takes, smoothed, us.
    coding_us: u32,
}

impl Allowance {
    /// Creates it for two pictures of these rates and a cap for all.
    pub fn new(base_bps: u64, main_bps: u64, cap_bps: u64) -> Self {
        Self {
            base_bps,
            main_bps,
            cap_bps,
            now: Part::Nothing,
            peak: Bitrate::from_bps(0),
            rests_until: Timestamp::from_us(0),
            coding_us: 0,
        }
    }

    fn bps(&self, part: Part) -> u64 {
        match part {
            Part::Nothing => 0,
            Part::Sound => SOUND_BPS,
            Part::Base => SOUND_BPS + self.base_bps,
            Part::Main => SOUND_BPS + self.base_bps + self.main_bps,
        }
    }

    /// Takes how long coding a picture took, of the time between two.
    pub fn on_coded(&mut self, took: Duration, interval: Duration, now: Timestamp) {
        let took_us = took.as_micros().min(1_000_000) as u32;
        self.coding_us = (7 * self.coding_us + took_us) / 8;
        if self.coding_us > interval.as_micros() as u32 / 100 * BUSY_PERCENT && self.now == Part::Main {
            // It would never catch up.
            self.fall(Part::Base, now);
            self.coding_us /= 2;
        }
    }

    fn fall(&mut self, to: Part, now: Timestamp) {
        self.now = self.now.min(to);
        self.rests_until = now + REST;
    }

    /// Returns what may be sent now; none of `call`: there is no call beside.
    pub fn look(&mut self, call: Option<Call>, now: Timestamp) -> Part {
        let most = |bps: u64| {
            let parts = [Part::Main, Part::Base, Part::Sound];
            parts.into_iter().find(|part| self.bps(*part) <= bps).unwrap_or_default()
        };
        let by_cap = most(self.cap_bps);
        let Some(call) = call else {
            self.now = by_cap;
            return by_cap;
        };
        let is_limited = call.rate.as_bps() * 100 < call.wanted.as_bps() * 95;
        let by_line = if is_limited { most(self.cap_bps.min(call.rate.as_bps() / SHARE)) } else { by_cap };
        let allowed = if call.is_slow { by_line.min(Part::Sound) } else { by_line };
        if call.rate.as_bps() * 100 < self.peak.as_bps() * FALLEN_PERCENT {
            // The call needs the line: pictures leave it at once.
            self.peak = call.rate;
            self.fall(Part::Sound.min(allowed), now);
        }
        self.peak = self.peak.max(call.rate);
        if allowed < self.now {
            self.fall(allowed, now);
        } else if allowed > self.now && now >= self.rests_until {
            self.now = match self.now {
                Part::Nothing => Part::Sound,
                Part::Sound => Part::Base,
                Part::Base | Part::Main => Part::Main,
            };
            // Sound is there at once.
            self.rests_until = if self.now == Part::Sound { now } else { now + REST };
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(rate: u64, wanted: u64) -> Option<Call> {
        Some(Call { rate: Bitrate::from_bps(rate), wanted: Bitrate::from_bps(wanted), is_slow: false })
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1000 * ms)
    }

    fn allowance() -> Allowance {
        Allowance::new(250_000, 1_200_000, 1_700_000)
    }

    /// Lets it settle with this call.
    fn settled(call: Option<Call>) -> (Allowance, Part) {
        let mut allowance = allowance();
        let part = (0..20).map(|second| allowance.look(call, at(1000 * second))).last();
        (allowance, part.unwrap_or_default())
    }

    #[test]
    fn the_audience_has_what_the_call_leaves() {
        for (rate, wanted, part) in [
            (20_000_000, 20_000_000, Part::Main),
            (2_000_000, 2_000_000, Part::Main),
            (15_000_000, 20_000_000, Part::Main),
            (5_000_000, 20_000_000, Part::Base),
            (1_900_000, 10_000_000, Part::Sound),
            (500_000, 10_000_000, Part::Nothing),
        ] {
            assert_eq!(settled(call(rate, wanted)).1, part, "{rate} of {wanted}");
        }
        assert_eq!(settled(None).1, Part::Main);
        assert_eq!(Allowance::new(250_000, 1_200_000, 400_000).look(None, at(0)), Part::Base, "its own cap");
    }

    #[test]
    fn pictures_leave_the_line_with_the_first_sign_and_come_back_by_steps() {
        let (mut allowance, _) = settled(call(20_000_000, 20_000_000));
        assert_eq!(allowance.look(call(19_500_000, 20_000_000), at(20_000)), Part::Main, "that is nothing");
        assert_eq!(allowance.look(call(15_900_000, 20_000_000), at(20_033)), Part::Sound);
        let back = call(20_000_000, 20_000_000);
        let parts: Vec<_> =
            [21_000, 23_000, 23_040, 26_000, 26_050].map(|ms| allowance.look(back, at(ms))).into_iter().collect();
        assert_eq!(parts, [Part::Sound, Part::Sound, Part::Base, Part::Base, Part::Main]);
    }

    #[test]
    fn a_slow_computer_codes_for_the_call_first() {
        let (mut allowance, part) = settled(call(20_000_000, 20_000_000));
        assert_eq!(part, Part::Main);
        let slow = call(20_000_000, 20_000_000).map(|call| Call { is_slow: true, ..call });
        assert_eq!(allowance.look(slow, at(30_000)), Part::Sound);
        let (mut allowance, _) = settled(None);
        let interval = Duration::from_micros(33_333);
        (0..50).for_each(|_| allowance.on_coded(Duration::from_millis(10), interval, at(40_000)));
        assert_eq!(allowance.now, Part::Main);
        (0..50).for_each(|_| allowance.on_coded(Duration::from_millis(40), interval, at(40_000)));
        assert_eq!(allowance.now, Part::Base);
    }
}
