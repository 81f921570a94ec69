//! YUV4MPEG2 clips, 8 bits: 4:2:0 (every siting), 4:4:4 and mono.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ::y4m::{Colorspace, Decoder, Error, Ratio};
use anyhow::{Context, Result, bail};
use common::frame::{ColourSpace, FrameSize, PixelFormat, Range};
use common::units::FrameRate;

use super::{Output, PictureInfo};

/// What `y4m` allows for a header line.
const HEADER_BYTES_MAX: u64 = 1024;

/// A Y4M file being read.
pub(crate) struct Reader {
    path: PathBuf,
    decoder: Decoder<Box<dyn Read>>,
    info: PictureInfo,
    frames: usize,
    /// Bytes read so far; tells a clean end from one in the middle of a frame, which `y4m` does not.
    position: Rc<Cell<u64>>,
}

impl Reader {
    /// Opens the clip at `path` and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
        let position = Rc::new(Cell::new(0));
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let header = header_line(&mut reader).with_context(|| format!("{name} cannot be read"))?;
        // The size is checked before `y4m` multiplies it.
        let size = size_in(&header).with_context(|| format!("{name} is not a Y4M file with width and height"))?;
        let size = FrameSize::new(size.0, size.1).with_context(|| format!("{name} cannot be used"))?;
        let inner = std::io::Cursor::new(header).chain(reader);
        let source: Box<dyn Read> = Box::new(Counted { inner, position: position.clone() });
        // Two bytes a sample, so that a deep colour space is named as such and not as too large.
        let limits = ::y4m::Limits { bytes: 2 * PixelFormat::I444.bytes(size) };
        let decoder = Decoder::new_with_limits(source, limits).map_err(|error| match error {
            Error::UnknownColorspace => anyhow::anyhow!("{name}: its colour space is not known: use 420, 444 or mono"),
            Error::EOF => anyhow::anyhow!("{name} is not a Y4M file: it ends in the header"),
            Error::IoError(error) => anyhow::Error::new(error).context(format!("{name} cannot be read")),
            other => anyhow::anyhow!("{name} is not a Y4M file: {other}"),
        })?;
        let format = match decoder.get_colorspace() {
            Colorspace::C420 | Colorspace::C420jpeg | Colorspace::C420mpeg2 | Colorspace::C420paldv => {
                PixelFormat::I420
            }
            Colorspace::C444 => PixelFormat::I444,
            Colorspace::Cmono => PixelFormat::Grey8,
            other => bail!("{name}: colour space {other:?} is not supported: use C420, C444 or Cmono with 8 bits"),
        };
        let Ratio { num, den } = decoder.get_framerate();
        let frame_rate = match (u32::try_from(num), u32::try_from(den)) {
            (Ok(num), Ok(den)) => FrameRate::new(num, den),
            _ => None,
        };
        let frame_rate = frame_rate.with_context(|| {
            format!("{name}: a frame rate of {num}:{den} is not possible: it must be above 0 and at most 1000")
        })?;
        let full = decoder.get_raw_params().split(|&byte| byte == b' ').any(|param| param == FULL_RANGE.as_bytes());
        let range = if full { Range::Full } else { Range::Limited };
        let colour = ColourSpace { range, ..ColourSpace::BT709_LIMITED };
        let info = PictureInfo { size, format, colour, frame_rate };
        Ok(Self { path: path.to_owned(), decoder, info, frames: 0, position })
    }

    /// What every frame has in common.
    pub(crate) fn info(&self) -> PictureInfo {
        self.info
    }

    /// The next frame's planes; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let start = self.position.get();
        let (name, number) = (self.path.display(), self.frames + 1);
        match self.decoder.read_frame() {
            Ok(frame) => {
                self.frames = number;
                Ok(Some([frame.get_y_plane(), frame.get_u_plane(), frame.get_v_plane()].concat()))
            }
            Err(Error::EOF) if self.position.get() == start => Ok(None),
            Err(Error::EOF) => bail!("{name} ends in the middle of frame {number}"),
            Err(Error::IoError(error)) => Err(error).with_context(|| format!("{name} cannot be read")),
            Err(_) => bail!("{name}: frame {number} does not begin with a FRAME line"),
        }
    }
}

/// A Y4M file being written.
pub(crate) struct Writer {
    output: Output,
}

/// The parameter by which ffmpeg marks samples of 0 to 255.
const FULL_RANGE: &str = "XCOLORRANGE=FULL";

impl Writer {
    /// Creates a clip at `path`; `info.format` is planar or grey.
    pub(crate) fn create(path: &Path, info: PictureInfo) -> Result<Self> {
        let colour_space = match info.format {
            PixelFormat::Grey8 => "mono",
            PixelFormat::I444 => "444",
            // A chroma sample made here is the mean of 2x2 pixels and lies in their middle.
            _ => "420jpeg",
        };
        let (size, rate) = (info.size, info.frame_rate);
        let (width, height) = (size.width(), size.height());
        let (numerator, denominator) = (rate.numerator(), rate.denominator());
        let range = if info.colour.range == Range::Full { format!(" {FULL_RANGE}") } else { String::new() };
        let mut output = Output::create(path)?;
        let header =
            format!("YUV4MPEG2 W{width} H{height} F{numerator}:{denominator} Ip A1:1 C{colour_space}{range}\n");
        output.append(header.as_bytes())?;
        Ok(Self { output })
    }

    /// Appends a frame of `info.format`.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<()> {
        self.output.append(b"FRAME\n")?;
        self.output.append(data)
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.output.finish()
    }
}

/// Counts what is read through it.
struct Counted<R> {
    inner: R,
    position: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.set(self.position.get() + read as u64);
        Ok(read)
    }
}

/// The first line with its end, or what there is of it.
fn header_line(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    reader.take(HEADER_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Width and height as the header names them; a number beyond `u32` counts as its largest.
fn size_in(header: &[u8]) -> Option<(u32, u32)> {
    let text = std::str::from_utf8(header).ok()?.trim_end().strip_prefix("YUV4MPEG2 ")?;
    let side = |name: char| {
        // The last one counts, as in `y4m`.
        let digits = text.split(' ').filter_map(|parameter| parameter.strip_prefix(name)).next_back()?;
        let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| digits.parse().unwrap_or(u32::MAX))
    };
    Some((side('W')?, side('H')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_header_before_anything_is_multiplied() {
        assert_eq!(size_in(b"YUV4MPEG2 W3 H5 F30:1\n"), Some((3, 5)));
        assert_eq!(size_in(b"YUV4MPEG2 W3 H99999999999999999999\n"), Some((3, u32::MAX)));
        for wrong in ["", "YUV4MPEG2", "YUV4MPEG2 W3\n", "YUV4MPEG2 W-3 H5\n", "YUV4MPEG2 W H5\n", "RIFF W3 H5\n"] {
            assert_eq!(size_in(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
