//! The client of a mailbox server, without its connection: messages as text in and out.
//!
//! The protocol is magic-wormhole's (magic-wormhole-protocols, "Server protocol"): JSON objects over a WebSocket. A place
//! (`nameplate`) leads to a mailbox for two sides, whose messages the server keeps and repeats. It may lie, drop and
//! reorder: nothing that it says is believed but what the [seal](super::seal) proves, and messages have names (`phase`).

use std::collections::VecDeque;

use common::config::PublicKey;
use serde::Deserialize;
use serde_json::{Value, json};

use super::failures::ANEW;
use super::list::Words;
use super::seal::{Exchange, PROOF_BYTES, Seal, Side, bytes, text};
use crate::quoted::Quoted;

/// Name of these programs at a mailbox server, so that they meet nobody else there.
const APP: &str = "duet/pair";
/// Name of the first message of either side; lines have numbers.
const FIRST: &str = "pake";
/// Name of the message that says that the words were wrong.
const REFUSED: &str = "refused";
/// Wrong guesses after which the words are dead.
pub(super) const GUESSES: u32 = 3;
/// Lines that either side may send.
const LINES_MAX: u32 = 16;

/// Reasons for which two machines do not meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// The server is not there.
    #[error("the mailbox server {server} cannot be reached: {reason}; `invite` and `join` need none")]
    Unreachable {
        /// Its address as configured.
        server: String,
        /// The system's words.
        reason: String,
    },
    /// It has gone away and does not come back.
    #[error("the mailbox server {0} has gone away; `invite` and `join` need none")]
    Gone(String),
    /// It speaks of something else.
    #[error("what answers there is no mailbox server: it said {0}")]
    NoMailbox(String),
    /// It wants nothing to do with us.
    #[error("the mailbox server refuses: {0}")]
    Refused(String),
    /// Two others are there already.
    #[error("somebody else is where these words lead: {}", ANEW)]
    Crowded,
    /// Nobody has shown such words.
    #[error(
        "nobody waits with these words: compare the first one, and see that `pair` still runs on the other machine"
    )]
    Nobody,
    /// The words are wrong.
    #[error(
        "the words are not those that the other machine shows, or somebody is in between: compare them and try again; after \
         three wrong tries it takes new ones"
    )]
    Wrong,
    /// Too many wrong words.
    #[error("three times somebody came with wrong words, and they are dead: {}", ANEW)]
    Guessed,
    /// A sealed line was changed, or comes from another.
    #[error("the mailbox server changes what it carries: use another one, or `invite` and `join`")]
    Changed,
}

/// News for the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The other side has the words, and this is its key.
    Met(PublicKey),
    /// A line of the other side.
    Line(String),
    /// Somebody had wrong words: a new connection is needed, on which all begins anew.
    Again,
}

/// A message of the server.
#[derive(Deserialize)]
struct Heard {
    #[serde(rename = "type")]
    kind: String,
    mailbox: Option<String>,
    side: Option<String>,
    phase: Option<String>,
    body: Option<String>,
    error: Option<String>,
    welcome: Option<Welcome>,
}

#[derive(Deserialize)]
struct Welcome {
    error: Option<String>,
    #[serde(rename = "permission-required")]
    permission: Option<Value>,
}

/// One side of a pairing.
pub(crate) struct Client {
    side: Side,
    own: PublicKey,
    words: Words,
    /// This connection's name at the server.
    name: String,
    guesses: u32,
    round: Round,
    /// Messages for the server.
    out: Vec<String>,
    events: VecDeque<Event>,
}

/// Knowledge of the other side until wrong words make all begin anew.
struct Round {
    mailbox: Option<String>,
    released: bool,
    exchange: Option<Exchange>,
    seal: Option<Seal>,
    met: bool,
    /// Messages so far, to be said again on a new connection: names and bodies.
    said: Vec<(String, String)>,
    /// Lines that wait for the seal.
    waiting: Vec<String>,
    sealed: u32,
    /// Names of the other side's messages.
    heard: Vec<String>,
    /// Lines that came before what opens them.
    early: Vec<(String, String)>,
}

impl Round {
    fn new(exchange: Exchange) -> Self {
        Self {
            mailbox: None,
            released: false,
            exchange: Some(exchange),
            seal: None,
            met: false,
            said: Vec::new(),
            waiting: Vec::new(),
            sealed: 0,
            heard: Vec::new(),
            early: Vec::new(),
        }
    }
}

impl Client {
    /// Begins as `side` of a machine with the key `own`; `name` is random.
    pub(crate) fn new(side: Side, own: PublicKey, words: Words, name: [u8; 8]) -> Self {
        let round = Round::new(Exchange::new(side, own, &words));
        let mut client =
            Self { side, own, words, name: text(&name), guesses: 0, round, out: Vec::new(), events: VecDeque::new() };
        client.speak_first();
        client
    }

    /// The side that shows the words speaks first: its message tells nothing of them, and the other can prove at once
    /// that it has them.
    fn speak_first(&mut self) {
        if self.side == Side::Shows
            && let Some(exchange) = &self.round.exchange
        {
            let message = text(&exchange.message());
            self.say(FIRST, message);
        }
    }

    /// Begins anew after [`Event::Again`], under another random name.
    pub(crate) fn begin_again(&mut self, name: [u8; 8]) {
        let waiting = std::mem::take(&mut self.round.waiting);
        self.round = Round::new(Exchange::new(self.side, self.own, &self.words));
        self.round.waiting = waiting;
        self.name = text(&name);
        self.speak_first();
    }

    /// A connection has been made: what was said on another is said again.
    pub(crate) fn on_connected(&mut self) {
        self.out = vec![json!({"type": "bind", "appid": APP, "side": self.name}).to_string()];
        match self.round.mailbox.clone() {
            Some(mailbox) => self.open(&mailbox),
            None => self.out.push(json!({"type": "claim", "nameplate": self.words.place()}).to_string()),
        }
    }

    fn open(&mut self, mailbox: &str) {
        self.out.push(json!({"type": "open", "mailbox": mailbox}).to_string());
        self.out.extend(self.round.said.iter().map(|(phase, body)| added(phase, body)));
    }

    /// Returns the messages that are to be sent now.
    pub(crate) fn take_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out)
    }

    /// Sends a line to the other side, sealed, once that is there.
    pub(crate) fn give(&mut self, line: String) {
        self.round.waiting.push(line);
        self.send_waiting();
    }

    fn send_waiting(&mut self) {
        let Some(seal) = self.round.seal.as_ref().filter(|_| self.round.met) else { return };
        let mut lines = Vec::new();
        // They are kept: whoever comes after wrong words needs them, too.
        for line in self.round.waiting.iter().skip(self.round.sealed as usize) {
            let number = self.round.sealed;
            self.round.sealed += 1;
            lines.extend(seal.seal(number, line).map(|sealed| (format!("line-{number}"), sealed)));
        }
        for (phase, sealed) in lines {
            self.say(&phase, sealed);
        }
    }

    fn say(&mut self, phase: &str, body: String) {
        if self.round.mailbox.is_some() {
            self.out.push(added(phase, &body));
        }
        self.round.said.push((phase.to_owned(), body));
    }

    /// Returns the next news.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes a message of the server.
    pub(crate) fn on_text(&mut self, text: &str) -> Result<(), PairError> {
        let heard: Heard = serde_json::from_str(text).map_err(|_| PairError::NoMailbox(Quoted(text).to_string()))?;
        match heard.kind.as_str() {
            "welcome" => match heard.welcome {
                Some(Welcome { error: Some(error), .. }) => Err(PairError::Refused(Quoted(&error).to_string())),
                Some(Welcome { permission: Some(Value::Object(ways)), .. }) if !ways.contains_key("none") => {
                    Err(PairError::Refused("it wants a permission that Duet cannot ask for".to_owned()))
                }
                _ => Ok(()),
            },
            "error" if heard.error.as_deref() == Some("crowded") => Err(PairError::Crowded),
            "error" => Err(PairError::Refused(Quoted(&heard.error.unwrap_or_default()).to_string())),
            "claimed" => {
                if let Some(mailbox) = heard.mailbox.filter(|_| self.round.mailbox.is_none()) {
                    self.open(&mailbox);
                    self.round.mailbox = Some(mailbox);
                }
                Ok(())
            }
            "message" => match (heard.side, heard.phase, heard.body) {
                (Some(side), Some(phase), Some(body)) if side != self.name => self.on_message(phase, body),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn release(&mut self) {
        if !std::mem::replace(&mut self.round.released, true) {
            self.out.push(json!({"type": "release", "nameplate": self.words.place()}).to_string());
        }
    }

    fn on_message(&mut self, phase: String, body: String) -> Result<(), PairError> {
        let round = &mut self.round;
        if round.heard.len() > LINES_MAX as usize || round.heard.contains(&phase) {
            return Ok(());
        }
        round.heard.push(phase.clone());
        match phase.as_str() {
            FIRST => {
                self.on_first(&body)?;
                let early = std::mem::take(&mut self.round.early);
                early.into_iter().try_for_each(|(phase, body)| self.on_line(&phase, &body))
            }
            REFUSED if self.side == Side::Types => Err(PairError::Wrong),
            _ if round.seal.is_none() => {
                round.early.push((phase, body));
                Ok(())
            }
            _ => self.on_line(&phase, &body),
        }
    }

    /// Takes the other side's part of the exchange.
    fn on_first(&mut self, body: &str) -> Result<(), PairError> {
        let Some(exchange) = self.round.exchange.take() else { return Ok(()) };
        let message = bytes(body).unwrap_or_default();
        // Until both are there, each holds the words' place for the other.
        self.release();
        match self.side {
            Side::Types => {
                let own = exchange.message();
                let seal = exchange.finish(&message).ok_or(PairError::Changed)?;
                let proof = seal.prove();
                self.round.seal = Some(seal);
                self.say(FIRST, text(&[own.as_slice(), &proof].concat()));
            }
            Side::Shows => {
                let proved = message.split_last_chunk::<PROOF_BYTES>().and_then(|(message, proof)| {
                    let seal = exchange.finish(message)?;
                    seal.proves(proof).then_some(seal)
                });
                let Some(seal) = proved else {
                    self.guesses += 1;
                    self.say(REFUSED, String::new());
                    if self.guesses == GUESSES {
                        return Err(PairError::Guessed);
                    }
                    self.events.push_back(Event::Again);
                    return Ok(());
                };
                self.met(seal.other());
                self.round.seal = Some(seal);
                self.send_waiting();
            }
        }
        Ok(())
    }

    fn met(&mut self, other: PublicKey) {
        if !std::mem::replace(&mut self.round.met, true) {
            self.events.push_back(Event::Met(other));
        }
    }

    /// Opens a line. The first one proves to the side that types that the other has the words.
    fn on_line(&mut self, phase: &str, body: &str) -> Result<(), PairError> {
        let number = phase.strip_prefix("line-").and_then(|number| number.parse().ok());
        let (Some(seal), Some(number)) = (&self.round.seal, number.filter(|&number: &u32| number < LINES_MAX)) else {
            return Ok(());
        };
        let (line, other) = (seal.open(number, body), seal.other());
        let Some(line) = line else {
            return Err(if self.round.met { PairError::Changed } else { PairError::Wrong });
        };
        self.met(other);
        self.events.push_back(Event::Line(line));
        self.send_waiting();
        Ok(())
    }

    /// Returns the messages that leave the mailbox for good.
    pub(crate) fn farewell(&mut self) -> Vec<String> {
        self.release();
        let mut out = self.take_out();
        let mailbox = self.round.mailbox.iter();
        out.extend(mailbox.map(|mailbox| json!({"type": "close", "mailbox": mailbox, "mood": "happy"}).to_string()));
        out
    }
}

fn added(phase: &str, body: &str) -> String {
    json!({"type": "add", "phase": phase, "body": body}).to_string()
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;
