//! The end of the video: the last frame leaves, both say goodbye.

use std::time::Duration;

use super::{Phase, SenderEvent, SenderSession};
use crate::units::Timestamp;
use crate::wire::control::{ByeReason, ControlMessage};

/// How long a sender that is done waits for the receiver's confirmation.
const CONFIRMATION_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finishing {
    No,
    /// Datagrams are still to leave.
    Draining,
    /// Bye is out.
    Waiting {
        until: Timestamp,
    },
    Done,
}

impl SenderSession {
    /// The video has ended: lets the last frame out, says so and waits for the receiver ([`SenderEvent::Finished`]).
    pub fn finish(&mut self, now: Timestamp) {
        if self.finishing == Finishing::No {
            self.finishing = Finishing::Draining;
            match self.phase {
                Phase::Disconnected | Phase::Over => self.confirm_finish(),
                Phase::Greeting | Phase::Preparing | Phase::Streaming => self.finish_if_drained(now),
            }
        }
    }

    pub(super) fn finish_if_drained(&mut self, now: Timestamp) {
        if self.finishing == Finishing::Draining && self.pacer.next_at().is_none() {
            let last_frame = self.current.map(|frame| frame.id);
            self.control.push(ControlMessage::Bye { reason: ByeReason::Finished { last_frame } });
            self.finishing = Finishing::Waiting { until: now + CONFIRMATION_MAX };
        }
    }

    pub(super) fn confirm_finish(&mut self) {
        if self.finishing != Finishing::Done {
            self.finishing = Finishing::Done;
            self.phase = Phase::Over;
            self.events.push_back(SenderEvent::Finished);
        }
    }
}
