//! An open card, and what happens to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sound::RATE_HZ;

use crate::alsa_streams::{self, Streams};
use crate::error::CardError;
use crate::halves::{Halves, Wanted};
use crate::info::{Backend, CardInfo, Shared};
use crate::jack_client::{self, JackClient};
use crate::listed::Listed;
use crate::priority::{Role, raise_thread};
use crate::spec::CardSpec;

/// A card that has called for nothing for so long is gone, us: for its first period, and for each other one. PipeWire ends without a
/// word to its clients. A hanging driver never comes back.
const SILENT_US: (u64, u64) = (1_000_000, 500_000);
/// Most that counts between two looks, us: a computer that stood still has not looked.
const LOOK_US_MAX: u64 = 200_000;
/// Late periods from which on one that falls silent has periods that are too short for its driver.
const XRUNS_MANY: u64 = 10;
/// Time over which a card's periods are counted, us.
const COUNTED_US: u64 = 1_000_000;
/// Part of its frames that a card serves at least whose periods are long enough for its driver.
const SERVED: f64 = 0.8;
/// Times one after another that it serves less, after which they are too short: a computer that stands still is no driver.
const SLOW_MANY: u32 = 2;
/// Longest period that is asked for where shorter ones come too late, frames.
pub(crate) const LONGEST: u32 = 2048;
/// ALSA's device of a user who has named none.
const DEFAULT: &str = "default";

/// Change of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its period is another from now on, frames; the halves have got it already.
    Period(u32),
    /// It is gone, and why, as a sentence: it is to be dropped and opened anew.
    Gone(&'static str),
}

/// An open card. Dropping it closes it and drops the halves.
pub struct Card {
    info: CardInfo,
    shared: Arc<Shared>,
    backend: Opened,
    period_frames: u32,
    /// Of capture and playback, which are two streams on some cards.
    watched: [Watched; 2],
}

enum Opened {
    Jack(JackClient),
    Alsa(Streams),
}

/// Opens a card and starts it. `make` makes the halves when it is known what the card is; it may be called again for another card.
pub fn open(spec: &CardSpec, wanted: Wanted, make: &mut dyn FnMut(&CardInfo) -> Halves) -> Result<Card, CardError> {
    match spec {
        CardSpec::Auto => match Card::jack(None, wanted, make) {
            Err(
                no_jack @ (CardError::NoJackServer
                | CardError::NoJackLibrary
                | CardError::NoSharedMemory
                | CardError::JackHangs),
            ) => Card::alsa(DEFAULT, wanted, make)
                .map_err(|no_alsa| CardError::Neither { no_jack: no_jack.to_string(), no_alsa: no_alsa.to_string() }),
            // A server that is there and refuses has the card.
            jack => jack,
        },
        CardSpec::Jack(name) => Card::jack(name.as_deref(), wanted, make),
        CardSpec::Alsa(name) => Card::alsa(name, wanted, make),
        CardSpec::None => Err(CardError::NotWanted),
    }
}

/// Returns the cards: those of a JACK server, if one answers, and ALSA's. It opens each for a moment.
pub fn list() -> Vec<Listed> {
    let mut cards = jack_client::list();
    cards.extend(alsa_streams::list());
    cards
}

impl Card {
    fn jack(name: Option<&str>, wanted: Wanted, make: &mut dyn FnMut(&CardInfo) -> Halves) -> Result<Self, CardError> {
        let (info, shared, client) = jack_client::open(name, wanted, make)?;
        Ok(Self::new(info, shared, Opened::Jack(client)))
    }

    fn alsa(name: &str, wanted: Wanted, make: &mut dyn FnMut(&CardInfo) -> Halves) -> Result<Self, CardError> {
        let (info, shared, streams) = alsa_streams::open(name, wanted, make)?;
        Ok(Self::new(info, shared, Opened::Alsa(streams)))
    }

    fn new(info: CardInfo, shared: Arc<Shared>, backend: Opened) -> Self {
        Self { period_frames: info.period_frames, info, shared, backend, watched: Default::default() }
    }

    /// Returns what it was when it was opened.
    pub fn info(&self) -> &CardInfo {
        &self.info
    }

    /// Returns how many periods came too late since it was opened, as its driver says.
    pub fn xruns(&self) -> u64 {
        self.shared.xruns.load(Ordering::Relaxed)
    }

    /// Returns true if so many periods came too late that longer ones are needed.
    pub(crate) fn is_too_short(&self) -> bool {
        self.info.backend == Backend::Alsa && (self.xruns() >= XRUNS_MANY || self.is_slow())
    }

    /// Returns true if it serves much less than its rate, though it does not say that anything was late, and it has longer periods,
    /// which may help.
    fn is_slow(&self) -> bool {
        let Opened::Alsa(streams) = &self.backend else { return false };
        self.info.period_frames < streams.longest_frames.min(LONGEST)
            && self.watched.iter().any(|watched| watched.slow >= SLOW_MANY)
    }

    /// Returns how many periods it has served.
    pub fn periods(&self) -> u64 {
        self.shared.captured.load(Ordering::Relaxed).max(self.shared.played.load(Ordering::Relaxed))
    }

    /// Ties own outputs with own inputs, so that what is played is captured one period later. Returns false where the way to the
    /// card has no ties, as ALSA, which needs a cable.
    pub fn tie_back(&self) -> bool {
        match &self.backend {
            Opened::Jack(client) => client.tie_back(),
            Opened::Alsa(_) => return false,
        }
        true
    }

    /// Returns what has happened since the last call, and ties ports that came back. `now_us`: any clock that does not jump. To be
    /// called a few times a second, on a thread that may wait.
    pub fn poll(&mut self, now_us: u64) -> Option<Change> {
        if self.shared.gone.load(Ordering::Acquire) {
            return Some(Change::Gone(match self.info.backend {
                Backend::Jack => "the JACK server has ended",
                Backend::Alsa => "the sound card was pulled out, or its driver has ended",
            }));
        }
        let Shared { captured, played, served: [captured_frames, played_frames], .. } = &*self.shared;
        let streams = [(self.info.capture, captured, captured_frames), (self.info.playback, played, played_frames)];
        let mut is_silent = false;
        for (watched, (channels, periods, frames)) in self.watched.iter_mut().zip(streams) {
            is_silent |= channels.is_some() && watched.is_silent(periods.load(Ordering::Relaxed), now_us);
            if channels.is_some() && self.info.backend == Backend::Alsa {
                watched.serve(frames.load(Ordering::Relaxed), now_us);
            }
        }
        if is_silent || self.is_slow() {
            return Some(Change::Gone(match self.is_too_short() {
                true => "the sound card's periods are too short for its driver: all come too late, so take longer ones",
                false => "the sound card calls no more",
            }));
        }
        for thread in &self.shared.not_raised {
            let thread = thread.swap(0, Ordering::AcqRel);
            if thread != 0 {
                // `doctor` says that it is refused.
                let _ = raise_thread(thread, Role::Card);
            }
        }
        if let (Opened::Jack(client), true) = (&self.backend, self.shared.ports_changed.swap(false, Ordering::AcqRel))
            && !client.connect()
        {
            return Some(Change::Gone("the JACK server does not answer"));
        }
        let frames = self.shared.period_frames.load(Ordering::Relaxed);
        if frames != 0 && frames != self.period_frames {
            self.period_frames = frames;
            return Some(Change::Period(frames));
        }
        None
    }
}

/// Finds a card that calls no more, or more rarely than it should.
#[derive(Debug, Default)]
struct Watched {
    periods: u64,
    looked_us: Option<u64>,
    silent_us: u64,
    /// Frames served up to a time.
    counted: Option<(u64, u64)>,
    /// Times one after another that it served less than [`SERVED`].
    slow: u32,
}

impl Watched {
    fn is_silent(&mut self, periods: u64, now_us: u64) -> bool {
        let looked_us = self.looked_us.replace(now_us).unwrap_or(now_us);
        if periods == self.periods {
            self.silent_us += now_us.saturating_sub(looked_us).min(LOOK_US_MAX);
        } else {
            (self.periods, self.silent_us) = (periods, 0);
        }
        self.silent_us >= if periods == 0 { SILENT_US.0 } else { SILENT_US.1 }
    }

    /// Takes how many frames it has served up to now.
    fn serve(&mut self, frames: u64, now_us: u64) {
        let (before, since_us) = *self.counted.get_or_insert((frames, now_us));
        let passed_us = now_us.saturating_sub(since_us);
        if passed_us < COUNTED_US {
            return;
        }
        self.counted = Some((frames, now_us));
        // A computer that stood still has not looked.
        if passed_us > COUNTED_US + LOOK_US_MAX {
            self.slow = 0;
            return;
        }
        let served = frames.saturating_sub(before) as f64 / (passed_us as f64 * f64::from(RATE_HZ) / 1e6);
        self.slow = if served < SERVED { self.slow + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_card_that_stays_silent_is_gone() {
        let mut watched = Watched::default();
        let (mut periods, mut now_us) = (0, 5_000_000);
        let mut after = |more: u64, looks: u64, us: u64| {
            periods += more;
            (0..looks).any(|_| {
                now_us += us;
                watched.is_silent(periods, now_us)
            })
        };
        assert!(!after(0, 10, 100_000), "the first period may take its time");
        assert!(!after(1, 1, 100_000));
        assert!(!after(0, 4, 100_000), "a stall of the card");
        assert!(!after(1, 1, 100_000));
        assert!(!after(0, 2, 3_600_000_000), "the computer has slept twice");
        assert!(!after(1, 1, 100_000));
        assert!(!after(0, 4, 100_000));
        assert!(after(0, 1, 100_000));
        let mut never = Watched::default();
        assert!((0..=10).map(|look| never.is_silent(0, look * 100_000)).eq((0..=10).map(|look| look == 10)));
    }

    /// Whoever opens it anew gets the same, and silence for the time of that.
    #[test]
    fn a_slow_card_is_opened_anew_only_if_it_has_longer_periods() {
        let is_slow = |period_frames, longest_frames, slow| {
            let info = CardInfo {
                backend: Backend::Alsa,
                name: "alsa:default".to_owned(),
                rate_hz: RATE_HZ,
                period_frames,
                capture: None,
                playback: None,
                input_latency_frames: 0,
                output_latency_frames: 0,
            };
            let mut streams = Streams::default();
            streams.longest_frames = longest_frames;
            let mut card = Card::new(info, Arc::default(), Opened::Alsa(streams));
            card.watched[1].slow = slow;
            card.is_slow()
        };
        assert!(is_slow(441, 8192, SLOW_MANY));
        assert!(!is_slow(441, 8192, SLOW_MANY - 1));
        assert!(!is_slow(441, 441, SLOW_MANY), "it has no longer ones");
        assert!(!is_slow(LONGEST, 8192, SLOW_MANY), "longer ones are not asked for");
    }

    /// A driver whose timer is coarser than a card's buffer goes round it unseen, and says of nothing that it was late.
    #[test]
    fn a_card_that_serves_a_third_of_its_rate_for_two_seconds_is_too_slow() {
        let (mut frames, mut now_us) = (0, 5_000_000);
        let mut watched = Watched::default();
        let mut after = |looks: u64, share: f64, us: u64| {
            for _ in 0..looks {
                now_us += us;
                frames += (us as f64 * 0.048 * share) as u64;
                watched.serve(frames, now_us);
            }
            watched.slow
        };
        assert_eq!(after(31, 1.0, 100_000), 0);
        assert_eq!(after(10, 0.33, 100_000), 1, "once is a busy computer");
        assert_eq!(after(10, 0.95, 100_000), 0);
        assert_eq!(after(3, 0.0, 3_600_000_000), 0, "the computer has slept");
        assert_eq!(after(20, 0.33, 100_000), SLOW_MANY);
    }
}
