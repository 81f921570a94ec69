//! Memory of the window from one start to the next: a file beside this machine's key.

use std::path::PathBuf;

use common::config::SharedConfig;
use net::failure::Failure;
use net::identity::Identity;
use net::reach::{Change, LockedFile};
use showing::sink::{Corner, OwnPlace, SecondPlace, SecondWindow};
use toml_edit::{DocumentMut, value};

/// Name of the file.
const FILE_NAME: &str = "window.toml";

/// The file, and what it holds.
pub(crate) struct Remembered {
    path: Option<PathBuf>,
    left: Left,
}

/// The own picture's corner, true if it is shown, and the second window, as a person has left them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Left {
    own: (Corner, bool),
    second: SecondWindow,
}

impl Remembered {
    /// Reads the file beside the key of `shared`. Of one that cannot be read nothing is known.
    pub(crate) fn read(shared: &SharedConfig) -> Self {
        let path = Identity::path_of(shared).ok().map(|key| key.with_file_name(FILE_NAME));
        let text = path.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        Self { path, left: parse(&text) }
    }

    /// Sets the place of the own picture, and the second window, to what is remembered.
    pub(crate) fn tell(&self, own: &OwnPlace, second: &SecondPlace) {
        own.set(self.left.own.0, self.left.own.1);
        second.set(self.left.second.clone());
    }

    /// Remembers both, if they have changed.
    pub(crate) fn keep(&mut self, own: &OwnPlace, second: &SecondPlace) -> Result<(), Failure> {
        let left = Left { own: own.get(), second: second.get() };
        let Some(path) = self.path.as_ref().filter(|_| left != self.left) else { return Ok(()) };
        let text = text(&left);
        self.left = left;
        LockedFile::make(path)?.change(|_| Ok((Change::To(text.clone()), ())))
    }
}

fn text(Left { own: (corner, is_shown), second }: &Left) -> String {
    let mut document = DocumentMut::new();
    for (key, is_so) in [
        ("own_at_top", corner.is_top),
        ("own_at_left", corner.is_left),
        ("own_shown", *is_shown),
        ("second_open", second.is_open),
        ("second_fullscreen", second.is_fullscreen),
    ] {
        document.insert(key, value(is_so));
    }
    if let Some(screen) = &second.screen {
        document.insert("second_screen", value(screen));
    }
    document.to_string()
}

fn parse(text: &str) -> Left {
    let document: DocumentMut = text.parse().unwrap_or_default();
    let is = |key: &str| document.get(key).and_then(toml_edit::Item::as_bool).unwrap_or_default();
    let screen = document.get("second_screen").and_then(toml_edit::Item::as_str).map(str::to_owned);
    Left {
        own: (Corner { is_top: is("own_at_top"), is_left: is("own_at_left") }, is("own_shown")),
        second: SecondWindow { is_open: is("second_open"), is_fullscreen: is("second_fullscreen"), screen },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_picture_and_a_second_window_are_where_they_were_left() {
        let folder = std::env::temp_dir().join(format!("duet-remembered-{}", std::process::id()));
        let path = Some(folder.join(FILE_NAME));
        let (own, second) = (OwnPlace::default(), SecondPlace::default());
        let mut remembered = Remembered { path: path.clone(), left: Left::default() };
        assert_eq!((remembered.keep(&own, &second), folder.exists()), (Ok(()), false), "nothing was moved");
        let corner = |is_top| Corner { is_top, is_left: !is_top };
        for (at, is_open, screen) in [
            ((corner(true), true), false, None),
            ((corner(false), false), false, None),
            ((corner(false), false), true, Some("DP-1")),
            ((corner(false), false), false, Some("\"\n[\u{202e}")),
        ] {
            let screen = screen.map(str::to_owned);
            let left = Left { own: at, second: SecondWindow { is_open, is_fullscreen: is_open, screen } };
            own.set(at.0, at.1);
            second.set(left.second.clone());
            assert_eq!(remembered.keep(&own, &second), Ok(()));
            assert_eq!(parse(&std::fs::read_to_string(folder.join(FILE_NAME)).unwrap()), left);
        }
        // A full disk: a sentence, and the window goes on.
        let mut full = Remembered { path: Some("/dev/full/window.toml".into()), left: Left::default() };
        assert!(full.keep(&own, &second).is_err());
        for wrong in ["own_at_top = 3", "[[", "\u{202e}", "second_screen = true"] {
            assert_eq!(parse(wrong), Left::default(), "{wrong}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
