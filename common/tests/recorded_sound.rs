//! A recording of sound over bad lines, in virtual time: what came too late or never is filled in afterwards.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::VecDeque;
use std::time::Duration;

use common::netsim::Random;
use common::path::{Directions, Path};
use common::stream::sound::{
    LINGER, RecordedSound, SOUND, SoundFate, SoundPacket, SoundReceiver, SoundReceiverEvent, SoundSender,
};
use common::units::{Bitrate, Timestamp};
use common::wire::control::{ControlMessage, FoundSound};
use common::wire::sound::SoundHeader;
use sound::adpcm;
use sound::format::{Channels, Coding, Format};
use sound::level::Level;

const STEREO: Format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 64 };
const STUDIO: Format = Format { channels: Channels::Stereo, coding: Coding::Pcm24, frames: 128 };
const MONO: Format = Format { channels: Channels::Mono, coding: Coding::Pcm16, frames: 256 };
const OPUS: Format = Format { channels: Channels::Stereo, coding: Coding::Opus, frames: 120 };
const STEP: Duration = Duration::from_micros(333);
const TICK: Duration = Duration::from_millis(250);

/// Things under way, with the time at which they come.
type Way<T> = VecDeque<(Timestamp, T)>;

/// A microphone, both ends and the line between them, of which the datagrams get lost in bursts.
struct Call {
    sender: (SoundSender, Path),
    receiver: (SoundReceiver, Path),
    now: Timestamp,
    next_tick: Timestamp,
    next_packet: Timestamp,
    format: Format,
    number: u32,
    is_muted: bool,
    /// Share of lost datagrams, and whether a burst goes on.
    loss: f64,
    is_bad: bool,
    is_cut: bool,
    /// Datagrams that get lost at first.
    lost_first: u32,
    /// Time between two control messages of the receiver.
    between: Duration,
    /// Number of the first packet that left.
    first_left: Option<u32>,
    random: Random,
    delay: Duration,
    data: Way<Vec<u8>>,
    there: Way<ControlMessage>,
    back: Way<ControlMessage>,
    captured: Vec<(u32, bool, Vec<u8>)>,
    recorded: Vec<RecordedSound>,
    lost: u32,
    late_bits: u64,
}

impl Call {
    fn new(format: Format, loss: f64, seed: u64) -> Self {
        let path = || Path::new(Directions::Both, Bitrate::from_bps(20_000_000));
        let now = Timestamp::from_us(1_000_000);
        let mut call = Self {
            sender: (SoundSender::new(), path()),
            receiver: (SoundReceiver::new(), path()),
            now,
            next_tick: now,
            next_packet: now,
            format,
            number: 0,
            is_muted: false,
            loss,
            is_bad: false,
            is_cut: false,
            lost_first: 0,
            between: Duration::ZERO,
            first_left: None,
            random: Random::new(seed),
            delay: Duration::from_millis(20),
            data: Way::new(),
            there: Way::new(),
            back: Way::new(),
            captured: Vec::new(),
            recorded: Vec::new(),
            lost: 0,
            late_bits: 0,
        };
        call.receiver.0.record();
        call.connect(false);
        call
    }

    fn connect(&mut self, is_same: bool) {
        let now = self.now;
        self.sender.1.on_connected(now, 1_200);
        self.sender.0.on_connected(is_same, &mut self.sender.1, now);
        self.receiver.1.on_connected(now, 1_200);
        self.receiver.0.on_connected();
        self.sender.0.set_format(self.format, &mut self.sender.1, now);
    }

    fn disconnect(&mut self) {
        let now = self.now;
        self.sender.0.on_disconnected(&mut self.sender.1, now);
        self.sender.1.on_disconnected();
        self.receiver.0.on_disconnected();
        self.receiver.1.on_disconnected();
        self.data.clear();
        self.there.clear();
        self.back.clear();
    }

    /// Returns the sound of a packet, of which no two are alike.
    fn capture(&mut self) {
        let (number, format, is_muted) = (self.number, self.format, self.is_muted);
        self.number += 1;
        let bytes = format.whole_bytes().unwrap_or(40);
        let spoken: Vec<u8> = (0..bytes).map(|_| self.random.bits() as u8).collect();
        let whole = if is_muted { Vec::new() } else { spoken };
        let adpcm = match format.coding {
            _ if is_muted => Vec::new(),
            Coding::Opus => Vec::new(),
            _ => vec![1; adpcm::block_bytes(format.channels.count(), format.frames.into())],
        };
        self.captured.push((number, is_muted, whole.clone()));
        let level = Level(9);
        self.sender.0.set_format(format, &mut self.sender.1, self.now);
        self.sender.0.on_packet(SoundPacket {
            number,
            format,
            capture: self.now,
            is_muted,
            level,
            whole,
            adpcm,
            captured: Vec::new(),
        });
    }

    fn is_lost(&mut self) -> bool {
        // Bursts of four on average.
        let turns = if self.is_bad { 0.25 } else { self.loss / 4.0 / (1.0 - self.loss) };
        self.is_bad ^= self.random.chance(turns);
        let is_early = self.lost_first > 0;
        self.lost_first = self.lost_first.saturating_sub(1);
        self.is_bad || self.is_cut || is_early
    }

    fn step(&mut self) {
        self.now = self.now + STEP;
        let now = self.now;
        if self.next_packet <= now {
            self.next_packet = self.next_packet + Duration::from_secs(1) * u32::from(self.format.frames) / 48_000;
            self.capture();
        }
        let due = now + self.delay;
        while let Some(datagram) = self.sender.0.poll_datagram(&mut self.sender.1, now) {
            self.first_left.get_or_insert(SoundHeader::parse(&datagram).unwrap().0.number);
            match self.is_lost() {
                true => self.lost += 1,
                false => self.data.push_back((due, datagram)),
            }
        }
        while let Some((_, datagram)) = self.data.pop_front_if(|(at, _)| *at <= now) {
            self.receiver.1.on_datagram(&datagram, now);
            let _ = self.receiver.0.on_datagram(&datagram, &mut self.receiver.1, now);
        }
        if self.sender.0.poll_timeout().is_some_and(|at| at <= now) {
            self.sender.0.handle_timeout(now);
        }
        if self.next_tick <= now {
            self.next_tick = self.next_tick + TICK;
            self.receiver.0.on_tick(now);
        }
        self.talk(due);
        while let Some(sound) = self.receiver.0.poll_recorded() {
            self.recorded.push(sound);
        }
    }

    /// Carries control messages, which come in order and late where something was lost.
    fn talk(&mut self, due: Timestamp) {
        let now = self.now;
        while let Some(message) = self.sender.1.poll_control().or_else(|| self.sender.0.poll_control()) {
            if let ControlMessage::LateSound { .. } = message {
                self.late_bits += 8 * (60 + 24 + self.format.whole_bytes().unwrap_or(40) as u64);
            }
            self.there.push_back((due, message));
        }
        while let Some(message) = self.receiver.1.poll_control().or_else(|| self.receiver.0.poll_control()) {
            let last = self.back.back().map_or(Timestamp::default(), |(at, _)| *at + self.between);
            self.back.push_back((due.max(last), message));
        }
        while let Some((_, message)) = (!self.is_cut).then(|| self.there.pop_front_if(|(at, _)| *at <= now)).flatten() {
            if let Some(message) = self.receiver.1.on_control(message, now).unwrap() {
                self.receiver.0.on_control(message, &mut self.receiver.1).unwrap();
            }
        }
        while let Some((_, message)) = (!self.is_cut).then(|| self.back.pop_front_if(|(at, _)| *at <= now)).flatten() {
            if let Some(message) = self.sender.1.on_control(message, now).unwrap() {
                self.sender.0.on_control(message, &mut self.sender.1, now).unwrap();
            }
            if self.sender.1.has_greeted() {
                self.sender.0.on_greeted();
            }
        }
        while let Some(event) = self.receiver.0.poll_event() {
            if matches!(event, SoundReceiverEvent::Offered(_)) {
                self.receiver.0.ready(&mut self.receiver.1, now);
            }
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    /// Ends as a sender does that hangs up, and waits for what lacks.
    fn hang_up(&mut self) {
        let now = self.now;
        self.sender.0.stop(now);
        for _ in 0..LINGER.as_micros() / STEP.as_micros() + 1_000 {
            if !self.sender.0.is_lingering() {
                break;
            }
            self.step();
        }
        self.receiver.0.end_recording();
        self.step();
    }

    /// Compares the recording with what was captured from packet `from` on, bit for bit.
    fn check(&self, from: u32, context: &str) {
        let mut captured = self.captured.iter().filter(|(number, ..)| *number >= from);
        for (place, sound) in self.recorded.iter().enumerate() {
            let Some((number, is_muted, whole)) = captured.next() else { panic!("{context}: more than was captured") };
            match &sound.fate {
                SoundFate::Sound(bytes) => assert!(!is_muted && bytes == whole, "{context}: packet {number}"),
                SoundFate::Muted => assert!(is_muted, "{context}: packet {number}"),
                other => panic!("{context}: packet {number} is {other:?}"),
            }
            assert_eq!(sound.begins, place == 0, "{context}: packet {number}");
        }
    }

    /// Returns the number of the first recorded packet.
    fn first(&self) -> u32 {
        let SoundFate::Sound(first) = &self.recorded.first().unwrap().fate else { panic!("it begins with nothing") };
        self.captured.iter().find(|(_, _, whole)| whole == first).unwrap().0
    }
}

#[test]
fn what_is_recorded_is_what_was_captured_bit_for_bit_at_five_per_cent_of_loss_in_bursts() {
    for (format, name) in [(STEREO, "stereo"), (STUDIO, "24 bits"), (MONO, "mono"), (OPUS, "Opus")] {
        for seed in 0..8 {
            let mut call = Call::new(format, 0.05, seed);
            call.run(Duration::from_secs(8));
            call.hang_up();
            let context = format!("{name}, seed {seed}, {} of {} lost", call.lost, call.captured.len());
            assert!(call.lost > call.captured.len() as u32 / 50, "{context}");
            let first = call.first();
            call.check(first, &context);
            // Packets from the first that came until the last that left before the end.
            let expected = call.captured.iter().filter(|(number, ..)| *number >= first).count();
            assert!(call.recorded.len() + 1_000 >= expected && call.recorded.len() > 1_000, "{context}");
            assert_eq!(call.receiver.0.lacking(), Duration::ZERO, "{context}");
        }
    }
}

#[test]
fn a_recording_begins_with_the_first_packet_that_left_also_if_it_got_lost() {
    // Words of the receiver may come in datagrams of their own, of which the later one comes later.
    for between in [0, 20].map(Duration::from_millis) {
        for lost_first in [0, 1, 2, 9, 40] {
            for format in [STEREO, OPUS] {
                let mut call = Call::new(format, 0.0, 7);
                (call.lost_first, call.between) = (lost_first, between);
                call.run(Duration::from_secs(4));
                call.hang_up();
                let context = format!("{lost_first} lost, words {between:?} apart");
                assert_eq!(Some(call.first()), call.first_left, "{context}");
                call.check(call.first(), &context);
                assert!(call.receiver.0.lacking().is_zero(), "{context}");
            }
        }
    }
}

#[test]
fn the_end_lacks_nothing_whoever_hangs_up() {
    for seed in 100..110 {
        let mut call = Call::new(STEREO, 0.2, seed);
        call.run(Duration::from_secs(2));
        call.is_cut = true;
        call.run(Duration::from_millis(20));
        let last = call.number;
        call.sender.0.stop(call.now);
        call.is_cut = false;
        call.hang_up();
        call.check(call.first(), &format!("seed {seed}"));
        assert_eq!(
            call.recorded.len() as u32,
            last - call.first(),
            "seed {seed}: up to the last packet that was captured"
        );

        let mut call = Call::new(STEREO, 0.2, seed);
        call.run(Duration::from_secs(2));
        call.receiver.0.stop();
        while call.receiver.0.is_ending() {
            call.step();
        }
        assert!(call.receiver.0.lacking().is_zero(), "seed {seed}");
        call.check(call.first(), &format!("seed {seed}"));
        call.run(Duration::from_secs(1));
        assert!(!call.sender.0.is_lingering() && !call.sender.0.is_streaming());
    }
}

#[test]
fn an_end_waits_for_nobody_longer_than_it_may() {
    let mut call = Call::new(STEREO, 0.1, 5);
    call.run(Duration::from_secs(2));
    call.is_cut = true;
    call.sender.0.stop(call.now);
    call.receiver.0.stop();
    assert!(call.sender.0.is_lingering() && call.receiver.0.is_ending());
    call.run(LINGER + 2 * TICK);
    assert!(!call.sender.0.is_lingering() && !call.receiver.0.is_ending());
}

#[test]
fn a_break_of_the_connection_is_filled_in_where_the_same_peer_comes_back_and_for_another_it_is_not() {
    for seed in 200..206 {
        let mut call = Call::new(STEREO, 0.02, seed);
        call.run(Duration::from_secs(2));
        call.is_cut = true;
        call.run(Duration::from_millis(700));
        call.disconnect();
        call.run(Duration::from_millis(400));
        call.is_cut = false;
        call.connect(true);
        // A second of sound at a sixth of its rate.
        call.run(Duration::from_secs(15));
        call.hang_up();
        let first = call.first();
        call.check(first, &format!("seed {seed}"));
        assert!(call.recorded.len() as u32 > call.number - first - 1_500 * 4, "seed {seed}");
    }
    let mut call = Call::new(STEREO, 0.0, 1);
    call.run(Duration::from_secs(2));
    call.is_cut = true;
    call.run(Duration::from_millis(700));
    call.disconnect();
    call.is_cut = false;
    call.connect(false);
    call.run(Duration::from_secs(4));
    let missing = call.recorded.iter().filter(|sound| sound.fate == SoundFate::Missing).count();
    assert!((525..620).contains(&missing), "{missing}: what another peer was sent");
}

#[test]
fn sound_of_a_muted_microphone_is_silence_in_the_recording_and_long_silence_lacks_nothing() {
    let mut call = Call::new(STEREO, 0.1, 9);
    for is_muted in [false, true, false, true] {
        call.is_muted = is_muted;
        call.run(Duration::from_secs(3));
    }
    call.hang_up();
    call.check(call.first(), "muted");
    assert!(call.recorded.iter().filter(|sound| sound.fate == SoundFate::Muted).count() > 3_000);
}

#[test]
fn a_change_of_format_in_a_burst_of_loss_keeps_every_packet_its_own() {
    let mut call = Call::new(STEREO, 0.1, 12);
    for format in [STEREO, OPUS, STUDIO, MONO, STEREO] {
        call.format = format;
        call.run(Duration::from_secs(1));
    }
    call.hang_up();
    call.check(call.first(), "formats");
    let changes = call.recorded.windows(2).filter(|pair| pair[0].format != pair[1].format).count();
    assert_eq!(changes, 4);
}

#[test]
fn what_is_sent_again_keeps_its_pace_and_comes_off_the_target() {
    let mut call = Call::new(STEREO, 0.0, 3);
    call.run(Duration::from_secs(2));
    let path = &call.sender.1;
    let alone = 8 * 750 * (21 + 256 + common::wire::LOWER_LAYERS_BYTES) as u64;
    assert_eq!(path.budget(SOUND).as_bps(), alone + alone / 6);
    call.is_cut = true;
    call.run(Duration::from_secs(2));
    call.is_cut = false;
    let mut most = 0;
    for _ in 0..30 {
        let before = call.late_bits;
        call.run(Duration::from_millis(500));
        most = most.max(2 * (call.late_bits - before));
    }
    assert!(most > alone / 8 && most < alone / 6 + 8_000, "{most} of {alone}");
    call.check(call.first(), "after a break of two seconds");
}

#[test]
fn without_a_recording_nothing_is_asked_for_and_nothing_kept() {
    let mut call = Call::new(STEREO, 0.1, 3);
    call.receiver.0 = SoundReceiver::new();
    call.connect(false);
    call.run(Duration::from_secs(2));
    assert!(call.sender.0.is_streaming() && call.recorded.is_empty());
    assert_eq!(call.sender.0.counters().packets_again, 0);
    // And who asks all the same breaks the protocol.
    let wanted = ControlMessage::WantSound { first: 0, count: 1 };
    let now = call.now;
    assert!(call.sender.0.on_control(wanted, &mut call.sender.1, now).is_err());
}

/// A sender that has offered its stream, or one that streams to a receiver that records.
fn sender_that(is_streaming: bool) -> Call {
    let mut call = Call::new(STEREO, 0.0, 3);
    let is_there = |call: &Call| match is_streaming {
        true => call.sender.0.is_streaming(),
        false => !call.there.is_empty() && call.sender.1.has_greeted(),
    };
    while !is_there(&call) {
        call.step();
    }
    call
}

#[test]
fn a_receiver_says_once_that_it_records_and_asks_for_nothing_before_it_is_ready() {
    let record = |goes_on| ControlMessage::RecordSound { goes_on };
    let want = || ControlMessage::WantSound { first: 0, count: 1 };
    let good = |is_streaming, messages: Vec<ControlMessage>| {
        let mut call = sender_that(is_streaming);
        let (now, path) = (call.now, &mut call.sender.1);
        messages.into_iter().map(|message| call.sender.0.on_control(message, path, now).is_ok()).collect::<Vec<_>>()
    };
    assert_eq!(good(false, vec![record(true), ControlMessage::Ready, want()]), [true, true, true]);
    // A recording may begin in the middle of a call.
    assert_eq!(good(false, vec![ControlMessage::Ready, record(true), want()]), [true, true, true]);
    assert_eq!(good(false, vec![record(true), record(true)]), [true, false]);
    assert_eq!(good(false, vec![ControlMessage::Ready, record(true), record(true)]), [true, true, false]);
    assert_eq!(good(true, vec![record(true)]), [false]);
    assert_eq!(good(false, vec![ControlMessage::Ready, ControlMessage::Ready]), [true, false]);
    for early in [record(false), want()] {
        assert_eq!(good(false, vec![early.clone()]), [false], "{early:?}");
        assert_eq!(good(false, vec![record(true), early.clone()]), [true, false], "{early:?}");
        assert_eq!(good(false, vec![ControlMessage::Ready, early.clone()]), [true, false], "{early:?}");
    }
    // The end may cross with one that the sender has said.
    assert_eq!(good(true, vec![record(false), record(false), record(true)]), [true, true, false]);
}

#[test]
fn a_receiver_that_comes_back_without_its_recording_gets_nothing_of_it() {
    let mut call = Call::new(STEREO, 0.0, 3);
    call.run(Duration::from_secs(1));
    call.disconnect();
    call.receiver.0 = SoundReceiver::new();
    call.connect(true);
    call.run(Duration::from_secs(1));
    let (now, path) = (call.now, &mut call.sender.1);
    assert!(call.sender.0.is_streaming());
    assert!(call.sender.0.on_control(ControlMessage::WantSound { first: 5, count: 1 }, path, now).is_err());
}

#[test]
fn who_asks_for_more_than_it_may_breaks_the_protocol() {
    let mut call = Call::new(STEREO, 0.0, 3);
    call.run(Duration::from_secs(1));
    let now = call.now;
    let asks = (0..3).map(|_| {
        let wanted = ControlMessage::WantSound { first: 0, count: 255 };
        call.sender.0.on_control(wanted, &mut call.sender.1, now).is_ok()
    });
    assert_eq!(asks.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn sound_that_nobody_has_asked_for_breaks_the_protocol() {
    let late = |number| ControlMessage::LateSound { number, found: FoundSound::Gone };
    let mut call = Call::new(STEREO, 0.0, 3);
    call.run(Duration::from_secs(1));
    let (receiver, path) = (&mut call.receiver.0, &mut call.receiver.1);
    assert!(receiver.on_control(late(5), path).is_err());
    // Of what was asked for, one flood of answers is one answer.
    let mut call = Call::new(STEREO, 0.1, 3);
    call.delay = Duration::from_secs(3);
    call.run(Duration::from_secs(14));
    let Some((_, ControlMessage::WantSound { first, .. })) = call.back.pop_front() else {
        panic!("nothing is asked for")
    };
    let (receiver, path) = (&mut call.receiver.0, &mut call.receiver.1);
    let answers = [(); 3].map(|()| receiver.on_control(late(first), path).is_ok());
    assert_eq!(answers, [true, false, false]);
    // Nor without a recording.
    let mut call = Call::new(STEREO, 0.0, 3);
    call.receiver.0 = SoundReceiver::new();
    call.connect(false);
    call.run(Duration::from_secs(1));
    let (receiver, path) = (&mut call.receiver.0, &mut call.receiver.1);
    assert!(receiver.on_control(late(5), path).is_err());
    assert!(receiver.on_control(ControlMessage::SoundEnds { next: 5 }, path).is_err());
}

#[test]
fn a_recording_begins_in_the_middle_and_pauses_and_goes_on_on_one_connection() {
    for seed in 0..4 {
        let mut call = Call::new(STEREO, 0.05, seed);
        call.receiver.0.pause_recording();
        call.disconnect();
        call.connect(true);
        call.run(Duration::from_secs(1));
        assert!(call.recorded.is_empty() && call.lost > 0, "seed {seed}");
        for part in 0..3 {
            call.receiver.0.record();
            call.run(Duration::from_secs(2));
            call.receiver.0.pause_recording();
            // What was asked for still comes, and is of no recording.
            call.run(Duration::from_secs(1));
            // What was on its way or not asked for yet when it paused, two ticks later at most, may lack, and nothing before it.
            let context = format!("seed {seed}, part {part}");
            let lacks = |sound: &RecordedSound| !matches!(sound.fate, SoundFate::Sound(_));
            // Nothing is kept for a recording before its wish has come: what is lost in the first round trip may lack, too.
            let unkept = call.recorded.iter().take(45).rposition(lacks).map_or(0, |place| place + 1);
            assert!(call.recorded[0].begins, "{context}");
            call.recorded.drain(..unkept);
            call.recorded[0].begins = true;
            let whole = call.recorded.iter().position(lacks).unwrap_or(call.recorded.len());
            let kept = Duration::from_secs(1) * (64 * whole as u32) / 48_000;
            assert!((1_400..2_300).contains(&kept.as_millis()), "{context}: {kept:?}");
            call.recorded.truncate(whole);
            call.check(call.first(), &context);
            call.recorded.clear();
        }
        call.hang_up();
        assert!(call.recorded.is_empty() && call.receiver.0.lacking().is_zero(), "seed {seed}");
    }
}
