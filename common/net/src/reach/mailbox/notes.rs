//! Notes: what two machines that know each other's keys leave for each other at a mailbox server, so that a later call finds
//! a home whose address has changed.
//!
//! Of secrets an introduction leaves nothing on either side but each machine's own key. What the two share is made of these
//! ([`PairSeal`]): the name of a mailbox, and a key for the notes of each side. The server cannot tell whose mailbox it is, and can
//! neither read nor make a note. It learns at which addresses and times two machines have come to the same mailbox.
//!
//! The addresses of a note are knocked at, as all others are, and whoever is found there proves its key. So a server that
//! leaves notes out, gives old ones out again or is not there costs what notes are for, and nothing else.

use std::collections::VecDeque;
use std::time::Duration;

use common::path::ways::Candidate;

use super::courier::{Courier, Key, PAUSE};
pub(crate) use super::pair_seal::PairSeal;
use super::protocol::{MailboxError, Said, add, bind, open, said};
use crate::limited;

/// Name of these programs' calls at a mailbox server, so that they meet nobody else there.
const APP: &str = "duet/call";
/// Notes that are remembered, so that none counts twice when the server repeats it.
const READ_MAX: usize = 16;
/// Longest pause before the server is tried again; the first again after a connection that has lasted.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Leaves notes and gets the other machine's, until it is dropped.
pub(crate) struct Notes {
    courier: Courier<NoteKey>,
    left: Vec<Candidate>,
}

impl Notes {
    /// Begins at `server`, `ws://HOST:PORT/PATH`, with the machine of that seal. Must be called on a tokio runtime.
    pub(crate) fn start(server: String, seal: PairSeal) -> Self {
        Self { courier: Courier::start(server, NoteKey::new(seal), None), left: Vec::new() }
    }

    /// Leaves a note with this machine's addresses, if they are others than before.
    pub(in crate::reach) fn leave(&mut self, candidates: Vec<Candidate>) {
        if self.left != candidates && self.courier.give(candidates.clone()) {
            self.left = candidates;
        }
    }

    /// Waits for the addresses in the other machine's next note. Nothing is lost if it is dropped.
    pub(in crate::reach) async fn next(&mut self) -> Vec<Candidate> {
        match self.courier.next().await {
            Ok(candidates) => candidates,
            // None comes: each is followed by another connection.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.courier.stop();
    }
}

/// The key that two machines share who know each other.
struct NoteKey {
    seal: PairSeal,
    /// This machine's addresses.
    own: Vec<Candidate>,
    out: Vec<String>,
    /// Notes that were read, newest first.
    read: VecDeque<String>,
    news: Option<Vec<Candidate>>,
    pause: Duration,
}

impl NoteKey {
    fn new(seal: PairSeal) -> Self {
        let read = VecDeque::with_capacity(READ_MAX);
        Self { seal, own: Vec::new(), out: Vec::new(), read, news: None, pause: PAUSE }
    }

    /// Leaves a note with this machine's addresses, if there are any.
    fn note(&mut self) -> Result<(), MailboxError> {
        if !self.own.is_empty() {
            let sealed = self.seal.seal(self.own.clone());
            let body = sealed.map_err(|failure| MailboxError::Unreachable(failure.message))?;
            self.out.push(add("note", &body));
        }
        Ok(())
    }
}

impl Key for NoteKey {
    type Given = Vec<Candidate>;
    type News = Vec<Candidate>;
    type Error = MailboxError;
    const LEAST: Duration = Duration::from_millis(100);

    fn on_connected(&mut self) -> Result<(), MailboxError> {
        self.out = vec![bind(APP, &self.seal.own_name), open(&self.seal.mailbox)];
        self.note()
    }

    fn take_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out)
    }

    fn give(&mut self, candidates: Vec<Candidate>) -> Result<(), MailboxError> {
        self.own = candidates;
        self.note()
    }

    /// Takes the addresses of a note of the other machine. What the server has made up or has given out before is passed over.
    fn on_text(&mut self, text: &str) -> Result<(), MailboxError> {
        let Said::Message { side, body, .. } = said(text)? else { return Ok(()) };
        if side != self.seal.other_name || self.read.contains(&body) {
            return Ok(());
        }
        if let Some(candidates) = self.seal.open(&body) {
            limited!(info, "the mailbox server has a note of the other machine: where it is now");
            self.read.truncate(READ_MAX - 1);
            self.read.push_front(body);
            self.news = Some(candidates);
        }
        Ok(())
    }

    fn poll_news(&mut self) -> Option<Vec<Candidate>> {
        self.news.take()
    }

    fn on_error(
        &mut self,
        error: MailboxError,
        server: &str,
        lasted: Duration,
        _: Duration,
    ) -> Result<Duration, MailboxError> {
        limited!(warn, "the mailbox server {server}: {error}; going on without");
        let pause = if lasted > PAUSE_MAX { PAUSE } else { self.pause };
        self.pause = (2 * pause).min(PAUSE_MAX);
        Ok(pause)
    }
}

#[cfg(test)]
mod tests {
    use common::path::ways::Kind;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::identity::Identity;

    impl NoteKey {
        /// Returns the messages that leave a note with these addresses.
        fn noted(&mut self, candidates: Vec<Candidate>) -> String {
            self.give(candidates).unwrap();
            self.out.pop().unwrap()
        }

        /// Returns the addresses of the note that a message is.
        fn read(&mut self, text: &str) -> Result<Option<Vec<Candidate>>, MailboxError> {
            self.on_text(text).map(|()| self.poll_news())
        }

        fn begun(&mut self) -> Vec<String> {
            self.on_connected().unwrap();
            self.take_out()
        }
    }

    fn clients() -> [NoteKey; 2] {
        let [a, b] = std::array::from_fn(|_| Identity::generate().unwrap());
        [(&a, &b), (&b, &a)].map(|(own, other)| NoteKey::new(PairSeal::new(own, &other.public_key()).unwrap()))
    }

    fn candidates(last: u8) -> Vec<Candidate> {
        vec![Candidate::new(Kind::ServerReflexive, ([203, 0, 113, last], 20_000).into()).unwrap()]
    }

    /// The server's answer to a message.
    fn passed_on(message: &str, from: &NoteKey) -> String {
        let mut message: Value = serde_json::from_str(message).unwrap();
        message["type"] = "message".into();
        message["side"] = from.seal.own_name.clone().into();
        message.to_string()
    }

    #[test]
    fn notes_are_read_once_and_only_the_others() {
        let [mut one, mut other] = clients();
        assert_eq!(one.begun()[1], other.begun()[1], "the same mailbox");
        assert_ne!(one.begun()[0], other.begun()[0]);
        let [first, second] = [1, 2].map(|last| passed_on(&one.noted(candidates(last)), &one));
        for (message, read) in [(&first, Some(1)), (&first, None), (&second, Some(2)), (&first, None)] {
            assert_eq!(other.read(message), Ok(read.map(candidates)));
        }
        let own = passed_on(&other.noted(candidates(3)), &other);
        assert_eq!(other.read(&own), Ok(None));
        // The server says that it is the other's.
        assert_eq!(other.read(&own.replace(&other.seal.own_name, &one.seal.own_name)), Ok(None));
        for other_words in [r#"{"type":"ack"}"#, r#"{"type":"welcome","welcome":{"motd":"hello"}}"#] {
            assert_eq!(other.read(other_words), Ok(None));
        }
        let refused = MailboxError::Refused("\"go away\"".to_owned());
        assert_eq!(other.read(r#"{"type":"error","error":"crowded"}"#), Err(MailboxError::Crowded));
        assert_eq!(other.read(r#"{"type":"error","error":"go away"}"#), Err(refused.clone()));
        assert_eq!(other.read(r#"{"type":"welcome","welcome":{"error":"go away"}}"#), Err(refused));
        assert!(matches!(other.read("<html>"), Err(MailboxError::NoMailbox(_))));
        assert!(other.read.len() == 2);
    }

    proptest! {
        #[test]
        fn hostile_messages_give_no_addresses(
            kind in "message|welcome|error|[a-z]{0,9}",
            body in ".{0,300}",
            at in 0..200_usize,
        ) {
            let [mut one, mut other] = clients();
            let side = one.seal.own_name.clone();
            let told = other.read(&serde_json::json!({"type": kind, "side": side, "body": body}).to_string());
            prop_assert!(!matches!(told, Ok(Some(_))));
            let note = passed_on(&one.noted(candidates(1)), &one);
            let cut: String = note.chars().take(at).collect();
            prop_assert!(!matches!(other.read(&cut), Ok(Some(_))));
        }
    }
}
