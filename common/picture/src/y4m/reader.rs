//! Reading Y4M.

use std::io::{self, BufRead, Read};

use super::error::{LINE_BYTES_MAX, Y4mError};
use super::header::parse;
use super::{FRAME, Y4mHeader};
use crate::frame::FrameSize;

/// Reads the pictures of a Y4M stream.
#[derive(Debug)]
pub struct Y4mReader<R> {
    input: R,
    header: Y4mHeader,
    /// True if the file has 4:2:2, which is read as 4:4:4.
    is_422: bool,
    frames: u64,
}

impl<R: BufRead> Y4mReader<R> {
    /// Reads the header: 4:2:0, 4:4:4 or grey pictures of 8 or 10 bits of 1x1 to 16384x16384; 4:2:2 of 8 bits, too, which are
    /// read as 4:4:4, each sample of chroma twice.
    pub fn new(mut input: R) -> Result<Self, Y4mError> {
        let line = match read_line(&mut input)? {
            Line::Whole(line) => String::from_utf8(line).map_err(|_| Y4mError::NoHeader)?,
            Line::Cut(_) | Line::End => return Err(Y4mError::NoHeader),
        };
        let (header, is_422) = parse(&line)?;
        Ok(Self { input, header, is_422, frames: 0 })
    }

    /// Returns what all pictures have in common.
    pub fn header(&self) -> &Y4mHeader {
        &self.header
    }

    /// Reads the next picture into `data`, its planes one after another; false at the end.
    pub fn read(&mut self, data: &mut Vec<u8>) -> Result<bool, Y4mError> {
        let number = self.frames + 1;
        match read_line(&mut self.input)? {
            Line::End => return Ok(false),
            Line::Whole(line) if is_frame(&line) => {}
            // Some programs end the file with an empty line.
            Line::Whole(line) if line.is_empty() && self.input.fill_buf()?.is_empty() => return Ok(false),
            Line::Cut(line) if FRAME.starts_with(&line) || is_frame(&line) => {
                return Err(if self.input.fill_buf()?.is_empty() {
                    Y4mError::Truncated(number)
                } else {
                    Y4mError::NoFrame(number)
                });
            }
            Line::Whole(_) | Line::Cut(_) => return Err(Y4mError::NoFrame(number)),
        }
        let (size, chroma_width) = (self.header.size, self.header.size.halved().width());
        let bytes = match self.is_422 {
            true => size.pixels() + 2 * chroma_width * size.height(),
            false => self.header.picture_bytes(),
        };
        data.clear();
        // Grows as bytes come, so that a header alone cannot ask for memory.
        let read = self.input.by_ref().take(bytes as u64).read_to_end(data)?;
        if read < bytes {
            return Err(Y4mError::Truncated(number));
        }
        if self.is_422 {
            widen_chroma(data, size);
        }
        self.frames = number;
        Ok(true)
    }
}

/// Returns true for the line before a picture, whatever parameters stand in it.
fn is_frame(line: &[u8]) -> bool {
    line.strip_prefix(FRAME).is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\t')))
}

/// Makes 4:4:4 planes of 4:2:2 ones.
fn widen_chroma(data: &mut Vec<u8>, size: FrameSize) {
    let (width, half) = (size.width(), size.halved().width());
    let narrow = data.split_off(size.pixels());
    for row in narrow.chunks_exact(half) {
        let wide = row.iter().flat_map(|&sample| [sample; 2]);
        data.extend(wide.take(width));
    }
}

/// Result of [`read_line`].
enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// The input ends within this line, or it is too long.
    Cut(Vec<u8>),
    /// There is nothing more.
    End,
}

fn read_line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    if input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
        return Ok(Line::End);
    }
    Ok(if line.pop_if(|last| *last == b'\n').is_some() { Line::Whole(line) } else { Line::Cut(line) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{BitDepth, Chroma, ColourSpace, FrameRate, Matrix, PixelAspect, Range, Raster, Siting};

    #[test]
    fn pictures_come_whole_and_then_the_end() {
        let mut bytes = b"YUV4MPEG2 W3 H1 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG\n".to_vec();
        bytes.extend_from_slice(b"FRAME\n1234567FRAME Ip\nabcdefg");
        let mut reader = Y4mReader::new(bytes.as_slice()).unwrap();
        let expected = Y4mHeader {
            size: FrameSize::new(3, 1).unwrap(),
            rate: FrameRate::new(30_000, 1001),
            chroma: Chroma::C420,
            raster: Raster::default(),
            depth: BitDepth::Eight,
            colour: ColourSpace::BT601_LIMITED,
        };
        assert_eq!(*reader.header(), expected);
        let mut data = Vec::new();
        assert!(reader.read(&mut data).unwrap() && data == b"1234567");
        assert!(reader.read(&mut data).unwrap() && data == b"abcdefg");
        assert!(!reader.read(&mut data).unwrap());
    }

    #[test]
    fn what_other_programs_write_is_read() {
        let read = |header: &str, tail: &str| {
            let bytes = [header.as_bytes(), b"\nFRAME\tIp\n123456", tail.as_bytes()].concat();
            let mut reader = Y4mReader::new(bytes.as_slice()).unwrap();
            let mut data = Vec::new();
            assert!(
                reader.read(&mut data).unwrap() && data == b"123456" && !reader.read(&mut data).unwrap(),
                "{header}"
            );
            *reader.header()
        };
        let raster = |siting, width, height| Raster { siting, aspect: PixelAspect::new(width, height).unwrap() };
        for (words, expected) in [
            ("C420jpeg", raster(Siting::Centre, 0, 0)),
            ("A1:1 C420mpeg2", raster(Siting::Left, 1, 1)),
            ("A10:11 C420paldv", raster(Siting::Lines, 10, 11)),
            ("A0:1 XYSCSS=420MPEG2", raster(Siting::Left, 0, 0)),
            ("A59:54 XYSCSS=420JPEG", raster(Siting::Centre, 59, 54)),
            // The word wins over the comment.
            ("C420mpeg2 XYSCSS=420JPEG", raster(Siting::Left, 0, 0)),
        ] {
            for header in
                [format!("YUV4MPEG2 W2 H2 F25:1 {words}"), format!("YUV4MPEG2\tW2\tH2\t{words}").replace(' ', "\t")]
            {
                assert_eq!(read(&header, "").raster, expected, "{header}");
                assert_eq!(read(&header, "\n").raster, expected, "{header}");
            }
        }
        let full = Y4mReader::new(b"YUV4MPEG2 W2 H2 XYSCSS=444\n".as_slice()).unwrap();
        assert_eq!(full.header().chroma, Chroma::C444);
        let lines = Y4mReader::new(b"YUV4MPEG2 W2 H2\nFRAME\n123456\n\nFRAME\n123456".as_slice());
        let (mut reader, mut data) = (lines.unwrap(), Vec::new());
        assert!(reader.read(&mut data).unwrap() && matches!(reader.read(&mut data), Err(Y4mError::NoFrame(2))));
    }

    #[test]
    fn samples_of_422_stand_twice() {
        let bytes = b"YUV4MPEG2 W3 H2 F25:1 C422\nFRAME\nabcdefABCDwxyzFRAME\nabcdefABCDwxy".as_slice();
        let mut reader = Y4mReader::new(bytes).unwrap();
        assert_eq!(reader.header().chroma, Chroma::C444);
        let mut data = Vec::new();
        assert!(reader.read(&mut data).unwrap());
        assert_eq!(data, b"abcdefAABCCDwwxyyz");
        assert_eq!(data.len(), reader.header().picture_bytes());
        assert!(matches!(reader.read(&mut data), Err(Y4mError::Truncated(2))));
    }

    #[test]
    fn a_truncated_file_names_the_frame() {
        let whole = b"YUV4MPEG2 W2 H2 C444\nFRAME\n123456789abcFRAME\n123456789abc";
        for cut in 21..whole.len() {
            let mut reader = Y4mReader::new(&whole[..cut]).unwrap();
            let mut data = Vec::new();
            if cut >= 39 {
                assert!(reader.read(&mut data).unwrap());
            }
            match (cut, reader.read(&mut data)) {
                (21 | 39, result) => assert!(!result.unwrap()),
                (40.., result) => assert!(matches!(result, Err(Y4mError::Truncated(2))), "{cut} {result:?}"),
                (_, result) => assert!(matches!(result, Err(Y4mError::Truncated(1))), "{cut} {result:?}"),
            }
        }
        for cut in 0..21 {
            assert!(matches!(Y4mReader::new(&whole[..cut]), Err(Y4mError::NoHeader)), "{cut}");
        }
    }

    #[test]
    fn impossible_headers_are_refused() {
        let long = format!("YUV4MPEG2 W4 H4 X{}\n", "a".repeat(5000));
        for (header, says) in [
            ("", "not a Y4M"),
            ("RIFF", "not a Y4M"),
            ("RIFF W4 H4\n", "not a Y4M"),
            (&long, "at most 1024 bytes"),
            ("YUV4MPEG2 W16385 H1\n", "16385x1"),
            ("YUV4MPEG2 W0 H1\n", "0x1"),
            ("YUV4MPEG2 W3 H99999999999999999999\n", "3x4294967295"),
            ("YUV4MPEG2 W4\n", "width and height"),
            ("YUV4MPEG2 W-4 H4\n", "width and height"),
            ("YUV4MPEG2 W H4\n", "width and height"),
            ("YUV4MPEG2 W4 H4 C420p12\n", "`C420p12`"),
            ("YUV4MPEG2 W4 H4 C422p10\n", "`C422p10`"),
            ("YUV4MPEG2 W4 H4 C444alpha\n", "`C444alpha`"),
            ("YUV4MPEG2 W4 H4 C420jpeg\r\n", "carriage return"),
            ("YUV4MPEG2\r\n", "carriage return"),
            ("YUV4MPEG2 W4 H4 XYSCSS=411\n", "`XYSCSS=411`"),
            ("YUV4MPEG2 W4 H4 Aten\n", "`Aten`"),
            ("YUV4MPEG2 W4 H4 F0:1\n", "`0:1`"),
            ("YUV4MPEG2 W4 H4 F25\n", "`25`"),
            ("YUV4MPEG2 W4 H4 F1001:1\n", "at most 1000"),
        ] {
            let error = Y4mReader::new(header.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{header:?}: {error}");
        }
        let mut reader = Y4mReader::new(b"YUV4MPEG2 W1 H1 Cmono\nFRAME\nxFRUME\nx".as_slice()).unwrap();
        let mut data = Vec::new();
        assert!(reader.read(&mut data).unwrap());
        assert!(matches!(reader.read(&mut data), Err(Y4mError::NoFrame(2))));
    }

    #[test]
    fn colour_follows_the_rule_unless_the_header_says_it() {
        for (words, matrix, range) in [
            ("H719", Matrix::Bt601, Range::Limited),
            ("H720 XCOLORRANGE=LIMITED", Matrix::Bt709, Range::Limited),
            ("H720 XCOLORRANGE=FULL", Matrix::Bt709, Range::Full),
            ("H1 XDUETMATRIX=BT709", Matrix::Bt709, Range::Limited),
            ("H1080 XDUETMATRIX=BT601 XCOLORRANGE=FULL", Matrix::Bt601, Range::Full),
            ("H1080 XDUETMATRIX=BT2020", Matrix::Bt709, Range::Limited),
        ] {
            let reader = Y4mReader::new(io::Cursor::new(format!("YUV4MPEG2 W2 {words} F0:0\n")));
            let header = *reader.unwrap().header();
            assert_eq!((header.colour, header.rate), (ColourSpace { matrix, range }, None), "{words}");
        }
    }

    #[test]
    fn a_header_alone_asks_for_no_memory() {
        let mut reader = Y4mReader::new(b"YUV4MPEG2 W16384 H16384 C444\nFRAME\nabc".as_slice()).unwrap();
        let mut data = Vec::new();
        assert!(matches!(reader.read(&mut data), Err(Y4mError::Truncated(1))));
        assert!(data.capacity() < 1 << 20, "{}", data.capacity());
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(start in 0usize..40, tail: Vec<u8>) {
            let header = b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\nabcd";
            let bytes = [&header[..start.min(header.len())], &tail].concat();
            if let Ok(mut reader) = Y4mReader::new(bytes.as_slice()) {
                let mut data = Vec::new();
                while reader.read(&mut data).unwrap_or(false) {
                    prop_assert_eq!(data.len(), reader.header().picture_bytes());
                }
            }
        }
    }
}
