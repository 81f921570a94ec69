//! Encoders of frames that are predicted from others, or coded alone where that costs less.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use picture::coded::{PredictedFrame, ReceivedFrame, StepIndex};
use picture::params::StreamParams;
use picture::run::{coded_size, directory_bytes, map_bytes};

use super::cost::Costs;
use super::decoder::{StateDecoder, States, inner, state_decoder};
use super::field::Field;
use super::predictor::{ResidualEncoder, planes};
use super::search::{Effort, Search};
use super::slice;
use crate::cpu::colour;
use crate::cpu::motion::planes::Bordered;
use crate::cpu::motion::square::differences_from_means;
use crate::reference::{ReferenceEncoder, check_picture};
use crate::{
    Backend, BackendChoice, BackendInfo, DecodeError, EncodeError, EncodeTimes, OpenError, Picture, PictureRef, Target,
    cpu,
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

/// How frames are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictionSettings {
    /// How many frames before a frame its reference is, 1 to [`STATES_MAX`](picture::params::STATES_MAX).
    pub reference_age: u8,
    /// The search for vectors.
    pub effort: Effort,
}

/// The step that the first frame's vectors are chosen for: 8.
const FIRST_STEP: StepIndex = StepIndex::ONE.coarser_by(24);
/// The worth of a bit, in quantiser steps of absolute difference.
const STEPS_PER_BIT: f32 = 0.4;
/// The finest step of a predicted frame with a budget, 2, which leaves some 50 dB: what is finer corrects rounding, and a
/// picture that stands still would never be done.
const FINEST_STEP: StepIndex = StepIndex::ONE.coarser_by(8);
/// How near to it the last frame's step must be for it to be tried first.
const NEAR_FINEST: u8 = 4;
/// Bytes of a frame's reference.
const REFERENCE_BYTES: usize = 1;
/// Side of the squares whose flatness decides whether coding a frame alone is worth trying.
const ACTIVITY_SIDE: usize = 8;

/// Encoder of a stream with prediction.
pub struct PredictedEncoder {
    params: StreamParams,
    settings: PredictionSettings,
    alone: Box<dyn ResidualEncoder>,
    residual: Box<dyn ResidualEncoder>,
    decoder: StateDecoder,
    states: States<Picture>,
    last: Option<Field>,
    costs: Costs,
    step: StepIndex,
    search_time: Option<Duration>,
    /// The luma of a picture that is searched.
    source: Bordered,
    times: EncodeTimes,
}

/// Returns the back end that codes, none of which is OpenCL.
fn on_the_processor(choice: BackendChoice, device: Option<&str>) -> Result<BackendChoice, OpenError> {
    match (choice, device) {
        (BackendChoice::Opencl, _) | (BackendChoice::Auto, Some(_)) => Err(OpenError::NotOnThisBackend {
            backend: Backend::Opencl,
            what: "the coding of predicted frames".to_owned(),
            instead: Backend::Cpu,
        }),
        (BackendChoice::Auto | BackendChoice::Cpu, _) => Ok(BackendChoice::Cpu),
        (BackendChoice::Reference, _) => Ok(BackendChoice::Reference),
    }
}

/// Opens an encoder for a stream of [`picture::params::Profile::Predicted`]. It runs on the processor.
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
    let encoder = || -> Box<dyn ResidualEncoder> {
        match choice {
            BackendChoice::Reference => Box::new(ReferenceEncoder::new(&inner, reason())),
            _ => Box::new(cpu::CpuEncoder::new(&inner, reason())),
        }
    };
    let (alone, residual) = (encoder(), encoder());
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
        search_time: None,
        source: Bordered::new(params.size),
        times: EncodeTimes::default(),
    })
}

impl PredictedEncoder {
    /// Codes one picture of the stream's size, in any pixel format. A budget holds for the whole frame with its reference.
    ///
    /// The same pictures in the same order give the same bytes on every back end, unless the search has a limit of time.
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
        let start = Instant::now();
        self.times = EncodeTimes::default();
        let own = samples(picture, &self.params);
        let predicted = match reference {
            Some((age, reference)) => self.predict((picture, &own), target, age, reference)?,
            None => None,
        };
        let predicted = match predicted {
            Some(predicted) => {
                let step = predicted.frame.frame.header.step;
                let bytes = coded_size(&predicted.frame.frame);
                let may_be_alone = self.may_be_alone(&own, &predicted.prediction);
                let is_alone = may_be_alone && self.alone.fits(picture, step, bytes)?;
                Some(predicted).filter(|_| !is_alone)
            }
            None => None,
        };
        let before = self.times;
        let (frame, state) = match predicted {
            Some(predicted) => {
                self.last = Some(predicted.field);
                (predicted.frame, predicted.state)
            }
            None => {
                let frame = self.encode_alone(picture, target)?;
                let (stages, decoding) = (self.times, Instant::now());
                let mut state = self.empty_picture();
                self.decoder.decode(&ReceivedFrame::from(&frame.frame), None, &mut state)?;
                self.times = EncodeTimes { transform: before.transform + stages.transform, ..before };
                self.times.compensate += decoding.elapsed();
                (frame, state)
            }
        };
        self.step = frame.frame.header.step;
        let EncodeTimes { motion, compensate, transform, .. } = self.times;
        self.times.code = start.elapsed().saturating_sub(motion + compensate + transform);
        Ok((frame, state))
    }

    /// Codes a picture without a reference, and does not compute its state: the decoder can when a frame refers to it.
    pub fn encode_alone(&mut self, picture: PictureRef<'_>, target: Target) -> Result<PredictedFrame, EncodeError> {
        let frame = self.alone.encode(picture, less(target, REFERENCE_BYTES))?;
        self.times = self.alone.times();
        self.last = None;
        self.step = frame.header.step;
        Ok(PredictedFrame::new(0, &[], &frame))
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> EncodeTimes {
        self.times
    }

    /// The decoder of this stream's frames, which the encoder has for itself.
    pub fn decoder(&mut self) -> &mut StateDecoder {
        &mut self.decoder
    }

    /// Sets how much is done to find vectors, from the next frame on.
    pub fn set_effort(&mut self, effort: Effort) {
        self.settings.effort = effort;
    }

    /// Limits the time in which vectors are looked for, from the next frame on; without a limit frames are the same on every
    /// machine. What is left then takes the best vectors at hand, which takes a part of the search's time, too.
    pub fn set_search_time(&mut self, limit: Option<Duration>) {
        self.search_time = limit;
    }

    /// Returns the picture that the last frame decodes to; `None` before the first one.
    pub fn state(&self) -> Option<&Picture> {
        self.states.kept.back()
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
        (picture, own): (PictureRef<'_>, &[u8]),
        target: Target,
        age: u8,
        reference: &Picture,
    ) -> Result<Option<Predicted>, PredictError> {
        let (chroma, size) = (self.params.chroma, self.params.size);
        let start = Instant::now();
        self.decoder.predictor.refer(reference);
        let channels = chroma.channels().len();
        let step = if let Target::Step(step) = target { step } else { self.step };
        let planes_of_source = planes(chroma, size, own);
        self.source.take(size, planes_of_source[0]);
        let search = Search {
            chroma,
            size,
            reference: self.decoder.predictor.luma(),
            reference_plane: planes(chroma, size, reference.data())[0],
            source: &self.source,
            planes: &planes_of_source,
            costs: &self.costs,
            lambda: lambda(step),
            effort: self.settings.effort,
            until: self.search_time.map(|time| start + time),
        };
        let field = search.find(self.last.as_ref());
        let slices = (0..field.layout().slices()).map(|slice| slice::encode(&field, slice, channels));
        let (slices, learnt): (Vec<_>, Vec<_>) = slices.unzip();
        let learnt: Vec<_> = learnt.into_iter().flatten().collect();
        if !learnt.is_empty() {
            self.costs = Costs::of(&learnt);
        }
        self.times.motion = start.elapsed();
        let start = Instant::now();
        let mut prediction = self.empty_picture();
        self.decoder.predictor.compensate(&field, &mut prediction);
        self.times.compensate = start.elapsed();
        let blocks = self.decoder.blocks;
        let vectors: usize = slices.iter().map(|slice| slice.len() + directory_bytes(slice.len())).sum();
        let more = map_bytes(slices.len() + blocks) - map_bytes(blocks);
        let target = less(target, REFERENCE_BYTES + vectors + more);
        let finest = match target {
            Target::Bytes(bytes) if self.step <= FINEST_STEP.coarser_by(NEAR_FINEST) => {
                let coded = self.residual.encode_residual(picture, &prediction, Target::Step(FINEST_STEP))?;
                Some(coded).filter(|coded| coded_size(coded) <= bytes)
            }
            _ => None,
        };
        let coded = match finest {
            Some(coded) => coded,
            None => match self.residual.encode_residual(picture, &prediction, target) {
                Err(EncodeError::BudgetTooSmall { .. }) => return Ok(None),
                coded => coded?,
            },
        };
        self.times.transform = self.residual.times().transform;
        let start = Instant::now();
        let mut state = prediction.clone();
        self.decoder.residual.add_residual(&ReceivedFrame::from(&coded), &mut state)?;
        self.times.compensate += start.elapsed();
        Ok(Some(Predicted { frame: PredictedFrame::new(age, &slices, &coded), field, prediction, state }))
    }

    /// True if coding the picture alone may be the less expensive way: unless its prediction is far nearer than squares of
    /// one sample each.
    fn may_be_alone(&self, own: &[u8], prediction: &Picture) -> bool {
        let (width, pixels) = (self.params.size.width(), self.params.size.pixels());
        let rows = ACTIVITY_SIDE * width;
        let both = own[..pixels].chunks(rows).zip(prediction.data()[..pixels].chunks(rows));
        let [difference, activity] = both.fold([0; 2], |sums: [u64; 2], (own, predicted)| {
            let more = differences_from_means(own, predicted, width);
            [0, 1].map(|at| sums[at] + u64::from(more[at]))
        });
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
    Cow::Owned(colour::bytes(picture, params.chroma))
}
