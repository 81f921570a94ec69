//! This machine's both directions in one process, over one connection: `call`, `share_port`, `--also-receive` and the room.

use common::config::{ReceiverConfig, SenderConfig};
use common::units::Bitrate;
use net::failure::Failure;
use net::link::{HangUp, LinkOptions, LiveRate, Waker};
use net::tls::Protocol;
use sending::source::SourceSpec;
use sending::{Sending, Start};
use shell::control;
use shell::settings::{LatencyLimit, OwnSide, TalkSide};
use showing::sink::{Sink, SinkError, SinkSpec, WindowParts};
use showing::{ReceiverLink, Shows, run_over};

use crate::audience::{self, Audience};
use crate::handle::Handle;
use crate::recordings::Recordings;
use crate::sound::Sound;
use crate::turn::Turn;

/// A call that is set up and has not begun: camera, encoder and sound card are open.
pub struct Call {
    handle: Handle,
    waker: Waker,
    sending: Sending,
    sound: Option<Sound>,
    audience: Option<Audience>,
    options: LinkOptions,
    receiving: ReceiverConfig,
    rate: Bitrate,
    frames_max: Option<u64>,
    _control: Option<control::Control>,
}

impl Call {
    /// Opens the source, the encoder and the sound card, and takes settings for `sender set`. The connection, the identity and the
    /// peers are those of `config`; `receiving` says what to do with the pictures that come.
    pub fn open(
        config: &SenderConfig,
        spec: &SourceSpec,
        receiving: &ReceiverConfig,
        frames_max: Option<u64>,
    ) -> Result<Self, Failure> {
        let waker = Waker::default();
        let own = OwnSide::new(config.rate, config.rate_most, config.effects);
        let rate = LiveRate::new(config.rate);
        let mut audience = Audience::start(config, 2, &own, &rate)?;
        let sound_tap = audience.as_mut().and_then(Audience::sound);
        let sound = Sound::start(&config.shared, &waker, true, true, sound_tap)?;
        let side = sound.as_ref().map(|sound| sound.audible().side.clone());
        let talk = TalkSide::new(waker.clone());
        let recordings = Recordings { talk: talk.clone(), ..Recordings::default() };
        let recording = recordings.sent.clone();
        let start = Start { frames_max, sound: side, recording, rate, ..Start::new(config, &waker, &own) };
        let sending = Sending::from_spec(config, spec, start)?;
        let latency_limit = LatencyLimit::new(receiving.latency_max);
        let mut settings = own.settings();
        settings.push(latency_limit.setting());
        settings.extend(sound.iter().flat_map(|sound| sound.audible().side.settings()));
        talk.set_recording(config.record.is_some() || receiving.record.is_some());
        settings.push(talk.setting());
        let control = control::serve("sender", &config.shared, settings);
        let options = sending.options(config, Protocol::BothWays)?;
        let handle = Handle {
            own,
            latency_limit,
            sound: sound.as_ref().map(|sound| sound.audible().clone()),
            talk,
            recordings,
            hang_up: HangUp::new(waker.clone()),
            view: Default::default(),
        };
        let receiving = receiving.clone();
        let rate = config.rate;
        Ok(Self { handle, waker, sending, sound, audience, options, receiving, rate, frames_max, _control: control })
    }

    /// Returns what a window shows and steers; it may be kept and used on any thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Sends and receives until both directions have ended, a sink asks for it, [`Handle::hang_up`] does or a signal comes. Pictures
    /// go to the sinks that `specs` name. Call it on the main thread, on which a window must live.
    pub fn run(self, specs: &[SinkSpec]) -> Result<(), Failure> {
        self.run_for(Shows::Specs(specs), true)
    }

    /// As [`Self::run`] on this thread, with sinks of the caller's own, which are opened here; the program may go on afterwards.
    pub fn run_with(
        self,
        open: impl FnOnce(WindowParts) -> Result<Vec<Box<dyn Sink>>, SinkError>,
    ) -> Result<(), Failure> {
        self.run_for(Shows::Own(Box::new(open)), false)
    }

    /// Ends it before it has begun.
    pub fn give_up(self) -> Result<(), Failure> {
        let ended = self.sending.threads.end(Ok(()));
        let ended = ended.and(self.sound.map_or(Ok(()), Sound::end));
        ended.and(self.audience.map_or(Ok(()), Audience::end))
    }

    fn run_for(self, shows: Shows<'_>, is_last: bool) -> Result<(), Failure> {
        let Self { handle, waker, sending, mut sound, mut audience, options, receiving, rate, frames_max, _control } =
            self;
        let Sending { link, threads, pulse, .. } = sending;
        let turn = Turn { handle, waker, link, options, rate };
        let seen = audience.as_mut().and_then(Audience::shown).map(audience::seen);
        let network = turn.network(pulse, seen, is_last);
        let turn = move |receiver_link: ReceiverLink| {
            let linked = turn.run(sound.as_mut().map(Sound::line), receiver_link);
            let silenced = sound.map_or(Ok(()), Sound::end);
            threads.end(linked).and(silenced)
        };
        let ended = run_over(network, &receiving, shows, frames_max, turn).map(drop);
        ended.and(audience.map_or(Ok(()), Audience::end))
    }
}
