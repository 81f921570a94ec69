//! The client of a mailbox server for notes, without its connection: messages as text in and out.
//!
//! The protocol is magic-wormhole's (magic-wormhole-protocols, "Server protocol"), without its places: the mailbox has a name
//! that both machines know. The server keeps messages for as long as one of the two is connected, and some minutes.

use std::collections::VecDeque;

use common::path::ways::Candidate;
use serde::Deserialize;
use serde_json::json;

use super::seal::PairSeal;
use crate::failure::Failure;
use crate::quoted::Quoted;
use crate::reach::socket::{NoSocket, SocketLost};

/// Name of these programs' calls at a mailbox server, so that they meet nobody else there.
const APP: &str = "duet/call";
/// Notes that are remembered, so that none counts twice when the server repeats it.
const READ_MAX: usize = 16;

/// Reasons for which there are no notes now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotesError {
    /// There is no connection.
    #[error(transparent)]
    NoSocket(#[from] NoSocket),
    /// It speaks of something else.
    #[error("it is none: it said {0}")]
    NoMailbox(String),
    /// It wants nothing to do with us.
    #[error("it refuses: {0}")]
    Refused(String),
    /// The connection has ended.
    #[error("the connection has ended")]
    Lost,
    /// The system gives no random numbers.
    #[error("{0}")]
    Unsealed(String),
}

impl From<SocketLost> for NotesError {
    fn from(_: SocketLost) -> Self {
        Self::Lost
    }
}

impl From<Failure> for NotesError {
    fn from(failure: Failure) -> Self {
        Self::Unsealed(failure.message)
    }
}

/// A message of the server.
#[derive(Deserialize)]
struct Heard {
    #[serde(rename = "type")]
    kind: String,
    side: Option<String>,
    body: Option<String>,
    error: Option<String>,
    welcome: Option<Welcome>,
}

#[derive(Deserialize)]
struct Welcome {
    error: Option<String>,
}

/// One side of a mailbox.
pub(super) struct NotesClient {
    seal: PairSeal,
    /// Notes that were read, newest first.
    read: VecDeque<String>,
}

impl NotesClient {
    pub(super) fn new(seal: PairSeal) -> Self {
        Self { seal, read: VecDeque::with_capacity(READ_MAX) }
    }

    /// Returns the first messages of a connection.
    pub(super) fn begin(&self) -> [String; 2] {
        [
            json!({"type": "bind", "appid": APP, "side": self.seal.own_name()}).to_string(),
            json!({"type": "open", "mailbox": self.seal.mailbox()}).to_string(),
        ]
    }

    /// Returns the message that leaves a note with these addresses of this machine.
    pub(super) fn note(&self, candidates: Vec<Candidate>) -> Result<String, Failure> {
        let body = self.seal.seal(candidates)?;
        Ok(json!({"type": "add", "phase": "note", "body": body}).to_string())
    }

    /// Takes a message of the server; returns the addresses of a note of the other machine. What the server has made up or
    /// has given out before is passed over.
    pub(super) fn on_text(&mut self, text: &str) -> Result<Option<Vec<Candidate>>, NotesError> {
        let heard: Heard = serde_json::from_str(text).map_err(|_| NotesError::NoMailbox(Quoted(text).to_string()))?;
        let refused = |error: String| Err(NotesError::Refused(Quoted(&error).to_string()));
        match (heard.kind.as_str(), heard.welcome, heard.side, heard.body) {
            ("welcome", Some(Welcome { error: Some(error) }), ..) => refused(error),
            ("error", ..) => refused(heard.error.unwrap_or_default()),
            ("message", _, Some(side), Some(body)) if side == self.seal.other_name() && !self.read.contains(&body) => {
                let candidates = self.seal.open(&body);
                if candidates.is_some() {
                    self.read.truncate(READ_MAX - 1);
                    self.read.push_front(body);
                }
                Ok(candidates)
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use common::path::ways::Kind;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::identity::Identity;

    fn clients() -> [NotesClient; 2] {
        let [a, b] = std::array::from_fn(|_| Identity::generate().unwrap());
        [(&a, &b), (&b, &a)].map(|(own, other)| NotesClient::new(PairSeal::new(own, &other.public_key()).unwrap()))
    }

    fn candidates(last: u8) -> Vec<Candidate> {
        vec![Candidate::new(Kind::ServerReflexive, ([203, 0, 113, last], 20_000).into()).unwrap()]
    }

    /// The server's answer to a message.
    fn passed_on(message: &str, from: &NotesClient) -> String {
        let mut message: Value = serde_json::from_str(message).unwrap();
        message["type"] = "message".into();
        message["side"] = from.seal.own_name().into();
        message.to_string()
    }

    #[test]
    fn notes_are_read_once_and_only_the_others() {
        let [one, mut other] = clients();
        assert_eq!(one.begin()[1], other.begin()[1], "the same mailbox");
        assert_ne!(one.begin()[0], other.begin()[0]);
        let [first, second] = [1, 2].map(|last| passed_on(&one.note(candidates(last)).unwrap(), &one));
        for (message, read) in [(&first, Some(1)), (&first, None), (&second, Some(2)), (&first, None)] {
            assert_eq!(other.on_text(message), Ok(read.map(candidates)));
        }
        let own = passed_on(&other.note(candidates(3)).unwrap(), &other);
        assert_eq!(other.on_text(&own), Ok(None));
        // The server says that it is the other's.
        assert_eq!(other.on_text(&own.replace(other.seal.own_name(), one.seal.own_name())), Ok(None));
        for other_words in [r#"{"type":"ack"}"#, r#"{"type":"welcome","welcome":{"motd":"hello"}}"#] {
            assert_eq!(other.on_text(other_words), Ok(None));
        }
        let refused = NotesError::Refused("\"crowded\"".to_owned());
        assert_eq!(other.on_text(r#"{"type":"error","error":"crowded"}"#), Err(refused.clone()));
        assert_eq!(other.on_text(r#"{"type":"welcome","welcome":{"error":"crowded"}}"#), Err(refused));
        assert!(matches!(other.on_text("<html>"), Err(NotesError::NoMailbox(_))));
        assert!(other.read.len() == 2);
    }

    proptest! {
        #[test]
        fn hostile_messages_give_no_addresses(
            kind in "message|welcome|error|[a-z]{0,9}",
            body in ".{0,300}",
            at in 0..200_usize,
        ) {
            let [one, mut other] = clients();
            let side = one.seal.own_name();
            let told = other.on_text(&serde_json::json!({"type": kind, "side": side, "body": body}).to_string());
            prop_assert!(!matches!(told, Ok(Some(_))));
            let note = passed_on(&one.note(candidates(1)).unwrap(), &one);
            let cut: String = note.chars().take(at).collect();
            prop_assert!(!matches!(other.on_text(&cut), Ok(Some(_))));
        }
    }
}
