//! The sound card on trial, outside of calls: how loud its microphone is, and a tone from its speakers.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use cards::keep::{Kept, News};
use cards::{Capture, CardInfo, CardSpec, Halves, Playback, Wanted};
use common::config::SharedConfig;
use net::lock::lock;
use sound::Cycle;
use sound::format::{CHANNELS_MAX, Channels};
use sound::level::Level;
use sound::tone::Tone;

/// The tone that is played, hertz.
const HZ: f64 = 440.0;

/// A card on trial, which is open until this is dropped.
pub(crate) struct Trial {
    shared: Arc<Shared>,
    _kept: Kept,
}

/// Shared with the card's callback and its thread.
struct Shared {
    /// The loudest since the last look, as [`Level`] has it: the least number.
    level: AtomicU8,
    sounds: AtomicBool,
    standing: Mutex<Standing>,
}

/// State of the card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// True while it is open.
    pub(crate) is_open: bool,
    /// Why it is not.
    pub(crate) trouble: Option<String>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { level: AtomicU8::new(Level::SILENCE.0), sounds: AtomicBool::new(false), standing: Mutex::default() }
    }
}

impl Trial {
    /// Opens the configured card; none if there is to be no sound.
    pub(crate) fn begin(config: &SharedConfig) -> Option<Self> {
        let spec = shell::sound::spec(config).ok().filter(|spec| *spec != CardSpec::None)?;
        let wanted = Wanted {
            frames: config.sound.period.into(),
            capture: Some(config.sound.channels),
            playback: Some(Channels::Stereo),
        };
        let shared = Arc::<Shared>::default();
        let (at_card, at_news) = (Arc::clone(&shared), Arc::clone(&shared));
        let make = move |card: &CardInfo| Halves {
            capture: Some(Box::new(Meter(Arc::clone(&at_card)))),
            playback: Some(Box::new(Sounding {
                shared: Arc::clone(&at_card),
                tone: Tone::default(),
                channels: card.playback.map_or(CHANNELS_MAX, Channels::count),
            })),
        };
        let tell = move |news| {
            let standing = match news {
                News::Open(_) => Standing { is_open: true, trouble: None },
                News::Without(why) => Standing { is_open: false, trouble: Some(why) },
                News::Period(_) => return,
            };
            *lock(&at_news.standing) = standing;
        };
        let kept = Kept::start(spec, wanted, Box::new(make), Box::new(tell)).ok()?;
        Some(Self { shared, _kept: kept })
    }

    /// Returns the loudest since the last call.
    pub(crate) fn level(&self) -> Level {
        Level(self.shared.level.swap(Level::SILENCE.0, Ordering::Relaxed))
    }

    /// Returns how the card stands.
    pub(crate) fn standing(&self) -> Standing {
        lock(&self.shared.standing).clone()
    }

    /// Begins or ends a tone.
    pub(crate) fn sound(&self, sounds: bool) {
        self.shared.sounds.store(sounds, Ordering::Relaxed);
    }
}

/// The capturing half.
struct Meter(Arc<Shared>);

impl Capture for Meter {
    fn capture(&mut self, samples: &[f32], _: Cycle) {
        let peak = samples.iter().fold(0.0_f32, |peak, sample| peak.max(sample.abs()));
        self.0.level.fetch_min(Level::of(peak).0, Ordering::Relaxed);
    }
}

/// The playing half.
struct Sounding {
    shared: Arc<Shared>,
    tone: Tone,
    channels: usize,
}

impl Playback for Sounding {
    fn play(&mut self, samples: &mut [f32], _: Cycle) {
        samples.fill(0.0);
        let hz = self.shared.sounds.load(Ordering::Relaxed).then_some(HZ);
        self.tone.add(hz, samples, self.channels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: Cycle = Cycle { frame: 0, us: 0 };

    #[test]
    fn the_loudest_since_the_last_look_is_shown_and_a_tone_sounds_while_it_is_wanted() {
        let shared = Arc::<Shared>::default();
        let mut meter = Meter(Arc::clone(&shared));
        for samples in [[0.1, -0.5], [0.2, 0.0]] {
            meter.capture(&samples, CYCLE);
        }
        let look = || Level(shared.level.swap(Level::SILENCE.0, Ordering::Relaxed));
        assert_eq!([look(), look()], [Level::of(0.5), Level::SILENCE]);
        let mut sounding = Sounding { shared: Arc::clone(&shared), tone: Tone::default(), channels: 2 };
        let mut heard = |sounds: bool| {
            shared.sounds.store(sounds, Ordering::Relaxed);
            let mut samples = [1.0; 4800];
            sounding.play(&mut samples, CYCLE);
            samples
        };
        assert!(heard(false).iter().all(|sample| *sample == 0.0));
        assert!(heard(true).iter().any(|sample| *sample > 0.05));
        heard(false);
        assert!(heard(false).iter().all(|sample| *sample == 0.0));
    }
}
