//! The kind of pictures in a file, by its first bytes: names do not always tell.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use image::ImageFormat;

use super::Kind;

/// Bytes by which every kind is told.
const HEAD_BYTES: u64 = 16;
/// Beginning of every Y4M.
const CLIP: &[u8] = b"YUV4MPEG2";

/// Kinds of files that pictures are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// PNG, JPEG, PPM or PGM.
    Still,
    /// Y4M.
    Clip,
}

/// Returns the kind of the pictures in the file at `path`.
pub(super) fn of(path: &Path) -> Result<Content> {
    // Its own reader says what is wrong with it, and a pipe is read once.
    if Kind::of(path, &[Kind::Y4m]).is_ok() {
        return Ok(Content::Clip);
    }
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    match told(file).with_context(|| format!("{name} cannot be read"))? {
        Some(content) => Ok(content),
        None => bail!("{name} cannot be read as a picture: it is none of PNG, JPEG, PPM, PGM and Y4M"),
    }
}

/// Returns true if the file at `path` holds a clip, false if it holds one picture.
pub(crate) fn is_clip(path: &Path) -> Result<bool> {
    of(path).map(|content| content == Content::Clip)
}

/// Returns true if the file at `path` can be opened and begins as one of pictures.
pub(crate) fn is_of_pictures(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(|file| matches!(told(file), Ok(Some(_))))
}

fn told(file: File) -> std::io::Result<Option<Content>> {
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(match image::guess_format(&head) {
        _ if head.starts_with(CLIP) => Some(Content::Clip),
        Ok(ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Pnm) => Some(Content::Still),
        _ => None,
    })
}
