//! A camera that can stall: a pipe with pictures in it.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use picture::frame::{FrameRate, FrameSize};
use sending::source::pattern::Pattern;

use crate::testbed::pipe;

/// Flag of a file that is not waited for (Linux, `O_NONBLOCK`).
const NONBLOCK: i32 = 0o4000;

/// Films the test pattern until its value goes.
#[derive(Debug)]
pub(crate) struct Camera {
    pipe: PathBuf,
    stalls: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Camera {
    /// Starts it at a new pipe.
    pub(crate) fn start(path: PathBuf, size: FrameSize, frame_rate: FrameRate) -> Result<Self> {
        pipe(&path)?;
        let (stalls, ends) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (to, stalled, ended) = (path.clone(), Arc::clone(&stalls), Arc::clone(&ends));
        let thread = thread::spawn(move || {
            // It ends with the program that takes its pictures.
            let _ = film(&to, size, frame_rate, &stalled, &ended);
        });
        Ok(Self { pipe: path, stalls, ends, thread: Some(thread) })
    }

    /// Returns the sender's source.
    pub(crate) fn source(&self) -> String {
        format!("y4m:{}:live", self.pipe.display())
    }

    /// Lets it stall, or go on.
    pub(crate) fn stall(&self, stalls: bool) {
        self.stalls.store(stalls, Ordering::Relaxed);
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            // It may wait for a reader, or for one that has ended.
            let _ = File::options().read(true).custom_flags(NONBLOCK).open(&self.pipe);
            thread::sleep(Duration::from_millis(5));
        }
        let _ = thread.join();
    }
}

/// Gives pictures to who has opened the pipe, until that is closed.
fn film(path: &Path, size: FrameSize, rate: FrameRate, stalls: &AtomicBool, ends: &AtomicBool) -> std::io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let (pattern, mut data, mut next) = (Pattern::new(size, rate), Vec::new(), Instant::now());
    let (width, height) = (size.width(), size.height());
    writeln!(file, "YUV4MPEG2 W{width} H{height} F{}:{} Ip A1:1 C420jpeg", rate.numerator(), rate.denominator())?;
    for number in 0.. {
        next = (next + rate.interval()).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
        while stalls.load(Ordering::Relaxed) && !ends.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        if ends.load(Ordering::Relaxed) {
            break;
        }
        pattern.draw(number, number, &mut data);
        file.write_all(b"FRAME\n")?;
        file.write_all(&data)?;
    }
    Ok(())
}
