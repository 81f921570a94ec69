//! YUV4MPEG2: one header line, then for each picture a line `FRAME` and its planes.

use std::io::{self, BufRead, Read};

use common::frame::{ColourSpace, FrameSize, Matrix, PixelFormat, Range};
use common::units::FrameRate;

/// Longest header line, bytes.
const LINE_BYTES_MAX: u64 = 1024;

/// Why a Y4M stream cannot be read (on).
#[derive(Debug, thiserror::Error)]
pub enum Y4mError {
    /// The header is none, or says something that is not possible here.
    #[error("{0}")]
    Header(String),
    /// It ends within a picture.
    #[error("it ends in the middle of frame {0}")]
    Truncated(u64),
    /// Something else stands where a picture should begin.
    #[error("frame {0} does not begin with FRAME: the file is damaged there")]
    NoFrame(u64),
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads the pictures of a Y4M stream.
#[derive(Debug)]
pub struct Y4mReader<R> {
    input: R,
    size: FrameSize,
    rate: Option<FrameRate>,
    format: PixelFormat,
    colour: ColourSpace,
    frames: u64,
}

impl<R: BufRead> Y4mReader<R> {
    /// Reads the header: 8-bit 4:2:0, 4:4:4 or grey pictures of 1x1 to 16384x16384.
    pub fn new(mut input: R) -> Result<Self, Y4mError> {
        let header = |message: &str| Y4mError::Header(message.to_owned());
        let line = read_line(&mut input)?;
        let line = line.and_then(|line| String::from_utf8(line).ok());
        let line = line.ok_or_else(|| header("it does not begin with a Y4M header"))?;
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        if words.next() != Some("YUV4MPEG2") {
            return Err(header("it does not begin with a Y4M header"));
        }
        let (mut width, mut height, mut rate, mut sampling, mut range) = (None, None, None, "420", Range::Limited);
        for word in words {
            match word.split_at_checked(1) {
                Some(("W", value)) => width = value.parse().ok(),
                Some(("H", value)) => height = value.parse().ok(),
                Some(("F", value)) => {
                    let parts = value.split_once(':').and_then(|(n, d)| Some((n.parse().ok()?, d.parse().ok()?)));
                    rate = parts.and_then(|(numerator, denominator)| FrameRate::new(numerator, denominator));
                }
                Some(("C", value)) => sampling = value,
                Some(("X", "COLORRANGE=FULL")) => range = Range::Full,
                _ => {}
            }
        }
        let (Some(width), Some(height)) = (width, height) else {
            return Err(header("its header names no size"));
        };
        let size = FrameSize::new(width, height).map_err(|error| Y4mError::Header(error.to_string()))?;
        let format = match sampling {
            "420" | "420jpeg" | "420mpeg2" | "420paldv" => PixelFormat::I420,
            "444" => PixelFormat::I444,
            "mono" => PixelFormat::Grey8,
            other => {
                let message = format!("its samples are `{other}`: only 8-bit 420, 444 and mono can be sent");
                return Err(Y4mError::Header(message));
            }
        };
        let matrix = if height >= 720 { Matrix::Bt709 } else { Matrix::Bt601 };
        Ok(Self { input, size, rate, format, colour: ColourSpace { matrix, range }, frames: 0 })
    }

    /// Size of the pictures.
    pub fn size(&self) -> FrameSize {
        self.size
    }

    /// Their rate, if the header names one.
    pub fn rate(&self) -> Option<FrameRate> {
        self.rate
    }

    /// Order of their samples.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// What the samples mean. The header does not name the matrix: BT.709 from 720 lines on, else BT.601.
    pub fn colour(&self) -> ColourSpace {
        self.colour
    }

    /// Reads the next picture into `data`; false at the end.
    pub fn read(&mut self, data: &mut Vec<u8>) -> Result<bool, Y4mError> {
        let number = self.frames + 1;
        let Some(line) = read_line(&mut self.input)? else {
            return if self.input.fill_buf()?.is_empty() { Ok(false) } else { Err(Y4mError::NoFrame(number)) };
        };
        if line != b"FRAME" && !line.starts_with(b"FRAME ") {
            return Err(if b"FRAME".starts_with(&line) {
                Y4mError::Truncated(number)
            } else {
                Y4mError::NoFrame(number)
            });
        }
        let bytes = self.format.bytes(self.size);
        data.clear();
        // Grows as bytes come, so that a header alone cannot ask for memory.
        let read = self.input.by_ref().take(bytes as u64).read_to_end(data)?;
        if read < bytes {
            return Err(Y4mError::Truncated(number));
        }
        self.frames = number;
        Ok(true)
    }
}

/// A line without its end; `None` if there is nothing more. A line that is too long or has no end comes as it is,
/// cut.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pictures_come_whole_and_then_the_end() {
        let mut bytes = b"YUV4MPEG2 W3 H1 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG\n".to_vec();
        bytes.extend_from_slice(b"FRAME\n1234567FRAME Ip\nabcdefg");
        let mut reader = Y4mReader::new(bytes.as_slice()).unwrap();
        assert_eq!((reader.size(), reader.rate()), (FrameSize::new(3, 1).unwrap(), FrameRate::new(30_000, 1001)));
        let mut data = Vec::new();
        assert!(reader.read(&mut data).unwrap() && data == b"1234567");
        assert!(reader.read(&mut data).unwrap() && data == b"abcdefg");
        assert!(!reader.read(&mut data).unwrap());
    }

    #[test]
    fn a_truncated_file_names_the_frame() {
        let whole = b"YUV4MPEG2 W2 H2 C444\nFRAME\n123456789abcFRAME\n123456789abc";
        for cut in 34..whole.len() {
            let mut reader = Y4mReader::new(&whole[..cut]).unwrap();
            let mut data = Vec::new();
            if cut >= 39 {
                assert!(reader.read(&mut data).unwrap());
            }
            match (cut, reader.read(&mut data)) {
                (39, result) => assert!(!result.unwrap()),
                (40.., result) => assert!(matches!(result, Err(Y4mError::Truncated(2))), "{cut} {result:?}"),
                (_, result) => assert!(matches!(result, Err(Y4mError::Truncated(1))), "{cut} {result:?}"),
            }
        }
    }

    #[test]
    fn impossible_headers_are_refused() {
        for (header, says) in [
            ("", "does not begin"),
            ("RIFF", "does not begin"),
            ("YUV4MPEG2 W16385 H1\n", "16384"),
            ("YUV4MPEG2 W0 H1\n", "16384"),
            ("YUV4MPEG2 W4\n", "no size"),
            ("YUV4MPEG2 W4 H4 C420p10\n", "`420p10`"),
            ("YUV4MPEG2 W4 H4 C422\n", "`422`"),
            ("YUV4MPEG2 W4 H4 C444alpha\n", "`444alpha`"),
        ] {
            let error = Y4mReader::new(header.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{header:?}: {error}");
        }
        let mut reader = Y4mReader::new(b"YUV4MPEG2 W1 H1 Cmono\nFRAME\nxFRUME\nx".as_slice()).unwrap();
        let mut data = Vec::new();
        assert!(reader.read(&mut data).unwrap());
        assert!(matches!(reader.read(&mut data), Err(Y4mError::NoFrame(2))));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(start in 0usize..40, tail: Vec<u8>) {
            let header = b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\nabcd";
            let bytes = [&header[..start.min(header.len())], &tail].concat();
            if let Ok(mut reader) = Y4mReader::new(bytes.as_slice()) {
                let mut data = Vec::new();
                while reader.read(&mut data).unwrap_or(false) {
                    prop_assert_eq!(data.len(), reader.format().bytes(reader.size()));
                }
            }
        }
    }
}
