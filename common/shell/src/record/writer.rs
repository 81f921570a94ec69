//! The thread's part: datagrams and frames to files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::stream::video::reassemble::{AssembledFrame, Reassembler};
use common::units::Timestamp;
use net::clock;
use picture::container::ContainerWriter;
use picture::params::StreamParams;

use super::kept::{KeptFrame, Recorded};
use super::name;
use super::numbers::{Numbers, OUTAGE_MAX, Unnumbered};

/// Frames that are put together side by side: this long a block may be late.
const WINDOW_FRAMES: usize = 32;

/// Files of one recording.
pub(super) struct Writer {
    path: PathBuf,
    what: &'static str,
    open: Option<OpenRecording>,
    /// The stream whose datagrams come.
    stream: Option<(Arc<Recorded>, Reassembler)>,
    /// The number of the next frame among those given.
    next: u64,
}

/// A file being written. Frames go into it one by one, so that of a program that is killed all but the last is there.
struct OpenRecording {
    path: PathBuf,
    params: StreamParams,
    file: ContainerWriter<File>,
    numbers: Numbers,
    frames: u64,
    left_out: u64,
}

impl Writer {
    pub(super) fn new(path: &Path, what: &'static str) -> Self {
        Self { path: path.to_owned(), what, open: None, stream: None, next: 0 }
    }

    /// Takes a datagram. Blocks that came too late for the screen are in time here.
    pub(super) fn datagram(&mut self, stream: &Arc<Recorded>, bytes: &[u8], at: Timestamp) -> Result<(), String> {
        if self.stream.as_ref().is_none_or(|known| known.0.serial != stream.serial) {
            self.flush()?;
            let reassembler = Reassembler::that_waits(&stream.params, stream.start, WINDOW_FRAMES, at);
            self.stream = Some((Arc::clone(stream), reassembler));
        }
        let Some((_, reassembler)) = &mut self.stream else { return Ok(()) };
        // What is no part of the stream has been counted by the stream.
        let _ = reassembler.on_datagram(bytes, at);
        while let Some(frame) = self.stream.as_mut().and_then(|stream| stream.1.poll_frame()) {
            self.assembled(stream, frame)?;
        }
        Ok(())
    }

    /// Takes a frame, the `number`th of those given.
    pub(super) fn frame(
        &mut self,
        stream: &Arc<Recorded>,
        kept: KeptFrame,
        at: Timestamp,
        number: u64,
    ) -> Result<(), String> {
        if std::mem::replace(&mut self.next, number + 1) != number
            && let Some(open) = &mut self.open
        {
            open.numbers.on_left_out();
        }
        self.write(stream, &kept, at)
    }

    /// Ends the files.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.flush()?;
        self.end()
    }

    /// Writes what is held of the stream.
    fn flush(&mut self) -> Result<(), String> {
        let Some((stream, mut reassembler)) = self.stream.take() else { return Ok(()) };
        while let Some(frame) = reassembler.release_oldest() {
            self.assembled(&stream, frame)?;
        }
        Ok(())
    }

    fn assembled(&mut self, stream: &Arc<Recorded>, frame: AssembledFrame) -> Result<(), String> {
        if frame.is_empty() {
            return Ok(());
        }
        let AssembledFrame { id, reference, frame, capture, first_received, .. } = frame;
        self.write(stream, &KeptFrame { id, reference, frame, capture }, first_received)
    }

    fn write(&mut self, stream: &Recorded, kept: &KeptFrame, at: Timestamp) -> Result<(), String> {
        let goes_on = |open: &OpenRecording| open.params == stream.params && open.numbers.pause(at) <= OUTAGE_MAX;
        if !self.open.as_ref().is_some_and(goes_on) {
            self.end()?;
            self.open = Some(self.begin(&stream.params)?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let place =
            Unnumbered { stream: stream.serial, id: kept.id, reference: kept.reference, capture: kept.capture, at };
        let Some((number, reference)) = open.numbers.next(place) else {
            open.left_out += 1;
            if open.left_out == 1 {
                let path = open.path.display();
                tracing::warn!("{path}: frames are left out until one comes that refers to none which is missing");
            }
            return Ok(());
        };
        open.file.received(number, reference, &kept.frame).map_err(|error| failed(&open.path, &error))?;
        open.frames += 1;
        Ok(())
    }

    fn begin(&self, params: &StreamParams) -> Result<OpenRecording, String> {
        let made = name::create(&self.path, self.what, clock::unix_ms());
        let (file, path) = made.map_err(|error| failed(&self.path, &error))?;
        let file = ContainerWriter::new(params, file).map_err(|error| failed(&path, &error))?;
        tracing::info!("recording what is {} to {}", self.what, path.display());
        let numbers = Numbers::new(params.frame_rate, params.codec.profile.states());
        Ok(OpenRecording { path, params: *params, file, numbers, frames: 0, left_out: 0 })
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let (path, pictures) = (open.path, open.file.pictures());
        open.file.finish(0).map_err(|error| failed(&path, &error))?;
        tracing::info!(
            "{} has {} frames, {} left out, for {pictures} pictures",
            path.display(),
            open.frames,
            open.left_out
        );
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}
