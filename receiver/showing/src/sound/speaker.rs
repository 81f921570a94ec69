//! The card's callback that plays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use cards::{CardInfo, Playback};
use net::failure::Failure;
use rtrb::{Consumer, RingBuffer};
use shell::settings::SoundSide;
use shell::sound::{Role, hurry};
use shell::threads::{Ending, join, spawn};
use sound::click::{Click, Tempo};
use sound::conceal::Concealer;
use sound::format::{CHANNELS_MAX, Channels};
use sound::own::Own;
use sound::playout::{self, Playout, Receiving};
use sound::tone::Tone;
use sound::{Cycle, RATE_HZ};

use super::ear::{Ear, Hearing};
use super::link::{Ends, HearingLink};

/// Changes of the click that wait for the callback.
const TEMPI: usize = 8;
/// Time between two looks of the worker at what was heard: it computes anew each 512 samples.
const WORK_EACH: Duration = Duration::from_millis(10);

/// Makes the callback's half for each card that is opened.
pub struct Speaker {
    ends: Sender<Ends>,
    concealers: Sender<Concealer>,
    hearing: Hearing,
    side: SoundSide,
}

/// The thread that computes what the callback conceals with, and its end.
pub struct Worker {
    thread: Ending,
    is_over: Arc<AtomicBool>,
}

impl Speaker {
    /// Starts the worker's thread. Returns what gives each card its callback, and the link that feeds it.
    pub fn start(side: &SoundSide) -> Result<(Self, HearingLink, Worker), Failure> {
        let (ends, ends_end) = channel();
        let (concealers, concealers_end) = channel();
        let hearing = Hearing::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = spawn("conceal", {
            let is_over = Arc::clone(&is_over);
            move || {
                work(&concealers_end, &is_over);
                Ok(())
            }
        })?;
        let link = HearingLink::new(ends_end, hearing.clone(), side.clone());
        Ok((Self { ends, concealers, hearing, side: side.clone() }, link, Worker { thread, is_over }))
    }

    /// Returns what a card calls that has been opened; the one before is heard no more.
    /// `own`: what the same machine captures.
    pub fn half(&self, card: &CardInfo, own: Option<Own>) -> Box<dyn Playback> {
        let Receiving { feed, playout, concealer, observed, controls } = playout::new();
        controls.set_volume(self.side.volume());
        self.hearing.set(Ear { observed, controls, output_latency_frames: card.output_latency_frames });
        // Threads that have ended take none.
        let (tempi, tempi_end) = RingBuffer::new(TEMPI);
        let _ = self.ends.send(Ends { feed, tempi });
        let _ = self.concealers.send(concealer);
        Box::new(Half {
            playout,
            channels: card.playback.map_or(CHANNELS_MAX, Channels::count),
            tempi: tempi_end,
            click: Click::default(),
            tone: Tone::default(),
            own,
            side: self.side.clone(),
            hearing: self.hearing.clone(),
            latency_us: u64::from(card.output_latency_frames) * 1_000_000 / u64::from(RATE_HZ),
        })
    }
}

impl Worker {
    /// Ends the thread.
    pub fn end(self) -> Result<(), Failure> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        join(self.thread)
    }
}

fn work(concealers: &Receiver<Concealer>, is_over: &AtomicBool) {
    hurry(Role::Sound);
    let mut concealer: Option<Concealer> = None;
    while !is_over.load(Ordering::Relaxed) {
        if let Some(newer) = concealers.try_iter().last() {
            concealer = Some(newer);
        }
        match &mut concealer {
            Some(concealer) => {
                concealer.work();
                thread::park_timeout(WORK_EACH);
            }
            // A card opens at its leisure.
            None => thread::park_timeout(10 * WORK_EACH),
        }
    }
}

struct Half {
    playout: Playout,
    channels: usize,
    tempi: Consumer<Option<Tempo>>,
    click: Click,
    tone: Tone,
    own: Option<Own>,
    side: SoundSide,
    hearing: Hearing,
    /// From the callback to the air.
    latency_us: u64,
}

impl Playback for Half {
    fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
        self.playout.play(samples, self.channels, cycle);
        while let Ok(tempo) = self.tempi.pop() {
            self.click.set(tempo);
        }
        let air_us = cycle.us + self.latency_us;
        if let Some(own) = &mut self.own {
            own.add(samples, self.channels, air_us, self.side.own_delay_us());
        }
        self.click.add(samples, self.channels, air_us);
        let tone_hz = self.side.tone_hz().filter(|_| !self.side.is_further());
        self.tone.add(tone_hz, samples, self.channels);
        // All together are no louder than full scale.
        samples.iter_mut().for_each(|sample| *sample = sample.clamp(-1.0, 1.0));
    }
}

/// A card is closed on a thread that may wait, before another is opened.
impl Drop for Half {
    fn drop(&mut self) {
        self.hearing.clear();
    }
}
