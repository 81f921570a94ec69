//! The capture thread: opens the source, waits until pictures are wanted, and takes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use net::failure::Failure;
use shell::slot::Slot;

use crate::gate::Gate;
use crate::source::{FrameSource, SourceFrame, SourceInfo};

/// Time for which a camera goes on without a receiver: it takes a part of a second to start, and a receiver that lost
/// the connection comes back sooner.
const REST_AFTER: Duration = Duration::from_secs(2);

/// Pictures that there may be at once: one is taken, one waits, one is coded. Their memory is there from the first one on, so that
/// a computer that falls behind for a moment takes no more.
const PICTURES: usize = 3;

/// Parts of the capture thread.
pub(crate) struct Capture {
    pub(crate) gate: Arc<Gate>,
    pub(crate) pictures: Slot<SourceFrame>,
    /// Memory of pictures that are not needed any more.
    pub(crate) used: Receiver<Vec<u8>>,
}

impl Capture {
    /// Opens the source on this thread, reports what it is like (or why not) on `opened`, and runs to its end. The slot is closed
    /// in every case.
    pub(crate) fn run(
        self,
        open: impl FnOnce() -> Result<Box<dyn FrameSource>, Failure>,
        opened: &Sender<Result<SourceInfo, Failure>>,
    ) -> Result<(), Failure> {
        let result = self.pump(open(), opened);
        self.pictures.close();
        result
    }

    fn pump(
        &self,
        source: Result<Box<dyn FrameSource>, Failure>,
        opened: &Sender<Result<SourceInfo, Failure>>,
    ) -> Result<(), Failure> {
        let mut source = match source {
            Ok(source) => source,
            Err(failure) => {
                // The main thread ends with it.
                let _ = opened.send(Err(failure));
                return Ok(());
            }
        };
        if opened.send(Ok(source.info())).is_err() {
            return Ok(());
        }
        source.share(Arc::clone(&self.gate.source_health));
        self.follow(source.as_mut())
    }

    /// Takes pictures while they are wanted, until there are no more.
    fn follow(&self, source: &mut dyn FrameSource) -> Result<(), Failure> {
        let is_live = source.info().is_live;
        let mut unwanted_since = None;
        let mut spare: Option<Vec<Vec<u8>>> = None;
        if !self.gate.wait() {
            return Ok(());
        }
        loop {
            // A file stands still while nobody watches; a camera goes on for a while, in case somebody comes back.
            if !is_live && !self.gate.wait() {
                return Ok(());
            }
            let room = spare.as_mut().and_then(Vec::pop).or_else(|| self.used.try_recv().ok());
            let next = source.next(room.unwrap_or_default());
            // Also at the end, before which the last pictures may have been skipped.
            self.gate.skipped.store(source.skipped(), Ordering::Relaxed);
            let Some(picture) = next? else { return Ok(()) };
            self.gate.captured.fetch_add(1, Ordering::Relaxed);
            let now = picture.capture;
            // A driver's own memory needs no other.
            let spare = spare.get_or_insert_with(|| match picture.data.is_lent() {
                true => Vec::new(),
                false => vec![picture.data.to_vec(); PICTURES - 1],
            });
            if is_live {
                spare.extend(self.pictures.replace(picture).and_then(|passed_over| passed_over.data.into_memory()));
            } else if self.pictures.put_wait(picture).is_err() {
                return Ok(());
            }
            if self.pictures.is_closed() {
                return Ok(());
            }
            if !is_live || self.gate.is_open() {
                unwanted_since = None;
            } else if now.since(*unwanted_since.get_or_insert(now)) >= REST_AFTER {
                source.rest();
                if !self.gate.wait() {
                    return Ok(());
                }
                unwanted_since = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use common::units::Timestamp;
    use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat, Raster};
    use shell::slot::Taken;

    use super::*;

    /// Longer than any step may take, so that a hang fails the test.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A camera with a picture every 100 ms of its own time.
    struct Fake {
        now: Timestamp,
        rests: Sender<Timestamp>,
        /// Told for each picture: whether it was given memory for it.
        rooms: Sender<bool>,
    }

    impl FrameSource for Fake {
        fn info(&self) -> SourceInfo {
            SourceInfo {
                size: FrameSize::new(2, 2).unwrap(),
                frame_rate: FrameRate::new(10, 1).unwrap(),
                colour: ColourSpace::JPEG,
                raster: Raster::default(),
                is_live: true,
                is_there: true,
            }
        }

        fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
            // Nobody may listen.
            let _ = self.rooms.send(data.capacity() > 0);
            data.resize(4, 0);
            self.now = self.now + Duration::from_millis(100);
            Ok(Some(SourceFrame { format: PixelFormat::Grey8, data: data.into(), capture: self.now, info: None }))
        }

        fn rest(&mut self) {
            self.rests.send(self.now).unwrap();
        }
    }

    /// Returns a camera, and what it tells of rests and of memory.
    fn camera() -> (Fake, Receiver<Timestamp>, Receiver<bool>) {
        let ((rests, rested), (rooms, room)) = (channel(), channel());
        (Fake { now: Timestamp::default(), rests, rooms }, rested, room)
    }

    /// Returns the capture thread of a camera, and the other end of its channel of memory.
    fn capture(gate: &Arc<Gate>, pictures: &Slot<SourceFrame>) -> (Capture, Sender<Vec<u8>>) {
        let (give_back, used) = channel();
        let (gate, pictures) = (Arc::clone(gate), pictures.clone());
        (Capture { gate, pictures, used }, give_back)
    }

    #[test]
    fn a_camera_that_nobody_watches_is_switched_off_and_on_again() {
        let (gate, pictures) = (Arc::new(Gate::new(1)), Slot::new());
        let (capture, _give_back) = capture(&gate, &pictures);
        let (mut camera, rested, _room) = camera();
        let thread = std::thread::spawn(move || capture.follow(&mut camera));
        let picture = || matches!(pictures.take_timeout(PATIENCE), Taken::Item(_));
        let mut last = Timestamp::default();
        for _ in 0..2 {
            gate.set_open(0, true);
            assert!(picture() && picture());
            assert!(rested.try_recv().is_err(), "while somebody watches");
            gate.set_open(0, false);
            let at = rested.recv_timeout(PATIENCE).unwrap();
            assert!(at.since(last) >= REST_AFTER, "somebody may come back");
            last = at;
            pictures.try_take();
            assert!(rested.try_recv().is_err() && pictures.try_take().is_none(), "it is off");
        }
        gate.end();
        assert_eq!(thread.join().unwrap(), Ok(()));
    }

    #[test]
    fn an_encoder_that_falls_behind_takes_no_more_memory() {
        let (gate, pictures) = (Arc::new(Gate::new(1)), Slot::new());
        let (capture, give_back) = capture(&gate, &pictures);
        let (mut camera, _rested, room) = camera();
        gate.set_open(0, true);
        let thread = std::thread::spawn(move || capture.follow(&mut camera));
        assert!(!room.recv_timeout(PATIENCE).unwrap(), "there is none yet");
        for _ in 0..3 {
            let Taken::Item(coding) = pictures.take_timeout(PATIENCE) else { panic!("no picture") };
            // One is coded, and another waits for as long as ten come.
            assert!((0..10).all(|_| room.recv_timeout(PATIENCE).unwrap()));
            coding.data.give_back(&give_back);
        }
        pictures.close();
        assert_eq!(thread.join().unwrap(), Ok(()));
    }
}
