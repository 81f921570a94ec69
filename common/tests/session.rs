//! Both ends of a stream over a bad network in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use common::latency::OneWay;
use common::netsim::session::{ReceiverSession, SenderSession};
use common::netsim::{NetConditions, Random, Scenario};
use common::reason::Cause;
use common::stream::video::protection::Protection;
use common::stream::video::{ReceiverEvent, ReceiverOptions, SenderEvent};
use common::units::{Bitrate, FrameId, SequenceNumber, Timestamp};
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{ByeReason, ControlMessage, SourceState};
use common::wire::feedback::FeedbackHeader;
use common::wire::media::{MEDIA_VERSION, MediaHeader};
use world::{CODE_TIME, INTERVAL, RATE, World, params, t};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns a network that is bad in all ways, how bad by the seed.
fn weather(seed: u64) -> Scenario {
    let part = |shift: u64, steps: u64| ((seed >> shift) % steps) as f64 / steps as f64;
    let conditions = NetConditions {
        loss: 0.3 * part(0, 4) * part(0, 4),
        duplicate: 0.2 * part(2, 3),
        reorder: 0.1 * part(3, 4),
        reorder_delay: ms(1 + seed % 40),
        jitter: ms(seed % 5),
        ..NetConditions::perfect(ms(seed % 7 * 5))
    };
    Scenario::from(conditions).with_seed(seed)
}

/// A kind of bad line, and of 25 frames on each of its lines those that at least arrive whole, on average in hundredths: 3 % less
/// than was measured.
type Kind = (&'static str, u64, u64);

/// Returns the kinds of line to which that of [`weather`] belongs.
fn kinds(seed: u64) -> [Kind; 4] {
    let (loss, duplicates, reordering, jitter) = (seed % 4, (seed >> 2) % 3, (seed >> 3) % 4, seed % 5);
    [
        ("loss", loss, [1870, 1580, 1110, 590][loss as usize]),
        ("duplicates", duplicates, [1280, 1310, 1270][duplicates as usize]),
        ("reordering", reordering, [1610, 1290, 1130, 1080][reordering as usize]),
        ("jitter", jitter, [1320, 1280, 1230, 1250, 1350][jitter as usize]),
    ]
}

#[test]
fn hundreds_of_bad_networks_break_no_promise() {
    let (mut complete, mut partial) = (BTreeMap::<Kind, (u64, u64)>::new(), 0);
    for seed in 0..300 {
        let mut world = World::new(weather(seed), ReceiverOptions::default());
        world.run(25);
        let counters = world.receiver.stats();
        let sender = world.sender.stats();
        assert!(world.sender_finished && world.receiver_finished, "seed {seed}: not finished");
        assert_eq!(sender.frames_sent + sender.frames_cut, 25, "seed {seed}");
        assert_eq!(counters.frames_complete + counters.frames_partial, 25, "seed {seed}: {counters:?}");
        for kind in kinds(seed) {
            let (frames, lines) = complete.entry(kind).or_default();
            *frames += counters.frames_complete;
            *lines += 1;
        }
        partial += counters.frames_partial;
    }
    // The network was bad enough to mean something, and the picture went on, on lines of each kind.
    assert!(partial > 3_000, "{partial} partial");
    let few = complete.iter().filter(|((.., least), (frames, lines))| 100 * frames / lines < *least);
    let few: Vec<_> = few.map(|(kind, (frames, lines))| format!("{kind:?}: {}", 100 * frames / lines)).collect();
    assert!(few.is_empty(), "kind, degree, least: found\n{}", few.join("\n"));
}

#[test]
fn a_frame_whose_end_was_seen_is_not_waited_for() {
    // Every third datagram is lost, but never the last two of a frame.
    let lose: fn(&mut Vec<u8>) = |datagram| {
        let (header, _) = MediaHeader::parse(datagram).unwrap();
        if header.envelope.sequence.0.is_multiple_of(3) && !header.is_last {
            datagram.clear();
        }
    };
    let lose_one_of_the_last: fn(&mut Vec<u8>) = |datagram| {
        let (header, _) = MediaHeader::parse(datagram).unwrap();
        if header.envelope.sequence.0.is_multiple_of(if header.is_last { 2 } else { 3 }) {
            datagram.clear();
        }
    };
    let lose_the_last: fn(&mut Vec<u8>) = |datagram| {
        if MediaHeader::parse(datagram).unwrap().0.is_last {
            datagram.clear();
        }
    };
    let longest_wait = |tamper| {
        let options = ReceiverOptions { latency_max: None, ..ReceiverOptions::default() };
        let mut world = World::new(NetConditions::perfect(ms(10)), options);
        world.stream(60);
        world.tamper = Some(tamper);
        world.worst_wait = Duration::ZERO;
        world.stream(60);
        assert!(world.receiver.stats().frames_partial > 30);
        world.worst_wait
    };
    let [usual, with_one, without_end] = [lose, lose_one_of_the_last, lose_the_last].map(longest_wait);
    assert!(usual < INTERVAL / 2 && with_one < INTERVAL / 2, "{usual:?} {with_one:?}");
    // The next frame's first datagram is an end, too.
    assert!(without_end > INTERVAL / 2 && without_end < INTERVAL * 5 / 4, "{without_end:?}");
}

#[test]
fn a_good_network_delivers_everything() {
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.run(60);
    let counters = world.receiver.stats();
    assert_eq!((counters.frames_complete, counters.frames_partial, counters.frames_lost), (60, 0, 0));
    let unwanted = counters.datagrams_late
        + counters.datagrams_malformed
        + counters.datagrams_too_far_ahead
        + counters.datagrams_unexpected;
    assert_eq!(unwanted, 0, "{counters:?}");
    assert_eq!((counters.fec_recovered, counters.fec_malformed), (0, 0), "nothing to recover");
    let (sender, path) = (world.sender.stats(), world.sender.path_counters());
    assert_eq!((sender.datagrams_dropped, path.datagrams_lost), (0, 0));
    // Arrivals are told to 8 us.
    assert!(path.rtt.is_some_and(|rtt| (ms(20)..ms(20) + Duration::from_micros(8)).contains(&rtt)), "{path:?}");
    assert!(sender.last_pace <= INTERVAL.mul_f64(0.76), "{:?}", sender.last_pace);
    assert_eq!(world.receiver.clock().offset_us(), Some(world::SENDER_AHEAD_US));
}

#[test]
fn the_rate_is_kept() {
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.run(60);
    let sender = world.sender.stats();
    let wire_bits = 8 * (sender.counts.bytes_sent + 60 * sender.datagrams_sent);
    let allowed = RATE.as_bps() as f64 * INTERVAL.as_secs_f64() * 60.0;
    let used = wire_bits as f64 / allowed;
    assert!((0.9..1.01).contains(&used), "{used:.3} of the rate");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let trace = |seed| {
        let mut world = World::new(weather(seed), ReceiverOptions::default());
        world.run(25);
        world.trace
    };
    let first = trace(47);
    assert!(first.len() > 15);
    assert_eq!(first, trace(47));
    assert_ne!(first, trace(46));
}

#[test]
fn the_checks_notice_what_they_look_for() {
    // A byte changed on the way.
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.tamper = Some(|datagram| *datagram.last_mut().unwrap() ^= 1);
    assert!(world.try_run(5).is_err_and(|why| why.contains("bytes")));
    // A frame that is shown again, and one that comes too late.
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.run(5);
    let frame = world.last_frame.clone().unwrap();
    assert!(world.checker.on_frame(&frame).is_err_and(|why| why.contains("rise")));
    let mut late = frame;
    late.assembled.id = late.assembled.id.next();
    late.released = late.released + ms(500);
    assert!(world.checker.on_frame(&late).is_err_and(|why| why.contains("deadline")));
}

#[test]
fn parity_mends_what_a_bad_network_tears() {
    let seen = |protection| {
        let conditions = NetConditions { loss: 0.03, ..NetConditions::perfect(ms(5)) };
        let mut world =
            World::protected(Scenario::from(conditions).with_seed(8), ReceiverOptions::default(), protection);
        world.run(200);
        assert_eq!(world.receiver.stats().fec_malformed, 0);
        (world.receiver.stats(), world.coarse_missing)
    };
    let ((on, on_coarse), (off, off_coarse)) = (seen(Protection::Auto), seen(Protection::Off));
    assert!(on.fec_recovered > 5 && on_coarse == 0, "{on:?}, {on_coarse} coarse");
    assert!(off.fec_recovered == 0 && off_coarse > 2, "{off:?}, {off_coarse} coarse");
}

#[test]
fn a_longer_route_does_not_stop_the_picture() {
    let mut world = World::new(NetConditions::perfect(ms(5)), ReceiverOptions::default());
    world.stream(30);
    world.set_network(NetConditions::perfect(ms(80)));
    world.stream(30);
    world.finish();
    let counters = world.receiver.stats();
    assert!(counters.frames_complete >= 57 && counters.frames_lost <= 2, "{counters:?}");
    assert!(world.longest_gap <= INTERVAL + ms(80), "{:?}", world.longest_gap);
}

#[test]
fn a_short_patience_shows_frames_sooner() {
    let shown_after = |latency_max| {
        let conditions = NetConditions { loss: 0.1, ..NetConditions::perfect(ms(5)) };
        let conditions = Scenario::from(conditions).with_seed(5);
        let mut world = World::protected(
            conditions,
            ReceiverOptions { latency_max: Some(latency_max), ..ReceiverOptions::default() },
            Protection::Off,
        );
        world.run(60);
        assert!(world.receiver.stats().frames_partial > 20);
        world.worst_wait
    };
    let (short, long) = (shown_after(ms(3)), shown_after(ms(60)));
    assert!(short < long && short < INTERVAL + ms(10), "{short:?} {long:?}");
}

#[test]
fn a_stream_survives_its_connection() {
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.stream(10);
    world.disconnect();
    world.stream(3);
    world.connect();
    world.stream(10);
    world.finish();
    let counters = world.receiver.stats();
    assert_eq!(world.starts, 2);
    assert!(counters.frames_complete >= 17 && counters.frames_lost <= 1, "{counters:?}");
    assert!(world.sender.stats().frames_unwanted >= 3);
    assert!(world.sender_finished && world.receiver_finished);
}

#[test]
fn a_stream_begins_anew_on_its_connection() {
    // What is overtaken comes after the next stream has begun, or while its decoder is made.
    let overtaken = NetConditions { reorder: 0.2, reorder_delay: ms(60), ..NetConditions::perfect(ms(5)) };
    let mut world = World::new(overtaken, ReceiverOptions::default());
    world.stream(30);
    for round in 2..5 {
        let now = world.sender_now();
        assert!(world.sender.restart(params(), now));
        assert!(
            !world.sender.is_streaming() && !world.sender.restart(params(), now),
            "the receiver is about to be ready"
        );
        let shown = world.trace.len();
        world.stream(30);
        assert_eq!(world.starts, round);
        assert!(world.trace.len() >= shown + 25, "{}", world.trace.len() - shown);
    }
    world.finish();
    assert!(world.sender_finished && world.receiver_finished);
    assert!(world.longest_gap <= 3 * INTERVAL, "{:?}", world.longest_gap);
    let (sender, receiver) = (world.sender.path_counters(), world.receiver.stats());
    assert!(receiver.datagrams_late > 0 && receiver.datagrams_malformed == 0, "{receiver:?}");
    let missing = world.receiver.path_counters().datagrams_missing;
    // What is under way when the last goodbye comes is not waited for.
    assert!(missing < 4 && sender.feedback_malformed == 0, "{missing} {sender:?}");
}

#[test]
fn pictures_of_another_size_keep_the_target() {
    let mut world = World::new(NetConditions::perfect(ms(5)), ReceiverOptions::default());
    world.sender.set_rate_max(Bitrate::from_bps(20_000_000));
    world.stream(60);
    let found = world.sender.rate_target();
    assert!(found > Bitrate::from_bps(15_000_000), "{found}");
    let now = world.sender_now();
    assert!(world.sender.restart(params(), now));
    world.stream(1);
    assert!(world.sender.is_streaming());
    assert_eq!(world.sender.rate_target(), found);
}

#[test]
fn after_a_goodbye_nothing_is_due_and_no_feedback_leaves() {
    let mut world = World::new(NetConditions::perfect(ms(5)), ReceiverOptions::default());
    world.stream(10);
    let bye = ControlMessage::Bye { reason: ByeReason::Stopping };
    let now = world.sender_now();
    world.sender.on_control(bye.clone(), now).unwrap();
    assert_eq!(world.sender.poll_timeout(), None);
    world.receiver.on_control(bye, world.now).unwrap();
    assert_eq!(world.receiver.poll_datagram(world.now + ms(1_000)), None);
}

#[test]
fn a_stream_that_begins_anew_as_often_as_it_may_is_borne() {
    let mut world = World::new(NetConditions::perfect(ms(5)), ReceiverOptions::default());
    let mut begun = 0;
    for _ in 0..600 {
        let now = world.sender_now();
        begun += usize::from(world.sender.restart(params(), now));
        world.stream(1);
    }
    // 20 s, one in 2.1 of which and the four at once.
    assert!((13..=14).contains(&begun) && world.starts == 1 + begun, "{begun}, {}", world.starts);
    world.finish();
    assert!(world.sender_finished && world.receiver_finished);
}

#[test]
fn the_last_frame_may_be_lost_whole() {
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.stream(5);
    world.run_for(INTERVAL);
    world.set_network(NetConditions { loss: 1.0, ..NetConditions::perfect(ms(10)) });
    world.stream(1);
    world.finish();
    let counters = world.receiver.stats();
    assert_eq!((counters.frames_complete, counters.frames_lost), (5, 1));
    assert!(world.receiver_finished);
}

#[test]
fn a_receiver_that_has_seen_enough_ends_both() {
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.stream(5);
    world.receiver.finish();
    world.run_for(ms(100));
    assert!(world.receiver_finished);
    assert_eq!(world.other_sender_events, [SenderEvent::PeerFinished]);
    assert!(!world.sender.is_streaming());
}

#[test]
fn what_is_no_part_of_the_stream_does_not_count_as_arrived() {
    let mut world = World::new(NetConditions::perfect(ms(10)), ReceiverOptions::default());
    world.stream(3);
    let mut random = Random::new(7);
    for _ in 0..1_000 {
        // A header that is right up to where the stream begins, with any number.
        let mut nuisance = vec![MEDIA_VERSION << 4, 0];
        nuisance.extend((0..40).map(|_| random.bits() as u8));
        nuisance.truncate(15 + random.below(12) as usize);
        world.receiver.on_datagram(&nuisance, world.now);
    }
    world.stream(60);
    let (there, here) = (world.sender.path_counters(), world.receiver.path_counters());
    assert_eq!((there.datagrams_lost, there.feedback_malformed, here.datagrams_missing), (0, 0, 0));
    assert_eq!(world.receiver.stats().datagrams_malformed, 1_000);
}

#[test]
fn no_media_before_ready_and_none_is_taken() {
    let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
    sender.on_connected(t(0), 1_200);
    sender.on_control(ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false }, t(0)).unwrap();
    let times = common::stream::video::FrameTimes { capture: t(0), coded: t(0) };
    sender.on_frame(sender.next_frame(), &world::frame(0, 5_000), times, t(0));
    assert_eq!((sender.poll_datagram(t(0)), sender.stats().frames_unwanted), (None, 1));
    sender.on_control(ControlMessage::Ready, t(0)).unwrap();
    sender.on_frame(sender.next_frame(), &world::frame(0, 5_000), times, t(0));
    let datagram = sender.poll_datagram(t(0)).unwrap();

    let mut receiver = ReceiverSession::new(ReceiverOptions::default());
    receiver.on_connected(t(0));
    receiver.on_control(ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true }, t(0)).unwrap();
    let welcome = ControlMessage::Welcome { params: params(), start_frame: FrameId(0) };
    receiver.on_control(welcome, t(0)).unwrap();
    assert_eq!(receiver.poll_event(), Some(ReceiverEvent::Start(params())));
    assert_eq!(receiver.on_datagram(&datagram, t(0)), common::stream::video::reassemble::DatagramOutcome::Unexpected);
    receiver.ready(t(0));
    assert_eq!(receiver.on_datagram(&datagram, t(0)), common::stream::video::reassemble::DatagramOutcome::Accepted);
}

#[test]
fn a_newer_frame_replaces_what_has_not_left() {
    let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
    sender.on_connected(t(0), 1_200);
    sender.on_control(ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false }, t(0)).unwrap();
    sender.on_control(ControlMessage::Ready, t(0)).unwrap();
    let give = |sender: &mut SenderSession, now: Timestamp| {
        let frame = world::frame(1, sender.budget_bytes());
        sender.on_frame(
            sender.next_frame(),
            &frame,
            common::stream::video::FrameTimes { capture: now, coded: now + CODE_TIME },
            now + CODE_TIME,
        );
    };
    give(&mut sender, t(0));
    let now = t(0) + CODE_TIME;
    let first: Vec<_> = std::iter::from_fn(|| sender.poll_datagram(now)).collect();
    assert!(!first.is_empty());
    give(&mut sender, t(1_000));
    let stats = sender.stats();
    assert_eq!((stats.frames_sent, stats.frames_cut), (0, 1));
    assert!(stats.datagrams_dropped > 3);
    while sender.stats().frames_sent == 0 {
        let at = sender.poll_timeout().unwrap();
        sender.poll_datagram(at);
    }
    assert_eq!(sender.stats().frames_sent, 1);
}

/// Returns a message of an enemy: any kind, with extreme numbers.
fn any_message(random: &mut Random) -> ControlMessage {
    let number = |random: &mut Random| [0, 1, 7, u64::MAX, 1 << 31, random.bits()][random.below(6) as usize];
    let time = |random: &mut Random| t(number(random));
    let frame = |random: &mut Random| FrameId(number(random) as u32);
    let last_frame = |random: &mut Random| random.chance(0.7).then(|| frame(random));
    match random.below(11) {
        0 => ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true },
        1 => ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false },
        2 => ControlMessage::Welcome { params: params(), start_frame: frame(random) },
        3 | 4 => ControlMessage::Ready,
        5 => ControlMessage::Ping { id: number(random) as u32, sent: time(random) },
        6 => ControlMessage::Pong {
            id: random.below(4) as u32,
            ping_sent: time(random),
            received: time(random),
            sent: time(random),
        },
        7 => ControlMessage::Bye { reason: ByeReason::Finished { last_frame: last_frame(random) } },
        8 => {
            ControlMessage::Source { state: if random.chance(0.5) { SourceState::Stalled } else { SourceState::Lost } }
        }
        9 => ControlMessage::Stalled { total: Duration::from_micros(number(random)) },
        10 => {
            let [capture, sent, received, released, decoded, shown] = [(); 6].map(|()| time(random));
            ControlMessage::Bounced(OneWay { capture, sent, received, released, decoded, shown })
        }
        _ => ControlMessage::Bye { reason: ByeReason::Protocol("\u{e4}".repeat(random.below(300) as usize)) },
    }
}

/// Returns a feedback report of an enemy: well-formed, about anything.
fn any_feedback(random: &mut Random) -> Vec<u8> {
    let number = |random: &mut Random| [0, 1, 7, 1 << 31, u32::MAX, random.bits() as u32][random.below(6) as usize];
    let header = FeedbackHeader {
        number: number(random) as u16,
        received: number(random),
        missing: number(random),
        base: SequenceNumber(number(random)),
        time: t(random.bits()),
        unsure: ms(random.below(600)),
    };
    let count = random.below(40);
    header.encode((0..count).map(|_| random.chance(0.8).then(|| t(random.bits()))).collect::<Vec<_>>().into_iter())
}

/// Connects both ends, which do as they should.
fn greet(sender: &mut SenderSession, receiver: &mut ReceiverSession, now: Timestamp) {
    sender.on_connected(now, 1_200);
    receiver.on_connected(now);
    drop(sender.on_control(ControlMessage::Hello { version: PROTOCOL_VERSION, sends: false }, now));
    while let Some(message) = sender.poll_control() {
        drop(receiver.on_control(message, now));
    }
    drop(sender.on_control(ControlMessage::Ready, now));
}

#[test]
fn any_messages_and_datagrams_in_any_order_are_taken() {
    let (mut streamed, mut shown) = (0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let mut sender = SenderSession::new(params(), RATE, Protection::Auto);
        let mut receiver = ReceiverSession::new(ReceiverOptions::default());
        let (mut now, mut last) = (t(random.below(1 << 40)), None);
        for _ in 0..150 {
            now = now + Duration::from_micros(random.below(30_000));
            match random.below(12) {
                0 => sender.on_connected(now, random.below(3_000) as usize),
                1 => receiver.on_connected(now),
                2 if random.chance(0.2) => sender.on_disconnected(now),
                3 if random.chance(0.2) => receiver.on_disconnected(now),
                4 if random.chance(0.1) => sender.finish(now),
                5..8 => drop(sender.on_control(any_message(&mut random), now)),
                8..10 => drop(receiver.on_control(any_message(&mut random), now)),
                _ => {
                    let capture = t(random.bits());
                    let times = common::stream::video::FrameTimes { capture, coded: now };
                    sender.on_frame(sender.next_frame(), &world::frame(seed, 4_000), times, now);
                }
            }
            if random.chance(0.2) {
                greet(&mut sender, &mut receiver, now);
            }
            while let Some(mut datagram) = sender.poll_datagram(now) {
                streamed += 1;
                if random.chance(0.1) {
                    let at = random.below(datagram.len() as u64) as usize;
                    datagram[at] = random.bits() as u8;
                }
                receiver.on_datagram(&datagram, now);
            }
            while let Some(feedback) = receiver.poll_datagram(now) {
                sender.on_datagram(&feedback, now);
            }
            sender.on_datagram(&any_feedback(&mut random), now);
            sender.handle_timeout(now);
            receiver.handle_timeout(now);
            assert!(receiver.poll_timeout().is_none_or(|at| at > now));
            while let Some(event) = receiver.poll_event() {
                match event {
                    ReceiverEvent::Start(_) => {
                        receiver.ready(now);
                        last = None;
                    }
                    ReceiverEvent::Frame(frame) => {
                        assert!(last.is_none_or(|last| frame.assembled.id.is_newer_than(last)));
                        (last, shown) = (Some(frame.assembled.id), shown + 1);
                    }
                    _ => {}
                }
            }
            while sender.poll_event().is_some() || sender.poll_control().is_some() {}
            while receiver.poll_control().is_some() {}
        }
    }
    assert!(streamed > 1_000 && shown > 10, "{streamed} datagrams, {shown} frames");
}

#[test]
fn after_a_standstill_nothing_old_is_shown() {
    let mut world = World::new(
        NetConditions::perfect(ms(10)),
        ReceiverOptions { drops_backlog: true, ..ReceiverOptions::default() },
    );
    world.stream(30);
    let World { mut sender, mut receiver, now: begin, .. } = world;
    let ahead = Duration::from_micros(world::SENDER_AHEAD_US as u64);
    // The datagrams of a frame captured at `capture`, receiver's clock.
    let mut send = |seed: u64, capture: Timestamp| {
        let (coded, mut datagrams) = (capture + CODE_TIME + ahead, Vec::new());
        let times = common::stream::video::FrameTimes { capture: capture + ahead, coded };
        sender.on_frame(sender.next_frame(), &world::frame(seed, 10_000), times, coded);
        for step in 0..33 {
            datagrams.extend(std::iter::from_fn(|| sender.poll_datagram(coded + ms(step))));
        }
        datagrams
    };
    let waiting: Vec<_> = (0..60).map(|n| send(n, begin + INTERVAL * n as u32)).collect();
    let again = begin + INTERVAL * 60;
    let mut shown = |datagrams: Vec<Vec<u8>>, now: Timestamp| {
        for datagram in datagrams {
            receiver.on_datagram(&datagram, now);
        }
        std::iter::from_fn(|| receiver.poll_event()).filter(|event| matches!(event, ReceiverEvent::Frame(_))).count()
    };
    let old: usize = waiting.into_iter().map(|datagrams| shown(datagrams, again)).sum();
    // The last ones were captured about 100 ms before.
    assert!(old <= 4, "{old} of 60 old frames shown");
    let fresh: usize = (0..10)
        .map(|n| send(60 + n, again + INTERVAL * n as u32))
        .enumerate()
        .map(|(n, datagrams)| shown(datagrams, again + INTERVAL * n as u32 + ms(40)))
        .sum();
    assert!(fresh >= 9, "{fresh} of 10 fresh frames shown");
    assert!(receiver.stats().reasons.get(Cause::FrameStale) >= 56 && receiver.poll_reason().is_some());
}
