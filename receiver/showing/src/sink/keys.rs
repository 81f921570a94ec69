//! Actions of keys and the pointer.

use std::time::Duration;

use common::units::Timestamp;

/// Time within which a second press of Esc ends.
const AGAIN: Duration = Duration::from_secs(3);

/// State of the Esc key.
#[derive(Debug, Default)]
pub(super) struct Escape {
    pressed: Option<Timestamp>,
}

impl Escape {
    /// Takes a press of Esc: returns true if it is the second within a moment.
    pub(super) fn press(&mut self, now: Timestamp) -> bool {
        let again = self.pressed.is_some_and(|pressed| now.since(pressed) < AGAIN);
        self.pressed = Some(now);
        again
    }
}

/// Time after which a pointer that rests is hidden.
const REST: Duration = Duration::from_secs(2);

/// State of the pointer: its place, and true if it is seen.
#[derive(Debug, Default)]
pub(super) struct Pointer {
    place: Option<(f32, f32)>,
    moved: Timestamp,
    is_hidden: bool,
}

impl Pointer {
    /// Returns whether to show or hide it, if that changes now.
    pub(super) fn look(&mut self, place: Option<(f32, f32)>, now: Timestamp) -> Option<bool> {
        if std::mem::replace(&mut self.place, place) != place {
            self.moved = now;
        }
        let hides = now.since(self.moved) >= REST;
        (std::mem::replace(&mut self.is_hidden, hides) != hides).then_some(!hides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_that_rests_is_hidden_until_it_moves() {
        let at = |ms: u64| Timestamp::from_us(1_000 * ms);
        let mut pointer = Pointer::default();
        assert_eq!(pointer.look(Some((1.0, 2.0)), at(5_000)), None);
        assert_eq!(pointer.look(Some((1.0, 2.0)), at(6_999)), None);
        assert_eq!(pointer.look(Some((1.0, 2.0)), at(7_000)), Some(false));
        assert_eq!(pointer.look(Some((1.0, 2.0)), at(7_010)), None);
        assert_eq!(pointer.look(Some((1.0, 3.0)), at(9_000)), Some(true));
    }

    #[test]
    fn escape_counts_when_it_is_pressed_twice() {
        let at = Timestamp::from_us;
        let mut escape = Escape::default();
        assert!(!escape.press(at(1_000_000)));
        assert!(!escape.press(at(4_000_000)), "that was too long ago");
        assert!(escape.press(at(6_900_000)));
    }
}
