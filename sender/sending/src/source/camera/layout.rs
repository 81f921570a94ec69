//! Orders of samples that cameras give, and how they become those of [`PixelFormat`].

use picture::frame::{FrameSize, PixelFormat};

use super::device::{Code, PixFormat};

/// Orders of samples that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleOrder {
    Nv12,
    Yu12,
    Yuyv,
    Uyvy,
    Yvyu,
    Nv21,
    Yv12,
    Yuv422P,
    Grey,
    Rgb,
    Bgr,
    Jpeg,
}

/// Names of V4L2 and what they stand for, in the order of the time that a picture takes until its samples are the coder's.
pub(super) const LAYOUTS: [(&Code, SampleOrder); 13] = [
    (b"NV12", SampleOrder::Nv12),
    (b"YU12", SampleOrder::Yu12),
    (b"YUYV", SampleOrder::Yuyv),
    (b"UYVY", SampleOrder::Uyvy),
    (b"YVYU", SampleOrder::Yvyu),
    (b"NV21", SampleOrder::Nv21),
    (b"YV12", SampleOrder::Yv12),
    (b"422P", SampleOrder::Yuv422P),
    (b"RGB3", SampleOrder::Rgb),
    (b"BGR3", SampleOrder::Bgr),
    (b"GREY", SampleOrder::Grey),
    (b"MJPG", SampleOrder::Jpeg),
    (b"JPEG", SampleOrder::Jpeg),
];

/// A plane in memory: where it begins, the bytes of a row, rows, and bytes from one row to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plane {
    at: usize,
    row: usize,
    rows: usize,
    stride: usize,
}

impl SampleOrder {
    /// Returns the layout that V4L2 calls `code`; none: it cannot be used.
    pub(super) fn of(code: Code) -> Option<Self> {
        LAYOUTS.iter().find(|(known, _)| **known == code).map(|(_, layout)| *layout)
    }

    /// Returns the time that taking a picture and making it ready for the coder's transform takes, nanoseconds for each pixel.
    ///
    /// Medians of pictures of 1920x1080 on one core of an AMD EPYC, and of JPEGs those of the demonstration's clip (`cargo test -p
    /// duet-sender --release --lib costs -- --ignored --nocapture`).
    pub(super) const fn cost_ns(self) -> f64 {
        match self {
            // Mostly they are not even copied.
            Self::Nv12 | Self::Yu12 | Self::Yuyv | Self::Yv12 | Self::Grey | Self::Rgb => 0.03,
            Self::Nv21 => 0.1,
            Self::Uyvy | Self::Yvyu => 0.25,
            Self::Bgr => 0.31,
            Self::Yuv422P => 0.8,
            Self::Jpeg => 4.0,
        }
    }

    /// Returns the order that samples have after [`Picture::samples`].
    fn format(self) -> PixelFormat {
        match self {
            Self::Nv12 | Self::Nv21 => PixelFormat::Nv12,
            Self::Yu12 | Self::Yv12 => PixelFormat::I420,
            Self::Yuyv | Self::Uyvy | Self::Yvyu | Self::Yuv422P => PixelFormat::Yuyv,
            Self::Grey => PixelFormat::Grey8,
            Self::Rgb | Self::Bgr => PixelFormat::Rgb8,
            Self::Jpeg => PixelFormat::YCbCr8,
        }
    }

    /// Returns true if the driver's order is ours.
    fn is_ours(self) -> bool {
        matches!(self, Self::Nv12 | Self::Yu12 | Self::Yuyv | Self::Grey | Self::Rgb)
    }

    /// Returns the planes of a picture whose rows begin `stride` bytes apart in the first plane, one plane behind the other.
    fn planes(self, size: FrameSize, stride: usize) -> Vec<Plane> {
        let (width, height) = (size.width(), size.height());
        let half = size.halved();
        let sizes: &[(usize, usize, usize)] = match self {
            Self::Yuyv | Self::Uyvy | Self::Yvyu => &[(4 * half.width(), height, stride)],
            Self::Nv12 | Self::Nv21 => &[(width, height, stride), (2 * half.width(), half.height(), stride)],
            Self::Yu12 | Self::Yv12 => {
                let chroma = (half.width(), half.height(), stride.div_ceil(2));
                &[(width, height, stride), chroma, chroma]
            }
            Self::Yuv422P => {
                let chroma = (half.width(), height, stride.div_ceil(2));
                &[(width, height, stride), chroma, chroma]
            }
            Self::Grey => &[(width, height, stride)],
            Self::Rgb | Self::Bgr => &[(3 * width, height, stride)],
            Self::Jpeg => &[],
        };
        let mut at = 0;
        let plane = |&(row, rows, stride): &(usize, usize, usize)| {
            let stride = stride.max(row);
            let plane = Plane { at, row, rows, stride };
            at += stride * rows;
            plane
        };
        sizes.iter().map(plane).collect()
    }
}

/// Returns the bytes that planes reach over; the last row need not be padded.
fn length(planes: &[Plane]) -> usize {
    planes.last().map_or(0, |last| last.at + last.stride * last.rows.saturating_sub(1) + last.row)
}

/// Places of the samples of pictures of one format.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    layout: SampleOrder,
    size: FrameSize,
    /// As the driver says.
    planes: Vec<Plane>,
    /// Without anything between rows.
    tight: Vec<Plane>,
}

impl Picture {
    /// Pictures of a driver that is at `format`.
    pub(super) fn new(layout: SampleOrder, size: FrameSize, format: &PixFormat) -> Self {
        let planes = layout.planes(size, format.bytes_per_line as usize);
        Self { layout, size, planes, tight: layout.planes(size, 0) }
    }

    /// Returns the planes of a picture of so many bytes; an error says what is missing. Some drivers say how far rows are apart for another
    /// format than the one that they give: what has exactly the bytes of a picture without gaps has none.
    fn planes(&self, bytes: usize) -> Result<&[Plane], String> {
        let (wanted, tight) = (length(&self.planes), length(&self.tight));
        match bytes {
            _ if bytes >= wanted => Ok(&self.planes),
            _ if bytes == tight => Ok(&self.tight),
            _ => Err(format!("it has {bytes} bytes instead of {wanted}")),
        }
    }

    /// Returns the order and number of the samples if `bytes` hold them as the coder takes them, so that nothing need be copied.
    pub(super) fn as_it_is(&self, bytes: usize) -> Option<(PixelFormat, usize)> {
        let planes = self.planes(bytes).ok().filter(|_| self.layout.is_ours())?;
        (planes == self.tight).then(|| (self.layout.format(), length(planes)))
    }

    /// Puts the samples of `bytes`, which are no JPEG, into `out`; an error says why that is not possible.
    pub(super) fn samples(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<PixelFormat, String> {
        let planes = self.planes(bytes.len())?;
        out.clear();
        out.reserve(self.layout.format().bytes(self.size));
        let rows = |plane: Plane| {
            (0..plane.rows).filter_map(move |y| bytes.get(plane.at + y * plane.stride..)?.get(..plane.row))
        };
        match (self.layout, planes) {
            (SampleOrder::Uyvy, [all]) => rows(*all).for_each(|row| swap(row, [1, 0, 3, 2], out)),
            (SampleOrder::Yvyu, [all]) => rows(*all).for_each(|row| swap(row, [0, 3, 2, 1], out)),
            (SampleOrder::Bgr, [all]) => rows(*all).for_each(|row| swap(row, [2, 1, 0], out)),
            (SampleOrder::Nv21, [luma, chroma]) => {
                rows(*luma).for_each(|row| out.extend_from_slice(row));
                rows(*chroma).for_each(|row| swap(row, [1, 0], out));
            }
            (SampleOrder::Yv12, [luma, cr, cb]) => {
                [luma, cb, cr].into_iter().flat_map(|plane| rows(*plane)).for_each(|row| out.extend_from_slice(row));
            }
            (SampleOrder::Yuv422P, [luma, cb, cr]) => {
                for ((luma, cb), cr) in rows(*luma).zip(rows(*cb)).zip(rows(*cr)) {
                    let (pairs, last) = luma.as_chunks::<2>();
                    let all = pairs.iter().copied().chain(last.first().map(|luma| [*luma; 2]));
                    for (group, (([first, second], cb), cr)) in
                        room(4 * cb.len(), out).iter_mut().zip(all.zip(cb).zip(cr))
                    {
                        *group = [first, *cb, second, *cr];
                    }
                }
            }
            _ => planes.iter().flat_map(|plane| rows(*plane)).for_each(|row| out.extend_from_slice(row)),
        }
        Ok(self.layout.format())
    }
}

/// Puts groups of `N` samples into `out` in another order.
fn swap<const N: usize>(row: &[u8], order: [usize; N], out: &mut Vec<u8>) {
    for (group, old) in room(row.len(), out).iter_mut().zip(row.as_chunks::<N>().0) {
        *group = order.map(|at| old[at]);
    }
}

/// Returns groups of `N` bytes, so many in all, at the end of `out`.
fn room<const N: usize>(bytes: usize, out: &mut Vec<u8>) -> &mut [[u8; N]] {
    let from = out.len();
    out.resize(from + bytes / N * N, 0);
    out[from..].as_chunks_mut::<N>().0
}

/// Cuts a picture to `size`, or surrounds it with `black` luma, its middle in the middle.
pub(super) fn fit(format: PixelFormat, from: FrameSize, size: FrameSize, black: u8, data: &mut Vec<u8>) {
    let luma = [black];
    // A black sample of each plane, and the pixels that it stands for across and down.
    let planes: &[(&[u8], usize, usize)] = match format {
        PixelFormat::Rgb8 => &[(&[0, 0, 0], 1, 1)],
        PixelFormat::YCbCr8 => &[(&[black, 128, 128], 1, 1)],
        PixelFormat::Yuyv => &[(&[black, 128, black, 128], 2, 1)],
        PixelFormat::Nv12 => &[(&luma, 1, 1), (&[128, 128], 2, 2)],
        PixelFormat::I420 => &[(&luma, 1, 1), (&[128], 2, 2), (&[128], 2, 2)],
        PixelFormat::I444 => &[(&luma, 1, 1), (&[128], 1, 1), (&[128], 1, 1)],
        PixelFormat::Grey8 => &[(&luma, 1, 1)],
    };
    // Pixels left out in front, and pixels of black in front: even, so that luma and chroma stay together.
    let shift = |from: usize, to: usize| {
        let by = from.abs_diff(to) / 4 * 2;
        if from >= to { (by, 0) } else { (0, by) }
    };
    let (left, top) = (shift(from.width(), size.width()), shift(from.height(), size.height()));
    let (mut out, mut at) = (Vec::with_capacity(format.bytes(size)), 0);
    for (black, across, down) in planes {
        let (old, new) = (from.width().div_ceil(*across), size.width().div_ceil(*across));
        let (old_rows, new_rows) = (from.height().div_ceil(*down), size.height().div_ceil(*down));
        let (skip, lead) = (left.0 / across, left.1 / across);
        let kept = (old - skip).min(new - lead);
        for y in 0..new_rows {
            let row = (y + top.0 / down).checked_sub(top.1 / down).filter(|row| *row < old_rows);
            let row = row.and_then(|row| data.get(at + (row * old + skip) * black.len()..)?.get(..kept * black.len()));
            let [before, after] = if row.is_some() { [lead, new - lead - kept] } else { [new, 0] };
            out.extend(black.iter().cycle().take(before * black.len()));
            out.extend_from_slice(row.unwrap_or_default());
            out.extend(black.iter().cycle().take(after * black.len()));
        }
        at += old * old_rows * black.len();
    }
    *data = out;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> FrameSize {
        FrameSize::new(width, height).unwrap()
    }

    #[track_caller]
    fn check(
        code: &Code,
        (width, height): (u32, u32),
        bytes_per_line: u32,
        bytes: &[u8],
        expected: (PixelFormat, &[u8]),
    ) {
        let format = PixFormat { code: *code, width, height, bytes_per_line, ..PixFormat::default() };
        let picture = Picture::new(SampleOrder::of(*code).unwrap(), size(width, height), &format);
        let mut out = vec![9; 3];
        let got = picture.samples(bytes, &mut out).unwrap();
        assert_eq!((got, out.as_slice()), expected, "{}", code.escape_ascii());
        assert_eq!(out.len(), got.bytes(size(width, height)));
        if let Some((format, length)) = picture.as_it_is(bytes.len()) {
            assert_eq!((format, &bytes[..length]), expected, "not copied");
        }
        let needed = length(picture.planes(bytes.len()).unwrap());
        let is_tight = needed - 1 == length(&picture.tight);
        assert!(is_tight || picture.samples(&bytes[..needed - 1], &mut out).is_err(), "one byte is missing");
    }

    #[test]
    fn all_orders_become_ours() {
        use PixelFormat::{Grey8, I420, Nv12, Rgb8, Yuyv};
        check(b"YUYV", (2, 1), 4, &[1, 50, 2, 60], (Yuyv, &[1, 50, 2, 60]));
        check(b"UYVY", (2, 1), 4, &[50, 1, 60, 2], (Yuyv, &[1, 50, 2, 60]));
        check(b"YVYU", (2, 1), 4, &[1, 60, 2, 50], (Yuyv, &[1, 50, 2, 60]));
        check(b"NV12", (2, 2), 2, &[1, 2, 3, 4, 50, 60], (Nv12, &[1, 2, 3, 4, 50, 60]));
        check(b"NV21", (2, 2), 2, &[1, 2, 3, 4, 60, 50], (Nv12, &[1, 2, 3, 4, 50, 60]));
        check(b"YU12", (2, 2), 2, &[1, 2, 3, 4, 50, 60], (I420, &[1, 2, 3, 4, 50, 60]));
        check(b"YV12", (2, 2), 2, &[1, 2, 3, 4, 60, 50], (I420, &[1, 2, 3, 4, 50, 60]));
        check(b"422P", (2, 2), 2, &[1, 2, 3, 4, 50, 51, 60, 61], (Yuyv, &[1, 50, 2, 60, 3, 51, 4, 61]));
        check(b"GREY", (2, 2), 2, &[1, 2, 3, 4], (Grey8, &[1, 2, 3, 4]));
        check(b"RGB3", (1, 2), 3, &[1, 2, 3, 4, 5, 6], (Rgb8, &[1, 2, 3, 4, 5, 6]));
        check(b"BGR3", (1, 2), 3, &[3, 2, 1, 6, 5, 4], (Rgb8, &[1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn what_stands_between_rows_is_left_out() {
        use PixelFormat::{I420, Nv12, Yuyv};
        check(b"YUYV", (2, 2), 6, &[1, 50, 2, 60, 0, 0, 3, 51, 4, 61, 0, 0], (Yuyv, &[1, 50, 2, 60, 3, 51, 4, 61]));
        let nv12 = [1, 2, 0, 0, 3, 4, 0, 0, 50, 60];
        check(b"NV12", (2, 2), 4, &nv12, (Nv12, &[1, 2, 3, 4, 50, 60]));
        check(b"YU12", (2, 2), 4, &[1, 2, 0, 0, 3, 4, 0, 0, 50, 0, 60, 0], (I420, &[1, 2, 3, 4, 50, 60]));
        // Odd sides count up.
        check(b"422P", (3, 1), 4, &[1, 2, 3, 0, 50, 51, 60, 61], (Yuyv, &[1, 50, 2, 60, 3, 51, 3, 61]));
    }

    #[test]
    fn a_driver_that_says_another_distance_of_rows_than_it_has_is_found_out() {
        use PixelFormat::{Nv12, Yuyv};
        check(b"NV12", (2, 2), 4, &[1, 2, 3, 4, 50, 60], (Nv12, &[1, 2, 3, 4, 50, 60]));
        check(b"YUYV", (2, 1), 0, &[1, 50, 2, 60], (Yuyv, &[1, 50, 2, 60]));
        check(b"YUYV", (2, 1), 1, &[1, 50, 2, 60], (Yuyv, &[1, 50, 2, 60]));
        let huge = PixFormat { bytes_per_line: u32::MAX, ..PixFormat::default() };
        let picture = Picture::new(SampleOrder::Yu12, size(16_384, 16_384), &huge);
        assert!(picture.samples(&[0; 100], &mut Vec::new()).is_err());
    }

    #[test]
    #[ignore = "it measures"]
    fn costs() {
        use crate::source::{JpegDecoder, MjpegReader};
        let median = |mut work: Box<dyn FnMut() + '_>| {
            let once = |_| {
                let began = std::time::Instant::now();
                work();
                began.elapsed().as_nanos()
            };
            let mut times: Vec<_> = (0..31).map(once).collect();
            times.sort_unstable();
            times[15] as f64
        };
        let (size, mut out) = (size(1920, 1080), Vec::new());
        let bytes: Vec<u8> = (0..3 * size.pixels()).map(|at| (at * 7 % 251) as u8).collect();
        for (code, layout) in LAYOUTS.iter().filter(|(_, layout)| *layout != SampleOrder::Jpeg) {
            let picture = Picture::new(*layout, size, &PixFormat::default());
            let length = length(&picture.tight);
            let time = median(Box::new(|| _ = picture.samples(&bytes[..length], &mut out).unwrap()));
            println!("{}: {:.2} ns a pixel", code.escape_ascii(), time / size.pixels() as f64);
        }
        let clip = concat!(env!("CARGO_MANIFEST_DIR"), "/../../receiver/examples/demo-clip/demo_720p30.mjpeg");
        let mut reader = MjpegReader::new(std::fs::File::open(clip).unwrap());
        let jpeg = reader.next_picture().unwrap().unwrap().to_vec();
        let mut decoder = JpegDecoder::default();
        let time = median(Box::new(|| _ = decoder.decode(&jpeg, &mut out).unwrap()));
        println!("MJPG: {:.2} ns a pixel, of {} bytes", time / FrameSize::USUAL.pixels() as f64, jpeg.len());
    }

    #[test]
    fn a_picture_of_another_size_is_cut_or_surrounded() {
        let mut grey: Vec<u8> = (1..=8).collect();
        fit(PixelFormat::Grey8, size(8, 1), size(4, 1), 16, &mut grey);
        assert_eq!(grey, [3, 4, 5, 6]);
        let mut grey = vec![1, 2];
        fit(PixelFormat::Grey8, size(2, 1), size(6, 5), 16, &mut grey);
        let mut expected = [16; 30];
        (expected[14], expected[15]) = (1, 2);
        assert_eq!(grey, expected);
        for format in PixelFormat::ALL {
            for (from, to) in
                [((7, 5), (16, 9)), ((16, 9), (7, 5)), ((20, 4), (4, 20)), ((1, 1), (2, 2)), ((6, 4), (6, 4))]
            {
                let (from, to) = (size(from.0, from.1), size(to.0, to.1));
                let mut data = vec![77; format.bytes(from)];
                fit(format, from, to, 16, &mut data);
                assert_eq!(data.len(), format.bytes(to), "{format:?} {from} {to}");
                assert!(data.contains(&77));
            }
        }
    }
}
