//! Memory of the window from one start to the next: a file beside this machine's key.

use std::path::PathBuf;

use common::config::SharedConfig;
use net::failure::Failure;
use net::identity::Identity;
use net::reach::{Change, LockedFile};
use showing::sink::{Corner, OwnPlace};
use toml_edit::{DocumentMut, value};

/// Name of the file.
const FILE_NAME: &str = "window.toml";

/// The file, and what it holds.
pub(crate) struct Remembered {
    path: Option<PathBuf>,
    own: (Corner, bool),
}

impl Remembered {
    /// Reads the file beside the key of `shared`. Of one that cannot be read nothing is known.
    pub(crate) fn read(shared: &SharedConfig) -> Self {
        let path = Identity::path_of(shared).ok().map(|key| key.with_file_name(FILE_NAME));
        let text = path.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        Self { path, own: parse(&text) }
    }

    /// Sets the place of the own picture to what is remembered.
    pub(crate) fn tell(&self, place: &OwnPlace) {
        place.set(self.own.0, self.own.1);
    }

    /// Remembers `place`, if it is another one.
    pub(crate) fn keep(&mut self, place: &OwnPlace) -> Result<(), Failure> {
        let own = place.get();
        let Some(path) = self.path.as_ref().filter(|_| own != self.own) else { return Ok(()) };
        self.own = own;
        LockedFile::make(path)?.change(|_| Ok((Change::To(text(own)), ())))
    }
}

fn text((corner, is_shown): (Corner, bool)) -> String {
    let mut document = DocumentMut::new();
    for (key, is_so) in [("own_at_top", corner.is_top), ("own_at_left", corner.is_left), ("own_shown", is_shown)] {
        document.insert(key, value(is_so));
    }
    document.to_string()
}

fn parse(text: &str) -> (Corner, bool) {
    let document: DocumentMut = text.parse().unwrap_or_default();
    let is = |key: &str| document.get(key).and_then(toml_edit::Item::as_bool).unwrap_or_default();
    (Corner { is_top: is("own_at_top"), is_left: is("own_at_left") }, is("own_shown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_picture_stands_where_it_was_left() {
        let folder = std::env::temp_dir().join(format!("duet-remembered-{}", std::process::id()));
        let path = Some(folder.join(FILE_NAME));
        let place = OwnPlace::default();
        let mut remembered = Remembered { path: path.clone(), own: parse("") };
        assert_eq!((remembered.keep(&place), folder.exists()), (Ok(()), false), "nothing was moved");
        for own in [(Corner { is_top: true, is_left: false }, true), (Corner { is_top: false, is_left: true }, false)] {
            place.set(own.0, own.1);
            assert_eq!(remembered.keep(&place), Ok(()));
            assert_eq!(parse(&std::fs::read_to_string(folder.join(FILE_NAME)).unwrap()), own);
        }
        // A full disk: a sentence, and the window goes on.
        let mut full = Remembered { path: Some("/dev/full/window.toml".into()), own: parse("") };
        assert!(full.keep(&place).is_err());
        for wrong in ["own_at_top = 3", "[[", "\u{202e}"] {
            assert_eq!(parse(wrong), (Corner::default(), false), "{wrong}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
