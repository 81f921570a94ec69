//! Pictures as they come and go: sizes, rates, pixel formats, channels.

use std::time::Duration;

/// Width and height of a picture in pixels, each 1 to [`FrameSize::MAX_SIDE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameSize {
    width: u32,
    height: u32,
}

/// A picture size outside 1x1 to 16384x16384.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {width}x{height} pixels is not possible: each side must be 1 to {max}", max = FrameSize::MAX_SIDE)]
pub struct InvalidSize {
    /// The width asked for, pixels.
    pub width: u32,
    /// The height asked for, pixels.
    pub height: u32,
}

impl FrameSize {
    /// Largest width or height, pixels.
    pub const MAX_SIDE: u32 = 16_384;
    /// 1280x720: where nothing names another.
    pub const USUAL: Self = Self { width: 1280, height: 720 };

    /// Returns a picture's size of `width` x `height` pixels.
    pub const fn new(width: u32, height: u32) -> Result<Self, InvalidSize> {
        if width == 0 || height == 0 || width > Self::MAX_SIDE || height > Self::MAX_SIDE {
            return Err(InvalidSize { width, height });
        }
        Ok(Self { width, height })
    }

    /// Returns the width in pixels.
    pub const fn width(self) -> usize {
        self.width as usize
    }

    /// Returns the height in pixels.
    pub const fn height(self) -> usize {
        self.height as usize
    }

    /// Returns the number of pixels.
    pub const fn pixels(self) -> usize {
        self.width() * self.height()
    }

    /// Returns half the width and height, rounded up: the size of a 4:2:0 chroma plane.
    pub const fn halved(self) -> Self {
        Self { width: self.width.div_ceil(2), height: self.height.div_ceil(2) }
    }

    /// Returns the width and height halved `times` times, rounded up: the size of the low band after so many levels.
    pub const fn halved_times(self, times: usize) -> Self {
        let mut size = self;
        let mut left = times;
        // A picture of 1x1 stays as it is, however often it is halved.
        while left > 0 && size.pixels() > 1 {
            size = size.halved();
            left -= 1;
        }
        size
    }
}

impl std::fmt::Display for FrameSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Frames per second as a fraction, both parts positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    numerator: u32,
    denominator: u32,
}

impl FrameRate {
    /// 30 a second: where nothing names another.
    pub const USUAL: Self = Self { numerator: 30, denominator: 1 };

    /// Returns `numerator / denominator` frames a second; `None` if either is zero or the rate is above 1000.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        if numerator == 0 || denominator == 0 || numerator as u64 > 1000 * denominator as u64 {
            return None;
        }
        Some(Self { numerator, denominator })
    }

    /// Returns the numerator of the fraction.
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// Returns the denominator of the fraction.
    pub const fn denominator(self) -> u32 {
        self.denominator
    }

    /// Returns the time from one frame to the next.
    pub const fn interval(self) -> Duration {
        Duration::from_nanos(1_000_000_000 * self.denominator as u64 / self.numerator as u64)
    }

    /// Returns frames a second, for display.
    pub fn as_f64(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }
}

/// Order of the samples of one picture in memory, rows without gaps; a byte each, or two ([`BitDepth`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// R G B, 3 bytes a pixel.
    Rgb8,
    /// Y Cb Cr at full resolution, 3 bytes a pixel: what a JPEG decoder gives.
    YCbCr8,
    /// Y0 Cb Y1 Cr, 4 bytes for two pixels side by side (4:2:2); an odd width's last pair is complete.
    Yuyv,
    /// A plane of Y, then a plane of Cb Cr pairs at half size (4:2:0).
    Nv12,
    /// Planes Y, Cb, Cr; chroma at half size (4:2:0).
    I420,
    /// Planes Y, Cb, Cr at full size (4:4:4).
    I444,
    /// One plane of luma.
    Grey8,
}

impl PixelFormat {
    /// All formats.
    pub const ALL: [Self; 7] = [Self::Rgb8, Self::YCbCr8, Self::Yuyv, Self::Nv12, Self::I420, Self::I444, Self::Grey8];

    /// Returns the bytes of one picture of `size` in this format with samples of 8 bits.
    pub const fn bytes(self, size: FrameSize) -> usize {
        let half = size.halved().pixels();
        match self {
            Self::Rgb8 | Self::YCbCr8 | Self::I444 => 3 * size.pixels(),
            Self::Yuyv => 4 * size.halved().width() * size.height(),
            Self::Nv12 | Self::I420 => size.pixels() + 2 * half,
            Self::Grey8 => size.pixels(),
        }
    }
}

/// Bits of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BitDepth {
    /// 0 to 255, a byte.
    #[default]
    Eight,
    /// 0 to 1023, two bytes, the low one first. In files only, and coded without loss only.
    Ten,
}

impl BitDepth {
    /// Returns the number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Ten => 10,
        }
    }

    /// Returns the bytes that a sample takes in memory.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Ten => 2,
        }
    }

    /// Returns the largest sample.
    pub const fn max(self) -> u16 {
        (1 << self.bits()) - 1
    }
}

/// Sampling of chroma in the coded stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chroma {
    /// Luma alone.
    Grey,
    /// Cb and Cr at half the width and height.
    C420,
    /// Cb and Cr at full size.
    C444,
    /// Red, green and blue at full size, coded as the three channels of the reversible colour transform.
    Rgb,
}

impl Chroma {
    /// Returns the colour channels of a stream, luma first.
    pub const fn channels(self) -> &'static [Channel] {
        match self {
            Self::Grey => &[Channel::Y],
            Self::C420 | Self::C444 | Self::Rgb => &[Channel::Y, Channel::Cb, Channel::Cr],
        }
    }

    /// Returns the size of the plane of `channel` in a picture of `size`.
    pub const fn plane_size(self, size: FrameSize, channel: Channel) -> FrameSize {
        match (self, channel) {
            (Self::C420, Channel::Cb | Channel::Cr) => size.halved(),
            _ => size,
        }
    }

    /// Returns the format of a decoded picture of this sampling: planes, except for RGB.
    pub const fn picture_format(self) -> PixelFormat {
        match self {
            Self::Grey => PixelFormat::Grey8,
            Self::C420 => PixelFormat::I420,
            Self::C444 => PixelFormat::I444,
            Self::Rgb => PixelFormat::Rgb8,
        }
    }
}

/// A colour channel of the coded stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Luma.
    Y,
    /// Blue difference.
    Cb,
    /// Red difference.
    Cr,
}

impl Channel {
    /// Returns the position among the planes, 0 to 2.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Place of a chroma sample of 4:2:0 among its 2x2 pixels. Samples are kept as they are; this is only passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Siting {
    /// In their middle, as Duet makes them: `420jpeg`.
    #[default]
    Centre,
    /// Between the left two: `420mpeg2`.
    Left,
    /// On the left ones, Cb on the upper and Cr on the lower one: `420paldv`.
    Lines,
}

impl Siting {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Centre, "420jpeg"), (Self::Left, "420mpeg2"), (Self::Lines, "420paldv")];

    /// Returns the word for it in the header of a Y4M stream.
    pub fn name(self) -> &'static str {
        Self::ALL[usize::from(self.index())].1
    }

    /// Returns its number in a `.duet` file and on the wire.
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// The siting with that number.
    pub fn from_index(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).map(|&(siting, _)| siting)
    }

    /// The siting with that word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|&(siting, _)| siting)
    }
}

/// Width of a pixel to its height, as a fraction. It is only passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelAspect {
    width: u32,
    height: u32,
}

impl PixelAspect {
    /// Pixels as wide as they are high.
    pub const SQUARE: Self = Self { width: 1, height: 1 };
    /// Pixels of which nothing is known.
    pub const UNKNOWN: Self = Self { width: 0, height: 0 };

    /// Returns `width` to `height`; `None` if one of the two is 0 and the other is not.
    pub const fn new(width: u32, height: u32) -> Option<Self> {
        if (width == 0) != (height == 0) { None } else { Some(Self { width, height }) }
    }

    /// Returns the part for the width; 0 if it is not known.
    pub const fn width(self) -> u32 {
        self.width
    }

    /// Returns the part for the height; 0 if it is not known.
    pub const fn height(self) -> u32 {
        self.height
    }
}

impl Default for PixelAspect {
    fn default() -> Self {
        Self::SQUARE
    }
}

/// Places of the samples of a picture. Nothing is computed with them: who writes pictures passes them on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raster {
    /// Place of chroma of 4:2:0.
    pub siting: Siting,
    /// Shape of a pixel.
    pub aspect: PixelAspect,
}

/// Weights of red, green and blue in luma.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// BT.601: standard definition, webcams, JPEG.
    Bt601,
    /// BT.709: high definition.
    Bt709,
}

/// Span of the samples; of 10 bits, four times the numbers (and up to 1023).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// Luma 16 to 235, chroma 16 to 240.
    Limited,
    /// 0 to 255, as in JPEG.
    Full,
}

/// The meaning of the Y, Cb and Cr samples of a stream. They are coded as they are; only display needs this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColourSpace {
    /// Weights of red, green and blue.
    pub matrix: Matrix,
    /// Span of the samples.
    pub range: Range,
}

impl ColourSpace {
    /// The space that RGB pictures are converted to before coding.
    pub const BT709_LIMITED: Self = Self { matrix: Matrix::Bt709, range: Range::Limited };
    /// The space that JPEG decoders give (JFIF).
    pub const JPEG: Self = Self { matrix: Matrix::Bt601, range: Range::Full };
    /// The space that webcams give as YUYV or NV12 (USB video class).
    pub const BT601_LIMITED: Self = Self { matrix: Matrix::Bt601, range: Range::Limited };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_count_odd_sides_up() {
        let size = FrameSize::new(3, 5).unwrap();
        assert_eq!(PixelFormat::I420.bytes(size), 15 + 2 * 2 * 3);
        assert_eq!(PixelFormat::Nv12.bytes(size), 15 + 2 * 2 * 3);
        assert_eq!(PixelFormat::Yuyv.bytes(size), 4 * 2 * 5);
        assert_eq!(PixelFormat::I444.bytes(size), 45);
    }

    #[test]
    fn sizes_and_rates_are_bounded() {
        assert!(FrameSize::new(1, 1).is_ok() && FrameSize::new(16_384, 16_384).is_ok());
        assert_eq!(FrameSize::new(16_385, 1), Err(InvalidSize { width: 16_385, height: 1 }));
        assert!(FrameSize::new(0, 4).is_err());
        assert!(FrameRate::new(0, 1).is_none() && FrameRate::new(1001, 1).is_none());
    }
}
