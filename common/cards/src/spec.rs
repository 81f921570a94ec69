//! `[sound] card`: text to a card.

use std::fmt;
use std::str::FromStr;

/// The forms that a card can have, for messages and help.
pub const FORMS: &str = "auto (JACK or PipeWire's JACK if a server answers, otherwise ALSA's default), jack, jack:NAME (NAME as `devices` \
                         lists it: the JACK client whose ports are used), alsa:NAME (such as alsa:default or alsa:hw:1,0) or none";

/// A card asked for on the command line or in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum CardSpec {
    /// JACK if a server answers, otherwise ALSA's default.
    #[default]
    Auto,
    /// JACK: the server that `JACK_DEFAULT_SERVER` names; with the ports of this client, or the first sound card's.
    Jack(Option<String>),
    /// ALSA's device of this name.
    Alsa(String),
    /// No sound.
    None,
}

/// A text that names no card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no sound card: use {FORMS}")]
pub struct UnknownCard(String);

impl FromStr for CardSpec {
    type Err = UnknownCard;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // No name of a card has a zero in it, and C would end there.
        if text.contains('\0') {
            return Err(UnknownCard(text.to_owned()));
        }
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "jack" => Ok(Self::Jack(None)),
            None if text == "none" => Ok(Self::None),
            Some(("jack", name)) if !name.is_empty() => Ok(Self::Jack(Some(name.to_owned()))),
            Some(("alsa", name)) if !name.is_empty() => Ok(Self::Alsa(name.to_owned())),
            _ => Err(UnknownCard(text.to_owned())),
        }
    }
}

impl fmt::Display for CardSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Jack(None) => f.write_str("jack"),
            Self::Jack(Some(name)) => write!(f, "jack:{name}"),
            Self::Alsa(name) => write!(f, "alsa:{name}"),
            Self::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        let named = |name: &str| CardSpec::Jack(Some(name.to_owned()));
        for (text, expected) in [
            ("auto", CardSpec::Auto),
            ("jack", CardSpec::Jack(None)),
            ("jack:system", named("system")),
            ("jack:Built-in Audio: Pro 1", named("Built-in Audio: Pro 1")),
            ("alsa:hw:1,0", CardSpec::Alsa("hw:1,0".to_owned())),
            ("none", CardSpec::None),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            assert_eq!(expected.to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_answered_with_what_is_valid() {
        for text in ["", "jack:", "alsa", "alsa:", "JACK", "pulse", "none:1", "auto:jack", "alsa:hw\0", "hw:0"] {
            let message = text.parse::<CardSpec>().unwrap_err().to_string();
            assert!(message.contains("is no sound card: use auto (JACK") && message.contains("alsa:NAME"), "{message}");
        }
    }
}
