//! A stream of sound: bytes on the wire, and both ends of the stream on their paths.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use common::path::{Datagram, Directions, Path};
use common::stream::sound::{SOUND, SoundPacket, SoundReceiver, SoundReceiverEvent, SoundSender, SoundSenderEvent};
use common::units::{Bitrate, SequenceNumber, Timestamp};
use common::wire::control::{ByeReason, ControlMessage};
use common::wire::media::Envelope;
use common::wire::media::HeaderError;
use common::wire::sound::{EPOCHS, SOUND_HEADER_BYTES, SoundError, SoundHeader, write_body};
use proptest::prelude::*;
use sound::adpcm;
use sound::click::{Metre, Tempo};
use sound::format::{Channels, Coding, Format};
use sound::level::Level;
use sound::unit::{Body, COPIES_MAX};

const STEREO: Format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 64 };
const OPUS: Format = Format { channels: Channels::Mono, coding: Coding::Opus, frames: 120 };

fn header(format: Format) -> SoundHeader {
    SoundHeader {
        envelope: Envelope {
            stream: SOUND,
            sequence: SequenceNumber(0x0403_0201),
            capture: Timestamp::from_us(0x1615_1413_1211),
            sent_offset_us: 0x19_1817,
        },
        format,
        epoch: 5,
        copies: 2,
        body: if format.coding == Coding::Opus { Body::Whole } else { Body::Adpcm },
        is_muted: false,
        level: Level(0x21),
        number: 0x3433_3231,
    }
}

fn datagram(header: &SoundHeader, sounds: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    sounds.iter().for_each(|sound| write_body(header.format, sound, &mut bytes));
    bytes
}

#[test]
fn golden_headers() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut bytes = datagram(&header(STEREO), &[]);
    assert_eq!(
        (hex(&bytes), bytes.len()),
        ("36 01 01020304 111213141516 171819 a1 21 31323334".replace(' ', ""), SOUND_HEADER_BYTES)
    );
    let muted = SoundHeader { is_muted: true, copies: 1, ..header(OPUS) };
    bytes = datagram(&muted, &[&[7, 8]]);
    assert_eq!(hex(&bytes), "31 01 01020304 111213141516 171819 bc 21 31323334 02 0708".replace(' ', ""));
    let (read, sounds) = SoundHeader::parse(&bytes).unwrap();
    assert_eq!((read, sounds.collect::<Vec<_>>()), (muted, vec![(1, Body::Whole, &[7, 8][..])]));
}

#[test]
fn what_is_no_sound_is_told_by_its_reason() {
    let good = datagram(&header(OPUS), &[&[1, 2], &[3], &[]]);
    assert!(SoundHeader::parse(&good).is_ok());
    for (place, value, error) in [
        (15, good[15] | 14, SoundError::UnknownCoding),
        (0, good[0] | 8, SoundError::Header(HeaderError::UnknownKind)),
        // Copies of four bits a sample are of PCM.
        (0, good[0] | 4, SoundError::UnknownCoding),
        (21, 200, SoundError::TooShort),
        (21, 0, SoundError::BytesBehind),
    ] {
        let mut wrong = good.clone();
        wrong[place] = value;
        assert_eq!(SoundHeader::parse(&wrong).err(), Some(error), "{place} {value}");
    }
    let mut wrong = good.clone();
    wrong.push(0);
    assert_eq!(SoundHeader::parse(&wrong).err(), Some(SoundError::BytesBehind));
    for len in 0..good.len() {
        assert!(SoundHeader::parse(&good[..len]).is_err(), "{len}");
    }
}

fn any_format() -> impl Strategy<Value = Format> {
    let channels = prop_oneof![Just(Channels::Mono), Just(Channels::Stereo)];
    let pcm = (prop_oneof![Just(Coding::Pcm16), Just(Coding::Pcm24)], prop_oneof![Just(64), Just(128), Just(256)]);
    let coding = prop_oneof![pcm, Just((Coding::Opus, 120))];
    (channels, coding).prop_map(|(channels, (coding, frames))| Format { channels, coding, frames })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn datagrams_come_back(
        format in any_format(),
        (epoch, copies, is_muted, level, number) in (0..EPOCHS, 0..=COPIES_MAX, any::<bool>(), any::<u8>(), any::<u32>()),
        fill in any::<u8>(),
    ) {
        let whole = vec![fill; format.whole_bytes().unwrap_or(fill.into())];
        let header = SoundHeader { epoch, copies, is_muted, level: Level(level), number, ..header(format) };
        let copy = if header.body == Body::Whole { whole.clone() } else { vec![!fill; adpcm::block_bytes(format.channels.count(), format.frames.into())] };
        let own: &[&[u8]] = if is_muted { &[] } else { &[&whole] };
        let bytes = datagram(&header, &[own, &vec![&copy[..]; copies.into()]].concat());
        let (read, sounds) = SoundHeader::parse(&bytes).unwrap();
        prop_assert_eq!(read, header);
        let expected = (u8::from(is_muted)..=copies)
            .map(|back| if back == 0 { (0, Body::Whole, &whole[..]) } else { (back, header.body, &copy[..]) });
        prop_assert!(sounds.eq(expected));
    }

    #[test]
    fn any_bytes_are_sound_or_not(
        mut bytes in prop::collection::vec(any::<u8>(), 0..1_200),
        has_version in any::<bool>(),
    ) {
        if has_version && !bytes.is_empty() {
            bytes[0] = bytes[0] & 15 | 0x30;
        }
        if let Ok((header, sounds)) = SoundHeader::parse(&bytes) {
            let sounds: Vec<_> = sounds.collect();
            prop_assert_eq!(sounds.len(), usize::from(header.copies) + usize::from(!header.is_muted));
            prop_assert_eq!(datagram(&header, &sounds.iter().map(|sound| sound.2).collect::<Vec<_>>()), bytes);
        }
    }
}

/// Both ends and their paths, over a line without delay.
struct Line {
    sender: (SoundSender, Path),
    receiver: (SoundReceiver, Path),
    now: Timestamp,
    number: u32,
    events: Vec<SoundReceiverEvent>,
}

impl Line {
    fn new() -> Self {
        let path = || Path::new(Directions::Both, Bitrate::from_bps(20_000_000));
        let mut line = Self {
            sender: (SoundSender::new(), path()),
            receiver: (SoundReceiver::new(), path()),
            now: Timestamp::from_us(1_000),
            number: 0,
            events: Vec::new(),
        };
        let now = line.now;
        line.sender.1.on_connected(now, 1_200);
        line.sender.0.on_connected(false, &mut line.sender.1, now);
        line.receiver.1.on_connected(now, 1_200);
        line.receiver.0.on_connected();
        line.talk();
        line
    }

    /// Carries all control messages.
    fn talk(&mut self) {
        let now = self.now;
        for _ in 0..4 {
            while let Some(message) = self.sender.1.poll_control().or_else(|| self.sender.0.poll_control()) {
                if let Some(message) = self.receiver.1.on_control(message, now).unwrap() {
                    self.receiver.0.on_control(message, &mut self.receiver.1).unwrap();
                }
            }
            while let Some(message) = self.receiver.1.poll_control().or_else(|| self.receiver.0.poll_control()) {
                if let Some(message) = self.sender.1.on_control(message, now).unwrap() {
                    self.sender.0.on_control(message, &mut self.sender.1, now).unwrap();
                }
            }
            self.sender.0.on_greeted();
            while let Some(event) = self.receiver.0.poll_event() {
                if matches!(event, SoundReceiverEvent::Offered(_)) {
                    self.receiver.0.ready(&mut self.receiver.1, now);
                }
                self.events.push(event);
            }
        }
    }

    fn offer(&mut self, format: Format) {
        self.sender.0.set_format(format, &mut self.sender.1, self.now);
        self.talk();
    }

    /// Sends a packet; returns what came of it, if `comes`.
    fn packet(&mut self, format: Format, is_muted: bool, comes: bool) -> Option<(SoundHeader, Vec<u8>)> {
        self.now = self.now + Duration::from_micros(1_333);
        let now = self.now;
        let fill = self.number as u8;
        let whole = if is_muted { Vec::new() } else { vec![fill; format.whole_bytes().unwrap_or(30)] };
        let adpcm = if is_muted || format.coding == Coding::Opus {
            Vec::new()
        } else {
            vec![fill; adpcm::block_bytes(format.channels.count(), format.frames.into())]
        };
        let packet = SoundPacket {
            number: self.number,
            format,
            capture: now,
            is_muted,
            level: Level(9),
            whole,
            adpcm,
            captured: Vec::new(),
        };
        self.number += 1;
        self.sender.0.on_packet(packet);
        let mut came = None;
        while let Some(datagram) = self.sender.0.poll_datagram(&mut self.sender.1, now) {
            if comes && matches!(self.receiver.1.on_datagram(&datagram, now), Datagram::Media(_)) {
                let taken = self.receiver.0.on_datagram(&datagram, &mut self.receiver.1, now);
                came = taken.map(|(header, sounds)| (header, sounds.map(|(.., sound)| sound[0]).collect()));
            }
        }
        while let Some(feedback) = self.receiver.1.poll_datagram(now) {
            self.sender.1.on_datagram(&feedback, now);
        }
        came
    }
}

#[test]
fn a_stream_begins_when_there_is_a_microphone_and_somebody_who_plays_it() {
    let mut line = Line::new();
    assert!(line.events.is_empty() && !line.sender.0.is_streaming());
    assert_eq!(line.packet(STEREO, false, true), None);
    line.offer(STEREO);
    assert_eq!(line.events, [SoundReceiverEvent::Offered(STEREO)]);
    assert_eq!(line.sender.0.poll_event(), Some(SoundSenderEvent::Streaming));
    let (header, sounds) = line.packet(STEREO, false, true).unwrap();
    assert_eq!((header.number, header.format, header.copies, sounds), (1, STEREO, 0, vec![1]));
    let click = Tempo { metre: Metre::default(), count_in_bars: 1, goes_on: true, start_us: line.now.as_us() };
    line.sender.0.set_click(Some(click));
    line.talk();
    assert_eq!(line.events.last(), Some(&SoundReceiverEvent::Click(Some(click))));
    line.receiver.0.stop();
    line.talk();
    assert!(!line.sender.0.is_streaming());
}

#[test]
fn sound_takes_its_own_off_the_target_first() {
    let mut line = Line::new();
    line.offer(STEREO);
    line.packet(STEREO, false, true);
    let path = &line.sender.1;
    let (all, sound, rest) = (path.target(), path.budget(SOUND), path.budget(0));
    // 64 frames of two channels and what is around them, 750 times a second.
    let packet = SOUND_HEADER_BYTES + 256 + common::wire::LOWER_LAYERS_BYTES;
    assert_eq!(sound.as_bps(), 8 * 750 * packet as u64);
    assert_eq!(rest.as_bps(), all.as_bps() - sound.as_bps());
}

#[test]
fn the_worse_the_line_the_more_copies_and_no_copy_is_of_another_format() {
    let mut line = Line::new();
    line.offer(STEREO);
    let copies = |line: &mut Line, lost_of: u32| {
        (0..3_000).map(|n| line.packet(STEREO, false, lost_of == 0 || n % lost_of != 0)).last().flatten().unwrap()
    };
    assert_eq!(copies(&mut line, 0).0.copies, 0);
    let (header, sounds) = copies(&mut line, 100);
    let newest = header.number as u8;
    assert_eq!((header.copies, sounds), (2, vec![newest, newest.wrapping_sub(1), newest.wrapping_sub(2)]));
    assert_eq!(copies(&mut line, 20).0.copies, 3);
    let mono = Format { channels: Channels::Mono, ..STEREO };
    line.offer(mono);
    let counts = [(); 5].map(|()| line.packet(mono, false, true).unwrap().0.copies);
    assert_eq!(counts, [0, 1, 2, 3, 3]);
    // A gap between the numbers, as a card leaves one, ends the copies, too; so does silence.
    line.number += 5;
    assert_eq!([(); 2].map(|()| line.packet(mono, false, true).unwrap().0.copies), [0, 1]);
    let muted = line.packet(mono, true, true).unwrap();
    assert_eq!((muted.0.is_muted, muted.0.copies, muted.1.len()), (true, 2, 2));
    assert_eq!(line.packet(mono, false, true).unwrap().0.copies, 0);
}

#[test]
fn who_has_nothing_to_play_it_with_is_not_sent_any() {
    let mut line = Line::new();
    line.offer(STEREO);
    let bye = ControlMessage::Bye { reason: ByeReason::Protocol("nothing here".to_owned()) };
    line.sender.0.on_control(bye, &mut line.sender.1, line.now).unwrap();
    assert_eq!(line.packet(STEREO, false, true), None);
    assert_eq!(line.sender.1.budget(0), line.sender.1.target());
}
