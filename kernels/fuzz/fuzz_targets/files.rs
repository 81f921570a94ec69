//! Reads what is left of the frames of a file. In files of the version without checks every changed byte gets through.

#![allow(dead_code, reason = "each target uses one of them")]

use picture::coded::ReceivedFrame;
use picture::container::{ContainerReader, Content, Entry};

fn next(container: &mut ContainerReader<&[u8]>) -> Option<Content> {
    loop {
        match container.next_entry().ok()?? {
            Entry::Frame(frame) => return Some(frame.content),
            Entry::Damage(_) => {}
        }
    }
}

/// The reference and the blocks of the next frame.
pub fn next_blocks(container: &mut ContainerReader<&[u8]>) -> Option<(u8, ReceivedFrame)> {
    match next(container)? {
        Content::Blocks { reference, frame, .. } => Some((reference, frame)),
        Content::Bytes(_) => None,
    }
}

/// The bytes of the next frame.
pub fn next_bytes(container: &mut ContainerReader<&[u8]>) -> Option<Vec<u8>> {
    match next(container)? {
        Content::Bytes(bytes) => Some(bytes),
        Content::Blocks { .. } => None,
    }
}
