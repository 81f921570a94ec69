//! Limits that keep an execution short.

use picture::params::StreamParams;

/// Frames of a file that are decoded.
pub const FRAMES: usize = 4;
/// Pixels of a picture that is decoded: memory and time are those of the size that the head asks for.
const PIXELS: usize = 1 << 14;

/// Returns true if the pictures of this stream are passed over.
pub fn is_large(params: &StreamParams) -> bool {
    params.size.pixels() > PIXELS
}
