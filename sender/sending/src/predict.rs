//! Prediction: what the receiver holds, and pictures coded from it.

use std::time::Duration;

use common::prediction::{PredictionCounters, References, StatesOutcome};
use common::units::{FrameId, Timestamp};
use common::wire::states::StatesReport;
use kernels::motion::{
    Effort, PredictError, PredictedEncoder, PredictionSettings, State, Unfinished, open_predicted_encoder,
};
use kernels::{
    BackendChoice, BackendInfo, CodecError, DecodeError, EncodeError, EncodeTimes, OpenError, PictureRef, Target,
};
use net::limited;
use picture::coded::PredictedFrame;
use picture::gaps::Gaps;
use picture::params::StreamParams;
use picture::replay::Replay;

use crate::pace::{Limits, Pace};

/// Messages of the network thread to the encoder about the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It begins anew, with nothing.
    Restart,
    /// Fate of the last frames at its decoder, and the time of that report.
    Report(StatesReport, Timestamp),
    /// It will not get the last frame, which nobody has sent.
    Withdrawn(FrameId),
}

/// An encoder that predicts from what the receiver holds.
pub struct Predicting {
    encoder: PredictedEncoder,
    /// Why the processor codes though something else was asked for.
    instead: Option<String>,
    references: References<PredictedFrame, State>,
    interval: Duration,
    pace: Pace,
    pixels: usize,
    /// Bytes of a frame above which prediction is not tried.
    bytes_most: usize,
    /// True if the last frame was below that.
    is_small: bool,
    /// The last frame, while its state has yet to be computed.
    unfinished: Option<(FrameId, Unfinished)>,
}

/// The first settings of an encoder: a call chooses references itself.
const SETTINGS: PredictionSettings = PredictionSettings { reference_age: 1, effort: Effort::Medium };
/// Bits per pixel above which prediction gains little, and takes as much time as ever.
const BITS_MOST: f64 = 0.3;
/// Pixels a second for each processor, above which it is not worth trying: half of 1280x720 at 30 a second is below it.
const PIXELS_MOST: f64 = 16e6;

/// Returns true if a machine of so many processors may be fast enough to predict the frames of such a stream.
pub fn is_plausible(params: &StreamParams, processors: usize) -> bool {
    params.size.pixels() as f64 * params.frame_rate.as_f64() <= PIXELS_MOST * processors as f64
}

impl Predicting {
    /// Opens the encoder, on the processor if a device cannot be opened.
    pub fn open(params: &StreamParams, choice: BackendChoice, device: Option<&str>) -> Result<Self, OpenError> {
        match open_predicted_encoder(params, SETTINGS, choice, device) {
            Err(error) if error.is_of_device() => {
                Self::instead(params, format!("predicted frames are coded on the processor: {error}"), None)
            }
            encoder => Ok(Self::with(params, encoder?)),
        }
    }

    /// Opens the encoder of the processor for this reason. It goes on behind the frame `last`, and knows nothing of it.
    pub fn instead(params: &StreamParams, reason: String, last: Option<FrameId>) -> Result<Self, OpenError> {
        let opened = Self::with(params, open_predicted_encoder(params, SETTINGS, BackendChoice::Cpu, None)?);
        Ok(Self { instead: Some(reason), ..opened.after(last) })
    }

    /// Makes it go on behind the frame `last`, of which it knows nothing.
    pub fn after(self, last: Option<FrameId>) -> Self {
        Self { references: self.references.after(last), ..self }
    }

    fn with(params: &StreamParams, encoder: PredictedEncoder) -> Self {
        let interval = params.frame_rate.interval();
        Self {
            encoder,
            instead: None,
            references: References::new(params.codec.profile.states(), interval),
            interval,
            pace: Pace::new(Limits::ASKED, interval),
            pixels: params.size.pixels(),
            bytes_most: usize::MAX,
            is_small: true,
            unfinished: None,
        }
    }

    /// Makes it predict only where that is worth it: frames of few bits, while the machine has time to spare.
    pub fn only_where_worth_it(mut self) -> Self {
        self.bytes_most = (BITS_MOST * self.pixels as f64 / 8.0) as usize;
        self.pace = Pace::new(Limits::SPARE, self.interval);
        self
    }

    /// Limits the search for motion in each frame, by its effort and by the clock, as live pictures need: a frame that is late is
    /// worth less than the bits that better vectors save.
    pub fn in_real_time(mut self) -> Self {
        self.encoder.set_effort(self.pace.effort().unwrap_or_default());
        self.encoder.set_search_time(Some(self.pace.search_time()));
        self
    }

    /// Returns true if frames are predicted now.
    fn tries(&self) -> bool {
        self.is_small && self.pace.effort().is_some()
    }

    /// Codes a picture that is not sent, on a device with everything that it will do: some drivers compile a kernel when it runs
    /// first.
    pub fn warm_up(&mut self, picture: PictureRef<'_>, target: Target) -> Result<(), EncodeError> {
        match self.try_out(picture, target) {
            Err(PredictError::Encode(error)) => Err(error),
            // It can decode its own frames.
            Err(PredictError::Decode(_)) | Ok(()) => Ok(()),
        }
    }

    fn try_out(&mut self, picture: PictureRef<'_>, target: Target) -> Result<(), PredictError> {
        let (_, unfinished) = self.encoder.encode_from(picture, target, None)?;
        let state = self.encoder.finish(unfinished)?;
        if self.encoder.backend().is_device() {
            let (frame, unfinished) = self.encoder.encode_from(picture, target, Some((1, &state)))?;
            self.encoder.finish(unfinished)?;
            let reference = (frame.reference > 0).then_some(&state);
            self.encoder.decoder().replay(&frame, &Gaps::default(), reference)?;
        }
        Ok(())
    }

    /// Returns what codes.
    pub fn backend(&self) -> BackendInfo {
        let backend = self.encoder.backend().clone();
        BackendInfo { reason: self.instead.clone().unwrap_or(backend.reason), ..backend }
    }

    /// Takes what has been told.
    pub fn on_told(&mut self, told: Told) {
        match told {
            Told::Restart => self.references.restart(),
            Told::Withdrawn(id) => {
                self.unfinished.take_if(|(unfinished, _)| *unfinished == id);
                self.references.withdraw(id);
            }
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

    /// Computes the state of the last frame, or decodes one frame as the receiver has, so that the next one to be coded need not
    /// wait for that; false if there is nothing to do.
    pub fn prepare(&mut self, now: Timestamp) -> Result<bool, DecodeError> {
        if self.settle()? {
            return Ok(true);
        }
        if !self.tries() {
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
        self.settle()?;
        self.is_small = !matches!(target, Target::Bytes(bytes) if bytes > self.bytes_most);
        let (frame, unfinished) = if self.tries() {
            let mismatches = self.references.counters().mismatches;
            let reference = self.references.next(now, self.encoder.decoder())?;
            if self.references.counters().mismatches > mismatches {
                limited!(
                    warn,
                    "the receiver's picture is not the one that this sender computed: a frame without a reference follows"
                );
            }
            let reference = reference.as_ref().map(|(age, state)| (*age, state));
            let (frame, unfinished) = self.encoder.encode_from(picture, target, reference)?;
            (frame, Some(unfinished))
        } else {
            (self.encoder.encode_alone(picture, target)?, None)
        };
        let id = self.references.next_frame();
        self.references.on_coded(frame.reference, frame.clone(), None, now);
        self.unfinished = unfinished.map(|unfinished| (id, unfinished));
        Ok((id, frame))
    }

    /// Computes the state of the last frame, which leaves before that; false if it has been.
    fn settle(&mut self) -> Result<bool, DecodeError> {
        let Some((id, unfinished)) = self.unfinished.take() else { return Ok(false) };
        let state = self.encoder.finish(unfinished)?;
        self.references.on_state(id, state);
        Ok(true)
    }

    /// Notes that the last frame took so long to code, besides the state of the one before, and was done at `now`.
    pub fn on_took(&mut self, took: Duration, now: Timestamp) {
        let took = took + self.encoder.finished_in();
        // Frames with too many bits for it tell nothing of prediction.
        if !self.is_small || !self.pace.on_took(took, now) {
            return;
        }
        let average = self.pace.took();
        match self.pace.effort() {
            Some(effort) => {
                limited!(info, "motion is searched with {effort:?} effort from now on, {average:?} a frame");
                self.set_effort(effort);
            }
            None => limited!(
                warn,
                "this machine is too slow for prediction, {average:?} a frame: frames are coded alone for a while"
            ),
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
        let known = times.upload + times.motion + times.compensate + times.transform + times.code;
        EncodeTimes { compensate: times.compensate + all.saturating_sub(known), ..times }
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> PredictionCounters {
        self.references.counters()
    }
}

#[cfg(test)]
mod tests {
    use common::prediction::Held;
    use kernels::motion::{StateDecoder, open_state_decoder};
    use kernels::{BACK_ENDS, Backend, Picture};
    use picture::coded::ReceivedFrame;
    use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize, PixelFormat};
    use picture::gaps::Gaps;
    use picture::params::{CodecParams, Profile};

    use super::*;
    use crate::source::pattern::Pattern;

    fn params() -> StreamParams {
        let codec = CodecParams { profile: Profile::Predicted(15), ..CodecParams::default() };
        StreamParams {
            colour: ColourSpace::JPEG,
            codec,
            ..StreamParams::new(FrameSize::new(96, 80).unwrap(), Chroma::C420)
        }
    }

    /// Decodes a whole frame as its receiver does; returns what the receiver reports.
    fn arrive(
        (id, frame): (FrameId, &PredictedFrame),
        decoder: &mut StateDecoder,
        held: &mut Held<Picture>,
    ) -> StatesReport {
        let mut received = ReceivedFrame::from(&frame.frame);
        let (gaps, params) = (Gaps::of(&mut received), params());
        let mut out = Picture::for_stream(params.chroma, params.size);
        decoder.decode(&received, held.reference(id, frame.reference), &mut out).unwrap();
        let hash = out.hash();
        held.on_used(id, gaps, out, Some(hash));
        held.report().unwrap()
    }

    /// Real frames over a line that loses blocks and frames: what is believed is what is decoded, hash by hash.
    #[test]
    fn states_are_the_same_at_both_ends_whatever_is_lost() {
        BACK_ENDS.into_iter().for_each(states_are_those_of);
    }

    #[test]
    fn the_processor_codes_where_a_device_cannot_be_opened_and_goes_on_behind_its_frames() {
        let params = params();
        let sender = Predicting::open(&params, BackendChoice::Opencl, Some("no such device")).unwrap();
        let BackendInfo { kind, reason, .. } = sender.backend();
        assert!(
            kind == Backend::Cpu && reason.starts_with("predicted frames are coded on the processor: "),
            "{reason}"
        );
        let mut sender = Predicting::instead(&params, "why".to_owned(), Some(FrameId(41))).unwrap();
        assert_eq!((sender.backend().kind, sender.backend().reason), (Backend::Cpu, "why".to_owned()));
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        pattern.draw(0, 0, &mut data);
        let coded = [0, 33_333].map(|us| {
            let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
            let (id, frame) = sender.code(picture, Target::Bytes(900), Timestamp::from_us(us)).unwrap();
            (id, frame.reference)
        });
        assert_eq!(coded, [(FrameId(42), 0), (FrameId(43), 1)]);
    }

    /// A frame that waits while the network thread is held up, and is replaced.
    #[test]
    fn nothing_refers_to_a_frame_that_was_withdrawn() {
        let params = params();
        let mut sender = Predicting::open(&params, BackendChoice::Cpu, None).unwrap();
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        pattern.draw(0, 0, &mut data);
        let code = |sender: &mut Predicting, us| {
            let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
            let (id, frame) = sender.code(picture, Target::Bytes(900), Timestamp::from_us(us)).unwrap();
            (id.0, frame.reference)
        };
        assert_eq!([0, 33_333].map(|us| code(&mut sender, us)), [(0, 0), (1, 1)]);
        for _ in 0..2 {
            sender.on_told(Told::Withdrawn(FrameId(1)));
        }
        assert_eq!([66_667, 100_000].map(|us| code(&mut sender, us)), [(1, 1), (2, 1)]);
        sender.on_told(Told::Withdrawn(FrameId(1)));
        assert_eq!(code(&mut sender, 133_333), (3, 1), "it was not the last one");
        assert_eq!((sender.counters().frames, sender.counters().predicted), (4, 3));
    }

    #[test]
    fn a_machine_is_given_what_it_may_be_fast_enough_for() {
        let of = |width, height, rate, processors| {
            let (size, frame_rate) = (FrameSize::new(width, height).unwrap(), FrameRate::new(rate, 1).unwrap());
            is_plausible(&StreamParams { size, frame_rate, ..params() }, processors)
        };
        assert!(of(640, 360, 30, 1) && of(1280, 720, 30, 2) && of(1920, 1080, 30, 4));
        assert!(!of(1280, 720, 30, 1) && !of(1280, 720, 60, 2) && !of(1920, 1080, 60, 4));
    }

    fn states_are_those_of(choice: BackendChoice) {
        let params = params();
        let mut sender = Predicting::open(&params, choice, None).unwrap();
        assert_eq!(sender.backend().kind.name(), format!("{choice:?}").to_lowercase());
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
        let mut sender = Predicting::open(&params, BackendChoice::Cpu, None).unwrap().only_where_worth_it();
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
            let report = arrive((id, &frame), &mut decoder, &mut held);
            sender.on_told(Told::Report(report, now));
            references.push(frame.reference);
        }
        let counters = sender.counters();
        assert!(
            references[..10].iter().all(|&age| age == 0) && references[10..].iter().all(|&age| age == 1),
            "{references:?}"
        );
        assert!(counters.replays == 1 && counters.matches > 5 && counters.mismatches == 0, "{counters:?}");
    }

    /// While the machine is too slow frames are coded alone, in the same stream; later they are predicted again, from what the
    /// receiver made of those.
    #[test]
    fn a_slow_machine_codes_frames_alone_for_a_while() {
        let params = params();
        let mut sender = Predicting::open(&params, BackendChoice::Cpu, None).unwrap().only_where_worth_it();
        let mut decoder = open_state_decoder(&params, BackendChoice::Reference, None).unwrap();
        let mut held: Held<Picture> = Held::new(15);
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        let (mut references, mut ms) = (Vec::new(), 0);
        for step in 0..46_u32 {
            ms += if (26..38).contains(&step) { 1_000 } else { 33 };
            let now = Timestamp::from_us(1_000 * ms);
            pattern.draw(step, 0, &mut data);
            let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
            while sender.prepare(now).unwrap() {}
            let (id, frame) = sender.code(picture, Target::Bytes(280), now).unwrap();
            sender.on_took(Duration::from_millis(if (9..26).contains(&step) { 50 } else { 1 }), now);
            let report = arrive((id, &frame), &mut decoder, &mut held);
            sender.on_told(Told::Report(report, now));
            references.push(frame.reference);
        }
        // With frame 25 too many have been late; 10 s after it is frame 35.
        let wanted: Vec<_> = (0..46).map(|step| u8::from((1..=25).contains(&step) || step >= 36)).collect();
        assert_eq!(references, wanted);
        let counters = sender.counters();
        assert!(counters.matches > 15 && counters.mismatches == 0, "{counters:?}");
    }
}
