//! `doctor`'s line about the sound card.

use std::thread::sleep;
use std::time::Duration;

use cards::{CardError, CardInfo, CardSpec, Change, Halves, Playback, Wanted, open};
use kernels::apart::{self, Patience};
use sound::Cycle;
use sound::format::Channels;

use super::check::{Check, Status};

/// Time for which the card runs.
const RUN: Duration = Duration::from_millis(500);
/// Frames of a period that are asked for.
const FRAMES: u32 = 128;
/// Frames of a period above which musicians feel the delay: 10.7 ms.
const FRAMES_MUCH: u32 = 512;
/// Late periods in that time that another program may cause by the way.
const XRUNS_FEW: u64 = 1;

/// Opens the card and lets it run for a moment, in silence.
pub fn card(spec: &CardSpec) -> Check {
    if *spec == CardSpec::None {
        return Check::new(NAME, Status::Ok, "none is wanted", None);
    }
    let spec = spec.clone();
    // A driver may hold the thread.
    match apart::once("card", Patience::OPEN, move || run(&spec)) {
        Ok(found) => judged(found),
        Err(lost) => {
            let advice = "unplug the card and plug it in again, or start its server anew";
            Check::new(NAME, Status::Warn, format!("the sound card: {lost}"), Some(advice.to_owned()))
        }
    }
}

const NAME: &str = "sound card";

/// The card as it was when it ran.
struct Ran {
    info: CardInfo,
    periods: u64,
    xruns: u64,
    gone: Option<&'static str>,
}

fn run(spec: &CardSpec) -> Result<Ran, CardError> {
    let wanted = Wanted { frames: FRAMES, capture: Some(Channels::Stereo), playback: Some(Channels::Stereo) };
    let mut make = |_: &CardInfo| Halves { capture: Some(Box::new(Silent)), playback: Some(Box::new(Silent)) };
    let mut card = open(spec, wanted, &mut make)?;
    sleep(RUN);
    let mut info = card.info().clone();
    let gone = match card.poll(0) {
        Some(Change::Gone(why)) => Some(why),
        Some(Change::Period(frames)) => {
            info.period_frames = frames;
            None
        }
        None => None,
    };
    Ok(Ran { info, periods: card.periods(), xruns: card.xruns(), gone })
}

fn judged(found: Result<Ran, CardError>) -> Check {
    let warn = |detail: String, advice: &str| Check::new(NAME, Status::Warn, detail, Some(advice.to_owned()));
    let Ran { info, periods, xruns, gone } = match found {
        Ok(ran) => ran,
        Err(error) => return warn(format!("{error}"), "a call goes on without sound; `sender devices` lists cards"),
    };
    let detail = info.to_string();
    if let Some(why) = gone {
        return warn(format!("{detail}: {why}"), "plug it in again, or start its server anew");
    }
    if periods == 0 {
        return warn(format!("{detail}: it does not run"), "end other programs that use it, or start its server anew");
    }
    if xruns > XRUNS_FEW {
        let advice = "give sound real-time priority (the line above), end other programs, or take longer periods";
        return warn(format!("{detail}: {xruns} of {periods} periods came too late"), advice);
    }
    if info.period_frames >= FRAMES_MUCH {
        let advice = "take 128: `jackd -p 128`; PipeWire is asked for it, and `pw-metadata -n settings` shows what it is held to \
                      (clock.force-quantum 0: nothing; clock.min-quantum at most 128)";
        return warn(format!("{detail}: musicians feel that delay"), advice);
    }
    Check::new(NAME, Status::Ok, detail, None)
}

/// Plays silence and hears nothing.
struct Silent;

impl cards::Capture for Silent {
    fn capture(&mut self, _samples: &[f32], _cycle: Cycle) {}
}

impl Playback for Silent {
    fn play(&mut self, samples: &mut [f32], _cycle: Cycle) {
        samples.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use cards::Backend;

    use super::*;

    #[test]
    fn a_card_is_judged_by_how_it_ran() {
        let line = |period_frames, periods, xruns, gone| {
            let info = CardInfo {
                backend: Backend::Jack,
                name: "jack:system".to_owned(),
                rate_hz: 48_000,
                period_frames,
                capture: None,
                playback: None,
                input_latency_frames: 0,
                output_latency_frames: 0,
            };
            let check = judged(Ok(Ran { info, periods, xruns, gone }));
            (check.status, check.detail)
        };
        let good = "jack:system, 48000 Hz, periods of 64 frames (1.3 ms)";
        assert_eq!(line(64, 375, 0, None), (Status::Ok, good.to_owned()));
        assert_eq!(line(256, 94, 1, None).0, Status::Ok);
        for (frames, periods, xruns, gone, says) in [
            (64, 0, 0, None, "does not run"),
            (64, 300, 20, None, "20 of 300"),
            (1024, 20, 0, None, "feel"),
            (64, 10, 0, Some("the JACK server has ended"), "has ended"),
        ] {
            let (status, detail) = line(frames, periods, xruns, gone);
            assert!(status == Status::Warn && detail.contains(says), "{detail}");
        }
        let check = judged(Err(CardError::NoJackServer));
        assert!(check.status == Status::Warn && check.detail.contains("no JACK server"), "{check:?}");
        assert_eq!(card(&CardSpec::None).status, Status::Ok);
    }
}
