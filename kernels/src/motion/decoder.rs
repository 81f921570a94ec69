//! Decoders of frames that are predicted from others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use picture::coded::{BlockState, PredictedFrame, ReceivedFrame};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, STATES_MAX, StreamParams};
use picture::pyramid::BlockLayout;
use picture::replay::Replay;

use super::field::Field;
use super::predictor::{Predictor, ResidualDecoder};
use super::slice;
use crate::cpu::motion::compensate::CpuPredictor;
use crate::reference::compensate::ReferencePredictor;
use crate::reference::{ReferenceDecoder, check_target};
use crate::{
    Backend, BackendChoice, BackendInfo, DecodeError, DecodeTimes, Decoder, OpenError, Picture, cpu, memory,
    open_decoder,
};

/// Decoder of a stream with prediction, of which every frame comes.
pub struct PredictedDecoder {
    decoder: StateDecoder,
    states: States,
    held: u64,
}

/// Decoder of frames from the states that they refer to, which its owner keeps.
pub struct StateDecoder {
    params: StreamParams,
    pub(super) blocks: usize,
    pub(super) alone: Box<dyn Decoder>,
    pub(super) residual: Box<dyn ResidualDecoder>,
    pub(super) predictor: Box<dyn Predictor>,
    damaged_slices: u64,
    times: DecodeTimes,
}

/// The last pictures, the newest one last.
pub(super) struct States {
    pub(super) pictures: VecDeque<Picture>,
    most: usize,
}

impl States {
    pub(super) fn new(states: u8) -> Self {
        Self { pictures: VecDeque::with_capacity(states.into()), most: states.into() }
    }

    /// Keeps a state, and forgets the oldest one beyond those that may be referred to.
    pub(super) fn keep(&mut self, picture: Picture) {
        if self.pictures.len() == self.most {
            self.pictures.pop_front();
        }
        self.pictures.push_back(picture);
    }

    /// The state so many frames back.
    pub(super) fn get(&self, age: u8) -> Option<&Picture> {
        self.pictures.get(self.pictures.len().checked_sub(age.into())?)
    }
}

/// Returns the stream without prediction and the number of states that it keeps.
pub(super) fn inner(params: &StreamParams) -> Result<(StreamParams, u8), OpenError> {
    match params.codec.profile {
        Profile::Predicted(states) if (1..=STATES_MAX).contains(&states) => {
            let codec = CodecParams { profile: Profile::Quad, ..params.codec };
            Ok((StreamParams { codec, ..*params }, states))
        }
        _ => Err(OpenError::WrongProfile { wanted: "quad with prediction" }),
    }
}

/// Returns the back end, none of which is OpenCL.
pub(super) fn on_the_processor(choice: BackendChoice, device: Option<&str>) -> Result<BackendChoice, OpenError> {
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

/// Opens a decoder for a stream of [`Profile::Predicted`]. It runs on the processor; errors as
/// [`open_predicted_encoder`](super::open_predicted_encoder), and [`OpenError::OutOfMemory`].
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

pub(super) fn state_decoder(
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
    Ok(StateDecoder {
        params: *params,
        blocks,
        alone,
        residual,
        predictor,
        damaged_slices: 0,
        times: DecodeTimes::default(),
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

    /// Returns the number of frames since the decoder was opened whose reference was not there.
    pub fn held_frames(&self) -> u64 {
        self.held
    }

    /// Returns the number of blocks and slices since the decoder was opened that had bytes which no encoder makes.
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
        let Some(reference) = reference else {
            self.alone.decode(frame, out)?;
            self.times = self.alone.times();
            return Ok(());
        };
        let start = Instant::now();
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
        let vectors = start.elapsed();
        let start = Instant::now();
        self.predictor.refer(reference);
        self.predictor.compensate(&field, out);
        let compensate = start.elapsed();
        let mut received = ReceivedFrame::empty(frame.header, self.blocks);
        for index in 0..self.blocks {
            match frame.block(slices + index) {
                BlockState::Missing => {}
                BlockState::Zero => _ = received.insert(index, &[]),
                BlockState::Coded(bytes) => _ = received.insert(index, bytes),
            }
        }
        self.residual.add_residual(&received, out)?;
        let times = self.residual.times();
        self.times = DecodeTimes { decode: vectors + times.decode, compensate, ..times };
        Ok(())
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> DecodeTimes {
        self.times
    }

    /// Returns the number of blocks and slices since the decoder was opened that had bytes which no encoder makes.
    pub fn damaged_blocks(&self) -> u64 {
        self.damaged_slices + self.alone.damaged_blocks() + self.residual.damaged_blocks()
    }

    /// Returns the back end and the device that compute.
    pub fn backend(&self) -> &BackendInfo {
        self.alone.backend()
    }
}

/// The decoder of a receiver, at its sender.
impl Replay<PredictedFrame, Arc<Picture>> for StateDecoder {
    type Error = DecodeError;

    fn replay(
        &mut self,
        frame: &PredictedFrame,
        gaps: &Gaps,
        reference: Option<&Arc<Picture>>,
    ) -> Result<Arc<Picture>, DecodeError> {
        let mut received = ReceivedFrame::from(&frame.frame);
        gaps.cut(&mut received);
        let mut state = Picture::for_stream(self.params.chroma, self.params.size);
        self.decode(&received, reference.map(|state| &**state), &mut state)?;
        Ok(Arc::new(state))
    }

    fn hash(&self, state: &Arc<Picture>) -> u32 {
        state.hash()
    }
}
