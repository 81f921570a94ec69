//! The call's own sound on the picture's path: both real ends of the stream, and a card that gives a packet at each period.

use std::time::Duration;

use common::path::Path;
use common::stream::sound::{SOUND, SoundPacket, SoundReceiver, SoundSender};
use common::units::{Bitrate, Timestamp};
use common::wire::LOWER_LAYERS_BYTES;
use common::wire::media::Envelope;
use common::wire::sound::SoundHeader;
use sound::adpcm;
use sound::format::{Channels, Coding, Format};
use sound::level::Level;

use super::Call;

/// Own sound on its way.
pub(crate) struct Own {
    format: Format,
    sender: SoundSender,
    receiver: SoundReceiver,
    next: u32,
    begun: Timestamp,
    /// The microphone is muted.
    pub(crate) is_muted: bool,
    /// Wait of each packet that has come, beyond the line's own delay, and when it left since the call began.
    waits: Vec<(Duration, Duration)>,
    /// Packets that left, and those with a copy or more.
    pub(crate) packets: usize,
    pub(crate) with_copies: usize,
}

impl Own {
    /// Begins stereo sound of 16 bits, so many samples a packet, beside the picture of `call`.
    pub(crate) fn begin(call: &mut Call, samples: u16) {
        let format = Format { channels: Channels::Stereo, coding: Coding::Pcm16, frames: samples };
        let (mut sender, mut receiver) = (SoundSender::new(), SoundReceiver::new());
        let ([here, there], now) = ([call.sender.path(), call.receiver.path()], call.now);
        sender.on_connected(false, here, now);
        receiver.on_connected();
        sender.on_greeted();
        sender.set_format(format, here, now);
        let offer = sender.poll_control().unwrap();
        receiver.on_control(offer, there).unwrap();
        receiver.ready(there, now);
        sender.on_control(receiver.poll_control().unwrap(), here, now).unwrap();
        assert!(sender.is_streaming() && receiver.is_streaming());
        let own = Self {
            format,
            sender,
            receiver,
            next: 1,
            begun: now,
            is_muted: false,
            waits: vec![],
            packets: 0,
            with_copies: 0,
        };
        call.own = Some(own);
    }

    /// Returns what sound of so many samples a packet takes of the line without copies.
    pub(crate) fn rate(samples: u64) -> Bitrate {
        let bytes = (common::wire::sound::SOUND_HEADER_BYTES + LOWER_LAYERS_BYTES) as u64 + 4 * samples;
        Bitrate::from_bps(8 * bytes * 48_000 / samples)
    }

    /// Returns true if a datagram is one of sound.
    pub(crate) fn is_of(&self, datagram: &[u8]) -> bool {
        Envelope::parse(datagram).is_ok_and(|envelope| envelope.stream == SOUND)
    }

    fn due(&self, number: u32) -> Timestamp {
        self.begun + Duration::from_micros(u64::from(number) * u64::from(self.format.frames) * 1_000 / 48)
    }

    /// Returns the time of the next packet.
    pub(crate) fn next_at(&self) -> Timestamp {
        self.due(self.next)
    }

    /// Returns a datagram that is due.
    pub(crate) fn poll(&mut self, path: &mut Path, now: Timestamp) -> Option<Vec<u8>> {
        if self.next_at() > now {
            return None;
        }
        let (format, number) = (self.format, self.next);
        let filled = |bytes: usize| if self.is_muted { vec![] } else { vec![7; bytes] };
        self.sender.on_packet(SoundPacket {
            number,
            format,
            capture: self.due(number - 1),
            is_muted: self.is_muted,
            level: Level(9),
            whole: filled(format.whole_bytes().unwrap()),
            adpcm: filled(adpcm::block_bytes(format.channels.count(), format.frames.into())),
            captured: Vec::new(),
        });
        self.next += 1;
        let datagram = self.sender.poll_datagram(path, now)?;
        self.packets += 1;
        self.with_copies += usize::from(SoundHeader::parse(&datagram).unwrap().0.copies > 0);
        Some(datagram)
    }

    /// Takes notice of what came out of the network.
    pub(crate) fn on_arrival(&mut self, datagram: &[u8], now: Timestamp, start: Timestamp, delay: Duration) {
        let sent = Envelope::parse(datagram).unwrap().sent();
        self.waits.push((sent.since(start), now.since(sent).saturating_sub(delay)));
    }

    /// Takes it at the receiving end.
    pub(crate) fn on_datagram(&mut self, datagram: &[u8], path: &mut Path, now: Timestamp) {
        self.receiver.on_datagram(datagram, path, now);
    }

    /// Returns the 99th percentile of the waits of what left within a time, ms.
    pub(crate) fn p99_ms(&self, from: Duration, to: Duration) -> f64 {
        let within = self.waits.iter().filter(|(at, _)| (from..to).contains(at));
        let mut waits: Vec<_> = within.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() * 99 / 100).map_or(0.0, |wait| 1e3 * wait.as_secs_f64())
    }
}
