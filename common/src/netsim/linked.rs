//! Two machines between simulated networks, in steps of whoever turns them: one sends pictures that nobody sees.

use picture::coded::{CodedFrame, FrameHeader, StepIndex};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::run::coded_size;

use super::session::{ReceiverSession, SenderSession};
use super::{Network, Scenario};
use crate::stream::video::protection::Protection;
use crate::stream::video::{ArrivedFrame, FrameTimes, ReceiverEvent, ReceiverOptions, SenderEvent};
use crate::units::{Bitrate, FrameId, Timestamp};
use crate::wire::states::StatesReport;

/// Bytes of a datagram at most.
const MAX_DATAGRAM: usize = 1_200;

/// A machine that sends and one that receives, with the way back; the way there is the caller's.
#[derive(Debug)]
pub struct Linked {
    /// The one that sends.
    pub sender: SenderSession,
    receiver: ReceiverSession,
    back: Network<Vec<u8>>,
    params: StreamParams,
    /// Reports of states that have come.
    told: Vec<StatesReport>,
}

/// Returns a frame of almost so many coded bytes.
pub fn filler(params: &StreamParams, bytes: usize) -> CodedFrame {
    let blocks = BlockLayout::new(params).blocks().len();
    let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
    let mut frame = CodedFrame { reference: 0, header, ends: vec![0; blocks], data: vec![] };
    let left = bytes.saturating_sub(coded_size(&frame) + 2 * blocks);
    let each = left.div_ceil(blocks.max(1));
    frame.data = vec![1; left];
    frame.ends.iter_mut().zip(1..).for_each(|(end, count)| *end = (each * count).min(left) as u32);
    frame
}

impl Linked {
    /// Connects both at `start`; the stream takes at most `rate_max`.
    pub fn new(params: StreamParams, rate_max: Bitrate, back: impl Into<Scenario>, start: Timestamp) -> Self {
        let mut pair = Self {
            sender: SenderSession::new(params, rate_max, Protection::Auto),
            receiver: ReceiverSession::new(ReceiverOptions::default()),
            back: Network::new(back, start),
            params,
            told: Vec::new(),
        };
        pair.sender.on_connected(start, MAX_DATAGRAM);
        pair.receiver.on_connected(start);
        pair
    }

    /// Takes a datagram that has come there.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) {
        self.receiver.on_datagram(datagram, now);
    }

    /// Lets the sender hear what has come back, and lets both exchange messages.
    pub fn listen(&mut self, now: Timestamp) {
        while let Some(datagram) = self.back.pop(now) {
            self.sender.on_datagram(&datagram, now);
        }
        // What both say here is never wrong.
        while let Some(message) = self.sender.poll_control() {
            let _ = self.receiver.on_control(message, now);
        }
        while let Some(message) = self.receiver.poll_control() {
            let _ = self.sender.on_control(message, now);
        }
    }

    /// Sends a frame of so many bytes, if the stream is on.
    pub fn send(&mut self, id: FrameId, bytes: usize, now: Timestamp) {
        if self.sender.is_streaming() {
            let frame = filler(&self.params, bytes);
            self.sender.on_frame(id, &frame, FrameTimes { capture: now, coded: now }, now);
        }
    }

    /// Lets the receiver report the states that its decoder has.
    pub fn report(&mut self, report: &StatesReport) {
        self.receiver.report_states(report);
    }

    /// Returns the reports of states that have come to the sender since the last call.
    pub fn take_told(&mut self) -> Vec<StatesReport> {
        std::mem::take(&mut self.told)
    }

    /// Does what is due; returns the frames that are to be shown, and the datagrams that leave.
    pub fn turn(&mut self, now: Timestamp) -> (Vec<ArrivedFrame>, Vec<Vec<u8>>) {
        self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
        let mut shown = Vec::new();
        while let Some(event) = self.receiver.poll_event() {
            match event {
                ReceiverEvent::Start(_) => self.receiver.ready(now),
                ReceiverEvent::Frame(frame) => shown.push(frame),
                _ => {}
            }
        }
        while let Some(event) = self.sender.poll_event() {
            if let SenderEvent::States(report) = event {
                self.told.push(report);
            }
        }
        let leaving = std::iter::from_fn(|| self.sender.poll_datagram(now)).collect();
        while let Some(datagram) = self.receiver.poll_datagram(now) {
            self.back.push(datagram, now);
        }
        (shown, leaving)
    }
}
