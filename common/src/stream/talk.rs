//! The talk of two people in a call besides sound and picture: short texts, and that a picture is hidden or the call recorded.
//!
//! It is a stream without datagrams: each side is its sender, and the other end hears it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::units::Timestamp;
use crate::wire::control::{ControlMessage, TEXT_CHARS_MAX};

/// Number of the stream.
pub const TALK: u8 = 3;

/// Texts that are heard at once at most, and time after which one more is.
const TEXTS_BURST: u32 = 8;
const TEXT_EVERY: Duration = Duration::from_millis(250);
/// Texts that wait to be sent at most.
const WAITING_MAX: usize = 8;

/// Reasons for which a text is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// There is nothing in it.
    #[error("an empty text is not sent")]
    Empty,
    /// It is too long.
    #[error("a text of {0} characters is too long: at most {TEXT_CHARS_MAX}")]
    TooLong(usize),
    /// Too many wait already.
    #[error("{WAITING_MAX} texts wait already: the other side is not there, or they are too many at once")]
    TooMany,
}

/// A side as it says of itself: all of it holds until it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TalkState {
    /// Its picture is hidden: none is sent.
    pub is_hidden: bool,
    /// It records the call.
    pub is_recording: bool,
}

/// The end that says. It is for one connection after the other: what waits goes to the next.
#[derive(Clone, Debug, Default)]
pub struct Speaker {
    waiting: VecDeque<String>,
    told: Option<TalkState>,
    next_text: Timestamp,
}

impl Speaker {
    /// Takes a text for the other side.
    pub fn say(&mut self, text: &str) -> Result<(), BadText> {
        let text = text.trim();
        let chars = text.chars().count();
        if text.is_empty() {
            return Err(BadText::Empty);
        }
        if chars > TEXT_CHARS_MAX {
            return Err(BadText::TooLong(chars));
        }
        if self.waiting.len() >= WAITING_MAX {
            return Err(BadText::TooMany);
        }
        self.waiting.push_back(text.to_owned());
        Ok(())
    }

    /// Both machines have greeted: what holds is told anew.
    pub fn on_greeted(&mut self) {
        self.told = Some(TalkState::default());
    }

    /// The connection is gone.
    pub fn on_disconnected(&mut self) {
        self.told = None;
    }

    /// Returns the next message; `standing`: what holds on this side now.
    pub fn poll(&mut self, standing: TalkState, now: Timestamp) -> Option<ControlMessage> {
        let told = self.told.as_mut()?;
        if told.is_hidden != standing.is_hidden {
            told.is_hidden = standing.is_hidden;
            return Some(ControlMessage::Hidden { is_hidden: standing.is_hidden });
        }
        if told.is_recording != standing.is_recording {
            told.is_recording = standing.is_recording;
            return Some(ControlMessage::Recording { is_recording: standing.is_recording });
        }
        if now < self.next_text {
            return None;
        }
        let text = self.waiting.pop_front()?;
        self.next_text = now + TEXT_EVERY;
        Some(ControlMessage::Text { text })
    }

    /// Returns the time at which a text that waits may leave.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        (self.told.is_some() && !self.waiting.is_empty()).then_some(self.next_text)
    }
}

/// The end that hears.
#[derive(Clone, Debug, Default)]
pub struct Listener {
    standing: TalkState,
    /// Time up to which the texts heard so far have used up what is allowed.
    paid: Timestamp,
    ignored: u64,
}

impl Listener {
    /// Takes a message; returns the text to show, if it is one and not one of too many. None of another kind is expected: false.
    pub fn on_message(&mut self, message: ControlMessage, now: Timestamp) -> Result<Option<String>, ControlMessage> {
        match message {
            ControlMessage::Hidden { is_hidden } => self.standing.is_hidden = is_hidden,
            ControlMessage::Recording { is_recording } => self.standing.is_recording = is_recording,
            ControlMessage::Text { text } => {
                let paid = self.paid.max(now);
                if paid.since(now) >= TEXT_EVERY * TEXTS_BURST {
                    self.ignored += 1;
                    return Ok(None);
                }
                self.paid = paid + TEXT_EVERY;
                return Ok(Some(text));
            }
            other => return Err(other),
        }
        Ok(None)
    }

    /// The connection is gone: what the other side has said of itself holds no more.
    pub fn on_disconnected(&mut self) {
        self.standing = TalkState::default();
    }

    /// Returns what the other side says of itself.
    pub fn standing(&self) -> TalkState {
        self.standing
    }

    /// Returns how many texts were left out because they were too many.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    fn text(n: usize) -> ControlMessage {
        ControlMessage::Text { text: n.to_string() }
    }

    #[test]
    fn what_holds_is_told_once_on_each_connection_and_texts_wait_for_one() {
        let (mut speaker, hidden) = (Speaker::default(), TalkState { is_hidden: true, is_recording: false });
        speaker.say("  hello ").unwrap();
        assert_eq!((speaker.poll(hidden, at(0)), speaker.poll_timeout()), (None, None), "nobody has greeted");
        for _ in 0..2 {
            speaker.on_greeted();
            assert_eq!(speaker.poll(hidden, at(0)), Some(ControlMessage::Hidden { is_hidden: true }));
            let said = speaker.poll(hidden, at(300));
            assert!(said.is_none_or(|said| said == ControlMessage::Text { text: "hello".to_owned() }));
            assert_eq!(speaker.poll(hidden, at(600)), None);
            speaker.on_disconnected();
        }
        speaker.on_greeted();
        assert_eq!(speaker.poll(TalkState::default(), at(0)), None, "as the other side thinks already");
    }

    #[test]
    fn texts_of_a_wrong_length_and_too_many_are_refused_with_a_reason() {
        let mut speaker = Speaker::default();
        assert_eq!(speaker.say(" \n "), Err(BadText::Empty));
        assert_eq!(speaker.say(&"ä".repeat(TEXT_CHARS_MAX + 1)), Err(BadText::TooLong(TEXT_CHARS_MAX + 1)));
        for _ in 0..WAITING_MAX {
            assert_eq!(speaker.say(&"ä".repeat(TEXT_CHARS_MAX)), Ok(()));
        }
        assert_eq!(speaker.say("one more"), Err(BadText::TooMany));
    }

    #[test]
    fn what_a_speaker_sends_is_heard_and_of_a_flood_a_few_a_second() {
        let (mut speaker, mut listener) = (Speaker::default(), Listener::default());
        speaker.on_greeted();
        let (mut said, mut heard) = (0, 0);
        for ms in (0..10_000).step_by(50) {
            said += usize::from(speaker.say("x").is_ok());
            let Some(message) = speaker.poll(TalkState::default(), at(ms)) else { continue };
            heard += usize::from(listener.on_message(message, at(ms)).unwrap().is_some());
        }
        assert!((40..=48).contains(&said) && (40..=said).contains(&heard), "{said} {heard}");
        assert_eq!(listener.ignored(), 0);
        let flood = (0..10_000).filter(|&n| listener.on_message(text(n), at(20_000)).unwrap().is_some()).count();
        assert_eq!((flood, listener.ignored()), (TEXTS_BURST as usize, 10_000 - u64::from(TEXTS_BURST)));
        assert!(listener.on_message(text(1), at(20_250)).unwrap().is_some());
        assert!(listener.on_message(text(2), at(20_250)).unwrap().is_none());
        assert!(listener.on_message(ControlMessage::Ready, at(20_250)).is_err());
    }
}
