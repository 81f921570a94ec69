//! The seam between a window and the library that opens it.

use std::time::Duration;

use super::composition::Composition;
use super::second::SecondWindow;
use crate::sink::SinkError;
use crate::sink::face::{Press, Said};

/// The name of each window.
pub const TITLE: &str = "Duet";
/// Size until the stream's is known, pixels.
pub(super) const WAITING_SIZE: (usize, usize) = (1280, 720);

/// Keys that mean something in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Keys,
    Line,
    Details,
    Fullscreen,
    Second,
    Above,
    Mirror,
    Save,
    Own,
    Effects,
    Size,
    Wait,
    Faster,
    Slower,
    Mute,
    Louder,
    Softer,
    Click,
    CountIn,
    Practice,
    Tone,
    /// Another member of a band, from 0 on.
    Member(usize),
    /// The next member of a band.
    NextMember,
    Escape,
}

impl Key {
    /// Returns the key that means the same as a button.
    pub(super) fn of_press(press: Press) -> Option<Self> {
        Some(match press {
            Press::Fullscreen => Self::Fullscreen,
            Press::Second => Self::Second,
            Press::Mirror => Self::Mirror,
            Press::Save => Self::Save,
            Press::Own => Self::Own,
            Press::Effects => Self::Effects,
            Press::Wait => Self::Wait,
            Press::Faster => Self::Faster,
            Press::Slower => Self::Slower,
            Press::Mute => Self::Mute,
            Press::Louder => Self::Louder,
            Press::Softer => Self::Softer,
            Press::Click => Self::Click,
            Press::HangUp => return None,
        })
    }

    /// Returns what a letter means.
    pub(super) fn of_letter(letter: char) -> Option<Self> {
        Some(match letter {
            'h' => Self::Keys,
            'i' => Self::Line,
            'd' => Self::Details,
            'f' => Self::Fullscreen,
            'w' => Self::Second,
            't' => Self::Above,
            'm' => Self::Mirror,
            's' => Self::Save,
            'v' => Self::Own,
            'e' => Self::Effects,
            'z' => Self::Size,
            'l' => Self::Wait,
            'c' => Self::Click,
            'b' => Self::CountIn,
            'p' => Self::Practice,
            'a' => Self::Tone,
            '1'..='3' => Self::Member(letter as usize - '1' as usize),
            _ => return None,
        })
    }
}

/// Checks that each key that `H` lists means something of its own, and that it lists each letter with a meaning. `meaning`
/// returns that of a key by its name in the list.
#[cfg(test)]
pub(super) fn check_listed_keys(meaning: impl Fn(&str) -> Option<Key>) {
    use crate::sink::overlay::{BAND_KEYS, CALL_KEYS, KEYS, SOUND_KEYS};
    let mut meanings = Vec::new();
    for line in KEYS.into_iter().chain(CALL_KEYS).chain(SOUND_KEYS).chain(BAND_KEYS) {
        let names = line.split_once("  ").map_or(line, |(names, _)| names);
        for name in names.split(", ") {
            let meaning = meaning(name);
            assert!(meaning.is_some() && !meanings.contains(&meaning), "{name}: {meaning:?}, {meanings:?}");
            meanings.push(meaning);
        }
    }
    for letter in 'a'..='z' {
        let meaning = Key::of_letter(letter);
        assert!(meaning.is_none() || meanings.contains(&meaning), "{letter}: {meaning:?} is not listed");
    }
}

/// An act with the first button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mouse {
    /// It was pressed there, pixels.
    Down((f32, f32)),
    /// It was let go.
    Up,
}

/// Events of a pane since it was last looked at.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Keys that went down, in their order.
    pub(super) keys: Vec<Key>,
    /// Acts with the mouse, in their order.
    pub(super) mouse: Vec<Mouse>,
    /// True if its contents are wanted again.
    pub(super) is_bare: bool,
}

/// An open window of a desktop. It belongs to the thread that opened it and never waits for a person.
pub(super) trait Pane {
    /// Returns the size of its contents, pixels.
    fn size(&self) -> (usize, usize);

    /// Returns the size of the screen, pixels.
    fn screen(&self) -> (usize, usize);

    /// Asks for other contents' size; the desktop may know better.
    fn resize(&mut self, size: (usize, usize)) -> Result<(), SinkError>;

    /// Covers the screen, or takes the place of before.
    fn set_fullscreen(&mut self, on: bool) -> Result<(), SinkError>;

    /// Stays above other windows, or no longer. Returns false where programs cannot ask for that.
    fn keep_above(&mut self, on: bool) -> Result<bool, SinkError>;

    /// Shows a frame at its present size. When this returns, the display server has it and none before it waits there.
    fn show(&mut self, composition: &mut Composition) -> Result<(), SinkError>;

    /// Takes what has happened since; if nothing has, it may wait for `most` at most.
    fn look(&mut self, most: Duration) -> Result<News, SinkError>;

    /// Makes the pages of its face anew, where it has one: true if they are others now, and the buttons pressed since.
    fn renew(&mut self, _said: Option<&Said>) -> Result<(bool, Vec<Press>), SinkError> {
        Ok((false, Vec::new()))
    }

    /// Opens a second window, which is like `left`. Returns false where there is one only.
    fn open_second(&mut self, _left: &SecondWindow) -> Result<bool, SinkError> {
        Ok(false)
    }

    /// Closes it, if it is open.
    fn close_second(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Returns the second window as it is; none: it is closed, which it may be by itself.
    fn second(&self) -> Option<SecondWindow> {
        None
    }

    /// Shows a frame in the second window, as [`Pane::show`] does in the first.
    fn show_second(&mut self, _composition: &mut Composition) -> Result<(), SinkError> {
        Ok(())
    }

    /// Returns where the pointer is, if that is known.
    fn pointer(&self) -> Option<(f32, f32)>;

    /// Shows the pointer over it, or hides it.
    fn show_pointer(&mut self, visible: bool);

    /// Returns false once its cross was clicked.
    fn is_open(&self) -> bool;

    /// Holds the display server's screen saver, or lets it go, where there is one.
    fn hold_saver(&self, on: bool);
}
