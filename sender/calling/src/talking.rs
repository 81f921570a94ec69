//! Both ends of what two people tell each other, between the window and the network.

use common::path::{Path, ProtocolViolation};
use common::units::Timestamp;
use common::wire::control::ControlMessage;
use net::clock;
use net::link::Stream;
use shell::settings::{OwnSide, TalkSide};

use crate::handle::Handle;

/// The end that says what this side has to say.
pub(crate) struct Says {
    talk: TalkSide,
    own: OwnSide,
}

impl Says {
    pub(crate) fn new(handle: &Handle) -> Self {
        Self { talk: handle.talk.clone(), own: handle.own.clone() }
    }
}

impl Stream for Says {
    fn on_greeted(&mut self, _: &mut Path) {
        self.talk.on_greeted();
    }

    fn on_disconnected(&mut self, _: &mut Path, _: Timestamp) {
        self.talk.on_disconnected();
    }

    fn on_control(&mut self, message: ControlMessage, path: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        match message {
            ControlMessage::Bye { .. } => Ok(()),
            _ => path.violation("a message about texts that nobody has to say"),
        }
    }

    fn on_stop(&mut self, _: Timestamp) {}

    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.talk.poll(self.own.is_hidden(), clock::now())
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.talk.poll_timeout()
    }

    fn keeps_call(&self) -> bool {
        false
    }
}

/// The end that hears what the other side has to say.
pub(crate) struct Hears(TalkSide);

impl Hears {
    pub(crate) fn new(handle: &Handle) -> Self {
        Self(handle.talk.clone())
    }
}

impl Stream for Hears {
    fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        match self.0.on_message(message, now) {
            Ok(()) | Err(ControlMessage::Bye { .. }) => Ok(()),
            Err(_) => path.violation("a message that is none of texts"),
        }
    }

    fn on_stop(&mut self, _: Timestamp) {}

    fn keeps_call(&self) -> bool {
        false
    }
}
