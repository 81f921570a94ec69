//! The frames of a clip, each of which comes, whole or damaged: both ends keep the last states themselves.

use std::collections::VecDeque;
use std::time::Duration;

use picture::coded::{CodedFrame, ReceivedFrame};
use picture::params::StreamParams;

use crate::coder::{Effort, State};
use crate::reference::check_target;
use crate::{
    BackendInfo, DecodeError, DecodeTimes, Decoder, EncodeError, EncodeTimes, Encoder, OpenError, Options, Picture,
    PictureRef, Target,
};

/// The last states, the newest one last.
struct States {
    kept: VecDeque<State>,
    most: usize,
}

impl States {
    fn new(params: &StreamParams) -> Self {
        let most = usize::from(params.codec.profile.states());
        Self { kept: VecDeque::with_capacity(most), most }
    }

    /// Keeps a state, and forgets the oldest one beyond those that may be referred to.
    fn keep(&mut self, state: State) {
        if self.kept.len() == self.most {
            self.kept.pop_front();
        }
        self.kept.push_back(state);
    }

    /// Returns the state so many frames back.
    fn get(&self, age: u8) -> Option<&State> {
        self.kept.get(self.kept.len().checked_sub(age.into())?).filter(|_| age > 0)
    }
}

/// Codes the pictures of a clip: each refers to the one a number of frames before it, if the stream has states.
pub struct ClipEncoder {
    encoder: Encoder,
    reference_age: u8,
    states: States,
}

impl ClipEncoder {
    /// Opens the encoder of a clip whose frames refer `reference_age` frames back.
    ///
    /// [`OpenError::ReferenceAge`] unless a stream with states keeps as many.
    pub fn open(
        params: &StreamParams,
        reference_age: u8,
        effort: Effort,
        options: impl Into<Options>,
    ) -> Result<Self, OpenError> {
        let states = params.codec.profile.states();
        if states > 0 && !(1..=states).contains(&reference_age) {
            return Err(OpenError::ReferenceAge { asked: reference_age, states });
        }
        let mut encoder = Encoder::open(params, options)?;
        encoder.set_search(effort, None);
        Ok(Self { encoder, reference_age, states: States::new(params) })
    }

    /// Sets how vectors are looked for, as [`Encoder::set_search`] does.
    pub fn set_search(&mut self, effort: Effort, limit: Option<Duration>) {
        self.encoder.set_search(effort, limit);
    }

    /// Codes the next picture, as [`Encoder::encode`] does.
    pub fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        let age = self.reference_age;
        let reference = self.states.get(age).map(|state| (age, state));
        let frame = self.encoder.encode(picture, target, reference)?;
        if let Some(state) = self.encoder.state()? {
            self.states.keep(state);
        }
        Ok(frame)
    }

    /// Returns the picture that the last frame decodes to; none before the first one, or of a stream without states.
    pub fn state(&self) -> Option<&Picture> {
        self.states.kept.back().map(State::picture)
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> EncodeTimes {
        self.encoder.times()
    }

    /// Returns how long the last frame took from its vectors to its bytes, as [`Encoder::vectors_to_bytes`] does.
    pub fn vectors_to_bytes(&self) -> Duration {
        self.encoder.vectors_to_bytes()
    }

    /// Returns the back end in use, and the reason for it.
    pub fn backend(&self) -> &BackendInfo {
        self.encoder.backend()
    }
}

/// Decodes the frames of a clip.
pub struct ClipDecoder {
    params: StreamParams,
    decoder: Decoder,
    states: States,
    held: u64,
}

impl ClipDecoder {
    /// Opens the decoder of a clip.
    pub fn open(params: &StreamParams, options: impl Into<Options>) -> Result<Self, OpenError> {
        Self::open_smaller(params, 0, options)
    }

    /// Opens the decoder of a clip in smaller pictures, as [`Decoder::open_smaller`] does.
    pub fn open_smaller(
        params: &StreamParams,
        dropped_levels: usize,
        options: impl Into<Options>,
    ) -> Result<Self, OpenError> {
        let decoder = Decoder::open_smaller(params, dropped_levels, options)?;
        Ok(Self { params: *params, decoder, states: States::new(params), held: 0 })
    }

    /// Decodes a frame with this reference into `out`, as [`Decoder::decode`] does.
    ///
    /// A frame whose reference is not kept is the frame before, and [`Self::held_frames`] counts it; as the first one it is
    /// grey. Of a stream without states the reference counts for nothing.
    pub fn decode(&mut self, reference: u8, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        let from = self.states.get(reference);
        let state = if self.states.most > 0 && reference > 0 && from.is_none() {
            check_target(out, self.params.size, &self.params)?;
            self.held += 1;
            Some(self.show_again(out))
        } else {
            self.decoder.decode(frame, from, out)?
        };
        if let Some(state) = state {
            self.states.keep(state);
        }
        Ok(())
    }

    /// Makes the picture of a frame that is not there: the frame before's, and its state. As the first one it is grey and has
    /// none. Of a stream without states the picture stays as it is.
    pub fn hold(&mut self, out: &mut Picture) -> Result<(), DecodeError> {
        if self.states.most == 0 {
            return Ok(());
        }
        check_target(out, self.params.size, &self.params)?;
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

    /// Returns the number of damaged blocks, as [`Decoder::damaged_blocks`] does.
    pub fn damaged_blocks(&self) -> u64 {
        self.decoder.damaged_blocks()
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> DecodeTimes {
        self.decoder.times()
    }

    /// Returns the back end in use, and the reason for it.
    pub fn backend(&self) -> &BackendInfo {
        self.decoder.backend()
    }
}
