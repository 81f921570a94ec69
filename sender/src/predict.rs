//! Prediction: what the receiver holds, and pictures coded from it.

use std::sync::Arc;
use std::time::Duration;

use common::prediction::{PredictionCounters, References, StatesOutcome};
use common::units::{FrameId, Timestamp};
use common::wire::states::StatesReport;
use kernels::motion::{Effort, PredictError, PredictedEncoder, PredictionSettings, open_predicted_encoder};
use kernels::{
    BackendChoice, BackendInfo, DecodeError, EncodeError, EncodeTimes, OpenError, Picture, PictureRef, Target,
};
use picture::coded::PredictedFrame;
use picture::frame::FrameRate;
use picture::params::StreamParams;
use shell::{clock, limited};

/// Messages of the network thread to the encoder about the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It begins anew, with nothing.
    Restart,
    /// Fate of the last frames at its decoder, and the time of that report.
    Report(StatesReport, Timestamp),
}

/// An encoder that predicts from what the receiver holds.
pub struct Predicting {
    encoder: PredictedEncoder,
    backend: BackendInfo,
    references: References<PredictedFrame, Arc<Picture>>,
    pace: Pace,
    /// The state of the last picture that was timed.
    timed: Option<Picture>,
    /// Bytes of a frame above which prediction is not tried.
    bytes_most: usize,
    /// True if the last frame was below that.
    tries: bool,
}

/// Bits per pixel above which prediction gains little, and takes as much time as ever.
const BITS_MOST: f64 = 0.3;

impl Predicting {
    /// Opens the encoder. It runs on the processor, whatever is asked for.
    pub fn open(params: &StreamParams, choice: BackendChoice) -> Result<Self, OpenError> {
        let settings = PredictionSettings { reference_age: 1, effort: Effort::default() };
        let choice = if choice == BackendChoice::Reference { choice } else { BackendChoice::Cpu };
        let encoder = open_predicted_encoder(params, settings, choice, None)?;
        let references = References::new(params.codec.profile.states(), params.frame_rate.interval());
        let reason = "predicted frames are coded on the processor".to_owned();
        let backend = BackendInfo { reason, ..encoder.backend().clone() };
        Ok(Self {
            encoder,
            backend,
            references,
            pace: Pace::new(params.frame_rate),
            timed: None,
            bytes_most: usize::MAX,
            tries: true,
        })
    }

    /// Codes a picture that is not sent.
    pub fn warm_up(&mut self, picture: PictureRef<'_>, target: Target) -> Result<(), EncodeError> {
        match self.encoder.encode_from(picture, target, None) {
            Err(PredictError::Encode(error)) => Err(error),
            // It codes alone, and its own frame it can decode.
            Err(PredictError::Decode(_)) | Ok(_) => Ok(()),
        }
    }

    /// Codes a picture that is not sent, from the last one of these, with low effort; returns how long that took.
    pub fn time(&mut self, picture: PictureRef<'_>, target: Target) -> Result<Duration, EncodeError> {
        self.encoder.set_effort(Effort::Low);
        let began = clock::now();
        let reference = self.timed.as_ref().map(|state| (1, state));
        match self.encoder.encode_from(picture, target, reference) {
            Err(PredictError::Encode(error)) => return Err(error),
            Err(PredictError::Decode(_)) => {}
            Ok((_, state)) => self.timed = Some(state),
        }
        Ok(clock::now().since(began))
    }

    /// Forgets the pictures that were timed.
    pub fn end_timing(&mut self) {
        self.timed = None;
        self.encoder.set_effort(Effort::default());
    }

    /// Tries prediction for frames of few bits only, of pictures of so many pixels.
    pub fn predict_few_bits(&mut self, pixels: usize) {
        self.bytes_most = (BITS_MOST * pixels as f64 / 8.0) as usize;
    }

    /// Returns what codes.
    pub fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    /// Takes what has been told.
    pub fn on_told(&mut self, told: Told) {
        match told {
            Told::Restart => self.references.restart(),
            Told::Report(report, at) => {
                let newest = report.newest.0;
                match self.references.on_report(report, at) {
                    StatesOutcome::News | StatesOutcome::Known => {}
                    StatesOutcome::Contradiction => {
                        limited!(warn, "a report of states, up to frame {newest}, contradicts an earlier one");
                    }
                    StatesOutcome::Malformed(reason) => limited!(warn, "a report of states is none: {reason}"),
                }
            }
        }
    }

    /// Decodes one frame as the receiver has, so that the next one to be coded need not wait for that; false if there is
    /// none to decode.
    pub fn prepare(&mut self, now: Timestamp) -> Result<bool, DecodeError> {
        if !self.tries {
            return Ok(false);
        }
        self.references.prepare(now, self.encoder.decoder())
    }

    /// Codes a picture at `now`; its number and its frame.
    pub fn code(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        now: Timestamp,
    ) -> Result<(FrameId, PredictedFrame), PredictError> {
        self.tries = self.pace.effort.is_some() && !matches!(target, Target::Bytes(bytes) if bytes > self.bytes_most);
        let (frame, state) = if self.tries {
            let mismatches = self.references.counters().mismatches;
            let reference = self.references.next(now, self.encoder.decoder())?;
            if self.references.counters().mismatches > mismatches {
                limited!(
                    warn,
                    "the receiver's picture is not the one that this sender computed: a frame without a reference follows"
                );
            }
            let reference = reference.as_ref().map(|(age, state)| (*age, &**state));
            let (frame, state) = self.encoder.encode_from(picture, target, reference)?;
            (frame, Some(Arc::new(state)))
        } else {
            (self.encoder.encode_alone(picture, target)?, None)
        };
        let id = self.references.next_frame();
        self.references.on_coded(frame.reference, frame.clone(), state, now);
        Ok((id, frame))
    }

    /// A frame took so long to code, all in all.
    pub fn on_took(&mut self, took: Duration) {
        // Frames with too many bits for it tell nothing of prediction.
        if !self.tries && self.pace.effort.is_some() {
            return;
        }
        match self.pace.on_took(took) {
            Some(Some(effort)) => {
                tracing::info!("motion is searched with {effort:?} effort from now on, {:?} a frame", self.pace.took);
                self.set_effort(effort);
            }
            Some(None) => {
                limited!(
                    warn,
                    "this machine is too slow for prediction, {:?} a frame: frames are coded alone for a while",
                    self.pace.took
                );
            }
            None => {}
        }
    }

    /// Sets how much is done to find motion.
    pub fn set_effort(&mut self, effort: Effort) {
        self.encoder.set_effort(effort);
    }

    /// Returns the duration of the stages of the last frame, which took `all`: what is more than the encoder's own time
    /// has gone into what the receiver holds.
    pub fn times(&self, all: Duration) -> EncodeTimes {
        let times = self.encoder.times();
        let known = times.motion + times.compensate + times.transform + times.code;
        EncodeTimes { compensate: times.compensate + all.saturating_sub(known), ..times }
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> PredictionCounters {
        self.references.counters()
    }
}

/// Chooses the effort that the machine has time for.
struct Pace {
    interval: Duration,
    /// None: no search, and no prediction.
    effort: Option<Effort>,
    /// The time of a frame: an average in which the last one counts an eighth.
    took: Duration,
    /// Frames until the effort may change again.
    rest: u32,
    /// Frames without prediction before it is tried again.
    alone: u32,
}

impl Pace {
    /// Frames after a change before the next one.
    const REST: u32 = 30;
    /// Frames without prediction, at first and at most; each time there are twice as many.
    const ALONE: [u32; 2] = [300, 19_200];

    fn new(frame_rate: FrameRate) -> Self {
        let effort = Some(Effort::default());
        let interval = frame_rate.interval();
        Self { interval, effort, took: Duration::ZERO, rest: Self::REST, alone: Self::ALONE[0] }
    }

    /// A frame took so long; gives another effort if there should be one.
    fn on_took(&mut self, took: Duration) -> Option<Option<Effort>> {
        self.took = (7 * self.took + took) / 8;
        self.rest = self.rest.saturating_sub(1);
        if self.rest > 0 {
            return None;
        }
        self.rest = Self::REST;
        // The receiver of this machine and the camera need time, too. Medium effort takes up to a third more than low effort, so
        // there is no way back before half as much again would do.
        self.effort = match self.effort {
            Some(Effort::High | Effort::Medium) if 10 * self.took > 6 * self.interval => Some(Effort::Low),
            Some(Effort::Low) if self.took > self.interval => {
                self.rest = self.alone;
                self.alone = (2 * self.alone).min(Self::ALONE[1]);
                None
            }
            Some(Effort::Low) if 10 * self.took < 4 * self.interval => Some(Effort::Medium),
            None => Some(Effort::Low),
            Some(_) => return None,
        };
        Some(self.effort)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use common::prediction::Held;
    use kernels::motion::{State, open_state_decoder};
    use kernels::{BACK_ENDS, Backend};
    use picture::coded::ReceivedFrame;
    use picture::frame::{Chroma, ColourSpace, FrameSize, PixelFormat};
    use picture::gaps::Gaps;
    use picture::params::{CodecParams, Profile};

    use super::*;
    use crate::source::pattern::Pattern;

    fn params() -> StreamParams {
        let codec = CodecParams { profile: Profile::Predicted(15), ..CodecParams::default() };
        StreamParams {
            size: FrameSize::new(96, 80).unwrap(),
            frame_rate: FrameRate::new(30, 1).unwrap(),
            chroma: Chroma::C420,
            colour: ColourSpace::JPEG,
            codec,
        }
    }

    /// Real frames over a line that loses blocks and frames: what is believed is what is decoded, hash by hash.
    #[test]
    fn states_are_the_same_at_both_ends_whatever_is_lost() {
        BACK_ENDS.into_iter().for_each(states_are_those_of);
    }

    fn states_are_those_of(choice: BackendChoice) {
        let params = params();
        let mut sender = Predicting::open(&params, BackendChoice::Opencl).unwrap();
        assert_eq!(sender.backend().kind, Backend::Cpu);
        let mut decoder = open_state_decoder(&params, choice, None).unwrap();
        let mut held: Held<State> = Held::new(15);
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        let mut random = 7_u64;
        let mut chance = |of: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % of
        };
        let mut reports = std::collections::VecDeque::new();
        for step in 0..60_u64 {
            let now = Timestamp::from_us(33_333 * step);
            pattern.draw(step as u32, 0, &mut data);
            while reports.front().is_some_and(|(due, _)| *due <= step) {
                let (_, report) = reports.pop_front().unwrap();
                sender.on_told(Told::Report(report, now));
            }
            let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
            while chance(2) == 0 && sender.prepare(now).unwrap() {}
            let (id, frame) = sender.code(picture, Target::Bytes(900), now).unwrap();
            if chance(10) == 0 {
                continue;
            }
            let mut received = ReceivedFrame::from(&frame.frame);
            if frame.reference > 0 && chance(3) == 0 {
                let start = chance(received.block_count() as u64) as usize;
                received.forget(start..(start + 5).min(received.block_count()));
            }
            let gaps = Gaps::of(&mut received);
            let reference = held.reference(id, frame.reference);
            if frame.reference > 0 && reference.is_none() {
                held.on_lacking(id);
            } else {
                let mut out = Picture::for_stream(params.chroma, params.size);
                let state = decoder.decode_state(&received, reference, &mut out).unwrap();
                held.on_used(id, gaps, state, Some(out.hash()));
            }
            reports.push_back((step + 3, held.report().unwrap()));
        }
        let counters = sender.counters();
        assert!(counters.matches > 20 && counters.mismatches == 0, "{counters:?}");
        assert!(counters.predicted > 40 && counters.replays > 10, "{counters:?}");
        // A bit that is wrong is found, and the next frame needs nothing.
        let mut report = held.report().unwrap();
        report.hash = Some((0, report.hash.map_or(0, |hash| hash.1) ^ 1));
        sender.on_told(Told::Report(report, Timestamp::from_us(3_000_000)));
        let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
        let (_, frame) = sender.code(picture, Target::Bytes(900), Timestamp::from_us(3_000_000)).unwrap();
        assert_eq!((frame.reference, sender.counters().mismatches), (0, 1));
    }

    /// The state of a frame of many bits is not computed before a frame may refer to it.
    #[test]
    fn frames_of_many_bits_cost_no_state_and_can_be_referred_to() {
        let params = params();
        let mut sender = Predicting::open(&params, BackendChoice::Cpu).unwrap();
        sender.predict_few_bits(params.size.pixels());
        let mut decoder = open_state_decoder(&params, BackendChoice::Reference, None).unwrap();
        let mut held: Held<Picture> = Held::new(15);
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        let mut references = Vec::new();
        for step in 0..20_u64 {
            let now = Timestamp::from_us(33_333 * step);
            pattern.draw(step as u32, 0, &mut data);
            let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
            let bytes = if step < 10 { 2_000 } else { 280 };
            while sender.prepare(now).unwrap() {}
            assert!(step > 10 || sender.counters().replays == 0, "frame {step}");
            let (id, frame) = sender.code(picture, Target::Bytes(bytes), now).unwrap();
            let mut received = ReceivedFrame::from(&frame.frame);
            let gaps = Gaps::of(&mut received);
            let mut out = Picture::for_stream(params.chroma, params.size);
            decoder.decode(&received, held.reference(id, frame.reference), &mut out).unwrap();
            let hash = out.hash();
            held.on_used(id, gaps, out, Some(hash));
            sender.on_told(Told::Report(held.report().unwrap(), now));
            references.push(frame.reference);
        }
        let counters = sender.counters();
        assert!(
            references[..10].iter().all(|&age| age == 0) && references[10..].iter().all(|&age| age == 1),
            "{references:?}"
        );
        assert!(counters.replays == 1 && counters.matches > 5 && counters.mismatches == 0, "{counters:?}");
    }

    #[test]
    fn a_slow_machine_searches_less_and_a_fast_one_more() {
        let mut pace = Pace::new(FrameRate::new(30, 1).unwrap());
        let mut after = |ms: u64, frames: u32| {
            (0..frames).filter_map(|_| pace.on_took(Duration::from_millis(ms))).collect::<Vec<_>>()
        };
        assert_eq!(after(15, 100), []);
        assert_eq!(after(25, 100), [Some(Effort::Low)]);
        assert_eq!(after(15, 100), []);
        assert_eq!(after(5, 100), [Some(Effort::Medium)]);
        // One that is too slow even so codes frames alone, and tries again less and less often.
        assert_eq!(after(40, 100), [Some(Effort::Low), None]);
        assert_eq!(after(40, 300), [Some(Effort::Low), None]);
        assert_eq!(after(40, 570), []);
        assert_eq!(after(40, 60), [Some(Effort::Low), None]);
    }
}
