//! The mailbox to which four words lead: an exchange of keys, and then sealed lines.

use std::collections::VecDeque;
use std::time::Duration;

use common::config::PublicKey;

use super::courier::{Courier, Key, PAUSE};
use super::failures::ANEW;
use super::protocol::{MailboxError, Said, add, bind, claim, close, open, release, said};
use super::word_seal::{Exchange, PROOF_BYTES, Seal, Side, bytes, text};
use super::words::Words;
use crate::failure::Failure;
use crate::reach::proof::random;

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
/// Time without a server after which it is given up.
const GONE: Duration = Duration::from_secs(30);
/// Longest wait of the side that types for the other, which has spoken before.
const NOBODY: Duration = Duration::from_secs(15);

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
    /// It cannot be reached now.
    #[error("the mailbox server cannot be reached: {0}")]
    Lost(String),
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
    /// The machine with this key has the words: it is the only one that may be introduced.
    Met(PublicKey),
    /// A line of the other side.
    Line(String),
}

impl From<MailboxError> for PairError {
    fn from(error: MailboxError) -> Self {
        match error {
            MailboxError::NoMailbox(said) => Self::NoMailbox(said),
            MailboxError::Refused(said) => Self::Refused(said),
            MailboxError::Crowded => Self::Crowded,
            MailboxError::Unreachable(_) | MailboxError::Lost => Self::Lost(error.to_string()),
        }
    }
}

/// The key that four words are: one side of a pairing.
pub(in crate::reach) struct Pairing {
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
    /// True once the server has been there.
    was_there: bool,
    /// True after wrong words, until all begins anew.
    is_refused: bool,
}

/// Knowledge of the other side until wrong words make all begin anew.
#[derive(Default)]
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
        Self { exchange: Some(exchange), ..Self::default() }
    }
}

impl Pairing {
    /// Begins at `server` as `side` of a machine with the key `own`. Must be called on a tokio runtime.
    pub(in crate::reach) fn start(
        server: String,
        side: Side,
        own: PublicKey,
        words: Words,
    ) -> Result<Courier<Self>, Failure> {
        let patience = (side == Side::Types).then_some((NOBODY, PairError::Nobody));
        Ok(Courier::start(server, Self::new(side, own, words, random()?), patience))
    }

    /// Begins as `side` of a machine with the key `own`; `name` is random.
    fn new(side: Side, own: PublicKey, words: Words, name: [u8; 8]) -> Self {
        let round = Round::new(Exchange::new(side, own, &words));
        let mut client = Self {
            side,
            own,
            words,
            name: text(&name),
            guesses: 0,
            round,
            out: Vec::new(),
            events: VecDeque::new(),
            was_there: false,
            is_refused: false,
        };
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

    /// Begins anew after wrong words, under another random name.
    fn begin_as(&mut self, name: [u8; 8]) {
        let waiting = std::mem::take(&mut self.round.waiting);
        self.round = Round::new(Exchange::new(self.side, self.own, &self.words));
        self.round.waiting = waiting;
        self.name = text(&name);
        self.is_refused = false;
        self.speak_first();
    }

    fn open(&mut self, mailbox: &str) {
        self.out.push(open(mailbox));
        self.out.extend(self.round.said.iter().map(|(phase, body)| add(phase, body)));
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
            self.out.push(add(phase, &body));
        }
        self.round.said.push((phase.to_owned(), body));
    }

    fn release(&mut self) {
        if !std::mem::replace(&mut self.round.released, true) {
            self.out.push(release(&self.words.place()));
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
                    self.is_refused = true;
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
}

impl Key for Pairing {
    type Given = String;
    type News = Event;
    type Error = PairError;
    const LEAST: Duration = Duration::ZERO;

    fn on_connected(&mut self) -> Result<(), PairError> {
        self.was_there = true;
        self.out = vec![bind(APP, &self.name)];
        match self.round.mailbox.clone() {
            Some(mailbox) => self.open(&mailbox),
            None => self.out.push(claim(&self.words.place())),
        }
        Ok(())
    }

    fn take_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out)
    }

    fn give(&mut self, line: String) -> Result<(), PairError> {
        self.round.waiting.push(line);
        self.send_waiting();
        Ok(())
    }

    fn on_text(&mut self, text: &str) -> Result<(), PairError> {
        match said(text)? {
            Said::Claimed(mailbox) if self.round.mailbox.is_none() => {
                self.open(&mailbox);
                self.round.mailbox = Some(mailbox);
                Ok(())
            }
            Said::Message { side, phase, body } if side != self.name => self.on_message(phase, body),
            _ => Ok(()),
        }
    }

    fn poll_news(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn farewell(&mut self) -> Vec<String> {
        self.release();
        let mut out = self.take_out();
        let mailbox = self.round.mailbox.iter();
        out.extend(mailbox.map(|mailbox| close(mailbox)));
        out
    }

    fn must_begin_again(&self) -> bool {
        self.is_refused
    }

    fn begin_again(&mut self) -> Result<(), PairError> {
        let name = random().map_err(|error| PairError::Refused(error.to_string()))?;
        self.begin_as(name);
        Ok(())
    }

    fn on_error(
        &mut self,
        error: PairError,
        server: &str,
        lasted: Duration,
        down: Duration,
    ) -> Result<Duration, PairError> {
        let server = server.to_owned();
        match error {
            PairError::Lost(reason) if !self.was_there => Err(PairError::Unreachable { server, reason }),
            PairError::Lost(_) | PairError::NoMailbox(_) if self.was_there && lasted.is_zero() && down >= GONE => {
                Err(PairError::Gone(server))
            }
            PairError::Lost(_) => Ok(PAUSE),
            PairError::NoMailbox(_) if self.was_there && lasted.is_zero() => Ok(PAUSE),
            error => Err(error),
        }
    }
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
