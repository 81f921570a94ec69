//! The recordings of a call, which begin and end while it goes on.

use std::path::Path;

use net::failure::Failure;
use shell::record::Switch;
use shell::settings::TalkSide;

/// The recordings of a call: pictures and sound that come, and of what is sent the sound, and the pictures unless they are predicted.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    pub(crate) received: Switch,
    pub(crate) sent: Switch,
    pub(crate) talk: TalkSide,
}

impl Recordings {
    /// Begins to record, to files in `folder`, which is made with the first; the other side is told.
    ///
    /// Errors: the system starts no further thread. A folder that takes no file is told by [`Self::take_trouble`].
    pub fn begin(&self, folder: &Path) -> Result<(), Failure> {
        // A path that ends so is a folder, also one that is not there yet.
        let folder = folder.join("");
        self.received.begin(&folder, "received")?;
        self.sent.begin(&folder, "sent").inspect_err(|_| self.received.end())?;
        self.talk.set_recording(true);
        Ok(())
    }

    /// Ends it; what has come until now is written while the call goes on.
    pub fn end(&self) {
        self.received.end();
        self.sent.end();
        self.talk.set_recording(false);
    }

    /// Returns true while it is recorded.
    pub fn is_on(&self) -> bool {
        self.talk.is_recording()
    }

    /// Returns why nothing is recorded any more, once; the other side is told.
    pub fn take_trouble(&self) -> Option<String> {
        let trouble = self.received.take_trouble().or_else(|| self.sent.take_trouble())?;
        self.end();
        Some(trouble)
    }
}
