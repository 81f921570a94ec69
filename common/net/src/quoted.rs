//! Text of others in our own sentences.

use std::fmt;

/// Characters that are shown of a text.
const CHARS_MAX: usize = 100;

/// Shows what a peer says in quotation marks: at most 100 characters, those that are no letters, digits, signs or
/// spaces written out (`\n`, `\u{1b}`), so that it can neither end a log line nor command a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.char_indices().nth(CHARS_MAX).map(|(at, _)| at);
        let (shown, more) = (&self.0[..end.unwrap_or(self.0.len())], if end.is_some() { "…" } else { "" });
        write!(f, "\"{}{more}\"", shown.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_quotation_marks() {
        let hostile = "bye\"\n2026-01-01 INFO all is well\x1b[2J\u{202e}\r\0";
        let expected = r#""bye\"\n2026-01-01 INFO all is well\u{1b}[2J\u{202e}\r\0""#;
        assert_eq!(Quoted(hostile).to_string(), expected);
        assert_eq!(Quoted("grüezi, 音").to_string(), "\"grüezi, 音\"");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = "ü".repeat(CHARS_MAX);
        assert_eq!(Quoted(&text).to_string(), format!("\"{text}\""));
        assert_eq!(Quoted(&format!("{text}x")).to_string(), format!("\"{text}…\""));
    }
}
