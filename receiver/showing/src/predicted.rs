//! Frames, of which some may refer to others: the decoder of a stream and the states that it has.

use std::time::Duration;

use common::stream::video::prediction::{HASH_EVERY, Held};
use common::units::FrameId;
use common::wire::states::StatesReport;
use kernels::{BackendInfo, DecodeTimes, Decoded, Decoder, Options, Picture, State};
use net::failure::Failure;
use net::limited;
use picture::coded::{BlockState, ReceivedFrame};
use picture::gaps::Gaps;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use shell::exit::codec_failure;

/// The decoder of a stream. A stream without states holds none.
pub struct StreamDecoder {
    decoder: Decoder,
    held: Held<State>,
    states: u8,
    coarse_blocks: usize,
    /// True if the last frame that was decoded had no reference: what a coarse block that is missing would be taken from.
    was_alone: bool,
}

/// Outcome of a frame.
pub enum Outcome {
    /// Its picture; and the frame, if it has a state.
    Picture(Picture, Option<ReceivedFrame>),
    /// None, so that the picture before it stays; the one that was to be written, unless a driver keeps it.
    Stays(Option<Picture>),
}

impl StreamDecoder {
    /// Opens the decoder. What its device cannot do the processor does, and [`Self::backend`] says why.
    pub fn open(params: &StreamParams, options: &Options) -> Result<Self, Failure> {
        let decoder = Decoder::open_ready(params, options).map_err(|error| codec_failure(&error))?;
        let states = params.codec.profile.states();
        let (held, coarse_blocks) = (Held::new(states), BlockLayout::new(params).coarse_blocks());
        Ok(Self { decoder, held, states, coarse_blocks, was_alone: states == 0 })
    }

    /// Forgets the states: another sender begins.
    pub fn restart(&mut self) {
        self.held = Held::new(self.states);
        self.was_alone = self.states == 0;
    }

    /// Asks the sender for a frame without a reference.
    pub fn ask_alone(&mut self) {
        self.held.ask_alone();
    }

    /// Frees the decoder.
    pub fn end(self) {
        self.decoder.end();
    }

    /// Returns what decodes.
    pub fn backend(&self) -> &BackendInfo {
        self.decoder.backend()
    }

    /// Decodes a frame into `out`. A device that does not answer is given up, and the processor goes on with the same states.
    pub fn decode(
        &mut self,
        id: FrameId,
        reference: u8,
        mut frame: ReceivedFrame,
        out: Picture,
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
        let decoded = self.decoder.decode_owned(frame, state, out).map_err(|error| codec_failure(&error))?;
        let Some(Decoded { picture, frame, state }) = decoded else {
            // The frame and the picture are lost with their driver.
            self.was_alone = self.states == 0;
            self.held.on_not_used(id);
            return Ok(Outcome::Stays(None));
        };
        if !is_state || state.is_none() {
            self.held.on_not_used(id);
            return Ok(Outcome::Picture(picture, None));
        }
        let hash = id.0.is_multiple_of(HASH_EVERY).then(|| picture.hash());
        self.held.on_used(id, gaps, state, hash);
        Ok(Outcome::Picture(picture, Some(frame)))
    }

    /// Makes ready for a frame that refers to the last one, for a time in which no frame waits.
    pub fn get_ready(&mut self) {
        if let Some(state) = self.held.newest() {
            self.decoder.expect(state);
        }
    }

    /// Returns true if a frame is left out, as [`Held::leaves_out`] decides.
    pub fn leaves_out(&self, waiting: usize, took: Duration, interval: Duration) -> bool {
        self.held.leaves_out(waiting, took, interval)
    }

    /// Returns the duration of the stages of the last frame decoded.
    pub fn times(&self) -> DecodeTimes {
        self.decoder.times()
    }

    /// Returns the fates of the last frames, for the sender; none of a stream without states.
    pub fn report(&self) -> Option<StatesReport> {
        self.held.report()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::mpsc;

    use common::wire::states::Fate;
    use kernels::{Backend, BackendChoice, Effort, Encoder, PictureRef, Target};
    use picture::coded::StepIndex;
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
        let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
        encoder.set_search(Effort::Low, None);
        move |number, from| {
            let data = samples(number);
            let picture = PictureRef::new(PixelFormat::Grey8, params.size, &data).unwrap();
            let step = Target::Step(StepIndex::new(56).unwrap());
            let frame = encoder.encode(picture, step, from).unwrap();
            let state = encoder.state().unwrap().unwrap();
            assert_eq!(frame.reference, from.map_or(0, |(age, _)| age));
            (ReceivedFrame::from(&frame), state)
        }
    }

    #[test]
    fn the_processor_goes_on_with_the_same_states_when_a_driver_never_returns() {
        let params = params();
        let mut code = coder(params);
        let (first, state) = code(0, None);
        let (second, _) = code(1, Some((1, &state)));
        let (third, wanted) = code(2, Some((2, &state)));

        let options = Options::from(BackendChoice::Cpu);
        let mut predicted = StreamDecoder::open(&params, &options).unwrap();
        let decode = |predicted: &mut StreamDecoder, id, reference, frame| {
            let out = Picture::for_stream(params.chroma, params.size);
            predicted.decode(FrameId(id), reference, frame, out).unwrap()
        };
        assert!(matches!(decode(&mut predicted, 0, 0, first), Outcome::Picture(out, _) if out == *state.picture()));
        // Its driver holds the thread from now on.
        let (let_go, held) = mpsc::channel::<()>();
        predicted.decoder.hang(held).unwrap();
        assert!(matches!(decode(&mut predicted, 1, 1, second), Outcome::Stays(None)));
        let nothing_missing = Fate::Used(Gaps::default());
        assert_eq!(predicted.report().unwrap().fates, [Fate::NotUsed, nothing_missing]);
        assert!(matches!(decode(&mut predicted, 2, 2, third), Outcome::Picture(out, _) if out == *wanted.picture()));
        let reason = &predicted.backend().reason;
        assert_eq!((predicted.backend().kind, options.given_up()), (Backend::Cpu, Some(reason.as_str())));
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
        let mut predicted = StreamDecoder::open(&params, &BackendChoice::Cpu.into()).unwrap();
        let mut decode = |id, reference, frame| {
            let out = Picture::for_stream(params.chroma, params.size);
            let outcome = predicted.decode(FrameId(id), reference, frame, out).unwrap();
            (outcome, predicted.report().unwrap().fates)
        };
        let whole = || Fate::Used(Gaps::default());
        assert!(matches!(decode(0, 0, first), (Outcome::Picture(out, _), _) if out == *state.picture()));
        let (outcome, fates) = decode(1, 0, second.clone());
        assert!(matches!(outcome, Outcome::Picture(out, None) if out != *state.picture()));
        assert_eq!(fates, [Fate::NotUsed, whole()]);
        // The state of the second frame is that of the first.
        assert!(matches!(decode(2, 1, third), (Outcome::Picture(out, _), _) if out == *wanted.picture()));
        let (outcome, fates) = decode(3, 0, second);
        assert!(matches!(outcome, Outcome::Stays(Some(_))), "what it would take blocks from is too old");
        assert_eq!(fates, [Fate::NotUsed, whole(), Fate::NotUsed, whole()]);
    }
}
