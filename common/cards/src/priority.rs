//! Real-time priority for the threads of sound: from the kernel where the user may, otherwise from rtkit, the desktop's service for it.

use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_int, pid_t};

/// Threads of sound, each more urgent than the next. A JACK server's are above them, and pictures' below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Serves a card, where no JACK server does.
    Card,
    /// Codes packets, or keeps what the card's callback needs ready.
    Sound,
    /// Sends and receives packets.
    Network,
}

impl Role {
    fn priority(self) -> c_int {
        match self {
            Self::Card => 4,
            Self::Sound => 3,
            Self::Network => 2,
        }
    }
}

/// Giver of a thread's real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Whoever started the program, such as systemd.
    Before,
    /// The kernel.
    Kernel,
    /// The service rtkit.
    Rtkit,
}

/// Real-time priority is refused; `doctor` says what allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this user gets no real-time priority, so that sound may drop out when the computer is busy: `sender doctor` says what allows it"
)]
pub struct Refused;

/// Gives the calling thread real-time priority. It may ask another program, so it is for the beginning of a thread. Threads that it
/// starts do not inherit the priority.
pub fn raise(role: Role) -> Result<Granted, Refused> {
    raise_thread(own_thread(), role)
}

/// Gives a thread of this process real-time priority, as [`raise`] does.
pub(crate) fn raise_thread(thread: pid_t, role: Role) -> Result<Granted, Refused> {
    if by_kernel(thread, role) {
        return Ok(Granted::Kernel);
    }
    if is_real_time(thread) {
        return Ok(Granted::Before);
    }
    by_rtkit(thread, role).then_some(Granted::Rtkit).ok_or(Refused)
}

/// Returns the calling thread's number.
pub(crate) fn own_thread() -> pid_t {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

fn schedule(thread: pid_t, policy: c_int, priority: c_int) -> bool {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter is this function's own, and a thread that is gone is an error.
    unsafe { libc::sched_setscheduler(thread, policy, &raw const parameter) == 0 }
}

fn is_real_time(thread: pid_t) -> bool {
    // SAFETY: it takes a number, and a thread that is gone is an error.
    let policy = unsafe { libc::sched_getscheduler(thread) };
    policy >= 0 && [libc::SCHED_FIFO, libc::SCHED_RR].contains(&(policy & !libc::SCHED_RESET_ON_FORK))
}

/// One system call; also for a card's callback at its beginning.
pub(crate) fn by_kernel(thread: pid_t, role: Role) -> bool {
    schedule(thread, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, role.priority())
}

/// Name, object and interface of rtkit on the system's bus.
const RTKIT: [&str; 3] =
    ["org.freedesktop.RealtimeKit1", "/org/freedesktop/RealtimeKit1", "org.freedesktop.RealtimeKit1"];

/// Asks rtkit, by systemd's own program: three calls in a call's life are not worth a library of D-Bus.
fn busctl(method: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("busctl");
    command.args(["--system", "--timeout=1", method]).args(RTKIT).args(arguments);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the greatest priority that rtkit gives; none: there is no rtkit.
pub fn rtkit_priority_max() -> Option<u32> {
    // Such as `i 20`.
    busctl("get-property", &["MaxRealtimePriority"])?.trim().strip_prefix("i ")?.parse().ok()
}

fn by_rtkit(thread: pid_t, role: Role) -> bool {
    limit_time();
    ON_TIME_UP.call_once(|| {
        let handler = on_time_up as extern "C" fn(c_int);
        // SAFETY: a zeroed action is one without flags and mask.
        let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler does what a handler may, and nobody else has one for this signal.
        unsafe { libc::sigaction(libc::SIGXCPU, &raw const action, std::ptr::null_mut()) };
    });
    let numbers = [std::process::id() as pid_t, thread, role.priority()].map(|number| number.to_string());
    let arguments = ["MakeThreadRealtimeWithPID", "ttu", &numbers[0], &numbers[1], &numbers[2]];
    let is_given = busctl("call", &arguments).is_some() && is_real_time(thread);
    if is_given {
        // More threads than places: one of them would not be calmed.
        if !remember(thread) {
            schedule(thread, libc::SCHED_OTHER, 0);
            return false;
        }
    }
    is_given
}

/// Takes a place for a thread that is raised, of one that has ended where none is free; returns false where there is none.
fn remember(thread: pid_t) -> bool {
    RAISED.iter().any(|place| {
        let before = place.load(Ordering::Acquire);
        (before == 0 || before == thread || has_ended(before))
            && place.compare_exchange(before, thread, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })
}

/// Returns true where this process has no such thread any more.
fn has_ended(thread: pid_t) -> bool {
    // SAFETY: it takes numbers, and signal 0 is none.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) != 0 }
}

/// rtkit gives priority only to programs whose real-time threads may not run for ever without a pause: at most 200 ms, us.
const RTTIME_US: (u64, u64) = (100_000, 200_000);

fn limit_time() {
    let limit = libc::rlimit { rlim_cur: RTTIME_US.0, rlim_max: RTTIME_US.1 };
    // SAFETY: the limit is this function's own. A lower one of before stays, since nobody may raise it.
    unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) };
}

static ON_TIME_UP: Once = Once::new();
/// Threads that rtkit has raised.
static RAISED: [AtomicI32; 8] = [const { AtomicI32::new(0) }; 8];

/// A real-time thread has run for the soft limit without a pause, as under a flood of packets: all go on without the priority, before
/// the hard limit ends the process.
extern "C" fn on_time_up(_signal: c_int) {
    for place in &RAISED {
        let thread = place.swap(0, Ordering::AcqRel);
        if thread != 0 {
            schedule(thread, libc::SCHED_OTHER, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_captures_comes_before_who_sends() {
        let [card, sound, network] = [Role::Card, Role::Sound, Role::Network].map(Role::priority);
        // jackd's own clients have 5, and what the units give all threads is 1.
        assert!(5 > card && card > sound && sound > network && network > 1);
    }

    #[test]
    fn threads_that_have_ended_leave_their_places() {
        for _ in 0..3 * RAISED.len() {
            assert!(std::thread::spawn(|| remember(own_thread())).join().unwrap(), "a card is opened again and again");
        }
        // Those that run keep theirs.
        let (sender, receiver) = std::sync::mpsc::channel();
        let (ends, waits): (Vec<_>, Vec<_>) = (0..RAISED.len() + 1).map(|_| std::sync::mpsc::channel::<()>()).unzip();
        let threads: Vec<_> = waits
            .into_iter()
            .map(|wait| {
                let sender = sender.clone();
                let thread = std::thread::spawn(move || {
                    sender.send(remember(own_thread())).unwrap();
                    let _ = wait.recv();
                });
                (thread, receiver.recv().unwrap())
            })
            .collect();
        drop(ends);
        let kept = threads.iter().filter(|(_, is_kept)| *is_kept).count();
        threads.into_iter().for_each(|(thread, _)| thread.join().unwrap());
        // One that has just been waited for may still be there for a moment.
        assert!((RAISED.len() - 1..=RAISED.len()).contains(&kept), "{kept}");
    }

    /// In a process of its own: limits and priorities stay.
    #[test]
    fn a_thread_is_raised_and_loses_it_before_the_kernel_ends_the_process() {
        if std::env::var_os("DUET_TEST_APART").is_none() {
            let this = concat!(module_path!(), "::a_thread_is_raised_and_loses_it_before_the_kernel_ends_the_process");
            let this = this.split_once("::").unwrap().1;
            let mut command = Command::new(std::env::current_exe().unwrap());
            let output = command.args([this, "--exact"]).env("DUET_TEST_APART", "1").output().unwrap();
            assert!(output.status.success(), "{output:?}");
            return;
        }
        let raised = std::thread::spawn(|| {
            let had = is_real_time(own_thread());
            let granted = raise(Role::Network);
            let inner = std::thread::spawn(|| is_real_time(own_thread())).join().unwrap();
            (had, granted, is_real_time(own_thread()), inner)
        });
        let (had, granted, has, inner) = raised.join().unwrap();
        assert_eq!(granted.is_ok(), has);
        if had {
            return;
        }
        assert!(!inner, "a thread inherits it");
        if !has {
            let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/skipped");
            let note = "real-time priority: this user gets none, so no thread could lose it";
            assert!(Command::new(skipped).args(["note", note]).status().unwrap().success());
            return;
        }
        // As rtkit would have it, whose part the kernel plays where there is none.
        let spinning = std::thread::spawn(|| {
            if !by_rtkit(own_thread(), Role::Network) {
                assert!(by_kernel(own_thread(), Role::Network));
                RAISED[0].store(own_thread(), Ordering::Release);
            }
            while is_real_time(own_thread()) {
                std::hint::spin_loop();
            }
            // Longer than the hard limit, without a pause.
            let begin = std::time::Instant::now();
            while begin.elapsed().as_micros() < 3 * u128::from(RTTIME_US.1) {
                std::hint::spin_loop();
            }
        });
        spinning.join().unwrap();
    }
}
