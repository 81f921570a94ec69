//! Work on a device, on a thread of its own, because a driver may never return.
//!
//! Nothing waits longer for that thread than a [`Patience`] allows. A thread that has not answered by then is abandoned
//! with all that it was given: it frees that if the driver returns, and the end of the process does not wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::BackendInfo;

/// True once a thread has been abandoned.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Times to wait for an answer.
///
/// The time is counted in slices: a process that was stopped, or that had no processor, loses one slice at most,
/// however long that took, because its device had no chance to answer.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    slices: u32,
    slice: Duration,
}

impl Patience {
    /// Patience with a frame on a device that has worked so far.
    pub const WORK: Self = Self { slices: 5, slice: SLICE };
    /// No patience.
    pub(crate) const NONE: Self = Self { slices: 1, slice: Duration::ZERO };
    /// Patience with a device that opens or has something new to do: some drivers compile their kernels then. A
    /// compiler that hangs is told by who watches it ([`crate::on_hang`]), which comes first.
    pub const OPEN: Self = Self { slices: 1200, slice: SLICE };

    /// Returns the longest wait, if the process is never held up.
    pub const fn longest(self) -> Duration {
        self.slice.saturating_mul(self.slices)
    }

    fn wait<A>(self, answer: &Receiver<A>) -> Result<A, Lost> {
        for _ in 0..self.slices {
            match answer.recv_timeout(self.slice) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Lost::Broke),
            }
        }
        LEFT.store(true, Ordering::Relaxed);
        Err(Lost::Hangs(self.longest()))
    }
}

const SLICE: Duration = Duration::from_millis(100);

/// Reasons for which no answer comes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The driver holds the thread.
    #[error("it has not answered for {:.1} s", .0.as_secs_f64())]
    Hangs(Duration),
    /// A bug in what the thread does.
    #[error("its thread broke down")]
    Broke,
    /// The system gives no thread.
    #[error("no thread can be started for it: {0}")]
    NoThread(String),
}

/// A tool, such as an encoder, on the caller's thread or on its own.
#[derive(Debug)]
pub(crate) enum Runner<T> {
    /// On the caller's thread.
    Here(T),
    /// On its own.
    Apart(Apart<T>),
}

impl<T: Send + 'static> Runner<T> {
    /// Creates a runner of `tool`, which computes with `backend`. A driver may hold a thread for ever: not the one that
    /// watches the link.
    ///
    /// Errors: [`Lost::NoThread`].
    pub(crate) fn of(tool: T, backend: &BackendInfo) -> Result<Self, Lost> {
        if backend.is_device() { Self::apart("device", tool) } else { Ok(Self::Here(tool)) }
    }

    /// Creates a runner of `tool` on a thread called `name`.
    ///
    /// Errors: [`Lost::NoThread`].
    pub(crate) fn apart(name: &str, mut tool: T) -> Result<Self, Lost> {
        let (jobs, queue) = mpsc::channel::<Job<T>>();
        let (ending, ended) = mpsc::channel();
        let body = move || {
            // Dropped last, after the tool.
            let _ending: Sender<()> = ending;
            for job in queue {
                job(&mut tool);
            }
            drop(tool);
        };
        let started = thread::Builder::new().name(name.to_owned()).spawn(body);
        started.map_err(|error| Lost::NoThread(error.to_string()))?;
        Ok(Self::Apart(Apart { jobs, ended }))
    }

    /// Works with the tool: without a limit on the caller's thread, for at most `patience` on its own.
    ///
    /// Errors: [`Lost`], after which the tool is of no use.
    pub(crate) fn run<A: Send + 'static>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&mut T) -> A + Send + 'static,
    ) -> Result<A, Lost> {
        match self {
            Self::Here(tool) => Ok(work(tool)),
            Self::Apart(apart) => {
                let (give, answer) = mpsc::channel();
                // An answer that comes too late is dropped.
                let job: Job<T> = Box::new(move |tool| drop(give.send(work(tool))));
                apart.jobs.send(job).map_err(|_| Lost::Broke)?;
                patience.wait(&answer)
            }
        }
    }

    /// Frees the tool where it works. Returns when that is done, or after `patience`.
    pub(crate) fn end(self, patience: Patience) {
        if let Self::Apart(Apart { jobs, ended }) = self {
            drop(jobs);
            // The thread says nothing: it ends.
            let _ = patience.wait(&ended);
        }
    }
}

/// A thread with its tool.
#[derive(Debug)]
pub(crate) struct Apart<T> {
    jobs: Sender<Job<T>>,
    /// Closed when the tool is freed.
    ended: Receiver<()>,
}

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// Does `work` on a thread of its own, called `name`.
///
/// Errors: [`Lost`].
pub fn once<A: Send + 'static>(
    name: &str,
    patience: Patience,
    work: impl FnOnce() -> A + Send + 'static,
) -> Result<A, Lost> {
    Runner::apart(name, ())?.run(patience, |()| work())
}

/// Returns true if a thread of this process is still in a driver, which may not let the process end as usual.
pub fn has_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anything but a hang takes.
    const SOON: Patience = Patience { slices: 1, slice: Duration::from_secs(90) };

    /// Tells when it is dropped.
    struct Tool(Sender<thread::ThreadId>);

    impl Drop for Tool {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id());
        }
    }

    #[test]
    fn a_tool_keeps_its_state_and_its_thread() {
        let mut apart = Runner::apart("test", 1).unwrap();
        let mut work = || {
            let next = |tool: &mut u32| {
                *tool += 1;
                (*tool, thread::current().id())
            };
            apart.run(SOON, next).unwrap()
        };
        let ((two, first), (three, second)) = (work(), work());
        assert_eq!((two, three), (2, 3));
        assert!(first == second && first != thread::current().id());
        let mut here = Runner::Here(1);
        assert_eq!(here.run(Patience::NONE, |_| thread::current().id()), Ok(thread::current().id()));
    }

    #[test]
    fn a_thread_that_is_held_is_left_behind_and_frees_all_later() {
        let (told, freed) = mpsc::channel();
        let (let_go, held) = mpsc::channel::<()>();
        let mut runner = Runner::apart("test", Tool(told.clone())).unwrap();
        let picture = Tool(told);
        let hang = move |_: &mut Tool| {
            let _ = held.recv();
            picture
        };
        assert_eq!(runner.run(Patience::NONE, hang).map(drop), Err(Lost::Hangs(Duration::ZERO)));
        assert!(has_left());
        drop(runner);
        assert!(freed.try_recv().is_err(), "the driver has them");
        drop(let_go);
        let (picture, tool) = (SOON.wait(&freed).unwrap(), SOON.wait(&freed).unwrap());
        assert!(picture == tool && tool != thread::current().id(), "nobody else calls the driver");
    }

    #[test]
    fn each_slice_is_waited_for_anew() {
        // What came while a slice passed, such as that in which the process stood still, is an answer in the next.
        let (give, answer) = mpsc::channel();
        give.send(7).unwrap();
        assert_eq!(Patience::NONE.wait(&answer), Ok(7));
        assert_eq!(Patience::NONE.wait(&answer), Err(Lost::Hangs(Duration::ZERO)));
        assert_eq!(Patience::WORK.longest(), Duration::from_millis(500));
    }

    #[test]
    fn the_end_waits_until_the_tool_is_freed() {
        let (told, freed) = mpsc::channel();
        Runner::apart("test", Tool(told)).unwrap().end(SOON);
        assert_ne!(freed.try_recv().unwrap(), thread::current().id());
    }

    #[test]
    fn a_panic_is_told() {
        let mut runner = Runner::apart("test", ()).unwrap();
        assert_eq!(runner.run(SOON, |()| panic!("as asked")), Err::<(), _>(Lost::Broke));
        assert_eq!(runner.run(SOON, |()| ()), Err(Lost::Broke));
    }
}
