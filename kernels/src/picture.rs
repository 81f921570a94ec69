//! Pictures of 8-bit samples, borrowed and owned.

use common::frame::{Chroma, FrameSize, PixelFormat};

use crate::Error;

/// A picture to encode, borrowed from whoever captured it.
#[derive(Clone, Copy, Debug)]
pub struct PictureRef<'a> {
    format: PixelFormat,
    size: FrameSize,
    data: &'a [u8],
}

impl<'a> PictureRef<'a> {
    /// A picture whose samples are `data`; [`Error::PictureLength`] unless it has exactly the bytes that
    /// `format` and `size` take.
    pub fn new(format: PixelFormat, size: FrameSize, data: &'a [u8]) -> Result<Self, Error> {
        let wanted_bytes = format.bytes(size);
        if data.len() != wanted_bytes {
            return Err(Error::PictureLength { format, size, wanted_bytes, given_bytes: data.len() });
        }
        Ok(Self { format, size, data })
    }

    /// The same picture; `format` is its own, said again so that the compiler knows it too.
    #[inline(always)]
    pub(crate) fn known_as(self, format: PixelFormat) -> Self {
        debug_assert_eq!(format, self.format);
        Self { format, ..self }
    }

    /// Order of the samples.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Size in pixels.
    pub fn size(&self) -> FrameSize {
        self.size
    }

    /// The samples, [`PixelFormat::bytes`] of them.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// A picture that owns its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    format: PixelFormat,
    size: FrameSize,
    data: Vec<u8>,
}

impl Picture {
    /// A picture of `format` and `size` with every sample 0.
    pub fn new(format: PixelFormat, size: FrameSize) -> Self {
        Self { format, size, data: vec![0; format.bytes(size)] }
    }

    /// The picture that a stream of `chroma` and `size` decodes into, every sample 0.
    pub fn for_stream(chroma: Chroma, size: FrameSize) -> Self {
        Self::new(chroma.picture_format(), size)
    }

    /// A picture whose samples are `data`; errors as [`PictureRef::new`].
    pub fn from_data(format: PixelFormat, size: FrameSize, data: Vec<u8>) -> Result<Self, Error> {
        PictureRef::new(format, size, &data)?;
        Ok(Self { format, size, data })
    }

    /// Order of the samples.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Size in pixels.
    pub fn size(&self) -> FrameSize {
        self.size
    }

    /// The samples.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The samples, to be written.
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// The samples without the picture.
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }

    /// A borrowed view.
    pub fn as_ref(&self) -> PictureRef<'_> {
        PictureRef { format: self.format, size: self.size, data: &self.data }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_picture_has_exactly_its_bytes() {
        let size = FrameSize::new(3, 3).unwrap();
        assert!(PictureRef::new(PixelFormat::I420, size, &[0; 17]).is_ok());
        let error = PictureRef::new(PixelFormat::I420, size, &[0; 18]).unwrap_err();
        assert_eq!(error.to_string(), "a I420 picture of 3x3 pixels takes 17 bytes, not 18");
    }
}
