//! The wavelet transform of one channel: its planes and bands on the device, and one launch per level.

use common::params::{Boundary, Padding, StreamParams};
use common::pyramid::{Orientation, Pyramid};
use ocl::core as cl;

use super::queue::{Arg, Buffer, Queue, kernel};
use crate::Error;

/// Least row pairs in one group's segment; each segment lifts three pairs more than it writes.
const MIN_SEGMENT: usize = 24;

/// A kernel ready to run.
struct Launch {
    kernel: cl::Kernel,
    groups: [usize; 2],
}

/// Device memory and launches of one channel's transform.
pub(super) struct ChannelTransform {
    plane: Buffer<f32>,
    plane_pitch: usize,
    /// Coefficients in Mallat layout, [`Self::band_pitch`] apart from row to row; zero where no coefficient is.
    pub(super) bands: Buffer<f32>,
    pub(super) band_pitch: usize,
    forward: Vec<Launch>,
    inverse: Vec<Launch>,
    /// Scratch that only launches refer to; kept so that it lives as long as they do.
    _scratch: Vec<Buffer<f32>>,
}

/// Elements from row to row for rows of `width`: whole cache lines, and no power of two, whose rows would share
/// few cache sets.
fn pitch(width: usize) -> usize {
    let lines = width.next_multiple_of(16);
    if lines >= 256 && lines.is_multiple_of(256) { lines + 16 } else { lines }
}

/// One of the buffers between which levels go, with its pitch.
#[derive(Clone, Copy)]
struct Place<'a> {
    buffer: &'a Buffer<f32>,
    pitch: usize,
}

impl ChannelTransform {
    /// Allocates for planes of `pyramid` and prepares all launches of `queue`'s device.
    pub(super) fn new(queue: &Queue, params: &StreamParams, pyramid: &Pyramid) -> Result<Self, Error> {
        let program = queue.device().program(params.codec.boundary)?;
        let (width, height) = (pyramid.plane().width(), pyramid.plane().height());
        let (plane_pitch, band_pitch) = (pitch(width), pitch(pyramid.side()));
        let plane = queue.buffer(plane_pitch * height)?;
        let bands = queue.buffer(band_pitch * pyramid.side())?;
        queue.clear(&bands)?;

        let low_extent = |level: usize| extent(pyramid, level);
        let low_pitch = |level: usize| pitch(low_extent(level).0);
        let size_of_low = |level| if level < pyramid.levels() { low_pitch(level) * low_extent(level).1 } else { 0 };
        let lows: [Buffer<f32>; 2] = [queue.buffer(size_of_low(1))?, queue.buffer(size_of_low(2))?];
        let lines = queue.buffer(if needs_lines(params, pyramid) { plane_pitch * height } else { 0 })?;

        let place = |level: usize| match level {
            0 => Place { buffer: &plane, pitch: plane_pitch },
            _ if level == pyramid.levels() => Place { buffer: &bands, pitch: band_pitch },
            _ => Place { buffer: &lows[(level - 1) % 2], pitch: low_pitch(level) },
        };
        let (mut forward, mut inverse) = (Vec::new(), Vec::new());
        for level in 1..=pyramid.levels() {
            let step = Step {
                queue,
                program: &program,
                pyramid,
                level,
                fine: place(level - 1),
                coarse: place(level),
                bands: Place { buffer: &bands, pitch: band_pitch },
                lines: Place { buffer: &lines, pitch: plane_pitch },
            };
            if odd_ring(params, pyramid, level) {
                step.forward_lines(&mut forward)?;
                let mut launches = Vec::new();
                step.inverse_lines(&mut launches)?;
                inverse.extend(launches.into_iter().rev());
            } else {
                forward.push(step.forward()?);
                inverse.push(step.inverse()?);
            }
        }
        inverse.reverse();
        let [low_a, low_b] = lows;
        Ok(Self { plane, plane_pitch, bands, band_pitch, forward, inverse, _scratch: vec![low_a, low_b, lines] })
    }

    /// The plane of samples centred on zero, and how far apart its rows are. Without any level it is the low band.
    pub(super) fn samples(&self) -> (&Buffer<f32>, usize) {
        if self.forward.is_empty() { (&self.bands, self.band_pitch) } else { (&self.plane, self.plane_pitch) }
    }

    /// Plane to bands; appends the commands' events.
    pub(super) fn run_forward(&self, queue: &Queue, events: &mut Vec<cl::Event>) -> Result<(), Error> {
        run(queue, &self.forward, events)
    }

    /// Bands to plane; appends the commands' events.
    pub(super) fn run_inverse(&self, queue: &Queue, events: &mut Vec<cl::Event>) -> Result<(), Error> {
        run(queue, &self.inverse, events)
    }
}

fn run(queue: &Queue, launches: &[Launch], events: &mut Vec<cl::Event>) -> Result<(), Error> {
    for launch in launches {
        events.push(queue.launch(&launch.kernel, launch.groups, queue.device().shape.group_size, &[])?);
    }
    Ok(())
}

/// Size of the low band after `level` levels that can be non-zero; level 0 is the plane.
fn extent(pyramid: &Pyramid, level: usize) -> (usize, usize) {
    if level == 0 {
        return (pyramid.plane().width(), pyramid.plane().height());
    }
    if level > pyramid.levels() {
        return (0, 0);
    }
    let low = pyramid.band(level, Orientation::LL);
    (low.width, low.height)
}

/// Whether this level wraps rows or columns of odd length, which only the line kernels do.
fn odd_ring(params: &StreamParams, pyramid: &Pyramid, level: usize) -> bool {
    let (w, h) = pyramid.transform_extent(level);
    let odd = |n: usize| n > 1 && n % 2 == 1;
    params.codec.boundary == Boundary::Periodic && params.codec.padding == Padding::Smooth && (odd(w) || odd(h))
}

fn needs_lines(params: &StreamParams, pyramid: &Pyramid) -> bool {
    (1..=pyramid.levels()).any(|level| odd_ring(params, pyramid, level))
}

/// What a level reads and writes.
struct Step<'a> {
    queue: &'a Queue,
    program: &'a cl::Program,
    pyramid: &'a Pyramid,
    level: usize,
    /// The samples of this level.
    fine: Place<'a>,
    /// Its low band.
    coarse: Place<'a>,
    bands: Place<'a>,
    /// Scratch between rows and columns.
    lines: Place<'a>,
}

impl Step<'_> {
    /// Groups for `pairs_w` column pairs and `pairs_h` row pairs, and the row pairs of one segment.
    fn groups(&self, pairs_w: usize, pairs_h: usize) -> ([usize; 2], usize) {
        let device = self.queue.device();
        let strips = pairs_w.div_ceil(device.shape.strip);
        let wanted = 4 * device.info.compute_units as usize;
        let rows = pairs_h.div_ceil(wanted.div_ceil(strips)).max(MIN_SEGMENT.min(pairs_h));
        ([strips, pairs_h.div_ceil(rows)], rows)
    }

    fn forward(&self) -> Result<Launch, Error> {
        let (in_w, in_h) = extent(self.pyramid, self.level - 1);
        let (w, h) = self.pyramid.transform_extent(self.level);
        let (low_w, low_h) = extent(self.pyramid, self.level);
        let high = self.pyramid.band(self.level, Orientation::HH);
        let (groups, rows) = self.groups(low_w, low_h);
        let kernel = kernel(
            self.program,
            "dwt_level",
            &[
                self.fine.buffer.arg(),
                self.fine.pitch.into(),
                in_w.into(),
                in_h.into(),
                w.into(),
                h.into(),
                self.coarse.buffer.arg(),
                self.coarse.pitch.into(),
                low_w.into(),
                low_h.into(),
                self.bands.buffer.arg(),
                self.bands.pitch.into(),
                high.x.into(),
                high.width.into(),
                high.height.into(),
                rows.into(),
            ],
        )?;
        Ok(Launch { kernel, groups })
    }

    fn inverse(&self) -> Result<Launch, Error> {
        let (out_w, out_h) = extent(self.pyramid, self.level - 1);
        let (w, h) = self.pyramid.transform_extent(self.level);
        let (low_w, low_h) = extent(self.pyramid, self.level);
        // All details that the square has room for, not only those that an encoder makes: strangers' root blocks
        // may hold others.
        let (high_w, high_h) = (w / 2, h / 2);
        let half = self.pyramid.side() >> self.level;
        let (groups, rows) = self.groups(out_w.div_ceil(2), out_h.div_ceil(2));
        let kernel = kernel(
            self.program,
            "idwt_level",
            &[
                self.coarse.buffer.arg(),
                self.coarse.pitch.into(),
                low_w.into(),
                low_h.into(),
                self.bands.buffer.arg(),
                self.bands.pitch.into(),
                half.into(),
                high_w.into(),
                high_h.into(),
                w.into(),
                h.into(),
                self.fine.buffer.arg(),
                self.fine.pitch.into(),
                out_w.into(),
                out_h.into(),
                rows.into(),
            ],
        )?;
        Ok(Launch { kernel, groups })
    }

    /// Rows into scratch, then the columns of its low and of its high half.
    fn forward_lines(&self, launches: &mut Vec<Launch>) -> Result<(), Error> {
        let (w, h) = self.pyramid.transform_extent(self.level);
        let (low_w, half) = (w.div_ceil(2), self.pyramid.side() >> self.level);
        let fine = [self.fine.buffer.arg(), Arg::Int(0)];
        let rows = Line { start: fine, line_step: self.fine.pitch, step: 1 };
        let scratch =
            |at: usize, line_step, step| Line { start: [self.lines.buffer.arg(), at.into()], line_step, step };
        self.line(
            "dwt_line",
            [rows, scratch(0, self.lines.pitch, 1), scratch(low_w, self.lines.pitch, 1)],
            h,
            w,
            launches,
        )?;
        for (x, lines, low, high) in self.columns(low_w, w - low_w, half) {
            self.line("dwt_line", [scratch(x, 1, self.lines.pitch), low, high], lines, h, launches)?;
        }
        Ok(())
    }

    /// Columns into scratch, then rows.
    fn inverse_lines(&self, launches: &mut Vec<Launch>) -> Result<(), Error> {
        let (w, h) = self.pyramid.transform_extent(self.level);
        let (low_w, half) = (w.div_ceil(2), self.pyramid.side() >> self.level);
        let scratch =
            |at: usize, line_step, step| Line { start: [self.lines.buffer.arg(), at.into()], line_step, step };
        for (x, lines, low, high) in self.columns(low_w, w - low_w, half) {
            self.line("idwt_line", [low, high, scratch(x, 1, self.lines.pitch)], lines, h, launches)?;
        }
        let fine = Line { start: [self.fine.buffer.arg(), Arg::Int(0)], line_step: self.fine.pitch, step: 1 };
        self.line(
            "idwt_line",
            [scratch(0, self.lines.pitch, 1), scratch(low_w, self.lines.pitch, 1), fine],
            h,
            w,
            launches,
        )
    }

    /// For the low and the high columns: their place in scratch, how many they are, and their coefficients.
    fn columns(&self, low_w: usize, high_w: usize, half: usize) -> [(usize, usize, Line<'_>, Line<'_>); 2] {
        let bands =
            |at: usize| Line { start: [self.bands.buffer.arg(), at.into()], line_step: 1, step: self.bands.pitch };
        let low = Line { start: [self.coarse.buffer.arg(), Arg::Int(0)], line_step: 1, step: self.coarse.pitch };
        [
            (0, low_w, low, bands(half * self.bands.pitch)),
            (low_w, high_w, bands(half), bands(half * self.bands.pitch + half)),
        ]
    }

    /// One launch over `lines` lines of `n` samples; nothing if there is no line.
    fn line(
        &self,
        name: &str,
        places: [Line<'_>; 3],
        lines: usize,
        n: usize,
        launches: &mut Vec<Launch>,
    ) -> Result<(), Error> {
        if lines == 0 {
            return Ok(());
        }
        let mut args = Vec::new();
        for place in places {
            args.extend(place.start);
            args.extend([Arg::from(place.line_step), Arg::from(place.step)]);
        }
        args.extend([Arg::from(lines), Arg::from(n)]);
        let groups = [lines.div_ceil(self.queue.device().shape.group_size), 1];
        launches.push(Launch { kernel: kernel(self.program, name, &args)?, groups });
        Ok(())
    }
}

/// A set of parallel lines in a buffer: where it starts, and the steps from line to line and along a line.
#[derive(Clone, Copy)]
struct Line<'a> {
    start: [Arg<'a>; 2],
    line_step: usize,
    step: usize,
}
