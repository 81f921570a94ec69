//! The sound card of a program.

use std::sync::Once;

use cards::keep::{Kept, Make, News};
pub use cards::priority::Role;
use cards::{CardSpec, Wanted, priority};
use common::config::{SharedConfig, SoundConfig};
use net::failure::Failure;
use net::limited;
use sound::format::Channels;

use crate::settings::SoundSide;

/// Returns the card that the configuration names, or says what is wrong with it.
pub fn spec(shared: &SharedConfig) -> Result<CardSpec, Failure> {
    let wrong = |error| Failure::usage(format!("[sound] card: {error}"));
    shared.sound.card.parse().map_err(wrong)
}

/// Gives this thread the real-time priority of its role, if it may have it. Where not, that is told once: `doctor` says what allows it.
pub fn hurry(role: Role) {
    static REFUSED: Once = Once::new();
    if let Err(refused) = priority::raise(role) {
        REFUSED.call_once(|| tracing::warn!("{refused}"));
    }
}

/// Keeps the card open for as long as the returned value is there. What it lacks is told and costs the sound, not the call. `captures`,
/// `plays`: what `make` gives a half for.
pub fn keep(
    spec: CardSpec,
    config: &SoundConfig,
    (captures, plays): (bool, bool),
    make: Make,
    side: &SoundSide,
) -> Result<Kept, Failure> {
    let wanted = Wanted {
        frames: config.period.into(),
        capture: captures.then_some(config.channels),
        playback: plays.then_some(Channels::Stereo),
    };
    let side = side.clone();
    // Where any card will do and none ever was, there is nothing to repair.
    let mut is_missed = spec != CardSpec::Auto;
    let tell = move |news| match news {
        News::Open(card) => {
            tracing::info!("sound: {card}");
            side.say_of_card(None);
            is_missed = true;
        }
        News::Period(frames) => limited!(info, "the sound card's periods have {frames} frames from now on"),
        News::Without(why) => {
            limited!(warn, "without sound: {why}");
            if is_missed {
                side.say_of_card(Some(why));
            }
        }
    };
    let kept = Kept::start(spec, wanted, make, Box::new(tell));
    kept.map_err(|error| Failure::device(format!("the card thread cannot be started: {error}")))
}
