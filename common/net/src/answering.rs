//! One side of a link test on a connection, and the end that answers: whoever listens for calls answers testers, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::linktest::LinkTest;
use common::units::Bitrate;

use crate::clock;
use crate::limited;
use crate::quic::{CloseCode, Probing, QuicError};

/// Longest link test that is answered, the other way included.
const ANSWER_MAX: Duration = Duration::from_secs(90);
/// Interval of checking whether the send buffer has room, and, in a running test, whether a call has begun.
const LOOK: Duration = Duration::from_millis(1);
/// Rate that sets a congestion window so large that it never limits a test.
pub(crate) const WINDOW_RATE: Bitrate = Bitrate::from_bps(400_000_000);

const IN_A_CALL: &str = "it is in a call, which a test would disturb; end the call first";
const TOO_LONG: &str = "the test takes too long";
const TESTING: &str = "another link test is under way";

/// True during a test: only one at a time is answered, since two would measure each other.
static ANSWERING: AtomicBool = AtomicBool::new(false);

/// Ends the time in which another tester is turned away, however a test ends.
struct Answering;

impl Drop for Answering {
    fn drop(&mut self) {
        ANSWERING.store(false, Ordering::Relaxed);
    }
}

/// Answers a tester until it leaves, unless a call is on (`busy`) or begins.
pub(crate) async fn answer(probing: Probing, busy: &AtomicBool) {
    if busy.load(Ordering::Relaxed) {
        return probing.close(CloseCode::Busy, IN_A_CALL).await;
    }
    if ANSWERING.swap(true, Ordering::Relaxed) {
        return probing.close(CloseCode::Busy, TESTING).await;
    }
    let _answering = Answering;
    limited!(info, "{} at {} tests the link", probing.peer().name, probing.address());
    let mut test = LinkTest::answer(probing.max_datagram(), clock::now());
    let (code, why) = tokio::select! {
        _ = drive(&probing, &mut test) => (CloseCode::Done, "done"),
        () = becomes(busy) => (CloseCode::Busy, IN_A_CALL),
        () = tokio::time::sleep(ANSWER_MAX) => (CloseCode::Done, TOO_LONG),
    };
    probing.close(code, why).await;
}

/// Lets one side of a test send and take datagrams until it is over, or has an outcome; an error if the connection ends before.
pub(crate) async fn drive(probing: &Probing, test: &mut LinkTest) -> Result<(), QuicError> {
    let mut wide = None;
    loop {
        let mut full = false;
        while let Some(datagram) = room(probing, &mut full).and_then(|()| test.poll_datagram(clock::now())) {
            probing.send(datagram);
        }
        if test.is_measuring() {
            wide.get_or_insert_with(|| probing.widen(WINDOW_RATE));
        }
        let Some(next) = test.poll_timeout().filter(|_| test.outcome().is_none()) else { return Ok(()) };
        let next = if full { clock::now() + LOOK } else { next };
        tokio::select! {
            datagram = probing.receive() => test.on_datagram(&datagram?, clock::now()),
            () = tokio::time::sleep_until(clock::to_tokio(next)) => {}
        }
    }
}

/// Waits until that is true.
async fn becomes(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns `Some` if another datagram can be sent; `full` is set if not.
fn room(probing: &Probing, full: &mut bool) -> Option<()> {
    *full = !probing.has_room();
    (!*full).then_some(())
}
