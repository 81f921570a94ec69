//! The sound that a receiver plays: a card, and the stream that goes with it.

use cards::keep::Kept;
use cards::{CardInfo, CardSpec, Halves};
use common::config::SharedConfig;
use net::failure::Failure;
use shell::settings::SoundSide;
use showing::sound::{Audible, HearingLink, Speaker, Worker};

/// Sound that is played.
pub(crate) struct Sound {
    /// The stream.
    pub(crate) heard: HearingLink,
    /// The part that the window shows.
    pub(crate) audible: Audible,
    card: Kept,
    worker: Worker,
}

impl Sound {
    /// Opens the card and starts the threads; none if no sound is wanted.
    pub(crate) fn start(shared: &SharedConfig) -> Result<Option<Self>, Failure> {
        let spec = shell::sound::spec(shared)?;
        if spec == CardSpec::None {
            return Ok(None);
        }
        let side = SoundSide::default();
        let (speaker, heard, worker) = Speaker::start(&side)?;
        let audible = Audible { side: side.clone(), hearing: heard.hearing(), sync: shared.sound.sync };
        let make = move |card: &CardInfo| Halves { capture: None, playback: Some(speaker.half(card, None)) };
        let card = shell::sound::keep(spec, &shared.sound, (false, true), Box::new(make), &side)?;
        Ok(Some(Self { heard, audible, card, worker }))
    }

    /// Ends the recording, closes the card and ends the thread.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        self.heard.end_recording();
        drop(self.card);
        self.worker.end()
    }
}
