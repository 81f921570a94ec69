//! A file that is written on a thread of its own: a disk that is slow or full, or a pipe that nobody reads, holds
//! nothing else up.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use common::units::{FrameId, Timestamp};
use kernels::Picture;
use net::clock;
use net::lock::lock;
use picture::params::StreamParams;
use shell::record::ends;
use shell::slot::{Put, Slot, Taken};

use super::y4m::{Shot, Y4mFile};
use super::{Sink, SinkError, copied};

/// Pictures that wait to be written.
const DEPTH: usize = 8;
/// Longest wait for the file where no window waits as well.
const WAIT: Duration = Duration::from_secs(1);

/// A file being written.
pub struct Recorder {
    path: PathBuf,
    shots: Slot<Shot>,
    /// The stream's last frame, if it has told, and when the recording ended.
    end: Arc<Mutex<(Option<FrameId>, Timestamp)>>,
    /// Memory of pictures that are written.
    used: Receiver<Picture>,
    written: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<(), SinkError>>>,
    /// True if nothing but files is asked for, so that waiting for them harms nobody.
    waits: bool,
    params: Option<StreamParams>,
    streams: u64,
    /// True if the last picture found no room.
    stalled: bool,
    left_out: u64,
}

impl Recorder {
    /// Creates the Y4M file `path`, replacing what was there. `waits`: whether pictures may wait for it a while; else
    /// one that finds no room is left out at once.
    pub fn create(path: &Path, waits: bool) -> Result<Self, SinkError> {
        let file = Y4mFile::create(path)?;
        let shots = Slot::with_depth(DEPTH);
        let (give_back, used) = channel();
        let (end, written) = (Arc::default(), file.written());
        let body = {
            let (shots, end) = (shots.clone(), Arc::clone(&end));
            move || write(file, &shots, &end, &give_back)
        };
        let thread = thread::Builder::new().name("recorder".to_owned()).spawn(body);
        let thread = thread.map_err(|e| SinkError::File { path: path.to_owned(), reason: e.to_string() })?;
        Ok(Self {
            path: path.to_owned(),
            shots,
            end,
            used,
            written,
            thread: Some(thread),
            waits,
            params: None,
            streams: 0,
            stalled: false,
            left_out: 0,
        })
    }

    /// Returns the outcome of the thread.
    fn outcome(&mut self) -> Result<(), SinkError> {
        let broken = |_| Err(SinkError::File { path: self.path.clone(), reason: "its thread broke down".to_owned() });
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(broken))
    }
}

fn write(
    mut file: Y4mFile,
    shots: &Slot<Shot>,
    end: &Mutex<(Option<FrameId>, Timestamp)>,
    give_back: &Sender<Picture>,
) -> Result<(), SinkError> {
    let _closing = shots.closing();
    loop {
        match shots.take_timeout(WAIT) {
            Taken::Item(shot) => {
                if let Some(picture) = file.write(shot)? {
                    // The recorder may have gone.
                    let _ = give_back.send(picture);
                }
            }
            Taken::Timeout => {}
            Taken::Closed => {
                let (last, now) = *lock(end);
                return file.finish(last, now);
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shots.close();
    }
}

impl Sink for Recorder {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        self.params = Some(*params);
        self.streams += 1;
        Ok(())
    }

    fn show(&mut self, id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        let Some(params) = self.params else { return Ok(()) };
        let picture = copied(picture, &self.used);
        let shot = Shot { stream: self.streams, params, id, picture, at: clock::now() };
        // A file that stands still is not waited for again and again.
        let wait = if self.waits && !self.stalled { WAIT } else { Duration::ZERO };
        match self.shots.put_timeout(shot, wait) {
            Put::Done => self.stalled = false,
            Put::Timeout(_) => {
                self.left_out += 1;
                if !std::mem::replace(&mut self.stalled, true) {
                    tracing::warn!("{} takes no more pictures: they are left out until it does", self.path.display());
                }
            }
            Put::Closed(_) => return self.outcome(),
        }
        Ok(())
    }

    fn finish(&mut self, last: Option<FrameId>) -> Result<(), SinkError> {
        *lock(&self.end) = (last, clock::now());
        self.shots.close();
        if self.thread.as_ref().is_some_and(|thread| !ends(thread, &self.written)) {
            let reason = "it takes no more pictures; those that waited are left out".to_owned();
            return Err(SinkError::File { path: self.path.clone(), reason });
        }
        if self.left_out > 0 {
            tracing::warn!("{}: {} pictures were left out", self.path.display(), self.left_out);
        }
        self.outcome()
    }
}
