//! Frames of `.duet` files that are whole.

use picture::coded::ReceivedFrame;
use picture::container::{ContainerReader, Content, Entry, FileFrame};

/// The reference and the blocks of the next frame, which must be whole; `None` behind the last.
pub(crate) fn next_frame(container: &mut ContainerReader<&[u8]>) -> Option<(u8, ReceivedFrame)> {
    match container.next_entry().unwrap()? {
        Entry::Frame(FileFrame { content: Content::Blocks { reference, frame, damaged: 0 }, .. }) => {
            Some((reference, frame))
        }
        other => unreachable!("{other:?}"),
    }
}
