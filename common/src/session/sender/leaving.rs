//! A frame on its way out: cut to what the network takes now, protected, paced.

use std::time::Duration;

use super::{CurrentFrame, FrameTimes, SenderSession};
use crate::coded::CodedFrame;
use crate::packetise::{Packet, packetise};
use crate::protection::PARITY_EXTRA_BYTES;
use crate::session::pacer::pacing_span;
use crate::session::rate::RateControl;
use crate::units::Timestamp;
use crate::wire::media::MediaHeader;
use crate::wire::run::coded_size;
use crate::wire::{LOWER_LAYERS_BYTES, on_wire};

/// So many of a frame's datagrams are marked as its last, so that the receiver learns of its end though one is lost.
const MARKED_LAST: usize = 2;

impl SenderSession {
    /// Takes a frame. What has not left of an older one is dropped.
    pub fn on_frame(&mut self, frame: CodedFrame, times: FrameTimes, now: Timestamp) {
        if !self.is_streaming() {
            self.counters.frames_unwanted += 1;
            return;
        }
        let id = self.next_frame;
        self.next_frame = id.next();
        let max_datagram = self.max_datagram.saturating_sub(PARITY_EXTRA_BYTES);
        let mut packets = packetise(&frame, self.coarse_blocks, max_datagram);
        let (coded_bytes, packet_count) = (coded_size(&frame), packets.len());
        packets.truncate(self.wanted(&packets));
        let is_cut = packets.len() < packet_count;
        let data_bytes: usize = packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let room = self.budget.gross().saturating_sub(data_bytes);
        let protected = self.protector.protect(packets, self.loss, room, LOWER_LAYERS_BYTES);
        self.budget.on_frame(coded_bytes, packet_count, protected.parity_wanted);
        let wire_bytes: usize = protected.packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let pace = self.rate.as_ref().map_or(self.rate_max, RateControl::pace);
        let span = Duration::from_secs_f64(8.0 * wire_bytes as f64 / pace.as_bps().max(1) as f64);
        let span = span.min(pacing_span(self.params.frame_rate.interval()));

        self.drop_unsent();
        self.pacer.start(protected.packets, now, span);
        self.current = Some(CurrentFrame { id, steps: frame.header, times, coded_bytes, is_cut });
    }

    /// The next datagram to hand to the socket at `now`.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        let current = self.current?;
        let packet = self.pacer.poll(now)?;
        let header = MediaHeader {
            sequence: self.next_sequence,
            frame: current.id,
            steps: current.steps,
            capture: current.times.capture,
            sent_offset_us: u32::try_from(now.since(current.times.capture).as_micros()).unwrap_or(u32::MAX),
            is_last: self.pacer.len() < MARKED_LAST,
            place: packet.place,
            content: packet.content,
        };
        let (datagram, is_parity) = (header.datagram(&packet.payload), packet.is_parity());
        self.next_sequence = self.next_sequence.next();
        self.sent.on_sent(on_wire(datagram.len()), now);
        if let Some(rate) = &mut self.rate {
            rate.on_sent(on_wire(datagram.len()), now);
        }
        self.counters.datagrams_sent += 1;
        self.counters.bytes_sent += datagram.len() as u64;
        if !is_parity && self.pacer.unsent() == 0 && current.is_cut {
            self.counters.frames_cut += 1;
        } else if !is_parity && self.pacer.unsent() == 0 {
            self.counters.frames_sent += 1;
            self.counters.coded_bytes += current.coded_bytes as u64;
            self.counters.last_pace = now.since(current.times.coded);
        }
        self.finish_if_drained(now);
        Some(datagram)
    }

    /// How many of a frame's datagrams may go: all, unless the target has fallen a good deal since the frame was coded,
    /// or the receiver is silent. The coarse ones always go.
    fn wanted(&self, packets: &[Packet]) -> usize {
        let coarse = packets.iter().take_while(|packet| packet.begins_before(self.coarse_blocks)).count();
        if self.rate.as_ref().is_some_and(RateControl::is_coarse_only) {
            return coarse;
        }
        let mut left = (self.budget.gross() + self.budget.gross() / 4).max(2 * on_wire(self.max_datagram));
        let fitting = packets.iter().take_while(|packet| {
            let bytes = on_wire(packet.bytes());
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        });
        fitting.count().max(coarse)
    }

    pub(super) fn drop_unsent(&mut self) {
        let dropped = self.pacer.clear();
        self.counters.datagrams_dropped += dropped.datagrams as u64;
        self.counters.frames_cut += u64::from(dropped.cuts_frame);
    }
}
