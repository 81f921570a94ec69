//! Pictures made as small as they are asked for, between the source and the effects.

use std::sync::mpsc::{Receiver, Sender, channel};

use kernels::{EncodeError, Picture, PictureRef, Shrinker};
use net::failure::Failure;
use picture::frame::{Chroma, FrameSize};

use super::failure::failure;
use crate::source::SourceFrame;

/// Makes the pictures of a source smaller.
pub(crate) struct Shrinking {
    from: FrameSize,
    to: FrameSize,
    shrinker: Shrinker,
    /// Memory of smaller pictures that have been coded.
    back: (Sender<Vec<u8>>, Receiver<Vec<u8>>),
}

impl Shrinking {
    pub(crate) fn new(from: FrameSize, to: FrameSize, chroma: Chroma) -> Self {
        Self { from, to, shrinker: Shrinker::new(from, to, chroma), back: channel() }
    }

    /// Returns the smaller picture, whose memory is to come back to [`Self::back`]; that of the large one goes to `used`.
    pub(crate) fn apply(&mut self, picture: SourceFrame, used: &Sender<Vec<u8>>) -> Result<SourceFrame, Failure> {
        let format = self.shrinker.room_format();
        let old = self.back.1.try_recv().ok().and_then(|data| Picture::from_data(format, self.to, data).ok());
        let mut out = old.unwrap_or_else(|| self.shrinker.room());
        let large = PictureRef::new(picture.format, self.from, &picture.data);
        let made = large.and_then(|large| self.shrinker.apply(large, &mut out));
        made.map_err(|error| failure(&EncodeError::from(error)))?;
        let (capture, info) = (picture.capture, picture.info);
        picture.data.give_back(used);
        Ok(SourceFrame { format, data: out.into_data().into(), capture, info })
    }

    /// Returns where the memory of smaller pictures belongs.
    pub(crate) fn back(&self) -> &Sender<Vec<u8>> {
        &self.back.0
    }
}

#[cfg(test)]
mod tests {
    use common::units::Timestamp;
    use picture::frame::PixelFormat;

    use super::*;

    #[test]
    fn memory_goes_round() {
        let size = |width, height| FrameSize::new(width, height).unwrap();
        let mut shrinking = Shrinking::new(size(8, 4), size(4, 2), Chroma::C420);
        let (used, unused) = channel();
        let data = [50, 100, 50, 200].repeat(16);
        let picture = SourceFrame {
            format: PixelFormat::Yuyv,
            data: data.clone().into(),
            capture: Timestamp::from_us(7),
            info: None,
        };
        let small = shrinking.apply(picture.clone(), &used).unwrap();
        assert_eq!((small.format, small.capture), (PixelFormat::I420, picture.capture));
        assert_eq!(*small.data, [[50; 8].as_slice(), &[100; 2], &[200; 2]].concat());
        assert_eq!(unused.try_recv().unwrap(), data);
        let place = small.data.as_ptr();
        small.data.give_back(shrinking.back());
        assert_eq!(shrinking.apply(picture, &used).unwrap().data.as_ptr(), place, "the memory of before");
        let short = SourceFrame {
            format: PixelFormat::I420,
            data: vec![0; 7].into(),
            capture: Timestamp::default(),
            info: None,
        };
        assert!(shrinking.apply(short, &used).is_err());
    }
}
