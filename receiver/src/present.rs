//! The main thread's part: pictures to sinks.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::stats::ReceiverReport;
use common::units::{FrameId, Timestamp};
use shell::clock;
use shell::exit::Failure;
use shell::sd::Watchdog;
use shell::slot::{Slot, Taken};
use shell::stats::Statistics;

use crate::decode::{Decoded, STALE, Shown, Stream};
use crate::picture_log::PictureLog;
use crate::report::{LinkSnapshot, Presentation};
use crate::sink::{Sink, SinkError, Wish};

/// Longest wait for a picture before the sinks' keys are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// What the network thread shows the main thread.
#[derive(Debug, Default)]
pub struct LinkView {
    /// Counters and clock.
    pub snapshot: LinkSnapshot,
    /// The stream's last frame, once the sender has said that it ends.
    pub last_frame: Option<FrameId>,
}

/// Why the main thread asks the network thread to end the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All frames that were asked for are shown: the sender ends too.
    Finish,
    /// The window was closed: the sender waits for the next viewer.
    Stop,
}

/// What the presenter is connected to.
pub struct Presenter<'a, E> {
    /// From the decode thread.
    pub pictures: &'a Slot<Decoded>,
    /// Back to the decode thread.
    pub shown: &'a Shown,
    /// Written by the network thread.
    pub link: &'a Mutex<LinkView>,
    /// Asks the network thread to end.
    pub end: E,
    /// Pictures after which to end.
    pub frames: Option<u64>,
}

/// Shows pictures until the picture slot is closed. The statistics file gets a line a second and a last one, which
/// is returned too.
pub fn run<E: FnMut(End)>(
    mut presenter: Presenter<'_, E>,
    sinks: &mut [Box<dyn Sink>],
    stats: &mut Statistics,
    log: &mut PictureLog,
    watchdog: &mut Watchdog,
) -> Result<ReceiverReport, Failure> {
    let mut presentation = Presentation::default();
    // A file waits for no eye.
    let records = sinks.iter().all(|sink| sink.records());
    let mut stream = None;
    let mut next_report = clock::now() + REPORT_INTERVAL;
    let mut ending = false;
    loop {
        let taken = presenter.pictures.take_timeout(POLL_INTERVAL);
        let closed = matches!(taken, Taken::Closed);
        if let Taken::Item(decoded) = taken
            && !ending
            && (records || clock::now().since(decoded.passed.released) <= STALE)
        {
            show(decoded, &mut stream, &mut presentation, sinks, log, presenter.shown)?;
            watchdog.alive(clock::now());
            if presenter.frames.is_some_and(|frames| presentation.shown() >= frames) {
                (presenter.end)(End::Finish);
                ending = true;
            }
        }
        if closed {
            break;
        }
        for sink in sinks.iter_mut() {
            if sink.poll().map_err(device)? == Wish::Close && !ending {
                (presenter.end)(End::Stop);
                ending = true;
            }
        }
        let now = clock::now();
        if now >= next_report {
            next_report = next_report + REPORT_INTERVAL;
            let snapshot = view(presenter.link).snapshot;
            if !snapshot.streaming {
                // Waiting for a sender is what this daemon is for.
                watchdog.alive(now);
            }
            stats.write(&presentation.report(&snapshot, stream.as_deref(), now, false));
            let line = presentation.status_line(&snapshot, now);
            sinks.iter_mut().for_each(|sink| sink.status(&line));
        }
    }
    let LinkView { snapshot, last_frame } = view(presenter.link);
    for sink in sinks.iter_mut() {
        sink.finish(last_frame.filter(|_| !ending)).map_err(device)?;
    }
    let report = presentation.report(&snapshot, stream.as_deref(), clock::now(), true);
    stats.write(&report);
    Ok(report)
}

fn show(
    decoded: Decoded,
    stream: &mut Option<std::sync::Arc<Stream>>,
    presentation: &mut Presentation,
    sinks: &mut [Box<dyn Sink>],
    log: &mut PictureLog,
    shown: &Shown,
) -> Result<(), Failure> {
    if stream.as_ref().is_none_or(|known| known.serial != decoded.stream.serial) {
        for sink in sinks.iter_mut() {
            sink.start(&decoded.stream.params).map_err(device)?;
        }
        presentation.on_start();
    }
    // The same stream may have got another back end.
    *stream = Some(decoded.stream);
    let mut presented: Option<Timestamp> = None;
    for sink in sinks.iter_mut() {
        sink.show(decoded.id, &decoded.picture).map_err(device)?;
        // Only the first sink counts: a file beside a window delays nobody's eye.
        presented.get_or_insert_with(clock::now);
    }
    let presented = presented.unwrap_or_else(clock::now);
    presentation.on_shown(&decoded.passed, presented);
    log.write(decoded.id, &decoded.passed, presented);
    // The decode thread may have ended already.
    let _ = shown.send(decoded.picture);
    Ok(())
}

fn view(link: &Mutex<LinkView>) -> LinkView {
    let view = link.lock().unwrap_or_else(PoisonError::into_inner);
    LinkView { snapshot: view.snapshot, last_frame: view.last_frame }
}

fn device(error: SinkError) -> Failure {
    match error {
        // A path is the user's choice, a display the machine's.
        SinkError::File { .. } | SinkError::StreamChanged { .. } => Failure::usage(error),
        SinkError::NoDisplay(_) | SinkError::Window(_) => Failure::device(error),
    }
}
