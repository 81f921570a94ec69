//! Allocations of a card's callback and of the network's thread: none, whatever comes.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sound::adpcm::{AdpcmEncoder, block_bytes};
use sound::format::{Channels, Coding, Format};
use sound::observed::Outcome;
use sound::opus::{self, Encoder};
use sound::playout::{self, Receiving};
use sound::unit::{Body, Unit};
use sound::{Cycle, pcm};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `System`'s rules, which are this function's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count();
        // SAFETY: as above; the block is one of `System`'s.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Returns what `work` gives, and how often it allocated or freed.
fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = CALLS.get();
    let result = work();
    (result, CALLS.get() - before)
}

/// Makes packets of each coding in turn.
struct Packets {
    number: u32,
    epoch: u8,
    adpcm: AdpcmEncoder,
    opus: Encoder,
}

impl Packets {
    /// Returns a packet's own sound and a copy of it.
    fn make(&mut self, format: Format, arrival_us: u64) -> [Unit; 2] {
        let (channels, frames) = (format.channels.count(), usize::from(format.frames));
        let samples: Vec<f32> = (0..channels * frames).map(|at| 0.3 * (at as f32 * 0.1).sin()).collect();
        let mut own = Unit {
            epoch: self.epoch,
            capture_us: arrival_us - 5_000,
            arrival_us,
            copies: 1,
            ..Unit::new(self.number, format)
        };
        own.len = match format.coding {
            Coding::Pcm16 => pcm::encode_16(&samples, &mut own.bytes),
            Coding::Pcm24 => pcm::encode_24(&samples, &mut own.bytes),
            Coding::Opus => self.opus.encode(&samples, &mut own.bytes[..255]),
        } as u16;
        let len = match format.coding {
            Coding::Pcm16 => channels * frames * 2,
            Coding::Pcm24 => channels * frames * 3,
            Coding::Opus => own.len.into(),
        };
        own.len = len as u16;
        let mut copy = Unit { copies_back: 1, ..own.clone() };
        if format.coding != Coding::Opus {
            copy.body = Body::Adpcm;
            self.adpcm.encode(&samples, channels, &mut copy.bytes).unwrap();
            copy.len = block_bytes(channels, frames) as u16;
        }
        self.number += 1;
        [own, copy]
    }
}

#[test]
fn neither_playing_nor_feeding_allocates_whatever_comes() {
    let Receiving { mut feed, mut playout, mut concealer, observed, .. } = playout::new();
    let mut packets = Packets {
        number: 0,
        epoch: 0,
        adpcm: AdpcmEncoder::default(),
        opus: Encoder::new(Channels::Stereo, 128_000).unwrap(),
    };
    let stereo = |coding, frames| Format { channels: Channels::Stereo, coding, frames };
    let formats = [stereo(Coding::Pcm16, 64), stereo(Coding::Opus, opus::FRAMES), stereo(Coding::Pcm24, 128)];
    let mut held = None;
    let (mut calls, mut frame, mut out) = (0, 0_u64, [0.0_f32; 2 * 128]);
    for (round, format) in formats.into_iter().cycle().take(6).enumerate() {
        packets.epoch = (packets.epoch + 1) % 8;
        // Cards of another rate, so that sound is resampled; the third round is muted at times.
        let ratio = if round % 2 == 0 { 1.0 } else { 1.0003 };
        let begin = frame;
        let mut sent = 0.0;
        while frame - begin < 12 * 48_000 {
            let now_us = 1_000_000 + frame * 125 / 6;
            while (sent + f64::from(format.frames)) * ratio <= (frame - begin) as f64 {
                sent += f64::from(format.frames);
                let lost = packets.number % 50 == 7 || packets.number % 97 == 3 || packets.number % 400 < 9;
                let units = packets.make(format, 1_000_000 + ((begin as f64 + sent * ratio) / 0.048) as u64);
                if packets.number % 97 == 4 {
                    held = Some(units[0].clone());
                } else if packets.number % 97 == 60
                    && let Some(unit) = held.take()
                {
                    calls += counted(|| feed.push(&unit)).1;
                }
                for mut unit in units {
                    if lost && !(unit.copies_back > 0 && packets.number.is_multiple_of(3)) {
                        continue;
                    }
                    unit.is_muted = round == 2 && packets.number % 1000 < 200;
                    calls += counted(|| feed.push(&unit)).1;
                }
            }
            // A card that misses periods, and one that wants another size.
            frame += if round % 2 == 0 && frame % 150_000 < 128 { 640 } else { 0 };
            let period = if frame % 3_000_000 > 2_000_000 { 64 } else { 128 };
            let cycle = Cycle { frame, us: now_us };
            calls += counted(|| playout.play(&mut out[..2 * period], 2, cycle)).1;
            frame += period as u64;
            if frame % 1024 == 0 {
                concealer.work();
            }
        }
    }
    assert_eq!(calls, 0);
    // It was not the easy way alone.
    for outcome in
        [Outcome::Own, Outcome::RepairedAdpcm, Outcome::Concealed, Outcome::Late, Outcome::Lost, Outcome::Jump]
    {
        assert!(observed.count(outcome) > 0, "{outcome:?}");
    }
    assert_eq!((observed.count(Outcome::Start), observed.is_resampling()), (6, true));
}

#[test]
fn an_allocation_is_counted() {
    assert_eq!(counted(|| drop(std::hint::black_box(Box::new(1)))).1, 2);
}
