//! Presence of another machine, as its signs show it: knocks, which only it can make, and notes that it leaves.

use std::time::Duration;

use super::note::NOTE_LIFE_MS;
use crate::units::Timestamp;

/// Time for which a knock shows that a machine is there. It knocks three times as often.
const HERE: Duration = Duration::from_secs(65);

/// Presence of another machine, as far as this one can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has knocked a moment ago.
    Here,
    /// It has left a note that it will be there now, and no knock of it gets here.
    Likely,
    /// Nothing shows that it is there.
    Away {
        /// Time of the last sign of it, milliseconds since 1970; none: there never was one.
        last_ms: Option<u64>,
    },
}

/// The signs of one machine. It knows no clock: `now` is this machine's monotonic time, `unix_ms` milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    heard: Option<Timestamp>,
    last_ms: Option<u64>,
    until_ms: u64,
}

impl Signs {
    /// Takes a knock, or that a connection with the machine is there.
    pub fn on_knock(&mut self, now: Timestamp, unix_ms: u64) {
        (self.heard, self.last_ms) = (Some(now), self.last_ms.max(Some(unix_ms)));
    }

    /// Takes a note of that time, which says until when its writer will be there.
    pub fn on_note(&mut self, made_ms: u64, until_ms: u64, unix_ms: u64) {
        self.last_ms = self.last_ms.max(Some(made_ms.min(unix_ms)));
        self.until_ms = until_ms.min(unix_ms.saturating_add(NOTE_LIFE_MS));
    }

    /// Takes the goodbye of the machine.
    pub fn on_goodbye(&mut self) {
        (self.heard, self.until_ms) = (None, 0);
    }

    /// Returns the presence of now.
    pub fn presence(&self, now: Timestamp, unix_ms: u64) -> Presence {
        match self.heard {
            Some(heard) if now.since(heard) < HERE => Presence::Here,
            _ if unix_ms < self.until_ms => Presence::Likely,
            _ => Presence::Away { last_ms: self.last_ms },
        }
    }

    /// Returns the time at which the presence becomes another without any sign.
    pub fn poll_timeout(&self, now: Timestamp, unix_ms: u64) -> Option<Timestamp> {
        match self.presence(now, unix_ms) {
            Presence::Here => self.heard.map(|heard| heard + HERE),
            Presence::Likely => Some(now + Duration::from_millis(self.until_ms - unix_ms)),
            Presence::Away { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_700_000_000_000;

    fn at(s: u64) -> Timestamp {
        Timestamp::from_us(s * 1_000_000)
    }

    fn presence(signs: &Signs, s: u64) -> Presence {
        signs.presence(at(s), NOW_MS + s * 1000)
    }

    #[test]
    fn a_machine_is_here_as_long_as_it_knocks() {
        let mut signs = Signs::default();
        assert_eq!(presence(&signs, 0), Presence::Away { last_ms: None });
        assert_eq!(signs.poll_timeout(at(0), NOW_MS), None);
        signs.on_knock(at(1), NOW_MS + 1000);
        // Two of its knocks, one each twenty seconds, may be lost.
        assert_eq!((presence(&signs, 1), presence(&signs, 64)), (Presence::Here, Presence::Here));
        let end = signs.poll_timeout(at(1), NOW_MS + 1000).unwrap();
        assert_eq!(end, at(66));
        assert_eq!(presence(&signs, 66), Presence::Away { last_ms: Some(NOW_MS + 1000) });
        signs.on_knock(at(100), NOW_MS + 100_000);
        signs.on_goodbye();
        assert_eq!(presence(&signs, 100), Presence::Away { last_ms: Some(NOW_MS + 100_000) });
    }

    #[test]
    fn a_note_shows_what_no_knock_does_and_nothing_for_ever() {
        let mut signs = Signs::default();
        signs.on_note(NOW_MS - 5000, NOW_MS + 60_000, NOW_MS);
        assert_eq!(presence(&signs, 0), Presence::Likely);
        assert_eq!(signs.poll_timeout(at(0), NOW_MS), Some(at(60)));
        assert_eq!(presence(&signs, 60), Presence::Away { last_ms: Some(NOW_MS - 5000) });
        signs.on_knock(at(61), NOW_MS + 61_000);
        assert_eq!(presence(&signs, 61), Presence::Here);
        // Whoever lies about times, or whose clock is wrong, was last here now at the latest, and is likely here for hours at most.
        signs.on_note(u64::MAX, u64::MAX, NOW_MS);
        assert_eq!(presence(&signs, 3 * 3600 - 1), Presence::Likely);
        assert_eq!(presence(&signs, 3 * 3600), Presence::Away { last_ms: Some(NOW_MS + 61_000) });
    }
}
