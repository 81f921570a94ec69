//! The sound of a call, as the window shows and steers it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use common::stats::SoundSentCounts;
use common::wire::control::Click;
use net::clock;
use net::lock::lock;
use sound::level::Level;

use crate::control::Setting;

/// Most volume of the other side, per cent.
const VOLUME_PERCENT_MAX: u32 = 400;
/// Beats of a bar where none are said.
const BEATS: u8 = 4;
/// Tempo of a click of which nobody has said more.
const TEMPO_MBPM: u32 = 120_000;

/// Shared by the window and both halves; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SoundSide(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    is_muted: AtomicBool,
    level: AtomicU8,
    volume_percent: AtomicU32,
    click: Mutex<Option<Click>>,
    click_there: Mutex<Option<Click>>,
    card: Mutex<Option<String>>,
    sent: Mutex<SoundSentCounts>,
    received: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            is_muted: AtomicBool::new(false),
            level: AtomicU8::new(Level::SILENCE.0),
            volume_percent: AtomicU32::new(100),
            click: Mutex::default(),
            click_there: Mutex::default(),
            card: Mutex::default(),
            sent: Mutex::default(),
            received: AtomicU64::default(),
        }
    }
}

impl SoundSide {
    /// Returns true while the own microphone is muted.
    pub fn is_muted(&self) -> bool {
        self.0.is_muted.load(Ordering::Relaxed)
    }

    /// Mutes the own microphone, or opens it.
    pub fn set_muted(&self, is_muted: bool) {
        self.0.is_muted.store(is_muted, Ordering::Relaxed);
    }

    /// Takes the level of what the own microphone gives.
    pub fn set_level(&self, level: Level) {
        self.0.level.store(level.0, Ordering::Relaxed);
    }

    /// Returns the level of what the own microphone gives.
    pub fn level(&self) -> Level {
        Level(self.0.level.load(Ordering::Relaxed))
    }

    /// Returns the gain of the other side's sound.
    pub fn volume(&self) -> f32 {
        self.0.volume_percent.load(Ordering::Relaxed) as f32 / 100.0
    }

    /// Asks for a volume of the other side, per cent; returns it, none if it is too much.
    pub fn set_volume_percent(&self, percent: u32) -> Option<u32> {
        (percent <= VOLUME_PERCENT_MAX).then(|| {
            self.0.volume_percent.store(percent, Ordering::Relaxed);
            percent
        })
    }

    /// Asks for ten per cent more or less; returns what holds then.
    pub fn step_volume(&self, up: bool) -> u32 {
        let now = self.0.volume_percent.load(Ordering::Relaxed);
        let wanted = if up { (now + 10).min(VOLUME_PERCENT_MAX) } else { now.saturating_sub(10) };
        self.0.volume_percent.store(wanted, Ordering::Relaxed);
        wanted
    }

    /// Returns the click of this machine's clock that both hear; none: no click.
    pub fn click(&self) -> Option<Click> {
        *lock(&self.0.click)
    }

    /// Sets it.
    pub fn set_click(&self, click: Option<Click>) {
        *lock(&self.0.click) = click;
    }

    /// Switches the own click on, at 120 beats a minute, or off; returns its beats a minute, none: off.
    pub fn switch_click(&self) -> Option<f64> {
        let mut click = lock(&self.0.click);
        *click = match *click {
            Some(_) => None,
            None => Some(Click { tempo_mbpm: TEMPO_MBPM, beats: BEATS, start: clock::now() }),
        };
        click.map(|click| f64::from(click.tempo_mbpm) / 1e3)
    }

    /// Returns the click of the other machine's clock that both hear; none: no click.
    pub fn click_there(&self) -> Option<Click> {
        *lock(&self.0.click_there)
    }

    /// Sets it, as the other machine says.
    pub fn set_click_there(&self, click: Option<Click>) {
        *lock(&self.0.click_there) = click;
    }

    /// Sets what is to be said of the card; none: it works, or none is wanted.
    pub fn say_of_card(&self, words: Option<String>) {
        *lock(&self.0.card) = words;
    }

    /// Returns what is to be said of the card.
    pub fn card_said(&self) -> Option<String> {
        lock(&self.0.card).clone()
    }

    /// Takes what is counted of the sound that is sent.
    pub fn set_sent(&self, counts: SoundSentCounts) {
        *lock(&self.0.sent) = counts;
    }

    /// Returns what is counted of the sound that is sent.
    pub fn sent(&self) -> SoundSentCounts {
        *lock(&self.0.sent)
    }

    /// Takes the number of packets that have come.
    pub fn set_received(&self, packets: u64) {
        self.0.received.store(packets, Ordering::Relaxed);
    }

    /// Returns the number of packets that have come.
    pub fn received(&self) -> u64 {
        self.0.received.load(Ordering::Relaxed)
    }

    /// Returns the settings that change it.
    pub fn settings(&self) -> Vec<Setting> {
        let (muted, volume, click) = (self.clone(), self.clone(), self.clone());
        let set_muted = move |value: &str| {
            let is_muted = ["off", "on"].iter().position(|word| *word == value)? == 1;
            muted.set_muted(is_muted);
            Some(if is_muted { "the microphone is muted" } else { "the microphone is open" }.to_owned())
        };
        let set_volume = move |value: &str| {
            let percent = volume.set_volume_percent(value.parse().ok()?)?;
            Some(format!("the other side is played at {percent} %"))
        };
        let set_click = move |value: &str| {
            if value == "off" {
                click.set_click(None);
                return Some("no click".to_owned());
            }
            let (tempo, beats) = value.split_once('/').unwrap_or((value, ""));
            let beats = if beats.is_empty() { BEATS } else { beats.parse().ok()? };
            let tempo_mbpm = tempo.parse::<f64>().ok().map(|tempo| (tempo * 1000.0).round() as u32)?;
            let is_sane = Click::TEMPI_MBPM.contains(&tempo_mbpm) && Click::BEATS.contains(&beats);
            is_sane.then(|| {
                click.set_click(Some(Click { tempo_mbpm, beats, start: clock::now() }));
                format!("both hear {tempo} beats a minute, {beats} to a bar")
            })
        };
        vec![
            Setting { key: "sound.mute", takes: "on or off".to_owned(), set: Box::new(set_muted) },
            Setting {
                key: "sound.volume",
                takes: format!("0 to {VOLUME_PERCENT_MAX} per cent"),
                set: Box::new(set_volume),
            },
            Setting {
                key: "sound.click",
                takes: "20 to 400 beats a minute, /BEATS of a bar, or off".to_owned(),
                set: Box::new(set_click),
            },
        ]
    }
}
