//! The sound of a call: one card, with both directions where this machine receives as well, and the streams that go with it.

use cards::keep::Kept;
use cards::{CardInfo, CardSpec, Halves};
use common::config::SharedConfig;
use common::stream::sound::SOUND;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{Streams, Waker};
use sending::sound::{Coder, SoundLink};
use shell::settings::SoundSide;
use showing::sound::{Audible, Hearing, HearingLink, Speaker, Worker};

/// A call's sound at work.
pub(crate) struct Sound {
    sent: SoundLink,
    heard: Option<HearingLink>,
    end: SoundEnd,
    /// The part that the window shows.
    pub(crate) audible: Audible,
}

/// Card and threads, which end after the call.
struct SoundEnd {
    card: Kept,
    coder: Coder,
    worker: Option<Worker>,
}

impl Sound {
    /// Opens the card and starts the threads; none if no sound is wanted. `plays`: whether sound comes, too.
    pub(crate) fn start(shared: &SharedConfig, waker: &Waker, plays: bool) -> Result<Option<Self>, Failure> {
        let spec = shell::sound::spec(shared)?;
        if spec == CardSpec::None {
            return Ok(None);
        }
        let side = SoundSide::default();
        let (coder, sent, microphone) = Coder::start(&shared.sound, waker, &side)?;
        let (speaker, heard, worker) = match plays.then(|| Speaker::start(&side)).transpose()? {
            Some((speaker, heard, worker)) => (Some(speaker), Some(heard), Some(worker)),
            None => (None, None, None),
        };
        let hearing = heard.as_ref().map_or_else(Hearing::default, HearingLink::hearing);
        let make = move |card: &CardInfo| Halves {
            capture: Some(microphone.half(card)),
            playback: speaker.as_ref().map(|speaker| speaker.half(card)),
        };
        let card = shell::sound::keep(spec, &shared.sound, (true, plays), Box::new(make), &side)?;
        let audible = Audible { side, hearing, sync: shared.sound.sync };
        Ok(Some(Self { sent, heard, end: SoundEnd { card, coder, worker }, audible }))
    }

    /// Adds the streams to `call`. Add them first: sound leaves before pictures.
    pub(crate) fn join<'a>(&'a mut self, call: Streams<'a>) -> Streams<'a> {
        let call = call.with(StreamId::sent(SOUND), &mut self.sent);
        match &mut self.heard {
            Some(heard) => call.with(StreamId::received(SOUND), heard),
            None => call,
        }
    }

    /// Closes the card and ends the threads.
    pub(crate) fn end(self) -> Result<(), Failure> {
        let SoundEnd { card, coder, worker } = self.end;
        drop(card);
        coder.end().and(worker.map_or(Ok(()), Worker::end))
    }
}
