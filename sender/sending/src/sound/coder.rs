//! The thread that makes packets of what the card captures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use common::config::{SoundCoding, SoundConfig};
use common::stream::sound::SoundPacket;
use net::clock;
use net::failure::Failure;
use net::link::Waker;
use shell::settings::SoundSide;
use shell::sound::{Role, hurry};
use shell::threads::{Ending, join, spawn};
use sound::format::{Channels, Coding, Format};
use sound::opus;
use sound::tone::Tone;

use super::link::SoundLink;
use super::microphone::{Captured, Microphone, Period};
use super::packets::Packets;
use super::wanted::Wanted;

/// Packets that may wait for the network's thread: a second and more, since a recording takes also what is too late for the ear.
const PACKETS: usize = 1_024;
/// Longest sleep of the thread, so that it sees its end.
const SLEEP: Duration = Duration::from_millis(250);
/// Rate of Opus for each channel, bits a second.
const OPUS_BPS: u32 = 64_000;

/// The thread, and its end.
pub struct Coder {
    thread: Ending,
    is_over: Arc<AtomicBool>,
}

/// Returns the format of this coding.
fn format_of(config: &SoundConfig, coding: Coding) -> Format {
    let frames = match coding {
        Coding::Opus => opus::FRAMES,
        // So much fits a datagram with its copies.
        Coding::Pcm16 | Coding::Pcm24 if config.channels == Channels::Stereo => config.period.min(128),
        Coding::Pcm16 | Coding::Pcm24 => config.period,
    };
    Format { channels: config.channels, coding, frames }
}

impl Coder {
    /// Starts the thread; `records`: whether what is sent is recorded here. Returns it, the link that takes its packets, and what gives each card its callback.
    pub fn start(
        config: &SoundConfig,
        waker: &Waker,
        side: &SoundSide,
        records: bool,
    ) -> Result<(Self, SoundLink, Microphone), Failure> {
        let (rings, rings_end) = channel();
        let (packets, packets_end) = sync_channel(PACKETS);
        let first = match config.coding {
            SoundCoding::Auto => Coding::Pcm16,
            SoundCoding::Always(coding) => coding,
        };
        let wanted = Wanted::new(first);
        let is_over = Arc::new(AtomicBool::new(false));
        let body = {
            let (config, wanted, is_over) = (config.clone(), wanted.clone(), Arc::clone(&is_over));
            let (waker, side) = (waker.clone(), side.clone());
            move || {
                run(&Work { config, records, wanted, is_over, waker, side, rings: rings_end, packets });
                Ok(())
            }
        };
        let thread = spawn("sound", body)?;
        let microphone = Microphone::new(thread.thread().clone(), rings);
        let is_automatic = config.coding == SoundCoding::Auto;
        let link = SoundLink::new(packets_end, wanted, is_automatic, side.clone());
        Ok((Self { thread, is_over }, link, microphone))
    }

    /// Ends the thread.
    pub fn end(self) -> Result<(), Failure> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        join(self.thread)
    }
}

struct Work {
    config: SoundConfig,
    records: bool,
    wanted: Wanted,
    is_over: Arc<AtomicBool>,
    waker: Waker,
    side: SoundSide,
    rings: Receiver<Captured>,
    packets: SyncSender<SoundPacket>,
}

fn run(work: &Work) {
    hurry(Role::Sound);
    let mut packets = Packets::new(format_of(&work.config, work.wanted.get()), opus_bps(&work.config), work.records);
    let mut ring: Option<Captured> = None;
    let mut period = Vec::new();
    let mut tone = Tone::default();
    while !work.is_over.load(Ordering::Relaxed) {
        if let Some(newer) = work.rings.try_iter().last() {
            ring = Some(newer);
        }
        packets.change(format_of(&work.config, work.wanted.get()), opus_bps(&work.config));
        let mut has_put = false;
        while let Some(Period { cycle, samples }) = ring.as_mut().and_then(|ring| ring.periods.pop().ok()) {
            period.resize(samples, 0.0);
            let Some(captured) = &mut ring else { break };
            let (taken, _) = captured.samples.pop_partial_slice(&mut period);
            tone.add(work.side.tone_hz(), taken, work.config.channels.count());
            let put = |packet: SoundPacket| {
                work.side.set_level(packet.level);
                has_put |= work.packets.try_send(packet).is_ok();
            };
            packets.take(taken, cycle, work.side.is_muted(), clock::of_monotonic, put);
        }
        if has_put {
            work.waker.wake();
        }
        thread::park_timeout(SLEEP);
    }
}

fn opus_bps(config: &SoundConfig) -> u32 {
    OPUS_BPS * config.channels.count() as u32
}
