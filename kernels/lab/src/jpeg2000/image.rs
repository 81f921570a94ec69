//! Pictures of up to four components of up to 16 bits.

use std::borrow::Cow;

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

/// Shape of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) step: (u8, u8),
    pub(super) depth: u8,
    pub(super) is_signed: bool,
}

impl Shape {
    /// Returns the value that is taken from unsigned samples.
    pub(super) fn middle(&self) -> i32 {
        if self.is_signed { 0 } else { 1 << (self.depth - 1) }
    }

    /// Returns how many samples it has.
    pub(super) fn count(&self) -> usize {
        self.width * self.height
    }
}

impl ImageComponent {
    pub(super) fn shape(&self) -> Shape {
        let &Self { width, height, step, depth, is_signed, .. } = self;
        Shape { width, height, step, depth, is_signed }
    }
}

/// Samples where they lie.
#[derive(Clone, Debug)]
pub(super) enum Samples<'a> {
    /// Component by component.
    Planes(Vec<&'a [i32]>),
    /// Pixel by pixel: those of a pixel, which are so many bytes after those of the one before, begin with the components.
    Pixels { bytes: &'a [u8], apart: usize },
}

/// A picture that is to be coded. Its samples stay where they are.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colour: Colour,
    pub(super) shapes: Vec<Shape>,
    pub(super) samples: Samples<'a>,
}

impl<'a> Source<'a> {
    /// Returns a picture of bytes pixel by pixel, `apart` to each. The colours are the first of them and, if `has_opacity`, opacity
    /// comes next.
    pub fn of_pixels(
        (width, height): (usize, usize),
        colour: Colour,
        has_opacity: bool,
        (bytes, apart): (&'a [u8], usize),
    ) -> Self {
        let shape = Shape { width, height, step: (1, 1), depth: 8, is_signed: false };
        let shapes = vec![shape; colour.components() + usize::from(has_opacity)];
        Self { width, height, colour, shapes, samples: Samples::Pixels { bytes, apart } }
    }

    /// Returns the columns and rows of its pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Returns the meaning of its components.
    pub fn colour(&self) -> Colour {
        self.colour
    }

    /// Returns true if a component after the colours is opacity.
    pub fn has_opacity(&self) -> bool {
        self.shapes.len() > self.colour.components()
    }

    /// Returns the bits of a sample of the first component.
    pub fn depth(&self) -> u8 {
        self.shapes.first().map_or(0, |shape| shape.depth)
    }

    /// Returns how many samples all components have.
    pub(super) fn count(&self) -> usize {
        self.shapes.iter().map(Shape::count).sum()
    }

    /// Returns true if there are as many samples as its shape says.
    pub(super) fn is_whole(&self) -> bool {
        match &self.samples {
            Samples::Planes(planes) => {
                let lengths = self.shapes.iter().map(Shape::count);
                planes.iter().map(|plane| plane.len()).eq(lengths)
            }
            Samples::Pixels { bytes, apart } => {
                *apart >= self.shapes.len() && bytes.len() == self.width * self.height * apart
            }
        }
    }

    /// Returns the samples of a component.
    pub(super) fn plane(&self, component: usize) -> Cow<'a, [i32]> {
        match &self.samples {
            Samples::Planes(planes) => Cow::Borrowed(planes[component]),
            Samples::Pixels { bytes, apart } => {
                bytes[component..].iter().step_by(*apart).map(|&sample| sample.into()).collect()
            }
        }
    }
}

impl<'a> From<&'a Image> for Source<'a> {
    fn from(image: &'a Image) -> Self {
        let &Image { width, height, colour, .. } = image;
        let shapes = image.components.iter().map(ImageComponent::shape).collect();
        let planes = image.components.iter().map(|component| &component.samples[..]).collect();
        Self { width, height, colour, shapes, samples: Samples::Planes(planes) }
    }
}
