//! Text to raw structs, with errors that name the line and the nearest valid key.

use serde::de::DeserializeOwned;

use super::error::ConfigError;
use super::raw::{PeersFile, ReceiverFile, SenderFile};

/// Reads the text of a `sender.toml`.
pub fn parse_sender(text: &str) -> Result<SenderFile, ConfigError> {
    parse(text)
}

/// Reads the text of a `receiver.toml`.
pub fn parse_receiver(text: &str) -> Result<ReceiverFile, ConfigError> {
    parse(text)
}

/// Reads the text of a `peers.toml`.
pub fn parse_peers(text: &str) -> Result<PeersFile, ConfigError> {
    parse(text)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let line = 1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
        let message = error.message();
        match unknown_key(message) {
            Some((key, nearest)) => ConfigError::UnknownKey { line, key, nearest },
            None => ConfigError::Syntax { line, message: message.replace('\n', ", ") },
        }
    })
}

/// Returns the unknown key and the valid one most like it, from serde's message "unknown field `x`, expected one of
/// `a`, `b`".
fn unknown_key(message: &str) -> Option<(String, String)> {
    let quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let mut names = quoted.map(str::to_owned);
    let key = names.next()?;
    // A word of a name is most like it, however long the name.
    let likeness = |name: &str| {
        let is_word_of_it = name.split('_').any(|word| word == key);
        strsim::jaro_winkler(&key, name) + f64::from(u8::from(is_word_of_it))
    };
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    Some((key, nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest() {
        let error = parse_sender("[video]\nsource = \"pattern\"\n[codec]\nrait = \"20M\"\n").unwrap_err();
        assert_eq!(error.to_string(), "line 4: there is no key `rait` here; did you mean `rate`?");
        let error = parse_receiver("[dispaly]\n").unwrap_err();
        assert_eq!(error.to_string(), "line 1: there is no key `dispaly` here; did you mean `display`?");
        let error = parse_receiver("[video]\n").unwrap_err();
        assert!(error.to_string().starts_with("line 1: there is no key `video` here"), "{error}");
        let error = parse_sender("[[peer]]\npublickey = \"\"\n").unwrap_err();
        assert!(error.to_string().ends_with("did you mean `public_key`?"), "{error}");
        let error = parse_sender("[[peer]]\nkey = \"\"\n").unwrap_err();
        assert!(error.to_string().ends_with("did you mean `public_key`?"), "{error}");
    }

    #[test]
    fn other_mistakes_name_their_line() {
        let error = parse_sender("[video]\nsource = 3\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2: invalid type: integer `3`"), "{error}");
        let error = parse_sender("[codec]\nlevels = true\n").unwrap_err();
        assert!(error.to_string().contains("\"full\""), "{error}");
        for wrong in ["[video\n", "x = ", "[video]\nfps = 30\nfps = 30", "\u{0}"] {
            let error = parse_sender(wrong).unwrap_err();
            assert!(error.to_string().starts_with("line ") && !error.to_string().contains('\n'), "{error}");
        }
    }
}
