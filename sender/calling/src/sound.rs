//! The sound of a call: one card, with both directions where this machine receives as well, and the streams that go with it.

use cards::keep::Kept;
use cards::{CardInfo, CardSpec, Halves};
use common::config::SharedConfig;
use common::stream::sound::SOUND;
use common::wire::control::StreamId;
use net::failure::Failure;
use net::link::{Streams, Waker};
use publishing::SoundTap;
use sending::sound::{Coder, SoundLink};
use shell::record::Switch;
use shell::settings::SoundSide;
use showing::sound::{Audible, Echoes, Hearing, HearingLink, Speaker, Worker};
use sound::own;

use crate::mix;

/// A call's sound at work.
pub struct Sound {
    line: Line,
    end: SoundEnd,
}

/// The sound between this machine and another one.
pub(crate) struct Line {
    sent: SoundLink,
    heard: Option<HearingLink>,
    /// The part that the window shows.
    pub(crate) audible: Audible,
}

/// Card and threads, which end after the call.
pub(crate) struct SoundEnd {
    card: Kept,
    coders: Vec<Coder>,
    workers: Vec<Worker>,
    echoes: Option<Echoes>,
}

/// Starts the sound of calls with several machines over one card: a coder, a jitter buffer and a volume each. None if no sound is wanted.
/// `plays`: whether sound comes, too; `records`: whether what is sent may be recorded here. `tap`: what is heard here goes by it, too.
pub(crate) fn start(
    shared: &SharedConfig,
    wakers: &[Waker],
    plays: bool,
    records: bool,
    tap: Option<SoundTap>,
) -> Result<Option<(Vec<Line>, SoundEnd)>, Failure> {
    let spec = shell::sound::spec(shared)?;
    if spec == CardSpec::None {
        return Ok(None);
    }
    let side = SoundSide::default();
    let echoes = plays.then(|| Echoes::start(&side)).transpose()?;
    let to_echoes = echoes.as_ref().map(Echoes::pairs);
    side.set_practising(plays && shared.sound.practice_delay);
    let (mut lines, mut coders, mut workers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut microphones, mut speakers) = (Vec::new(), Vec::new());
    for (place, waker) in wakers.iter().enumerate() {
        let side = if place == 0 { side.clone() } else { side.further() };
        let (coder, sent, microphone) = Coder::start(&shared.sound, waker, &side, records && place == 0)?;
        coders.push(coder);
        microphones.push(microphone);
        let mut heard = None;
        if plays {
            let (speaker, link, worker) = Speaker::start(&side)?;
            heard = Some(link);
            speakers.push(speaker);
            workers.push(worker);
        }
        let hearing = heard.as_ref().map_or_else(Hearing::default, HearingLink::hearing);
        lines.push(Line { sent, heard, audible: Audible { side, hearing, sync: shared.sound.sync } });
    }
    let for_tap = side.clone();
    let make = move |card: &CardInfo| {
        let (captured, own) = match speakers.is_empty() {
            true => (None, None),
            false => {
                let (captured, own, pairs) = own::new(card.capture.unwrap_or_default());
                // A thread that has ended takes none.
                let _ = to_echoes.as_ref().map(|echoes| echoes.send(pairs));
                (Some(captured), Some(own))
            }
        };
        // What this machine plays of itself it plays once.
        let (mut captured, mut own) = (captured, own);
        let captures = microphones.iter().map(|microphone| microphone.half(card, captured.take())).collect();
        let playbacks = speakers.iter().map(|speaker| speaker.half(card, own.take())).collect();
        let halves = Halves { capture: mix::captured_by_all(captures), playback: mix::mixed(playbacks) };
        match &tap {
            Some(tap) => tap.tapped(halves, card, &for_tap),
            None => halves,
        }
    };
    let card = shell::sound::keep(spec, &shared.sound, (true, plays), Box::new(make), &side)?;
    Ok(Some((lines, SoundEnd { card, coders, workers, echoes })))
}

impl Sound {
    /// Opens the card and starts the threads; none if no sound is wanted. `plays`: whether sound comes, too; `records`: whether what is
    /// sent may be recorded here. `tap`: what is heard here goes by it, too.
    pub fn start(
        shared: &SharedConfig,
        waker: &Waker,
        plays: bool,
        records: bool,
        tap: Option<SoundTap>,
    ) -> Result<Option<Self>, Failure> {
        let started = start(shared, std::slice::from_ref(waker), plays, records, tap)?;
        Ok(started.and_then(|(mut lines, end)| Some(Self { line: lines.pop()?, end })))
    }

    /// Returns the part that the window shows.
    pub fn audible(&self) -> &Audible {
        &self.line.audible
    }

    /// Records what is heard, and what is sent, whenever these run.
    pub fn record(&mut self, heard: Switch, sent: Switch) {
        self.line.record(heard, sent);
    }

    /// Adds the streams to `call`. Add them first: sound leaves before pictures.
    pub fn join<'a>(&'a mut self, call: Streams<'a>) -> Streams<'a> {
        self.line.join(call)
    }

    /// Returns the line to the other machine.
    pub(crate) fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// Ends the recording, closes the card and ends the threads.
    pub fn end(mut self) -> Result<(), Failure> {
        self.line.end_recording();
        self.end.end()
    }
}

impl SoundEnd {
    /// Closes the card and ends the threads.
    pub(crate) fn end(self) -> Result<(), Failure> {
        let Self { card, coders, workers, echoes } = self;
        drop(card);
        let coders = coders.into_iter().map(Coder::end).fold(Ok(()), Result::and);
        let workers = workers.into_iter().map(Worker::end).fold(Ok(()), Result::and);
        coders.and(workers).and(echoes.map_or(Ok(()), Echoes::end))
    }
}

impl Line {
    /// Records what is heard, and what is sent, whenever these run.
    pub(crate) fn record(&mut self, heard: Switch, sent: Switch) {
        self.heard.iter_mut().for_each(|link| link.record(heard.clone()));
        self.sent.record(sent);
    }

    /// Adds the streams to `call`. Add them first: sound leaves before pictures.
    pub(crate) fn join<'a>(&'a mut self, call: Streams<'a>) -> Streams<'a> {
        let call = call.with(StreamId::sent(SOUND), &mut self.sent);
        match &mut self.heard {
            Some(heard) => call.with(StreamId::received(SOUND), heard),
            None => call,
        }
    }

    /// Ends the recording of what is heard.
    pub(crate) fn end_recording(&mut self) {
        self.heard.iter_mut().for_each(HearingLink::end_recording);
    }
}
