//! Text to raw structs, with errors that name the line and the nearest valid key.

use serde::de::DeserializeOwned;

use super::error::ConfigError;
use super::hint::{instead_of, names_in};
use super::raw::{PeersFile, ReceiverFile, SenderFile};

/// Reads the text of a `sender.toml`.
pub fn parse_sender(text: &str) -> Result<SenderFile, ConfigError> {
    parse::<_, ReceiverFile>(text, "receiver.toml")
}

/// Reads the text of a `receiver.toml`.
pub fn parse_receiver(text: &str) -> Result<ReceiverFile, ConfigError> {
    parse::<_, SenderFile>(text, "sender.toml")
}

/// Reads the text of a `peers.toml`.
pub fn parse_peers(text: &str) -> Result<PeersFile, ConfigError> {
    parse::<_, SenderFile>(text, "sender.toml")
}

/// `Other` is the other program's file, which is called `other`.
fn parse<T: DeserializeOwned, Other: DeserializeOwned>(text: &str, other: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let line = 1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
        let message = error.message();
        match names_in(message) {
            Some((key, here)) => {
                let instead = instead_of::<T, Other>(&key, &here, other);
                ConfigError::UnknownKey { line, key, instead }
            }
            None => ConfigError::Syntax { line, message: message.replace('\n', ", ") },
        }
    })
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
        assert_eq!(error.to_string(), "line 1: there is no key `video` here; it belongs in [video] of sender.toml");
        let error = parse_sender("[[peer]]\npublickey = \"\"\n").unwrap_err();
        assert!(error.to_string().ends_with("did you mean `public_key`?"), "{error}");
        let error = parse_sender("[[peer]]\nkey = \"\"\n").unwrap_err();
        assert!(error.to_string().ends_with("did you mean `public_key`?"), "{error}");
    }

    #[test]
    fn a_key_of_another_section_is_told_with_it() {
        for (text, instead) in [
            ("[source]\n", "did you mean `source` in [video]?"),
            ("[capture]\n", "did you mean `source` in [video]?"),
            ("source = \"pattern\"\n", "did you mean `source` in [video]?"),
            ("[network]\nport = 4821\n", "did you mean `address`?"),
            ("[network]\nrate = \"8M\"\n", "did you mean `rate` in [codec]?"),
            ("[codec]\nbitrate = \"8M\"\n", "did you mean `rate`?"),
            ("[codec]\nsize = \"640x360\"\n", "did you mean `size` in [video]?"),
            ("[video]\nstun = []\n", "did you mean `stun` in [reach]?"),
            ("[peers]\n", "did you mean `peer`?"),
            ("[record]\nqwerty = 1\n", "there are `path`"),
        ] {
            let error = parse_sender(text).unwrap_err().to_string();
            assert!(error.ends_with(&format!(" here; {instead}")), "{text}: {error}");
        }
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
