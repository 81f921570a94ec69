//! The command `pair`: the side that shows words, and the one that types them.

use std::time::SystemTime;

use common::config::SharedConfig;

use super::invite::show_words;
use super::join::type_words;
use super::person::Person;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::reach::mailbox::WordFailures;
use crate::reach::peers::{NewName, PeersFile};

/// The command `pair`: finds the machine that shows `words`, or those that are typed; where there are none shows four.
/// `wanted`: the name for the other machine.
pub fn pair(
    config: &SharedConfig,
    file: &PeersFile,
    words: &[String],
    wanted: Option<&str>,
    person: &dyn Person,
) -> Result<(), Failure> {
    NewName::new(wanted)?;
    let mut typed = words.join(" ");
    if words.is_empty() && config.mailbox.is_some() {
        typed = person.ask(WHICH_WORDS)?;
    }
    let failures = WordFailures::beside(&Identity::path_of(config)?);
    let ended = if typed.is_empty() {
        show_words(config, file, wanted, person)
    } else {
        let words = typed.parse().map_err(Failure::usage)?;
        type_words(config, file, &words, wanted, person)
    };
    failures.told(ended, SystemTime::now())
}

const WHICH_WORDS: &str = "Press Enter, and four words are shown for the other musician, who types them at this question; or type here \
                           those that the other machine shows:";
