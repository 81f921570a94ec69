//! The code-stream: boxes around it, its header, and the packets of its tiles.

mod bits;
pub(super) mod boxes;
pub(super) mod header;
pub(super) mod packet;
pub(super) mod progression;
pub(super) mod quantise;
mod tagtree;
