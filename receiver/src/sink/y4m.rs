//! A Y4M file that keeps time: as many pictures as the sender sent, repeated where frames never came.

use std::fs::File;
use std::path::{Path, PathBuf};

use common::frame::FrameSize;
use common::params::StreamParams;
use common::units::FrameId;
use common::y4m::{Y4mHeader, Y4mWriter};
use kernels::Picture;

use super::{Sink, SinkError};

/// Longest gap that is filled, seconds; after it the file jumps, so that a sender with strange frame numbers
/// cannot fill the disk.
const FILL_SECONDS_MAX: f64 = 60.0;

/// A Y4M file being written.
pub struct Y4mFile {
    path: PathBuf,
    /// Open until a stream begins; then the writer has it. Pictures are written whole, so no buffer is needed.
    file: Option<File>,
    writer: Option<Y4mWriter<File>>,
    stream: Option<StreamParams>,
    last: Option<(FrameId, Picture)>,
    written: u64,
    repeated: u64,
}

impl Y4mFile {
    /// Creates `path`, replacing what was there.
    pub fn create(path: &Path) -> Result<Self, SinkError> {
        let file = File::create(path).map_err(|e| SinkError::File { path: path.to_owned(), reason: e.to_string() })?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            writer: None,
            stream: None,
            last: None,
            written: 0,
            repeated: 0,
        })
    }

    fn error(&self, reason: impl ToString) -> SinkError {
        SinkError::File { path: self.path.clone(), reason: reason.to_string() }
    }

    fn write(&mut self, picture: &Picture) -> Result<(), SinkError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let result = writer.write(picture.data());
        result.map_err(|e| self.error(e))?;
        self.written += 1;
        Ok(())
    }

    /// Repeats the last picture for the frames between it and `id`.
    fn fill_up_to(&mut self, id: FrameId) -> Result<(), SinkError> {
        let (Some((last, picture)), Some(params)) = (self.last.take(), self.stream) else { return Ok(()) };
        let missing = i64::from(id.ahead_of(last)) - 1;
        let missing_max = (FILL_SECONDS_MAX * params.frame_rate.as_f64()) as i64;
        for _ in 0..missing.min(missing_max) {
            self.write(&picture)?;
            self.repeated += 1;
        }
        self.last = Some((last, picture));
        Ok(())
    }
}

impl Sink for Y4mFile {
    fn records(&self) -> bool {
        true
    }

    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        if let Some(held) = &self.stream {
            let same = (held.size, held.frame_rate, held.chroma) == (params.size, params.frame_rate, params.chroma);
            if !same {
                let (held, new) = (describe(held), describe(params));
                return Err(SinkError::StreamChanged { path: self.path.clone(), held, new });
            }
            // A sender that starts again counts from another frame; the pause is not filled.
            self.last = None;
            return Ok(());
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        let writer = Y4mWriter::new(file, &Y4mHeader::from(params)).map_err(|e| self.error(e))?;
        self.writer = Some(writer);
        self.stream = Some(*params);
        Ok(())
    }

    fn show(&mut self, id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        self.fill_up_to(id)?;
        self.write(picture)?;
        match &mut self.last {
            Some((last, kept)) if kept.data().len() == picture.data().len() => {
                kept.data_mut().copy_from_slice(picture.data());
                *last = id;
            }
            slot => *slot = Some((id, picture.clone())),
        }
        Ok(())
    }

    fn finish(&mut self, last: Option<FrameId>) -> Result<(), SinkError> {
        if let Some(last) = last {
            self.fill_up_to(last.next())?;
        }
        tracing::info!(path = %self.path.display(), pictures = self.written, repeated = self.repeated, "Y4M file written");
        Ok(())
    }
}

fn describe(params: &StreamParams) -> String {
    let size: FrameSize = params.size;
    format!("{size} {:?} at {:.2} frames a second", params.chroma, params.frame_rate.as_f64())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use common::frame::{Chroma, ColourSpace};
    use common::params::CodecParams;
    use common::units::FrameRate;

    use super::*;

    fn params(chroma: Chroma, colour: ColourSpace) -> StreamParams {
        StreamParams {
            size: FrameSize::new(3, 5).unwrap(),
            frame_rate: FrameRate::new(30, 1).unwrap(),
            chroma,
            colour,
            codec: CodecParams::default(),
        }
    }

    fn picture(params: &StreamParams, value: u8) -> Picture {
        let mut picture = Picture::for_stream(params.chroma, params.size);
        picture.data_mut().fill(value);
        picture
    }

    /// Shows frames with the given ids, whose samples equal the id; returns header and first sample of each picture.
    fn written(name: &str, params: &StreamParams, ids: &[u32], last: Option<u32>) -> (String, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("duet-sink-{}-{name}.y4m", std::process::id()));
        let mut sink = Y4mFile::create(&path).unwrap();
        sink.start(params).unwrap();
        for &id in ids {
            sink.show(FrameId(id), &picture(params, id as u8)).unwrap();
        }
        sink.finish(last.map(FrameId)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let end = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
        let frame_bytes = 6 + params.chroma.picture_format().bytes(params.size);
        let frames = bytes[end..].chunks(frame_bytes).map(|chunk| {
            assert_eq!((chunk.len(), &chunk[..6]), (frame_bytes, &b"FRAME\n"[..]));
            chunk[6]
        });
        let samples = frames.collect();
        (String::from_utf8(bytes[..end - 1].to_vec()).unwrap(), samples)
    }

    #[test]
    fn headers_name_sampling_range_and_an_unusual_matrix() {
        let cases = [
            (Chroma::C420, ColourSpace::JPEG, "C420jpeg XCOLORRANGE=FULL"),
            (Chroma::C420, ColourSpace::BT709_LIMITED, "C420jpeg XCOLORRANGE=LIMITED XDUETMATRIX=BT709"),
            (Chroma::C444, ColourSpace::JPEG, "C444 XCOLORRANGE=FULL"),
            (Chroma::Grey, ColourSpace::BT601_LIMITED, "Cmono XCOLORRANGE=LIMITED"),
        ];
        for (index, (chroma, colour, words)) in cases.into_iter().enumerate() {
            let (header, frames) = written(&format!("header{index}"), &params(chroma, colour), &[7], None);
            assert_eq!(header, format!("YUV4MPEG2 W3 H5 F30:1 Ip A1:1 {words}"));
            assert_eq!(frames, [7]);
        }
    }

    #[test]
    fn gaps_are_filled_with_the_picture_before() {
        let params = params(Chroma::C420, ColourSpace::JPEG);
        assert_eq!(written("gaps", &params, &[4, 5, 8, 9], Some(11)).1, [4, 5, 5, 5, 8, 9, 9, 9]);
        let far = written("far", &params, &[0, 1_000_000], None).1;
        assert_eq!(far.len(), 2 + 60 * 30, "at most a minute is filled");
    }

    #[test]
    fn a_stream_that_comes_back_with_another_size_is_refused() {
        let path = std::env::temp_dir().join(format!("duet-sink-{}-change.y4m", std::process::id()));
        let mut sink = Y4mFile::create(&path).unwrap();
        let first = params(Chroma::C420, ColourSpace::JPEG);
        sink.start(&first).unwrap();
        sink.start(&first).unwrap();
        let error = sink.start(&StreamParams { size: FrameSize::new(4, 5).unwrap(), ..first }).unwrap_err();
        assert!(error.to_string().contains("3x5 C420"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Y4mFile::create(Path::new("/nonexistent/x.y4m")).err().unwrap();
        assert!(error.to_string().starts_with("cannot write /nonexistent/x.y4m: "), "{error}");
    }
}
