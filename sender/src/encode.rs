//! The encode thread: pictures to coded frames.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use common::session::FrameTimes;
use common::units::{FrameId, Timestamp};
use common::wire::control::SourceState;
use kernels::motion::PredictError;
use kernels::{BackendInfo, EncodeError, EncodeTimes, Encoder, PictureRef, Target, encoder_instead};
use picture::coded::PredictedFrame;
use picture::frame::{FrameSize, PixelFormat};
use picture::params::StreamParams;
use receiver::own::OwnSide;
use shell::apart::{Patience, Runner};
use shell::clock;
use shell::exit::Failure;
use shell::limited;
use shell::link::Waker;
use shell::sd::Pulse;
use shell::slot::{Put, Slot, Taken};

use crate::effects::LiveEffects;
use crate::gate::Gate;
use crate::predict::Predicting;
use crate::source::{SourceFrame, SourceInfo};
use crate::thin::Thinning;

/// A coded frame on its way to the network thread.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Number from an encoder that predicts; none from another.
    pub(crate) id: Option<FrameId>,
    pub(crate) frame: PredictedFrame,
    pub(crate) times: FrameTimes,
    /// Time from the capture until this thread has taken it up.
    pub(crate) waited: Duration,
    /// Time of its effects; zero without any.
    pub(crate) effects: Duration,
    pub(crate) stages: EncodeTimes,
    /// Back end that coded it.
    pub(crate) backend: Arc<BackendInfo>,
}

/// The encoder of a stream.
pub(crate) enum StreamEncoder {
    /// Encoder of frames that are coded alone.
    Alone(Runner<Box<dyn Encoder>>),
    /// Encoder of frames that are predicted.
    Predicting(Box<Predicting>),
}

/// Parts of the encode thread.
pub(crate) struct Encode {
    pub(crate) coder: StreamEncoder,
    /// The back end and the device that the encoder computes with.
    pub(crate) backend: Arc<BackendInfo>,
    /// Format of which a picture has been coded.
    pub(crate) known: PixelFormat,
    pub(crate) params: StreamParams,
    pub(crate) info: SourceInfo,
    pub(crate) gate: Arc<Gate>,
    pub(crate) pictures: Slot<SourceFrame>,
    pub(crate) coded: Slot<Encoded>,
    pub(crate) used: Sender<Vec<u8>>,
    pub(crate) waker: Waker,
    /// Frames after which the stream ends.
    pub(crate) frames_max: Option<u64>,
    /// Shows that the thread turns.
    pub(crate) pulse: Pulse,
    /// Who may want to see what is sent.
    pub(crate) own: OwnSide,
    /// Changes of pictures before they are coded.
    pub(crate) effects: LiveEffects,
}

/// Longest wait before the thread shows that it turns, and looks whether the source has stalled.
const WAIT: Duration = Duration::from_millis(100);

impl Encode {
    /// Runs until the source has ended or the network thread has closed its slot. Both slots are closed in every
    /// case.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let result = self.pump();
        self.pictures.close();
        self.coded.close();
        self.waker.wake();
        self.pulse.end();
        result
    }

    /// Waits until the network thread takes a frame; false if it takes none any more.
    fn put(&self, mut encoded: Encoded) -> bool {
        loop {
            match self.coded.put_timeout(encoded, WAIT) {
                Put::Done => return true,
                Put::Timeout(again) => encoded = again,
                Put::Closed(_) => return false,
            }
            self.pulse.beat();
        }
    }

    /// Tells how the source is, unless that is what was `told` last.
    fn tell_source(&self, stands: bool, told: &mut SourceState) {
        self.gate.source_stands.store(stands, Ordering::Relaxed);
        let source = self.gate.source();
        if std::mem::replace(told, source) != source {
            self.waker.wake();
        }
    }

    /// Tells that one picture in so many is coded from now on.
    fn tell_rate(&self, one_in: u32) {
        let all = self.info.frame_rate.as_f64();
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
        let mut count = 0;
        let interval = self.info.frame_rate.interval();
        let (mut stall, mut thinning) = (Stall::new(interval, self.info.is_there), Thinning::new(interval));
        let (mut stands, mut told) = (false, SourceState::Gives);
        while self.frames_max.is_none_or(|max| count < max) {
            self.pulse.beat();
            let picture = match self.next_picture()? {
                Taken::Item(picture) => picture,
                Taken::Timeout if self.coded.is_closed() => return Ok(()),
                Taken::Timeout => {
                    if stall.on_nothing(self.gate.is_open(), clock::now()) {
                        limited!(warn, "the source gives no pictures; waiting for it");
                        stands = true;
                    }
                    // A camera that has stalled may be pulled out then.
                    self.tell_source(stands, &mut told);
                    continue;
                }
                Taken::Closed => return Ok(()),
            };
            if let Some(stood) = stall.on_picture(clock::now()) {
                limited!(info, "the source gives pictures again, after {:.1} s", stood.as_secs_f64());
            }
            stands = false;
            self.tell_source(stands, &mut told);
            if self.info.is_live && !self.gate.is_open() {
                self.gate.unwanted.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            if self.info.is_live && !thinning.takes(picture.capture) {
                self.gate.unwanted.fetch_add(1, Ordering::Relaxed);
                let _ = self.used.send(picture.data);
                continue;
            }
            let began = clock::now();
            let capture = picture.capture;
            let (picture, effects) = self.effects.apply(picture, &self.used)?;
            self.own.on_picture(picture.format, self.info.size, self.info.colour, &picture.data);
            // The picture that a driver keeps is lost with it.
            let Some(Coded { id, frame, stages, data }) = self.code(picture)? else { continue };
            let times = FrameTimes { capture, coded: clock::now() };
            // A file waits for who codes it.
            if self.info.is_live && thinning.on_took(times.coded.since(began), times.coded) {
                self.tell_rate(thinning.one_in());
            }
            let waited = began.since(capture);
            if effects.is_some() {
                self.effects.give_back(data);
            } else {
                // Without a capture thread there is nobody to use the memory again.
                let _ = self.used.send(data);
            }
            let (effects, backend) = (effects.unwrap_or_default(), Arc::clone(&self.backend));
            let encoded = Encoded { id, frame, times, waited, effects, stages, backend };
            count += 1;
            if self.info.is_live {
                self.coded.replace(encoded);
            } else {
                self.waker.wake();
                if !self.put(encoded) {
                    return Ok(());
                }
            }
            self.waker.wake();
        }
        Ok(())
    }

    /// Waits at most [`WAIT`] for a picture. What has been told of the receiver meanwhile is computed at once, frame by
    /// frame, so that the picture need not wait for it.
    fn next_picture(&mut self) -> Result<Taken<SourceFrame>, Failure> {
        let until = clock::now() + WAIT;
        loop {
            let now = clock::now();
            let mut wait = until.since(now);
            let is_over = wait.is_zero();
            if let StreamEncoder::Predicting(predicting) = &mut self.coder {
                self.gate.take_told().into_iter().for_each(|told| predicting.on_told(told));
                if predicting.prepare(now).map_err(|error| Failure::codec(&error))? {
                    wait = Duration::ZERO;
                }
            }
            match self.pictures.take_timeout(wait) {
                Taken::Timeout if !is_over => {}
                taken => return Ok(taken),
            }
        }
    }

    /// Codes a picture; none if the device does not answer, in whose place there is the processor from then on.
    fn code(&mut self, picture: SourceFrame) -> Result<Option<Coded>, Failure> {
        let target = Target::Bytes(self.gate.budget_bytes());
        let encoder = match &mut self.coder {
            StreamEncoder::Alone(encoder) => encoder,
            StreamEncoder::Predicting(predicting) => {
                return predict(predicting, &self.gate, picture, self.info.size, target).map(Some);
            }
        };
        let patience = if !self.backend.is_device() {
            // A processor that took over from a device that failed: there is nothing else to go on with.
            Patience::OPEN
        } else if self.known != picture.format {
            self.pulse.excuse(clock::now() + Patience::OPEN.longest());
            Patience::OPEN
        } else {
            Patience::WORK
        };
        self.known = picture.format;
        let (size, before) = (self.info.size, Arc::clone(&self.backend));
        let work = move |encoder: &mut Box<dyn Encoder>| {
            let frame = encoder.encode(PictureRef::new(picture.format, size, &picture.data)?, target)?;
            let backend = (*before != *encoder.backend()).then(|| encoder.backend().clone());
            let frame = PredictedFrame { reference: 0, frame };
            Ok((Coded { id: None, frame, stages: encoder.times(), data: picture.data }, backend))
        };
        let (coded, backend) = match encoder.run(patience, work) {
            Ok(result) => {
                let (coded, backend) = result.map_err(|error: EncodeError| failure(&error))?;
                (Some(coded), backend)
            }
            Err(lost) => {
                let encoder = encoder_instead(&self.params, self.backend.given_up(&lost));
                let backend = encoder.backend().clone();
                self.coder = StreamEncoder::Alone(Runner::Here(encoder));
                (None, Some(backend))
            }
        };
        if let Some(backend) = backend {
            tracing::warn!("{} on {} from now on: {}", backend.kind, backend.device, backend.reason);
            self.backend = Arc::new(backend);
        }
        Ok(coded)
    }
}

/// Codes a picture from what the receiver holds.
fn predict(
    predicting: &mut Predicting,
    gate: &Gate,
    picture: SourceFrame,
    size: FrameSize,
    target: Target,
) -> Result<Coded, Failure> {
    let began = clock::now();
    gate.take_told().into_iter().for_each(|told| predicting.on_told(told));
    let reference = PictureRef::new(picture.format, size, &picture.data).map_err(|error| failure(&error.into()))?;
    let (id, frame) = predicting.code(reference, target, began).map_err(|error| match error {
        PredictError::Encode(error) => failure(&error),
        PredictError::Decode(error) => Failure::codec(&error),
    })?;
    let now = clock::now();
    let code = now.since(began);
    predicting.on_took(code, now);
    gate.set_prediction(predicting.counters());
    let stages = predicting.times(code);
    Ok(Coded { id: Some(id), frame, stages, data: picture.data })
}

/// A picture that has been coded.
struct Coded {
    id: Option<FrameId>,
    frame: PredictedFrame,
    stages: EncodeTimes,
    /// The memory of the picture.
    data: Vec<u8>,
}

/// Detects a source that gives nothing while a receiver watches.
struct Stall {
    /// Longest normal pause between two pictures.
    pause: Duration,
    /// Time of the last picture, or of the receiver's begin.
    since: Option<Timestamp>,
    /// False of a source that is waited for.
    is_there: bool,
    /// True if a picture has come since then: a camera takes a while to start.
    runs: bool,
    told: bool,
}

impl Stall {
    /// A source that is waited for, and is not there yet, has no time to start.
    fn new(interval: Duration, is_there: bool) -> Self {
        Self { pause: (3 * interval).max(PAUSE_MIN), since: None, is_there, runs: !is_there, told: false }
    }

    /// Notes that no picture has come; returns true if that must be told now.
    fn on_nothing(&mut self, is_watched: bool, now: Timestamp) -> bool {
        if !is_watched {
            (self.since, self.runs, self.told) = (None, !self.is_there, false);
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let pause = if self.runs { self.pause } else { self.pause.max(BEGIN_MAX) };
        now.since(since) >= pause && !std::mem::replace(&mut self.told, true)
    }

    /// Notes that a picture has come; returns the length of a pause that was told.
    fn on_picture(&mut self, now: Timestamp) -> Option<Duration> {
        let since = self.since.replace(now);
        (self.is_there, self.runs) = (true, true);
        since.filter(|_| std::mem::take(&mut self.told)).map(|since| now.since(since))
    }
}

/// Time without a picture after which a source has stalled, whatever its rate.
const PAUSE_MIN: Duration = Duration::from_millis(300);
/// Time likewise, for the first picture.
const BEGIN_MAX: Duration = Duration::from_secs(3);

/// Returns the failure to show the person at the terminal for an encoder's error.
pub(crate) fn failure(error: &EncodeError) -> Failure {
    match error {
        EncodeError::BudgetTooSmall { .. } => Failure::usage(format!(
            "the bit rate is too low for pictures of this size: {error}; raise --rate or lower the frame rate"
        )),
        _ => Failure::codec(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_stalls_is_told_once_and_in_time() {
        let at = |ms: u64| Timestamp::from_us(1000 * ms);
        let mut stall = Stall::new(Duration::from_millis(33), true);
        assert!(!stall.on_nothing(false, at(0)) && !stall.on_nothing(false, at(60_000)), "nobody watches");
        assert!(!stall.on_nothing(true, at(60_000)) && !stall.on_nothing(true, at(62_900)), "a camera starts");
        assert_eq!(stall.on_picture(at(62_950)), None);
        let told: Vec<u64> = (62_950..66_000).step_by(100).filter(|&ms| stall.on_nothing(true, at(ms))).collect();
        assert_eq!(told, [63_250], "with looks 100 ms apart");
        assert_eq!(stall.on_picture(at(66_950)), Some(Duration::from_secs(4)));
        assert_eq!(stall.on_picture(at(66_980)), None);
        let mut awaited = Stall::new(Duration::from_millis(33), false);
        assert!(!awaited.on_nothing(false, at(0)) && !awaited.on_nothing(true, at(5_000)));
        let told: Vec<u64> = (5_000..9_000).step_by(100).filter(|&ms| awaited.on_nothing(true, at(ms))).collect();
        assert_eq!(told, [5_300], "a camera that is waited for");
    }
}
