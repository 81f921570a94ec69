//! Recording of a stream as it is coded, to `.duet` files, and of the sound to WAV files beside them, on a thread of its own.
//!
//! The live path gives copies to a queue with a bound and never waits. What finds no room is left out of the file, and a
//! file that cannot be written ends the recording, not the call.

mod kept;
mod name;
mod numbers;
mod slope;
mod sounds;
mod switch;
mod take;
mod wav;
mod whole;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::stream::sound::{RecordedSound, SoundFate};
use common::units::Timestamp;

pub use self::kept::{KeptFrame, Recorded};
pub use self::name::is_folder;
pub use self::numbers::{AHEAD_MAX_S, OUTAGE_MAX};
pub use self::switch::Switch;
use self::writer::Writer;
use net::failure::Failure;
use net::limited;
use net::lock::lock;

/// Bytes that wait for the file at most.
const WAITING_MAX: usize = 16 << 20;
/// Counted for each thing that waits, besides its bytes.
const OVERHEAD: usize = 128;
/// Longest time, at the end, in which the file takes nothing.
const STILL_MAX: Duration = Duration::from_secs(2);
/// Time between two checks of the thread.
const LOOK: Duration = Duration::from_millis(5);

/// A recording; the files are complete when it is dropped, unless they take nothing any more.
#[derive(Debug)]
pub struct Recording {
    /// None once it has been let go.
    tap: Option<Tap>,
    shared: Arc<SharedTap>,
    thread: Option<JoinHandle<()>>,
}

/// The way into a recording; clones share it.
#[derive(Clone, Debug)]
pub struct Tap {
    queue: Sender<Piece>,
    shared: Arc<SharedTap>,
}

#[derive(Debug, Default)]
struct SharedTap {
    /// Bytes that wait.
    waiting: AtomicUsize,
    left_out: AtomicU64,
    /// Counts the frames that were given, taken or not.
    frames: AtomicU64,
    /// Counts the packets of sound that were given, taken or not.
    sounds: AtomicU64,
    /// Things that the thread has done with.
    done: AtomicU64,
    /// Why it has ended by itself.
    trouble: Mutex<Option<String>>,
}

#[derive(Debug)]
enum Piece {
    /// A datagram with media, and when it came.
    Datagram(Arc<Recorded>, Box<[u8]>, Timestamp),
    /// A frame, when it was there, and which of those given it is.
    Frame(Arc<Recorded>, Box<KeptFrame>, Timestamp, u64),
    /// The sound of a packet, when it was there, and which of those given it is.
    Sound(Box<RecordedSound>, Timestamp, u64),
    End,
}

impl Recording {
    /// Starts a recording at `path`, a file or a folder; `what` is `received` or `sent`, for names of files in a folder.
    /// Files are made when frames come.
    ///
    /// Errors: the system starts no further thread.
    pub fn start(path: &Path, what: &'static str) -> Result<Self, Failure> {
        let shared = Arc::<SharedTap>::default();
        let (queue, pieces) = channel();
        let (path, counts) = (path.to_owned(), Arc::clone(&shared));
        let body = move || {
            let mut writer = Writer::new(&path, what);
            while let Ok(piece) = pieces.recv() {
                let (result, bytes) = match piece {
                    Piece::Datagram(stream, bytes, at) => (writer.datagram(&stream, &bytes, at), bytes.len()),
                    Piece::Frame(stream, kept, at, number) => {
                        let bytes = kept.frame.memory_bytes();
                        (writer.frame(&stream, *kept, at, number), bytes)
                    }
                    Piece::Sound(sound, at, number) => {
                        let bytes = sound_bytes(&sound);
                        (writer.sound(*sound, at, number), bytes)
                    }
                    Piece::End => break,
                };
                counts.waiting.fetch_sub(bytes + OVERHEAD, Ordering::Relaxed);
                counts.done.fetch_add(1, Ordering::Relaxed);
                if let Err(error) = result {
                    tracing::warn!("the recording ends, the call goes on: {error}");
                    *lock(&counts.trouble) = Some(error.to_string());
                    writer.give_up();
                    return;
                }
            }
            match writer.finish() {
                Ok(()) => {}
                Err(error) => tracing::warn!("the recording lacks its end: {error}"),
            }
            let left_out = counts.left_out.load(Ordering::Relaxed);
            if left_out > 0 {
                tracing::warn!(
                    "the recording lacks {left_out} datagrams, frames or packets of sound for which there was no room"
                );
            }
        };
        let thread = thread::Builder::new().name("record".to_owned()).spawn(body);
        let thread = thread.map_err(|error| Failure::device(format!("cannot start the record thread: {error}")))?;
        let tap = Some(Tap { queue, shared: Arc::clone(&shared) });
        Ok(Self { tap, shared, thread: Some(thread) })
    }

    /// Returns a way into it; none once it has been let go.
    pub fn tap(&self) -> Option<Tap> {
        self.tap.clone()
    }

    /// Lets it end as soon as nobody has a way into it any more.
    fn let_go(&mut self) {
        self.tap = None;
    }

    /// Returns why it has ended by itself, if it has.
    fn trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// Returns true once its files are as they will be.
    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

fn sound_bytes(sound: &RecordedSound) -> usize {
    if let SoundFate::Sound(bytes) = &sound.fate { bytes.len() } else { 0 }
}

/// Waits for the end of a thread that writes a file, as long as `done`, which it counts up, grows; true if it has ended.
pub fn ends<T>(thread: &JoinHandle<T>, done: &AtomicU64) -> bool {
    let (mut before, mut since) = (done.load(Ordering::Relaxed), Instant::now());
    while !thread.is_finished() {
        let now = done.load(Ordering::Relaxed);
        if std::mem::replace(&mut before, now) != now {
            since = Instant::now();
        } else if since.elapsed() > STILL_MAX {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.tap.take().map(|tap| tap.queue.send(Piece::End));
        if self.thread.as_ref().is_some_and(|thread| !ends(thread, &self.shared.done)) {
            tracing::warn!("the recording takes nothing any more; what waited is left out");
            return;
        }
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the recording's thread broke down");
        }
    }
}

impl Tap {
    /// Returns true if both lead into one recording.
    pub fn is_of_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Gives a copy of a datagram that came at `at`. Never waits.
    pub fn datagram(&self, stream: &Arc<Recorded>, bytes: &[u8], at: Timestamp) {
        if self.has_room(bytes.len()) {
            self.put(Piece::Datagram(Arc::clone(stream), bytes.into(), at), bytes.len());
        }
    }

    /// Gives a frame that was there at `at`. Never waits.
    pub fn frame(&self, stream: &Arc<Recorded>, kept: KeptFrame, at: Timestamp) {
        let (bytes, number) = (kept.frame.memory_bytes(), self.shared.frames.fetch_add(1, Ordering::Relaxed));
        if self.has_room(bytes) {
            self.put(Piece::Frame(Arc::clone(stream), Box::new(kept), at, number), bytes);
        }
    }

    /// Gives the sound of a packet that was there, or was given up, at `at`; each follows the one before. Never waits.
    pub fn sound(&self, sound: RecordedSound, at: Timestamp) {
        let (bytes, number) = (sound_bytes(&sound), self.shared.sounds.fetch_add(1, Ordering::Relaxed));
        if self.has_room(bytes) {
            self.put(Piece::Sound(Box::new(sound), at, number), bytes);
        }
    }

    fn has_room(&self, bytes: usize) -> bool {
        if self.shared.waiting.load(Ordering::Relaxed) + bytes + OVERHEAD <= WAITING_MAX {
            return true;
        }
        if self.shared.left_out.fetch_add(1, Ordering::Relaxed) == 0 {
            limited!(warn, "the recording's disk is too slow: what it does not take in time is left out");
        }
        false
    }

    fn put(&self, piece: Piece, bytes: usize) {
        self.shared.waiting.fetch_add(bytes + OVERHEAD, Ordering::Relaxed);
        // Once the recording has ended, nobody takes it.
        if self.queue.send(piece).is_err() {
            self.shared.waiting.fetch_sub(bytes + OVERHEAD, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod sound_tests;
