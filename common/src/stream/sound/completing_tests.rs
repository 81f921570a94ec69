//! Bounds of what both ends of a recording hold, and what a hostile peer gets.

use std::time::Duration;

use sound::format::{Channels, Coding, Format};
use sound::level::Level;

use super::completing::{Completing, SoundFate};
use super::keeping::Keeping;
use super::packet::SoundPacket;
use super::{HELD_BYTES_MAX, HELD_MAX, WANTED_MAX};
use crate::units::{Bitrate, Timestamp};
use crate::wire::control::{ControlMessage, FoundSound};

const FORMAT: Format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: 64 };
const RATE: Bitrate = Bitrate::from_bps(300_000);

fn at(us: u64) -> Timestamp {
    Timestamp::from_us(us)
}

fn packet(number: u32, is_muted: bool) -> SoundPacket {
    let whole = vec![number as u8; 256];
    let capture = at(u64::from(number) * 1_333);
    SoundPacket {
        number,
        format: FORMAT,
        capture,
        is_muted,
        level: Level(0),
        whole,
        adpcm: Vec::new(),
        captured: Vec::new(),
    }
}

/// Takes answers for a time, each millisecond a look.
fn answers(keeping: &mut Keeping, from_ms: u64, ms: u64) -> Vec<(u32, FoundSound)> {
    let answers = (from_ms..from_ms + ms).filter_map(|ms| keeping.poll(RATE, at(ms * 1_000)));
    answers
        .map(|answer| match answer {
            ControlMessage::LateSound { number, found } => (number, found),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn sound_of_a_muted_microphone_is_kept_nowhere_and_handed_out_to_nobody() {
    let mut keeping = Keeping::default();
    keeping.begin();
    // Were a coder to leave sound in a muted packet, it would end here.
    (0..200).for_each(|number| keeping.keep(&packet(number, (50..150).contains(&number))));
    assert_eq!(keeping.size(), (200, 100 * 256));
    assert!(keeping.want(0, 200));
    let found = answers(&mut keeping, 0, 10_000);
    assert_eq!(found.len(), 200);
    for (number, found) in found {
        match (50..150).contains(&number) {
            true => assert!(matches!(found, FoundSound::Muted { .. }), "{number}"),
            false => {
                assert!(matches!(found, FoundSound::Sound { sound, .. } if sound == [number as u8; 256]), "{number}")
            }
        }
    }
}

#[test]
fn nothing_is_kept_before_a_recording_and_what_is_kept_has_a_bound() {
    let mut keeping = Keeping::default();
    (0..100).for_each(|number| keeping.keep(&packet(number, false)));
    assert_eq!(keeping.size(), (0, 0));
    keeping.begin();
    for number in 100..200_000 {
        keeping.keep(&packet(number, number % 3 == 0));
        let (packets, bytes) = keeping.size();
        assert!(packets <= HELD_MAX && bytes <= HELD_BYTES_MAX);
    }
    assert_eq!(keeping.size().0, HELD_MAX);
    assert!(keeping.want(0, 1) && keeping.want(199_999, 1));
    let found = answers(&mut keeping, 0, 100);
    assert!(matches!(
        found[..],
        [(0, FoundSound::Gone), (199_999, FoundSound::Muted { .. } | FoundSound::Sound { .. })]
    ));
    let mut wide = Keeping::default();
    wide.begin();
    let wide_packet = |number| SoundPacket { whole: vec![0; 1_024], ..packet(number, false) };
    (0..40_000).for_each(|number| wide.keep(&wide_packet(number)));
    assert!(wide.size().1 <= HELD_BYTES_MAX && wide.size().1 > HELD_BYTES_MAX - 1_025);
    wide.forget();
    assert_eq!(wide.size(), (0, 0));
}

#[test]
fn who_asks_for_everything_for_ever_gets_each_packet_once_and_no_more_than_its_rate() {
    let mut keeping = Keeping::default();
    keeping.begin();
    (0..2_000).for_each(|number| keeping.keep(&packet(number, false)));
    let (mut sounds, mut gone, mut refused, mut bits) = (0, 0, 0, 0);
    for ms in 0..20_000 {
        for first in (0..2_000).step_by(250) {
            refused += u64::from(!keeping.want(first, 250));
        }
        for (_, found) in answers(&mut keeping, ms, 1) {
            match found {
                FoundSound::Sound { sound, .. } => {
                    sounds += 1;
                    bits += if ms < 1_000 { 8 * sound.len() as u64 } else { 0 };
                }
                FoundSound::Gone => gone += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(sounds <= 2_000, "{sounds}");
    assert!(refused > 100_000 && gone > 0);
    assert!(bits <= RATE.as_bps(), "{bits} bits in the first second");
    let waiting = answers(&mut keeping, 20_000, 60_000).len();
    assert!(waiting <= WANTED_MAX, "{waiting}");
    // Another connection of the same peer may ask once more.
    assert!(keeping.want(7, 1) && keeping.poll_timeout().is_some());
    keeping.on_disconnected();
    assert_eq!(keeping.poll_timeout(), None);
    assert!(keeping.want(7, 1));
    assert!(matches!(answers(&mut keeping, 30_000, 10)[..], [(7, FoundSound::Sound { .. })]));
}

#[test]
fn numbers_that_the_card_left_out_are_told_from_those_that_are_gone() {
    let mut keeping = Keeping::default();
    keeping.begin();
    [10, 11, 15].into_iter().for_each(|number| keeping.keep(&packet(number, false)));
    assert!(keeping.want(9, 8));
    let found = answers(&mut keeping, 0, 1_000);
    let kinds: Vec<_> = found
        .iter()
        .map(|(_, found)| match found {
            FoundSound::Sound { .. } => 's',
            FoundSound::Nothing => 'n',
            FoundSound::Gone => 'g',
            FoundSound::Muted { .. } => 'm',
        })
        .collect();
    assert_eq!(kinds, ['g', 's', 's', 'n', 'n', 'n', 's', 'g']);
}

/// Gives a packet to a recording as it came by itself.
fn comes(completing: &mut Completing, number: u32, now_us: u64) {
    let packet = packet(number, false);
    completing.on_sound(number, FORMAT, packet.capture, Some(&packet.whole), at(now_us));
}

fn fates(completing: &mut Completing) -> Vec<SoundFate> {
    std::iter::from_fn(|| completing.poll()).map(|sound| sound.fate).collect()
}

#[test]
fn answers_of_other_sizes_or_numbers_never_asked_do_no_harm() {
    let mut completing = Completing::default();
    [0, 6].into_iter().for_each(|number| comes(&mut completing, number, 1_000));
    completing.ask();
    let wanted = completing.ask();
    assert_eq!(wanted, [ControlMessage::WantSound { first: 1, count: 5 }]);
    let sound = |bytes: usize, format| FoundSound::Sound { format, capture: at(9), sound: vec![1; bytes] };
    let opus = Format { coding: Coding::Opus, frames: 120, ..FORMAT };
    assert!(completing.on_late(1, sound(255, FORMAT)));
    assert!(completing.on_late(2, sound(1_024, FORMAT)));
    assert!(completing.on_late(3, sound(0, opus)));
    assert!(completing.on_late(4, sound(256, FORMAT)));
    let fates = fates(&mut completing);
    let is_missing = |fate: &SoundFate| *fate == SoundFate::Missing;
    assert_eq!(fates.iter().map(is_missing).collect::<Vec<_>>(), [false, true, true, true, false]);
    assert!(!completing.on_late(6, sound(256, FORMAT)), "nobody has asked for it");
    assert!(!completing.on_late(5, sound(256, FORMAT)), "the order is lost: the peer does not answer what it is asked");
    let mut completing = Completing::default();
    assert!(!completing.on_late(0, FoundSound::Gone), "nothing was asked for at all");
}

#[test]
fn a_peer_that_makes_numbers_up_keeps_nobody_busy_and_no_memory() {
    let mut completing = Completing::default();
    let (mut given, mut number, mut random) = (0_u64, 0_u32, 1_u64);
    for datagram in 0..50_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        number = number.wrapping_add([1, 3, 1_400, 44_000, 1 << 31, u32::MAX, 1][(random >> 40) as usize % 7]);
        comes(&mut completing, number, datagram * 100);
        if random >> 60 == 0 {
            completing.ask();
        }
        given += fates(&mut completing).len() as u64;
        let (slots, bytes) = completing.size();
        assert!(slots <= HELD_MAX + 1 && bytes <= HELD_BYTES_MAX + 1_024);
    }
    // Five seconds of datagrams each 0.1 ms: one for each, and what the allowance lets be missing.
    assert!(given <= 50_000 + 1_500 + 5 * 2_000, "{given}");
    completing.close(Some(number.wrapping_add(1 << 20)));
    assert!(completing.lacking() < Duration::from_secs(61));
}

#[test]
fn a_run_begins_with_sound_whatever_is_said_of_the_packets_before_it() {
    let mut completing = Completing::default();
    comes(&mut completing, 1_000, 1_000);
    completing.ask();
    assert_eq!(completing.ask(), [ControlMessage::WantSound { first: 936, count: 64 }]);
    for number in 936..999 {
        let found = if number % 2 == 0 { FoundSound::Gone } else { FoundSound::Nothing };
        assert!(completing.on_late(number, found));
    }
    let sound = FoundSound::Sound { format: FORMAT, capture: at(999 * 1_333), sound: vec![7; 256] };
    assert!(completing.on_late(999, sound));
    let runs: Vec<_> = std::iter::from_fn(|| completing.poll()).map(|sound| (sound.begins, sound.capture)).collect();
    assert_eq!(runs, [(true, at(999 * 1_333)), (false, at(1_000 * 1_333))]);
}
