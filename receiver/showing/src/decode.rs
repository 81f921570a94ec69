//! The decode thread: arrived frames to pictures.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use common::stream::video::ArrivedFrame;
use common::stream::video::reassemble::AssembledFrame;
use common::units::Timestamp;
use kernels::apart::Patience;
use kernels::{BackendInfo, Options, Picture};
use net::failure::Failure;
use net::limited;
use picture::coded::BlockState;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::vectors::VectorLayout;
use shell::exit::codec_failure;
use shell::record::{KeptFrame, Recorded, Switch};
use shell::sd::Pulse;
use shell::slot::{Put, Slot, Taken};

use crate::handover::{Command, Decoded, Job, Missing, Opened, Passed, STALE, Stream};
use crate::predicted::{Outcome, StreamDecoder};

/// Pictures in circulation: one being decoded, one in the slot, one being shown.
const PICTURES: usize = 3;
/// Newer frames that wait, from which on one is not shown to who watches. Two come close together after a pause of the decoder's
/// thread, or when the first had waited for what was lost of it.
const WAITING_MAX: usize = 2;
/// Longest wait before the thread shows that it turns.
const WAIT: Duration = Duration::from_millis(250);

/// The slots and channels around the decode thread.
pub struct DecodeStage<R> {
    /// Jobs from the network thread.
    pub jobs: Slot<Job>,
    /// Decoded pictures for the sinks.
    pub pictures: Slot<Decoded>,
    /// True if the sinks only record: then the decoder waits for them instead of replacing what they have not taken.
    pub records: bool,
    /// Pictures that the sinks have shown.
    pub shown: Receiver<Picture>,
    /// Messages to the network thread.
    pub tell: R,
    /// Reads the clock.
    pub now: fn() -> Timestamp,
    /// Shows that the thread turns.
    pub pulse: Pulse,
    /// Recorder of frames with prediction, as the decoder used them.
    pub recording: Switch,
}

impl<R> DecodeStage<R> {
    /// Waits until the sinks take a picture; gives it back if they take none any more.
    fn put(&self, mut decoded: Decoded) -> Option<Decoded> {
        loop {
            match self.pictures.put_timeout(decoded, WAIT) {
                Put::Done => return None,
                Put::Timeout(again) => decoded = again,
                Put::Closed(decoded) => return Some(decoded),
            }
            self.pulse.beat();
        }
    }
}

/// Checks at start that the back end asked for is there, with the smallest of streams.
pub fn probe(options: &Options) -> Result<BackendInfo, Failure> {
    kernels::probe(options).map_err(|error| codec_failure(&error))
}

/// Decodes until the job slot is closed; then closes the picture slot.
pub fn run<R: Fn(Command)>(options: &Options, stage: &DecodeStage<R>) -> Result<(), Failure> {
    // Also on a failure and on a panic: the other threads must not wait for ever.
    let _closing = (stage.jobs.closing(), stage.pictures.closing());
    let mut opened: Option<OpenDecoder> = None;
    loop {
        stage.pulse.beat();
        match stage.jobs.take_timeout(WAIT) {
            Taken::Timeout => {}
            Taken::Closed => return Ok(()),
            Taken::Item(Job::Open { params, serial }) => {
                stage.pulse.excuse((stage.now)() + Patience::OPEN.longest());
                let open = match opened.take() {
                    Some(open) if open.stream.params == params => Ok(open.keep_for(serial)),
                    other => {
                        // The old decoder's device memory goes first.
                        if let Some(open) = other {
                            open.end();
                        }
                        OpenDecoder::new(params, serial, options)
                    }
                };
                let refused = open.as_ref().err().map(|failure| failure.message.clone());
                if refused.is_some() && options.given_up().is_none() {
                    // A device that still decodes the smallest of streams works: it is this stream that is too much for
                    // it.
                    probe(options)?;
                }
                opened = open.ok();
                (stage.tell)(Command::Opened(Opened { serial, refused }));
            }
            Taken::Item(Job::Frame { arrived, clock_offset_us }) => {
                let is_stale = !stage.records && (stage.now)().since(arrived.released) > STALE;
                let waiting = if stage.records { 0 } else { stage.jobs.waiting() };
                if let Some(open) = opened.as_mut().filter(|open| !is_stale && !open.passes_over(waiting)) {
                    let is_shown = waiting < WAITING_MAX;
                    open.decode(arrived, clock_offset_us, is_shown, stage)?;
                }
            }
        }
    }
}

/// An open decoder and its pictures.
struct OpenDecoder {
    stream: Arc<Stream>,
    coarse_blocks: usize,
    /// Slices of vectors, in a frame with a reference.
    slices: usize,
    decoder: StreamDecoder,
    spare: Vec<Picture>,
    /// Average duration of decoding, in which the last frame counts an eighth.
    took: Duration,
    /// True if the last frame was recorded.
    was_recorded: bool,
}

impl OpenDecoder {
    fn new(params: StreamParams, serial: u64, options: &Options) -> Result<Self, Failure> {
        let decoder = StreamDecoder::open(&params, options)?;
        let backend = decoder.backend().clone();
        let spare = (0..PICTURES).map(|_| Picture::for_stream(params.chroma, params.size)).collect();
        limited!(
            info,
            "decoder ready: {} at {} frames a second, {} on {}: {}",
            params.size,
            params.frame_rate.as_f64(),
            backend.kind,
            backend.device,
            backend.reason
        );
        let stream = Arc::new(Stream { serial, params, backend });
        Ok(Self {
            stream,
            coarse_blocks: BlockLayout::new(&params).coarse_blocks(),
            slices: VectorLayout::new(params.size).slices(),
            decoder,
            spare,
            took: Duration::ZERO,
            was_recorded: false,
        })
    }

    /// Keeps the same decoder for a sender that came back with the same stream.
    fn keep_for(mut self, serial: u64) -> Self {
        self.stream = Arc::new(Stream { serial, ..(*self.stream).clone() });
        self.decoder.restart();
        self
    }

    /// Frees the decoder.
    fn end(self) {
        self.decoder.end();
    }

    /// Goes on with another back end.
    fn go_on_with(&mut self, backend: BackendInfo) {
        limited!(warn, "{} on {} from now on: {}", backend.kind, backend.device, backend.reason);
        self.stream = Arc::new(Stream { backend, ..(*self.stream).clone() });
    }

    /// Returns true if a frame is left out, behind which `waiting` newer ones wait.
    fn passes_over(&self, waiting: usize) -> bool {
        self.decoder.leaves_out(waiting, self.took, self.stream.params.frame_rate.interval())
    }

    /// Decodes a frame, and hands the picture on if it is shown: others may be predicted from one that is not.
    fn decode<R: Fn(Command)>(
        &mut self,
        arrived: ArrivedFrame,
        clock_offset_us: Option<i64>,
        is_shown: bool,
        stage: &DecodeStage<R>,
    ) -> Result<(), Failure> {
        let params = self.stream.params;
        let fits = |p: &Picture| p.size() == params.size && p.format() == params.chroma.picture_format();
        self.spare.extend(stage.shown.try_iter().filter(fits));
        let picture = self.spare.pop().unwrap_or_else(|| Picture::for_stream(params.chroma, params.size));
        let slices = if arrived.assembled.reference > 0 { self.slices } else { 0 };
        let coarse = (slices..slices + self.coarse_blocks)
            .filter(|&index| arrived.assembled.frame.block(index) == BlockState::Missing);
        let missing = Missing { blocks: arrived.assembled.frame.missing(), coarse: coarse.count() };
        let began = (stage.now)();
        let ArrivedFrame { assembled, released, stalled } = arrived;
        let AssembledFrame { id, reference, frame, capture, sent, last_received, .. } = assembled;
        let tap = stage.recording.tap();
        // A recording that begins meanwhile begins with one.
        if !std::mem::replace(&mut self.was_recorded, tap.is_some()) && tap.is_some() && reference > 0 {
            self.decoder.ask_alone();
        }
        let outcome = self.decoder.decode(id, reference, frame, picture)?;
        if let Some(report) = self.decoder.report() {
            (stage.tell)(Command::States { serial: self.stream.serial, report });
        }
        let times = self.decoder.times();
        if self.stream.backend != *self.decoder.backend() {
            self.go_on_with(self.decoder.backend().clone());
        }
        let picture = match outcome {
            Outcome::Picture(picture, used) => {
                if let Some((tap, frame)) = tap.zip(used) {
                    let stream = Recorded { serial: self.stream.serial, params, start: id };
                    tap.frame(&Arc::new(stream), KeptFrame { id, reference, frame, capture }, last_received);
                }
                picture
            }
            Outcome::Stays(picture) => {
                self.spare.extend(picture);
                return Ok(());
            }
        };
        self.took = (7 * self.took + (stage.now)().since(began)) / 8;
        if !is_shown {
            self.spare.push(picture);
            return Ok(());
        }
        let passed = Passed {
            capture,
            sent,
            received: last_received,
            released,
            decoded: (stage.now)(),
            compensate: times.compensate,
            inverse: times.inverse,
            stalled,
            clock_offset_us,
            missing,
        };
        let decoded = Decoded { stream: Arc::clone(&self.stream), id, picture, passed };
        let not_shown = if stage.records { stage.put(decoded) } else { stage.pictures.replace(decoded) };
        self.spare.extend(not_shown.map(|decoded| decoded.picture));
        if reference > 0 && stage.jobs.waiting() == 0 {
            self.decoder.get_ready();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use std::cell::Cell;
    use std::sync::mpsc;

    use common::units::FrameId;
    use kernels::BackendChoice;
    use picture::coded::{FrameHeader, ReceivedFrame, StepIndex};
    use picture::frame::{Chroma, FrameSize};

    use super::*;
    use crate::predicted;

    /// Returns the time of a clock that goes on by 10 ms with each reading, so that decoding a frame takes 10 ms.
    fn ticking() -> Timestamp {
        thread_local!(static READ: Cell<u64> = const { Cell::new(0) });
        Timestamp::from_us(10_000 * READ.replace(READ.get() + 1))
    }

    /// Decodes such frames (number, distance to the reference, blocks) that all wait already, while nobody takes pictures: each
    /// replaces the one before. Returns how many were handed on, and the last one.
    fn decoded(params: StreamParams, waiting: Vec<(u32, u8, ReceivedFrame)>) -> (u64, Decoded) {
        let (_back, shown) = mpsc::channel();
        let (jobs, pictures) = (Slot::with_depth(waiting.len() + 1), Slot::new());
        let stage = DecodeStage {
            jobs,
            pictures,
            records: false,
            shown,
            tell: |_| (),
            now: ticking,
            pulse: Pulse::default(),
            recording: Switch::default(),
        };
        stage.jobs.replace(Job::Open { params, serial: 0 });
        for (id, reference, frame) in waiting {
            let now = ticking();
            let assembled = AssembledFrame {
                id: FrameId(id),
                reference,
                frame,
                capture: now,
                sent: now,
                first_received: now,
                last_received: now,
            };
            let arrived = ArrivedFrame { assembled, released: now, stalled: Duration::ZERO };
            stage.jobs.replace(Job::Frame { arrived, clock_offset_us: None });
        }
        stage.jobs.close();
        run(&BackendChoice::Reference.into(), &stage).unwrap();
        let last = stage.pictures.try_take().unwrap();
        (stage.pictures.dropped() + 1, last)
    }

    #[test]
    fn frames_that_wait_are_passed_over_if_decoding_does_not_keep_up_or_newer_ones_are_there() {
        let alone = StreamParams::new(FrameSize::new(16, 16).unwrap(), Chroma::C420);
        let header = FrameHeader { step: StepIndex::MAX, fine_blocks: 0 };
        let nothing = ReceivedFrame::empty(header, BlockLayout::new(&alone).blocks().len());
        let (decoded, last) = decoded(alone, (0..7).map(|id| (id, 0, nothing.clone())).collect());
        assert_eq!((decoded, last.id), (2, FrameId(6)));
    }

    /// After a pause of the line all that it held back comes at once.
    #[test]
    fn what_others_are_predicted_from_is_not_passed_over() {
        let params = predicted::tests::params();
        let mut code = predicted::tests::coder(params);
        let (first, mut state) = code(0, None);
        let mut waiting = vec![(0, 0, first)];
        for id in 1..7 {
            let (frame, next) = code(id, Some((1, &state)));
            waiting.push((id as u32, 1, frame));
            state = next;
        }
        let (shown, last) = decoded(params, waiting);
        assert_eq!((shown, last.id), (2, FrameId(6)));
        assert!(last.picture == *state.picture());
    }
}
