//! Decoders of frames that are predicted from others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use picture::coded::{BlockState, PredictedFrame, ReceivedFrame};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, STATES_MAX, StreamParams};
use picture::pyramid::BlockLayout;
use picture::replay::Replay;

use super::field::Field;
use super::group::Groups;
use super::pool::Pool;
use super::predictor::{DeviceDecoder, DeviceEncoder, Predictor, ResidualDecoder};
use super::slice;
use crate::cpu::motion::compensate::CpuPredictor;
use crate::open::{Resolved, resolve};
use crate::reference::compensate::ReferencePredictor;
use crate::reference::{ReferenceDecoder, check_target};
use crate::{
    BackendChoice, BackendInfo, CodecError, DecodeError, DecodeTimes, Decoder, OpenError, Picture, cpu,
    decoder_instead, memory, open_decoder, opencl,
};

/// Decoder of a stream with prediction, of which every frame comes.
pub struct PredictedDecoder {
    decoder: StateDecoder,
    states: States<State>,
    held: u64,
}

/// Decoder of frames from the states that they refer to, which its owner keeps.
pub struct StateDecoder {
    params: StreamParams,
    pub(super) blocks: usize,
    pub(super) groups: Groups,
    pub(super) alone: Box<dyn Decoder>,
    pub(super) residual: Box<dyn ResidualDecoder>,
    pub(super) predictor: Box<dyn Predictor>,
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

/// Returns a number that no state has.
pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The last states, the newest one last.
pub(super) struct States<S> {
    pub(super) kept: VecDeque<S>,
    most: usize,
}

impl<S> States<S> {
    pub(super) fn new(states: u8) -> Self {
        Self { kept: VecDeque::with_capacity(states.into()), most: states.into() }
    }

    /// Keeps a state, and forgets the oldest one beyond those that may be referred to.
    pub(super) fn keep(&mut self, state: S) {
        if self.kept.len() == self.most {
            self.kept.pop_front();
        }
        self.kept.push_back(state);
    }

    /// The state so many frames back.
    pub(super) fn get(&self, age: u8) -> Option<&S> {
        self.kept.get(self.kept.len().checked_sub(age.into())?)
    }
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

/// Opens a decoder for a stream of [`Profile::Predicted`], as [`open_state_decoder`].
pub fn open_predicted_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<PredictedDecoder, OpenError> {
    let (decoder, states) = open(params, choice, device, opencl::open_predicted_decoder)?;
    Ok(PredictedDecoder { decoder, states: States::new(states), held: 0 })
}

/// Opens a decoder of frames of a stream of [`Profile::Predicted`] whose states its owner keeps; `choice` and `device` as in
/// [`open_decoder`]. If its device is lost later, the processor goes on with the same states, and [`StateDecoder::backend`] says so.
///
/// [`OpenError::WrongProfile`] for any other stream.
pub fn open_state_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<StateDecoder, OpenError> {
    Ok(open(params, choice, device, opencl::open_predicted_decoder)?.0)
}

/// Opens what computes on a device, for a stream without prediction and so many states; the last argument says why it was chosen.
type OpenDevice = fn(&StreamParams, u8, Option<&str>, String) -> Result<Box<dyn DeviceDecoder>, OpenError>;

/// Opens the decoder, and returns the number of states that the stream keeps.
pub(super) fn open(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
    open_device: OpenDevice,
) -> Result<(StateDecoder, u8), OpenError> {
    let (inner, states) = inner(params)?;
    let (resolved, reason) = resolve(choice, device)?;
    let decoder = match resolved {
        Resolved::Cpu => {
            let decoder = state_decoder(params, &inner, states, BackendChoice::Cpu)?;
            StateDecoder { backend: BackendInfo { reason, ..decoder.backend }, ..decoder }
        }
        Resolved::Reference => state_decoder(params, &inner, states, BackendChoice::Reference)?,
        Resolved::Opencl(device) => {
            let alone = open_decoder(&inner, BackendChoice::Opencl, device.as_deref())?;
            let predicted = open_device(&inner, states, device.as_deref(), reason)?;
            let backend = predicted.backend().clone();
            let processor = state_decoder(params, &inner, states, BackendChoice::Cpu)?;
            StateDecoder { alone, device: Some(predicted), backend, ..processor }
        }
    };
    Ok((decoder, states))
}

/// Opens a decoder of the processor or of the reference.
fn state_decoder(
    params: &StreamParams,
    inner: &StreamParams,
    states: u8,
    choice: BackendChoice,
) -> Result<StateDecoder, OpenError> {
    let (chroma, size) = (params.chroma, params.size);
    // States, and a few planes of samples between samples and of coefficients.
    memory::check((u64::from(states) + 16) * chroma.picture_format().bytes(size) as u64)?;
    let alone = open_decoder(inner, choice, None)?;
    let (layout, backend) = (BlockLayout::new(inner), alone.backend().clone());
    let reason = backend.reason.clone();
    let (residual, predictor): (Box<dyn ResidualDecoder>, Box<dyn Predictor>) = match choice {
        BackendChoice::Reference => {
            (Box::new(ReferenceDecoder::new(inner, layout, reason)), Box::new(ReferencePredictor::new(chroma, size)))
        }
        _ => (Box::new(cpu::CpuDecoder::new(inner, layout, reason)), Box::new(CpuPredictor::new(chroma, size))),
    };
    let blocks = BlockLayout::new(inner).blocks().len();
    Ok(StateDecoder {
        params: *params,
        blocks,
        groups: Groups::new(inner),
        alone,
        residual,
        predictor,
        pool: Pool::new(params, states),
        referred: None,
        device: None,
        damaged_before: 0,
        damaged_here: 0,
        times: DecodeTimes::default(),
        backend,
    })
}

impl PredictedDecoder {
    /// Decodes a frame with this reference into `out`, as [`StateDecoder::decode`].
    ///
    /// A frame whose reference is not kept is the frame before, and [`Self::held_frames`] counts it; as the first one it is
    /// grey.
    pub fn decode(&mut self, reference: u8, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        check_target(out, self.decoder.params.size, &self.decoder.params)?;
        let from = self.states.get(reference).filter(|_| reference > 0);
        let state = if reference > 0 && from.is_none() {
            self.held += 1;
            self.show_again(out)
        } else {
            self.decoder.decode_state(frame, from, out)?
        };
        self.states.keep(state);
        Ok(())
    }

    /// Makes the picture of a frame that is not there: the frame before's, and its state; as the first one it is grey and has
    /// none.
    pub fn hold(&mut self, out: &mut Picture) -> Result<(), DecodeError> {
        check_target(out, self.decoder.params.size, &self.decoder.params)?;
        let state = self.show_again(out);
        if !self.states.kept.is_empty() {
            self.states.keep(state);
        }
        Ok(())
    }

    /// Makes the picture of the frame before, or a grey one; returns its state.
    fn show_again(&self, out: &mut Picture) -> State {
        if let Some(last) = self.states.kept.back() {
            out.data_mut().copy_from_slice(last.picture().data());
            return last.clone();
        }
        out.data_mut().fill(128);
        State::new(out.clone())
    }

    /// Returns the number of frames since the decoder was opened whose reference was not there.
    pub fn held_frames(&self) -> u64 {
        self.held
    }

    /// Returns the number of blocks, slices and groups since the decoder was opened that had bytes which no encoder makes.
    pub fn damaged_blocks(&self) -> u64 {
        self.decoder.damaged_blocks()
    }

    /// Returns the back end and the device that compute.
    pub fn backend(&self) -> &BackendInfo {
        self.decoder.backend()
    }
}

impl StateDecoder {
    /// Decodes a frame into `out`, as [`Decoder::decode`] does if there is no reference.
    ///
    /// With one, the frame has the slices of vectors and then the blocks: a slice that is missing or damaged rests, a block
    /// adds nothing.
    pub fn decode(
        &mut self,
        frame: &ReceivedFrame,
        reference: Option<&Picture>,
        out: &mut Picture,
    ) -> Result<(), DecodeError> {
        let reference = reference.map(|picture| (next_number(), picture));
        self.decode_as(next_number(), frame, reference, out)
    }

    /// Decodes as [`Self::decode`] and returns the frame's state. A device has the states of the last frames already.
    pub fn decode_state(
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
            // The device of predicted frames is the same one.
            if self.device.is_some() && !self.alone.backend().is_device() {
                self.give_up(self.alone.backend().reason.clone());
            }
            return Ok(());
        };
        check_target(reference.1, self.params.size, &self.params)?;
        let start = Instant::now();
        let mut field = Field::new(self.params.size);
        let (slices, channels) = (field.layout().slices(), self.params.chroma.channels().len());
        if frame.block_count() != slices + self.blocks {
            return Err(DecodeError::BlockCount { wanted: slices + self.blocks, given: frame.block_count() });
        }
        let split = Groups::has_groups(frame, slices).then(|| self.groups.split(frame, slices));
        self.damaged_here += split.as_ref().map_or(0, |(_, damaged)| *damaged);
        // A device decodes blocks while the vectors are read here.
        let (blocks, before) = split.as_ref().map_or((frame, slices), |(split, _)| (split, 0));
        let started = self.device.as_mut().map_or(Ok(()), |device| device.start(blocks, before));
        for index in 0..slices {
            if let BlockState::Coded(bytes) = frame.block(index)
                && slice::decode(bytes, &mut field, index, channels).is_err()
            {
                slice::clear(&mut field, index);
                self.damaged_here += 1;
            }
        }
        if let Some(device) = &mut self.device {
            match started.and_then(|()| device.finish(&field, reference, number, out)) {
                Err(error) if error.is_of_device() => {
                    let reason = device.backend().given_up(&error);
                    self.give_up(reason);
                }
                decoded => {
                    self.times = device.times();
                    return decoded;
                }
            }
        }
        let received = split.map_or_else(|| behind(frame, slices), |(split, _)| split);
        let (vectors, start) = (start.elapsed(), Instant::now());
        self.refer(reference);
        self.predictor.compensate(&field, out);
        let compensate = start.elapsed();
        self.residual.add_residual(&received, out)?;
        let times = self.residual.times();
        self.times = DecodeTimes { decode: vectors + times.decode, compensate, ..times };
        Ok(())
    }

    /// Makes ready for a frame that refers to `state`, which then takes less time. A device needs nothing.
    pub fn expect(&mut self, state: &State) {
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

    /// Returns the encoder on the device that has the same states, if there is one.
    pub(super) fn encoder(&mut self) -> Option<&mut dyn DeviceEncoder> {
        self.device.as_mut()?.encoder()
    }

    /// Goes on without the device, if there is one: no later frame calls its driver.
    pub(super) fn give_up(&mut self, reason: String) {
        if let Some(device) = self.device.take() {
            self.damaged_before = device.damaged_blocks() + self.alone.damaged_blocks();
            self.alone = decoder_instead(&without_prediction(&self.params), reason.clone());
            self.backend = BackendInfo { reason, ..self.residual.backend().clone() };
        }
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> DecodeTimes {
        self.times
    }

    /// Returns the number of blocks, slices and groups since the decoder was opened that had bytes which no encoder makes.
    pub fn damaged_blocks(&self) -> u64 {
        let device = self.device.as_ref().map_or(self.damaged_before, |device| device.damaged_blocks());
        self.damaged_here + self.alone.damaged_blocks() + self.residual.damaged_blocks() + device
    }

    /// Returns the back end and the device that compute.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
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

/// The decoder of a receiver, at its sender.
impl Replay<PredictedFrame, State> for StateDecoder {
    type Error = DecodeError;

    fn replay(&mut self, frame: &PredictedFrame, gaps: &Gaps, reference: Option<&State>) -> Result<State, DecodeError> {
        let mut received = ReceivedFrame::from(&frame.frame);
        gaps.cut(&mut received);
        let (number, mut picture) = (next_number(), self.pool.take());
        let reference = reference.map(|state| (state.number, state.picture()));
        self.decode_as(number, &received, reference, &mut picture)?;
        Ok(State::known_as(number, self.pool.hold(picture)))
    }

    fn hash(&self, state: &State) -> u32 {
        state.picture().hash()
    }
}
