//! The encoder of a stream, whatever computes and whether frames refer to others or not.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use picture::coded::CodedFrame;
use picture::frame::PixelFormat;
use picture::gaps::Gaps;
use picture::params::StreamParams;
use picture::replay::Replay;

use crate::apart::{self, Lost, Patience, Runner};
use crate::coder::{Effort, PredictedEncoder, State, encoder_on_the_processor, open_predicted_encoder};
use crate::fallback::{Replaceable, encoder_instead, with_processor};
use crate::open::open_encoder;
use crate::threads;
use crate::{
    Backend, BackendInfo, CodecError, DecodeError, EncodeError, EncodeTimes, FrameEncoder, OpenError, Options,
    PictureRef, Target,
};

/// Turns the pictures of a stream into coded frames, alone or predicted from the state of another frame.
///
/// A device that fails or does not answer is replaced by the processor, which goes on with the same states;
/// [`Self::backend`] says so.
pub struct Encoder {
    params: StreamParams,
    options: Options,
    runner: Runner<Core>,
    backend: BackendInfo,
    /// Format of which a picture has been coded: a driver may compile for another one.
    known: Option<PixelFormat>,
    search: Search,
    figures: Figures,
}

/// The effort of the search for vectors, and the time that it may take.
type Search = (Effort, Option<Duration>);

/// Durations of the last frame.
#[derive(Clone, Copy, Default)]
struct Figures {
    times: EncodeTimes,
    vectors_to_bytes: Duration,
    finished_in: Duration,
}

/// The encoder proper, on whichever thread.
enum Core {
    /// A stream whose frames are all coded alone.
    Alone { params: StreamParams, encoder: Box<dyn FrameEncoder> },
    /// A stream with states.
    Predicting(Box<PredictedEncoder>),
}

impl Core {
    fn open(params: &StreamParams, options: &Options) -> Result<Self, OpenError> {
        let (choice, device) = (options.choice(), options.device());
        Ok(match params.codec.profile.states() {
            0 => Self::Alone { params: *params, encoder: open_encoder(params, choice, device)? },
            _ => Self::Predicting(Box::new(open_predicted_encoder(params, choice, device)?)),
        })
    }

    fn on_the_processor(params: &StreamParams, reason: String) -> Self {
        match params.codec.profile.states() {
            0 => Self::Alone { params: *params, encoder: encoder_instead(params, reason) },
            _ => Self::Predicting(Box::new(encoder_on_the_processor(params, reason))),
        }
    }

    fn encode(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        reference: Option<(u8, &State)>,
        (effort, limit): Search,
    ) -> Result<CodedFrame, EncodeError> {
        match self {
            Self::Alone { encoder, .. } => encoder.encode(picture, target),
            Self::Predicting(encoder) => {
                encoder.set_search(effort, limit);
                encoder.encode(picture, target, reference)
            }
        }
    }

    fn encode_apart(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        match self {
            Self::Alone { encoder, .. } => encoder.encode(picture, target),
            Self::Predicting(encoder) => encoder.encode_apart(picture, target),
        }
    }

    fn state(&mut self) -> Result<Option<State>, DecodeError> {
        match self {
            Self::Alone { .. } => Ok(None),
            Self::Predicting(encoder) => encoder.finish(),
        }
    }

    fn replay(&mut self, frame: &CodedFrame, gaps: &Gaps, reference: Option<&State>) -> Result<State, DecodeError> {
        match self {
            // No frame of such a stream has a state.
            Self::Alone { params, .. } => Err(DecodeError::NoStates { profile: params.codec.profile }),
            Self::Predicting(encoder) => encoder.replay(frame, gaps, reference),
        }
    }

    /// Codes a picture that goes nowhere, on a device with everything that it will do: some drivers compile a kernel when
    /// it runs first.
    fn try_out(&mut self, picture: PictureRef<'_>, target: Target) -> Result<(), EncodeError> {
        let search = Search::default();
        with_processor(self, |core| core.encode(picture, target, None, search))?;
        let Some(state) = with_processor(self, Self::state)? else { return Ok(()) };
        if self.backend().is_device() {
            let frame = with_processor(self, |core| core.encode(picture, target, Some((1, &state)), search))?;
            with_processor(self, Self::state)?;
            let reference = (frame.reference > 0).then_some(&state);
            with_processor(self, |core| core.replay(&frame, &Gaps::default(), reference))?;
        }
        Ok(())
    }

    fn figures(&self) -> Figures {
        match self {
            Self::Alone { encoder, .. } => Figures { times: encoder.times(), ..Figures::default() },
            Self::Predicting(encoder) => Figures {
                times: encoder.times(),
                vectors_to_bytes: encoder.vectors_to_bytes(),
                finished_in: encoder.finished_in(),
            },
        }
    }
}

impl Replaceable for Core {
    fn backend(&self) -> &BackendInfo {
        match self {
            Self::Alone { encoder, .. } => encoder.backend(),
            Self::Predicting(encoder) => encoder.backend(),
        }
    }

    fn give_up(&mut self, reason: String) {
        match self {
            Self::Alone { params, encoder } => *encoder = encoder_instead(params, reason),
            Self::Predicting(encoder) => encoder.give_up(reason),
        }
    }
}

impl Encoder {
    /// Opens the encoder of a stream. It works on the caller's thread, which waits for a device as long as it takes.
    pub fn open(params: &StreamParams, options: impl Into<Options>) -> Result<Self, OpenError> {
        let options = options.into();
        let core = Core::open(params, &options)?;
        let backend = core.backend().clone();
        Ok(Self::of(params, options, Runner::Here(core), backend, None))
    }

    /// Opens the encoder of a live stream, which waits for no driver for ever: a device works on a thread of its own
    /// ([`crate::apart`]). The picture `first`, samples of this format, is coded and goes nowhere, so that a device that does
    /// not work or a target that is too small shows now, and the first real frame finds everything in its place.
    ///
    /// Where a device cannot be opened, a stream with states is coded on the processor.
    pub fn open_ready(
        params: &StreamParams,
        options: impl Into<Options>,
        first: (PixelFormat, &[u8]),
        target: Target,
    ) -> Result<Self, OpenError> {
        let (params, options) = (*params, options.into());
        let ready = move |mut core: Core, data: &[u8]| {
            let picture = PictureRef::new(first.0, params.size, data).map_err(EncodeError::from)?;
            match core.try_out(picture, target) {
                // It can decode its own frames.
                Ok(()) | Err(EncodeError::State(_)) => Ok(core),
                Err(error) => Err(OpenError::First(error)),
            }
        };
        let opened = match options.given_up() {
            Some(reason) => ready(Core::on_the_processor(&params, reason.to_owned()), first.1),
            None => {
                let (asked, data) = (options.clone(), first.1.to_vec());
                let open = move || Core::open(&params, &asked).and_then(|core| ready(core, &data));
                apart::once("open", Patience::OPEN, open).map_err(OpenError::from).flatten()
            }
        };
        let core = match opened {
            Err(error) if error.is_of_device() && params.codec.profile.states() > 0 => {
                let reason = format!("predicted frames are coded on the processor: {error}");
                if matches!(error, OpenError::Lost(_)) {
                    options.give_up(&reason);
                }
                ready(Core::on_the_processor(&params, reason), first.1)?
            }
            opened => opened?,
        };
        let backend = core.backend().clone();
        Ok(Self::of(&params, options, Runner::of(core, &backend)?, backend, Some(first.0)))
    }

    fn of(
        params: &StreamParams,
        options: Options,
        runner: Runner<Core>,
        backend: BackendInfo,
        known: Option<PixelFormat>,
    ) -> Self {
        let (search, figures) = (Search::default(), Figures::default());
        Self { params: *params, options, runner, backend, known, search, figures }
    }

    /// Codes one picture of the stream's size, in any pixel format. `reference`: how many frames before it, and the state of
    /// that frame, from which it is predicted unless it costs less alone; a stream without states never has one. The target
    /// holds for the whole frame.
    ///
    /// The same pictures in the same order give the same bytes on every back end, unless the search for vectors has a limit
    /// of time. A device on a thread of its own takes a copy of the picture: [`Self::encode_owned`] needs none.
    pub fn encode(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        reference: Option<(u8, &State)>,
    ) -> Result<CodedFrame, EncodeError> {
        if matches!(self.runner, Runner::Apart(_)) {
            let (data, kept) = (picture.data().to_vec(), reference.map(|(age, state)| (age, state.clone())));
            if let Some((frame, _)) = self.encode_owned(picture.format(), data, target, kept)? {
                return Ok(frame);
            }
        }
        self.known = Some(picture.format());
        let search = self.search;
        self.here(|core| with_processor(core, |core| core.encode(picture, target, reference, search)))
            .unwrap_or(Err(EncodeError::Lost(Lost::Broke)))
    }

    /// Codes a picture as [`Self::encode`] does, of samples that a driver may keep: returns none if it has kept them. The
    /// processor codes the next one.
    pub fn encode_owned<D: Deref<Target = [u8]> + Send + 'static>(
        &mut self,
        format: PixelFormat,
        data: D,
        target: Target,
        reference: Option<(u8, State)>,
    ) -> Result<Option<(CodedFrame, D)>, EncodeError> {
        let patience = self.patience(self.known == Some(format));
        self.known = Some(format);
        let (size, search) = (self.params.size, self.search);
        self.run(patience, move |core| {
            let reference = reference.as_ref().map(|(age, state)| (*age, state));
            let picture = PictureRef::new(format, size, &data)?;
            let frame = with_processor(core, |core| core.encode(picture, target, reference, search))?;
            Ok((frame, data))
        })
        .transpose()
    }

    /// Codes a picture alone, as [`Self::encode_owned`] does, but as no frame of the stream: the next one is coded as it would be
    /// without this one.
    pub fn encode_apart_owned<D: Deref<Target = [u8]> + Send + 'static>(
        &mut self,
        format: PixelFormat,
        data: D,
        target: Target,
    ) -> Result<Option<(CodedFrame, D)>, EncodeError> {
        let patience = self.patience(self.known == Some(format));
        self.known = Some(format);
        let size = self.params.size;
        self.run(patience, move |core| {
            let picture = PictureRef::new(format, size, &data)?;
            let frame = with_processor(core, |core| core.encode_apart(picture, target))?;
            Ok((frame, data))
        })
        .transpose()
    }

    /// Returns the longest time that a picture of this format may take if that is long, because a driver may compile for it.
    pub fn longest(&self, format: PixelFormat) -> Option<Duration> {
        (self.backend.is_device() && self.known != Some(format)).then_some(Patience::OPEN.longest())
    }

    /// Computes the state of the frame coded last, for which the frame need not wait, and makes ready for a frame that refers
    /// to it. It takes least directly after the frame was coded. None without such a frame, or if its state has been
    /// computed; [`Self::replay`] makes that of any frame.
    pub fn state(&mut self) -> Result<Option<State>, DecodeError> {
        let patience = self.patience(true);
        self.run(patience, |core| with_processor(core, Core::state)).unwrap_or(Ok(None))
    }

    /// Sets how much is done to find vectors, and the time in which they are looked for, from the next frame on. Without a
    /// limit frames are the same on every machine; with one a graphics card looks for them itself, in less time than any limit, and a
    /// processor gives what is left when it is over the best vectors at hand.
    pub fn set_search(&mut self, effort: Effort, limit: Option<Duration>) {
        self.search = (effort, limit);
    }

    /// Returns the duration of each stage of the last frame.
    pub fn times(&self) -> EncodeTimes {
        self.figures.times
    }

    /// Returns how long the last frame took from its vectors to its bytes, the vectors' own among them, without the state that
    /// comes of it; zero unless it has a reference.
    pub fn vectors_to_bytes(&self) -> Duration {
        self.figures.vectors_to_bytes
    }

    /// Returns how long the last state took.
    pub fn finished_in(&self) -> Duration {
        self.figures.finished_in
    }

    /// Returns the back end in use, and the reason for it.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    /// Lets it compute with a device whose driver does not return before `held` ends, for tests of what happens then.
    #[doc(hidden)]
    pub fn hang(&mut self, held: Receiver<()>) -> Result<(), OpenError> {
        let instead = Core::on_the_processor(&self.params, String::new());
        let core = match std::mem::replace(&mut self.runner, Runner::Here(instead)) {
            Runner::Here(core) => core,
            Runner::Apart(_) => return Ok(()),
        };
        self.runner = Runner::apart("device", core)?;
        self.backend.kind = Backend::Opencl;
        let _ = self.runner.run(Patience::NONE, move |_| held.recv().is_ok());
        Ok(())
    }

    /// Returns the patience with a device. From a processor that took over there is nothing else to go on with.
    fn patience(&self, is_known: bool) -> Patience {
        if self.backend.is_device() && is_known { Patience::WORK } else { Patience::OPEN }
    }

    /// Works with the coder on this thread; none if it is on another one.
    fn here<A: Send>(&mut self, work: impl FnOnce(&mut Core) -> A + Send) -> Option<A> {
        let Runner::Here(core) = &mut self.runner else { return None };
        // A driver may hold its thread.
        let done = if core.backend().is_device() { work(core) } else { threads::that_pay(&self.params, || work(core)) };
        self.figures = core.figures();
        if core.backend().is_device() != self.backend.is_device() {
            self.backend = core.backend().clone();
        }
        Some(done)
    }

    /// Works with the coder where it is; none if its driver does not answer. Then the processor goes on here.
    fn run<A: Send + 'static>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&mut Core) -> A + Send + 'static,
    ) -> Option<A> {
        if matches!(self.runner, Runner::Here(_)) {
            return self.here(work);
        }
        let work = |core: &mut Core| {
            let done = work(core);
            let replaced = (!core.backend().is_device()).then(|| core.backend().clone());
            (done, core.figures(), replaced)
        };
        match self.runner.run(patience, work) {
            Ok((done, figures, replaced)) => {
                self.figures = figures;
                if let Some(replaced) = replaced.filter(|_| self.backend.is_device()) {
                    self.backend = replaced;
                }
                Some(done)
            }
            Err(lost) => {
                let reason = self.backend.given_up(&lost);
                self.options.give_up(&reason);
                let core = Core::on_the_processor(&self.params, reason);
                self.backend = core.backend().clone();
                self.runner = Runner::Here(core);
                None
            }
        }
    }
}

/// The decoder of this stream's receivers, at their sender.
impl Replay<Arc<CodedFrame>, State> for Encoder {
    type Error = DecodeError;

    fn replay(
        &mut self,
        frame: &Arc<CodedFrame>,
        gaps: &Gaps,
        reference: Option<&State>,
    ) -> Result<State, DecodeError> {
        if matches!(self.runner, Runner::Apart(_)) {
            let (frame, gaps, reference) = (Arc::clone(frame), gaps.clone(), reference.cloned());
            let work =
                move |core: &mut Core| with_processor(core, |core| core.replay(&frame, &gaps, reference.as_ref()));
            if let Some(replayed) = self.run(self.patience(true), work) {
                return replayed;
            }
        }
        self.here(|core| with_processor(core, |core| core.replay(frame, gaps, reference)))
            .unwrap_or(Err(DecodeError::Lost(Lost::Broke)))
    }

    fn hash(&self, state: &State) -> u32 {
        state.picture().hash()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use picture::coded::{ReceivedFrame, StepIndex};
    use picture::frame::{Chroma, FrameSize};
    use picture::params::{CodecParams, Profile};

    use super::*;
    use crate::{BackendChoice, Decoder, Picture};

    const STEP: Target = Target::Step(StepIndex::new(48).unwrap());

    fn streams() -> [StreamParams; 2] {
        let alone = StreamParams::new(FrameSize::new(68, 46).unwrap(), Chroma::C420);
        let codec = CodecParams { profile: Profile::Predicted(4), ..CodecParams::default() };
        [alone, StreamParams { codec, ..alone }]
    }

    fn samples(params: &StreamParams, number: usize) -> Vec<u8> {
        let bytes = PixelFormat::I420.bytes(params.size);
        (0..bytes).map(|at| ((at * at) % 97 + (at + 3 * number) / 40 % 90) as u8).collect()
    }

    /// A driver keeps the picture; the next one is coded on the processor, from the state that there was.
    #[test]
    fn an_encoder_goes_on_behind_a_driver_that_never_returns() {
        for params in streams() {
            let (options, states) = (Options::from(BackendChoice::Cpu), params.codec.profile.states());
            let mut encoder = Encoder::open(&params, &options).unwrap();
            let code = |encoder: &mut Encoder, number, from| {
                encoder.encode_owned(PixelFormat::I420, samples(&params, number), STEP, from).unwrap()
            };
            let (first, _) = code(&mut encoder, 0, None).unwrap();
            let state = encoder.state().unwrap();
            assert_eq!((first.reference, state.is_some()), (0, states > 0));
            let from = state.map(|state| (1, state));
            let (let_go, held) = mpsc::channel();
            encoder.hang(held).unwrap();
            assert!(encoder.backend().is_device() && options.given_up().is_none());
            assert!(code(&mut encoder, 1, from.clone()).is_none(), "the driver keeps it");
            assert_eq!((encoder.backend().kind, options.given_up()), (Backend::Cpu, Some(&*encoder.backend().reason)));
            assert!(encoder.backend().reason.contains("has not answered"), "{}", encoder.backend().reason);
            let (second, _) = code(&mut encoder, 1, from.clone()).unwrap();
            assert_eq!(second.reference, u8::from(states > 0));
            // It decodes, and an encoder that is opened later does not ask the driver.
            let mut decoder = Decoder::open(&params, BackendChoice::Reference).unwrap();
            let mut out = Picture::decoded_from(&params);
            let state = from.as_ref().map(|(_, state)| state);
            let decoded = decoder.decode(&ReceivedFrame::from(&second), state, &mut out).unwrap();
            assert!(decoded == encoder.state().unwrap());
            let data = samples(&params, 0);
            let later = Encoder::open_ready(&params, &options, (PixelFormat::I420, &data), STEP).unwrap();
            assert_eq!(later.backend().reason, encoder.backend().reason);
            drop(let_go);
        }
    }

    /// A lent picture is not lost, and neither is a state that the driver was to compute.
    #[test]
    fn a_picture_that_was_lent_and_a_state_are_there_when_a_driver_never_returns() {
        for params in streams() {
            let [data, next] = [0, 1].map(|number| samples(&params, number));
            let [first, second] =
                [&data, &next].map(|data| PictureRef::new(PixelFormat::I420, params.size, data).unwrap());
            let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
            let frame = Arc::new(encoder.encode(first, STEP, None).unwrap());
            let (let_go, held) = mpsc::channel();
            encoder.hang(held).unwrap();
            assert!(encoder.encode(second, STEP, None).is_ok());
            assert_eq!(encoder.backend().kind, Backend::Cpu);
            let replayed = encoder.replay(&frame, &Gaps::default(), None);
            let states = params.codec.profile.states();
            assert_eq!((replayed.is_ok(), encoder.state().unwrap().is_some()), (states > 0, states > 0));
            drop(let_go);
        }
    }
}
