//! The picture that the audience sees: those of all players in one, planes of Y, Cb and Cr at half size, BT.709 of limited range.

use picture::frame::{ColourSpace, FrameSize, Matrix, PixelFormat, Range};

/// Samples of black.
const BLACK: [u8; 3] = [16, 128, 128];
/// Fraction bits of the conversion between colour spaces.
const FRACTION_BITS: u32 = 14;

/// Places of the players on a canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    columns: usize,
    rows: usize,
    /// Width and height of a place, even.
    cell: (usize, usize),
}

impl Layout {
    /// Returns the layout for so many players: one alone, two side by side, more in a grid.
    pub fn of(players: usize) -> Self {
        let columns = (1..=players).find(|columns| columns * columns >= players).unwrap_or(1);
        let rows = players.max(1).div_ceil(columns);
        let cell = if players <= 2 { (640, 360) } else { (480, 270) };
        Self { columns, rows, cell }
    }

    /// Returns the size of the canvas.
    pub fn size(self) -> (usize, usize) {
        (self.columns * self.cell.0, self.rows * self.cell.1)
    }

    fn corner(self, place: usize) -> (usize, usize) {
        (place % self.columns * self.cell.0, place / self.columns * self.cell.1)
    }
}

/// A picture as it lies in memory.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// Order of its samples.
    pub format: PixelFormat,
    /// Width and height.
    pub size: FrameSize,
    /// The meaning of its samples.
    pub colour: ColourSpace,
    /// Its samples, of 8 bits.
    pub data: &'a [u8],
}

/// One of three kinds of samples of a picture.
#[derive(Clone, Copy)]
struct Plane<'a> {
    data: &'a [u8],
    first: usize,
    step: usize,
    row: usize,
    size: (usize, usize),
}

impl Plane<'_> {
    /// Fills `out`, of `size`, with averages of what each sample of it covers.
    fn scale(&self, size: (usize, usize), out: &mut Vec<u8>) {
        out.clear();
        let span = |at: usize, of: usize, from: usize| {
            let begin = at * from / of;
            (begin, ((at + 1) * from / of).max(begin + 1).min(from.max(1)))
        };
        let columns: Vec<_> = (0..size.0).map(|x| span(x, size.0, self.size.0)).collect();
        for y in 0..size.1 {
            let (top, bottom) = span(y, size.1, self.size.1);
            out.extend(columns.iter().map(|&(left, right)| {
                let mut sum = 0;
                for row in top..bottom {
                    let row = &self.data[self.first + row * self.row..];
                    sum += (left..right).map(|x| u32::from(row[x * self.step])).sum::<u32>();
                }
                let count = ((bottom - top) * (right - left)) as u32;
                ((sum + count / 2) / count) as u8
            }));
        }
    }
}

impl<'a> Raw<'a> {
    /// Returns its kinds of samples; none if it is too short.
    fn planes(&self) -> Option<[Option<Plane<'a>>; 3]> {
        let Self { format, size, data, .. } = *self;
        if data.len() < format.bytes(size) {
            return None;
        }
        let (whole, half) = (size, size.halved());
        let (area, quarter) = (whole.pixels(), half.pixels());
        let (width, height) = (whole.width(), whole.height());
        let plane = |first, step, row, size| Some(Plane { data, first, step, row, size });
        let full = |first, step| plane(first, step, step * width, (width, height));
        let halved = |first, step| plane(first, step, step * half.width(), (half.width(), half.height()));
        Some(match format {
            PixelFormat::Rgb8 | PixelFormat::YCbCr8 => [full(0, 3), full(1, 3), full(2, 3)],
            PixelFormat::Yuyv => {
                let row = 4 * half.width();
                let chroma = |first| plane(first, 4, row, (half.width(), height));
                [plane(0, 2, row, (width, height)), chroma(1), chroma(3)]
            }
            PixelFormat::Nv12 => [full(0, 1), halved(area, 2), halved(area + 1, 2)],
            PixelFormat::I420 => [full(0, 1), halved(area, 1), halved(area + quarter, 1)],
            PixelFormat::I444 => [full(0, 1), full(area, 1), full(2 * area, 1)],
            PixelFormat::Grey8 => [full(0, 1), None, None],
        })
    }
}

/// A conversion of three samples into three others: integer coefficients and an offset each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion([[i32; 4]; 3]);

impl Conversion {
    /// Returns that into BT.709 of limited range; none where the samples are it already.
    fn of(format: PixelFormat, colour: ColourSpace) -> Option<Self> {
        let to = luma_weights(Matrix::Bt709);
        // Of each sample: red, green, blue and an offset, all of full scale 1.
        let rgb = match format {
            PixelFormat::Rgb8 => [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
            _ if colour == ColourSpace::BT709_LIMITED => return None,
            _ => red_green_blue(colour),
        };
        let luma: [f64; 4] = std::array::from_fn(|i| (0..3).map(|of| to[of] * rgb[of][i]).sum());
        let chroma = |of: usize| -> [f64; 4] {
            std::array::from_fn(|i| (rgb[of][i] - luma[i]) / (2.0 * (1.0 - to[of])) * 224.0 / 255.0)
        };
        let (cb, cr) = (chroma(2), chroma(0));
        let luma = luma.map(|weight| weight * 219.0 / 255.0);
        let fixed = |row: [f64; 4], offset: f64| {
            let scale = f64::from(1 << FRACTION_BITS);
            let [a, b, c, d] = row;
            [a, b, c, d + offset + 0.5].map(|value| (value * scale).round() as i32)
        };
        Some(Self([fixed(luma, 16.0), fixed(cb, 128.0), fixed(cr, 128.0)]))
    }

    fn sample(&self, row: usize, of: [u8; 3]) -> u8 {
        let [a, b, c, d] = self.0[row];
        let [x, y, z] = of.map(i32::from);
        ((a * x + b * y + c * z + d) >> FRACTION_BITS).clamp(0, 255) as u8
    }
}

/// Weights of red, green and blue in luma.
fn luma_weights(matrix: Matrix) -> [f64; 3] {
    let (red, blue) = match matrix {
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
    };
    [red, 1.0 - red - blue, blue]
}

/// Red, green and blue, 0 to 255, as weights of Y, Cb, Cr and an offset.
fn red_green_blue(colour: ColourSpace) -> [[f64; 4]; 3] {
    let [red, green, blue] = luma_weights(colour.matrix);
    let (offset, luma, chroma) = match colour.range {
        Range::Limited => (16.0, 255.0 / 219.0, 255.0 / 224.0),
        Range::Full => (0.0, 1.0, 1.0),
    };
    let row = |cb: f64, cr: f64| {
        let (cb, cr) = (chroma * cb, chroma * cr);
        [luma, cb, cr, -luma * offset - 128.0 * (cb + cr)]
    };
    [
        row(0.0, 2.0 * (1.0 - red)),
        row(-2.0 * (1.0 - blue) * blue / green, -2.0 * (1.0 - red) * red / green),
        row(2.0 * (1.0 - blue), 0.0),
    ]
}

/// The picture of all players.
#[derive(Clone, Debug)]
pub struct Canvas {
    layout: Layout,
    size: (usize, usize),
    data: Vec<u8>,
    /// Samples of a picture at the size that it has here: of all its pixels, and at half size.
    whole: [Vec<u8>; 3],
    half: [Vec<u8>; 3],
}

impl Canvas {
    /// Creates a black one.
    pub fn new(layout: Layout) -> Self {
        let size = layout.size();
        let mut canvas = Self::black(layout, size);
        (0..layout.columns * layout.rows).for_each(|place| canvas.clear(place));
        canvas
    }

    fn black(layout: Layout, size: (usize, usize)) -> Self {
        let area = size.0 * size.1;
        let mut data = vec![BLACK[0]; area];
        data.resize(area + area / 2, BLACK[1]);
        Self { layout, size, data, whole: Default::default(), half: Default::default() }
    }

    /// Returns width and height.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Returns the planes of Y, Cb and Cr.
    pub fn planes(&self) -> (&[u8], &[u8], &[u8]) {
        let area = self.size.0 * self.size.1;
        let (luma, chroma) = self.data.split_at(area);
        let (cb, cr) = chroma.split_at(area / 4);
        (luma, cb, cr)
    }

    /// Makes a place black.
    pub fn clear(&mut self, place: usize) {
        let (left, top) = self.layout.corner(place);
        let (width, height) = self.layout.cell;
        for (plane, black) in BLACK.into_iter().enumerate() {
            let by = if plane == 0 { 1 } else { 2 };
            for y in 0..height / by {
                self.row(plane, left / by, top / by + y, width / by).fill(black);
            }
        }
    }

    /// Draws a picture at a place, as large as it fits. One that is too short is left out.
    pub fn draw(&mut self, place: usize, picture: Raw<'_>) {
        let Some(planes) = picture.planes() else { return };
        let (width, height) = (picture.size.width(), picture.size.height());
        let (cell_width, cell_height) = self.layout.cell;
        let is_wide = width * cell_height >= height * cell_width;
        let (fit_width, fit_height) = match is_wide {
            true => (cell_width, height * cell_width / width),
            false => (width * cell_height / height, cell_height),
        };
        let fit = ((fit_width & !1).max(2), (fit_height & !1).max(2));
        let (left, top) = self.layout.corner(place);
        let (left, top) = (left + (cell_width - fit.0) / 4 * 2, top + (cell_height - fit.1) / 4 * 2);
        if fit != self.layout.cell {
            self.clear(place);
        }
        let (mut whole, mut half) = (std::mem::take(&mut self.whole), std::mem::take(&mut self.half));
        let halved = (fit.0 / 2, fit.1 / 2);
        let conversion = Conversion::of(picture.format, picture.colour);
        let is_rgb = picture.format == PixelFormat::Rgb8;
        for (number, plane) in planes.iter().enumerate() {
            let Some(plane) = plane else {
                half[number].clear();
                half[number].resize(halved.0 * halved.1, BLACK[1]);
                continue;
            };
            if number == 0 || is_rgb {
                plane.scale(fit, &mut whole[number]);
            }
            if number > 0 || conversion.is_some() {
                plane.scale(halved, &mut half[number]);
            }
        }
        for y in 0..fit.1 {
            let row = self.row(0, left, top + y, fit.0);
            match &conversion {
                None => row.copy_from_slice(&whole[0][y * fit.0..][..fit.0]),
                Some(conversion) => {
                    for (x, out) in row.iter_mut().enumerate() {
                        let (at, near) = (y * fit.0 + x, y / 2 * halved.0 + x / 2);
                        let of = match is_rgb {
                            true => [whole[0][at], whole[1][at], whole[2][at]],
                            false => [whole[0][at], half[1][near], half[2][near]],
                        };
                        *out = conversion.sample(0, of);
                    }
                }
            }
        }
        for number in 1..3 {
            for y in 0..halved.1 {
                let row = self.row(number, left / 2, top / 2 + y, halved.0);
                let from = y * halved.0..(y + 1) * halved.0;
                match &conversion {
                    None => row.copy_from_slice(&half[number][from]),
                    Some(conversion) => {
                        for (out, at) in row.iter_mut().zip(from) {
                            *out = conversion.sample(number, [half[0][at], half[1][at], half[2][at]]);
                        }
                    }
                }
            }
        }
        (self.whole, self.half) = (whole, half);
    }

    /// Returns a part of a row of a plane.
    fn row(&mut self, plane: usize, left: usize, y: usize, width: usize) -> &mut [u8] {
        let area = self.size.0 * self.size.1;
        let (first, stride) = match plane {
            0 => (0, self.size.0),
            1 => (area, self.size.0 / 2),
            _ => (area + area / 4, self.size.0 / 2),
        };
        &mut self.data[first + y * stride + left..][..width]
    }

    /// Writes this picture at half its size over `small`, which [`Self::small`] has made.
    pub fn shrink(&self, small: &mut Self) {
        let mut data = Vec::with_capacity(small.data.len());
        let (luma, cb, cr) = self.planes();
        let (width, height) = self.size;
        let mut room = Vec::new();
        for (plane, (width, height)) in
            [(luma, (width, height)), (cb, (width / 2, height / 2)), (cr, (width / 2, height / 2))]
        {
            let by = if data.is_empty() { 1 } else { 2 };
            let size = (small.size.0 / by, small.size.1 / by);
            Plane { data: plane, first: 0, step: 1, row: width, size: (width, height) }.scale(size, &mut room);
            data.extend_from_slice(&room);
        }
        small.data = data;
    }

    /// Creates one of half the size, even on both sides.
    pub fn small(&self) -> Self {
        Self::black(self.layout, (self.size.0 / 4 * 2, self.size.1 / 4 * 2))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn players_stand_side_by_side_and_then_in_a_grid() {
        let sizes = [1, 2, 3, 4, 5, 9].map(|players| Layout::of(players).size());
        assert_eq!(sizes, [(640, 360), (1280, 360), (960, 540), (960, 540), (1440, 540), (1440, 810)]);
        assert_eq!(Layout::of(4).corner(3), (480, 270));
        assert_eq!(Layout::of(0).size(), (640, 360));
    }

    /// Returns a picture of one colour in a format whose samples are red, green and blue or Y, Cb and Cr.
    fn plain(format: PixelFormat, size: FrameSize, [a, b, c]: [u8; 3]) -> Vec<u8> {
        let (area, half) = (size.pixels(), size.halved().pixels());
        match format {
            PixelFormat::Rgb8 | PixelFormat::YCbCr8 => [a, b, c].repeat(area),
            PixelFormat::Yuyv => [a, b, a, c].repeat(size.halved().width() * size.height()),
            PixelFormat::Nv12 => [vec![a; area], [b, c].repeat(half)].concat(),
            PixelFormat::I420 => [vec![a; area], vec![b; half], vec![c; half]].concat(),
            PixelFormat::I444 => [vec![a; area], vec![b; area], vec![c; area]].concat(),
            PixelFormat::Grey8 => vec![a; area],
        }
    }

    fn pixel(canvas: &Canvas, (x, y): (usize, usize)) -> [u8; 3] {
        let (luma, cb, cr) = canvas.planes();
        let half = y / 2 * (canvas.size().0 / 2) + x / 2;
        [luma[y * canvas.size().0 + x], cb[half], cr[half]]
    }

    #[test]
    fn every_format_has_its_colour_and_its_shape_at_its_place() {
        for (width, height) in [(1280, 720), (641, 479), (3, 5), (1, 1), (2000, 3)] {
            let size = FrameSize::new(width, height).unwrap();
            for format in PixelFormat::ALL {
                let mut canvas = Canvas::new(Layout::of(2));
                // Pure red: in RGB, and as BT.709 has it.
                let red = [63, 102, 240];
                let samples = if format == PixelFormat::Rgb8 { [255, 0, 0] } else { red };
                let data = plain(format, size, samples);
                canvas.draw(1, Raw { format, size, colour: ColourSpace::BT709_LIMITED, data: &data });
                let wanted = if format == PixelFormat::Grey8 { [63, 128, 128] } else { red };
                let centre = pixel(&canvas, (960, 179));
                assert!(
                    centre.iter().zip(wanted).all(|(is, wanted)| is.abs_diff(wanted) <= 1),
                    "{format:?} {size}: {centre:?}"
                );
                assert_eq!(pixel(&canvas, (320, 180)), BLACK);
                let fills = width * 360 == height * 640;
                assert_eq!(pixel(&canvas, (640, 0)) == BLACK, !fills, "{format:?} {size}");
            }
        }
    }

    /// BT.601 and full range become BT.709 of limited range: grey stays grey, red stays red.
    #[test]
    fn other_colour_spaces_are_converted() {
        let size = FrameSize::new(64, 36).unwrap();
        for (colour, from, wanted) in [
            (ColourSpace::JPEG, [255, 128, 128], [235, 128, 128]),
            (ColourSpace::JPEG, [0, 128, 128], [16, 128, 128]),
            (ColourSpace::JPEG, [76, 85, 255], [63, 102, 240]),
            (ColourSpace::BT601_LIMITED, [81, 90, 240], [63, 102, 240]),
            (ColourSpace::BT601_LIMITED, [126, 128, 128], [126, 128, 128]),
        ] {
            let mut canvas = Canvas::new(Layout::of(1));
            let data = plain(PixelFormat::I420, size, from);
            canvas.draw(0, Raw { format: PixelFormat::I420, size, colour, data: &data });
            let is = pixel(&canvas, (100, 100));
            assert!(is.iter().zip(wanted).all(|(is, wanted)| is.abs_diff(wanted) <= 2), "{colour:?} {from:?}: {is:?}");
        }
    }

    #[test]
    fn what_is_too_short_is_left_out_and_a_place_is_cleared() {
        let size = FrameSize::new(640, 360).unwrap();
        let mut canvas = Canvas::new(Layout::of(1));
        let data = vec![200; PixelFormat::I420.bytes(size)];
        let raw = Raw { format: PixelFormat::I420, size, colour: ColourSpace::BT709_LIMITED, data: &data };
        canvas.draw(0, Raw { data: &data[1..], ..raw });
        assert_eq!(pixel(&canvas, (9, 9)), BLACK);
        canvas.draw(0, raw);
        assert_eq!(pixel(&canvas, (9, 9)), [200; 3]);
        let mut small = canvas.small();
        canvas.shrink(&mut small);
        assert_eq!((small.size(), pixel(&small, (300, 170))), ((320, 180), [200; 3]));
        canvas.clear(0);
        assert_eq!(pixel(&canvas, (9, 9)), BLACK);
    }
}
