//! Encoders of frames that are predicted from others, or coded alone where that costs less.
//!
//! Vectors are found here, on the processor, or by a device that looks for them itself: a field of them is what a voice or a device
//! codes a frame with.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::gaps::Gaps;
use picture::params::StreamParams;
use picture::run::{coded_size, coded_size_as, directory_bytes, map_bytes};
use rayon::prelude::*;

use super::cost::Costs;
use super::decoder::{OpenDevice, State, StateDecoder, inner, next_number, on_the_processor, open, without_prediction};
use super::dering::chosen;
use super::proven::{Proven, distances};
use super::search::{Effort, Overlapped, Search};
use super::slice;
use crate::cpu::colour;
use crate::cpu::motion::planes::Bordered;
use crate::fallback::Replaceable;
use crate::motion::dering::{Dering, Gains};
use crate::motion::field::Field;
use crate::motion::predictor::{AloneEncoder, ResidualEncoder, planes};
use crate::motion::search::Wanted;
use crate::reference::{ReferenceEncoder, check_picture};
use crate::threads;
use crate::{
    Backend, BackendChoice, BackendInfo, DecodeError, EncodeError, EncodeTimes, OpenError, Picture, PictureRef, Target,
    cpu, opencl,
};

/// The step that the first frame's vectors are chosen for: 8.
const FIRST_STEP: StepIndex = StepIndex::ONE.coarser_by(24);
/// The worth of a bit, in quantiser steps of absolute difference.
const STEPS_PER_BIT: f32 = 0.4;
/// The finest step of a predicted frame with a budget, 2, which leaves some 50 dB: what is finer corrects rounding, and a
/// picture that stands still would never be done.
const FINEST_STEP: StepIndex = StepIndex::ONE.coarser_by(8);
/// Most steps between it and the last frame's step for it to be tried first.
const NEAR_FINEST: u8 = 4;
/// The most bytes of blocks coded alone that are joined, of each 80 samples of luma: 0.3 bits a sample. Beyond it joining spares
/// little and takes long.
const JOINED_MOST: usize = 3;
/// The most bytes of a frame, of each 160 samples of luma, whose blocks are joined with low effort or less: 0.05 bits a sample. Beyond it
/// joining spares 2 to 4 % and takes an eighth to a third of the frame's time, a quarter of the receiver's.
const JOINED_MOST_LOW: usize = 1;
/// Parts in which a share of bytes is counted.
const SHARE: usize = 1024;
/// Part of the bytes that joining spared in the last frame that is kept in hand: so many of [`SHARE`] of all.
const IN_HAND: usize = 16;
/// Bytes of a frame's reference.
const REFERENCE_BYTES: usize = 1;

/// Encoder of a stream with prediction. What refers to what is its owner's to say.
pub(crate) struct PredictedEncoder {
    params: StreamParams,
    effort: Effort,
    alone: Box<dyn AloneEncoder>,
    /// Codes what is left of pictures, unless a device does.
    residual: Box<dyn ResidualEncoder>,
    /// Has the device, if there is one, with its encoder.
    decoder: StateDecoder,
    last: Option<Field>,
    costs: Costs,
    step: StepIndex,
    /// Bytes of the last frame's blocks alone, of [`SHARE`] of them joined.
    spread: usize,
    /// Gains of the last state, by which the next frame's squares are chosen; empty if they are not known.
    gains: Vec<Gains>,
    search_time: Option<Duration>,
    /// The luma of a picture that is searched.
    source: Bordered,
    overlapped: Overlapped,
    times: EncodeTimes,
    vectors_to_bytes: Duration,
    /// The frame that was coded last, until its state has been computed.
    unfinished: Option<Unfinished>,
    /// Its state, if that was computed for something else before it was asked for.
    finished: Option<State>,
    proven: Proven,
    finished_in: Duration,
}

/// Opens an encoder for a stream of [`picture::params::Profile::Predicted`]; `choice` and `device` as in
/// [`crate::open::open_encoder`].
///
/// [`OpenError::WrongProfile`] for any other stream.
pub(crate) fn open_predicted_encoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<PredictedEncoder, OpenError> {
    open_with(params, choice, device, opencl::open_predicted_encoder)
}

/// Opens the same with what `open_device` opens on a device.
pub(crate) fn open_with(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
    open_device: OpenDevice,
) -> Result<PredictedEncoder, OpenError> {
    let (inner, _) = inner(params)?;
    let decoder = open(params, choice, device, open_device)?;
    let backend = decoder.backend();
    let reason = || backend.reason.clone();
    let alone: Box<dyn AloneEncoder> = match backend.kind {
        Backend::Reference => Box::new(ReferenceEncoder::new(&inner, reason())),
        Backend::Cpu => Box::new(cpu::CpuEncoder::new(&inner, reason())),
        Backend::Opencl => opencl::open_alone_encoder(&inner, device, reason())?,
    };
    let residual: Box<dyn ResidualEncoder> = match backend.kind {
        Backend::Reference => Box::new(ReferenceEncoder::new(&inner, reason())),
        Backend::Cpu | Backend::Opencl => Box::new(cpu::CpuEncoder::new(&inner, reason())),
    };
    Ok(predicted_encoder(params, alone, residual, decoder))
}

/// Opens the encoder of the processor, for this reason.
pub(crate) fn encoder_on_the_processor(params: &StreamParams, reason: String) -> PredictedEncoder {
    let inner = without_prediction(params);
    let [alone, residual] = [0; 2].map(|_| Box::new(cpu::CpuEncoder::new(&inner, reason.clone())));
    predicted_encoder(params, alone, residual, on_the_processor(params, reason))
}

fn predicted_encoder(
    params: &StreamParams,
    alone: Box<dyn AloneEncoder>,
    residual: Box<dyn ResidualEncoder>,
    decoder: StateDecoder,
) -> PredictedEncoder {
    PredictedEncoder {
        params: *params,
        effort: Effort::default(),
        alone,
        residual,
        decoder,
        last: None,
        costs: Costs::new(),
        step: FIRST_STEP,
        spread: SHARE,
        gains: Vec::new(),
        search_time: None,
        source: Bordered::new(params.size),
        overlapped: Overlapped::new(params.size),
        times: EncodeTimes::default(),
        vectors_to_bytes: Duration::ZERO,
        unfinished: None,
        finished: None,
        proven: Proven::NOTHING,
        finished_in: Duration::ZERO,
    }
}

impl Replaceable for PredictedEncoder {
    fn backend(&self) -> &BackendInfo {
        self.decoder.backend()
    }

    fn give_up(&mut self, reason: String) {
        self.alone = Box::new(cpu::CpuEncoder::new(&without_prediction(&self.params), reason.clone()));
        self.decoder.give_up(reason);
        // What the device has of it is lost: it is decoded.
        let made = self.unfinished.as_mut().and_then(|unfinished| unfinished.made.take());
        made.into_iter().for_each(|made| self.decoder.give_back(made.picture));
    }
}

impl PredictedEncoder {
    /// Codes one picture of the stream's size, in any pixel format, predicted from `reference`, a state so many frames before
    /// it, unless coding it alone costs less. A budget holds for the whole frame with its reference. A device has the states
    /// of the last frames already.
    ///
    /// The same pictures in the same order give the same bytes on every back end, unless the search has a limit of time.
    pub(crate) fn encode(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        reference: Option<(u8, &State)>,
    ) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        self.forget_unfinished();
        let costs = self.costs.clone();
        let (frame, made) = match self.encode_once(picture, target, reference) {
            Err(error) => {
                // For the same picture again, on the processor.
                self.costs = costs;
                return Err(error);
            }
            coded => coded?,
        };
        let reference = reference.filter(|_| frame.reference > 0).map(|(_, state)| state.clone());
        let number = next_number();
        self.unfinished = Some(Unfinished { number, frame: frame.clone(), reference, made });
        Ok(frame)
    }

    /// Codes a picture alone, as no frame of the stream: vectors, costs and steps that the next frame begins with stay as they are.
    pub(crate) fn encode_apart(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        let start = Instant::now();
        let frame = self.alone.encode(picture, less(target, REFERENCE_BYTES))?;
        self.times = self.alone.times();
        let EncodeTimes { upload, transform, .. } = self.times;
        self.times.code = start.elapsed().saturating_sub(upload + transform);
        Ok(frame)
    }

    /// Computes the state of the frame coded last, and makes ready for a frame that refers to it; none if that has been done
    /// already, or there is no such frame. That of a frame coded alone is decoded.
    pub(crate) fn finish(&mut self) -> Result<Option<State>, DecodeError> {
        let start = Instant::now();
        if let Some(state) = self.finished.take() {
            return Ok(Some(state));
        }
        let Some(unfinished) = &mut self.unfinished else { return Ok(None) };
        let (number, made) = (unfinished.number, unfinished.made.take());
        let state = match made {
            Some(made) => self.state_of(number, made)?,
            None => {
                let Some(Unfinished { frame, reference, .. }) = &self.unfinished else { return Ok(None) };
                self.decoder.replay(frame, &Gaps::default(), reference.as_ref())?
            }
        };
        self.unfinished = None;
        if self.effort > Effort::Still && !self.device_looks() {
            self.decoder.refer((state.number(), state.picture()));
        }
        self.finished_in = start.elapsed();
        Ok(Some(state))
    }

    /// Decodes a frame again, as its receiver does, to whom `gaps` are missing.
    pub(crate) fn replay(
        &mut self,
        frame: &CodedFrame,
        gaps: &Gaps,
        reference: Option<&State>,
    ) -> Result<State, DecodeError> {
        // On a device it uses the same memory.
        if let Some(state) = self.finish()? {
            self.finished = Some(state);
        }
        self.decoder.replay(frame, gaps, reference)
    }

    /// Makes no state of the frame coded last.
    fn forget_unfinished(&mut self) {
        self.finished = None;
        let made = self.unfinished.take().and_then(|unfinished| unfinished.made);
        made.into_iter().for_each(|made| self.decoder.give_back(made.picture));
    }

    fn encode_once(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        reference: Option<(u8, &State)>,
    ) -> Result<(CodedFrame, Option<Made>), EncodeError> {
        let start = Instant::now();
        self.times = EncodeTimes::default();
        self.vectors_to_bytes = Duration::ZERO;
        let predicted = match reference {
            Some(reference) => self.predict(picture, target, reference)?,
            None => None,
        };
        let predicted = match predicted {
            Some(predicted) => {
                let step = predicted.frame.header.step;
                let bytes = coded_size(&predicted.frame);
                let may_be_alone = self.proven.may_be_alone(predicted.distances, step);
                let is_alone = may_be_alone && self.alone.fits(picture, step, bytes)?;
                if may_be_alone {
                    self.proven.on_tried(predicted.distances, step, is_alone);
                }
                if is_alone {
                    self.decoder.give_back(predicted.made.picture);
                    None
                } else {
                    Some(predicted)
                }
            }
            None => None,
        };
        let before = self.times;
        let (frame, made) = match predicted {
            Some(Predicted { frame, made, field, .. }) => {
                // What moved goes on to do so once it is looked for again.
                if self.effort > Effort::Still {
                    self.last = Some(field);
                }
                (frame, Some(made))
            }
            None => {
                let frame = self.code_alone(picture, target)?;
                let stages = self.times;
                let (upload, transform) = (before.upload + stages.upload, before.transform + stages.transform);
                self.times = EncodeTimes { upload, transform, device: stages.device, ..before };
                (frame, None)
            }
        };
        self.step = frame.header.step;
        let EncodeTimes { upload, motion, compensate, transform, .. } = self.times;
        self.times.code = start.elapsed().saturating_sub(upload + motion + compensate + transform);
        Ok((frame, made))
    }

    fn code_alone(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        let frame = self.alone.encode(picture, less(target, REFERENCE_BYTES))?;
        self.times = self.alone.times();
        (self.last, self.proven) = (None, Proven::NOTHING);
        self.gains.clear();
        self.step = frame.header.step;
        Ok(frame)
    }

    /// Returns the duration of each stage of the last frame.
    pub(crate) fn times(&self) -> EncodeTimes {
        self.times
    }

    /// Returns how long the last frame took from its vectors to its bytes, the vectors' own among them, without the state that comes
    /// of it; zero unless it has a reference.
    pub(crate) fn vectors_to_bytes(&self) -> Duration {
        self.vectors_to_bytes
    }

    /// Returns how long the last state took.
    pub(crate) fn finished_in(&self) -> Duration {
        self.finished_in
    }

    /// Sets how much is done to find vectors, and the time in which they are looked for, from the next frame on; without a limit
    /// frames are the same on every machine, and with one a graphics card looks for them itself. What is left then takes the best vectors at hand, which takes a part of the
    /// search's time, too.
    pub(crate) fn set_search(&mut self, effort: Effort, limit: Option<Duration>) {
        (self.effort, self.search_time) = (effort, limit);
    }

    /// The frame if it is predicted; `None` if the budget does not do for vectors.
    fn predict(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        (age, reference): (u8, &State),
    ) -> Result<Option<Predicted>, EncodeError> {
        if let Some(device) = self.decoder.encoder() {
            let start = Instant::now();
            device.bring(picture)?;
            self.times.upload = start.elapsed();
        }
        let mut prediction = self.decoder.pool.take();
        let start = Instant::now();
        let params = self.params;
        let device_looks = self.device_looks();
        let own = if device_looks { Cow::Borrowed(&[][..]) } else { samples(picture, &params) };
        let field = match device_looks {
            true => self.look(target, reference)?,
            false => threads::that_pay(&params, || self.search(&own, target, reference)),
        };
        let found = Instant::now();
        if let Some(device) = self.decoder.encoder() {
            // Until the state of the frame is there, the picture is not used.
            device.predict(&field, (reference.number(), reference.picture()))?;
        } else if self.effort == Effort::Still {
            prediction.data_mut().copy_from_slice(reference.picture().data());
        } else {
            // Vectors of little effort are found without their overlaps.
            let summed = (self.effort >= Effort::Low).then_some(&self.overlapped);
            self.decoder.predictor.compensate(&field, summed, &mut prediction);
        }
        let predicted = found.elapsed();
        let slicing = Instant::now();
        let dering = chosen(&self.gains, self.params.size, self.expected_step(target));
        let slices = self.code_vectors(&field, &dering);
        let sliced = slicing.elapsed();
        self.times.motion = found.duration_since(start) + sliced;
        let blocks = self.decoder.blocks;
        let vectors: usize = slices.iter().map(|slice| slice.len() + directory_bytes(slice.len())).sum();
        // In a map, or in a list: each slice's place, and two numbers that may take two bytes then.
        let more = (map_bytes(slices.len() + blocks) - map_bytes(blocks)).max(slices.len() + 2);
        let target = less(target, REFERENCE_BYTES + vectors + more);
        if self.decoder.encoder().is_none() {
            self.residual.take_residual(picture, &prediction)?;
        }
        let Some((blocks, frame)) = self.code_residual(target, (age, &slices))? else {
            self.decoder.give_back(prediction);
            return Ok(None);
        };
        self.vectors_to_bytes = found.elapsed();
        let distances = if let Some(device) = self.decoder.encoder() {
            let EncodeTimes { compensate, transform, .. } = device.times(self.vectors_to_bytes.saturating_sub(sliced));
            self.times = EncodeTimes { compensate, transform, ..self.times };
            device.distances()
        } else {
            self.times.compensate = predicted;
            self.times.transform = self.residual.times().transform;
            distances(&own, prediction.data(), self.params.size.width(), self.params.size.pixels())
        };
        let is_here = self.decoder.encoder().is_none();
        let made = Made { picture: prediction, blocks: is_here.then_some(blocks), dering };
        Ok(Some(Predicted { frame, made, field, distances }))
    }

    /// Returns the step that a frame will have, or about that.
    fn expected_step(&self, target: Target) -> StepIndex {
        if let Target::Step(step) = target { step } else { self.step }
    }

    /// Returns true if a device looks for vectors of the next frame: where time counts, and not that all machines find the same.
    fn device_looks(&mut self) -> bool {
        self.effort > Effort::Last
            && self.search_time.is_some()
            && self.decoder.encoder().is_some_and(|device| device.looks())
    }

    /// Has the device look for the vectors of the picture that was brought to it.
    fn look(&mut self, target: Target, reference: &State) -> Result<Field, EncodeError> {
        let wanted = Wanted {
            last: self.last.as_ref(),
            costs: self.costs.table(),
            lambda: lambda(self.expected_step(target)),
            looks_everywhere: self.effort.looks_everywhere(self.last.is_some()),
            passes: self.effort.rounds() + 1,
            rounds: self.effort.rounds(),
        };
        match self.decoder.encoder() {
            Some(device) => device.look(&wanted, (reference.number(), reference.picture())),
            None => Ok(Field::new(self.params.size)),
        }
    }

    /// Finds the vectors of a picture whose samples the stream keeps as `own`.
    fn search(&mut self, own: &[u8], target: Target, reference: &State) -> Field {
        let start = Instant::now();
        let (chroma, size) = (self.params.chroma, self.params.size);
        let planes_of_source = planes(chroma, size, own);
        self.source.take(size, planes_of_source[0]);
        // What does not move needs no samples between samples.
        if self.effort > Effort::Still {
            self.decoder.refer((reference.number(), reference.picture()));
        }
        let search = Search {
            chroma,
            size,
            reference: self.decoder.predictor.luma(),
            reference_plane: planes(chroma, size, reference.picture().data())[0],
            source: &self.source,
            planes: &planes_of_source,
            costs: &self.costs,
            lambda: lambda(self.expected_step(target)),
            effort: self.effort,
            is_late: &|| self.search_time.is_some_and(|time| start.elapsed() >= time),
        };
        search.find(self.last.as_ref(), &mut self.overlapped)
    }

    /// Codes the slices of vectors and of what is filtered, and learns what vectors cost.
    fn code_vectors(&mut self, field: &Field, dering: &Dering) -> Vec<Vec<u8>> {
        let channels = self.params.chroma.channels().len();
        let slices = (0..field.layout().slices()).into_par_iter();
        let slices = slices.map(|slice| slice::encode(field, dering, slice, channels));
        let (slices, learnt): (Vec<_>, Vec<_>) = slices.unzip();
        let learnt: Vec<_> = learnt.into_iter().flatten().collect();
        if !learnt.is_empty() && self.effort > Effort::Still {
            self.costs = Costs::of(&learnt);
        }
        slices
    }

    /// Codes what the prediction leaves of the picture: its blocks alone, and the frame, whose blocks are joined where that is shorter;
    /// `None` if the budget, which is that of the blocks, is too small.
    fn code_residual(
        &mut self,
        target: Target,
        vectors: (u8, &[Vec<u8>]),
    ) -> Result<Option<(CodedFrame, CodedFrame)>, EncodeError> {
        let Target::Bytes(bytes) = target else {
            let blocks = self.code_blocks(target)?;
            let (frame, _) = self.joined(&blocks, vectors);
            return Ok(Some((blocks, frame)));
        };
        if self.step <= FINEST_STEP.coarser_by(NEAR_FINEST) {
            let blocks = self.code_blocks(Target::Step(FINEST_STEP))?;
            let (frame, size) = self.joined(&blocks, vectors);
            if size <= bytes {
                return Ok(Some((blocks, frame)));
            }
        }
        // What joining spares goes into finer steps: about as much as in the last frame, or else as in this one.
        let is_little = bytes.saturating_mul(160) <= JOINED_MOST_LOW * self.params.size.pixels();
        let tries = if is_little || self.effort > Effort::Low { 2 } else { 0 };
        for _ in 0..tries {
            let spread = self.spread.saturating_sub(IN_HAND).max(SHARE);
            let wider = Target::Bytes(bytes.saturating_mul(spread) / SHARE);
            let blocks = match self.code_blocks(wider) {
                Err(EncodeError::BudgetTooSmall { .. }) => return Ok(None),
                coded => coded?,
            };
            let (frame, size) = self.joined(&blocks, vectors);
            self.spread = (coded_size(&blocks) * SHARE / size.max(1)).clamp(SHARE, 16 * SHARE);
            if size <= bytes {
                return Ok(Some((blocks, frame)));
            }
        }
        match self.code_blocks(target) {
            Err(EncodeError::BudgetTooSmall { .. }) => Ok(None),
            coded => coded.map(|blocks| {
                let frame = CodedFrame::predicted(vectors.0, vectors.1, &blocks);
                Some((blocks, frame))
            }),
        }
    }

    /// Codes blocks alone, on the device if the picture was predicted there.
    fn code_blocks(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        match self.decoder.encoder() {
            Some(device) => device.code(target),
            None => self.residual.code_residual(target),
        }
    }

    /// The frame of these vectors and blocks, which are joined where that is shorter, and the bytes of the blocks in it.
    fn joined(&self, blocks: &CodedFrame, (age, slices): (u8, &[Vec<u8>])) -> (CodedFrame, usize) {
        let is_little = 80 * blocks.data.len() <= JOINED_MOST * self.params.size.pixels();
        let joined = if is_little { self.decoder.groups.join(blocks) } else { None };
        let alone = coded_size_as(blocks, true);
        match joined.map(|joined| (coded_size_as(&joined, true), joined)) {
            Some((size, joined)) if size < alone => (CodedFrame::predicted(age, slices, &joined), size),
            _ => (CodedFrame::predicted(age, slices, blocks), alone),
        }
    }

    /// Returns the state of the predicted frame that was coded last, which gets this number.
    fn state_of(&mut self, number: u64, made: Made) -> Result<State, DecodeError> {
        let Made { mut picture, blocks, dering } = made;
        match (self.decoder.encoder(), blocks) {
            (Some(device), None) => {
                self.gains = device.state(number, &dering, &mut picture)?;
                self.times.device = device.times(Duration::ZERO).device;
            }
            (_, blocks) => {
                let blocks = blocks.as_ref().map(ReceivedFrame::from);
                blocks.map_or(Ok(()), |blocks| self.decoder.residual.add_residual(&blocks, &mut picture))?;
                self.gains = self.decoder.predictor.dering_towards(&self.source, &dering, &mut picture);
            }
        }
        Ok(State::known_as(number, self.decoder.pool.hold(picture)))
    }
}

/// A coded frame whose state has yet to be computed.
#[derive(Debug)]
struct Unfinished {
    /// Number that the state gets.
    number: u64,
    frame: CodedFrame,
    reference: Option<State>,
    /// None of a frame that was coded alone, or once a device is lost that had a part of it.
    made: Option<Made>,
}

/// A step from a predicted frame to its state.
#[derive(Debug)]
struct Made {
    /// The prediction, or room for the state of a device that has it.
    picture: Picture,
    /// Blocks that were coded besides the vectors; none if a device has them.
    blocks: Option<CodedFrame>,
    /// The squares of it that are filtered.
    dering: Dering,
}

/// A frame coded with a reference.
struct Predicted {
    frame: CodedFrame,
    made: Made,
    field: Field,
    /// As [`distances`] has them.
    distances: [u64; 2],
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
    Cow::Owned(colour::bytes(picture, params.chroma))
}
