//! Frames that refer to others: the decoder and the states that it has.

use common::prediction::{HASH_EVERY, Held};
use common::units::FrameId;
use common::wire::states::StatesReport;
use kernels::motion::{State, StateDecoder, open_state_decoder};
use kernels::{BackendChoice, BackendInfo, CodecError, DecodeError, DecodeTimes, Picture};
use net::failure::Failure;
use net::limited;
use picture::coded::{BlockState, FrameHeader, ReceivedFrame, StepIndex};
use picture::gaps::Gaps;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::vectors::VectorLayout;
use shell::apart::{self, Patience, Runner};
use shell::exit::codec_failure;

/// The decoder of a stream with prediction.
pub struct Predicted {
    params: StreamParams,
    decoder: Runner<StateDecoder>,
    backend: BackendInfo,
    held: Held<State>,
    window: u8,
    coarse_blocks: usize,
    /// True if the last frame that was decoded had no reference.
    was_alone: bool,
    times: DecodeTimes,
}

/// Outcome of a frame.
pub enum Outcome {
    /// Its picture, and the frame, which was decoded.
    Picture(Picture, ReceivedFrame),
    /// Its picture, which is no state: no frame can refer to it.
    Shown(Picture),
    /// None, so that the picture before it stays; the one that was to be written, unless a driver keeps it.
    Stays(Option<Picture>),
}

impl Predicted {
    /// Opens the decoder. What `device` cannot do the processor does, and [`Self::backend`] says why; `given_up` is the
    /// reason for which a device is not asked again.
    pub fn open(
        params: &StreamParams,
        choice: BackendChoice,
        device: Option<&str>,
        given_up: &mut Option<String>,
    ) -> Result<Self, Failure> {
        let (asked, name) = (*params, device.map(str::to_owned));
        let opened = match given_up {
            Some(reason) => on_the_processor(params, reason.clone()),
            None => match apart::once("open", Patience::OPEN, move || ready(&asked, choice, name.as_deref())) {
                Ok(opened) => opened,
                Err(lost) => {
                    let reason = format!("the device was given up: {lost}");
                    *given_up = Some(reason.clone());
                    on_the_processor(params, reason)
                }
            },
        };
        let (decoder, backend) = opened?;
        let decoder = Runner::of(decoder, &backend).map_err(Failure::device)?;
        let window = params.codec.profile.states();
        let coarse_blocks = BlockLayout::new(params).coarse_blocks();
        let (held, times) = (Held::new(window), DecodeTimes::default());
        Ok(Self { params: *params, decoder, backend, held, window, coarse_blocks, was_alone: false, times })
    }

    /// Forgets the states: another sender begins.
    pub fn restart(&mut self) {
        self.held = Held::new(self.window);
        self.was_alone = false;
    }

    /// Frees the decoder.
    pub fn end(self) {
        self.decoder.end(Patience::WORK);
    }

    /// Returns what decodes.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    /// Decodes a frame into `out`. A device that does not answer is given up, and the processor goes on with the same states.
    pub fn decode(
        &mut self,
        id: FrameId,
        reference: u8,
        mut frame: ReceivedFrame,
        mut out: Picture,
        given_up: &mut Option<String>,
    ) -> Result<Outcome, Failure> {
        let gaps = Gaps::of(&mut frame);
        let state = self.held.reference(id, reference).cloned();
        if reference > 0 && state.is_none() {
            limited!(info, "frame {} refers to a state that is not there: the last picture stays", id.0);
            self.held.on_lacking(id);
            return Ok(Outcome::Stays(Some(out)));
        }
        // A coarse block that is missing is taken from the last frame without a reference, of which the sender knows nothing.
        let is_state = reference > 0 || (0..self.coarse_blocks).all(|index| frame.block(index) != BlockState::Missing);
        if !is_state && !self.was_alone {
            self.held.on_not_used(id);
            return Ok(Outcome::Stays(Some(out)));
        }
        self.was_alone = reference == 0;
        let work = move |decoder: &mut StateDecoder| {
            let state = decoder.decode_state(&frame, state.as_ref(), &mut out)?;
            Ok::<_, DecodeError>((state, frame, out, decoder.times(), decoder.backend().clone()))
        };
        // From a processor that took over from a device that failed there is nothing else to go on with.
        let patience = if self.backend.is_device() { Patience::WORK } else { Patience::OPEN };
        let decoded = match self.decoder.run(patience, work) {
            Ok(decoded) => decoded,
            Err(lost) => {
                // The frame and the picture that the driver keeps are lost with it.
                let reason = self.backend.given_up(&lost);
                let (decoder, backend) = on_the_processor(&self.params, reason.clone())?;
                *given_up = Some(reason);
                (self.decoder, self.backend) = (Runner::Here(decoder), backend);
                self.was_alone = false;
                self.held.on_not_used(id);
                return Ok(Outcome::Stays(None));
            }
        };
        let (state, frame, out, times, backend) = decoded.map_err(|error| codec_failure(&error))?;
        if self.backend.is_device() && !backend.is_device() {
            self.backend = backend;
        }
        self.times = times;
        if !is_state {
            self.held.on_not_used(id);
            return Ok(Outcome::Shown(out));
        }
        let hash = id.0.is_multiple_of(HASH_EVERY).then(|| out.hash());
        self.held.on_used(id, gaps, state, hash);
        Ok(Outcome::Picture(out, frame))
    }

    /// Makes ready for a frame that refers to the last one, for a time in which no frame waits. A driver that is on a
    /// thread of its own needs nothing.
    pub fn get_ready(&mut self) {
        if let (Runner::Here(decoder), Some(state)) = (&mut self.decoder, self.held.newest()) {
            decoder.expect(state);
        }
    }

    /// Returns the duration of the stages of the last frame decoded.
    pub fn times(&self) -> DecodeTimes {
        self.times
    }

    /// Returns the fates of the last frames, for the sender.
    pub fn report(&self) -> Option<StatesReport> {
        self.held.report()
    }
}

type OpenedPredicted = Result<(StateDecoder, BackendInfo), Failure>;

/// Opens the decoder of the processor, for this reason.
fn on_the_processor(params: &StreamParams, reason: String) -> OpenedPredicted {
    let decoder = open_state_decoder(params, BackendChoice::Cpu, None).map_err(|error| codec_failure(&error))?;
    let backend = BackendInfo { reason, ..decoder.backend().clone() };
    Ok((decoder, backend))
}

/// Opens the decoder and lets it decode: some OpenCL drivers compile a kernel when it runs first, which takes seconds.
fn ready(params: &StreamParams, choice: BackendChoice, device: Option<&str>) -> OpenedPredicted {
    let mut decoder = match open_state_decoder(params, choice, device) {
        Err(error) if error.is_of_device() => {
            return on_the_processor(params, format!("predicted frames are decoded on the processor: {error}"));
        }
        opened => opened.map_err(|error| codec_failure(&error))?,
    };
    let header = FrameHeader { step: StepIndex::MAX, fine_blocks: 0 };
    let blocks = BlockLayout::new(params).blocks().len();
    let [alone, predicted] = [0, VectorLayout::new(params.size).slices()].map(|slices| slices + blocks);
    let (state, mut out) =
        (Picture::for_stream(params.chroma, params.size), Picture::for_stream(params.chroma, params.size));
    // Missing blocks leave no trace in the decoder.
    let decoded = decoder.decode(&ReceivedFrame::empty(header, alone), None, &mut out);
    let decoded =
        decoded.and_then(|()| decoder.decode(&ReceivedFrame::empty(header, predicted), Some(&state), &mut out));
    decoded.map_err(|error| codec_failure(&error))?;
    let backend = decoder.backend().clone();
    Ok((decoder, backend))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::mpsc;

    use common::wire::states::Fate;
    use kernels::motion::{Effort, PredictionSettings, open_predicted_encoder};
    use kernels::{Backend, PictureRef, Target};
    use picture::frame::{Chroma, ColourSpace, FrameSize, PixelFormat};
    use picture::params::{CodecParams, Profile};

    use super::*;

    pub(crate) fn params() -> StreamParams {
        StreamParams {
            colour: ColourSpace::JPEG,
            codec: CodecParams { profile: Profile::Predicted(4), ..CodecParams::default() },
            ..StreamParams::new(FrameSize::new(96, 64).unwrap(), Chroma::Grey)
        }
    }

    /// Returns noise that stands still, behind a bar that grows.
    fn samples(number: usize) -> Vec<u8> {
        let noise = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 24) as u8;
        (0..96 * 64).map(|at| if at / 96 < 5 * number { 200 } else { noise(at) }).collect()
    }

    /// Returns an encoder of such pictures, with a reference so many frames back or alone; it gives the frame and its state.
    pub(crate) fn coder(params: StreamParams) -> impl FnMut(usize, Option<(u8, &State)>) -> (ReceivedFrame, State) {
        let settings = PredictionSettings { reference_age: 1, effort: Effort::Low };
        let mut encoder = open_predicted_encoder(&params, settings, BackendChoice::Cpu, None).unwrap();
        move |number, from| {
            let data = samples(number);
            let picture = PictureRef::new(PixelFormat::Grey8, params.size, &data).unwrap();
            let step = Target::Step(StepIndex::new(56).unwrap());
            let (frame, unfinished) = encoder.encode_from(picture, step, from).unwrap();
            let state = encoder.finish(unfinished).unwrap();
            assert_eq!(frame.reference, from.map_or(0, |(age, _)| age));
            (ReceivedFrame::from(&frame.frame), state)
        }
    }

    #[test]
    fn the_processor_goes_on_with_the_same_states_when_a_driver_never_returns() {
        let params = params();
        let mut code = coder(params);
        let (first, state) = code(0, None);
        let (second, _) = code(1, Some((1, &state)));
        let (third, wanted) = code(2, Some((2, &state)));

        let mut predicted = Predicted::open(&params, BackendChoice::Cpu, None, &mut None).unwrap();
        let decoder = open_state_decoder(&params, BackendChoice::Cpu, None).unwrap();
        predicted.decoder = Runner::apart("device", decoder).unwrap();
        let mut given_up = None;
        let mut decode = |predicted: &mut Predicted, id, reference, frame| {
            let out = Picture::for_stream(params.chroma, params.size);
            predicted.decode(FrameId(id), reference, frame, out, &mut given_up).unwrap()
        };
        assert!(matches!(decode(&mut predicted, 0, 0, first), Outcome::Picture(out, _) if out == *state.picture()));
        // Its driver holds the thread from now on.
        predicted.backend.kind = Backend::Opencl;
        let (let_go, held) = mpsc::channel::<()>();
        assert!(predicted.decoder.run(Patience::WORK, move |_| held.recv()).is_err());
        assert!(matches!(decode(&mut predicted, 1, 1, second), Outcome::Stays(None)));
        let nothing_missing = Fate::Used(Gaps::default());
        assert_eq!(predicted.report().unwrap().fates, [Fate::NotUsed, nothing_missing]);
        assert!(matches!(decode(&mut predicted, 2, 2, third), Outcome::Picture(out, _) if out == *wanted.picture()));
        let reason = &predicted.backend().reason;
        assert_eq!((predicted.backend().kind, given_up.as_ref()), (Backend::Cpu, Some(reason)));
        assert!(reason.contains("has not answered"), "{reason}");
        drop(let_go);
    }

    /// As without prediction, what lacks coarse blocks is shown where the frame before it was coded alone, too. No
    /// state comes of it.
    #[test]
    fn a_frame_without_a_reference_that_lacks_coarse_blocks_is_shown_and_no_state() {
        let params = params();
        let mut code = coder(params);
        let (first, state) = code(0, None);
        let (mut second, _) = code(1, None);
        second.forget(0..1);
        let (third, wanted) = code(2, Some((1, &state)));
        let mut predicted = Predicted::open(&params, BackendChoice::Cpu, None, &mut None).unwrap();
        let mut decode = |id, reference, frame| {
            let out = Picture::for_stream(params.chroma, params.size);
            let outcome = predicted.decode(FrameId(id), reference, frame, out, &mut None).unwrap();
            (outcome, predicted.report().unwrap().fates)
        };
        let whole = || Fate::Used(Gaps::default());
        assert!(matches!(decode(0, 0, first), (Outcome::Picture(out, _), _) if out == *state.picture()));
        let (outcome, fates) = decode(1, 0, second.clone());
        assert!(matches!(outcome, Outcome::Shown(out) if out != *state.picture()));
        assert_eq!(fates, [Fate::NotUsed, whole()]);
        // The state of the second frame is that of the first.
        assert!(matches!(decode(2, 1, third), (Outcome::Picture(out, _), _) if out == *wanted.picture()));
        let (outcome, fates) = decode(3, 0, second);
        assert!(matches!(outcome, Outcome::Stays(Some(_))), "what it would take blocks from is too old");
        assert_eq!(fates, [Fate::NotUsed, whole(), Fate::NotUsed, whole()]);
    }
}
