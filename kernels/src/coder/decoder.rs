//! The decoder of frames that are predicted from others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use picture::coded::{BlockState, CodedFrame, ReceivedFrame};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, STATES_MAX, StreamParams};
use picture::pyramid::BlockLayout;

use super::group::Groups;
use super::pool::Pool;
use super::slice;
use super::voice::Voice;
use crate::fallback::{Replaceable, decoder_instead};
use crate::motion::dering::Dering;
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceDecoder, DeviceEncoder, ResidualDecoder};
use crate::open::{Resolved, open_decoder, resolve};
use crate::reference::{ReferenceDecoder, check_target};
use crate::{
    BackendChoice, BackendInfo, DecodeError, DecodeTimes, FrameDecoder, OpenError, Picture, cpu, memory, opencl,
};

/// Decoder of frames from the states that they refer to, which its owner keeps.
pub(crate) struct StateDecoder {
    params: StreamParams,
    pub(super) blocks: usize,
    pub(super) groups: Groups,
    pub(super) alone: Box<dyn FrameDecoder>,
    pub(super) residual: Box<dyn ResidualDecoder>,
    pub(super) predictor: Box<Voice>,
    pub(super) pool: Pool,
    /// Number of the state that it predicts from.
    referred: Option<u64>,
    /// A device that computes instead of these two, until it is lost.
    device: Option<Box<dyn DeviceDecoder>>,
    /// Damaged blocks that were counted on the device before it was lost.
    damaged_before: u64,
    /// Of slices and groups.
    damaged_here: u64,
    times: DecodeTimes,
    backend: BackendInfo,
}

/// A picture that frames may refer to, with a number of its own, by which a device knows the states that it has already.
/// States are equal if their pictures are.
#[derive(Clone, Debug)]
pub struct State {
    picture: Arc<Picture>,
    number: u64,
}

impl State {
    /// Creates the state of a picture of the stream, planar and of its size.
    pub fn new(picture: Picture) -> Self {
        Self::known_as(next_number(), Arc::new(picture))
    }

    /// Creates the state of a picture that a device knows by this number.
    pub(super) fn known_as(number: u64, picture: Arc<Picture>) -> Self {
        Self { picture, number }
    }

    /// Returns its picture.
    pub fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Returns its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number || self.picture == other.picture
    }
}

/// Returns a number that no state has.
pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns the stream without prediction and the number of states that it keeps.
pub(super) fn inner(params: &StreamParams) -> Result<(StreamParams, u8), OpenError> {
    match params.codec.profile {
        Profile::Predicted(states) if (1..=STATES_MAX).contains(&states) => Ok((without_prediction(params), states)),
        _ => Err(OpenError::WrongProfile { wanted: "quad with prediction" }),
    }
}

/// Returns the stream of the same pictures without prediction.
pub(super) fn without_prediction(params: &StreamParams) -> StreamParams {
    StreamParams { codec: CodecParams { profile: Profile::Quad, ..params.codec }, ..*params }
}

/// Opens a decoder of frames of a stream of [`Profile::Predicted`]; `choice` and `device` as in [`open_decoder`].
///
/// [`OpenError::WrongProfile`] for any other stream.
pub(crate) fn open_state_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<StateDecoder, OpenError> {
    open(params, choice, device, opencl::open_predicted_decoder)
}

/// Opens what computes on a device, for a stream without prediction and so many states; the last argument says why it was chosen.
pub(super) type OpenDevice = fn(&StreamParams, u8, Option<&str>, String) -> Result<Box<dyn DeviceDecoder>, OpenError>;

/// Opens the decoder, with what `open_device` opens on a device.
pub(super) fn open(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
    open_device: OpenDevice,
) -> Result<StateDecoder, OpenError> {
    let (inner, states) = inner(params)?;
    let (resolved, reason) = resolve(choice, device)?;
    // States, and a few planes of samples between samples and of coefficients.
    memory::check((u64::from(states) + 16) * params.chroma.picture_format().bytes(params.size) as u64)?;
    Ok(match resolved {
        Resolved::Cpu => {
            // Refuses what it cannot do.
            let alone = open_decoder(&inner, 0, BackendChoice::Cpu, None)?;
            StateDecoder { alone, ..on_the_processor(params, reason) }
        }
        Resolved::Reference => {
            let alone = open_decoder(&inner, 0, BackendChoice::Reference, None)?;
            let (layout, backend) = (BlockLayout::new(&inner), alone.backend().clone());
            let residual = Box::new(ReferenceDecoder::new(&inner, layout, reason));
            let predictor = Voice::reference(params.chroma, params.size);
            state_decoder(params, alone, residual, predictor, backend)
        }
        Resolved::Opencl(device) => {
            let alone = open_decoder(&inner, 0, BackendChoice::Opencl, device.as_deref())?;
            let predicted = open_device(&inner, states, device.as_deref(), reason.clone())?;
            let backend = predicted.backend().clone();
            StateDecoder { alone, device: Some(predicted), backend, ..on_the_processor(params, reason) }
        }
    })
}

/// Opens the decoder of the processor, for this reason.
pub(crate) fn on_the_processor(params: &StreamParams, reason: String) -> StateDecoder {
    let (inner, layout) = (without_prediction(params), BlockLayout::new(params));
    let residual = Box::new(cpu::CpuDecoder::new(&inner, layout.clone(), reason.clone()));
    let predictor = Voice::cpu(params.chroma, params.size);
    let backend = residual.backend().clone();
    state_decoder(params, decoder_instead(&inner, layout, reason), residual, predictor, backend)
}

fn state_decoder(
    params: &StreamParams,
    alone: Box<dyn FrameDecoder>,
    residual: Box<dyn ResidualDecoder>,
    voice: Voice,
    backend: BackendInfo,
) -> StateDecoder {
    let inner = &without_prediction(params);
    StateDecoder {
        params: *params,
        blocks: BlockLayout::new(inner).blocks().len(),
        groups: Groups::new(inner),
        alone,
        residual,
        predictor: Box::new(voice),
        pool: Pool::new(params, params.codec.profile.states()),
        referred: None,
        device: None,
        damaged_before: 0,
        damaged_here: 0,
        times: DecodeTimes::default(),
        backend,
    }
}

impl StateDecoder {
    /// Decodes a frame into `out`, as [`FrameDecoder::decode`] does if there is no reference, and returns its state. A device
    /// has the states of the last frames already.
    ///
    /// With a reference, the frame has the slices of vectors and then the blocks: a slice that is missing or damaged rests,
    /// a block adds nothing.
    pub(crate) fn decode(
        &mut self,
        frame: &ReceivedFrame,
        reference: Option<&State>,
        out: &mut Picture,
    ) -> Result<State, DecodeError> {
        let number = next_number();
        self.decode_as(number, frame, reference.map(|state| (state.number, state.picture())), out)?;
        let mut picture = self.pool.take();
        picture.data_mut().copy_from_slice(out.data());
        Ok(State::known_as(number, self.pool.hold(picture)))
    }

    /// Decodes a frame that was coded here as its receiver does, to whom `gaps` are missing.
    pub(crate) fn replay(
        &mut self,
        frame: &CodedFrame,
        gaps: &Gaps,
        reference: Option<&State>,
    ) -> Result<State, DecodeError> {
        let mut received = ReceivedFrame::from(frame);
        gaps.cut(&mut received);
        let (number, mut picture) = (next_number(), self.pool.take());
        let reference = reference.map(|state| (state.number, state.picture()));
        match self.decode_as(number, &received, reference, &mut picture) {
            Ok(()) => Ok(State::known_as(number, self.pool.hold(picture))),
            Err(error) => {
                self.pool.give_back(picture);
                Err(error)
            }
        }
    }

    fn decode_as(
        &mut self,
        number: u64,
        frame: &ReceivedFrame,
        reference: Option<(u64, &Picture)>,
        out: &mut Picture,
    ) -> Result<(), DecodeError> {
        check_target(out, self.params.size, &self.params)?;
        let Some(reference) = reference else {
            self.alone.decode(frame, out)?;
            self.times = self.alone.times();
            return Ok(());
        };
        check_target(reference.1, self.params.size, &self.params)?;
        let start = Instant::now();
        let (mut field, mut dering) = (Field::new(self.params.size), Dering::none(self.params.size));
        let (slices, channels) = (field.layout().slices(), self.params.chroma.channels().len());
        if frame.block_count() != slices + self.blocks {
            return Err(DecodeError::BlockCount { wanted: slices + self.blocks, given: frame.block_count() });
        }
        let split = Groups::has_groups(frame, slices).then(|| self.groups.split(frame, slices));
        let mut damaged = split.as_ref().map_or(0, |(_, damaged)| *damaged);
        // A device decodes blocks while the vectors are read here.
        let (blocks, before) = split.as_ref().map_or((frame, slices), |(split, _)| (split, 0));
        let started = self.device.as_mut().map_or(Ok(()), |device| device.start(blocks, before));
        for index in 0..slices {
            if let BlockState::Coded(bytes) = frame.block(index)
                && slice::decode(bytes, &mut field, &mut dering, index, channels).is_err()
            {
                slice::clear(&mut field, &mut dering, index);
                damaged += 1;
            }
        }
        if let Some(device) = &mut self.device {
            started.and_then(|()| device.finish((&field, &dering), reference, number, out))?;
            self.times = device.times();
            self.damaged_here += damaged;
            return Ok(());
        }
        self.damaged_here += damaged;
        let received = split.map_or_else(|| behind(frame, slices), |(split, _)| split);
        let (vectors, start) = (start.elapsed(), Instant::now());
        self.refer(reference);
        self.predictor.compensate(&field, None, out);
        let compensate = start.elapsed();
        self.residual.add_residual(&received, out)?;
        self.predictor.dering(&dering, out);
        let times = self.residual.times();
        self.times = DecodeTimes { decode: vectors + times.decode, compensate, ..times };
        Ok(())
    }

    /// Makes ready for a frame that refers to `state`, which then takes less time. A device needs nothing.
    pub(crate) fn expect(&mut self, state: &State) {
        if self.device.is_none() {
            self.refer((state.number, state.picture()));
        }
    }

    /// Predicts from a state of this number from now on.
    pub(super) fn refer(&mut self, (number, picture): (u64, &Picture)) {
        if self.referred.replace(number) != Some(number) {
            self.predictor.refer(picture);
        }
    }

    /// Takes a picture back that became no state.
    pub(super) fn give_back(&mut self, picture: Picture) {
        self.pool.give_back(picture);
    }

    /// Returns the encoder on the device that has the same states, if there is one.
    pub(super) fn encoder(&mut self) -> Option<&mut dyn DeviceEncoder> {
        self.device.as_mut()?.encoder()
    }

    /// Returns the duration of each stage of the last frame.
    pub(crate) fn times(&self) -> DecodeTimes {
        self.times
    }

    /// Returns the number of blocks, slices and groups since the decoder was opened that had bytes which no encoder makes.
    pub(crate) fn damaged_blocks(&self) -> u64 {
        let device = self.device.as_ref().map_or(self.damaged_before, |device| device.damaged_blocks());
        self.damaged_here + self.alone.damaged_blocks() + self.residual.damaged_blocks() + device
    }
}

impl Replaceable for StateDecoder {
    fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    fn give_up(&mut self, reason: String) {
        if let Some(device) = self.device.take() {
            self.damaged_before = device.damaged_blocks() + self.alone.damaged_blocks();
            let inner = without_prediction(&self.params);
            self.alone = decoder_instead(&inner, BlockLayout::new(&inner), reason.clone());
            self.backend = BackendInfo { reason, ..self.residual.backend().clone() };
        }
    }
}

/// Returns the blocks of a frame behind its slices.
fn behind(frame: &ReceivedFrame, slices: usize) -> ReceivedFrame {
    let count = frame.block_count() - slices;
    let mut blocks = ReceivedFrame::empty(frame.header, count);
    for index in 0..count {
        match frame.block(slices + index) {
            BlockState::Missing => {}
            BlockState::Zero => _ = blocks.insert(index, &[]),
            BlockState::Coded(bytes) => _ = blocks.insert(index, bytes),
        }
    }
    blocks
}
