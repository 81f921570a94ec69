//! The ringing of a call that comes: a sound, and a notification of the desktop.

mod bell;
mod notice;

use std::sync::mpsc::Sender;

use shell::cli::CommonFlags;

use self::bell::Bell;
use self::notice::Notice;
use crate::facts::Act;
use crate::files::chosen::Configuration;
use crate::people::Who;
use crate::words::Words;

/// Somebody rings, until this is dropped.
pub(crate) struct Ringing {
    who: Who,
    _bell: Option<Bell>,
    _notice: Option<Notice>,
}

impl Ringing {
    /// Begins to ring for `who`. What a person does at the notification goes to `acts`. Where there is no sound card and no desktop that
    /// shows notifications, the window alone tells of the call.
    pub(crate) fn begin(flags: &CommonFlags, words: &Words, who: Who, acts: &Sender<Act>) -> Self {
        let bell = Configuration::read(flags).ok().and_then(|read| Bell::ring(&read.config.shared));
        let notice = Notice::show(words, &who, acts.clone());
        Self { who, _bell: bell, _notice: notice }
    }

    /// Returns true if it rings for that person.
    pub(crate) fn is_of(&self, who: &Who) -> bool {
        self.who.key == who.key
    }
}
