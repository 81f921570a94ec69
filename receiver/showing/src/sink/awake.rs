//! The screen saver, which is held while pictures come.
//!
//! Two are asked, since no desktop heeds both: the X server, if there is one (MIT-SCREEN-SAVER 1.1, `ScreenSaverSuspend`, which
//! holds its power saving, too), and the desktop's own saver (`org.freedesktop.ScreenSaver.Inhibit` on the session's D-Bus). Both let
//! go when the connection on which they were asked ends, so that nothing stays held after this process.

use std::time::Duration;

use common::units::Timestamp;

use super::session_bus::Inhibited;

/// Time without a picture after which the screen may go dark. An outage is no reason: the picture comes back, and nobody
/// has touched a key for an hour.
const LET_GO: Duration = Duration::from_secs(30);

/// Decides when the screen saver is held.
#[derive(Debug, Default)]
struct Hold {
    picture: Option<Timestamp>,
}

impl Hold {
    /// Takes a picture; returns true if the saver is to be held from now on.
    fn on_picture(&mut self, now: Timestamp) -> bool {
        self.picture.replace(now).is_none()
    }

    /// Returns true if the saver is to be let go now.
    fn lets_go(&mut self, now: Timestamp) -> bool {
        self.picture.take_if(|last| now.since(*last) >= LET_GO).is_some()
    }
}

/// The screen saver of the display and of the desktop.
#[derive(Debug, Default)]
pub(super) struct Awake {
    hold: Hold,
    desktop: Option<Inhibited>,
}

impl Awake {
    /// Takes a picture that has been shown. `hold_saver` holds the display's saver or lets it go.
    pub(super) fn on_picture(&mut self, hold_saver: impl FnOnce(bool), now: Timestamp) {
        if self.hold.on_picture(now) {
            hold_saver(true);
            self.desktop = Inhibited::ask("duet", "a call with pictures");
        }
    }

    /// Lets go when no picture has come for long.
    pub(super) fn look(&mut self, hold_saver: impl FnOnce(bool), now: Timestamp) {
        if self.hold.lets_go(now) {
            hold_saver(false);
            self.desktop = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saver_is_held_from_the_first_picture_until_none_has_come_for_long() {
        let at = |ms: u64| Timestamp::from_us(1_000 * ms);
        let mut hold = Hold::default();
        assert!(!hold.lets_go(at(100_000)), "nobody has called");
        assert!(hold.on_picture(at(100_000)));
        assert!(!hold.on_picture(at(100_033)) && !hold.lets_go(at(130_032)), "an outage");
        assert!(!hold.on_picture(at(130_032)) && !hold.lets_go(at(160_031)));
        assert!(hold.lets_go(at(160_032)) && !hold.lets_go(at(160_042)));
        assert!(hold.on_picture(at(200_000)), "the next call");
    }
}
