use common::wire::control::ByeReason;

use super::*;
use crate::failure::Failure;

const BYE: ControlMessage = ControlMessage::Bye { reason: ByeReason::Stopping };
const FEEDBACK: [u8; 2] = [0x2f, 0];
const MEDIA: [u8; 2] = [0x20, 0];

/// A link that counts what it hears and asks for what it was given. It ends when a datagram holds more or less than before.
#[derive(Default)]
pub(crate) struct Half {
    heard: Vec<&'static str>,
    /// Bytes that a datagram holds, each time that it is told.
    pub(crate) max_datagrams: Vec<usize>,
    says: Option<(StreamEnd, ControlMessage)>,
    datagram: Option<Vec<u8>>,
    action: Option<Action>,
    timeout: Option<Timestamp>,
}

impl Link for Half {
    fn on_connected(&mut self, _: &Peer, max_datagram: usize, _: Timestamp) {
        self.heard.push("connected");
        self.max_datagrams.push(max_datagram);
    }
    fn on_disconnected(&mut self, _: Timestamp) {
        self.heard.push("disconnected");
    }
    fn on_control(&mut self, _: StreamEnd, _: ControlMessage, _: Timestamp) -> Result<(), ProtocolViolation> {
        self.heard.push("control");
        Ok(())
    }
    fn on_datagram(&mut self, _: &[u8], _: Timestamp) {
        self.heard.push("datagram");
    }
    fn on_max_datagram(&mut self, bytes: usize) {
        self.max_datagrams.push(bytes);
        self.action = Some(Action::End);
    }
    fn on_wake(&mut self, _: Timestamp) {
        self.heard.push("wake");
    }
    fn on_tick(&mut self, _: Option<LinkState>, _: Timestamp) {}
    fn handle_timeout(&mut self, _: Timestamp) {}
    fn on_stop(&mut self, _: Timestamp) {
        self.heard.push("stop");
        self.action = Some(Action::End);
    }
    fn poll_control(&mut self) -> Option<(StreamEnd, ControlMessage)> {
        self.says.take()
    }
    fn poll_datagram(&mut self, _: Timestamp) -> Option<Vec<u8>> {
        self.datagram.take()
    }
    fn is_for_one_stream(&self) -> bool {
        false
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.timeout
    }
    fn poll_action(&mut self, _: Timestamp) -> Option<Action> {
        self.action.take()
    }
}

fn both() -> (BothWays<Half, Half>, HangUp) {
    let hang_up = HangUp::new(Waker::default());
    (BothWays::new(Half::default(), Half::default(), hang_up.clone()), hang_up)
}

fn now() -> Timestamp {
    Timestamp::from_us(1)
}

#[test]
fn what_comes_finds_its_direction() {
    let (mut link, _) = both();
    link.on_control(StreamEnd::Sender, BYE, now()).unwrap();
    link.on_datagram(&MEDIA, now());
    link.on_datagram(&[], now());
    assert_eq!((link.sending.link.heard.len(), link.receiving.link.heard.len()), (0, 3));
    link.on_control(StreamEnd::Receiver, BYE, now()).unwrap();
    link.on_datagram(&FEEDBACK, now());
    assert_eq!((link.sending.link.heard.len(), link.receiving.link.heard.len()), (2, 3));
}

#[test]
fn feedback_goes_before_media_and_the_earlier_timeout_counts() {
    let (mut link, _) = both();
    link.sending.link.datagram = Some(MEDIA.to_vec());
    link.receiving.link.datagram = Some(FEEDBACK.to_vec());
    assert_eq!(link.poll_datagram(now()).unwrap(), FEEDBACK);
    assert_eq!(link.poll_datagram(now()).unwrap(), MEDIA);
    (link.sending.link.timeout, link.receiving.link.timeout) = (Some(Timestamp::from_us(7)), Some(now()));
    assert_eq!(link.poll_timeout(), Some(now()));
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    let (mut link, _) = both();
    link.sending.link.action = Some(Action::End);
    link.sending.link.says = Some((StreamEnd::Sender, BYE));
    link.sending.link.timeout = Some(now());
    assert_eq!(link.poll_action(now()), None);
    assert_eq!(link.poll_control(), Some((StreamEnd::Sender, BYE)), "its goodbye is still sent");
    link.on_control(StreamEnd::Receiver, BYE, now()).unwrap();
    link.on_wake(now());
    assert!(link.sending.link.heard.is_empty() && link.poll_timeout().is_none());
    assert_eq!(link.receiving.link.heard, ["wake"]);
    link.receiving.link.action = Some(Action::End);
    assert_eq!(link.poll_action(now()), Some(Action::End));
}

#[test]
fn both_learn_what_a_datagram_holds() {
    let (mut link, _) = both();
    link.on_max_datagram(1_162);
    assert_eq!([&link.sending.link, &link.receiving.link].map(|half| half.max_datagrams.clone()), [[1_162], [1_162]]);
}

#[test]
fn a_failure_or_a_hang_up_ends_both() {
    let (mut link, hang_up) = both();
    let failure = Action::Fail(Failure::network("cut"));
    link.receiving.link.action = Some(failure.clone());
    link.sending.link.action = Some(Action::Disconnect);
    assert_eq!(link.poll_action(now()), Some(failure));
    hang_up.hang_up();
    link.on_wake(now());
    assert_eq!(link.sending.link.heard, ["stop", "wake"]);
    assert_eq!(link.receiving.link.heard, ["stop", "wake"]);
    assert_eq!(link.poll_action(now()), Some(Action::End));
}

#[test]
fn both_that_want_a_new_connection_get_one() {
    let (mut link, _) = both();
    link.sending.link.action = Some(Action::Disconnect);
    link.receiving.link.action = Some(Action::Disconnect);
    assert_eq!(link.poll_action(now()), Some(Action::Disconnect));
    assert_eq!(link.poll_action(now()), None);
}
