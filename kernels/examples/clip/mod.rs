//! Clips of the examples.

use std::fs::File;
use std::io::BufReader;

use anyhow::ensure;
use picture::frame::{BitDepth, Chroma, FrameSize};
use picture::y4m::Y4mReader;

/// Returns the size and at most so many pictures of a Y4M file, 4:2:0 with 8 bits.
pub(crate) fn read(path: &str, most: usize) -> anyhow::Result<(FrameSize, Vec<Vec<u8>>)> {
    let mut reader = Y4mReader::new(BufReader::new(File::open(path)?))?;
    let header = reader.header();
    ensure!((header.chroma, header.depth) == (Chroma::C420, BitDepth::Eight), "not 4:2:0 with 8 bits");
    let (size, mut pictures, mut picture) = (header.size, Vec::new(), Vec::new());
    while pictures.len() < most && reader.read(&mut picture)? {
        pictures.push(picture.clone());
    }
    Ok((size, pictures))
}
