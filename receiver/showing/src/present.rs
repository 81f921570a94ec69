//! The main thread's part: pictures to sinks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::latency::OneWay;
use common::stats::ReceiverReport;
use common::stream::talk::TalkState;
use common::units::Timestamp;
use kernels::Picture;
use net::clock;
use net::failure::Failure;
use net::limited;
use net::lock::lock;
use net::quoted::Quoted;
use shell::sd::Watchdog;
use shell::settings::TalkSide;
use shell::slot::{Slot, Taken};
use shell::stats::Statistics;

use crate::absence::Absence;
use crate::handover::{Decoded, End, LinkSnapshot, LinkView, Passed, STALE, Shown, Stream};
use crate::picture_log::PictureLog;
use crate::report::{Presentation, Status};
use crate::sink::{Sink, SinkError, SinkSpec, Wish};
use crate::sound::Step;

/// Longest wait for a picture before the sinks' keys are read.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Characters of a text in a line.
const LINE_CHARS: usize = 100;

/// A picture that has just been shown.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The stream it belongs to.
    pub stream: &'a Stream,
    /// The picture.
    pub picture: &'a Picture,
    /// Times of the points it passed.
    pub passed: &'a Passed,
    /// Time at which the first sink had shown it.
    pub presented: Timestamp,
    /// State of the link then.
    pub link: &'a LinkSnapshot,
}

impl Seen<'_> {
    /// Returns the picture's way from the other machine to this display.
    pub fn way(&self) -> OneWay {
        let Passed { capture, sent, received, released, decoded, .. } = *self.passed;
        OneWay { capture, sent, received, released, decoded, shown: self.presented }
    }
}

/// Those who are told of each picture once it is shown, on the main thread.
pub type SeenHook = Box<dyn FnMut(&Seen<'_>)>;

/// The presenter and its connections.
pub struct Presenter<'a, E> {
    /// Pictures from the decode thread.
    pub pictures: &'a Slot<Decoded>,
    /// Shown pictures, back to the decode thread.
    pub shown: &'a Shown,
    /// State that the network thread writes.
    pub link: &'a Mutex<LinkView>,
    /// Requests to the network thread to end.
    pub end: E,
    /// Pictures after which to end.
    pub frames: Option<u64>,
    /// True if the sinks only record.
    pub records: bool,
    /// Watches whether pictures come.
    pub absence: Absence,
    /// Those who are told of each picture once it is shown.
    pub seen: Option<SeenHook>,
    /// Compares what is seen with what is heard, where there is sound.
    pub sound: Option<Step>,
    /// The talk of the two people, in a call.
    pub talk: Option<TalkSide>,
}

/// The sinks that work, and why another does not.
#[derive(Default)]
pub struct Sinks {
    open: Vec<Box<dyn Sink>>,
    failed: Option<Failure>,
}

impl Sinks {
    /// Opens all of `specs` with `open`. A virtual camera that cannot be opened is given up, with a warning, where there is
    /// another sink.
    pub fn open(
        specs: &[SinkSpec],
        mut open: impl FnMut(&SinkSpec) -> Result<Box<dyn Sink>, SinkError>,
    ) -> Result<Self, SinkError> {
        let mut sinks = Self::default();
        for spec in specs {
            match open(spec) {
                Ok(sink) => sinks.open.push(sink),
                Err(error @ SinkError::VirtualCamera(_)) if specs.len() > 1 => sinks.give_up(error),
                Err(error) => return Err(error),
            }
        }
        Ok(sinks)
    }

    /// Those that are open already.
    pub fn of(open: Vec<Box<dyn Sink>>) -> Self {
        Self { open, failed: None }
    }

    fn give_up(&mut self, error: SinkError) {
        match error {
            SinkError::VirtualCamera(_) => tracing::warn!("{error}; the call goes on without it"),
            _ => tracing::warn!("{error}; nothing more is recorded there, and the call goes on"),
        }
        self.failed = Some(Failure::device(error));
    }

    /// Calls `act` with each sink. A file that cannot be written is given up, with a warning: the call goes on. Likewise a
    /// virtual camera. Without its window it does not.
    fn each(&mut self, mut act: impl FnMut(&mut dyn Sink) -> Result<(), SinkError>) -> Result<(), Failure> {
        let (mut broken, mut lost) = (Ok(()), Vec::new());
        self.open.retain_mut(|sink| match act(sink.as_mut()) {
            Ok(()) => true,
            Err(error @ (SinkError::NoDisplay(_) | SinkError::Window(_))) => {
                broken = Err(Failure::device(error));
                false
            }
            Err(error) => {
                lost.push(error);
                false
            }
        });
        lost.into_iter().for_each(|error| self.give_up(error));
        broken
    }
}

/// Shows pictures until the picture slot is closed. The statistics file gets a line a second and a last one, also after
/// a failure; the last one is returned.
///
/// Errors: the window is gone; or, at the end, a recording or a virtual camera that has ended early.
pub fn run<E: FnMut(End)>(
    mut presenter: Presenter<'_, E>,
    mut sinks: Sinks,
    stats: &mut Statistics,
    log: &mut PictureLog,
    watchdog: &mut Watchdog,
) -> Result<ReceiverReport, Failure> {
    let mut show = Show {
        presentation: Presentation::default(),
        absence: presenter.absence.clone(),
        notice: None,
        stream: None,
        log,
        theirs: TalkState::default(),
        texts: 0,
    };
    let shown = until_closed(&mut presenter, &mut show, &mut sinks, stats, watchdog);
    // A recording may take a while to end.
    watchdog.stopping();
    let (snapshot, last_frame) = {
        let LinkView { snapshot, last_frame, .. } = &*lock(presenter.link);
        (*snapshot, *last_frame)
    };
    let is_whole = matches!(shown, Ok(false));
    let finished = sinks.each(|sink| sink.finish(last_frame.filter(|_| is_whole)));
    let report = show.report(&snapshot, presenter.sound.as_ref(), clock::now(), true);
    stats.write(&report);
    shown?;
    finished?;
    sinks.failed.map_or(Ok(report), Err)
}

/// The stream as it is shown.
struct Show<'a> {
    presentation: Presentation,
    absence: Absence,
    notice: Option<String>,
    stream: Option<Arc<Stream>>,
    log: &'a mut PictureLog,
    /// The other side as it says of itself, and the number of texts that were looked at.
    theirs: TalkState,
    texts: u64,
}

/// Runs until closed; returns true if it is this side that ends.
fn until_closed<E: FnMut(End)>(
    presenter: &mut Presenter<'_, E>,
    show: &mut Show<'_>,
    sinks: &mut Sinks,
    stats: &mut Statistics,
    watchdog: &mut Watchdog,
) -> Result<bool, Failure> {
    let mut next_report = clock::now() + REPORT_INTERVAL;
    let mut ending = false;
    loop {
        let taken = presenter.pictures.take_timeout(POLL_INTERVAL);
        let closed = matches!(taken, Taken::Closed);
        if let Taken::Item(decoded) = taken
            && !ending
            && (presenter.records || clock::now().since(decoded.passed.released) <= STALE)
        {
            show.picture(decoded, sinks, presenter)?;
            if presenter.frames.is_some_and(|frames| show.presentation.shown() >= frames) {
                (presenter.end)(End::Finish);
                ending = true;
            }
        }
        if closed {
            return Ok(ending);
        }
        let mut wish = Wish::Continue;
        sinks.each(|sink| {
            if sink.poll()? == Wish::Close {
                wish = Wish::Close;
            }
            Ok(())
        })?;
        if wish == Wish::Close && !ending {
            (presenter.end)(End::Stop);
            ending = true;
        }
        let now = clock::now();
        watchdog.alive(now);
        let (snapshot, called) = {
            let mut view = lock(presenter.link);
            (view.snapshot, std::mem::take(&mut view.called))
        };
        for name in called {
            let said = format!("{name} has called and was told that you are in a call");
            sinks.open.iter_mut().for_each(|sink| sink.say(&said));
        }
        if let Some(talk) = &presenter.talk {
            show.talk(talk, &snapshot, sinks);
        }
        let hears = presenter.sound.as_mut().is_some_and(|sound| sound.look(snapshot.clock_offset_us, now));
        show.say(show.hidden(&snapshot).or_else(|| show.absence.notice(&snapshot, hears, now)), sinks);
        if now >= next_report {
            next_report = next_report + REPORT_INTERVAL;
            stats.write(&show.report(&snapshot, presenter.sound.as_ref(), now, false));
            let mut status = show.presentation.status(&snapshot, show.stream.as_deref(), now);
            presenter.sound.iter().for_each(|sound| sound.add_to(&mut status));
            show.add_to(&mut status, presenter.talk.as_ref(), &snapshot);
            sinks.open.iter_mut().for_each(|sink| sink.status(&status));
        }
    }
}

/// Returns a text of the other side in quotation marks, all of it, in lines that a window can hold.
fn quoted(text: &str) -> String {
    let chars: Vec<_> = text.chars().collect();
    let lines = chars.chunks(LINE_CHARS).map(|line| Quoted(&line.iter().collect::<String>()).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

impl Show<'_> {
    fn picture<E>(
        &mut self,
        decoded: Decoded,
        sinks: &mut Sinks,
        presenter: &mut Presenter<'_, E>,
    ) -> Result<(), Failure> {
        if self.theirs.is_hidden {
            // It was on its way.
            let _ = presenter.shown.send(decoded.picture);
            return Ok(());
        }
        let interval = decoded.stream.params.frame_rate.interval();
        if self.stream.as_ref().is_none_or(|known| known.serial != decoded.stream.serial) {
            sinks.each(|sink| sink.start(&decoded.stream.params))?;
            self.presentation.on_start(decoded.stream.serial, interval);
        }
        self.say(None, sinks);
        let serial = decoded.stream.serial;
        // The same stream may have got another back end.
        let stream = self.stream.insert(decoded.stream);
        let mut presented: Option<Timestamp> = None;
        sinks.each(|sink| {
            sink.show(decoded.id, &decoded.picture)?;
            // Only the first sink counts: a file beside a window does not delay the display.
            presented.get_or_insert_with(clock::now);
            Ok(())
        })?;
        let presented = presented.unwrap_or_else(clock::now);
        let snapshot = lock(presenter.link).snapshot;
        if let Some(seen) = &mut presenter.seen {
            let (picture, passed) = (&decoded.picture, &decoded.passed);
            seen(&Seen { stream, picture, passed, presented, link: &snapshot });
        }
        if let Some(sound) = &mut presenter.sound {
            sound.on_picture(decoded.passed.capture, decoded.passed.clock_offset_us, presented);
        }
        self.absence.on_picture(serial, &snapshot, interval, presented);
        self.presentation.on_shown(&decoded.passed, &snapshot, presented);
        self.log.write(decoded.id, &decoded.passed, presented);
        // The decode thread may have ended already.
        let _ = presenter.shown.send(decoded.picture);
        Ok(())
    }

    /// Tells the sinks what the other side says of itself, if that is new, and its texts.
    fn talk(&mut self, talk: &TalkSide, link: &LinkSnapshot, sinks: &mut Sinks) {
        let who = self.absence.who(link);
        let theirs = talk.theirs();
        let before = std::mem::replace(&mut self.theirs, theirs);
        let mut say = |said: &str| sinks.open.iter_mut().for_each(|sink| sink.say(said));
        if theirs.is_recording != before.is_recording {
            let said = if theirs.is_recording { "records this call" } else { "does not record any more" };
            limited!(info, "{who} {said}");
            say(&format!("{who} {said}"));
        }
        for said in talk.since(&mut self.texts).iter().filter(|said| !said.is_own) {
            let quoted = quoted(&said.text);
            limited!(info, "{who} says {quoted}");
            say(&format!("{who}: {quoted}"));
        }
        if theirs.is_hidden && !before.is_hidden {
            limited!(info, "{who} hides the picture");
            sinks.open.iter_mut().for_each(|sink| sink.cover());
        }
    }

    /// Returns what stands in the place of a picture that is hidden.
    fn hidden(&self, link: &LinkSnapshot) -> Option<String> {
        (self.theirs.is_hidden && link.greeted).then(|| format!("{} hides the picture", self.absence.who(link)))
    }

    /// Adds who records.
    fn add_to(&self, status: &mut Status, talk: Option<&TalkSide>, link: &LinkSnapshot) {
        let records = match (talk.is_some_and(TalkSide::is_recording), self.theirs.is_recording) {
            (false, false) => return,
            (true, false) => "You record this call".to_owned(),
            (false, true) => format!("{} records this call", self.absence.who(link)),
            (true, true) => format!("You and {} record this call", self.absence.who(link)),
        };
        status.line = format!("{records}\n{}", status.line);
    }

    /// Tells the sinks the notice to show while no picture comes.
    fn say(&mut self, notice: Option<String>, sinks: &mut Sinks) {
        if self.notice != notice {
            self.notice = notice;
            sinks.open.iter_mut().for_each(|sink| sink.notice(self.notice.as_deref()));
        }
    }

    fn report(&mut self, link: &LinkSnapshot, sound: Option<&Step>, now: Timestamp, is_final: bool) -> ReceiverReport {
        let hears = sound.is_some_and(Step::hears);
        let standing = self.absence.standing(link, hears, clock::unix_ms(), now);
        let report = self.presentation.report(link, self.stream.as_deref(), standing, now, is_final);
        match sound {
            Some(sound) => sound.reported(report),
            None => report,
        }
    }
}
