//! `wavelet encode --loss`: predicted frames over a line that loses datagrams, as both ends of a call code and show them.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use common::netsim::Random;
use common::path::LossEstimate;
use common::stream::video::packetise::{Packet, packetise};
use common::stream::video::prediction::{HASH_EVERY, Held, References, states_of};
use common::stream::video::protection::{Protection, Protector};
use common::units::Timestamp;
use common::wire::media::Content;
use common::wire::states::StatesReport;
use kernels::{BackendInfo, Decoder, Effort, EncodeError, Encoder, Picture, PictureRef, State, Target};
use picture::coded::{BlockState, CodedFrame, ReceivedFrame};
use picture::container::ContainerWriter;
use picture::gaps::Gaps;
use picture::params::{Profile, StreamParams};
use picture::pyramid::BlockLayout;
use picture::vectors::VectorLayout;

use crate::args::ComputeArgs;
use crate::io::{Kind, Output, Writer};
use crate::options::Loss;
use crate::progress::count;
use crate::stream;

/// Bytes of a datagram, as on a path with QUIC's smallest packets.
const DATAGRAM_BYTES: usize = 1_200;

/// Returns the profile of a stream over a line: it keeps as many states as a call's.
pub(crate) fn profile(params: &StreamParams) -> Profile {
    Profile::Predicted(states_of(params.frame_rate))
}

/// Both ends of a call, and the line between them.
pub(crate) struct Call {
    params: StreamParams,
    loss: Loss,
    random: Random,
    encoder: Encoder,
    references: References<Arc<CodedFrame>, State>,
    protector: Protector,
    coarse_blocks: usize,
    slices: usize,
    decoder: Decoder,
    held: Held<State>,
    /// Reports under way, and the frames before which they come.
    reports: VecDeque<(u32, StatesReport)>,
    picture: Picture,
    shown: Option<Writer>,
    /// Bytes of parity of the last frame.
    parity_bytes: usize,
    sent: Sent,
}

/// A frame as it left the sender.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    frames: u32,
    alone: u64,
    bytes: usize,
    parity_bytes: usize,
    datagrams: usize,
    lost: usize,
    with_gaps: u64,
    not_decoded: u64,
}

impl Call {
    pub(crate) fn open(
        params: &StreamParams,
        (loss, effort): (Loss, Effort),
        shown: Option<&Path>,
        compute: &ComputeArgs,
    ) -> Result<Self> {
        let (choice, device) = (compute.backend, compute.device.as_deref());
        let mut encoder = Encoder::open(params, (choice, device))?;
        encoder.set_search(effort, None);
        let layout = BlockLayout::new(params);
        let states = params.codec.profile.states();
        let shown = shown
            .map(|path| {
                Kind::of(path, &[Kind::Y4m])?;
                Writer::create(path, stream::decoded_info(params))
            })
            .transpose()?;
        let mut picture = Picture::decoded_from(params);
        picture.data_mut().fill(128);
        Ok(Self {
            params: *params,
            random: Random::new(loss.seed),
            loss,
            encoder,
            references: References::new(states, params.frame_rate.interval()),
            protector: Protector::new(Protection::Auto, &layout),
            coarse_blocks: layout.coarse_blocks(),
            slices: VectorLayout::new(params.size).slices(),
            decoder: Decoder::open(params, (choice, device))?,
            held: Held::new(states),
            reports: VecDeque::new(),
            picture,
            shown,
            parity_bytes: 0,
            sent: Sent::default(),
        })
    }

    /// Codes a picture, and shows what comes of it. What has arrived goes to `file`, so that it decodes to what was shown.
    pub(crate) fn encode(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        explain: impl Fn(EncodeError) -> anyhow::Error,
        file: &mut ContainerWriter<Output>,
    ) -> Result<()> {
        let number = self.sent.frames;
        let now = Timestamp::from_us(u64::from(number) * self.params.frame_rate.interval().as_micros() as u64);
        while let Some((_, report)) = self.reports.pop_front_if(|(due, _)| *due <= number) {
            self.references.on_report(report, now);
        }
        let reference = self.references.next(now, &mut self.encoder)?;
        let reference = reference.as_ref().map(|(age, state)| (*age, state));
        // The parity of a frame is likely to be that of the one before.
        let budget = if let Target::Bytes(bytes) = target { Some(bytes) } else { None };
        let target = budget.map_or(target, |bytes| Target::Bytes(bytes.saturating_sub(self.parity_bytes)));
        let id = self.references.next_frame();
        let frame = Arc::new(self.encoder.encode(picture, target, reference).map_err(explain)?);
        let state = self.encoder.state()?;
        self.references.on_coded(frame.reference, Arc::clone(&frame), state, now);
        self.sent.frames += 1;
        self.sent.alone += u64::from(frame.reference == 0);
        let arrived = self.send(&frame, budget);
        let is_decoded = match arrived {
            None => false,
            Some(mut received) => {
                let gaps = Gaps::of(&mut received);
                self.sent.with_gaps += u64::from(!gaps.is_empty());
                let state = self.held.reference(id, frame.reference);
                // What a coarse block would be taken from is not known at both ends.
                let lacks_coarse = || (0..self.coarse_blocks).any(|index| received.block(index) == BlockState::Missing);
                if frame.reference > 0 && state.is_none() {
                    self.held.on_lacking(id);
                    false
                } else if frame.reference == 0 && lacks_coarse() {
                    self.held.on_not_used(id);
                    false
                } else {
                    let state = self.decoder.decode(&received, state, &mut self.picture)?;
                    let hash = id.0.is_multiple_of(HASH_EVERY).then(|| self.picture.hash());
                    self.held.on_used(id, gaps, state, hash);
                    file.received(number, frame.reference, &received)?;
                    true
                }
            }
        };
        self.sent.not_decoded += u64::from(!is_decoded);
        if let Some(shown) = &mut self.shown {
            shown.write(self.picture.data())?;
        }
        if let Some(report) = self.held.report() {
            self.reports.push_back((number + self.loss.delay, report));
        }
        Ok(())
    }

    /// Sends a frame with its parity, in `budget` bytes if there is one; returns what has arrived.
    fn send(&mut self, frame: &CodedFrame, budget: Option<usize>) -> Option<ReceivedFrame> {
        let slices = if frame.reference > 0 { self.slices } else { 0 };
        let packets = packetise(frame, slices + self.coarse_blocks, DATAGRAM_BYTES);
        let data_bytes: usize = packets.iter().map(Packet::bytes).sum();
        let room = budget.map_or(data_bytes, |budget| budget.saturating_sub(data_bytes));
        let loss = LossEstimate { share: self.loss.share, burst_mean: 1.0 };
        let protected = self.protector.protect(packets, slices, loss, room, room, 0);
        self.parity_bytes = protected.packets.iter().filter(|packet| packet.is_parity()).map(Packet::bytes).sum();
        let sent = &mut self.sent;
        sent.bytes += data_bytes + self.parity_bytes;
        sent.parity_bytes += self.parity_bytes;
        sent.datagrams += protected.packets.len();
        let fates: Vec<_> = protected.packets.iter().map(|_| self.random.chance(self.loss.share)).collect();
        sent.lost += fates.iter().filter(|is_lost| **is_lost).count();
        let both = || protected.packets.iter().zip(&fates);
        let is_mended = |packet: &Packet| {
            let of_group = || {
                both()
                    .filter(|(other, _)| other.place.map(|place| place.group) == packet.place.map(|place| place.group))
            };
            let parity = of_group().filter(|(other, _)| other.is_parity()).count();
            packet.place.is_some() && of_group().filter(|(_, is_lost)| **is_lost).count() <= parity
        };
        let mut received = ReceivedFrame::from(frame);
        let mut has_data = false;
        for (packet, &is_lost) in both().filter(|(packet, _)| !packet.is_parity()) {
            if !is_lost || is_mended(packet) {
                has_data = true;
                continue;
            }
            match packet.content {
                Content::Blocks { first, count, .. } => {
                    received.forget(first as usize..first as usize + usize::from(count));
                }
                Content::Fragment { block, .. } => received.forget(block as usize..block as usize + 1),
                Content::Parity { .. } => {}
            }
        }
        has_data.then_some(received)
    }

    /// Ends the file of what was shown; returns the number of pictures.
    pub(crate) fn finish(&mut self) -> Result<u32> {
        if let Some(shown) = self.shown.take() {
            shown.finish()?;
        }
        Ok(self.sent.frames)
    }

    pub(crate) fn backend(&self) -> &BackendInfo {
        self.encoder.backend()
    }

    /// Returns the sentences about what was sent and what became of it.
    pub(crate) fn remarks(&self) -> String {
        let (sent, counters) = (self.sent, self.references.counters());
        format!(
            ", {} without a reference; sent {} bytes, {} of them parity; {} of {} datagrams lost, {} with gaps, {} not decoded, {} replayed, \
             {} hashes right, {} wrong",
            sent.alone,
            sent.bytes,
            sent.parity_bytes,
            sent.lost,
            sent.datagrams,
            count(sent.with_gaps),
            sent.not_decoded,
            counters.replays,
            counters.matches,
            counters.mismatches,
        )
    }
}
