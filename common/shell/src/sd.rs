//! Messages to the service manager: ready, alive, stopping. Does nothing outside systemd.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::units::Timestamp;
use sd_notify::NotifyState;

/// A thread's sign that it turns; clones are the same pulse.
#[derive(Clone, Debug, Default)]
pub struct Pulse(Arc<Beats>);

#[derive(Debug, Default)]
struct Beats {
    count: AtomicU64,
    excused_until_us: AtomicU64,
}

impl Pulse {
    /// Notes that the thread has turned once more: it has done its work, or found none. To be called several times a
    /// second, from the thread's own loop.
    pub fn beat(&self) {
        self.0.excused_until_us.store(0, Ordering::Relaxed);
        self.0.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Allows the thread's next work, such as a driver's compiler, until then; the next beat ends this.
    pub fn excuse(&self, until: Timestamp) {
        self.0.excused_until_us.store(until.as_us(), Ordering::Relaxed);
    }

    /// Ends the thread's part, while others go on.
    pub fn end(&self) {
        self.excuse(Timestamp::from_us(u64::MAX));
    }
}

/// Tells systemd that the daemon works: that each of its threads turns. Whether there are pictures is another question:
/// a camera or a peer that gives none is no reason to start anew.
#[derive(Debug)]
pub struct Watchdog {
    interval: Option<Duration>,
    last: Option<Timestamp>,
    /// The pulses, and how many beats of each were known when systemd was told last.
    watched: Vec<(Pulse, u64)>,
}

impl Watchdog {
    /// Reads `WATCHDOG_USEC`; tells systemd that start-up is over. From here on the threads of `pulses` are watched.
    pub fn ready(pulses: Vec<Pulse>) -> Self {
        tell(NotifyState::Ready);
        Self::new(sd_notify::watchdog_enabled().map(|limit| limit / 4), pulses)
    }

    fn new(interval: Option<Duration>, pulses: Vec<Pulse>) -> Self {
        Self { interval, last: None, watched: pulses.into_iter().map(|pulse| (pulse, 0)).collect() }
    }

    /// Notes that the calling thread turns. If all others have turned as well since systemd was told last, it is told
    /// again, at most four times in its limit. Returns whether it was.
    pub fn alive(&mut self, now: Timestamp) -> bool {
        let Some(interval) = self.interval else { return false };
        if self.last.is_some_and(|last| now.since(last) < interval) {
            return false;
        }
        let count = |pulse: &Pulse| pulse.0.count.load(Ordering::Relaxed);
        let excused = |pulse: &Pulse| pulse.0.excused_until_us.load(Ordering::Relaxed) > now.as_us();
        if self.watched.iter().any(|(pulse, known)| count(pulse) == *known && !excused(pulse)) {
            return false;
        }
        self.watched.iter_mut().for_each(|(pulse, known)| *known = count(pulse));
        self.last = Some(now);
        tell(NotifyState::Watchdog);
        true
    }

    /// Tells that the daemon ends on purpose.
    pub fn stopping(&mut self) {
        tell(NotifyState::Stopping);
    }
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "the service manager was not told");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1000 * ms)
    }

    #[test]
    fn one_thread_that_hangs_is_enough_to_be_silent() {
        let (network, decode) = (Pulse::default(), Pulse::default());
        let mut watchdog = Watchdog::new(Some(Duration::from_millis(100)), vec![network.clone(), decode.clone()]);
        for ms in (0..1_000).step_by(100) {
            network.beat();
            decode.beat();
            assert!(watchdog.alive(at(ms)), "{ms}");
            assert!(!watchdog.alive(at(ms + 50)), "not more often than is asked for");
        }
        // The decode thread hangs from here on.
        for ms in (1_000..20_000).step_by(100) {
            network.beat();
            assert!(!watchdog.alive(at(ms)), "{ms}");
        }
        decode.beat();
        assert!(watchdog.alive(at(20_000)), "and goes on");
    }

    #[test]
    fn an_excuse_has_an_end() {
        let decode = Pulse::default();
        let mut watchdog = Watchdog::new(Some(Duration::from_millis(100)), vec![decode.clone()]);
        decode.excuse(at(5_000));
        assert!((1..50).all(|tenths| watchdog.alive(at(100 * tenths - 1))));
        assert!(!watchdog.alive(at(5_001)));
        decode.excuse(at(60_000));
        decode.beat();
        assert!(watchdog.alive(at(5_200)) && !watchdog.alive(at(5_400)), "a beat ends it");
    }

    #[test]
    fn without_a_limit_nobody_is_told() {
        assert!(!Watchdog::new(None, Vec::new()).alive(at(1)));
    }
}
