//! One side of a call, as it was recorded.

use std::path::{Path, PathBuf};

use anyhow::Result;
use picture::params::StreamParams;

use super::tags::{self, Tags};
use crate::decode;

/// One side: pictures and sound.
pub(super) struct Side {
    pub(super) pictures: PathBuf,
    pub(super) params: StreamParams,
    /// The sound, if there is any.
    pub(super) sound: Option<PathBuf>,
    pub(super) tags: Tags,
}

impl Side {
    /// Opens a recording, and the sound beside it.
    pub(super) fn open(pictures: &Path) -> Result<Self> {
        let params = decode::params(pictures)?;
        let sound = Some(pictures.with_extension("wav")).filter(|sound| sound.is_file());
        let tags = sound.as_deref().map(tags::of).transpose()?.unwrap_or_default();
        Ok(Self { pictures: pictures.to_owned(), params, sound, tags })
    }
}
