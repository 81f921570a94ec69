//! Names by which a machine's owner is known: what each tells of itself, and what files take.

use crate::public_key::looks_like_key;

/// Longest name, characters.
pub const NAME_MAX: usize = 32;

/// Returns true if a machine can be called that: letters, digits, `-`, `_` and `.` alone, and no key, which would stand for another
/// machine than it names.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= NAME_MAX && text.chars().all(fits) && !looks_like_key(text)
}

/// Returns the name in a text that somebody else has written, such as `Clara-Schumann` of "Clara Schumann": spaces are dashes, and what
/// no name holds is left out. None: nothing of it is left.
pub fn name_in(text: &str) -> Option<String> {
    let dashed = text.trim().chars().map(|c| if c.is_whitespace() { '-' } else { c });
    let name: String = dashed.filter(|c| fits(*c)).take(NAME_MAX).collect();
    Some(name).filter(|name| is_name(name))
}

/// Returns what a person may tell of `text` as a name, such as `Clara Schumann`; [`name_in`] makes a name of it where it is told. Empty:
/// nothing.
pub fn told_name(text: &str) -> String {
    let words: String = text.trim().chars().filter(|c| *c == ' ' || fits(*c)).take(NAME_MAX).collect();
    name_in(&words).map_or_else(String::new, |_| words.trim().to_owned())
}

fn fits(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_others_say_the_name_is_left() {
        for (told, name) in [
            ("Clara Schumann", Some("Clara-Schumann")),
            (" Clara\n", Some("Clara")),
            ("", None),
            (" \t", None),
            ("\u{202e}evil\u{202c}", Some("evil")),
            ("\u{1b}[2J\0", Some("2J")),
            ("../../x", Some("....x")),
            ("音楽家", Some("音楽家")),
            (&"x".repeat(10_000), Some(&"x".repeat(32))),
            ("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", Some("11qYAYKxCrfVS7TyWQHOg7hcvPapiMlr")),
            ("duet-key-mistyped", None),
        ] {
            assert_eq!(name_in(told).as_deref(), name, "{told:?}");
            assert!(name_in(told).is_none_or(|name| is_name(&name)), "{told:?}");
        }
        for (typed, told) in [
            (" Clara Schumann ", "Clara Schumann"),
            ("\u{202e}evil\u{202c}", "evil"),
            ("a\nb\tc", "abc"),
            ("", ""),
            ("  ", ""),
            (&"é".repeat(10_000), &"é".repeat(32)),
        ] {
            assert_eq!(told_name(typed), told, "{typed:?}");
            assert_eq!(told_name(told), told);
        }
        for wrong in ["", "a b", "a\nb", "a\u{202e}b", &"x".repeat(33)] {
            assert!(!is_name(wrong), "{wrong:?}");
        }
    }
}
