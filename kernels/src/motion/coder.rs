//! Streams of frames that are predicted from others, or coded alone where that costs less.

use std::borrow::Cow;
use std::collections::VecDeque;

use common::coded::{BlockState, PredictedFrame, ReceivedFrame, StepIndex};
use common::params::{CodecParams, Profile, STATES_MAX, StreamParams};
use common::pyramid::BlockLayout;
use common::wire::run::{coded_size, directory_bytes, map_bytes};

use super::cost::Costs;
use super::field::Field;
use super::predictor::{Predictor, ResidualDecoder, ResidualEncoder, planes};
use super::search::Search;
use super::slice;
use crate::cpu::motion::CpuPredictor;
use crate::reference::colour;
use crate::reference::compensate::ReferencePredictor;
use crate::reference::sample::Sample;
use crate::reference::{ReferenceDecoder, ReferenceEncoder, check_picture, check_target};
use crate::{
    Backend, BackendChoice, BackendInfo, DecodeError, Decoder, EncodeError, Encoder, OpenError, Picture, PictureRef,
    Target, cpu, memory, open_decoder, open_encoder,
};

/// Why a picture cannot be predicted and coded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// It cannot be coded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Its code cannot be decoded to a state.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// How much an encoder does to find vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Units alone and joined.
    Low,
    /// Their overlap once, and cells.
    #[default]
    Medium,
    /// Their overlap twice, and a search over the picture in every frame.
    High,
}

/// How frames are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictionSettings {
    /// How many frames before a frame its reference is, 1 to [`STATES_MAX`].
    pub reference_age: u8,
    /// The search for vectors.
    pub effort: Effort,
}

/// The step that the first frame's vectors are chosen for: 8.
const FIRST_STEP: StepIndex = StepIndex::ONE.coarser_by(24);
/// The worth of a bit, in quantiser steps of absolute difference.
const STEPS_PER_BIT: f32 = 0.4;
/// Bytes of a frame's reference.
const REFERENCE_BYTES: usize = 1;
/// Side of the squares whose flatness decides whether coding a frame alone is worth trying.
const ACTIVITY_SIDE: usize = 8;

/// Encoder of a stream with prediction.
pub struct PredictedEncoder {
    params: StreamParams,
    settings: PredictionSettings,
    alone: Box<dyn Encoder>,
    residual: Box<dyn ResidualEncoder>,
    decoder: StateDecoder,
    states: States,
    last: Option<Field>,
    costs: Costs,
    step: StepIndex,
}

/// Decoder of a stream with prediction, of which every frame comes.
pub struct PredictedDecoder {
    decoder: StateDecoder,
    states: States,
    held: u64,
}

/// Decoder of frames from the states that they refer to, which its owner keeps.
pub struct StateDecoder {
    params: StreamParams,
    blocks: usize,
    alone: Box<dyn Decoder>,
    residual: Box<dyn ResidualDecoder>,
    predictor: Box<dyn Predictor>,
    damaged_slices: u64,
}

/// The last pictures, the newest one last.
struct States {
    pictures: VecDeque<Picture>,
    most: usize,
}

impl States {
    fn new(states: u8) -> Self {
        Self { pictures: VecDeque::with_capacity(states.into()), most: states.into() }
    }

    /// Keeps a state, and forgets the oldest one beyond those that may be referred to.
    fn keep(&mut self, picture: Picture) {
        if self.pictures.len() == self.most {
            self.pictures.pop_front();
        }
        self.pictures.push_back(picture);
    }

    /// The state so many frames back.
    fn get(&self, age: u8) -> Option<&Picture> {
        self.pictures.get(self.pictures.len().checked_sub(age.into())?)
    }
}

/// Opens an encoder for a stream of [`Profile::Predicted`]. It runs on the processor.
///
/// [`OpenError::WrongProfile`] for any other stream, [`OpenError::NotOnThisBackend`] if OpenCL or a device is asked for,
/// [`OpenError::ReferenceAge`] unless the stream keeps as many states as the reference is old.
pub fn open_predicted_encoder(
    params: &StreamParams,
    settings: PredictionSettings,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<PredictedEncoder, OpenError> {
    let (inner, states) = inner(params)?;
    if !(1..=states).contains(&settings.reference_age) {
        return Err(OpenError::ReferenceAge { asked: settings.reference_age, states });
    }
    let choice = on_the_processor(choice, device)?;
    let decoder = state_decoder(params, &inner, states, choice)?;
    let reason = || decoder.alone.backend().reason.clone();
    let residual: Box<dyn ResidualEncoder> = match choice {
        BackendChoice::Reference => Box::new(ReferenceEncoder::new(&inner, reason())),
        _ => Box::new(cpu::CpuEncoder::new(&inner, reason())),
    };
    let alone = open_encoder(&inner, choice, None)?;
    Ok(PredictedEncoder {
        params: *params,
        settings,
        alone,
        residual,
        decoder,
        states: States::new(states),
        last: None,
        costs: Costs::new(),
        step: FIRST_STEP,
    })
}

/// Opens a decoder for a stream of [`Profile::Predicted`]. It runs on the processor; errors as
/// [`open_predicted_encoder`], and [`OpenError::OutOfMemory`].
pub fn open_predicted_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<PredictedDecoder, OpenError> {
    let (inner, states) = inner(params)?;
    let decoder = state_decoder(params, &inner, states, on_the_processor(choice, device)?)?;
    Ok(PredictedDecoder { decoder, states: States::new(states), held: 0 })
}

/// Opens a decoder of frames of a stream of [`Profile::Predicted`] whose states its owner keeps; as [`open_predicted_decoder`].
pub fn open_state_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<StateDecoder, OpenError> {
    let (inner, states) = inner(params)?;
    state_decoder(params, &inner, states, on_the_processor(choice, device)?)
}

/// The stream without prediction, and how many states it keeps.
fn inner(params: &StreamParams) -> Result<(StreamParams, u8), OpenError> {
    match params.codec.profile {
        Profile::Predicted(states) if (1..=STATES_MAX).contains(&states) => {
            let codec = CodecParams { profile: Profile::Quad, ..params.codec };
            Ok((StreamParams { codec, ..*params }, states))
        }
        _ => Err(OpenError::WrongProfile { wanted: "quad with prediction" }),
    }
}

fn on_the_processor(choice: BackendChoice, device: Option<&str>) -> Result<BackendChoice, OpenError> {
    match (choice, device) {
        (BackendChoice::Opencl, _) | (BackendChoice::Auto, Some(_)) => Err(OpenError::NotOnThisBackend {
            backend: Backend::Opencl,
            what: "predicted frames".to_owned(),
            instead: Backend::Cpu,
        }),
        (BackendChoice::Auto | BackendChoice::Cpu, _) => Ok(BackendChoice::Cpu),
        (BackendChoice::Reference, _) => Ok(BackendChoice::Reference),
    }
}

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
    let (layout, reason) = (BlockLayout::new(inner), alone.backend().reason.clone());
    let (residual, predictor): (Box<dyn ResidualDecoder>, Box<dyn Predictor>) = match choice {
        BackendChoice::Reference => {
            (Box::new(ReferenceDecoder::new(inner, layout, reason)), Box::new(ReferencePredictor::new(chroma, size)))
        }
        _ => (Box::new(cpu::CpuDecoder::new(inner, layout, reason)), Box::new(CpuPredictor::new(chroma, size))),
    };
    let blocks = BlockLayout::new(inner).blocks().len();
    Ok(StateDecoder { params: *params, blocks, alone, residual, predictor, damaged_slices: 0 })
}

impl PredictedEncoder {
    /// Codes one picture of the stream's size, in any pixel format. A budget holds for the whole frame with its reference.
    ///
    /// The same pictures in the same order give the same bytes on every back end.
    pub fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<PredictedFrame, PredictError> {
        let age = self.settings.reference_age;
        let states = std::mem::replace(&mut self.states, States::new(0));
        let coded = self.encode_from(picture, target, states.get(age).map(|state| (age, state)));
        self.states = states;
        let (frame, state) = coded?;
        self.states.keep(state);
        Ok(frame)
    }

    /// Codes a picture as [`Self::encode`], predicted from `reference`, a state so many frames before it, unless coding it
    /// alone costs less. Returns its state, too, and keeps none.
    pub fn encode_from(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        reference: Option<(u8, &Picture)>,
    ) -> Result<(PredictedFrame, Picture), PredictError> {
        check_picture(picture, self.params.size).map_err(EncodeError::from)?;
        let predicted = match reference {
            Some((age, reference)) => self.predict(picture, target, age, reference)?,
            None => None,
        };
        let target = less(target, REFERENCE_BYTES);
        let predicted = match predicted {
            Some(predicted) => {
                let step = Target::Step(predicted.frame.frame.header.step);
                let bytes = coded_size(&predicted.frame.frame);
                let may_be_alone = self.may_be_alone(picture, &predicted.prediction);
                let is_alone = may_be_alone && coded_size(&self.alone.encode(picture, step)?) <= bytes;
                Some(predicted).filter(|_| !is_alone)
            }
            None => None,
        };
        let (frame, state) = match predicted {
            Some(predicted) => {
                self.last = Some(predicted.field);
                (predicted.frame, predicted.state)
            }
            None => {
                let frame = self.alone.encode(picture, target)?;
                let mut state = self.empty_picture();
                self.decoder.decode(&ReceivedFrame::from(&frame), None, &mut state)?;
                self.last = None;
                (PredictedFrame::new(0, &[], &frame), state)
            }
        };
        self.step = frame.frame.header.step;
        Ok((frame, state))
    }

    /// The decoder of this stream's frames, which the encoder has for itself.
    pub fn decoder(&mut self) -> &mut StateDecoder {
        &mut self.decoder
    }

    /// Sets how much is done to find vectors, from the next frame on.
    pub fn set_effort(&mut self, effort: Effort) {
        self.settings.effort = effort;
    }

    /// Returns the picture that the last frame decodes to; `None` before the first one.
    pub fn state(&self) -> Option<&Picture> {
        self.states.pictures.back()
    }

    /// Returns the back end and the device that compute.
    pub fn backend(&self) -> &BackendInfo {
        self.alone.backend()
    }

    fn empty_picture(&self) -> Picture {
        Picture::for_stream(self.params.chroma, self.params.size)
    }

    /// The frame if it is predicted; `None` if the budget does not do for vectors.
    fn predict(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        age: u8,
        reference: &Picture,
    ) -> Result<Option<Predicted>, PredictError> {
        let (chroma, size) = (self.params.chroma, self.params.size);
        self.decoder.predictor.refer(reference);
        let own = samples(picture, &self.params);
        let channels = chroma.channels().len();
        let step = if let Target::Step(step) = target { step } else { self.step };
        let search = Search {
            predictor: &*self.decoder.predictor,
            chroma,
            size,
            source: &planes(chroma, size, &own),
            reference: planes(chroma, size, reference.data())[0],
            costs: &self.costs,
            lambda: lambda(step),
            effort: self.settings.effort,
        };
        let field = search.find(self.last.as_ref());
        let slices = (0..field.layout().slices()).map(|slice| slice::encode(&field, slice, channels));
        let (slices, learnt): (Vec<_>, Vec<_>) = slices.unzip();
        let learnt: Vec<_> = learnt.into_iter().flatten().collect();
        if !learnt.is_empty() {
            self.costs = Costs::of(&learnt);
        }
        let mut prediction = self.empty_picture();
        self.decoder.predictor.compensate(&field, &mut prediction);
        let blocks = self.decoder.blocks;
        let vectors: usize = slices.iter().map(|slice| slice.len() + directory_bytes(slice.len())).sum();
        let more = map_bytes(slices.len() + blocks) - map_bytes(blocks);
        let target = less(target, REFERENCE_BYTES + vectors + more);
        let coded = match self.residual.encode_residual(picture, &prediction, target) {
            Err(EncodeError::BudgetTooSmall { .. }) => return Ok(None),
            coded => coded?,
        };
        let mut state = prediction.clone();
        self.decoder.residual.add_residual(&ReceivedFrame::from(&coded), &mut state)?;
        Ok(Some(Predicted { frame: PredictedFrame::new(age, &slices, &coded), field, prediction, state }))
    }

    /// True if coding the picture alone may be the less expensive way: unless its prediction is far nearer than squares of
    /// one sample each.
    fn may_be_alone(&self, picture: PictureRef<'_>, prediction: &Picture) -> bool {
        let own = samples(picture, &self.params);
        let (width, pixels) = (self.params.size.width(), self.params.size.pixels());
        let (own, predicted) = (&own[..pixels], &prediction.data()[..pixels]);
        let difference: u64 = own.iter().zip(predicted).map(|(&a, &b)| u64::from(a.abs_diff(b))).sum();
        let mut activity = 0;
        for rows in own.chunks(ACTIVITY_SIDE * width) {
            for left in (0..width).step_by(ACTIVITY_SIDE) {
                let square = rows.chunks(width).map(|row| &row[left..width.min(left + ACTIVITY_SIDE)]);
                let (sum, count) =
                    square.clone().flatten().fold((0, 0), |(sum, count), &s| (sum + u32::from(s), count + 1));
                let mean = (sum / count) as u8;
                activity += square.flatten().map(|&s| u64::from(s.abs_diff(mean))).sum::<u64>();
            }
        }
        2 * difference >= activity
    }
}

/// A frame coded with a reference.
struct Predicted {
    frame: PredictedFrame,
    field: Field,
    prediction: Picture,
    state: Picture,
}

/// A budget without what is spent otherwise.
fn less(target: Target, spent: usize) -> Target {
    match target {
        Target::Bytes(bytes) => Target::Bytes(bytes.saturating_sub(spent)),
        other => other,
    }
}

/// Returns the worth of a sixteenth of a bit, in parts of 256 of an absolute difference.
fn lambda(step: StepIndex) -> u64 {
    ((STEPS_PER_BIT * 256.0 / 16.0 * step.step()) as u64).max(1)
}

/// The samples of a picture as the stream keeps them.
fn samples<'a>(picture: PictureRef<'a>, params: &StreamParams) -> Cow<'a, [u8]> {
    if picture.format() == params.chroma.picture_format() {
        return Cow::Borrowed(picture.data());
    }
    Cow::Owned(colour::planes(picture, params.chroma).into_iter().flatten().map(f32::to_byte).collect())
}

impl PredictedDecoder {
    /// Decodes a frame with this reference into `out`, as [`StateDecoder::decode`].
    ///
    /// A frame whose reference is not kept is the frame before, and [`Self::held_frames`] counts it; as the first one it is
    /// grey.
    pub fn decode(&mut self, reference: u8, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        check_target(out, self.decoder.params.size, &self.decoder.params)?;
        let from = self.states.get(reference).filter(|_| reference > 0);
        if reference > 0 && from.is_none() {
            self.held += 1;
            self.show_again(out);
        } else {
            self.decoder.decode(frame, from, out)?;
        }
        self.states.keep(out.clone());
        Ok(())
    }

    /// Makes the picture of a frame that is not there: the frame before's, and its state; as the first one it is grey and has
    /// none.
    pub fn hold(&mut self, out: &mut Picture) -> Result<(), DecodeError> {
        check_target(out, self.decoder.params.size, &self.decoder.params)?;
        self.show_again(out);
        if !self.states.pictures.is_empty() {
            self.states.keep(out.clone());
        }
        Ok(())
    }

    fn show_again(&self, out: &mut Picture) {
        match self.states.pictures.back() {
            Some(last) => out.data_mut().copy_from_slice(last.data()),
            None => out.data_mut().fill(128),
        }
    }

    /// How many frames since the decoder was opened had a reference that was not there.
    pub fn held_frames(&self) -> u64 {
        self.held
    }

    /// How many blocks and slices since the decoder was opened had bytes that no encoder makes.
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
        check_target(out, self.params.size, &self.params)?;
        let Some(reference) = reference else { return self.alone.decode(frame, out) };
        let mut field = Field::new(self.params.size);
        let (slices, channels) = (field.layout().slices(), self.params.chroma.channels().len());
        if frame.block_count() != slices + self.blocks {
            return Err(DecodeError::BlockCount { wanted: slices + self.blocks, given: frame.block_count() });
        }
        for index in 0..slices {
            if let BlockState::Coded(bytes) = frame.block(index)
                && slice::decode(bytes, &mut field, index, channels).is_err()
            {
                slice::clear(&mut field, index);
                self.damaged_slices += 1;
            }
        }
        self.predictor.refer(reference);
        self.predictor.compensate(&field, out);
        let mut received = ReceivedFrame::empty(frame.header, self.blocks);
        for index in 0..self.blocks {
            match frame.block(slices + index) {
                BlockState::Missing => {}
                BlockState::Zero => _ = received.insert(index, &[]),
                BlockState::Coded(bytes) => _ = received.insert(index, bytes),
            }
        }
        self.residual.add_residual(&received, out)
    }

    /// How many blocks and slices since the decoder was opened had bytes that no encoder makes.
    pub fn damaged_blocks(&self) -> u64 {
        self.damaged_slices + self.alone.damaged_blocks() + self.residual.damaged_residuals()
    }

    /// Returns the back end and the device that compute.
    pub fn backend(&self) -> &BackendInfo {
        self.alone.backend()
    }
}
