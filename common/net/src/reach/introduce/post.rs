//! The way of a ticket and of the answer to it from one machine to the other.

use common::config::{PublicKey, SharedConfig};
use common::reach::Ticket;
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::reach::mailbox::{Courier, Event, Pairing, Side, Words};
use crate::wait;

/// Carrier of tickets and answers.
pub(super) enum Post {
    /// A person, who copies the lines that are shown, and types those that come.
    Person(mpsc::Receiver<String>),
    /// A mailbox, to which four words lead.
    Mailbox(Courier<Pairing>),
}

impl Post {
    /// A mailbox at the configured server, for a machine with the key `own`. Must be called on a tokio runtime.
    pub(super) fn mailbox(config: &SharedConfig, side: Side, own: PublicKey, words: Words) -> Result<Self, Failure> {
        let server = config.mailbox.clone().ok_or_else(|| Failure::usage(NO_SERVER))?;
        Pairing::start(server, side, own, words).map(Self::Mailbox)
    }

    /// Gives `ticket` to the other side; to a person it is shown by `show`.
    pub(super) fn give(&self, ticket: &Ticket, show: impl FnOnce(&Ticket)) {
        match self {
            Self::Person(_) => show(ticket),
            Self::Mailbox(courier) => {
                // Of more than a few there is no use.
                let _ = courier.give(ticket.to_string());
            }
        }
    }

    /// Waits for mail. Nothing is lost if it is dropped.
    pub(super) async fn next(&mut self) -> Result<Event, Failure> {
        match self {
            // The end of the input is not the end of the program.
            Self::Person(lines) => Ok(Event::Line(wait::item(lines).await)),
            Self::Mailbox(courier) => courier.next().await.map_err(Failure::network),
        }
    }

    /// Ends it.
    pub(super) async fn end(self) {
        if let Self::Mailbox(courier) = self {
            courier.end().await;
        }
    }
}

const NO_SERVER: &str = "words lead to a mailbox server, and none is configured: set `mailbox` in [reach] on both machines, such \
                         as mailbox = \"ws://meet.example:4000/v1\" (docker/meet has one to host), or use `invite` and `join`";
