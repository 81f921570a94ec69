//! The sound of a call: one card, with both directions where this machine receives as well, and the streams that go with it.

use cards::keep::Kept;
use cards::{CardInfo, CardSpec, Halves};
use common::config::SharedConfig;
use common::stream::sound::SOUND;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{Streams, Waker};
use sending::sound::{Coder, SoundLink};
use shell::record::Switch;
use shell::settings::SoundSide;
use showing::sound::{Audible, Echoes, Hearing, HearingLink, Speaker, Worker};
use sound::own;

/// A call's sound at work.
pub struct Sound {
    sent: SoundLink,
    heard: Option<HearingLink>,
    end: SoundEnd,
    /// The part that the window shows.
    pub audible: Audible,
}

/// Card and threads, which end after the call.
struct SoundEnd {
    card: Kept,
    coder: Coder,
    worker: Option<Worker>,
    echoes: Option<Echoes>,
}

impl Sound {
    /// Opens the card and starts the threads; none if no sound is wanted. `plays`: whether sound comes, too; `records`: whether what is
    /// sent may be recorded here.
    pub fn start(shared: &SharedConfig, waker: &Waker, plays: bool, records: bool) -> Result<Option<Self>, Failure> {
        let spec = shell::sound::spec(shared)?;
        if spec == CardSpec::None {
            return Ok(None);
        }
        let side = SoundSide::default();
        let (coder, sent, microphone) = Coder::start(&shared.sound, waker, &side, records)?;
        let echoes = plays.then(|| Echoes::start(&side)).transpose()?;
        let to_echoes = echoes.as_ref().map(Echoes::pairs);
        let (speaker, heard, worker) = match plays.then(|| Speaker::start(&side)).transpose()? {
            Some((speaker, heard, worker)) => (Some(speaker), Some(heard), Some(worker)),
            None => (None, None, None),
        };
        let hearing = heard.as_ref().map_or_else(Hearing::default, HearingLink::hearing);
        side.set_practising(plays && shared.sound.practice_delay);
        let make = move |card: &CardInfo| {
            let Some(speaker) = &speaker else {
                return Halves { capture: Some(microphone.half(card, None)), playback: None };
            };
            let (captured, own, pairs) = own::new(card.capture.unwrap_or_default());
            // A thread that has ended takes none.
            let _ = to_echoes.as_ref().map(|echoes| echoes.send(pairs));
            Halves {
                capture: Some(microphone.half(card, Some(captured))),
                playback: Some(speaker.half(card, Some(own))),
            }
        };
        let card = shell::sound::keep(spec, &shared.sound, (true, plays), Box::new(make), &side)?;
        let audible = Audible { side, hearing, sync: shared.sound.sync };
        Ok(Some(Self { sent, heard, end: SoundEnd { card, coder, worker, echoes }, audible }))
    }

    /// Records what is heard, and what is sent, whenever these run.
    pub fn record(&mut self, heard: Switch, sent: Switch) {
        self.heard.iter_mut().for_each(|link| link.record(heard.clone()));
        self.sent.record(sent);
    }

    /// Adds the streams to `call`. Add them first: sound leaves before pictures.
    pub fn join<'a>(&'a mut self, call: Streams<'a>) -> Streams<'a> {
        let call = call.with(StreamId::sent(SOUND), &mut self.sent);
        match &mut self.heard {
            Some(heard) => call.with(StreamId::received(SOUND), heard),
            None => call,
        }
    }

    /// Ends the recording, closes the card and ends the threads.
    pub fn end(mut self) -> Result<(), Failure> {
        self.heard.iter_mut().for_each(HearingLink::end_recording);
        let SoundEnd { card, coder, worker, echoes } = self.end;
        drop(card);
        coder.end().and(worker.map_or(Ok(()), Worker::end)).and(echoes.map_or(Ok(()), Echoes::end))
    }
}
