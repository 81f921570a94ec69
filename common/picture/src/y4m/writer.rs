//! Writing Y4M.

use std::io::{self, Write};

use super::{FRAME, MAGIC, MATRIX_KEY, RANGE_KEY, Y4mHeader, default_matrix, matrix_name, range_name};
use crate::frame::{BitDepth, Chroma};

/// Writes pictures as a Y4M stream.
#[derive(Debug)]
pub struct Y4mWriter<W> {
    output: W,
    picture_bytes: usize,
}

impl<W: Write> Y4mWriter<W> {
    /// Writes the header. Nothing is buffered here: each picture is two writes.
    pub fn new(mut output: W, header: &Y4mHeader) -> io::Result<Self> {
        let (width, height) = (header.size.width(), header.size.height());
        let (numerator, denominator) = header.rate.map_or((0, 0), |rate| (rate.numerator(), rate.denominator()));
        let sampling = match (header.chroma, header.depth) {
            (Chroma::Grey, BitDepth::Eight) => "mono",
            (Chroma::Grey, BitDepth::Ten) => "mono10",
            (Chroma::C444, BitDepth::Eight) => "444",
            (Chroma::C444, BitDepth::Ten) => "444p10",
            (Chroma::C420, BitDepth::Eight) => header.raster.siting.name(),
            (Chroma::C420, BitDepth::Ten) => "420p10",
            (Chroma::Rgb, _) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "Y4M holds no RGB pictures"));
            }
        };
        let range = range_name(header.colour.range);
        let matrix = match header.colour.matrix {
            matrix if matrix == default_matrix(header.size) => String::new(),
            matrix => format!(" X{MATRIX_KEY}{}", matrix_name(matrix)),
        };
        writeln!(
            output,
            "{MAGIC} W{width} H{height} F{numerator}:{denominator} Ip A{}:{} C{sampling} X{RANGE_KEY}{range}{matrix}",
            header.raster.aspect.width(),
            header.raster.aspect.height(),
        )?;
        Ok(Self { output, picture_bytes: header.picture_bytes() })
    }

    /// Appends a picture: its planes one after another.
    pub fn write(&mut self, planes: &[u8]) -> io::Result<()> {
        if planes.len() != self.picture_bytes {
            let message = format!("a picture has {} bytes where {} are right", planes.len(), self.picture_bytes);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.output.write_all(&[FRAME, b"\n"].concat())?;
        self.output.write_all(planes)
    }

    /// Returns the output, after the last picture.
    pub fn into_inner(self) -> W {
        self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{ColourSpace, FrameRate, FrameSize, Matrix, PixelAspect, Range, Raster, Siting};
    use crate::y4m::Y4mReader;

    fn header(height: u32, chroma: Chroma, colour: ColourSpace) -> Y4mHeader {
        let (size, rate) = (FrameSize::new(3, height).unwrap(), FrameRate::new(30_000, 1001));
        Y4mHeader { size, rate, chroma, raster: Raster::default(), depth: BitDepth::Eight, colour }
    }

    #[test]
    fn a_file_to_the_byte() {
        let mut writer = Y4mWriter::new(Vec::new(), &header(1, Chroma::C420, ColourSpace::JPEG)).unwrap();
        writer.write(b"1234567").unwrap();
        assert_eq!(writer.write(b"123456").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let text = "YUV4MPEG2 W3 H1 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n1234567";
        assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), text);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for height in [1, 5, 719, 720] {
            for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444] {
                for matrix in [Matrix::Bt601, Matrix::Bt709] {
                    for range in [Range::Limited, Range::Full] {
                        let mut header = header(height, chroma, ColourSpace { matrix, range });
                        if (chroma, matrix) == (Chroma::C420, Matrix::Bt601) {
                            header.raster.siting = if range == Range::Full { Siting::Lines } else { Siting::Left };
                            header.raster.aspect = PixelAspect::new(10, 11).unwrap();
                        } else if range == Range::Full {
                            (header.rate, header.depth) = (None, BitDepth::Ten);
                        }
                        let mut writer = Y4mWriter::new(Vec::new(), &header).unwrap();
                        let picture: Vec<_> = (0..header.picture_bytes()).map(|index| index as u8).collect();
                        writer.write(&picture).unwrap();
                        let bytes = writer.into_inner();
                        let line = bytes.split(|&byte| byte == b'\n').next().unwrap();
                        let says_matrix = String::from_utf8_lossy(line).contains("XDUETMATRIX=");
                        assert_eq!(says_matrix, matrix != default_matrix(header.size), "{header:?}");
                        let mut reader = Y4mReader::new(bytes.as_slice()).unwrap();
                        assert_eq!(*reader.header(), header);
                        let mut data = Vec::new();
                        assert!(reader.read(&mut data).unwrap() && data == picture);
                        assert!(!reader.read(&mut data).unwrap());
                    }
                }
            }
        }
    }
}
