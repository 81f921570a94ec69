//! Files of pictures, as the source that plays them sees them.

use net::failure::Failure;
use picture::frame::PixelFormat;

/// The pictures of a file.
pub(super) trait Film {
    /// Reads the next picture into `data` and returns the order of its samples; none at the end.
    fn next(&mut self, data: &mut Vec<u8>) -> Result<Option<PixelFormat>, Failure>;

    /// Goes back to the first picture.
    fn begin_again(&mut self) -> Result<(), Failure>;

    /// Returns the pictures that could not be used so far.
    fn skipped(&self) -> u64 {
        0
    }
}
