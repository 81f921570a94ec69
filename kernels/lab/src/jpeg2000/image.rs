//! Pictures of up to four components of up to 16 bits.

/// Meaning of the components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Brightness.
    Grey,
    /// Red, green and blue of sRGB.
    Rgb,
    /// Y, Cb and Cr of sRGB in full range, by BT.601.
    Ycc,
}

impl Colour {
    /// Numbers of boxes.
    const NUMBERS: [(Self, u32); 3] = [(Self::Rgb, 16), (Self::Grey, 17), (Self::Ycc, 18)];

    pub(super) fn of(number: u32) -> Option<Self> {
        Self::NUMBERS.into_iter().find(|colour| colour.1 == number).map(|colour| colour.0)
    }

    pub(super) fn number(self) -> u32 {
        Self::NUMBERS.into_iter().find(|colour| colour.0 == self).map_or(0, |colour| colour.1)
    }

    /// Returns the number of components that are colours; one more is opacity.
    pub fn components(self) -> usize {
        if self == Self::Grey { 1 } else { 3 }
    }
}

/// A component of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageComponent {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Pixels to one sample, along rows and columns.
    pub step: (u8, u8),
    /// Bits of a sample, 1 to 16.
    pub depth: u8,
    /// True if samples have signs.
    pub is_signed: bool,
    /// Samples, row by row.
    pub samples: Vec<i32>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Columns of pixels.
    pub width: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Their meaning; the one after the colours is opacity.
    pub colour: Colour,
    /// One to four.
    pub components: Vec<ImageComponent>,
}
