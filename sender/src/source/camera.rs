//! Cameras, through nokhwa: the only file that names it.
//!
//! Pictures are taken as the camera delivers them; JPEGs are decoded here, everything else is the encoder's work.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::units::Timestamp;
use nokhwa::Buffer;
use nokhwa::utils::{ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType};
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat};
use shell::clock;
use shell::exit::Failure;

use super::{FrameSource, SourceFrame, SourceInfo, jpeg};

/// Formats that can be used, best first: what needs the least work before the transform.
const FORMATS: [FrameFormat; 5] =
    [FrameFormat::NV12, FrameFormat::YUYV, FrameFormat::MJPEG, FrameFormat::RAWRGB, FrameFormat::GRAY];
/// Pause before a camera that failed is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// A camera and what it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraDescription {
    /// Number to give as `camera:index=N`.
    pub index: u32,
    /// The name it gives itself.
    pub name: String,
    /// Its formats: name, size, frames a second.
    pub formats: Vec<(String, FrameSize, u32)>,
    /// Reason for which its formats are not known.
    pub problem: Option<String>,
}

/// Returns the cameras of this machine, by number.
pub fn cameras() -> Vec<CameraDescription> {
    let mut found = Vec::new();
    for info in nokhwa::query(ApiBackend::Auto).unwrap_or_default() {
        let Ok(index) = info.index().as_index() else { continue };
        let formats = open_any(index).and_then(|mut camera| formats(&mut camera));
        let problem = formats.as_ref().err().cloned();
        let mut formats: Vec<_> = formats
            .unwrap_or_default()
            .iter()
            .filter_map(|format| Some((format.format().to_string(), size_of(format)?, format.frame_rate())))
            .collect();
        formats.sort_by_key(|(name, size, rate)| (name.clone(), std::cmp::Reverse((size.pixels(), *rate))));
        found.push(CameraDescription { index, name: info.human_name(), formats, problem });
    }
    found.sort_by_key(|camera| camera.index);
    found
}

fn open_any(index: u32) -> Result<nokhwa::Camera, String> {
    let any = RequestedFormat::with_formats(RequestedFormatType::AbsoluteHighestFrameRate, &FORMATS);
    nokhwa::Camera::new(CameraIndex::Index(index), any).map_err(|error| error.to_string())
}

fn formats(camera: &mut nokhwa::Camera) -> Result<Vec<CameraFormat>, String> {
    camera.compatible_camera_formats().map_err(|error| error.to_string())
}

fn size_of(format: &CameraFormat) -> Option<FrameSize> {
    FrameSize::new(format.width(), format.height()).ok()
}

/// An open camera.
pub(super) struct Camera {
    camera: Option<nokhwa::Camera>,
    index: u32,
    format: CameraFormat,
    info: SourceInfo,
    skipped: u64,
}

impl Camera {
    /// Opens camera `index` without starting it, in the format nearest to what is wanted. A size that was asked for
    /// must be there.
    pub(super) fn open(index: u32, wanted: Option<FrameSize>, rate: FrameRate) -> Result<Self, Failure> {
        let mut camera = open_any(index).map_err(|error| {
            let there: Vec<_> = nokhwa::query(ApiBackend::Auto).unwrap_or_default().iter().map(|c| c.index().as_string()).collect();
            Failure::device(match there.as_slice() {
                [] => "there is no camera: connect one, or use another source such as --source pattern".to_owned(),
                there if there.contains(&index.to_string()) => format!(
                    "camera {index} cannot be opened ({error}): perhaps another program uses it, or this user may not (group video)"
                ),
                there => format!("there is no camera {index}: the cameras here are {}", there.join(", ")),
            })
        })?;
        let formats = formats(&mut camera).map_err(|error| Failure::device(format!("camera {index}: {error}")))?;
        let format = choose(&formats, wanted, rate.as_f64()).ok_or_else(|| {
            let mut sizes: Vec<_> = formats.iter().filter_map(size_of).collect();
            sizes.sort_by_key(|size| size.pixels());
            sizes.dedup();
            let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
            Failure::usage(format!("camera {index} has no pictures of that size; it has {}", sizes.join(", ")))
        })?;
        let size = size_of(&format).ok_or_else(|| Failure::device(format!("camera {index} has no usable size")))?;
        let colour = match format.format() {
            FrameFormat::MJPEG => ColourSpace::JPEG,
            FrameFormat::NV12 | FrameFormat::YUYV => ColourSpace::BT601_LIMITED,
            FrameFormat::RAWRGB | FrameFormat::RAWBGR => ColourSpace::BT709_LIMITED,
            FrameFormat::GRAY => ColourSpace { range: picture::frame::Range::Full, ..ColourSpace::BT601_LIMITED },
        };
        let frame_rate = FrameRate::new(format.frame_rate(), 1).unwrap_or(rate);
        let info = SourceInfo { size, frame_rate, colour, is_live: true };
        tracing::info!("camera {index}: {} {size} at {} frames a second", format.format(), format.frame_rate());
        let mut this = Self { camera: Some(camera), index, format, info, skipped: 0 };
        this.apply_format().map_err(|error| Failure::device(format!("camera {index}: {error}")))?;
        Ok(this)
    }

    fn apply_format(&mut self) -> Result<(), String> {
        let Some(camera) = &mut self.camera else { return Err("it is not open".to_owned()) };
        let formats = [self.format.format()];
        let exact = RequestedFormat::with_formats(RequestedFormatType::Exact(self.format), &formats);
        let given = camera.set_camera_requset(exact).map_err(|error| error.to_string())?;
        if given.resolution() != self.format.resolution() || given.format() != self.format.format() {
            return Err(format!("it gives {given} instead of {}", self.format));
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Buffer, String> {
        if self.camera.is_none() {
            self.camera = Some(open_any(self.index)?);
            self.apply_format()?;
        }
        let Some(camera) = &mut self.camera else { return Err("it is not open".to_owned()) };
        if !camera.is_stream_open() {
            camera.open_stream().map_err(|error| error.to_string())?;
        }
        camera.frame().map_err(|error| error.to_string())
    }

    /// Puts the picture's samples into `data`; an error says why it cannot be used.
    fn convert(&self, picture: &Buffer, data: &mut Vec<u8>) -> Result<PixelFormat, String> {
        let bytes = picture.buffer();
        let format = match picture.source_frame_format() {
            FrameFormat::MJPEG => {
                let (format, size) = jpeg::decode(bytes, false, data)?;
                return if size == self.info.size { Ok(format) } else { Err(format!("it has {size} pixels")) };
            }
            FrameFormat::YUYV => PixelFormat::Yuyv,
            FrameFormat::NV12 => PixelFormat::Nv12,
            FrameFormat::RAWRGB => PixelFormat::Rgb8,
            FrameFormat::GRAY => PixelFormat::Grey8,
            FrameFormat::RAWBGR => return Err("blue comes first".to_owned()),
        };
        let wanted = format.bytes(self.info.size);
        let samples = bytes.get(..wanted).ok_or_else(|| format!("it has {} bytes instead of {wanted}", bytes.len()))?;
        data.clear();
        data.extend_from_slice(samples);
        Ok(format)
    }
}

impl FrameSource for Camera {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let mut reported = false;
        loop {
            match self.take() {
                Ok(picture) => {
                    let capture = capture_time(&picture);
                    match self.convert(&picture, &mut data) {
                        Ok(format) => return Ok(Some(SourceFrame { format, data, capture })),
                        Err(error) => {
                            self.skipped += 1;
                            tracing::debug!("camera {}: a picture was skipped: {error}", self.index);
                        }
                    }
                }
                Err(error) => {
                    if !std::mem::replace(&mut reported, true) {
                        tracing::warn!("camera {}: {error}; opening it again until it works", self.index);
                    }
                    self.camera = None;
                    std::thread::sleep(REOPEN);
                }
            }
        }
    }

    fn rest(&mut self) {
        if let Some(camera) = &mut self.camera
            && let Err(error) = camera.stop_stream()
        {
            tracing::debug!("camera {}: it cannot be switched off: {error}", self.index);
            // Closing it does so as well.
            self.camera = None;
        }
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// Returns the format that serves best: the size wanted (else the one nearest to 1280x720), the rate wanted or the
/// nearest, then the least work.
fn choose(formats: &[CameraFormat], wanted: Option<FrameSize>, rate: f64) -> Option<CameraFormat> {
    let usable = formats.iter().filter_map(|format| {
        let order = FORMATS.iter().position(|f| *f == format.format())?;
        let size = size_of(format)?;
        let rate_error = (f64::from(format.frame_rate()) - rate).abs();
        let size_error = size.pixels().abs_diff(1280 * 720);
        wanted.is_none_or(|wanted| wanted == size).then_some((size_error, rate_error, order, format))
    });
    let best = usable.min_by(|a, b| (a.0.cmp(&b.0)).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    best.map(|(.., format)| *format)
}

/// Returns the driver's time of the picture, if that is believable, on our clock.
fn capture_time(picture: &Buffer) -> Timestamp {
    let now = clock::now();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let age = wall.and_then(|wall| wall.checked_sub(picture.capture_timestamp()?));
    let age = age.filter(|age| *age < Duration::from_secs(1)).unwrap_or_default();
    Timestamp::from_us(now.as_us().saturating_sub(age.as_micros() as u64))
}

#[cfg(test)]
mod tests {
    use nokhwa::utils::Resolution;

    use super::*;

    #[test]
    fn the_format_nearest_to_what_is_wanted_is_chosen() {
        let format = |w, h, format, fps| CameraFormat::new(Resolution::new(w, h), format, fps);
        let formats = [
            format(640, 480, FrameFormat::YUYV, 30),
            format(1280, 720, FrameFormat::YUYV, 10),
            format(1280, 720, FrameFormat::MJPEG, 30),
            format(1280, 720, FrameFormat::MJPEG, 60),
            format(1920, 1080, FrameFormat::NV12, 30),
        ];
        assert_eq!(choose(&formats, None, 30.0), Some(formats[2]));
        assert_eq!(choose(&formats, FrameSize::new(640, 480).ok(), 60.0), Some(formats[0]));
        assert_eq!(choose(&formats, FrameSize::new(641, 480).ok(), 30.0), None);
    }
}
