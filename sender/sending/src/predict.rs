//! Coding of pictures for receivers: alone, or from what all of them hold.

#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod slope_tests;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use common::stream::video::prediction::{
    Hindrance, PredictionCounters, REPLAYS_MAX, ReceiverId, Receivers, StatesOutcome,
};
use common::units::{FrameId, Timestamp};
use common::wire::states::StatesReport;
use kernels::{
    BackendInfo, DecodeError, Effort, EncodeError, EncodeTimes, Encoder, OpenError, Options, PictureRef, State, Target,
};
use net::limited;
use picture::coded::CodedFrame;
use picture::frame::PixelFormat;
use picture::params::StreamParams;

use crate::pace::{Limits, Pace};

/// Messages of the network thread to the encoder about a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It begins anew, with nothing.
    Restart,
    /// Fate of the last frames at its decoder, and the time of that report.
    Report(StatesReport, Timestamp),
    /// It will not get the last frame, which nobody has sent.
    Withdrawn(FrameId),
}

/// The only receiver of a call.
pub const PEER: ReceiverId = ReceiverId(0);

/// The encoder of a stream, and what its receivers hold. Of a stream without states they hold nothing.
pub struct StreamEncoder {
    encoder: Encoder,
    receivers: Receivers<Arc<CodedFrame>, State>,
    interval: Duration,
    pace: Pace,
    pixels: usize,
    /// Bytes of a frame above which prediction is not tried.
    bytes_most: usize,
    /// True if the last frame was below that.
    is_small: bool,
    /// Bytes of a frame above which it may be coded alone for the time that this spares, and above which it may stay so.
    bytes_alone: [usize; 2],
    /// The last frame, while its state has yet to be computed.
    unfinished: Option<FrameId>,
    /// The time in which vectors are looked for, if the pace says what is done to find motion.
    search_time: Option<Duration>,
}

/// A frame that has been coded, its number, and the memory of its picture.
pub struct CodedPicture<D> {
    /// The frame's number.
    pub id: FrameId,
    /// The frame.
    pub frame: Arc<CodedFrame>,
    /// The picture's samples.
    pub data: D,
}

/// Bits per pixel above which prediction gains little, and takes as much time as ever.
const BITS_MOST: f64 = 0.3;
/// Bits per pixel above which all pictures, coded alone, are worth more than half of them, predicted; and above which they stay so: a
/// line's rate is never still.
const BITS_ALONE: [f64; 2] = [0.15, 0.12];

impl StreamEncoder {
    /// Opens the encoder of a stream that goes to [`PEER`], on the caller's thread.
    pub fn open(params: &StreamParams, options: impl Into<Options>) -> Result<Self, OpenError> {
        Ok(Self::with(params, Encoder::open(params, options)?, None))
    }

    /// Makes one of an encoder that has been opened. It goes on behind the frame `last`, of which it knows nothing.
    pub fn with(params: &StreamParams, encoder: Encoder, last: Option<FrameId>) -> Self {
        let (states, interval) = (params.codec.profile.states(), params.frame_rate.interval());
        let mut receivers = Receivers::new(states, interval, last);
        receivers.join(PEER);
        Self {
            encoder,
            receivers,
            interval,
            pace: Pace::new(Limits::ASKED, interval),
            pixels: params.size.pixels(),
            bytes_most: if states == 0 { 0 } else { usize::MAX },
            is_small: true,
            bytes_alone: [usize::MAX; 2],
            unfinished: None,
            search_time: None,
        }
    }

    /// Makes it predict only where that is worth it, frames of few bits on a machine that is fast enough, and leave that time to spare.
    pub fn only_where_worth_it(mut self) -> Self {
        let bytes_of = |bits: f64| (bits * self.pixels as f64 / 8.0) as usize;
        self.bytes_most = self.bytes_most.min(bytes_of(BITS_MOST));
        self.bytes_alone = BITS_ALONE.map(bytes_of);
        self.pace = Pace::new(Limits::SPARE, self.interval);
        self
    }

    /// Limits the search for motion in each frame, by what the frames before took and by the clock, as live pictures need: a frame
    /// that is late is worth less than the bits that better vectors save.
    pub fn in_real_time(mut self) -> Self {
        self.search_time = Some(self.pace.search_time());
        self
    }

    /// Counts a receiver, which holds nothing.
    pub fn join(&mut self, receiver: ReceiverId) {
        self.receivers.join(receiver);
    }

    /// Counts a receiver no longer.
    pub fn leave(&mut self, receiver: ReceiverId) {
        self.receivers.leave(receiver);
    }

    /// Returns true if frames are predicted now, unless they need fewer bits alone.
    pub fn predicts(&self) -> bool {
        self.bytes_most > 0 && self.is_small && !self.pace.is_alone()
    }

    /// Returns true if frames of less quality would take less time.
    pub fn has_less(&self) -> bool {
        self.predicts() && self.search_time.is_some() && !self.pace.is_least()
    }

    /// Returns what codes.
    pub fn backend(&self) -> &BackendInfo {
        self.encoder.backend()
    }

    /// Returns the longest time that a picture of this format may take, as [`Encoder::longest`] does.
    pub fn longest(&self, format: PixelFormat) -> Option<Duration> {
        self.encoder.longest(format)
    }

    /// Takes what has been told of [`PEER`].
    pub fn on_told(&mut self, told: Told) {
        self.on_told_of(PEER, told);
    }

    /// Takes what has been told of a receiver.
    pub fn on_told_of(&mut self, receiver: ReceiverId, told: Told) {
        match told {
            Told::Restart => self.receivers.join(receiver),
            Told::Withdrawn(id) => {
                self.unfinished.take_if(|unfinished| *unfinished == id);
                self.receivers.withdraw(id);
            }
            Told::Report(report, at) => {
                let newest = report.newest.0;
                match self.receivers.on_report(receiver, report, at) {
                    StatesOutcome::News | StatesOutcome::Known => {}
                    StatesOutcome::Contradiction => {
                        limited!(warn, "a report of states, up to frame {newest}, contradicts an earlier one");
                    }
                    StatesOutcome::Malformed(reason) => limited!(warn, "a report of states is none: {reason}"),
                }
            }
        }
    }

    /// Computes the state of the last frame, or decodes one frame as a receiver has, so that the next one to be coded need not
    /// wait for that; false if there is nothing to do.
    pub fn prepare(&mut self, now: Timestamp) -> Result<bool, DecodeError> {
        self.prepare_some(now, REPLAYS_MAX)
    }

    /// Does the same, but decodes none if the next frame needs more than `most` of them.
    pub(crate) fn prepare_some(&mut self, now: Timestamp, most: usize) -> Result<bool, DecodeError> {
        if self.settle()? {
            return Ok(true);
        }
        if !self.predicts() {
            return Ok(false);
        }
        self.receivers.prepare(now, most, &mut self.encoder)
    }

    /// Codes a picture at `now`; returns the frame and its number.
    pub fn code(
        &mut self,
        picture: PictureRef<'_>,
        target: Target,
        now: Timestamp,
    ) -> Result<(FrameId, Arc<CodedFrame>), EncodeError> {
        let reference = self.reference(target, now)?;
        let reference = reference.as_ref().map(|(age, state)| (*age, state));
        let frame = self.encoder.encode(picture, target, reference)?;
        Ok(self.on_coded(frame, now))
    }

    /// Codes a picture alone, as [`Self::code_owned`] does, for a receiver that does not count: nothing is predicted from this frame, the
    /// others' are as they would be without it, and it has the number of the last one.
    pub fn code_apart<D: Deref<Target = [u8]> + Send + 'static>(
        &mut self,
        (format, data): (PixelFormat, D),
        target: Target,
    ) -> Result<Option<(Arc<CodedFrame>, D)>, EncodeError> {
        self.settle()?;
        let coded = self.encoder.encode_apart_owned(format, data, target)?;
        Ok(coded.map(|(frame, data)| (Arc::new(frame), data)))
    }

    /// Returns the duration of the stages of the frame that was coded last.
    pub fn stages(&self) -> EncodeTimes {
        self.encoder.times()
    }

    /// Returns what a receiver hinders the others by at `now`; none: it does not count.
    pub fn hindrance(&self, receiver: ReceiverId, now: Timestamp) -> Option<Hindrance> {
        self.receivers.hindrance(receiver, now)
    }

    /// Codes a picture as [`Self::code`] does, of samples that a driver may keep: returns none if it has kept them, and
    /// the frame is lost with them.
    pub fn code_owned<D: Deref<Target = [u8]> + Send + 'static>(
        &mut self,
        (format, data): (PixelFormat, D),
        target: Target,
        now: Timestamp,
    ) -> Result<Option<CodedPicture<D>>, EncodeError> {
        let reference = self.reference(target, now)?;
        let Some((frame, data)) = self.encoder.encode_owned(format, data, target, reference)? else { return Ok(None) };
        let (id, frame) = self.on_coded(frame, now);
        Ok(Some(CodedPicture { id, frame, data }))
    }

    /// Returns what the next frame is predicted from; none if it is to be coded alone.
    fn reference(&mut self, target: Target, now: Timestamp) -> Result<Option<(u8, State)>, DecodeError> {
        self.settle()?;
        let has_more = |most: usize| matches!(target, Target::Bytes(bytes) if bytes > most);
        self.is_small = !has_more(self.bytes_most);
        self.pace.set_has_bits(has_more(self.bytes_alone[usize::from(self.pace.stays_alone())]));
        if !self.predicts() {
            return Ok(None);
        }
        if !self.pace.on_predicted(now) {
            tell_alone();
            return Ok(None);
        }
        if let Some(time) = self.search_time {
            self.encoder.set_search(self.pace.effort(), Some(time));
        }
        let at_once = if self.search_time.is_some() { 0 } else { REPLAYS_MAX };
        let mismatches = self.receivers.counters().mismatches;
        let reference = self.receivers.next(now, at_once, &mut self.encoder)?;
        if self.receivers.counters().mismatches > mismatches {
            limited!(
                warn,
                "the receiver's picture is not the one that this sender computed: a frame without a reference follows"
            );
        }
        Ok(reference)
    }

    fn on_coded(&mut self, frame: CodedFrame, now: Timestamp) -> (FrameId, Arc<CodedFrame>) {
        let frame = Arc::new(frame);
        let id = self.receivers.on_coded(frame.reference, &frame, now);
        // The state of a frame that nothing is predicted from can wait until something is.
        self.unfinished = self.predicts().then_some(id);
        (id, frame)
    }

    /// Computes the state of the last frame, which leaves before that; false if it has been.
    fn settle(&mut self) -> Result<bool, DecodeError> {
        let Some(id) = self.unfinished.take() else { return Ok(false) };
        if let Some(state) = self.encoder.state()? {
            self.receivers.on_state(id, &state);
        }
        Ok(true)
    }

    /// Returns the time that the state of the frame before the last one took.
    pub fn finished_in(&self) -> Duration {
        self.encoder.finished_in()
    }

    /// Notes that the last frame took so long, the state of the one before included, and that it ended at `now`; `may_rise`: more may be
    /// done for the next one.
    pub fn on_took(&mut self, took: Duration, may_rise: bool, now: Timestamp) {
        // Without a clock each frame has the time that it takes.
        if self.search_time.is_none() {
            return;
        }
        // Frames coded alone tell nothing of prediction.
        if !self.predicts() {
            return self.pace.on_alone(may_rise, now);
        }
        let effort = self.pace.on_took(took, may_rise, now);
        if self.pace.is_alone() {
            tell_alone();
        } else if let Some(effort) = effort {
            let average = self.pace.took();
            limited!(info, "motion is searched with {effort:?} effort at most from now on, {average:?} a frame");
        }
    }

    /// Sets how much is done to find motion, unless the pace says so.
    pub fn set_effort(&mut self, effort: Effort) {
        self.encoder.set_search(effort, self.search_time);
    }

    /// Returns the duration of the stages of the last frame, which took `all`: what is more than the encoder's own time
    /// has gone into what the receivers hold.
    pub fn times(&self, all: Duration) -> EncodeTimes {
        let times = self.encoder.times();
        let known = times.upload + times.motion + times.compensate + times.transform + times.code;
        match self.bytes_most {
            0 => times,
            _ => EncodeTimes { compensate: times.compensate + all.saturating_sub(known), ..times },
        }
    }

    /// Lets its device hang, as [`Encoder::hang`] does.
    #[cfg(test)]
    pub(crate) fn hang(&mut self, held: std::sync::mpsc::Receiver<()>) -> Result<(), OpenError> {
        self.encoder.hang(held)
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> PredictionCounters {
        self.receivers.counters()
    }
}

fn tell_alone() {
    limited!(info, "frames are coded alone for now: this computer has no time to predict so many");
}

#[cfg(test)]
pub(crate) mod tests {
    use common::stream::video::prediction::Held;
    use kernels::{BACK_ENDS, Backend, BackendChoice, Decoder, Picture};
    use picture::coded::ReceivedFrame;
    use picture::frame::{Chroma, ColourSpace, FrameSize};
    use picture::gaps::Gaps;
    use picture::params::{CodecParams, Profile};

    use super::*;
    use crate::source::pattern::Pattern;

    pub(in crate::predict) fn params() -> StreamParams {
        let codec = CodecParams { profile: Profile::Predicted(15), ..CodecParams::default() };
        StreamParams {
            colour: ColourSpace::JPEG,
            codec,
            ..StreamParams::new(FrameSize::new(96, 80).unwrap(), Chroma::C420)
        }
    }

    /// Decodes a whole frame as its receiver does; returns what the receiver reports, and its picture.
    pub(in crate::predict) fn arrive(
        (id, frame): (FrameId, &CodedFrame),
        decoder: &mut Decoder,
        held: &mut Held<State>,
    ) -> (StatesReport, Picture) {
        let mut received = ReceivedFrame::from(frame);
        let (gaps, params) = (Gaps::of(&mut received), params());
        let mut out = Picture::for_stream(params.chroma, params.size);
        let state = decoder.decode(&received, held.reference(id, frame.reference), &mut out).unwrap();
        held.on_used(id, gaps, state, Some(out.hash()));
        (held.report().unwrap(), out)
    }

    /// Real frames over a line that loses blocks and frames: what is believed is what is decoded, hash by hash.
    #[test]
    fn states_are_the_same_at_both_ends_whatever_is_lost() {
        BACK_ENDS.into_iter().for_each(states_are_those_of);
    }

    #[test]
    fn the_processor_codes_where_a_device_cannot_be_opened_and_goes_on_behind_its_frames() {
        let params = params();
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        pattern.draw(0, 0, &mut data);
        let nowhere = (BackendChoice::Opencl, Some("no such device"));
        let encoder = Encoder::open_ready(&params, nowhere, (PixelFormat::I420, &data), Target::Bytes(900)).unwrap();
        let mut sender = StreamEncoder::with(&params, encoder, Some(FrameId(41)));
        let BackendInfo { kind, reason, .. } = sender.backend();
        assert!(
            *kind == Backend::Cpu && reason.starts_with("predicted frames are coded on the processor: "),
            "{reason}"
        );
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
        let mut sender = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap();
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        pattern.draw(0, 0, &mut data);
        let code = |sender: &mut StreamEncoder, us| {
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
        let counters = sender.counters();
        assert_eq!((counters.frames, counters.predicted, counters.ages), (4, 3, 3));
    }

    fn states_are_those_of(choice: BackendChoice) {
        let params = params();
        let mut sender = StreamEncoder::open(&params, choice).unwrap();
        assert_eq!(sender.backend().kind.name(), format!("{choice:?}").to_lowercase());
        let mut decoder = Decoder::open(&params, choice).unwrap();
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
            let mut received = ReceivedFrame::from(&*frame);
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
                let state = decoder.decode(&received, reference, &mut out).unwrap();
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

    /// Frame 5 is lost, as the report of frame 6 tells before frame 9: three states are others than was believed.
    #[test]
    fn where_time_counts_a_picture_waits_for_no_state() {
        let params = params();
        let coded = [(false, false), (true, true), (true, false)].map(|(is_live, has_time)| {
            let encoder = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap();
            let mut sender = if is_live { encoder.in_real_time() } else { encoder };
            let mut decoder = Decoder::open(&params, BackendChoice::Cpu).unwrap();
            let (mut held, mut reports): (Held<State>, _) = (Held::new(15), std::collections::VecDeque::new());
            let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
            let code = |step: u32| {
                let now = Timestamp::from_us(33_333 * u64::from(step));
                if let Some((_, report)) = reports.pop_front_if(|(due, _)| *due == step) {
                    sender.on_told(Told::Report(report, now));
                }
                while has_time && sender.prepare(now).unwrap() {}
                pattern.draw(step, 0, &mut data);
                let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
                let (id, frame) = sender.code(picture, Target::Bytes(900), now).unwrap();
                if step != 5 {
                    reports.push_back((step + 3, arrive((id, &frame), &mut decoder, &mut held).0));
                }
                frame.reference
            };
            let ages: Vec<_> = (0..24).map(code).collect();
            (ages, sender.counters())
        });
        for (case, (ages, counters)) in coded.iter().enumerate() {
            let waits = case == 2;
            assert_eq!(ages[1..].iter().position(|&age| age != 1), waits.then_some(8), "{case}: {ages:?}");
            assert_eq!((ages[9], ages[10..].iter().max()), (if waits { 5 } else { 1 }, Some(&1)), "{case}: {ages:?}");
            assert_eq!(counters.replays, if waits { 0 } else { 3 }, "{case}: {counters:?}");
            assert!(counters.matches > 0 && counters.mismatches == 0, "{case}: {counters:?}");
        }
    }

    #[test]
    fn a_slow_computer_codes_frames_alone_where_time_counts_and_they_have_the_bits_for_it() {
        let params = params();
        let (pattern, mut data) = (Pattern::new(params.size, params.frame_rate), Vec::new());
        let mut alone = |is_live: bool, bytes: usize| {
            let encoder = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap().only_where_worth_it();
            let mut sender = if is_live { encoder.in_real_time() } else { encoder };
            let coded = (0..120_u32).filter(|&step| {
                let now = Timestamp::from_us(33_333 * u64::from(step));
                pattern.draw(step, 0, &mut data);
                let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
                sender.code(picture, Target::Bytes(bytes), now).unwrap();
                let is_alone = !sender.predicts();
                sender.on_took(Duration::from_secs(1), true, now);
                is_alone
            });
            coded.count()
        };
        // 0.2 and 0.14 bit per pixel; frames alone after seven, with these bits for two seconds.
        assert_eq!(
            [(true, 192), (true, 134), (false, 192)].map(|(is_live, bytes)| alone(is_live, bytes)),
            [113, 61, 0]
        );
    }

    #[test]
    fn no_frame_is_predicted_before_a_pause_where_earlier_ones_took_too_long() {
        let (params, pattern) = (params(), Pattern::new(params().size, params().frame_rate));
        let references = [20, 25].map(|ms| {
            let encoder = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap();
            let (mut sender, mut data) = (encoder.only_where_worth_it().in_real_time(), Vec::new());
            let mut decoder = Decoder::open(&params, BackendChoice::Cpu).unwrap();
            let mut held: Held<State> = Held::new(15);
            let code = |step: u32| {
                let now = Timestamp::from_us(33_333 * u64::from(step));
                // 0.1 bit per pixel, then 2, then 0.2.
                let bytes = match step {
                    ..9 => 96,
                    9..79 => 1_920,
                    _ => 192,
                };
                pattern.draw(step, 0, &mut data);
                let picture = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
                let (id, frame) = sender.code(picture, Target::Bytes(bytes), now).unwrap();
                sender.on_took(Duration::from_millis(ms), true, now);
                let (report, _) = arrive((id, &frame), &mut decoder, &mut held);
                sender.on_told(Told::Report(report, now));
                frame.reference
            };
            (0..90).map(code).skip(79).collect::<Vec<_>>()
        });
        assert!(references[0].iter().all(|&age| age == 1) && references[1] == [0; 11], "{references:?}");
    }

    /// The state of a frame of many bits is not computed before a frame may refer to it.
    #[test]
    fn frames_of_many_bits_cost_no_state_and_can_be_referred_to() {
        let params = params();
        let mut sender = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap().only_where_worth_it();
        let mut decoder = Decoder::open(&params, BackendChoice::Reference).unwrap();
        let mut held: Held<State> = Held::new(15);
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
            let (report, _) = arrive((id, &frame), &mut decoder, &mut held);
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
}
