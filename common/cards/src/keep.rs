//! A card that is kept open: on a thread of its own, which opens it anew when it or its server has gone and come back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::card::{Card, Change, LONGEST, open};
use crate::halves::{Halves, Wanted};
use crate::info::{Backend, CardInfo};
use crate::spec::CardSpec;

/// Time between two looks at a card, or two attempts to open it.
const LOOK: Duration = Duration::from_millis(100);
/// `auto` waits so long for the JACK server that it had before it takes ALSA: a card that is taken meanwhile would keep the server
/// from starting anew.
const JACK_AWAITED_US: u64 = 10_000_000;
/// Attempts that make halves in vain and are soon made again: a server that starts answers before its card runs.
const FAILED_SOON: u32 = 4;
/// After those an attempt is made half as often each time, so many times: down to once in 1.6 s.
const HALVED_MAX: u32 = 4;
/// Attempts, of 5 s, after which one that finds no card waits longer: each takes ALSA some 2 ms.
const NONE_SOON: u32 = 50;
/// So many times as long.
const NONE_LATER: u32 = 5;
/// Whoever ends waits so long for a driver.
const END: Duration = Duration::from_secs(2);

/// News of a kept card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It is open, and what it is.
    Open(CardInfo),
    /// Its period is another, frames.
    Period(u32),
    /// There is no card, and why, as a sentence; each reason is told once.
    Without(String),
}

/// Makes the halves of a card whenever it is opened.
pub type Make = Box<dyn FnMut(&CardInfo) -> Halves + Send>;

/// Keeps a card open until it is dropped.
pub struct Kept {
    /// Never sent through: it ends the thread when it goes.
    end: Option<Sender<()>>,
    ended: Mutex<Receiver<()>>,
    xruns: Arc<AtomicU64>,
}

impl Kept {
    /// Starts to keep the card `spec`. `make` makes halves each time it is opened, `tell` gets what happens; both run on the card's
    /// thread.
    pub fn start(
        spec: CardSpec,
        wanted: Wanted,
        make: Make,
        tell: Box<dyn FnMut(News) + Send>,
    ) -> std::io::Result<Self> {
        let (end, ends) = channel();
        let (done, ended) = channel();
        let xruns = Arc::new(AtomicU64::new(0));
        let state = Keeper { spec, wanted, make, tell, xruns: xruns.clone(), waiting: Waiting::default() };
        thread::Builder::new().name("card".into()).spawn(move || {
            state.run(&ends);
            drop(done);
        })?;
        Ok(Self { end: Some(end), ended: Mutex::new(ended), xruns })
    }

    /// Returns how many periods came too late since the start, over all cards, as their drivers say.
    pub fn xruns(&self) -> u64 {
        self.xruns.load(Ordering::Relaxed)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.end = None;
        // A driver that hangs is left behind.
        if let Ok(ended) = self.ended.get_mut() {
            let _ = ended.recv_timeout(END);
        }
    }
}

struct Keeper {
    spec: CardSpec,
    wanted: Wanted,
    make: Make,
    tell: Box<dyn FnMut(News) + Send>,
    xruns: Arc<AtomicU64>,
    waiting: Waiting,
}

impl Keeper {
    fn run(mut self, ends: &Receiver<()>) {
        let begin = Instant::now();
        let mut card: Option<Card> = None;
        let mut counted = 0;
        loop {
            let now_us = begin.elapsed().as_micros() as u64;
            match &mut card {
                None => {
                    let spec = self.waiting.spec(&self.spec, now_us);
                    let mut has_made = false;
                    let mut make = |card: &CardInfo| {
                        has_made = true;
                        (self.make)(card)
                    };
                    match open(&spec, self.wanted, &mut make) {
                        Ok(opened) => {
                            self.waiting.on_open();
                            (self.tell)(News::Open(opened.info().clone()));
                            (card, counted) = (Some(opened), 0);
                        }
                        Err(error) => {
                            self.waiting.on_failed(has_made);
                            self.without(&error.to_string());
                        }
                    }
                }
                Some(open) => {
                    let change = open.poll(now_us);
                    self.xruns.fetch_add(open.xruns().saturating_sub(counted), Ordering::Relaxed);
                    counted = open.xruns();
                    match change {
                        None => {}
                        Some(Change::Period(frames)) => (self.tell)(News::Period(frames)),
                        Some(Change::Gone(why)) => {
                            self.waiting.on_gone(open.info().backend, now_us);
                            if open.is_too_short() {
                                self.wanted.frames = longer(open.info().period_frames);
                            }
                            // Told first: a driver may take its time to close.
                            self.without(why);
                            card = None;
                        }
                    }
                }
            }
            let wait = if card.is_some() { LOOK } else { self.waiting.wait() };
            match ends.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn without(&mut self, why: &str) {
        if self.waiting.is_new(why) {
            (self.tell)(News::Without(why.to_owned()));
        }
    }
}

/// Returns the period to ask for where one of `frames` is too short for the card.
fn longer(frames: u32) -> u32 {
    frames.max((2 * frames).min(LONGEST))
}

/// Knowledge while there is no card. Pure: time is handed in.
#[derive(Debug, Default)]
struct Waiting {
    told: Option<String>,
    /// Attempts that failed one after another with halves that had been made.
    failed: u32,
    /// Attempts that found no card, one after another.
    found_none: u32,
    jack_until_us: Option<u64>,
}

impl Waiting {
    /// Returns what is to be opened now.
    fn spec(&self, asked: &CardSpec, now_us: u64) -> CardSpec {
        match (asked, self.jack_until_us) {
            (CardSpec::Auto, Some(until_us)) if now_us < until_us => CardSpec::Jack(None),
            _ => asked.clone(),
        }
    }

    /// Notes an attempt that failed. `has_made`: halves had been made for it, which others have taken notice of.
    fn on_failed(&mut self, has_made: bool) {
        (self.failed, self.found_none) = match has_made {
            true => ((self.failed + 1).min(FAILED_SOON + HALVED_MAX), 0),
            false => (0, self.found_none.saturating_add(1)),
        };
    }

    /// Returns the time until the next attempt.
    fn wait(&self) -> Duration {
        match self.found_none > NONE_SOON {
            true => LOOK * NONE_LATER,
            false => LOOK * (1 << self.failed.saturating_sub(FAILED_SOON)),
        }
    }

    fn on_open(&mut self) {
        *self = Self::default();
    }

    fn on_gone(&mut self, backend: Backend, now_us: u64) {
        self.jack_until_us = (backend == Backend::Jack).then_some(now_us + JACK_AWAITED_US);
    }

    fn is_new(&mut self, why: &str) -> bool {
        let is_new = self.told.as_deref() != Some(why);
        self.told = Some(why.to_owned());
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_goes_is_awaited_before_another_card_is_taken() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.spec(&CardSpec::Auto, 0), CardSpec::Auto);
        waiting.on_gone(Backend::Jack, 5_000_000);
        assert_eq!(waiting.spec(&CardSpec::Auto, 14_999_999), CardSpec::Jack(None));
        assert_eq!(waiting.spec(&CardSpec::Auto, 15_000_000), CardSpec::Auto);
        let named = CardSpec::Jack(Some("a".to_owned()));
        assert_eq!(waiting.spec(&named, 6_000_000), named);
        waiting.on_gone(Backend::Alsa, 16_000_000);
        assert_eq!(waiting.spec(&CardSpec::Auto, 16_000_000), CardSpec::Auto);
    }

    #[test]
    fn halves_are_made_in_vain_more_and_more_rarely() {
        let mut waiting = Waiting::default();
        let mut after = |has_made| {
            waiting.on_failed(has_made);
            waiting.wait().as_millis()
        };
        assert_eq!([false, false].map(&mut after), [100, 100], "a server that does not answer is soon there");
        assert_eq!([true; 10].map(&mut after), [100, 100, 100, 100, 200, 400, 800, 1600, 1600, 1600]);
        assert_eq!(after(false), 100);
    }

    #[test]
    fn where_there_has_been_no_card_for_seconds_it_is_looked_for_twice_a_second() {
        let mut waiting = Waiting::default();
        let mut after = |failed: u32| {
            (0..failed).for_each(|_| waiting.on_failed(false));
            waiting.wait().as_millis()
        };
        assert_eq!([after(50), after(1), after(1_000)], [100, 500, 500]);
        waiting.on_failed(true);
        assert_eq!(waiting.wait().as_millis(), 100, "a server has come");
        waiting.on_open();
        waiting.on_failed(false);
        assert_eq!(waiting.wait().as_millis(), 100, "it has just gone");
    }

    #[test]
    fn a_server_that_is_ready_within_a_second_is_found_soon() {
        for ready_ms in 0..=1_000 {
            let (mut waiting, mut now_ms) = (Waiting::default(), 0);
            while now_ms < ready_ms {
                waiting.on_failed(true);
                now_ms += waiting.wait().as_millis();
            }
            assert!(now_ms - ready_ms < 400, "ready after {ready_ms} ms, found after {now_ms}");
        }
    }

    #[test]
    fn a_period_that_is_too_short_becomes_longer_and_none_shorter() {
        assert_eq!([64, 256, 1024, 2048, 8192].map(longer), [128, 512, 2048, 2048, 8192]);
    }

    #[test]
    fn each_reason_is_told_once() {
        let mut waiting = Waiting::default();
        let told = ["gone", "no server", "no server", "rate", "rate", "no server"].map(|why| waiting.is_new(why));
        assert_eq!(told, [true, true, false, true, false, true]);
    }
}
