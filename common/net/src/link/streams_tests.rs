use common::path::Rank;
use common::wire::PROTOCOL_VERSION;
use common::wire::media::MEDIA_VERSION;

use super::*;
use crate::failure::Failure;

const BYE: ControlMessage = ControlMessage::Bye { reason: ByeReason::Stopping };
const MEDIA: [u8; 15] = {
    let mut bytes = [0; 15];
    bytes[0] = MEDIA_VERSION << 4;
    bytes
};
const STATES: [u8; 2] = [MEDIA_VERSION << 4 | 14, 0];

/// An end that counts what it hears and asks for what it was given. It ends when a datagram holds more or less than before, unless it
/// stays.
#[derive(Default)]
pub(crate) struct Half {
    heard: Vec<&'static str>,
    /// Bytes that a datagram holds, each time that it is told.
    pub(crate) max_datagrams: Vec<usize>,
    pub(crate) stays: bool,
    says: Option<ControlMessage>,
    datagram: Option<Vec<u8>>,
    food: u32,
    /// Media come as soon as both have greeted.
    comes: bool,
    action: Option<Action>,
    timeout: Option<Timestamp>,
    /// No call goes on for it but where it lacks something.
    keeps_no_call: bool,
    /// Polls for which it lacks something once it was told to stop.
    lacks: u32,
}

impl Stream for Half {
    fn on_connected(&mut self, _: &Peer, path: &mut Path, _: Timestamp) {
        self.heard.push("connected");
        self.max_datagrams.push(path.max_datagram());
    }
    fn on_greeted(&mut self, path: &mut Path) {
        self.heard.push("greeted");
        if self.comes {
            path.receive(VIDEO, Rank(9), now());
        }
    }
    fn on_disconnected(&mut self, _: &mut Path, _: Timestamp) {
        self.heard.push("disconnected");
    }
    fn on_control(&mut self, _: ControlMessage, _: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        self.heard.push("control");
        Ok(())
    }
    fn on_datagram(&mut self, _: &[u8], _: &mut Path, _: Timestamp) {
        self.heard.push("datagram");
    }
    fn on_target(&mut self, path: &Path) {
        if self.max_datagrams.last().is_some_and(|&bytes| bytes != path.max_datagram()) {
            self.max_datagrams.push(path.max_datagram());
            self.action = Some(Action::End).filter(|_| !self.stays);
        }
    }
    fn on_wake(&mut self, _: &mut Path, _: Timestamp) {
        self.heard.push("wake");
    }
    fn feed(&mut self, _: &mut Path, _: Timestamp) -> bool {
        let was_hungry = self.food > 0;
        self.food = self.food.saturating_sub(1);
        was_hungry
    }
    fn on_stop(&mut self, _: Timestamp) {
        self.heard.push("stop");
        self.action = Some(Action::End);
    }
    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.says.take()
    }
    fn poll_datagram(&mut self, _: &mut Path, _: Timestamp) -> Option<Vec<u8>> {
        self.datagram.take()
    }
    fn poll_timeout(&self) -> Option<Timestamp> {
        self.timeout
    }
    fn keeps_call(&self) -> bool {
        !self.keeps_no_call || self.holds_connection()
    }
    fn holds_connection(&self) -> bool {
        self.lacks > 0 && self.heard.contains(&"stop")
    }
    fn poll_action(&mut self, _: &mut Path, _: Timestamp) -> Option<Action> {
        if self.holds_connection() {
            self.lacks -= 1;
            return None;
        }
        self.action.take()
    }
}

/// A call both ways whose machines have greeted.
fn both<'a>(sending: &'a mut Half, receiving: &'a mut Half) -> (Streams<'a>, HangUp) {
    let hang_up = HangUp::new(Waker::default());
    let mut call = Streams::both_ways(Bitrate::from_bps(1_000_000), sending, receiving).ended_by(hang_up.clone());
    call.on_connected(&peer(), 1_200, now());
    let hello = ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true };
    call.on_control(None, hello, now()).unwrap();
    while call.poll_control().is_some_and(|(about, _)| about.is_none()) {}
    (call, hang_up)
}

fn peer() -> Peer {
    let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    Peer { name: "other".to_owned(), key: key.parse().unwrap() }
}

fn now() -> Timestamp {
    Timestamp::from_us(1)
}

#[test]
fn what_comes_finds_its_end_of_its_stream() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    let (mut call, _) = both(&mut sending, &mut receiving);
    call.on_control(Some(StreamId::sent(VIDEO)), BYE, now()).unwrap();
    call.on_datagram(&MEDIA, now());
    call.on_datagram(&[], now());
    call.on_control(Some(StreamId::received(VIDEO)), BYE, now()).unwrap();
    call.on_datagram(&STATES, now());
    call.on_control(None, BYE, now()).unwrap();
    drop(call);
    assert_eq!(sending.heard, ["connected", "greeted", "control", "datagram", "control"]);
    assert_eq!(receiving.heard, ["connected", "greeted", "control", "datagram", "control"]);
}

#[test]
fn a_stream_of_a_newer_program_is_refused_and_the_call_goes_on() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    let (mut call, _) = both(&mut sending, &mut receiving);
    let (theirs, ours) = (StreamId::sent(9), StreamId::received(9));
    let params = picture::params::StreamParams::new(
        picture::frame::FrameSize::new(64, 48).unwrap(),
        picture::frame::Chroma::C420,
    );
    let welcome = ControlMessage::Welcome { params, start_frame: common::units::FrameId(0) };
    (0..100).for_each(|_| call.on_control(Some(theirs), welcome.clone(), now()).unwrap());
    let said: Vec<_> = std::iter::from_fn(|| call.poll_control()).collect();
    assert_eq!(said.len(), REFUSED_MAX);
    assert!(said.iter().all(|(about, said)| *about == Some(ours) && matches!(said, ControlMessage::Bye { .. })));
    assert_eq!(call.on_control(Some(theirs), BYE, now()), Ok(()));
    // Whatever is offered, such as sound where none is wanted.
    let sound = ControlMessage::WelcomeSound { format: sound::format::Format::default() };
    assert!(sound.is_offer() && call.on_control(Some(StreamId::sent(1)), sound, now()).is_ok());
    assert!(
        matches!(call.poll_control(), Some((Some(about), ControlMessage::Bye { .. })) if about == StreamId::received(1))
    );
    let mut media = MEDIA;
    media[1] = 9;
    call.on_datagram(&media, now());
    assert!(call.on_control(Some(theirs), ControlMessage::Ready, now()).is_err());
    drop(call);
    assert_eq!(receiving.heard, ["connected", "greeted"]);
}

#[test]
fn nothing_but_a_goodbye_is_heard_before_hello() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    let mut call = Streams::both_ways(Bitrate::from_bps(1_000_000), &mut sending, &mut receiving);
    call.on_connected(&peer(), 1_200, now());
    assert_eq!(call.on_control(Some(StreamId::received(VIDEO)), BYE, now()), Ok(()));
    let early = call.on_control(Some(StreamId::received(VIDEO)), ControlMessage::Ready, now());
    assert!(early.unwrap_err().to_string().contains("before Hello"));
    drop(call);
    assert_eq!((sending.heard, receiving.heard), (vec!["connected", "control"], vec!["connected"]));
}

#[test]
fn the_earlier_timeout_counts_and_what_comes_first_in_the_table_leaves_first() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    sending.datagram = Some(MEDIA.to_vec());
    receiving.datagram = Some(STATES.to_vec());
    (sending.timeout, receiving.timeout) = (Some(Timestamp::from_us(7)), Some(now()));
    let (mut call, _) = both(&mut sending, &mut receiving);
    assert_eq!(call.poll_timeout(), Some(now()));
    assert_eq!(call.poll_datagram(now()).unwrap(), MEDIA);
    assert_eq!(call.poll_datagram(now()).unwrap(), STATES);
}

#[test]
fn no_stream_takes_a_frame_while_it_is_asked_for_a_datagram() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    sending.food = 1;
    let (mut call, _) = both(&mut sending, &mut receiving);
    assert_eq!(call.poll_datagram(now()), None);
    assert_eq!((call.feed(now()), call.feed(now())), (true, false));
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    sending.action = Some(Action::End);
    sending.timeout = Some(now());
    let (mut call, _) = both(&mut sending, &mut receiving);
    assert_eq!(call.poll_action(now()), None);
    call.on_control(Some(StreamId::received(VIDEO)), BYE, now()).unwrap();
    call.on_wake(now());
    assert_ne!(call.poll_timeout(), Some(now()));
    drop(call);
    assert_eq!(sending.heard, ["connected", "greeted"]);
    assert_eq!(receiving.heard, ["connected", "greeted", "wake"]);

    sending.says = Some(BYE);
    (sending.action, receiving.action) = (Some(Action::End), None);
    let (mut call, _) = {
        let hang_up = HangUp::new(Waker::default());
        (Streams::both_ways(Bitrate::from_bps(1_000_000), &mut sending, &mut receiving), hang_up)
    };
    assert_eq!(call.poll_action(now()), None);
    assert_eq!(call.poll_control(), Some((Some(StreamId::sent(VIDEO)), BYE)), "its goodbye is still sent");
    drop(call);
    (sending.action, receiving.action) = (Some(Action::End), Some(Action::End));
    let (mut call, _) = both(&mut sending, &mut receiving);
    assert_eq!(call.poll_action(now()), Some(Action::End));
}

#[test]
fn feedback_reports_end_with_the_stream_that_they_are_for() {
    let later = Timestamp::from_us(1_000_000);
    for ends in [false, true] {
        let [mut sending, mut receiving] = <[Half; 2]>::default();
        receiving.comes = true;
        receiving.action = ends.then_some(Action::End);
        let (mut call, _) = both(&mut sending, &mut receiving);
        assert_eq!(call.poll_action(now()), None);
        assert_eq!(call.poll_datagram(later).is_some(), !ends);
    }
}

#[test]
fn all_learn_what_a_datagram_holds() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    let (mut call, _) = both(&mut sending, &mut receiving);
    call.on_max_datagram(1_162);
    drop(call);
    assert_eq!([sending.max_datagrams, receiving.max_datagrams], [[1_200, 1_162], [1_200, 1_162]]);
}

#[test]
fn a_failure_or_a_hang_up_ends_both() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    let failure = Action::Fail(Failure::network("cut"));
    receiving.action = Some(failure.clone());
    sending.action = Some(Action::Disconnect);
    let (mut call, hang_up) = both(&mut sending, &mut receiving);
    assert_eq!(call.poll_action(now()), Some(failure));
    hang_up.hang_up();
    call.on_wake(now());
    assert_eq!(call.poll_action(now()), Some(Action::End));
    drop(call);
    assert_eq!(sending.heard[2..], ["stop", "wake"]);
    assert_eq!(receiving.heard[2..], ["stop", "wake"]);
}

#[test]
fn both_that_want_a_new_connection_get_one() {
    let [mut sending, mut receiving] = <[Half; 2]>::default();
    sending.action = Some(Action::Disconnect);
    receiving.action = Some(Action::Disconnect);
    let (mut call, _) = both(&mut sending, &mut receiving);
    assert_eq!(call.poll_action(now()), Some(Action::Disconnect));
    assert_eq!(call.poll_action(now()), None);
}

#[test]
fn a_stream_that_lacks_something_is_waited_for_at_the_end_and_keeps_the_connection_until_then() {
    let [mut sound, mut video] = <[Half; 2]>::default();
    (sound.keeps_no_call, sound.lacks) = (true, 3);
    video.action = Some(Action::End);
    let (mut call, _) = both(&mut sound, &mut video);
    let mut polls = 0;
    while call.poll_action(now()).is_none() {
        polls += 1;
    }
    assert_eq!(polls, 3);
    drop(call);
    assert_eq!(sound.heard.iter().filter(|heard| **heard == "stop").count(), 1);

    let [mut sound, mut video] = <[Half; 2]>::default();
    (sound.keeps_no_call, sound.lacks) = (true, 2);
    sound.heard.push("stop");
    video.action = Some(Action::Disconnect);
    let (mut call, _) = both(&mut sound, &mut video);
    assert_eq!([(); 3].map(|()| call.poll_action(now())), [None, Some(Action::Disconnect), None]);
}
