//! Pictures, borrowed and owned.

use picture::frame::{BitDepth, Chroma, FrameSize, PixelFormat};
use picture::params::StreamParams;

use crate::PictureError;

/// A picture to encode, borrowed from whoever captured it.
#[derive(Clone, Copy, Debug)]
pub struct PictureRef<'a> {
    format: PixelFormat,
    depth: BitDepth,
    size: FrameSize,
    data: &'a [u8],
}

impl<'a> PictureRef<'a> {
    /// Borrows a picture whose samples of 8 bits are `data`; [`PictureError::Length`] unless it has exactly the bytes
    /// that `format` and `size` take.
    pub fn new(format: PixelFormat, size: FrameSize, data: &'a [u8]) -> Result<Self, PictureError> {
        Self::with_depth(format, BitDepth::Eight, size, data)
    }

    /// Borrows a picture of samples of `depth`; errors as [`Self::new`].
    pub fn with_depth(
        format: PixelFormat,
        depth: BitDepth,
        size: FrameSize,
        data: &'a [u8],
    ) -> Result<Self, PictureError> {
        let wanted_bytes = depth.bytes() * format.bytes(size);
        if data.len() != wanted_bytes {
            return Err(PictureError::Length { format, size, wanted_bytes, given_bytes: data.len() });
        }
        Ok(Self { format, depth, size, data })
    }

    /// Returns the same picture; `format` is its own, said again so that the compiler knows it too.
    #[inline(always)]
    pub(crate) fn known_as(self, format: PixelFormat) -> Self {
        debug_assert_eq!(format, self.format);
        Self { format, ..self }
    }

    /// Returns the order of the samples.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Returns the bits of a sample.
    pub fn depth(&self) -> BitDepth {
        self.depth
    }

    /// Returns the size in pixels.
    pub fn size(&self) -> FrameSize {
        self.size
    }

    /// Returns the samples, [`BitDepth::bytes`] times [`PixelFormat::bytes`] bytes.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// A picture that owns its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    format: PixelFormat,
    depth: BitDepth,
    size: FrameSize,
    data: Vec<u8>,
}

impl Picture {
    /// Creates a picture of `format` and `size` with every sample 0, of 8 bits.
    pub fn new(format: PixelFormat, size: FrameSize) -> Self {
        Self::with_depth(format, BitDepth::Eight, size)
    }

    /// Creates a picture of samples of `depth`, every one 0.
    pub fn with_depth(format: PixelFormat, depth: BitDepth, size: FrameSize) -> Self {
        Self { format, depth, size, data: vec![0; depth.bytes() * format.bytes(size)] }
    }

    /// Returns the picture that a stream of `chroma` and `size` with samples of 8 bits decodes into, every sample 0.
    pub fn for_stream(chroma: Chroma, size: FrameSize) -> Self {
        Self::new(chroma.picture_format(), size)
    }

    /// Returns the picture that any stream decodes into, every sample 0.
    pub fn decoded_from(params: &StreamParams) -> Self {
        Self::with_depth(params.chroma.picture_format(), params.codec.depth, params.size)
    }

    /// Creates a picture whose samples of 8 bits are `data`; errors as [`PictureRef::new`].
    pub fn from_data(format: PixelFormat, size: FrameSize, data: Vec<u8>) -> Result<Self, PictureError> {
        PictureRef::new(format, size, &data)?;
        Ok(Self { format, depth: BitDepth::Eight, size, data })
    }

    /// Returns the order of the samples.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Returns the bits of a sample.
    pub fn depth(&self) -> BitDepth {
        self.depth
    }

    /// Returns the size in pixels.
    pub fn size(&self) -> FrameSize {
        self.size
    }

    /// Returns the samples.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns the samples, to be written.
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// Returns the samples without the picture.
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }

    /// Returns the CRC-32 of the samples, by which two ends find that their states differ; BITSTREAM.md, section 8.
    pub fn hash(&self) -> u32 {
        crc32fast::hash(&self.data)
    }

    /// Returns a borrowed view.
    pub fn as_ref(&self) -> PictureRef<'_> {
        PictureRef { format: self.format, depth: self.depth, size: self.size, data: &self.data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_shows_every_bit() {
        let size = FrameSize::new(9, 5).unwrap();
        let mut picture = Picture::new(PixelFormat::I420, size);
        assert_eq!(picture.hash(), 3_793_942_316, "as any CRC-32 of 75 zeros");
        let mut hashes = std::collections::BTreeSet::from([picture.hash()]);
        for at in 0..picture.data().len() {
            for bit in 0..8 {
                picture.data_mut()[at] ^= 1 << bit;
                assert!(hashes.insert(picture.hash()), "bit {bit} of byte {at}");
                picture.data_mut()[at] ^= 1 << bit;
            }
        }
    }

    #[test]
    fn a_picture_has_exactly_its_bytes() {
        let size = FrameSize::new(3, 3).unwrap();
        assert!(PictureRef::new(PixelFormat::I420, size, &[0; 17]).is_ok());
        let error = PictureRef::new(PixelFormat::I420, size, &[0; 18]).unwrap_err();
        assert_eq!(error.to_string(), "a I420 picture of 3x3 pixels takes 17 bytes, not 18");
        assert!(PictureRef::with_depth(PixelFormat::I420, BitDepth::Ten, size, &[0; 34]).is_ok());
        assert!(PictureRef::with_depth(PixelFormat::I420, BitDepth::Ten, size, &[0; 17]).is_err());
    }
}
