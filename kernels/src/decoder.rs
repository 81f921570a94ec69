//! The decoder of a stream, whatever computes and whether frames refer to others or not.

use std::sync::mpsc::Receiver;

use picture::coded::{FrameHeader, ReceivedFrame, StepIndex};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::vectors::VectorLayout;

use crate::apart::{self, Lost, Patience, Runner};
use crate::coder::{State, StateDecoder, decoder_on_the_processor, open_state_decoder};
use crate::fallback::{Replaceable, decoder_instead, with_processor};
use crate::open::open_decoder;
use crate::threads;
use crate::{Backend, BackendInfo, CodecError, DecodeError, DecodeTimes, FrameDecoder, OpenError, Options, Picture};

/// Turns the frames of a stream, as far as they arrived, into pictures.
///
/// A device that fails or does not answer is replaced by the processor, which goes on with the same states;
/// [`Self::backend`] says so. Only what it knew of the frame before is lost: coarse blocks missing in the very frame that
/// failed are zero, that is grey.
pub struct Decoder {
    params: StreamParams,
    layout: BlockLayout,
    options: Options,
    runner: Runner<Core>,
    backend: BackendInfo,
    times: DecodeTimes,
    damaged: u64,
    /// Damaged blocks of a decoder that a driver keeps.
    damaged_before: u64,
}

/// A decoded frame.
#[derive(Debug)]
pub struct Decoded {
    /// Its picture.
    pub picture: Picture,
    /// The frame.
    pub frame: ReceivedFrame,
    /// Its state; none of a stream that keeps none.
    pub state: Option<State>,
}

/// The decoder proper, on whichever thread.
enum Core {
    /// A stream whose frames are all coded alone.
    Alone { params: StreamParams, layout: BlockLayout, decoder: Box<dyn FrameDecoder>, damaged_before: u64 },
    /// A stream with states.
    Predicted(Box<StateDecoder>),
}

impl Core {
    fn open(params: &StreamParams, dropped_levels: usize, options: &Options) -> Result<Self, OpenError> {
        let (choice, device) = (options.choice(), options.device());
        if params.codec.profile.states() > 0 && dropped_levels == 0 {
            return Ok(Self::Predicted(Box::new(open_state_decoder(params, choice, device)?)));
        }
        let decoder = open_decoder(params, dropped_levels, choice, device)?;
        let layout = BlockLayout::new(params).without_finest(dropped_levels)?;
        Ok(Self::Alone { params: *params, layout, decoder, damaged_before: 0 })
    }

    fn on_the_processor(params: &StreamParams, layout: &BlockLayout, reason: String) -> Self {
        match params.codec.profile.states() {
            0 => {
                let decoder = decoder_instead(params, layout.clone(), reason);
                Self::Alone { params: *params, layout: layout.clone(), decoder, damaged_before: 0 }
            }
            _ => Self::Predicted(Box::new(decoder_on_the_processor(params, reason))),
        }
    }

    fn decode(
        &mut self,
        frame: &ReceivedFrame,
        reference: Option<&State>,
        out: &mut Picture,
    ) -> Result<Option<State>, DecodeError> {
        match self {
            Self::Alone { decoder, .. } => decoder.decode(frame, out).map(|()| None),
            Self::Predicted(decoder) => decoder.decode(frame, reference, out).map(Some),
        }
    }

    /// Decodes frames of which nothing has come: some OpenCL drivers compile a kernel when it runs first, which takes
    /// seconds. Missing blocks leave no trace in a decoder.
    fn try_out(&mut self, params: &StreamParams) -> Result<(), DecodeError> {
        let header = FrameHeader { step: StepIndex::MAX, fine_blocks: 0 };
        let blocks = BlockLayout::new(params).blocks().len();
        let mut out = Picture::decoded_from(params);
        let alone = ReceivedFrame::empty(header, blocks);
        if let Some(state) = with_processor(self, |core| core.decode(&alone, None, &mut out))? {
            let slices = VectorLayout::new(params.size).slices();
            let predicted = ReceivedFrame::empty(header, slices + blocks);
            with_processor(self, |core| core.decode(&predicted, Some(&state), &mut out))?;
        }
        Ok(())
    }

    fn times(&self) -> DecodeTimes {
        match self {
            Self::Alone { decoder, .. } => decoder.times(),
            Self::Predicted(decoder) => decoder.times(),
        }
    }

    fn damaged_blocks(&self) -> u64 {
        match self {
            Self::Alone { decoder, damaged_before, .. } => damaged_before + decoder.damaged_blocks(),
            Self::Predicted(decoder) => decoder.damaged_blocks(),
        }
    }
}

impl Replaceable for Core {
    fn backend(&self) -> &BackendInfo {
        match self {
            Self::Alone { decoder, .. } => decoder.backend(),
            Self::Predicted(decoder) => decoder.backend(),
        }
    }

    fn give_up(&mut self, reason: String) {
        match self {
            Self::Alone { params, layout, decoder, damaged_before } => {
                *damaged_before += decoder.damaged_blocks();
                *decoder = decoder_instead(params, layout.clone(), reason);
            }
            Self::Predicted(decoder) => decoder.give_up(reason),
        }
    }
}

impl Decoder {
    /// Opens the decoder of a stream. It works on the caller's thread, which waits for a device as long as it takes.
    pub fn open(params: &StreamParams, options: impl Into<Options>) -> Result<Self, OpenError> {
        Self::open_smaller(params, 0, options)
    }

    /// Opens as [`Self::open`] does, for pictures of 1/2^`dropped_levels` of the width and height, rounded up
    /// ([`picture::frame::FrameSize::halved_times`]): the low band after that many levels, at the brightness of the picture.
    ///
    /// It takes the same frames; blocks of the levels left out are neither decoded nor need be there.
    /// [`OpenError::TooManyLevels`] if a plane has fewer levels, [`OpenError::WrongProfile`] of a stream with states.
    pub fn open_smaller(
        params: &StreamParams,
        dropped_levels: usize,
        options: impl Into<Options>,
    ) -> Result<Self, OpenError> {
        let options = options.into();
        let core = Core::open(params, dropped_levels, &options)?;
        let layout = BlockLayout::new(params).without_finest(dropped_levels)?;
        let backend = core.backend().clone();
        Ok(Self::of(params, layout, options, Runner::Here(core), backend))
    }

    /// Opens the decoder of a live stream, which waits for no driver for ever: a device works on a thread of its own
    /// ([`crate::apart`]). It has decoded, so that the first frame finds everything in its place.
    ///
    /// The processor decodes where a driver does not answer and, of a stream with states, where a device cannot be opened.
    pub fn open_ready(params: &StreamParams, options: impl Into<Options>) -> Result<Self, OpenError> {
        let (params, options, layout) = (*params, options.into(), BlockLayout::new(params));
        let ready = move |mut core: Core| match core.try_out(&params) {
            Ok(()) => Ok(core),
            Err(error) => Err(OpenError::FirstFrame(error)),
        };
        let instead = |reason| ready(Core::on_the_processor(&params, &layout, reason));
        let core = match options.given_up() {
            Some(reason) => instead(reason.to_owned())?,
            None => {
                let asked = options.clone();
                match apart::once("open", Patience::OPEN, move || Core::open(&params, 0, &asked).and_then(ready)) {
                    Err(lost) => {
                        let reason = format!("the device was given up: {lost}");
                        options.give_up(&reason);
                        instead(reason)?
                    }
                    Ok(Err(error)) if error.is_of_device() && params.codec.profile.states() > 0 => {
                        instead(format!("predicted frames are decoded on the processor: {error}"))?
                    }
                    Ok(opened) => opened?,
                }
            }
        };
        let backend = core.backend().clone();
        Ok(Self::of(&params, layout, options, Runner::of(core, &backend)?, backend))
    }

    fn of(
        params: &StreamParams,
        layout: BlockLayout,
        options: Options,
        runner: Runner<Core>,
        backend: BackendInfo,
    ) -> Self {
        let (params, times) = (*params, DecodeTimes::default());
        Self { params, layout, options, runner, backend, times, damaged: 0, damaged_before: 0 }
    }

    /// Decodes a frame into `out`, which must have the stream's size and planar format ([`Picture::decoded_from`]), from
    /// `reference`, the state of the frame that it refers to. Returns its own state; none of a stream that keeps none.
    ///
    /// Without a reference, a missing or damaged coarse block (one of the first [`BlockLayout::coarse_blocks`]) keeps the
    /// coefficients of the frame before; any other is zero. With one, the frame has the slices of vectors and then the
    /// blocks: a slice that is missing or damaged rests, a block adds nothing.
    ///
    /// A device on a thread of its own takes a copy of the frame: [`Self::decode_owned`] needs none.
    pub fn decode(
        &mut self,
        frame: &ReceivedFrame,
        reference: Option<&State>,
        out: &mut Picture,
    ) -> Result<Option<State>, DecodeError> {
        if matches!(self.runner, Runner::Apart(_))
            && let Some(decoded) = self.decode_owned(frame.clone(), reference.cloned(), out.clone())?
        {
            *out = decoded.picture;
            return Ok(decoded.state);
        }
        self.here(|core| with_processor(core, |core| core.decode(frame, reference, out)))
            .unwrap_or(Err(DecodeError::Lost(Lost::Broke)))
    }

    /// Decodes as [`Self::decode`] does, what a driver may keep: returns none if it has kept it. The processor decodes the
    /// next frame.
    pub fn decode_owned(
        &mut self,
        frame: ReceivedFrame,
        reference: Option<State>,
        out: Picture,
    ) -> Result<Option<Decoded>, DecodeError> {
        let mut picture = out;
        let work = move |core: &mut Core| {
            let state = with_processor(core, |core| core.decode(&frame, reference.as_ref(), &mut picture))?;
            Ok(Decoded { picture, frame, state })
        };
        if matches!(self.runner, Runner::Here(_)) {
            return self.here(work).transpose();
        }
        // From a processor that took over from a device that failed there is nothing else to go on with.
        let patience = if self.backend.is_device() { Patience::WORK } else { Patience::OPEN };
        let work = |core: &mut Core| {
            let decoded = work(core);
            let replaced = (!core.backend().is_device()).then(|| core.backend().clone());
            (decoded, core.times(), core.damaged_blocks(), replaced)
        };
        match self.runner.run(patience, work) {
            Ok((decoded, times, damaged, replaced)) => {
                (self.times, self.damaged) = (times, damaged);
                if let Some(replaced) = replaced.filter(|_| self.backend.is_device()) {
                    self.backend = replaced;
                }
                decoded.map(Some)
            }
            Err(lost) => {
                let reason = self.backend.given_up(&lost);
                self.options.give_up(&reason);
                let core = Core::on_the_processor(&self.params, &self.layout, reason);
                self.damaged_before += std::mem::take(&mut self.damaged);
                self.backend = core.backend().clone();
                self.runner = Runner::Here(core);
                Ok(None)
            }
        }
    }

    /// Makes ready for a frame that refers to `state`, for a time in which no frame waits. A device needs nothing.
    pub fn expect(&mut self, state: &State) {
        if let Runner::Here(Core::Predicted(decoder)) = &mut self.runner {
            threads::that_pay(&self.params, || decoder.expect(state));
        }
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> DecodeTimes {
        self.times
    }

    /// Returns the number of blocks, slices of vectors and groups, since the decoder was opened, that had bytes that no
    /// encoder makes.
    pub fn damaged_blocks(&self) -> u64 {
        self.damaged_before + self.damaged
    }

    /// Returns the back end in use, and the reason for it.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    /// Frees the decoder where it works. Returns when that is done, or when its driver does not answer.
    pub fn end(self) {
        self.runner.end(Patience::WORK);
    }

    /// Lets it compute with a device whose driver does not return before `held` ends, for tests of what happens then.
    #[doc(hidden)]
    pub fn hang(&mut self, held: Receiver<()>) -> Result<(), OpenError> {
        let instead = Core::on_the_processor(&self.params, &self.layout, String::new());
        let core = match std::mem::replace(&mut self.runner, Runner::Here(instead)) {
            Runner::Here(core) => core,
            Runner::Apart(_) => return Ok(()),
        };
        self.runner = Runner::apart("device", core)?;
        self.backend.kind = Backend::Opencl;
        let _ = self.runner.run(Patience::NONE, move |_| held.recv().is_ok());
        Ok(())
    }

    /// Works with the decoder on this thread; none if it is on another one.
    fn here<A: Send>(&mut self, work: impl FnOnce(&mut Core) -> A + Send) -> Option<A> {
        let Runner::Here(core) = &mut self.runner else { return None };
        // A driver may hold its thread.
        let done = if core.backend().is_device() { work(core) } else { threads::that_pay(&self.params, || work(core)) };
        (self.times, self.damaged) = (core.times(), core.damaged_blocks());
        if core.backend().is_device() != self.backend.is_device() {
            self.backend = core.backend().clone();
        }
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use picture::frame::{Chroma, FrameSize, PixelFormat};
    use picture::params::{CodecParams, Profile};

    use super::*;
    use crate::{BackendChoice, ClipEncoder, Target};

    /// The frame and the picture that a driver keeps are lost; states are not.
    #[test]
    fn a_decoder_goes_on_with_the_same_states_behind_a_driver_that_never_returns() {
        let alone = StreamParams::new(FrameSize::new(68, 46).unwrap(), Chroma::C420);
        let codec = CodecParams { profile: Profile::Predicted(4), ..CodecParams::default() };
        for params in [alone, StreamParams { codec, ..alone }] {
            let mut encoder = ClipEncoder::open(&params, 1, crate::coder::Effort::Low, BackendChoice::Cpu).unwrap();
            let frames = [0, 40].map(|by| {
                let bytes = PixelFormat::I420.bytes(params.size);
                let samples = (0..bytes).map(|at| ((at * at) % 97 + (at + by) / 40 % 90) as u8).collect();
                let picture = Picture::from_data(PixelFormat::I420, params.size, samples).unwrap();
                encoder.encode(picture.as_ref(), Target::Step(StepIndex::new(48).unwrap())).unwrap()
            });
            let [first, second] = frames.each_ref().map(ReceivedFrame::from);
            let (options, out) = (Options::from(BackendChoice::Cpu), Picture::decoded_from(&params));
            let mut decoder = Decoder::open(&params, &options).unwrap();
            let decoded = decoder.decode_owned(first, None, out.clone()).unwrap().unwrap();
            let state = decoded.state.filter(|_| frames[1].reference > 0);
            let (let_go, held) = mpsc::channel();
            decoder.hang(held).unwrap();
            assert!(decoder.decode_owned(second.clone(), state.clone(), out.clone()).unwrap().is_none());
            assert_eq!((decoder.backend().kind, options.given_up()), (Backend::Cpu, Some(&*decoder.backend().reason)));
            assert!(decoder.backend().reason.contains("has not answered"), "{}", decoder.backend().reason);
            let after = decoder.decode_owned(second, state, out).unwrap().unwrap();
            assert!(encoder.state().is_none_or(|wanted| *wanted == after.picture));
            let ready = Decoder::open_ready(&params, &options).unwrap();
            assert_eq!(ready.backend().reason, decoder.backend().reason, "the driver is not asked again");
            drop(let_go);
        }
    }
}
