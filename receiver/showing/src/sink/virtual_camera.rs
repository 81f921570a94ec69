//! The received picture as a camera of this machine, for OBS, Zoom and whatever else opens cameras: a V4L2 device that takes
//! pictures, as v4l2loopback makes them.
//!
//! V4L2 and not PipeWire, for three reasons. Every program that knows cameras opens V4L2 devices; PipeWire's cameras reach it only
//! through the desktop's portal, which asks and which few programs use. A device file needs no session: it works as a service, in a
//! container, over ssh. And it needs no library, where PipeWire's client is C with callbacks on threads of its own. The price is a
//! kernel module that the user must load.
//!
//! A camera has one size for as long as programs have it open. So the first stream's size stays until the receiver ends, or
//! the one that the device keeps, and pictures of another size stand between bars.
//!
//! Pictures are made and written on a thread of their own, the newest alone: neither the window nor the network waits for them.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use common::units::FrameId;
use kernels::Picture;
use kernels::apart::{self, Patience};
use net::limited;
use picture::params::StreamParams;
use shell::slot::{Slot, Taken};

use super::camera_picture::CameraPicture;
use super::video_output::{Pictures, VideoOutput, VideoOutputError, VideoOutputProblem, Written};
use super::{Sink, SinkError, Wish, copied};

/// Longest wait of the thread for news.
const WAIT: Duration = Duration::from_secs(1);
/// Longest wait for the thread at the end: a driver may hold it.
const END_MAX: Duration = Duration::from_secs(1);

/// A picture, what stands on it, or both.
struct News {
    picture: Option<(StreamParams, Picture)>,
    notice: Option<String>,
}

/// A virtual camera that is written.
pub struct VirtualCamera {
    path: PathBuf,
    news: Slot<News>,
    /// Memory of pictures that are written.
    used: Receiver<Picture>,
    /// Result of the thread, until that is told.
    ended: Option<Receiver<Result<(), VideoOutputError>>>,
    params: Option<StreamParams>,
}

impl VirtualCamera {
    /// Opens the video device `path`. The first stream gives it its size.
    pub fn open(path: &Path) -> Result<Self, SinkError> {
        let opened = {
            let path = path.to_owned();
            apart::once("virtual camera", Patience::WORK, move || VideoOutput::open(&path))
        };
        let opened = opened.unwrap_or_else(|lost| Err(lost_at(path, lost.to_string())));
        Self::start(path, opened?)
    }

    fn start(path: &Path, output: impl Pictures + Send + 'static) -> Result<Self, SinkError> {
        let news = Slot::new();
        let (give_back, used) = channel();
        let (end, ended) = channel();
        let body = {
            let (path, news) = (path.to_owned(), news.clone());
            move || {
                // The sink may have gone.
                let _ = end.send(feed(&path, output, &news, &give_back));
            }
        };
        let thread = thread::Builder::new().name("virtual camera".to_owned()).spawn(body);
        thread.map_err(|error| lost_at(path, error.to_string()))?;
        Ok(Self { path: path.to_owned(), news, used, ended: Some(ended), params: None })
    }

    /// Hands `news` over; what the thread has not taken yet is out of date, but for its picture if there is no newer one.
    fn tell(&self, picture: Option<(StreamParams, Picture)>, notice: Option<String>) {
        let waiting = self.news.try_take().and_then(|news| news.picture);
        self.news.replace(News { picture: picture.or(waiting), notice });
    }

    /// Returns the error with which the thread has ended, if it has.
    fn outcome(&mut self) -> Result<(), SinkError> {
        let Some(ended) = &self.ended else { return Ok(()) };
        let outcome = match ended.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Disconnected) => Err(self.broken()),
            Err(TryRecvError::Empty) => return Ok(()),
        };
        self.ended = None;
        Ok(outcome?)
    }

    fn broken(&self) -> VideoOutputError {
        lost_at(&self.path, "its thread broke down".to_owned())
    }
}

fn lost_at(path: &Path, reason: String) -> VideoOutputError {
    VideoOutputError { path: path.to_owned(), problem: VideoOutputProblem::Lost(reason) }
}

/// Writes what is `news` until that is closed.
fn feed(
    path: &Path,
    mut output: impl Pictures,
    news: &Slot<News>,
    give_back: &Sender<Picture>,
) -> Result<(), VideoOutputError> {
    let mut camera: Option<CameraPicture> = None;
    let mut size_told = None;
    loop {
        let News { picture, notice } = match news.take_timeout(WAIT) {
            Taken::Item(news) => news,
            Taken::Timeout => continue,
            Taken::Closed => return Ok(()),
        };
        if let Some((params, picture)) = picture {
            let size = (params.size.width(), params.size.height());
            let camera = match &mut camera {
                Some(camera) => camera,
                None => {
                    let shape = output.begin(size, params.frame_rate)?;
                    let (width, height) = shape.size();
                    tracing::info!("the virtual camera {} has pictures of {width}x{height}", path.display());
                    size_told = Some(shape.size());
                    camera.insert(CameraPicture::new(shape))
                }
            };
            let has = camera.size();
            if size_told.replace(size) != Some(size) && size != has {
                tracing::info!(
                    "the virtual camera {} stays at {}x{}: pictures of {} are fitted into it, with bars around them",
                    path.display(),
                    has.0,
                    has.1,
                    params.size
                );
            }
            camera.take(params.colour, &picture);
            // The sink may have gone.
            let _ = give_back.send(picture);
        }
        // Before the first picture there is nothing to write on.
        let Some(camera) = &mut camera else { continue };
        if output.write(camera.bytes(notice.as_deref()))? == Written::NoRoom {
            limited!(info, "the virtual camera {} has no room for a picture: it is left out", path.display());
        }
    }
}

impl Drop for VirtualCamera {
    fn drop(&mut self) {
        self.news.close();
    }
}

impl Sink for VirtualCamera {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        self.params = Some(*params);
        Ok(())
    }

    fn show(&mut self, _id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        let Some(params) = self.params else { return Ok(()) };
        self.tell(Some((params, copied(picture, &self.used))), None);
        Ok(())
    }

    fn notice(&mut self, notice: Option<&str>) {
        // What a new picture takes back comes with it.
        if let Some(notice) = notice {
            self.tell(None, Some(notice.to_owned()));
        }
    }

    fn poll(&mut self) -> Result<Wish, SinkError> {
        self.outcome().map(|()| Wish::Continue)
    }

    fn finish(&mut self, _last: Option<FrameId>) -> Result<(), SinkError> {
        self.news.close();
        let Some(ended) = self.ended.take() else { return Ok(()) };
        Ok(ended.recv_timeout(END_MAX).unwrap_or_else(|none| {
            Err(match none {
                RecvTimeoutError::Timeout => {
                    lost_at(&self.path, "it holds a picture and does not give it back".to_owned())
                }
                RecvTimeoutError::Disconnected => self.broken(),
            })
        })?)
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};

    use super::super::camera_picture::{Layout, Shape};
    use super::*;

    /// Longer than anything but a hang takes.
    const SOON: Duration = Duration::from_secs(90);

    /// A device that tells what it is asked for, and answers as it is told.
    struct Fake {
        size: (u32, u32),
        begun: Sender<(usize, usize)>,
        written: Sender<Vec<u8>>,
        answers: Receiver<Result<Written, VideoOutputError>>,
    }

    /// The other end of it.
    struct Looks {
        begun: Receiver<(usize, usize)>,
        written: Receiver<Vec<u8>>,
        answers: Sender<Result<Written, VideoOutputError>>,
    }

    impl Pictures for Fake {
        fn begin(&mut self, size: (usize, usize), _: FrameRate) -> Result<Shape, VideoOutputError> {
            self.begun.send(size).unwrap();
            Ok(Shape::new(Layout::Yuyv, self.size, 0, 0).unwrap())
        }

        fn write(&mut self, picture: &[u8]) -> Result<Written, VideoOutputError> {
            self.written.send(picture.to_vec()).unwrap();
            // The test has ended.
            self.answers.recv().unwrap_or(Ok(Written::Whole))
        }
    }

    fn camera(size: (u32, u32)) -> (VirtualCamera, Looks) {
        let ((begin, begun), (write, written), (answers, queue)) = (channel(), channel(), channel());
        let fake = Fake { size, begun: begin, written: write, answers: queue };
        (VirtualCamera::start(Path::new("/dev/video10"), fake).unwrap(), Looks { begun, written, answers })
    }

    fn params(width: u32, height: u32) -> StreamParams {
        StreamParams {
            colour: ColourSpace::BT601_LIMITED,
            ..StreamParams::new(FrameSize::new(width, height).unwrap(), Chroma::Grey)
        }
    }

    fn show(camera: &mut VirtualCamera, params: &StreamParams, luma: u8) {
        let mut picture = Picture::for_stream(params.chroma, params.size);
        picture.data_mut().fill(luma);
        camera.show(FrameId(0), &picture).unwrap();
    }

    impl Looks {
        /// Returns the luma in the middle of the next picture written.
        #[track_caller]
        fn luma(&self) -> u8 {
            let picture = self.written.recv_timeout(SOON).unwrap();
            picture[picture.len() / 2]
        }

        fn answer(&self, answer: Result<Written, VideoOutputError>) {
            self.answers.send(answer).unwrap();
        }
    }

    #[test]
    fn the_newest_picture_is_written_and_none_is_waited_for() {
        let (mut camera, looks) = camera((32, 16));
        let params = params(32, 16);
        camera.start(&params).unwrap();
        show(&mut camera, &params, 50);
        assert_eq!((looks.luma(), looks.begun.recv_timeout(SOON)), (50, Ok((32, 16))));
        // While the device holds the first, others come and go.
        for luma in [60, 70, 80] {
            show(&mut camera, &params, luma);
        }
        assert_eq!(camera.poll().unwrap(), Wish::Continue);
        looks.answer(Ok(Written::Whole));
        assert_eq!(looks.luma(), 80);
        // No room: it is left out, and the next one is tried.
        looks.answer(Ok(Written::NoRoom));
        show(&mut camera, &params, 90);
        assert_eq!(looks.luma(), 90);
        looks.answer(Ok(Written::Whole));
        camera.finish(None).unwrap();
        assert!(looks.begun.try_recv().is_err(), "it begins once");
    }

    #[test]
    fn the_first_size_stays() {
        let (mut camera, looks) = camera((32, 16));
        for (params, luma) in [(params(32, 16), 50), (params(64, 64), 60), (params(8, 4), 70)] {
            camera.start(&params).unwrap();
            show(&mut camera, &params, luma);
            let picture = looks.written.recv_timeout(SOON).unwrap();
            assert_eq!((picture.len(), picture[8 * 64 + 32]), (32 * 16 * 2, luma));
            looks.answer(Ok(Written::Whole));
        }
        assert_eq!(looks.begun.try_iter().collect::<Vec<_>>(), [(32, 16)]);
    }

    #[test]
    fn who_is_missing_stands_on_the_last_picture() {
        let (mut camera, looks) = camera((320, 180));
        let params = params(320, 180);
        camera.notice(Some("Calling Clara for 3 s"));
        camera.start(&params).unwrap();
        show(&mut camera, &params, 200);
        let alive = looks.written.recv_timeout(SOON).unwrap();
        assert!(
            alive.iter().step_by(2).all(|&luma| luma == 200),
            "before the first picture there is nothing to write on"
        );
        // A picture that waits to be written is kept when a sentence comes after it.
        show(&mut camera, &params, 180);
        camera.notice(Some("Clara has been missing for 1 s; calling again"));
        looks.answer(Ok(Written::Whole));
        let dimmed = looks.written.recv_timeout(SOON).unwrap();
        let quarter = 16 + (180 - 16) / 4;
        assert!(dimmed[0].abs_diff(quarter) <= 1, "{} of {quarter}", dimmed[0]);
        assert!(dimmed.iter().step_by(2).any(|&luma| luma > 200), "a text");
        looks.answer(Ok(Written::Whole));
        show(&mut camera, &params, 120);
        assert!(looks.written.recv_timeout(SOON).unwrap().iter().step_by(2).all(|&luma| luma == 120));
        looks.answer(Ok(Written::Whole));
    }

    #[test]
    fn a_device_that_vanishes_ends_the_sink_with_a_sentence() {
        let (mut camera, looks) = camera((32, 16));
        let params = params(32, 16);
        camera.start(&params).unwrap();
        show(&mut camera, &params, 50);
        looks.luma();
        let gone = VideoOutputError { path: PathBuf::from("/dev/video10"), problem: VideoOutputProblem::Gone };
        looks.answer(Err(gone));
        let error = loop {
            if let Err(error) = camera.poll() {
                break error.to_string();
            }
            thread::yield_now();
        };
        assert!(error.starts_with("the virtual camera /dev/video10 has vanished: "), "{error}");
        show(&mut camera, &params, 60);
        assert_eq!(camera.poll().unwrap(), Wish::Continue, "it is told once");
    }
}
