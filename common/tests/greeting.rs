//! Order of the messages: Hello, Welcome, Ready, the source's state, Bye; and peers that are refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use common::netsim::session::{ReceiverSession, SenderSession};
use common::stream::video::protection::Protection;
use common::stream::video::{ReceiverEvent, ReceiverOptions, SenderEvent};
use common::units::{Bitrate, FrameId, Timestamp};
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{ByeReason, ControlMessage, SourceState};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::{Boundary, CodecParams, Padding, Profile, StreamParams};

const RATE: Bitrate = Bitrate::from_bps(4_000_000);

const fn t(us: u64) -> Timestamp {
    Timestamp::from_us(us)
}

fn params() -> StreamParams {
    StreamParams { colour: ColourSpace::JPEG, ..StreamParams::new(FrameSize::new(200, 120).unwrap(), Chroma::C420) }
}

#[test]
fn a_sender_without_an_answer_finishes_alone() {
    let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
    sender.on_connected(t(0), 1_200);
    sender.finish(t(0));
    assert!(matches!(sender.poll_control(), Some(ControlMessage::Hello { .. })));
    assert_eq!(sender.poll_control(), Some(ControlMessage::Bye { reason: ByeReason::Finished { last_frame: None } }));
    assert_eq!((sender.poll_event(), sender.poll_timeout()), (None, Some(t(1_000_000))));
    sender.handle_timeout(t(1_000_000));
    assert_eq!((sender.poll_event(), sender.poll_event()), (Some(SenderEvent::Finished), None));

    let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
    sender.finish(t(0));
    assert_eq!(sender.poll_event(), Some(SenderEvent::Finished));
}

#[test]
fn the_wrong_peer_is_told_why() {
    let said = |message: Option<ControlMessage>| match message {
        Some(ControlMessage::Bye { reason: ByeReason::Protocol(text) }) => text,
        other => panic!("{other:?}"),
    };
    for (version, sends, sentence) in
        [(PROTOCOL_VERSION, true, "both ends are senders"), (PROTOCOL_VERSION - 1, false, "version")]
    {
        let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
        sender.on_connected(t(0), 1_200);
        sender.poll_control();
        assert!(sender.on_control(ControlMessage::Hello { version, sends }, t(0)).is_err());
        assert!(said(sender.poll_control()).contains(sentence));
        assert_eq!((sender.poll_control(), sender.is_streaming()), (None, false));
    }
    let mut receiver = ReceiverSession::new(ReceiverOptions::default());
    receiver.on_connected(t(0));
    receiver.poll_control();
    assert!(receiver.on_control(ControlMessage::Ready, t(0)).is_err());
    assert!(said(receiver.poll_control()).contains("before Hello"));
    assert_eq!(receiver.on_control(ControlMessage::Ready, t(0)), Ok(()), "after a Bye nothing counts");
}

#[test]
fn a_picture_that_is_too_large_is_refused_before_a_decoder_is_made() {
    let size = |width, height| FrameSize::new(width, height).unwrap();
    let events = |params: StreamParams, size_max| {
        let options = ReceiverOptions { size_max: Some(size_max), ..ReceiverOptions::default() };
        let mut receiver = ReceiverSession::new(options);
        receiver.on_connected(t(0));
        receiver.on_control(ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true }, t(0)).unwrap();
        let welcome = ControlMessage::Welcome { params, start_frame: FrameId(0) };
        (receiver.on_control(welcome, t(0)), receiver.poll_event())
    };
    // The stream's pictures are 200x120.
    assert!(matches!(events(params(), size(120, 200)), (Ok(()), Some(ReceiverEvent::Start(_)))));
    let refused = |params: StreamParams, size_max: FrameSize| {
        let (verdict, event) = events(params, size_max);
        let said = verdict.unwrap_err().to_string();
        let names_both = said.contains(&params.size.to_string()) && said.contains(&size_max.to_string());
        assert!(event.is_none() && names_both && !said.contains("broke the protocol"), "{said}");
    };
    refused(params(), size(200, 119));
    let largest = size(3_840, 2_160);
    let narrow = CodecParams { boundary: Boundary::Periodic, padding: Padding::Zero, ..CodecParams::default() };
    for giant in [size(16_384, 1), size(1, 16_384), size(8_192, 1_000), size(16_384, 16_384)] {
        for (chroma, codec) in [(Chroma::C444, narrow), (Chroma::C420, CodecParams::default())] {
            refused(StreamParams { size: giant, chroma, codec, ..params() }, largest);
        }
    }
    // What has the same square, or is narrower than it, is taken; a thousand of the largest a second are not.
    let ultra_hd = StreamParams { size: size(2_160, 3_840), chroma: Chroma::C444, codec: narrow, ..params() };
    assert!(events(ultra_hd, largest).0.is_ok());
    assert!(events(StreamParams { size: size(4_096, 1), ..ultra_hd }, largest).0.is_ok());
    refused(StreamParams { frame_rate: FrameRate::new(1_000, 1).unwrap(), ..ultra_hd }, largest);
    // The pictures that are kept for prediction count, too: half a second of the largest, with every other sample of colour.
    let predicted = |chroma, states| StreamParams {
        chroma,
        codec: CodecParams { profile: Profile::Predicted(states), ..CodecParams::default() },
        ..ultra_hd
    };
    assert!(events(predicted(Chroma::C420, 32), largest).0.is_ok());
    assert!(events(predicted(Chroma::C444, 16), largest).0.is_ok());
    refused(predicted(Chroma::C444, 17), largest);
    assert!(events(StreamParams { size: size(1_920, 1_080), ..predicted(Chroma::C444, 32) }, largest).0.is_ok());
}

#[test]
fn a_welcome_breaks_the_protocol_while_another_is_answered_and_where_there_are_too_many() {
    let mut receiver = ReceiverSession::new(ReceiverOptions::default());
    receiver.on_connected(t(0));
    let hello = ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true };
    receiver.on_control(hello.clone(), t(0)).unwrap();
    let welcome = ControlMessage::Welcome { params: params(), start_frame: FrameId(0) };
    receiver.on_control(welcome.clone(), t(0)).unwrap();
    assert!(receiver.on_control(welcome.clone(), t(0)).unwrap_err().to_string().contains("second Welcome"));
    let start = receiver.poll_event();
    assert!(matches!(start, Some(ReceiverEvent::Start(_))) && receiver.poll_event().is_none());

    receiver.on_connected(t(1_000));
    receiver.on_control(hello, t(1_000)).unwrap();
    let begun = (0..100).take_while(|_| {
        let is_taken = receiver.on_control(welcome.clone(), t(1_000)).is_ok();
        receiver.ready(t(1_000));
        is_taken
    });
    assert_eq!(begun.count(), 8);
}

#[test]
fn a_receiver_that_pings_without_end_is_sent_away() {
    let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
    sender.on_connected(t(0), 1_200);
    let hello = ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false };
    sender.on_control(hello, t(0)).unwrap();
    let ping = ControlMessage::Ping { id: 0, sent: t(0) };
    let answered = (0..1_000).take_while(|_| sender.on_control(ping.clone(), t(1_000)).is_ok()).count();
    assert!((20..200).contains(&answered), "{answered}");
    let said: Vec<_> = std::iter::from_fn(|| sender.poll_control()).collect();
    assert!(said.len() <= answered + 3 && !sender.is_streaming());
    let tells =
        |said: &_| matches!(said, ControlMessage::Bye { reason: ByeReason::Protocol(text) } if text.contains("pings"));
    assert!(said.iter().any(tells), "{said:?}");
}

#[test]
fn how_the_source_is_is_told_on_each_connection_and_only_during_a_stream() {
    use SourceState::{Gives, Lost, Stalled};
    let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
    let mut receiver = ReceiverSession::new(ReceiverOptions::default());
    sender.set_source(Lost);
    for _ in 0..2 {
        sender.on_connected(t(0), 1_200);
        receiver.on_connected(t(0));
        assert_eq!(receiver.source(), Gives);
        talk(&mut sender, &mut receiver);
        receiver.ready(t(0));
        talk(&mut sender, &mut receiver);
        assert_eq!(receiver.source(), Lost);
        for state in [Gives, Gives, Stalled, Lost] {
            sender.set_source(state);
            talk(&mut sender, &mut receiver);
            assert_eq!(receiver.source(), state);
        }
        sender.on_disconnected(t(0));
        receiver.on_disconnected(t(0));
        assert_eq!(receiver.source(), Gives);
    }
    sender.on_connected(t(0), 1_200);
    receiver.on_connected(t(0));
    let early = receiver.on_control(ControlMessage::Source { state: Stalled }, t(0));
    assert!(early.is_err());
    let hello = ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false };
    sender.on_control(hello, t(0)).unwrap();
    assert!(sender.on_control(ControlMessage::Source { state: Stalled }, t(0)).is_err(), "receivers have none");
}

/// Carries messages both ways until nobody says more.
fn talk(sender: &mut SenderSession, receiver: &mut ReceiverSession) {
    loop {
        let mut said = 0;
        while let Some(message) = sender.poll_control() {
            receiver.on_control(message, t(0)).unwrap();
            said += 1;
        }
        while let Some(message) = receiver.poll_control() {
            sender.on_control(message, t(0)).unwrap();
            said += 1;
        }
        if said == 0 {
            return;
        }
    }
}
