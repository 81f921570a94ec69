//! The encode thread: pictures to coded frames.

mod company;
#[cfg(test)]
mod company_tests;
mod encoded;
mod failure;
mod shrink;
mod spare;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use common::stream::video::FrameTimes;
use common::units::{FrameId, Timestamp};
use common::wire::control::SourceState;
use kernels::apart::Patience;
use kernels::{BackendInfo, EncodeTimes, Target};
use net::clock;
use net::failure::Failure;
use net::limited;
use picture::coded::CodedFrame;
use picture::frame::PixelFormat;
use picture::params::{CodecParams, StreamParams};
use shell::exit::codec_failure;
use shell::sd::Pulse;
use shell::settings::OwnSide;
use shell::slot::{Slot, Taken};

pub(crate) use self::company::{Company, Outlet};
pub(crate) use self::encoded::Encoded;
pub(crate) use self::failure::failure;
use self::shrink::Shrinking;
pub(crate) use self::spare::Spare;
use crate::effects::LiveEffects;
use crate::gate::Gate;
use crate::predict::{CodedPicture, StreamEncoder, Told};
use crate::source::{Samples, SourceFrame, SourceInfo};
use crate::stall::Stall;
use crate::thin::Thinning;

/// Parts of the encode thread.
pub(crate) struct Encode {
    pub(crate) coder: StreamEncoder,
    /// The back end and the device that the encoder computes with.
    pub(crate) backend: Arc<BackendInfo>,
    /// The number of the last frame.
    pub(crate) last: Option<FrameId>,
    pub(crate) params: StreamParams,
    /// The configured code, before anything chose to predict.
    pub(crate) codec: CodecParams,
    pub(crate) info: SourceInfo,
    pub(crate) gate: Arc<Gate>,
    pub(crate) pictures: Slot<SourceFrame>,
    pub(crate) company: Company,
    pub(crate) used: Sender<Vec<u8>>,
    /// Longest wait for the network thread to take a frame before the next one is coded.
    pub(crate) handover_max: Duration,
    /// Frames after which the stream ends.
    pub(crate) frames_max: Option<u64>,
    /// True if a call without pictures is one, too.
    pub(crate) has_sound: bool,
    /// True while fewer pictures are coded than the source gives: all of them come before better ones.
    pub(crate) is_thinned: bool,
    /// The time until the next picture.
    pub(crate) spare: Spare,
    /// Shows that the thread turns.
    pub(crate) pulse: Pulse,
    /// Watcher of what is sent.
    pub(crate) own: OwnSide,
    /// Changes of pictures before they are coded.
    pub(crate) effects: LiveEffects,
    /// Makes the source's pictures as small as they are asked for.
    pub(crate) shrinking: Option<Shrinking>,
    /// Opens an encoder of other parameters that goes on behind a frame.
    pub(crate) reopen: Reopen,
}

/// See [`Encode::reopen`].
pub(crate) type Reopen = Box<dyn FnMut(StreamParams, Option<FrameId>) -> Result<Coding, Failure> + Send>;

/// An encoder, and the stream that it codes.
pub(crate) struct Coding {
    pub(crate) coder: StreamEncoder,
    pub(crate) params: StreamParams,
}

/// See [`Encode::handover_max`]: the network thread wakes up meanwhile, also on the only processor of a slow computer, where the
/// next picture is there already.
pub(crate) const HANDOVER_MAX: Duration = Duration::from_millis(5);
/// Sentences of the own window about a camera that has never been there, of one that gives nothing, and of one that has gone.
const MISSING: &str = "Your camera is missing: this computer looks for it";
const STALLED: &str = "Your camera gives no pictures: this computer waits for it";
const LOST: &str = "Your camera has gone: this computer tries to open it again";
/// Longest wait before the thread shows that it turns, and looks whether the source has stalled.
const WAIT: Duration = Duration::from_millis(100);

/// A watch on the source.
struct Watch {
    stall: Stall,
    /// True while it gives nothing.
    stands: bool,
    /// True once a picture has come.
    has_given: bool,
    /// The state and the words that were told last.
    told: SourceState,
    said: Option<String>,
}

impl Encode {
    /// Runs until the source has ended or the network thread has closed its slot. Both slots are closed in every
    /// case.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        self.company.begin(&mut self.coder);
        let result = self.pump();
        self.pictures.close();
        self.company.close();
        self.pulse.end();
        result
    }

    /// Tells how the source is, unless that is what was told last: the network thread, and the own window of a source that gives no
    /// pictures, or many that cannot be used, since whoever sits before it sees the other side only.
    fn tell(&self, watch: &mut Watch) {
        self.gate.source_stands.store(watch.stands, Ordering::Relaxed);
        let source = self.gate.source();
        if std::mem::replace(&mut watch.told, source) != source {
            self.company.wake();
        }
        let health = &self.gate.source_health;
        let is_missing = !watch.has_given && (!self.info.is_there || health.is_lost());
        let words = match source {
            SourceState::Unusable | SourceState::Gives if health.trouble().is_some() => health.trouble(),
            SourceState::Withheld => None,
            _ if is_missing => Some(MISSING.to_owned()),
            SourceState::Unusable | SourceState::Gives => None,
            SourceState::Stalled => Some(STALLED.to_owned()),
            SourceState::Lost => Some(LOST.to_owned()),
        };
        if watch.said != words {
            watch.said.clone_from(&words);
            self.own.say_of_camera(words);
        }
    }

    /// Tells that one picture in so many is coded from now on; 0: none.
    fn tell_rate(&self, one_in: u32) {
        self.own.set_slow(one_in != 1);
        let all = self.info.frame_rate.as_f64();
        if one_in == 0 {
            tracing::warn!("this computer is too slow for pictures: it sends sound only, and tries again later");
            self.own
                .say(Some("This computer is too slow for pictures: it sends sound only, and tries again".to_owned()));
            return;
        }
        let rate = all / f64::from(one_in);
        if one_in == 1 {
            tracing::info!("this computer is fast enough again: it sends all {all:.0} pictures a second");
            self.own.say(None);
        } else {
            tracing::warn!("this computer is too slow to code {all:.0} pictures a second: it sends {rate:.0}");
            self.own.say(Some(format!("This computer is too slow: it sends {rate:.0} of {all:.0} pictures a second")));
        }
    }

    fn pump(&mut self) -> Result<(), Failure> {
        let interval = self.info.frame_rate.interval();
        let (mut count, mut thinning) = (0, Thinning::new(interval, self.has_sound));
        let stall = Stall::new(interval, self.info.is_there);
        let mut watch = Watch { stall, stands: false, has_given: false, told: SourceState::Gives, said: None };
        while self.frames_max.is_none_or(|max| count < max) {
            self.pulse.beat();
            let picture = match self.next_picture()? {
                Taken::Item(picture) => picture,
                Taken::Timeout if self.company.is_closed() => return Ok(()),
                Taken::Timeout => {
                    self.miss(&mut watch);
                    continue;
                }
                Taken::Closed => return Ok(()),
            };
            if self.info.is_live {
                self.spare.on_picture(picture.capture, self.info.frame_rate.interval());
            }
            if self.info.is_live && thinning.rests(picture.capture) {
                watch.stands = true;
                self.withhold(picture, &mut watch);
                continue;
            }
            self.see(&mut watch);
            let is_wanted = self.gate.is_open() && !self.own.is_hidden();
            if self.info.is_live && !(is_wanted && thinning.takes(picture.capture)) {
                self.gate.unwanted.fetch_add(1, Ordering::Relaxed);
                picture.data.give_back(&self.used);
                continue;
            }
            if self.follow(picture.info) {
                thinning = Thinning::new(self.info.frame_rate.interval(), self.has_sound);
                self.is_thinned = false;
            }
            self.withdraw();
            let began = clock::now();
            let Some(Made { done, is_taken }) = self.make(picture)? else { continue };
            // A file waits for who codes it.
            if self.info.is_live && thinning.on_took(done.since(began), done, self.coder.has_less()) {
                self.tell_rate(thinning.one_in());
                self.is_thinned = thinning.one_in() != 1;
            }
            count += 1;
            if !is_taken {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes notice that no picture has come for a while.
    fn miss(&self, watch: &mut Watch) {
        if watch.stall.on_nothing(self.gate.is_open(), clock::now()) {
            match self.gate.source_health.trouble() {
                Some(trouble) => limited!(warn, "no picture can be sent: {trouble}"),
                None => limited!(warn, "the source gives no pictures; waiting for it"),
            }
            watch.stands = true;
        }
        // A camera that has stalled may be pulled out then.
        self.tell(watch);
    }

    /// Leaves a picture out that there is no time for, and says so to the other side.
    fn withhold(&self, picture: SourceFrame, watch: &mut Watch) {
        self.gate.source_health.set_withheld(true);
        watch.has_given = true;
        self.gate.unwanted.fetch_add(1, Ordering::Relaxed);
        picture.data.give_back(&self.used);
        self.tell(watch);
    }

    /// Takes notice of a picture.
    fn see(&self, watch: &mut Watch) {
        if let Some(stood) = watch.stall.on_picture(clock::now()) {
            limited!(info, "the source gives pictures again, after {:.1} s", stood.as_secs_f64());
        }
        (watch.stands, watch.has_given) = (false, true);
        self.gate.source_health.set_withheld(false);
        self.tell(watch);
    }

    /// Shrinks a picture, filters it, codes it and leaves it to the network threads. None: it is lost with a device.
    fn make(&mut self, picture: SourceFrame) -> Result<Option<Made>, Failure> {
        let capture = picture.capture;
        let picture = match &mut self.shrinking {
            Some(shrinking) => shrinking.apply(picture, &self.used)?,
            None => picture,
        };
        let waited = clock::now().since(capture);
        // Where memory belongs that no effect has made.
        let used = self.shrinking.as_ref().map_or(&self.used, Shrinking::back).clone();
        let (picture, effects) = self.effects.apply(picture, &used)?;
        self.own.on_picture(picture.format, self.params.size, self.info.colour, &picture.data, capture);
        let format = picture.format;
        // The picture that a driver keeps is lost with it.
        let Some(Coded { id, frame, stages, data }) = self.code(picture)? else { return Ok(None) };
        let (params, backend) = (self.params, Arc::clone(&self.backend));
        let times = FrameTimes { capture, coded: clock::now() };
        let spent = effects.unwrap_or_default();
        let encoded = Encoded { id, params, frame, times, waited, effects: spent, stages, backend };
        let mut done = encoded.times.coded;
        let like = Encoded { frame: Arc::clone(&encoded.frame), backend: Arc::clone(&encoded.backend), ..encoded };
        let is_taken = self.hand_over(encoded);
        let receivers = self.company.apart();
        let data = if receivers.is_empty() {
            Some(data)
        } else {
            let data = self.code_apart(&receivers, &like, (format, data))?;
            done = clock::now();
            data
        };
        match (data, effects) {
            (Some(data), Some(_)) => data.into_memory().into_iter().for_each(|memory| self.effects.give_back(memory)),
            (Some(data), None) => data.give_back(&used),
            (None, _) => {}
        }
        Ok(Some(Made { done, is_taken }))
    }

    /// Codes the picture of `like` for each of `receivers` alone, as large as its own line bears. Returns the picture; none: a device has
    /// kept it, and those to come get nothing of it.
    fn code_apart(
        &mut self,
        receivers: &[usize],
        like: &Encoded,
        (format, mut data): (PixelFormat, Samples),
    ) -> Result<Option<Samples>, Failure> {
        for &receiver in receivers {
            let target = Target::Bytes(self.gate.budget_bytes(receiver));
            let coded = self.coder.code_apart((format, data), target).map_err(|error| failure(&error))?;
            self.follow_backend();
            let Some((frame, back)) = coded else { return Ok(None) };
            data = back;
            let times = FrameTimes { coded: clock::now(), ..like.times };
            let (stages, backend) = (self.coder.stages(), Arc::clone(&self.backend));
            self.gate.count_apart(receiver);
            self.company.give(receiver, Encoded { frame, times, stages, backend, ..*like });
        }
        Ok(Some(data))
    }

    /// Leaves a frame to the network threads; false if they take none any more.
    fn hand_over(&self, encoded: Encoded) -> bool {
        if self.company.never_waits(self.info.is_live) {
            self.company.replace(encoded);
            return true;
        }
        self.company.put(encoded, WAIT, || self.pulse.beat())
    }

    /// Takes a frame back that the network thread does not come to take: a newer one is better, and must not be predicted from one
    /// that never leaves.
    fn withdraw(&mut self) {
        if !self.company.never_waits(self.info.is_live) {
            return;
        }
        if let Some(id) = self.company.withdraw(self.handover_max) {
            self.gate.unwanted.fetch_add(1, Ordering::Relaxed);
            self.coder.on_told(Told::Withdrawn(id));
        }
    }

    /// Waits at most [`WAIT`] for a picture. What has been told of the receiver meanwhile is computed at once, frame by
    /// frame, so that the picture need not wait for it.
    fn next_picture(&mut self) -> Result<Taken<SourceFrame>, Failure> {
        let until = clock::now() + WAIT;
        loop {
            let now = clock::now();
            let mut wait = until.since(now);
            let is_over = wait.is_zero();
            if self.prepare(now)? {
                wait = Duration::ZERO;
            }
            match self.pictures.take_timeout(wait) {
                Taken::Timeout if !is_over => {}
                taken => return Ok(taken),
            }
        }
    }

    /// Tells the encoder what has been told of the receiver, and lets it decode a frame as the receiver has, if there is time for all of
    /// them; false if there is none to decode.
    fn prepare(&mut self, now: Timestamp) -> Result<bool, Failure> {
        self.company.listen(&self.gate, &mut self.coder, clock::now());
        let before = self.coder.counters().replays;
        let prepared = self.coder.prepare_some(now, self.spare.replays(now)).map_err(|error| codec_failure(&error));
        if self.coder.counters().replays > before {
            self.spare.on_replay(clock::now().since(now));
        }
        self.follow_backend();
        prepared
    }

    /// Changes what is coded if another size is asked for, or if the source is another than before, with an encoder and effects
    /// that know nothing of the pictures before. Returns true if it has.
    fn follow(&mut self, source: Option<SourceInfo>) -> bool {
        if let Some(info) = source.filter(|info| *info != self.info) {
            self.info = info;
            self.own.set_source_size(info.size);
        }
        let SourceInfo { size: whole, frame_rate, colour, raster, .. } = self.info;
        let size = self.own.size().unwrap_or(whole);
        let params = StreamParams { size, frame_rate, colour, raster, ..self.params };
        if params == self.params {
            return false;
        }
        self.pulse.excuse(clock::now() + Patience::OPEN.longest());
        let params = StreamParams { size, codec: self.codec, ..self.params };
        let Coding { coder, params } = match (self.reopen)(params, self.last) {
            Ok(coding) => coding,
            Err(failure) => {
                tracing::warn!("pictures stay {}: {failure}", self.params.size);
                self.own.set_size(Some(self.params.size));
                return false;
            }
        };
        tracing::info!("pictures of {size} from now on");
        self.coder = coder;
        self.company.begin(&mut self.coder);
        self.follow_backend();
        self.params = params;
        self.effects = LiveEffects::new(self.own.clone(), size, params.chroma);
        self.shrinking = (size != self.info.size).then(|| Shrinking::new(self.info.size, size, params.chroma));
        true
    }

    /// Codes a picture; none if the device does not answer, in whose place there is the processor from then on.
    fn code(&mut self, picture: SourceFrame) -> Result<Option<Coded>, Failure> {
        let began = clock::now();
        if let Some(longest) = self.coder.longest(picture.format) {
            self.pulse.excuse(began + longest);
        }
        self.company.listen(&self.gate, &mut self.coder, clock::now());
        let target = Target::Bytes(self.company.choose(&self.gate, &mut self.coder, began));
        let coded = self.coder.code_owned((picture.format, picture.data), target, began);
        let coded = coded.map_err(|error| failure(&error))?;
        self.follow_backend();
        let Some(CodedPicture { id, frame, data }) = coded else { return Ok(None) };
        let now = clock::now();
        let took = now.since(began);
        self.coder.on_took(took + self.coder.finished_in(), !self.is_thinned, now);
        self.gate.set_prediction(self.coder.counters());
        self.last = Some(id);
        Ok(Some(Coded { id, frame, stages: self.coder.times(took), data }))
    }

    /// Notes what codes, and says so if it is something else than before.
    fn follow_backend(&mut self) {
        let backend = self.coder.backend();
        if *self.backend != *backend {
            tracing::warn!("{} on {} from now on: {}", backend.kind, backend.device, backend.reason);
            self.backend = Arc::new(backend.clone());
        }
    }
}

/// A picture that has been coded and left to the network threads.
struct Made {
    done: Timestamp,
    /// False if no network thread takes frames any more.
    is_taken: bool,
}

/// A picture that has been coded.
struct Coded {
    id: FrameId,
    frame: Arc<CodedFrame>,
    stages: EncodeTimes,
    /// The memory of the picture.
    data: Samples,
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::mpsc;
    use std::thread;

    use common::wire::states::{Fate, StatesReport};
    use kernels::{Backend, BackendChoice};
    use net::link::Waker;
    use picture::effects::Effects;
    use picture::frame::{Chroma, ColourSpace, FrameSize};
    use picture::gaps::Gaps;
    use picture::params::Profile;

    use super::*;
    use crate::source::pattern::Pattern;

    /// Returns what codes predicted pictures of a live source on the processor, on a thread of its own.
    fn predicting() -> Encode {
        coding_for(1)
    }

    /// Returns a picture of the source.
    pub(super) fn picture(info: &SourceInfo, number: u32) -> SourceFrame {
        let mut data = Vec::new();
        Pattern::new(info.size, info.frame_rate).draw(number, 0, &mut data);
        SourceFrame { format: PixelFormat::I420, data: data.into(), capture: clock::now(), info: None }
    }

    /// The same for so many receivers.
    pub(super) fn coding_for(receivers: usize) -> Encode {
        let params = StreamParams {
            colour: ColourSpace::JPEG,
            codec: CodecParams { profile: Profile::Predicted(15), ..CodecParams::default() },
            ..StreamParams::new(FrameSize::new(96, 80).unwrap(), Chroma::C420)
        };
        let rate = "5M".parse().unwrap();
        let own = OwnSide::new(rate, rate, Effects::default());
        let coder = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap();
        let StreamParams { size, frame_rate, colour, .. } = params;
        let gate = Arc::new(Gate::new(receivers));
        gate.set_budget_bytes(0, 900);
        Encode {
            backend: Arc::new(coder.backend().clone()),
            coder,
            last: None,
            params,
            info: SourceInfo { size, frame_rate, colour, raster: params.raster, is_live: true, is_there: true },
            gate,
            pictures: Slot::new(),
            company: Company::new(
                (0..receivers).map(|_| Outlet { coded: Slot::new(), waker: Waker::default() }).collect(),
            ),
            used: mpsc::channel().0,
            handover_max: Duration::ZERO,
            frames_max: None,
            has_sound: false,
            is_thinned: false,
            spare: Spare::default(),
            pulse: Pulse::default(),
            effects: LiveEffects::new(own.clone(), size, params.chroma),
            own,
            codec: CodecParams::default(),
            shrinking: None,
            reopen: Box::new(|_, _| Err(Failure::usage("one size"))),
        }
    }

    #[test]
    fn the_window_says_how_many_pictures_a_slow_computer_sends_until_it_is_fast_enough() {
        let encode = predicting();
        for (one_in, said) in [
            (2, Some("This computer is too slow: it sends 15 of 30 pictures a second")),
            (8, Some("This computer is too slow: it sends 4 of 30 pictures a second")),
            (0, Some("This computer is too slow for pictures: it sends sound only, and tries again")),
            (1, None),
        ] {
            encode.tell_rate(one_in);
            assert_eq!(encode.own.said().as_deref(), said);
        }
    }

    #[test]
    fn the_own_window_says_what_is_wrong_with_the_own_camera() {
        let mut encode = predicting();
        let stall = Stall::new(Duration::from_millis(33), true);
        let mut watch = Watch { stall, stands: false, has_given: false, told: SourceState::Gives, said: None };
        let mut now = |encode: &Encode, stands: bool, has_given: bool| {
            (watch.stands, watch.has_given) = (stands, has_given);
            encode.tell(&mut watch);
            encode.own.camera_said()
        };
        assert_eq!(now(&encode, false, false), None, "it may take a moment to start");
        encode.info.is_there = false;
        // Nobody need watch.
        assert_eq!(now(&encode, false, false).as_deref(), Some(MISSING));
        assert_eq!(now(&encode, false, true), None);
        assert_eq!(now(&encode, true, true).as_deref(), Some(STALLED));
        encode.gate.source_health.set_lost(true);
        assert_eq!(now(&encode, true, true).as_deref(), Some(LOST));
        assert_eq!(now(&encode, false, true), None);
    }

    #[test]
    fn frames_are_decoded_again_only_where_there_is_time_before_the_next_picture() {
        let mut encode = predicting();
        for number in 0..3 {
            let picture = picture(&encode.info, number);
            assert!(encode.code(picture).unwrap().is_some());
        }
        assert!(encode.prepare(clock::now()).unwrap(), "the last frame's state");
        // Frame 1 was lost: the state of frame 2 is another.
        let fates = vec![Fate::NotUsed, Fate::Used(Gaps::default())];
        encode.gate.tell(0, Told::Report(StatesReport { newest: FrameId(1), hash: None, fates }, clock::now()));
        encode.spare.on_picture(clock::now(), Duration::from_secs(30));
        encode.spare.on_replay(Duration::from_secs(60));
        assert!(!encode.prepare(clock::now()).unwrap());
        encode.spare.on_replay(Duration::from_secs(1));
        assert!(encode.prepare(clock::now()).unwrap());
    }

    /// Returns what codes three pictures that are there already, as on a computer that is too slow.
    fn behind(handover_max: Duration) -> Encode {
        let encode = Encode { pictures: Slot::with_depth(3), handover_max, ..predicting() };
        let SourceInfo { size, frame_rate, .. } = encode.info;
        let pattern = Pattern::new(size, frame_rate);
        for number in 0..3 {
            let mut data = Vec::new();
            pattern.draw(number, 0, &mut data);
            encode.pictures.replace(SourceFrame {
                format: PixelFormat::I420,
                data: data.into(),
                capture: clock::now(),
                info: None,
            });
        }
        encode.pictures.close();
        encode.gate.set_open(0, true);
        encode
    }

    #[test]
    fn every_frame_of_a_computer_that_is_too_slow_leaves() {
        // Only a hang takes so long.
        let soon = Duration::from_secs(90);
        let encode = behind(soon);
        let (coded, gate) = (encode.company.outlets()[0].coded.clone(), Arc::clone(&encode.gate));
        let network = thread::spawn(move || {
            let taken = || {
                // It waits for its turn on the processor.
                thread::sleep(Duration::from_millis(50));
                match coded.take_timeout(soon) {
                    Taken::Item(encoded) => Some(encoded.id),
                    Taken::Timeout | Taken::Closed => None,
                }
            };
            std::iter::from_fn(taken).collect::<Vec<_>>()
        });
        encode.run().unwrap();
        assert_eq!(network.join().unwrap(), [0, 1, 2].map(FrameId));
        assert_eq!(gate.unwanted.load(Ordering::Relaxed), 0);
    }

    /// The network thread is held up: of three pictures it finds the last one, which can be decoded without the others.
    #[test]
    fn what_waits_is_not_predicted_from_what_nobody_came_to_take() {
        let encode = behind(Duration::ZERO);
        let (coded, gate) = (encode.company.outlets()[0].coded.clone(), Arc::clone(&encode.gate));
        encode.run().unwrap();
        let waiting = coded.try_take().unwrap();
        assert_eq!((waiting.id, waiting.frame.reference), (FrameId(0), 0));
        assert_eq!((gate.unwanted.load(Ordering::Relaxed), gate.prediction().frames), (2, 1));
    }

    #[test]
    fn the_processor_predicts_behind_the_frames_of_a_driver_that_never_returns() {
        let mut encode = predicting();
        let SourceInfo { size, frame_rate, .. } = encode.info;
        let pattern = Pattern::new(size, frame_rate);
        let code = |encode: &mut Encode, number| {
            let mut data = Vec::new();
            pattern.draw(number, 0, &mut data);
            let picture =
                SourceFrame { format: PixelFormat::I420, data: data.into(), capture: clock::now(), info: None };
            let coded = encode.code(picture).unwrap();
            coded.map(|coded| (coded.id, coded.frame.reference))
        };
        let first = [0, 1].map(|number| code(&mut encode, number));
        assert_eq!(first, [Some((FrameId(0), 0)), Some((FrameId(1), 1))]);
        assert!(encode.prepare(clock::now()).unwrap(), "the last frame's state");
        // Its driver holds the thread from now on.
        let (let_go, held) = mpsc::channel::<()>();
        encode.coder.hang(held).unwrap();
        encode.follow_backend();
        assert_eq!(code(&mut encode, 2), None);
        assert!(encode.backend.reason.contains("has not answered"), "{}", encode.backend.reason);
        // The picture is lost, the states are not, of which the receiver tells meanwhile.
        let fates = vec![Fate::Used(Gaps::default()); 2];
        let report = StatesReport { newest: FrameId(1), hash: None, fates };
        encode.gate.tell(0, Told::Report(report, clock::now()));
        let after = [3, 4].map(|number| code(&mut encode, number));
        assert_eq!(after, [Some((FrameId(2), 1)), Some((FrameId(3), 1))]);
        assert_eq!(encode.backend.kind, Backend::Cpu);
        let prepared = [(); 2].map(|()| encode.prepare(clock::now()).unwrap());
        assert_eq!(prepared, [true, false], "the last frame's state, and nothing else");
        drop(let_go);
    }
}
