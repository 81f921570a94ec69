//! A card that is kept open: on a thread of its own, which opens it anew when it or its server has gone and come back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::card::{Card, Change, open};
use crate::halves::{Halves, Wanted};
use crate::info::{Backend, CardInfo};
use crate::spec::CardSpec;

/// Time between two looks at a card, or two attempts to open it.
const LOOK: Duration = Duration::from_millis(100);
/// `auto` waits so long for the JACK server that it had before it takes ALSA: a card that is taken meanwhile would keep the server
/// from starting anew.
const JACK_AWAITED_US: u64 = 10_000_000;
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
                    match open(&spec, self.wanted, &mut self.make) {
                        Ok(opened) => {
                            self.waiting.on_open();
                            (self.tell)(News::Open(opened.info().clone()));
                            (card, counted) = (Some(opened), 0);
                        }
                        Err(error) => self.without(&error.to_string()),
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
                            card = None;
                            self.without(why);
                        }
                    }
                }
            }
            match ends.recv_timeout(LOOK) {
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

/// Knowledge while there is no card. Pure: time is handed in.
#[derive(Debug, Default)]
struct Waiting {
    told: Option<String>,
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
    fn each_reason_is_told_once() {
        let mut waiting = Waiting::default();
        let told = ["gone", "no server", "no server", "rate", "rate", "no server"].map(|why| waiting.is_new(why));
        assert_eq!(told, [true, true, false, true, false, true]);
    }
}
