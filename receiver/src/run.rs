//! `run`: receives until there is nothing more to show.

use std::sync::Arc;

use common::config::{LinkMode, ReceiverConfig, SharedConfig};
use common::path::Directions;
use common::stats::ReceiverReport;
use common::stream::sound::SOUND;
use common::stream::video::VIDEO;
use common::units::Bitrate;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{HangUp, LinkOptions, LiveRate, NOBODY, Streams, Waker};
use net::tls::Protocol;
use shell::cli::INTRODUCE;
use shell::control;
use shell::settings::LatencyLimit;
use shell::sound::{Role, hurry};
use showing::sink::SinkSpec;
use showing::{Network, Shows, run_over};

use crate::sound::Sound;

/// Returns the sentence of a receiver without a peer.
pub(crate) fn no_peer() -> String {
    format!(
        "no machine may send: {INTRODUCE}; or give the sender's key with --peer KEY (`sender identity` prints it) or as \
         public_key in a [[peer]] section"
    )
}

/// Receives until `frames` pictures are shown, a window is closed or the process is asked to stop; if `frames` are
/// asked for or a sink records, also until the sender has finished. Call it on the main thread. Returns the last
/// statistics.
pub(crate) fn run(config: &ReceiverConfig, sinks: &[SinkSpec], frames: Option<u64>) -> Result<ReceiverReport, Failure> {
    has_peer(&config.shared)?;
    let nothing = Bitrate::from_bps(0);
    let options = LinkOptions::of(&config.shared, Protocol::Call, LiveRate::new(nothing), 0)?;
    let waker = Waker::default();
    let latency_limit = LatencyLimit::new(config.latency_max);
    let mut sound = Sound::start(&config.shared)?;
    let audible = sound.as_ref().map(|sound| sound.audible.clone());
    let mut settings = vec![latency_limit.setting()];
    settings.extend(audible.iter().flat_map(|audible| audible.side.settings()));
    let _control = control::serve("receiver", &config.shared, settings);
    let (waker_of_view, pulses) = (waker.clone(), Vec::new());
    // All streams end together: a recording of the sound says what it lacks before the pictures say goodbye.
    let hang_up = HangUp::new(waker.clone());
    let network = Network {
        waker: waker_of_view,
        hang_up: Some(hang_up.clone()),
        pulses,
        own: None,
        latency_limit,
        seen: None,
        sound: audible,
        talk: None,
        view: Arc::default(),
        recording: Default::default(),
        is_last: true,
    };
    run_over(network, config, Shows::Specs(sinks), frames, move |mut link| {
        if let Some(sound) = &mut sound {
            hurry(Role::Network);
            sound.heard.record(link.recording());
        }
        let call = Streams::new(Directions::Receives, nothing).ended_by(hang_up);
        let call = sound.iter_mut().fold(call, |call, sound| call.with(StreamId::received(SOUND), &mut sound.heard));
        let call = call.with(StreamId::received(VIDEO), &mut link);
        let linked = net::link::run(options, &waker, &mut [call]);
        linked.and(sound.map_or(Ok(()), Sound::end))
    })
}

/// Fails if there is nobody who may send, or nobody to dial.
pub(crate) fn has_peer(shared: &SharedConfig) -> Result<(), Failure> {
    if shared.peers.is_empty() {
        return Err(Failure::usage(no_peer()));
    }
    if shared.mode == LinkMode::DialNobody {
        return Err(Failure::usage(NOBODY));
    }
    Ok(())
}
