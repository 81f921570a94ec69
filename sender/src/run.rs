//! `run`: sends until there is nothing more to send.

use calling::{Audience, Sound};
use common::config::SenderConfig;
use common::path::Directions;
use common::stream::video::VIDEO;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{LiveRate, Streams, Waker};
use net::tls::Protocol;
use sending::source::SourceSpec;
use sending::{Sending, Start};
use shell::control;
use shell::sd::Watchdog;
use shell::settings::OwnSide;
use shell::signals;
use shell::sound::{Role, hurry};

/// Streams until the source ends, `frames_max` frames are coded, or a signal comes; if there is such an end, also until
/// the receiver is done.
pub(crate) fn run(config: &SenderConfig, spec: &SourceSpec, frames_max: Option<u64>) -> Result<(), Failure> {
    let waker = Waker::default();
    let own = OwnSide::new(config.rate, config.rate_most, config.effects);
    let rate = LiveRate::new(config.rate);
    let mut audience = Audience::start(config, 1, &own, &rate)?;
    let sound_tap = audience.as_mut().and_then(Audience::sound);
    let mut sound = Sound::start(&config.shared, &waker, false, config.record.is_some(), sound_tap)?;
    let side = sound.as_ref().map(|sound| sound.audible().side.clone());
    let start = Start { frames_max, receives: false, sound: side, rate, ..Start::new(config, &waker, &own) };
    let mut sending = Sending::from_spec(config, spec, start)?;
    let mut settings = own.settings();
    settings.extend(sound.iter().flat_map(|sound| sound.audible().side.settings()));
    let _control = control::serve("sender", &config.shared, settings);
    let options = sending.options(config, Protocol::Call)?;
    sending.link.feed_watchdog(Watchdog::ready(vec![sending.pulse.clone()]));
    if let Some(sound) = &mut sound {
        hurry(Role::Network);
        sound.record(Default::default(), sending.link.recording());
    }
    let call = Streams::new(Directions::Sends, config.rate);
    let call = sound.iter_mut().fold(call, |call, sound| sound.join(call));
    let call = call.with(StreamId::sent(VIDEO), &mut sending.link);
    let linked = net::link::run(options, &waker, &mut [call]);
    signals::end_within(signals::END_MAX);
    sending.link.report_final();
    let ended = sending.threads.end(linked).and(sound.map_or(Ok(()), Sound::end));
    ended.and(audience.map_or(Ok(()), Audience::end))
}
