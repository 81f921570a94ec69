//! Stalls of the machine itself: on each processor a process that wants to run every millisecond, with the highest
//! priority. When even that is late, a hypervisor or the kernel had the processor.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

/// Interval at which each wants to run.
const PERIOD: Duration = Duration::from_millis(1);
/// Lateness from which it is noted. The kernel's work for a flood of packets, which goes before every process, ends after 2 ms.
const NOTED: Duration = Duration::from_millis(2);

/// The processes of all processors.
pub(crate) struct Watch(Vec<(Child, PathBuf)>);

/// Lateness of the processes, milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stalls {
    /// Each lateness that was noted: when it ended, since the begin of the time that was watched, and how long it was.
    pub(crate) late: Vec<(f64, f64)>,
}

impl Stalls {
    /// Returns for how much of the time between these the machine was late somewhere, milliseconds.
    pub(crate) fn between(&self, from: f64, to: f64) -> f64 {
        let mut spans: Vec<_> = self.late.iter().map(|(at, late)| ((at - late).max(from), at.min(to))).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut end = from;
        let lengths = spans.into_iter().map(|(begin, until)| {
            let length = (until - begin.max(end)).max(0.0);
            end = end.max(until);
            length
        });
        lengths.fold(0.0, |sum, length| sum + length)
    }
}

impl Watch {
    /// Starts to watch; `None` if this user may not have real-time priority. Files go to `folder`.
    pub(crate) fn start(folder: &Path) -> Result<Option<Self>> {
        let may = Command::new("chrt").args(["--fifo", "50", "true"]).stderr(Stdio::null()).status();
        if !may.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        let this = std::env::current_exe().context("this program does not know where it is")?;
        let processors = std::thread::available_parallelism()?.get();
        let watch = |processor: usize| {
            let file = folder.join(format!("stalls-{processor}"));
            let mut command = Command::new("chrt");
            command.args(["--fifo", "50", "taskset", "--cpu-list", &processor.to_string()]);
            command.arg(&this).arg("--watch-stalls").arg("--out").arg(&file);
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            Ok((child, file))
        };
        Ok(Some(Self((0..processors).map(watch).collect::<Result<_>>()?)))
    }

    /// Ends watching; returns the lateness between these times since 1970.
    pub(crate) fn end(mut self, from: Duration, to: Duration) -> Result<Stalls> {
        let mut late = Vec::new();
        for (child, file) in &mut self.0 {
            if let Some(status) = child.try_wait()? {
                bail!("nobody watches the machine: {status}");
            }
            child.kill()?;
            child.wait()?;
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            let noted = lines.filter_map(|(at, late)| Some((at.parse::<f64>().ok()?, late.parse::<f64>().ok()?)));
            let inside = noted.filter(|(at, _)| (from.as_secs_f64()..to.as_secs_f64()).contains(at));
            late.extend(inside.map(|(at, late)| ((at - from.as_secs_f64()) * 1e3, late)));
        }
        Ok(Stalls { late })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs every [`PERIOD`] until it is killed; a line in `file` for each time it came late: seconds since 1970,
/// milliseconds late.
pub(crate) fn watch(file: &Path) -> Result<()> {
    let mut out = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    loop {
        let before = Instant::now();
        std::thread::sleep(PERIOD);
        let late = before.elapsed().saturating_sub(PERIOD);
        if late >= NOTED {
            let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
            writeln!(out, "{at} {}", late.as_secs_f64() * 1e3)?;
        }
    }
}
