//! The sound beside a recording's pictures: a WAV file for each file of pictures, whose first sample was captured when its first picture
//! was.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::stream::sound::RecordedSound;
use common::units::Timestamp;

use super::take::{Take, Zero};

/// Time for which sound waits: pictures may come later, and begin a file.
const HELD: Duration = Duration::from_secs(3);
/// Time after which sound without any picture begins a file of its own.
const ALONE: Duration = Duration::from_secs(10);

/// Writes the sound.
pub(super) struct Sounds {
    path: PathBuf,
    what: &'static str,
    /// False beside a pipe or a device.
    is_on: bool,
    held: VecDeque<(RecordedSound, Timestamp)>,
    take: Option<Take>,
}

impl Sounds {
    /// Creates it for a recording at `path`.
    pub(super) fn new(path: &Path, what: &'static str) -> Self {
        let is_on = std::fs::metadata(path).map_or(true, |there| there.is_file() || there.is_dir());
        Self { path: path.to_owned(), what, is_on, held: VecDeque::new(), take: None }
    }

    /// Takes the sound of a packet, which came, or was given up, at `at`.
    pub(super) fn sound(&mut self, sound: RecordedSound, at: Timestamp) -> io::Result<()> {
        if !self.is_on {
            return Ok(());
        }
        self.held.push_back((sound, at));
        let wait = if self.take.is_some() { HELD } else { ALONE };
        while self.held.front().is_some_and(|(_, came)| at.since(*came) > wait) {
            self.write_first()?;
        }
        Ok(())
    }

    /// Takes notice that sound was left out, since the disk is too slow.
    pub(super) fn on_left_out(&mut self) {
        self.take.iter_mut().for_each(Take::on_left_out);
    }

    /// Takes notice that the file `pictures` has begun, with a picture captured at `capture`, which was here at `at`.
    pub(super) fn begin(&mut self, pictures: &Path, capture: Timestamp, at: Timestamp) -> io::Result<()> {
        let zero = Zero::new(capture, at);
        while let (Some(take), Some((sound, at))) = (&mut self.take, self.held.front())
            && take.has(sound.capture, *at, zero)
        {
            take.write(sound, *at)?;
            // The new file has the rest of it.
            if zero.is_within(sound) {
                break;
            }
            self.held.pop_front();
        }
        self.end()?;
        self.take = Some(Take::new(Some(pictures), &self.path, self.what, zero, at));
        Ok(())
    }

    /// Takes notice of a picture at `file_s` seconds of the file.
    pub(super) fn on_picture(&mut self, file_s: f64, capture: Timestamp, at: Timestamp) {
        self.take.iter_mut().for_each(|take| take.on_picture(file_s, capture, at));
    }

    /// Writes what waits and ends the files.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let written = std::iter::from_fn(|| (!self.held.is_empty()).then(|| self.write_first())).find(Result::is_err);
        let ended = self.end();
        written.unwrap_or(ended)
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some((sound, at)) = self.held.pop_front() else { return Ok(()) };
        let alone = || Take::new(None, &self.path, self.what, Zero::new(sound.capture, at), at);
        self.take.get_or_insert_with(alone).write(&sound, at)
    }

    fn end(&mut self) -> io::Result<()> {
        self.take.take().map_or(Ok(()), Take::finish)
    }
}
