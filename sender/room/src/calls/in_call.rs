//! The window's part of a call: what the pages show of it, and what a person does on them.

use std::path::PathBuf;

use calling::Handle;
use common::units::Bitrate;
use net::clock::unix_ms;
use net::quoted::Quoted;

use crate::balance;
use crate::facts::{Act, InCall};
use crate::pages::RoomPages;
use crate::people::People;

/// The window's part of a call.
#[derive(Default)]
pub(crate) struct Attendant {
    /// Texts of each member that have been shown.
    texts_seen: Vec<u64>,
    /// The second that is shown.
    second: u64,
    /// The rate of the configuration, once it is known.
    first: Option<Bitrate>,
}

impl Attendant {
    /// Brings `pages` up to date, and does what has been asked for on them.
    pub(crate) fn attend(&mut self, people: &People, pages: &mut RoomPages) {
        let now_ms = unix_ms();
        let handles = people.handles();
        if let Some(first) = handles.first() {
            for act in std::mem::take(&mut pages.screens.acts) {
                self.act(act, first, &handles, pages);
            }
            self.look(first, &handles, pages);
        }
        // Seconds of the search are counted in the window.
        pages.is_stale |= std::mem::replace(&mut self.second, now_ms / 1000) != now_ms / 1000;
        (pages.facts.state, pages.facts.now_ms) = (people.state(), now_ms);
    }

    /// Does what a person asks for; the picture that is sent is that of `handle` and of all others alike.
    fn act(&mut self, act: Act, handle: &Handle, all: &[Handle], pages: &mut RoomPages) {
        let first = *self.first.get_or_insert_with(|| handle.own.rate());
        match act {
            Act::Say(text) => all.iter().for_each(|handle| _ = handle.talk.say(&text)),
            Act::Hide(is_hidden) => handle.own.set_hidden(is_hidden),
            Act::Record(true) => {
                let folder = folder();
                let begun = all.iter().try_for_each(|handle| handle.recordings.begin(&folder));
                let words = &pages.screens.words;
                pages.facts.news = Some(match begun {
                    Ok(()) => words.with("recorded-in", &[("folder", folder.display().to_string().into())]),
                    Err(failure) => words.with("record-failed", &[("reason", failure.message.into())]),
                });
            }
            Act::Record(false) => all.iter().for_each(|handle| handle.recordings.end()),
            Act::Balance(step) => {
                let (rate, wait) = balance::at(step, first, handle.own.rates());
                let _ = handle.own.set_rate(rate);
                handle.latency_limit.set(wait);
                pages.facts.call.balance = step;
            }
            // What a slider gives is in its effect's range.
            Act::Effect(effect, value) => _ = handle.own.set_effect(effect, value),
            Act::SwitchEffects => _ = handle.own.switch_effects(),
            _ => {}
        }
        pages.is_stale = true;
    }

    fn look(&mut self, handle: &Handle, all: &[Handle], pages: &mut RoomPages) {
        let (facts, screens) = (&mut pages.facts, &mut pages.screens);
        if let Some(reason) = all.iter().find_map(|handle| handle.recordings.take_trouble()) {
            let told = screens.words.with("record-failed", &[("reason", reason.into())]);
            (facts.call.trouble, facts.news) = (Some(told.clone()), Some(told));
            pages.is_stale = true;
        }
        self.texts_seen.resize(all.len(), 0);
        for (place, (handle, seen)) in all.iter().zip(&mut self.texts_seen).enumerate() {
            let new = handle.talk.since(seen);
            screens.on_texts(new.iter().any(|said| !said.is_own));
            // What was said to all was said once.
            let new = new.into_iter().filter(|said| place == 0 || !said.is_own);
            let texts = new.map(|said| (said.is_own, Quoted(&said.text).to_string()));
            let before = facts.texts.len();
            facts.texts.extend(texts);
            pages.is_stale |= facts.texts.len() > before;
        }
        let theirs: Vec<_> = all.iter().map(|handle| handle.talk.theirs()).collect();
        let (effects, effects_on) = handle.own.effects_asked();
        let call = InCall {
            they_record: theirs.iter().any(|side| side.is_recording),
            they_hide: theirs.iter().any(|side| side.is_hidden),
            is_hidden: handle.own.is_hidden(),
            is_recording: all.iter().any(|handle| handle.recordings.is_on()),
            balance: facts.call.balance,
            effects,
            effects_on,
            trouble: facts.call.trouble.clone().filter(|_| !all.iter().any(|handle| handle.recordings.is_on())),
        };
        pages.is_stale |= std::mem::replace(&mut facts.call, call.clone()) != call;
    }
}

/// Returns the folder of recordings: that of the user's films, else the home folder.
fn folder() -> PathBuf {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let films = home.join("Videos");
    if films.is_dir() { films.join("Duet") } else { home.join("Duet") }
}
