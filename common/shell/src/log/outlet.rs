//! A way out for lines that nobody has to wait for: a queue with a bound, and a thread that writes.
//!
//! The reader of a pipe may stop reading, and a disk may stall. A thread that has a picture to show never waits: lines
//! that find no room are left out and counted, the oldest first.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use net::lock::lock;

/// Bytes that wait at most.
const WAITING_MAX: usize = 256 << 10;
/// Longest wait, at the end, for a reader that takes nothing.
const STILL_MAX: Duration = Duration::from_millis(500);
/// Longest wait, at the end, for one that is slow.
const FLUSH_MAX: Duration = Duration::from_secs(2);
/// Pause before a file that takes nothing now (`EAGAIN`) is tried again.
const RETRY: Duration = Duration::from_millis(10);
const _: () = assert!(RETRY.as_millis() < STILL_MAX.as_millis() && STILL_MAX.as_millis() <= FLUSH_MAX.as_millis());

/// The queue of one file. At its end it waits for its reader, but not for long.
#[derive(Debug)]
pub struct Outlet {
    shared: Arc<SharedOutlet>,
}

#[derive(Debug, Default)]
struct SharedOutlet {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// True if the thread is writing a line.
    writing: bool,
    written: u64,
    left_out: u64,
    error: Option<String>,
    ended: bool,
}

impl Outlet {
    /// Starts a queue for `out`, emptied by a thread called `name`. `note` makes the line that stands where lines were
    /// left out, from their number.
    ///
    /// Errors: the system starts no further thread.
    pub fn start(name: &str, out: impl Write + Send + 'static, note: Option<fn(u64) -> String>) -> io::Result<Self> {
        let shared = Arc::new(SharedOutlet::default());
        let emptied = Arc::clone(&shared);
        thread::Builder::new().name(name.to_owned()).spawn(move || emptied.empty(out, note))?;
        Ok(Self { shared })
    }

    /// Queues `line`, which ends with its newline. Never waits for the reader.
    pub fn send(&self, line: Vec<u8>) {
        let mut state = self.shared.lock();
        if line.len() > WAITING_MAX {
            state.left_out += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        while state.bytes > WAITING_MAX {
            let oldest = state.lines.pop_front().unwrap_or_default();
            state.bytes -= oldest.len();
            state.left_out += 1;
        }
        self.shared.changed.notify_all();
    }

    /// Returns the number of lines left out so far.
    pub fn left_out(&self) -> u64 {
        self.shared.lock().left_out
    }

    /// Returns the last error of the file, if it has had one.
    pub fn error(&self) -> Option<String> {
        self.shared.lock().error.clone()
    }

    /// Waits until everything is written; false if the reader takes too long.
    pub fn flush(&self) -> bool {
        let end = Instant::now() + FLUSH_MAX;
        let mut state = self.shared.lock();
        let (mut written, mut patience) = (state.written, Instant::now() + STILL_MAX);
        while state.writing || !state.lines.is_empty() {
            if std::mem::replace(&mut written, state.written) != state.written {
                patience = Instant::now() + STILL_MAX;
            }
            let left = patience.min(end).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.flush();
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

impl SharedOutlet {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.state)
    }

    fn empty(&self, mut out: impl Write, note: Option<fn(u64) -> String>) {
        let mut told = 0;
        let mut state = self.lock();
        while !state.ended {
            let Some(line) = state.lines.pop_front() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.bytes -= line.len();
            state.writing = true;
            let left_out = state.left_out - std::mem::replace(&mut told, state.left_out);
            drop(state);
            let note = note.filter(|_| left_out > 0).map_or(Ok(()), |note| write(&mut out, note(left_out).as_bytes()));
            let result = note.and_then(|()| write(&mut out, &line));
            state = self.lock();
            state.writing = false;
            state.written += 1;
            if let Err(error) = result {
                state.error = Some(error.to_string());
            }
            self.changed.notify_all();
        }
    }
}

/// Writes all of `bytes`, also to a file that somebody has set to give up instead of waiting.
fn write(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates the file at `path`, emptying an old one. A pipe with a name is opened whether or not somebody reads it.
pub fn create(path: &Path) -> io::Result<File> {
    pipe(path).unwrap_or_else(|| File::create(path))
}

/// As [`create`], but what an old file holds stays in it.
pub fn create_or_keep(path: &Path) -> io::Result<File> {
    pipe(path).unwrap_or_else(|| OpenOptions::new().write(true).create(true).truncate(false).open(path))
}

/// Opens the file at `path` to go on where it ends, and creates it where there is none. A last line that a killed program has
/// left unended is ended. A pipe with a name is opened whether or not somebody reads it.
pub fn append(path: &Path) -> io::Result<File> {
    if let Some(pipe) = pipe(path) {
        return pipe;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let metadata = file.metadata()?;
    // A device or terminal has no such line.
    if metadata.is_file() && metadata.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

/// Returns the pipe with this name, if it is one.
fn pipe(path: &Path) -> Option<io::Result<File>> {
    let is_pipe = std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
    // Opened for writing alone, it would wait for a reader.
    is_pipe.then(|| OpenOptions::new().read(true).write(true).open(path))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, PipeReader};

    use super::*;

    fn note(count: u64) -> String {
        format!("{count} left out\n")
    }

    fn line(number: usize) -> Vec<u8> {
        format!("{number:01023}\n").into_bytes()
    }

    fn lines(reader: PipeReader) -> Vec<String> {
        BufReader::new(reader).lines().map(Result::unwrap).collect()
    }

    #[test]
    fn everything_comes_to_a_reader_that_reads() {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::start("outlet", writer, Some(note)).unwrap();
        let read = thread::spawn(|| lines(reader));
        for number in 0..100 {
            outlet.send(line(number));
        }
        assert!(outlet.flush());
        assert_eq!((outlet.left_out(), outlet.error()), (0, None));
        drop(outlet);
        let numbers: Vec<usize> = read.join().unwrap().iter().map(|line| line.parse().unwrap()).collect();
        assert!(numbers.into_iter().eq(0..100));
    }

    #[test]
    fn a_reader_that_stands_still_holds_nobody_up_and_the_newest_lines_are_kept() {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::start("outlet", writer, Some(note)).unwrap();
        // Far more than the pipe and the queue hold.
        for number in 0..2_000 {
            outlet.send(line(number));
        }
        assert!(!outlet.flush(), "nobody has read it");
        let left_out = outlet.left_out();
        assert!(left_out > 1_000, "{left_out}");
        let read = thread::spawn(|| lines(reader));
        assert!(outlet.flush());
        drop(outlet);
        let read = read.join().unwrap();
        assert_eq!(read.last().unwrap().parse(), Ok(1_999_usize));
        // Told where they are missing.
        let notes: Vec<u64> = read.iter().filter_map(|line| line.strip_suffix(" left out")?.parse().ok()).collect();
        assert_eq!(notes.iter().sum::<u64>(), left_out);
        assert_eq!((read.len() - notes.len()) as u64, 2_000 - left_out);
    }

    #[test]
    fn what_a_file_has_is_kept_and_each_line_is_one_of_its_own() {
        let path = std::env::temp_dir().join(format!("duet-append-{}", std::process::id()));
        for (line, wanted) in [("1", "1"), ("2\n", "1\n2\n"), ("3\n", "1\n2\n3\n")] {
            append(&path).unwrap().write_all(line.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wanted);
        }
        create(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
        std::fs::remove_file(&path).unwrap();
        append(Path::new("/dev/null")).unwrap();
        append(Path::new("/dev/full")).unwrap();
    }

    #[test]
    fn a_full_disk_is_an_error_and_no_standstill() {
        let outlet = Outlet::start("outlet", create(Path::new("/dev/full")).unwrap(), None).unwrap();
        outlet.send(line(0));
        assert!(outlet.flush());
        assert!(outlet.error().unwrap().contains("space"), "{:?}", outlet.error());
    }
}
