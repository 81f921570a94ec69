//! A Y4M file that keeps time: as many pictures as the sender sent, repeated where frames never came.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::units::{FrameId, Timestamp};
use kernels::Picture;
use picture::frame::FrameSize;
use picture::params::StreamParams;
use picture::y4m::{Y4mHeader, Y4mWriter};
use shell::outlet;
use shell::record::{AHEAD_MAX_S, OUTAGE_MAX};

use super::SinkError;

/// A picture to write.
pub(super) struct Shot {
    /// Counts the streams: one that begins again counts its frames from elsewhere.
    pub(super) stream: u64,
    pub(super) params: StreamParams,
    pub(super) id: FrameId,
    pub(super) picture: Picture,
    /// Time at which it was shown.
    pub(super) at: Timestamp,
}

/// A Y4M file being written.
pub(super) struct Y4mFile {
    path: PathBuf,
    /// Open until a stream begins; then the writer has it. Pictures are written whole, so no buffer is needed.
    file: Option<File>,
    writer: Option<Y4mWriter<File>>,
    held: Option<StreamParams>,
    part: Option<Part>,
    written: Arc<AtomicU64>,
    repeated: u64,
}

/// Span of time whose pictures tell how fast they come.
const PACE_SPAN: Duration = Duration::from_secs(4);
/// The shortest one: a stream's first pictures tell little.
const PACE_SPAN_MIN: Duration = Duration::from_secs(1);
const _: () = assert!(PACE_SPAN_MIN.as_secs() < PACE_SPAN.as_secs());
/// Times as many pictures as come that the file may have where frames are lost: half of them may be.
const FILL_MAX: f64 = 2.0;

/// The times at which the last pictures came.
struct Pace {
    began: Timestamp,
    came: VecDeque<Timestamp>,
}

impl Pace {
    fn new(began: Timestamp) -> Self {
        Self { began, came: VecDeque::from([began]) }
    }

    fn on_picture(&mut self, at: Timestamp) {
        self.came.push_back(at);
        while self.came.front().is_some_and(|first| at.since(*first) > PACE_SPAN) {
            self.came.pop_front();
        }
    }

    /// Returns the most pictures a second that the file may have after the last one.
    fn rate_max(&self) -> f64 {
        let span = self.came.back().map_or(Duration::ZERO, |last| last.since(self.began));
        FILL_MAX * self.came.len() as f64 / span.clamp(PACE_SPAN_MIN, PACE_SPAN).as_secs_f64()
    }
}

/// Written part of one stream.
struct Part {
    stream: u64,
    /// Time at which its first picture was shown.
    began: Timestamp,
    pictures: u64,
    last: FrameId,
    picture: Picture,
    /// Time at which the last one was shown.
    at: Timestamp,
    pace: Pace,
}

impl Y4mFile {
    /// Creates `path`. What was there is replaced when a picture comes: a receiver that is started again must not empty the
    /// recording of a call.
    pub(super) fn create(path: &Path) -> Result<Self, SinkError> {
        let file = outlet::create_or_keep(path)
            .map_err(|e| SinkError::File { path: path.to_owned(), reason: e.to_string() })?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            writer: None,
            held: None,
            part: None,
            written: Arc::default(),
            repeated: 0,
        })
    }

    /// Returns the number of pictures written so far, as it grows.
    pub(super) fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Writes a picture, and the one before it for frames between them that never came. Gives back memory to use again.
    pub(super) fn write(&mut self, shot: Shot) -> Result<Option<Picture>, SinkError> {
        self.begin(&shot.params)?;
        match &self.part {
            Some(part) if part.stream == shot.stream => self.fill_up_to(shot.id, shot.at)?,
            Some(_) => self.fill_outage(shot.at)?,
            None => {}
        }
        self.append(&shot.picture)?;
        let Shot { stream, id, picture, at, .. } = shot;
        match &mut self.part {
            Some(part) if part.stream == stream => {
                part.pictures += 1;
                part.last = id;
                part.at = at;
                part.pace.on_picture(at);
                Ok(Some(std::mem::replace(&mut part.picture, picture)))
            }
            // A sender that starts again counts from another frame.
            part => {
                let pace = Pace::new(at);
                let part = part.replace(Part { stream, began: at, pictures: 1, last: id, picture, at, pace });
                Ok(part.map(|old| old.picture))
            }
        }
    }

    /// Ends: no picture follows. `last` is the stream's last frame if the sender said so.
    pub(super) fn finish(&mut self, last: Option<FrameId>, now: Timestamp) -> Result<(), SinkError> {
        if let Some(last) = last {
            self.fill_up_to(last.next(), now)?;
        }
        let (pictures, repeated) = (self.written.load(Ordering::Relaxed), self.repeated);
        tracing::info!(path = %self.path.display(), pictures, repeated, "Y4M file written");
        Ok(())
    }

    /// Writes the header, unless the file has one: then it must be the same.
    fn begin(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        if let Some(held) = &self.held {
            let same = (held.size, held.frame_rate, held.chroma) == (params.size, params.frame_rate, params.chroma);
            if same {
                return Ok(());
            }
            let (held, new) = (describe(held), describe(params));
            return Err(SinkError::StreamChanged { path: self.path.clone(), held, new });
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        // Only a file can be emptied.
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            file.set_len(0).map_err(|e| self.error(e))?;
        }
        let writer = Y4mWriter::new(file, &Y4mHeader::from(params)).map_err(|e| self.error(e))?;
        self.writer = Some(writer);
        self.held = Some(*params);
        Ok(())
    }

    fn append(&mut self, picture: &Picture) -> Result<(), SinkError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let result = writer.write(picture.data());
        result.map_err(|e| self.error(e))?;
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Repeats the last picture for the frames between it and `id`, as far as there was time for them at the rate at which
    /// pictures come: a sender with strange frame numbers, or with another rate than it announces, must not fill the disk.
    fn fill_up_to(&mut self, id: FrameId, now: Timestamp) -> Result<(), SinkError> {
        let (Some(mut part), Some(params)) = (self.part.take(), self.held) else { return Ok(()) };
        let missing = u64::try_from(i64::from(id.ahead_of(part.last)) - 1).unwrap_or(0);
        let seconds = now.since(part.began).as_secs_f64() + AHEAD_MAX_S;
        let most = (seconds * params.frame_rate.as_f64()) as u64;
        let at_pace = ((now.since(part.at).as_secs_f64() + AHEAD_MAX_S) * part.pace.rate_max()).round() as u64;
        for _ in 0..missing.min(most.saturating_sub(part.pictures)).min(at_pace) {
            self.append(&part.picture)?;
            part.pictures += 1;
            self.repeated += 1;
        }
        self.part = Some(part);
        Ok(())
    }

    /// Repeats the last picture for the time between the last stream and the one that begins.
    fn fill_outage(&mut self, now: Timestamp) -> Result<(), SinkError> {
        let (Some(part), Some(params)) = (self.part.take(), self.held) else { return Ok(()) };
        let pause = now.since(part.at);
        if pause <= OUTAGE_MAX {
            let rate = params.frame_rate.as_f64().min(part.pace.rate_max());
            let missing = (pause.as_secs_f64() * rate).round() as u64;
            for _ in 1..missing {
                self.append(&part.picture)?;
                self.repeated += 1;
            }
        }
        self.part = Some(part);
        Ok(())
    }

    fn error(&self, reason: impl ToString) -> SinkError {
        SinkError::File { path: self.path.clone(), reason: reason.to_string() }
    }
}

fn describe(params: &StreamParams) -> String {
    let size: FrameSize = params.size;
    format!("{size} {:?} at {:.2} frames a second", params.chroma, params.frame_rate.as_f64())
}

#[cfg(test)]
mod tests {
    use picture::frame::{Chroma, ColourSpace, FrameRate};

    use super::*;

    fn params(chroma: Chroma, colour: ColourSpace) -> StreamParams {
        StreamParams { colour, ..StreamParams::new(FrameSize::new(3, 5).unwrap(), chroma) }
    }

    fn picture(params: &StreamParams, value: u8) -> Picture {
        let mut picture = Picture::for_stream(params.chroma, params.size);
        picture.data_mut().fill(value);
        picture
    }

    fn shot(params: &StreamParams, id: u32, at_ms: u64) -> Shot {
        let at = Timestamp::from_us(1000 * at_ms);
        Shot { stream: 0, params: *params, id: FrameId(id), picture: picture(params, id as u8), at }
    }

    /// Writes frames with the given ids and times in milliseconds, whose samples equal the id; returns header and first
    /// sample of each picture.
    fn written(name: &str, params: &StreamParams, ids: &[(u32, u64)], last: Option<(u32, u64)>) -> (String, Vec<u8>) {
        let path = std::env::temp_dir().join(format!("duet-sink-{}-{name}.y4m", std::process::id()));
        let mut file = Y4mFile::create(&path).unwrap();
        for &(id, at_ms) in ids {
            file.write(shot(params, id, at_ms)).unwrap();
        }
        let end = Timestamp::from_us(1000 * last.map_or(0, |last| last.1));
        file.finish(last.map(|last| FrameId(last.0)), end).unwrap();
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
            let (header, frames) = written(&format!("header{index}"), &params(chroma, colour), &[(7, 0)], None);
            assert_eq!(header, format!("YUV4MPEG2 W3 H5 F30:1 Ip A1:1 {words}"));
            assert_eq!(frames, [7]);
        }
    }

    #[test]
    fn gaps_are_filled_with_the_picture_before() {
        let params = params(Chroma::C420, ColourSpace::JPEG);
        let shown = [(4, 0), (5, 33), (8, 133), (9, 166)];
        assert_eq!(written("gaps", &params, &shown, Some((11, 233))).1, [4, 5, 5, 5, 8, 9, 9, 9]);
    }

    #[test]
    fn gaps_are_filled_by_elapsed_time_only() {
        let params = params(Chroma::C420, ColourSpace::JPEG);
        // Two seconds of pictures, half a second without, and a second more.
        let shown: Vec<_> = (0..60).map(|n| (n, 33 * u64::from(n))).collect();
        let far = written("far", &params, &[&shown[..], &[(1_000_000, 2_500)]].concat(), None).1;
        assert_eq!(far.len(), 105 + 1);
        let far_end = written("far-end", &params, &shown, Some((1_000_000, 2_500))).1;
        assert_eq!(far_end.len(), 105);
        // One jump after the other is worth no more.
        let jumps: Vec<_> = (0..15).map(|n| (1_000 * n as u32, 33 * n)).collect();
        assert_eq!(written("jumps", &params, &jumps, Some((1_000_000, 500))).1.len(), 45);
    }

    #[test]
    fn gaps_are_filled_at_the_rate_at_which_pictures_come() {
        let fast =
            StreamParams { frame_rate: FrameRate::new(200, 1).unwrap(), ..params(Chroma::C420, ColourSpace::JPEG) };
        // Four pictures at once, then one in five seconds: of 200 a second there was no sign.
        let few = written("few", &fast, &[(0, 0), (1, 5), (2, 10), (3, 15), (1_000, 5_000)], Some((2_000, 10_000))).1;
        assert!((50..70).contains(&few.len()), "{}", few.len());
        // Half of the frames are lost: the file keeps time.
        let half: Vec<_> = (0..400).map(|n| (2 * n, 10 * u64::from(n))).collect();
        assert_eq!(written("half", &fast, &half, Some((799, 3_995))).1.len(), 800);
        // And so it does through an outage of a minute.
        let params = params(Chroma::C420, ColourSpace::JPEG);
        let mut shown: Vec<_> = (0..300).map(|n| (n, 33 * u64::from(n))).collect();
        shown.push((2_100, 70_000));
        assert_eq!(written("minute", &params, &shown, None).1.len(), 2_101);
    }

    #[test]
    fn a_stream_that_comes_back_goes_on_unless_it_is_another() {
        let path = std::env::temp_dir().join(format!("duet-sink-{}-change.y4m", std::process::id()));
        let mut file = Y4mFile::create(&path).unwrap();
        let first = params(Chroma::C420, ColourSpace::JPEG);
        (0..30).for_each(|n| drop(file.write(shot(&first, n, 33 * u64::from(n))).unwrap()));
        // Two seconds at 30 frames a second, and an evening.
        file.write(Shot { stream: 1, ..shot(&first, 900, 2_957) }).unwrap();
        assert_eq!(file.written().load(Ordering::Relaxed), 90, "the file keeps time");
        file.write(Shot { stream: 2, ..shot(&first, 5, 10_000_000) }).unwrap();
        assert_eq!(file.written().load(Ordering::Relaxed), 91, "another call");
        let other = StreamParams { size: FrameSize::new(4, 5).unwrap(), ..first };
        let error = file.write(Shot { stream: 3, ..shot(&other, 0, 10_000_000) }).err().unwrap();
        assert!(error.to_string().contains("3x5 C420"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_old_file_stays_until_a_picture_comes() {
        let path = std::env::temp_dir().join(format!("duet-sink-{}-old.y4m", std::process::id()));
        std::fs::write(&path, [b'x'; 1000]).unwrap();
        let mut file = Y4mFile::create(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1000);
        let params = params(Chroma::Grey, ColourSpace::JPEG);
        file.write(shot(&params, 7, 0)).unwrap();
        file.finish(None, Timestamp::from_us(0)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"YUV4MPEG2 ") && bytes.ends_with(&[7; 15]) && bytes.len() < 150);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Y4mFile::create(Path::new("/nonexistent/x.y4m")).err().unwrap();
        assert!(error.to_string().starts_with("cannot write /nonexistent/x.y4m: "), "{error}");
    }
}
