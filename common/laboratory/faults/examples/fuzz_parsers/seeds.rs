//! Inputs made by the encoders, so that changes begin at what is right.

use std::time::Duration;

use anyhow::Context;
use common::latency::OneWay;
use common::netsim::session::SenderSession;
use common::path::ways::{Candidate, Kind, Probe};
use common::reach::{Introduced, MAC_BYTES, Message, Note, PROOF_BYTES, Purpose, Ticket};
use common::stream::video::protection::Protection;
use common::stream::video::{FrameTimes, VIDEO};
use common::units::{Bitrate, FrameId, SequenceNumber, Timestamp};
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{ByeReason, ControlMessage, StreamEnd, StreamId, encode};
use common::wire::feedback::FeedbackHeader;
use common::wire::probe::{OtherWay, TestDatagram};
use common::wire::states::{Fate, StatesReport};
use picture::coded::StepIndex;
use picture::container::ContainerWriter;
use picture::frame::FrameSize;
use picture::gaps::Gaps;
use picture::run::write_run;

use crate::corpus::folder;
use crate::parsers::{CONTROL, DATAGRAM, OWN, ROLES, TIME, frame, record, small};

/// A server's answer (RFC 5769, section 2.3) without its integrity and fingerprint: seen as 192.0.2.1:32853.
const STUN_ANSWER: &[u8] = b"\x01\x01\x00\x0c\x21\x12\xa4\x42\xb7\xe7\xa7\x01\xbc\x34\xd6\x86\xfa\x87\xdf\xae\
    \x00\x20\x00\x08\x00\x01\xa1\x47\xe1\x12\xa6\x43";

/// Writes all.
pub(crate) fn write() -> anyhow::Result<()> {
    let put = |parser: &str, name: &str, bytes: &[u8]| {
        std::fs::create_dir_all(folder(parser))?;
        std::fs::write(folder(parser).join(name), bytes)
    };
    let params = small();
    let frame = frame(&params);
    let now = Timestamp::from_us(1_000_000);

    let reasons = [
        ByeReason::Finished { last_frame: Some(FrameId(7)) },
        ByeReason::Stopping,
        ByeReason::Protocol("a sentence".to_owned()),
        ByeReason::ReplacedByNewer,
    ];
    let hello = |end| ControlMessage::Hello { version: PROTOCOL_VERSION, sends: end == StreamEnd::Sender };
    let welcome = ControlMessage::Welcome { params, start_frame: FrameId(0) };
    let pong = ControlMessage::Pong { id: 0, ping_sent: now, received: now, sent: now };
    let message = |message: &ControlMessage, end| {
        let mut bytes = Vec::new();
        encode(message, (!message.is_of_path()).then_some(StreamId { number: VIDEO, end }), &mut bytes);
        bytes
    };
    let [sender, receiver] = ROLES;
    let mut call = Vec::new();
    for one in [hello(sender), welcome.clone(), pong.clone()] {
        call.extend(message(&one, sender));
    }
    put("control", "call", &call)?;
    call.clear();
    for one in [hello(receiver), ControlMessage::Ready, ControlMessage::Ping { id: 3, sent: now }] {
        call.extend(message(&one, receiver));
    }
    put("control", "answers", &call)?;
    let t = Timestamp::from_us;
    let bounce = OneWay { capture: t(1), sent: t(2), received: t(3), released: t(4), decoded: t(5), shown: t(300) };
    put("control", "bounced", &message(&ControlMessage::Bounced(bounce), sender))?;
    for (number, reason) in reasons.iter().enumerate() {
        put("control", &format!("bye-{number}"), &message(&ControlMessage::Bye { reason: reason.clone() }, receiver))?;
    }

    let mut session = SenderSession::new(params, Bitrate::from_bps(5_000_000), Protection::Auto);
    session.on_connected(now, 400);
    for one in [hello(receiver), ControlMessage::Ready] {
        let _ = session.on_control(one, now);
    }
    let mut datagrams = Vec::new();
    for number in 0..2 {
        let now = Timestamp::from_us(1_000_000 + 33_333 * number);
        session.on_frame(session.next_frame(), &frame, FrameTimes { capture: now, coded: now }, now);
        let end = 1_000_000 + 33_333 * (number + 1);
        while let Some(at) = session.poll_timeout().filter(|at| at.as_us() < end) {
            session.handle_timeout(at);
            datagrams.extend(std::iter::from_fn(|| session.poll_datagram(at)));
        }
    }
    anyhow::ensure!(datagrams.len() > 8, "only {} datagrams were made", datagrams.len());
    let (mut reassembly, mut receiving) = (Vec::new(), Vec::new());
    record(CONTROL, &message(&hello(sender), sender), &mut receiving);
    record(CONTROL, &message(&welcome, sender), &mut receiving);
    record(OWN, &[], &mut receiving);
    for (number, datagram) in datagrams.iter().enumerate() {
        put("media", &format!("datagram-{number:02}"), datagram)?;
        // Every fifth is lost, so that parity has something to do.
        if number % 5 != 2 {
            record(DATAGRAM, datagram, &mut reassembly);
            record(DATAGRAM, datagram, &mut receiving);
        }
        record(TIME, &[0; 4], &mut receiving);
    }
    record(OWN, &[], &mut reassembly);
    record(CONTROL, &message(&pong, sender), &mut receiving);
    record(CONTROL, &message(&ControlMessage::Bye { reason: reasons[0].clone() }, sender), &mut receiving);
    put("reassembly", "two-frames", &reassembly)?;
    put("receiver-session", "two-frames", &receiving)?;

    let report = FeedbackHeader {
        number: 1,
        received: 6,
        missing: 1,
        base: SequenceNumber(0),
        time: now,
        unsure: Duration::from_millis(40),
    };
    let feedback = report.encode((0..8).map(|number| (number != 2).then_some(Timestamp::from_us(990_000 + number))));
    put("feedback", "eight", &feedback)?;
    put("feedback", "none", &report.encode(std::iter::empty()))?;
    let gaps = Gaps::new(vec![0..1, 20..24]).context("gaps")?;
    let fates = vec![Fate::Used(Gaps::default()), Fate::Used(gaps), Fate::NotUsed, Fate::LacksReference];
    let states = StatesReport { newest: FrameId(18), hash: Some((0, 7)), fates }.to_bytes(VIDEO);
    put("states", "four", &states)?;
    let mut sending = Vec::new();
    record(CONTROL, &message(&hello(receiver), receiver), &mut sending);
    record(CONTROL, &message(&ControlMessage::Ready, receiver), &mut sending);
    for _ in 0..2 {
        record(OWN, &[], &mut sending);
        record(TIME, &[0; 30], &mut sending);
        record(DATAGRAM, &feedback, &mut sending);
        record(DATAGRAM, &states, &mut sending);
    }
    record(CONTROL, &message(&ControlMessage::Ping { id: 1, sent: now }, receiver), &mut sending);
    record(CONTROL, &message(&ControlMessage::Bye { reason: reasons[1].clone() }, receiver), &mut sending);
    put("sender-session", "two-frames", &sending)?;

    let usable = Bitrate::from_bps(1);
    let found = OtherWay { usable, at_least: true, loaded_p50_us: 1, loaded_p95_us: 1, lost_ppm: 1 };
    let mut talk = Vec::new();
    record(DATAGRAM, &feedback, &mut talk);
    for (number, probe) in [TestDatagram::Turn, TestDatagram::Found(found)].iter().enumerate() {
        put("probe", &format!("probe-{number}"), &probe.to_bytes())?;
        record(DATAGRAM, &probe.to_bytes(), &mut talk);
    }
    put("probe", "talk", &talk)?;

    put("params", "small", &params.to_bytes())?;
    let mut largest = params;
    largest.size = FrameSize::new(FrameSize::MAX_SIDE, FrameSize::MAX_SIDE)?;
    put("params", "largest", &largest.to_bytes())?;
    let blocks = frame.ends.len();
    let mut run = (blocks as u16).to_le_bytes().to_vec();
    write_run(&frame, 0..blocks, &mut run);
    put("run", "whole", &run)?;
    let mut thin = frame.clone();
    thin.reference = 1;
    thin.data = vec![7; 9];
    thin.ends.iter_mut().enumerate().for_each(|(at, end)| *end = if at < blocks / 2 { 0 } else { 9 });
    let mut run = (blocks as u16).to_le_bytes().to_vec();
    write_run(&thin, 0..blocks, &mut run);
    put("run", "list", &run)?;
    let mut file = ContainerWriter::new(&params, Vec::new())?;
    for step in [StepIndex::MIN, StepIndex::MAX] {
        let mut frame = frame.clone();
        frame.header.step = step;
        file.frame(&frame)?;
    }
    put("container", "two-frames", &file.finish(5)?)?;

    let addresses = [(Kind::HostIpv6, "[2001:db8::1]:20000"), (Kind::Host, "192.168.1.7:20000")];
    let candidates = addresses.into_iter().map(|(kind, text)| anyhow::Ok(Candidate::new(kind, text.parse()?)));
    let candidates: Vec<_> = candidates.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
    let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse()?;
    for (name, purpose) in [("invitation", Purpose::Invitation), ("answer", Purpose::Answer)] {
        let (proof, expires, candidates) = ([7; PROOF_BYTES], 2_000_000_000, candidates.clone());
        put("ticket", name, Ticket { purpose, key, proof, expires, candidates }.to_string().as_bytes())?;
    }
    let questions = [Probe::Question { number: 1, nonce: 1, candidates: candidates.clone() }, Probe::Answer(1)];
    let mut life = Vec::new();
    for (name, probe) in ["question", "answer"].into_iter().zip(questions) {
        put("call-probe", name, &probe.encode(0))?;
        record(DATAGRAM, &probe.encode(0), &mut life);
        record(TIME, &[0; 200], &mut life);
        record(DATAGRAM | 4, &probe.encode(60), &mut life);
    }
    put("call-probe", "life", &life)?;
    let answer = b"d1:rd2:id20:abcdefghij01234567895:nodes26:klmnopqrstuvwxyz1234\xc6\x33\x64\x02\x1a\xe15:token2:to1:v3:abce1:t4:aaaa1:y1:re";
    put("dht", "answer", &[(answer.len() as u16).to_le_bytes().as_slice(), answer].concat())?;
    put("note", "two", &Note { candidates: candidates.clone() }.encode())?;
    let introduced = Message::Introduced(Introduced { mac: [7; MAC_BYTES], candidates, name: "Clara".to_owned() });
    put("introduction", "introduced", &introduced.encode())?;
    put("introduction", "remembered", &Message::Remembered.encode())?;
    put("stun", "seen", STUN_ANSWER)?;
    Ok(())
}
