//! Sentences about pictures that cannot be used: in the log once a minute, in the window while there are many.

use std::collections::VecDeque;
use std::time::Duration;

use common::units::Timestamp;

use crate::source::health::Unusable;

/// Time between two lines of the log.
const PAUSE: Duration = Duration::from_secs(60);
/// Pictures that are looked back on.
const RECENT: usize = 30;
/// Pictures that must have come before anything is said.
const FEW: usize = 5;
/// Share of them beyond which the window says it: one in so many.
const ONE_IN: usize = 10;
const _: () = assert!(FEW < RECENT && ONE_IN <= RECENT);

/// Counts a camera's pictures.
#[derive(Debug)]
pub(super) struct Account {
    index: u32,
    /// Since the last line: those that came, and those of each reason.
    came: u64,
    unusable: [u64; Unusable::ALL.len()],
    told: Option<Timestamp>,
    /// The last ones, true: it could not be used.
    recent: VecDeque<bool>,
    /// Why the last one could not.
    text: String,
}

impl Account {
    pub(super) fn new(index: u32) -> Self {
        Self { index, came: 0, unusable: Default::default(), told: None, recent: VecDeque::new(), text: String::new() }
    }

    /// Notes a picture that is used.
    pub(super) fn on_good(&mut self, now: Timestamp) {
        self.note(false);
        self.log(now);
    }

    /// Notes a picture that cannot be used for a reason, of which `text` tells more.
    pub(super) fn on_unusable(&mut self, reason: Unusable, text: &str, now: Timestamp) {
        self.note(true);
        self.unusable[reason as usize] += 1;
        text.clone_into(&mut self.text);
        self.log(now);
    }

    fn note(&mut self, is_unusable: bool) {
        self.came += 1;
        self.recent.push_back(is_unusable);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    fn log(&mut self, now: Timestamp) {
        if let Some(line) = self.line(now) {
            tracing::warn!("{line}");
        }
    }

    /// Returns what the log says now: of the first picture that cannot be used at once, then of all of a minute.
    fn line(&mut self, now: Timestamp) -> Option<String> {
        let unusable: u64 = self.unusable.iter().sum();
        if unusable == 0 || self.told.is_some_and(|told| now.since(told) < PAUSE) {
            return None;
        }
        let parts = Unusable::ALL.iter().zip(&self.unusable).filter(|(_, count)| **count > 0);
        let parts: Vec<_> = parts.map(|((_, words), count)| format!("{count} {words}")).collect();
        let (index, came, text) = (self.index, self.came, &self.text);
        let parts = parts.join(", ");
        let line =
            format!("camera {index}: {unusable} of {came} pictures cannot be used ({parts}); the last one: {text}");
        (self.told, self.came, self.unusable) = (Some(now), 0, Default::default());
        Some(line)
    }

    /// Returns what the window says; none: nearly all pictures can be used.
    pub(super) fn trouble(&self) -> Option<String> {
        let (all, unusable) = (self.recent.len(), self.recent.iter().filter(|unusable| **unusable).count());
        let text = &self.text;
        match unusable {
            _ if all < FEW || unusable * ONE_IN < all => None,
            _ if unusable == all => Some(format!("Your camera's pictures cannot be used: {text}")),
            _ => Some(format!("{unusable} of {all} pictures of your camera cannot be used: {text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_all_once_a_minute() {
        let at = |seconds: u64| Timestamp::from_us(1_000_000 * seconds);
        let mut account = Account::new(3);
        account.note(false);
        assert_eq!(account.line(at(0)), None);
        account.note(true);
        account.unusable[Unusable::Damaged as usize] += 1;
        account.text = "no end".to_owned();
        let first = "camera 3: 1 of 2 pictures cannot be used (1 damaged or of an unknown kind); the last one: no end";
        assert_eq!(account.line(at(1)).as_deref(), Some(first));
        for second in 2..61 {
            account.on_unusable(Unusable::Empty, "it has no bytes", at(second));
            account.on_good(at(second));
        }
        account.unusable[Unusable::Short as usize] += 1;
        let minute = account.line(at(61)).unwrap();
        assert!(
            minute.starts_with("camera 3: 60 of 118 pictures cannot be used (59 empty, 1 too short); "),
            "{minute}"
        );
        assert_eq!(account.line(at(200)), None, "none since then");
    }

    #[test]
    fn the_window_says_it_while_there_are_many() {
        let mut account = Account::new(0);
        let now = Timestamp::default();
        for _ in 0..4 {
            account.on_unusable(Unusable::Empty, "it has no bytes", now);
            assert_eq!(account.trouble(), None, "a camera may begin so");
        }
        account.on_unusable(Unusable::Empty, "it has no bytes", now);
        assert_eq!(account.trouble().unwrap(), "Your camera's pictures cannot be used: it has no bytes");
        (0..10).for_each(|_| account.on_good(now));
        assert_eq!(account.trouble().unwrap(), "5 of 15 pictures of your camera cannot be used: it has no bytes");
        (0..30).for_each(|_| account.on_good(now));
        assert_eq!(account.trouble(), None);
    }
}
