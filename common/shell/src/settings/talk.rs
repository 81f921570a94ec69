//! The talk of the two people of a call, as a window shows it and the network carries it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use common::stream::talk::{BadText, Listener, Speaker, TalkState};
use common::units::Timestamp;
use common::wire::control::{ControlMessage, TEXT_CHARS_MAX};
use net::link::Waker;
use net::lock::lock;

use crate::control::Setting;

/// Texts that are remembered.
const REMEMBERED_MAX: usize = 200;

/// A text of either person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// True if it is this side's own.
    pub is_own: bool,
    /// The text as it came: quote it before it is shown where control characters do something.
    pub text: String,
}

/// Shared by the window and both ends of the stream; clones share it.
#[derive(Clone, Debug, Default)]
pub struct TalkSide {
    talk: Arc<Mutex<Talk>>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Talk {
    speaker: Speaker,
    listener: Listener,
    is_recording: bool,
    said: VecDeque<Said>,
    /// Of all texts so far, those remembered included.
    count: u64,
}

impl Talk {
    fn remember(&mut self, is_own: bool, text: String) {
        self.said.push_back(Said { is_own, text });
        self.said.drain(..self.said.len().saturating_sub(REMEMBERED_MAX));
        self.count += 1;
    }
}

impl TalkSide {
    /// Creates one whose loop is woken through `waker`.
    pub fn new(waker: Waker) -> Self {
        Self { talk: Arc::default(), waker }
    }

    /// Sends a text to the other side, at once or when it is there.
    pub fn say(&self, text: &str) -> Result<(), BadText> {
        let mut talk = lock(&self.talk);
        talk.speaker.say(text)?;
        talk.remember(true, text.trim().to_owned());
        drop(talk);
        self.waker.wake();
        Ok(())
    }

    /// Says whether this side records, which both see.
    pub fn set_recording(&self, is_recording: bool) {
        lock(&self.talk).is_recording = is_recording;
        self.waker.wake();
    }

    /// Returns true while this side records.
    pub fn is_recording(&self) -> bool {
        lock(&self.talk).is_recording
    }

    /// Returns what the other side says of itself.
    pub fn theirs(&self) -> TalkState {
        lock(&self.talk).listener.standing()
    }

    /// Returns how many texts of the other side were left out because they were too many.
    pub fn ignored(&self) -> u64 {
        lock(&self.talk).listener.ignored()
    }

    /// Returns the texts after the first `seen`, which becomes the number of all.
    pub fn since(&self, seen: &mut u64) -> Vec<Said> {
        let talk = lock(&self.talk);
        let new = usize::try_from(talk.count.saturating_sub(*seen)).unwrap_or(usize::MAX).min(talk.said.len());
        *seen = talk.count;
        talk.said.iter().skip(talk.said.len() - new).cloned().collect()
    }

    /// Returns the setting that says a text to the other side.
    pub fn setting(&self) -> Setting {
        let talk = self.clone();
        let set = move |value: &str| match talk.say(value) {
            Ok(()) => Some("said".to_owned()),
            Err(BadText::TooMany) => Some(BadText::TooMany.to_string()),
            Err(_) => None,
        };
        Setting { key: "say", takes: format!("a text of up to {TEXT_CHARS_MAX} characters"), set: Box::new(set) }
    }

    /// Both machines have greeted.
    pub fn on_greeted(&self) {
        lock(&self.talk).speaker.on_greeted();
    }

    /// The connection is gone.
    pub fn on_disconnected(&self) {
        let mut talk = lock(&self.talk);
        talk.speaker.on_disconnected();
        talk.listener.on_disconnected();
    }

    /// Takes a message of the other side; returns one that is none of these.
    pub fn on_message(&self, message: ControlMessage, now: Timestamp) -> Result<(), ControlMessage> {
        let mut talk = lock(&self.talk);
        if let Some(text) = talk.listener.on_message(message, now)? {
            talk.remember(false, text);
        }
        Ok(())
    }

    /// Returns the next message for the other side. `is_hidden`: whether the own picture is.
    pub fn poll(&self, is_hidden: bool, now: Timestamp) -> Option<ControlMessage> {
        let mut talk = lock(&self.talk);
        let standing = TalkState { is_hidden, is_recording: talk.is_recording };
        talk.speaker.poll(standing, now)
    }

    /// Returns the time at which a text that waits may leave.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        lock(&self.talk).speaker.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_sees_each_text_once_and_the_oldest_are_forgotten() {
        let talk = TalkSide::default();
        let (mut seen, mut late) = (0, 0);
        talk.say("hello").unwrap();
        assert_eq!(talk.since(&mut seen), [Said { is_own: true, text: "hello".to_owned() }]);
        assert_eq!(talk.since(&mut seen), []);
        for n in 0..2 * REMEMBERED_MAX {
            let text = n.to_string();
            talk.on_message(ControlMessage::Text { text }, Timestamp::from_us(1_000_000 * n as u64)).unwrap();
        }
        for reader in [&mut seen, &mut late] {
            let said = talk.since(reader);
            assert_eq!((said.len(), said[0].text.as_str()), (REMEMBERED_MAX, "200"));
            assert!(said.iter().all(|said| !said.is_own));
        }
    }
}
