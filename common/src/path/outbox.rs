//! Control messages that wait to be sent.

use std::collections::VecDeque;

use crate::wire::control::ControlMessage;

/// Most messages that wait; an owner takes them after every event.
const WAITING_MAX: usize = 128;

/// A queue of messages for the peer. If nobody takes them, pings, their answers and stalls are left out; the others are few.
#[derive(Debug, Default)]
pub(crate) struct Outbox(VecDeque<ControlMessage>);

impl Outbox {
    pub(crate) fn push(&mut self, message: ControlMessage) {
        let repeats = matches!(
            message,
            ControlMessage::Ping { .. } | ControlMessage::Pong { .. } | ControlMessage::Stalled { .. }
        );
        if !repeats || self.0.len() < WAITING_MAX {
            self.0.push_back(message);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<ControlMessage> {
        self.0.pop_front()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timestamp;
    use crate::wire::control::ByeReason;

    #[test]
    fn only_pings_are_left_out() {
        let mut outbox = Outbox::default();
        for id in 0..10_000 {
            outbox.push(ControlMessage::Ping { id, sent: Timestamp::default() });
        }
        let bye = ControlMessage::Bye { reason: ByeReason::Stopping };
        outbox.push(bye.clone());
        let taken: Vec<_> = std::iter::from_fn(|| outbox.pop()).collect();
        assert_eq!((taken.len(), taken.last()), (WAITING_MAX + 1, Some(&bye)));
    }
}
