//! Pictures as a virtual camera gives them: of one size whatever the stream's is, in Y'CbCr as webcams have it (BT.601, limited
//! range), dimmed and with a sentence on them while the other side is missing.

use kernels::{Converter, Picture, Scaler};
use picture::frame::{ColourSpace, FrameSize};
use rayon::prelude::*;

use super::enlarged::enlarged;
use super::text::Canvas;

/// Order of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Y0 Cb Y1 Cr for two pixels side by side.
    Yuyv,
    /// A plane of Y, then Cb and Cr at half width and height.
    Yu12,
}

/// Size and layout of a virtual camera's pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    layout: Layout,
    width: usize,
    height: usize,
    /// Bytes from one row of luma to the next.
    stride: usize,
    /// Bytes of a picture.
    bytes: usize,
}

impl Shape {
    /// Creates the shape that a driver states: `stride` bytes a row and `bytes` in all, zero where it leaves that open. `None`
    /// if these cannot be right.
    pub(super) fn new(layout: Layout, (width, height): (u32, u32), stride: usize, bytes: usize) -> Option<Self> {
        let size = FrameSize::new(width, height).ok()?;
        let (width, height) = (size.width(), size.height());
        let least = match layout {
            Layout::Yuyv => width.div_ceil(2) * 4,
            Layout::Yu12 => width,
        };
        let stride = if stride == 0 { least } else { stride };
        if !(least..=4 * least).contains(&stride) {
            return None;
        }
        let samples = match layout {
            Layout::Yuyv => stride * height,
            Layout::Yu12 => stride * height + 2 * (stride / 2 * (height / 2)),
        };
        let bytes = if bytes == 0 { samples } else { bytes };
        // Drivers round up to pages.
        (samples..=2 * samples + 4096).contains(&bytes).then_some(Self { layout, width, height, stride, bytes })
    }

    /// Returns width and height in pixels.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }
}

/// Makes the pictures of a virtual camera.
pub(super) struct CameraPicture {
    shape: Shape,
    /// The stream's picture as it came.
    pixels: Vec<u32>,
    size: (usize, usize),
    scaler: Scaler,
    /// The same at the camera's size.
    frame: Vec<u32>,
    coded: Vec<u8>,
}

impl CameraPicture {
    /// Creates the maker of pictures of `shape`; there is no picture yet.
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            pixels: vec![0],
            size: (1, 1),
            scaler: Scaler::new((1, 1), (1, 1)),
            frame: vec![0; shape.width * shape.height],
            coded: vec![0; shape.bytes],
        }
    }

    /// Returns the camera's width and height in pixels.
    pub(super) fn size(&self) -> (usize, usize) {
        self.shape.size()
    }

    /// Takes the stream's newest picture, whose samples mean `colour`.
    pub(super) fn take(&mut self, colour: ColourSpace, picture: &Picture) {
        Converter::new(colour).convert(picture, &mut self.pixels);
        self.size = (picture.size().width(), picture.size().height());
    }

    /// Returns the bytes for the newest picture, with `notice` on it if no other comes: as large as fits without another shape, bars
    /// around it.
    pub(super) fn bytes(&mut self, notice: Option<&str>) -> &[u8] {
        let Shape { width, height, .. } = self.shape;
        let inner = enlarged(self.size, (width, height));
        if self.scaler.sizes() != (self.size, inner) {
            self.scaler = Scaler::new(self.size, inner);
        }
        // What a sentence or a picture of another shape has left.
        self.frame.fill(0);
        let place = ((width - inner.0) / 2, (height - inner.1) / 2);
        self.scaler.scale(&self.pixels, &mut self.frame, width, place);
        if let Some(notice) = notice {
            Canvas { pixels: &mut self.frame, width }.draw_notice(notice);
        }
        match self.shape.layout {
            Layout::Yuyv => yuyv(&self.shape, &self.frame, &mut self.coded),
            Layout::Yu12 => yu12(&self.shape, &self.frame, &mut self.coded),
        }
        &self.coded
    }
}

fn yuyv(shape: &Shape, frame: &[u32], coded: &mut [u8]) {
    let rows = coded.par_chunks_mut(shape.stride).zip(frame.par_chunks(shape.width));
    rows.for_each(|(row, pixels)| {
        for (out, pair) in row.as_chunks_mut::<4>().0.iter_mut().zip(pixels.chunks(2)) {
            let (first, second) = (pair[0], pair[pair.len() - 1]);
            let [blue, red] = chroma(&[first, second]);
            *out = [luma(first), blue, luma(second), red];
        }
    });
}

fn yu12(shape: &Shape, frame: &[u32], coded: &mut [u8]) {
    let Shape { width, height, stride, .. } = *shape;
    let (lumas, chromas) = coded.split_at_mut(stride * height);
    let rows = lumas.par_chunks_mut(stride).zip(frame.par_chunks(width));
    rows.for_each(|(row, pixels)| row.iter_mut().zip(pixels).for_each(|(out, &pixel)| *out = luma(pixel)));
    let half = stride / 2;
    let (blues, reds) = chromas.split_at_mut(half * (height / 2));
    let planes = blues.par_chunks_mut(half.max(1)).zip(reds.par_chunks_mut(half.max(1)));
    planes.zip(frame.par_chunks_exact(2 * width)).for_each(|((blues, reds), rows)| {
        let (upper, lower) = rows.split_at(width);
        for (at, (blue, red)) in blues.iter_mut().zip(reds).take(width / 2).enumerate() {
            let (left, right) = (2 * at, 2 * at + 1);
            [*blue, *red] = chroma(&[upper[left], upper[right], lower[left], lower[right]]);
        }
    });
}

/// Red, green and blue of 0x00RRGGBB.
fn channels(pixel: u32) -> [i32; 3] {
    [16, 8, 0].map(|shift| (pixel >> shift & 0xff) as i32)
}

/// Returns Y of 0x00RRGGBB (ITU-R BT.601-7, 2.5.3; weights times 2^16).
fn luma(pixel: u32) -> u8 {
    let [red, green, blue] = channels(pixel);
    ((16_829 * red + 33_039 * green + 6_416 * blue + (16 << 16) + (1 << 15)) >> 16) as u8
}

/// Returns Cb and Cr of the mean of `pixels`.
fn chroma(pixels: &[u32]) -> [u8; 2] {
    let (mut sum, count) = ([0; 3], pixels.len() as i32);
    for &pixel in pixels {
        sum.iter_mut().zip(channels(pixel)).for_each(|(sum, value)| *sum += value);
    }
    let [red, green, blue] = sum;
    let byte = |weighted: i32| ((weighted / count + (128 << 16) + (1 << 15)) >> 16) as u8;
    [byte(-9_714 * red - 19_070 * green + 28_784 * blue), byte(28_784 * red - 24_103 * green - 4_681 * blue)]
}

#[cfg(test)]
mod tests {
    use picture::frame::PixelFormat;

    use super::*;

    fn shape(layout: Layout, width: u32, height: u32) -> Shape {
        Shape::new(layout, (width, height), 0, 0).unwrap()
    }

    /// A picture of one colour.
    fn plain(size: (u32, u32), [luma, cb, cr]: [u8; 3]) -> Picture {
        let size = FrameSize::new(size.0, size.1).unwrap();
        let half = size.halved().pixels();
        let data = [vec![luma; size.pixels()], vec![cb; half], vec![cr; half]].concat();
        Picture::from_data(PixelFormat::I420, size, data).unwrap()
    }

    #[test]
    fn colours_stay_what_they_are() {
        // Grey of all degrees, and the colour bars of BT.601 at 75 %.
        let greys = (16..=235).map(|grey| [grey, 128, 128]);
        let bars = [[162, 44, 142], [131, 156, 44], [112, 72, 58], [84, 184, 198], [65, 100, 212], [35, 212, 114]];
        for colour in greys.chain(bars) {
            for (layout, luma_at, blue_at, red_at) in
                [(Layout::Yuyv, [0, 2], 1, 3), (Layout::Yu12, [0, 23], 8 * 4, 8 * 4 + 4 * 2)]
            {
                let mut camera = CameraPicture::new(shape(layout, 8, 4));
                camera.take(ColourSpace::BT601_LIMITED, &plain((8, 4), colour));
                let bytes = camera.bytes(None);
                assert_eq!(bytes.len(), if layout == Layout::Yuyv { 64 } else { 48 });
                let got = [bytes[luma_at[0]], bytes[blue_at], bytes[red_at]];
                let apart = got.iter().zip(colour).map(|(got, wanted)| got.abs_diff(wanted)).max().unwrap();
                assert!(apart <= 1 && bytes[luma_at[1]] == got[0], "{layout:?}: {got:?} of {colour:?}");
            }
        }
    }

    #[test]
    fn pictures_of_other_sizes_stand_between_black_bars() {
        let mut camera = CameraPicture::new(shape(Layout::Yuyv, 32, 16));
        let row =
            |bytes: &[u8], y: usize| -> Vec<u8> { bytes[64 * y..64 * (y + 1)].iter().step_by(2).copied().collect() };
        camera.take(ColourSpace::BT601_LIMITED, &plain((32, 16), [200, 128, 128]));
        assert!(row(camera.bytes(None), 5).iter().all(|&luma| luma == 200));
        // A square: bars at the sides; a wide one: bars above and below.
        camera.take(ColourSpace::BT601_LIMITED, &plain((64, 64), [100, 128, 128]));
        let wanted: Vec<u8> = [[16; 8].as_slice(), &[100; 16], &[16; 8]].concat();
        assert_eq!(row(camera.bytes(None), 5), wanted);
        camera.take(ColourSpace::BT601_LIMITED, &plain((16, 4), [100, 128, 128]));
        let bytes = camera.bytes(None);
        let lumas: Vec<u8> = (0..16).map(|y| row(bytes, y)[9]).collect();
        assert_eq!(lumas, [[16; 4].as_slice(), &[100; 8], &[16; 4]].concat());
    }

    #[test]
    fn a_sentence_stands_on_a_dimmed_picture_and_goes_with_it() {
        let mut camera = CameraPicture::new(shape(Layout::Yu12, 320, 180));
        camera.take(ColourSpace::BT601_LIMITED, &plain((320, 180), [200, 128, 128]));
        let alive = camera.bytes(None).to_vec();
        let said = camera.bytes(Some("Clara has been missing for 3 s; calling again"))[..320 * 180].to_vec();
        assert!(said[..320 * 40].iter().all(|&luma| luma == said[0]) && said[0] < 80, "dimmed: {}", said[0]);
        assert!(said[320 * 40..320 * 140].iter().filter(|&&luma| luma > 180).count() > 100, "a text");
        assert!(said[320 * 140..].iter().all(|&luma| luma == said[0]), "and no other: no key can be pressed here");
        assert_eq!(camera.bytes(None), alive);
    }

    #[test]
    fn rows_lie_as_the_driver_wants_them() {
        let wide = Shape::new(Layout::Yuyv, (6, 3), 16, 4096).unwrap();
        let mut camera = CameraPicture::new(wide);
        camera.take(ColourSpace::BT601_LIMITED, &plain((6, 3), [200, 128, 128]));
        let bytes = camera.bytes(None);
        assert_eq!(bytes.len(), 4096);
        for row in bytes.chunks(16).take(3) {
            assert_eq!(row, [[200, 128].repeat(6), vec![0; 4]].concat());
        }
        let mut camera = CameraPicture::new(Shape::new(Layout::Yu12, (6, 4), 8, 0).unwrap());
        camera.take(ColourSpace::BT601_LIMITED, &plain((6, 4), [162, 44, 142]));
        let bytes = camera.bytes(None);
        assert_eq!((bytes[6], bytes[8], bytes[32], bytes[35], bytes[36], bytes[40]), (0, 162, 44, 0, 44, 142));
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        for layout in [Layout::Yuyv, Layout::Yu12] {
            for (size, stride, bytes) in [
                ((0, 4), 0, 0),
                ((4, 20_000), 0, 0),
                ((8, 4), 7, 0),
                ((8, 4), usize::MAX, 0),
                ((8, 4), 0, 8),
                ((8, 4), 0, usize::MAX),
            ] {
                assert_eq!(Shape::new(layout, size, stride, bytes), None, "{layout:?} {size:?} {stride} {bytes}");
            }
            for size in [(1, 1), (3, 2), (5, 7), (2, 1)] {
                let mut camera = CameraPicture::new(shape(layout, size.0, size.1));
                camera.take(ColourSpace::JPEG, &plain((9, 9), [1, 2, 3]));
                camera.bytes(Some("Clara left"));
            }
        }
    }
}
