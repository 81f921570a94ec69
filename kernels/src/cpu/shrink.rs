//! Pictures made smaller before they are coded: each sample is the average of those that fall on it.

use picture::frame::{Chroma, FrameSize, PixelFormat};

use super::colour;
use super::scale::{Covered, ONE, covered};
use crate::reference::check_picture;
use crate::reference::effects::planar;
use crate::{Picture, PictureError, PictureRef};

/// Makes the pictures of one stream smaller, with all the memory that it needs.
#[derive(Debug)]
pub struct Shrinker {
    from: FrameSize,
    to: FrameSize,
    chroma: Chroma,
    /// The picture in planes.
    samples: Picture,
    planes: Vec<Plane>,
}

/// One plane: what falls on each column and row, and sums of the samples that fall on a row.
#[derive(Debug)]
struct Plane {
    from: FrameSize,
    to: FrameSize,
    columns: Vec<Covered>,
    rows: Vec<Covered>,
    sums: Vec<u32>,
}

impl Shrinker {
    /// For pictures of `from` in a stream of `chroma`, made to `to`, which is not larger either way.
    pub fn new(from: FrameSize, to: FrameSize, chroma: Chroma) -> Self {
        let chroma = planar(chroma);
        let plane = |&channel| Plane::new(chroma.plane_size(from, channel), chroma.plane_size(to, channel));
        let planes = chroma.channels().iter().map(plane).collect();
        Self { from, to, chroma, samples: Picture::for_stream(chroma, from), planes }
    }

    /// Returns a picture for what comes out, every sample 0.
    pub fn room(&self) -> Picture {
        Picture::for_stream(self.chroma, self.to)
    }

    /// Returns the format of [`Self::room`].
    pub fn room_format(&self) -> PixelFormat {
        self.chroma.picture_format()
    }

    /// Writes `picture` at the smaller size to `out`, which is as [`Self::room`] makes it; [`PictureError`] if either has
    /// another size, format or depth.
    pub fn apply(&mut self, picture: PictureRef<'_>, out: &mut Picture) -> Result<(), PictureError> {
        check_picture(picture, self.from)?;
        check_picture(out.as_ref(), self.to)?;
        let wanted = self.room_format();
        if out.format() != wanted {
            return Err(PictureError::Format { wanted, given: out.format() });
        }
        colour::bytes_into(picture, self.chroma, self.samples.data_mut());
        let (mut samples, mut out) = (self.samples.data(), out.data_mut());
        for plane in &mut self.planes {
            let (before, after) = (plane.from.pixels(), plane.to.pixels());
            let (Some(samples), Some(out)) = (samples.split_off(..before), out.split_off_mut(..after)) else { break };
            plane.shrink(samples, out);
        }
        Ok(())
    }
}

impl Plane {
    fn new(from: FrameSize, to: FrameSize) -> Self {
        let all = |from: usize, to: usize| (0..to).map(|at| covered(at, from, to)).collect();
        let (columns, rows) = (all(from.width(), to.width()), all(from.height(), to.height()));
        Self { from, to, columns, rows, sums: vec![0; from.width()] }
    }

    fn shrink(&mut self, samples: &[u8], out: &mut [u8]) {
        let Self { from, to, columns, rows, sums } = self;
        let width = from.width();
        for (covered, out) in rows.iter().zip(out.chunks_exact_mut(to.width())) {
            sums.fill(0);
            for (row, &weight) in samples[covered.first * width..].chunks_exact(width).zip(&covered.weights) {
                for (sum, &sample) in sums.iter_mut().zip(row) {
                    *sum += weight * u32::from(sample);
                }
            }
            for (covered, out) in columns.iter().zip(out) {
                let sums = sums[covered.first..].iter().zip(&covered.weights);
                let sum: u32 = sums.map(|(sum, weight)| sum * weight).sum();
                *out = ((sum + ONE * ONE / 2) / (ONE * ONE)) as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> FrameSize {
        FrameSize::new(width, height).unwrap()
    }

    /// The average of a plane over what falls on `(x, y)`.
    fn average(samples: &[u8], from: (usize, usize), to: (usize, usize), (x, y): (usize, usize)) -> f64 {
        let share = |one: usize, at: usize, from: usize, to: usize| {
            let (begin, end) = ((at * from) as f64 / to as f64, ((at + 1) * from) as f64 / to as f64);
            (end.min(one as f64 + 1.0) - begin.max(one as f64)).max(0.0) / (end - begin)
        };
        let mut sum = 0.0;
        for row in 0..from.1 {
            for column in 0..from.0 {
                let weight = share(row, y, from.1, to.1) * share(column, x, from.0, to.0);
                sum += weight * f64::from(samples[row * from.0 + column]);
            }
        }
        sum
    }

    #[test]
    fn every_sample_is_the_average_of_what_falls_on_it() {
        for (from, to) in [(size(64, 48), size(32, 24)), (size(61, 33), size(40, 33)), (size(9, 7), size(1, 1))] {
            for chroma in [Chroma::C420, Chroma::C444, Chroma::Grey] {
                let mut picture = Picture::for_stream(chroma, from);
                let samples = (1u32..).zip(picture.data_mut());
                samples.for_each(|(at, sample)| *sample = (at.wrapping_mul(0x9e37_79b1) >> 24) as u8);
                let mut shrinker = Shrinker::new(from, to, chroma);
                let mut out = shrinker.room();
                // Nothing of a picture is left for the next.
                for _ in 0..2 {
                    shrinker.apply(picture.as_ref(), &mut out).unwrap();
                }
                let (mut samples, mut made) = (picture.data(), out.data());
                for &channel in chroma.channels() {
                    let [large, small] = [from, to].map(|size| chroma.plane_size(size, channel));
                    let samples = samples.split_off(..large.pixels()).unwrap();
                    let made = made.split_off(..small.pixels()).unwrap();
                    let is_exact = large.width() % small.width() == 0 && large.height() % small.height() == 0;
                    let error_max = if is_exact { 0.5 } else { 2.5 };
                    for (at, &made) in made.iter().enumerate() {
                        let place = (at % small.width(), at / small.width());
                        let sizes = [large, small].map(|size| (size.width(), size.height()));
                        let wanted = average(samples, sizes[0], sizes[1], place);
                        let error = (f64::from(made) - wanted).abs();
                        assert!(error <= error_max, "{chroma:?} {place:?}: {made}, not {wanted}");
                    }
                }
            }
        }
    }

    #[test]
    fn pictures_of_other_formats_are_taken_and_others_refused() {
        let (from, to) = (size(8, 4), size(4, 2));
        let mut shrinker = Shrinker::new(from, to, Chroma::C420);
        let mut out = shrinker.room();
        let data = [50, 100, 50, 200].repeat(16);
        shrinker.apply(PictureRef::new(PixelFormat::Yuyv, from, &data).unwrap(), &mut out).unwrap();
        assert_eq!(out.data(), [[50; 8].as_slice(), &[100; 2], &[200; 2]].concat());
        let small = vec![0; 12];
        let small = PictureRef::new(PixelFormat::I420, to, &small).unwrap();
        assert!(shrinker.apply(small, &mut out).is_err());
    }
}
