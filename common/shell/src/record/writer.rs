//! The thread's part: datagrams and frames to files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::stream::sound::RecordedSound;
use common::stream::video::reassemble::{AssembledFrame, Reassembler};
use common::units::Timestamp;
use net::clock;
use picture::container::ContainerWriter;
use picture::params::StreamParams;

use super::kept::{KeptFrame, Recorded};
use super::name;
use super::numbers::{Numbers, OUTAGE_MAX, Unnumbered};
use super::sounds::Sounds;
use super::whole::Whole;

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
    /// The number of the next packet of sound among those given.
    next_sound: u64,
    /// None: it cannot be written.
    sounds: Option<Sounds>,
}

/// A file being written. Frames go into it one by one, so that of a program that is killed all but the last is there.
struct OpenRecording {
    path: PathBuf,
    params: StreamParams,
    file: ContainerWriter<Whole>,
    numbers: Numbers,
    frames: u64,
    left_out: u64,
}

impl Writer {
    pub(super) fn new(path: &Path, what: &'static str) -> Self {
        let sounds = Some(Sounds::new(path, what));
        Self { path: path.to_owned(), what, open: None, stream: None, next: 0, next_sound: 0, sounds }
    }

    /// Takes the sound of a packet, the `number`th of those given, which was here at `at`.
    pub(super) fn sound(&mut self, sound: RecordedSound, at: Timestamp, number: u64) -> io::Result<()> {
        let is_next = std::mem::replace(&mut self.next_sound, number + 1) == number;
        self.sounds(|sounds| {
            if !is_next {
                sounds.on_left_out();
            }
            sounds.sound(sound, at)
        })
    }

    /// Does something about the sound. A file of it that cannot be written costs the sound, not the pictures, unless the disk is full.
    fn sounds(&mut self, act: impl FnOnce(&mut Sounds) -> io::Result<()>) -> io::Result<()> {
        let Some(Err(error)) = self.sounds.as_mut().map(act) else { return Ok(()) };
        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            return Err(error);
        }
        tracing::warn!("the recording goes on without sound: {error}");
        // It is whole as far as it goes.
        let _ = self.sounds.take().map(|mut sounds| sounds.finish());
        Ok(())
    }

    /// Takes a datagram. Blocks that came too late for the screen are in time here.
    pub(super) fn datagram(&mut self, stream: &Arc<Recorded>, bytes: &[u8], at: Timestamp) -> io::Result<()> {
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
    ) -> io::Result<()> {
        if std::mem::replace(&mut self.next, number + 1) != number
            && let Some(open) = &mut self.open
        {
            open.numbers.on_left_out();
        }
        self.write(stream, &kept, at)
    }

    /// Ends the files.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let ended = self.flush().and_then(|()| self.end());
        let sounds = self.sounds(Sounds::finish);
        ended.and(sounds)
    }

    /// Ends the files as they are, after an error that has been said.
    pub(super) fn give_up(mut self) {
        // What is not taken any more does not matter now.
        let _ = self.end();
        let _ = self.sounds.as_mut().map(Sounds::finish);
    }

    /// Writes what is held of the stream.
    fn flush(&mut self) -> io::Result<()> {
        let Some((stream, mut reassembler)) = self.stream.take() else { return Ok(()) };
        while let Some(frame) = reassembler.release_oldest() {
            self.assembled(&stream, frame)?;
        }
        Ok(())
    }

    fn assembled(&mut self, stream: &Arc<Recorded>, frame: AssembledFrame) -> io::Result<()> {
        if frame.is_empty() {
            return Ok(());
        }
        let AssembledFrame { id, reference, frame, capture, first_received, .. } = frame;
        self.write(stream, &KeptFrame { id, reference, frame, capture }, first_received)
    }

    fn write(&mut self, stream: &Recorded, kept: &KeptFrame, at: Timestamp) -> io::Result<()> {
        let goes_on = |open: &OpenRecording| open.params == stream.params && open.numbers.pause(at) <= OUTAGE_MAX;
        if !self.open.as_ref().is_some_and(goes_on) {
            // The sound would begin with it, and the pictures later.
            if kept.reference > 0 {
                return Ok(());
            }
            self.end()?;
            let open = self.begin(&stream.params)?;
            let path = open.path.clone();
            self.open = Some(open);
            self.sounds(|sounds| sounds.begin(&path, kept.capture, at))?;
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
        open.file.received(number, reference, &kept.frame).map_err(|error| name::failed(&open.path, &error))?;
        open.frames += 1;
        let file_s = f64::from(number) / open.params.frame_rate.as_f64();
        self.sounds.iter_mut().for_each(|sounds| sounds.on_picture(file_s, kept.capture, at));
        Ok(())
    }

    /// Returns the pictures of the file that is open.
    #[cfg(test)]
    pub(super) fn pictures(&self) -> u32 {
        self.open.as_ref().map_or(0, |open| open.file.pictures())
    }

    /// Returns true once the sound could not be written.
    #[cfg(test)]
    pub(super) fn has_no_sound(&self) -> bool {
        self.sounds.is_none()
    }

    fn begin(&self, params: &StreamParams) -> io::Result<OpenRecording> {
        let made = name::create(&self.path, self.what, name::DUET, clock::unix_ms());
        let (file, path) = made.map_err(|error| name::failed(&self.path, &error))?;
        let file = ContainerWriter::new(params, file).map_err(|error| name::failed(&path, &error))?;
        tracing::info!("recording what is {} to {}", self.what, path.display());
        let numbers = Numbers::new(params.frame_rate, params.codec.profile.states());
        Ok(OpenRecording { path, params: *params, file, numbers, frames: 0, left_out: 0 })
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let (path, pictures) = (open.path, open.file.pictures());
        open.file.finish(0).map_err(|error| name::failed(&path, &error))?;
        tracing::info!(
            "{} has {} frames, {} left out, for {pictures} pictures",
            path.display(),
            open.frames,
            open.left_out
        );
        Ok(())
    }
}
