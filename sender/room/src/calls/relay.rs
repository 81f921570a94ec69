//! The window's end of a call, which shows pictures on the main thread, and the call's end of it, which runs on a thread of its
//! own and waits for the window as it would for any sink.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use calling::BandView;
use common::units::FrameId;
use kernels::Picture;
use picture::params::StreamParams;
use showing::report::Status;
use showing::sink::{HeldWindow, Sink, SinkError, Window, WindowParts, Wish};

/// Time after which the window is looked at although the call asks for nothing.
const LOOK: Duration = Duration::from_millis(20);

enum Task {
    Start(StreamParams),
    Show(FrameId, Picture),
    Status(Status),
    Notice(Option<String>),
    Say(String),
    Poll,
}

enum Answer {
    Done,
    /// The picture, whose memory is used again.
    Shown(Picture),
    Wish(Wish),
}

/// A call that wants to be seen.
pub(crate) struct Waiting {
    parts: WindowParts,
    tasks: Receiver<Task>,
    answers: Sender<Result<Answer, SinkError>>,
}

/// A call of either kind that wants to be seen.
pub(crate) enum Wanted {
    /// A call.
    Call(Waiting),
    /// A band, which shows itself.
    Band(BandView),
}

impl Wanted {
    /// Shows it in `held` until it ends; call it on the main thread. `between` is called now and then.
    pub(crate) fn show(self, held: &HeldWindow, between: impl FnMut()) -> Result<(), SinkError> {
        match self {
            Self::Call(call) => call.show(held, between),
            Self::Band(band) => band.show(held, between),
        }
    }
}

/// The call's end.
pub(crate) struct Relay {
    tasks: Sender<Task>,
    answers: Receiver<Result<Answer, SinkError>>,
    used: Option<Picture>,
}

/// Returns the call's end, and passes the window's to `to`.
pub(crate) fn relay(parts: WindowParts, to: &Sender<Wanted>) -> Result<Relay, SinkError> {
    let ((tasks, taken), (answers, answered)) = (channel(), channel());
    to.send(Wanted::Call(Waiting { parts, tasks: taken, answers })).map_err(|_| gone())?;
    Ok(Relay { tasks, answers: answered, used: None })
}

fn gone() -> SinkError {
    SinkError::Window("it has been closed".to_owned())
}

impl Relay {
    fn ask(&mut self, task: Task) -> Result<Answer, SinkError> {
        self.tasks.send(task).map_err(|_| gone())?;
        self.answers.recv().map_err(|_| gone())?
    }
}

impl Sink for Relay {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        self.ask(Task::Start(*params)).map(drop)
    }

    fn show(&mut self, id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        let fits = |used: &Picture| used.format() == picture.format() && used.size() == picture.size();
        let copy = match self.used.take().filter(fits) {
            Some(mut used) => {
                used.data_mut().copy_from_slice(picture.data());
                used
            }
            None => picture.clone(),
        };
        if let Answer::Shown(used) = self.ask(Task::Show(id, copy))? {
            self.used = Some(used);
        }
        Ok(())
    }

    fn status(&mut self, status: &Status) {
        let _ = self.tasks.send(Task::Status(status.clone()));
    }

    fn notice(&mut self, notice: Option<&str>) {
        let _ = self.tasks.send(Task::Notice(notice.map(str::to_owned)));
    }

    fn say(&mut self, text: &str) {
        let _ = self.tasks.send(Task::Say(text.to_owned()));
    }

    fn poll(&mut self) -> Result<Wish, SinkError> {
        match self.ask(Task::Poll)? {
            Answer::Wish(wish) => Ok(wish),
            Answer::Done | Answer::Shown(_) => Ok(Wish::Continue),
        }
    }
}

impl Waiting {
    fn show(self, held: &HeldWindow, mut between: impl FnMut()) -> Result<(), SinkError> {
        let Self { parts, tasks, answers } = self;
        let mut window = Window::within(held, parts)?;
        loop {
            let done = match tasks.recv_timeout(LOOK) {
                Ok(Task::Start(params)) => window.start(&params).map(|()| Answer::Done),
                Ok(Task::Show(id, picture)) => window.show(id, &picture).map(|()| Answer::Shown(picture)),
                Ok(Task::Poll) => {
                    between();
                    window.poll().map(Answer::Wish)
                }
                Ok(task) => {
                    match task {
                        Task::Status(status) => window.status(&status),
                        Task::Notice(notice) => window.notice(notice.as_deref()),
                        Task::Say(text) => window.say(&text),
                        Task::Start(_) | Task::Show(..) | Task::Poll => {}
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {
                    between();
                    window.poll()?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            // A window that has gone is told to the call, which then ends.
            if answers.send(done).is_err() {
                return Ok(());
            }
        }
    }
}
