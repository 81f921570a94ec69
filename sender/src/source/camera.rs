//! Cameras, through nokhwa: the only file that names it.
//!
//! Pictures are taken as the camera delivers them; JPEGs are decoded here, everything else is the encoder's work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::units::Timestamp;
use nokhwa::Buffer;
use nokhwa::utils::{ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType};
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat, Range, Raster};
use shell::clock;
use shell::exit::Failure;

use super::negotiate::{Chosen, Format, choose};
use super::{FrameSource, JpegDecoder, SourceFrame, SourceInfo, jpeg};

/// Formats that can be used, best first: what needs the least work before the transform.
const FORMATS: [FrameFormat; 5] =
    [FrameFormat::NV12, FrameFormat::YUYV, FrameFormat::MJPEG, FrameFormat::RAWRGB, FrameFormat::GRAY];
/// Their names.
const NAMES: [&str; 5] = ["NV12", "YUYV", "MJPEG", "RAWRGB", "GRAY"];
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
    /// The one that a run takes which asks for no camera's size, or for the configured one.
    pub chosen: Option<Chosen>,
    /// Reason for which its formats are not known.
    pub problem: Option<String>,
}

/// Returns the cameras of this machine, by number, with what each gives who asks for `size` and `rate`.
pub fn cameras(size: Option<FrameSize>, rate: Option<FrameRate>) -> Vec<CameraDescription> {
    let mut found = Vec::new();
    for info in nokhwa::query(ApiBackend::Auto).unwrap_or_default() {
        let Ok(index) = info.index().as_index() else { continue };
        let formats = open_any(index).and_then(|mut camera| formats(&mut camera));
        let problem = formats.as_ref().err().cloned();
        let mut formats: Vec<_> = formats.unwrap_or_default().iter().filter_map(described).collect();
        formats.sort_by_key(|(name, size, rate)| (name.clone(), std::cmp::Reverse((size.pixels(), *rate))));
        let chosen = choose(&formats, &NAMES, size, rate).map(|(_, chosen)| chosen);
        found.push(CameraDescription { index, name: info.human_name(), formats, chosen, problem });
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

fn described(format: &CameraFormat) -> Option<Format> {
    Some((format.format().to_string(), size_of(format)?, format.frame_rate()))
}

fn size_of(format: &CameraFormat) -> Option<FrameSize> {
    FrameSize::new(format.width(), format.height()).ok()
}

/// A camera that is open, or that is waited for.
pub(super) struct Camera {
    camera: Option<nokhwa::Camera>,
    index: u32,
    /// As it was taken; none while it has never been there.
    format: Option<CameraFormat>,
    info: SourceInfo,
    jpeg: JpegDecoder,
    skipped: u64,
    /// True while it cannot be opened or read.
    lost: Arc<AtomicBool>,
}

impl Camera {
    /// Opens camera `index` without starting it, in the format nearest to what is wanted. A size that was asked for
    /// must be there.
    pub(super) fn open(index: u32, size: Option<FrameSize>, rate: Option<FrameRate>) -> Result<Self, Failure> {
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
        let (format, described) = negotiate(index, &mut camera, size, rate)?;
        let (_, size, fps) = described;
        let frame_rate = FrameRate::new(fps, 1).or(rate).unwrap_or(FrameRate::USUAL);
        let (colour, raster) = (colour_of(format.format()), Raster::default());
        let info = SourceInfo { size, frame_rate, colour, raster, is_live: true, is_there: true };
        let mut this = Self {
            camera: Some(camera),
            index,
            format: Some(format),
            info,
            jpeg: JpegDecoder::default(),
            skipped: 0,
            lost: Arc::default(),
        };
        this.apply_format().map_err(|error| Failure::device(format!("camera {index}: {error}")))?;
        Ok(this)
    }

    /// Waits for camera `index`, which is not there yet. It must then have pictures of `size`.
    pub(super) fn awaited(index: u32, size: FrameSize, frame_rate: FrameRate) -> Self {
        // Of all that cameras give.
        let colour = ColourSpace::BT601_LIMITED;
        let raster = Raster::default();
        let info = SourceInfo { size, frame_rate, colour, raster, is_live: true, is_there: false };
        Self { camera: None, index, format: None, info, jpeg: JpegDecoder::default(), skipped: 0, lost: Arc::default() }
    }

    fn apply_format(&mut self) -> Result<(), String> {
        let Some(camera) = &mut self.camera else { return Err("it is not open".to_owned()) };
        let format = match self.format {
            Some(format) => format,
            None => {
                let (size, rate) = (Some(self.info.size), Some(self.info.frame_rate));
                let (format, _) = negotiate(self.index, camera, size, rate).map_err(|failure| failure.message)?;
                *self.format.insert(format)
            }
        };
        let formats = [format.format()];
        let exact = RequestedFormat::with_formats(RequestedFormatType::Exact(format), &formats);
        let given = camera.set_camera_requset(exact).map_err(|error| error.to_string())?;
        if given.resolution() != format.resolution() || given.format() != format.format() {
            return Err(format!("it gives {given} instead of {format}"));
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
    fn convert(&mut self, picture: &Buffer, data: &mut Vec<u8>) -> Result<PixelFormat, String> {
        let bytes = picture.buffer();
        let format = match picture.source_frame_format() {
            FrameFormat::MJPEG => {
                let (format, size) = self.jpeg.decode(bytes, data).map_err(|fault| fault.to_string())?;
                if self.info.colour.range == Range::Limited {
                    jpeg::narrow(format, size, data);
                }
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
                    self.lost.store(false, Ordering::Relaxed);
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
                    self.lost.store(true, Ordering::Relaxed);
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

    fn tell_lost(&mut self, lost: Arc<AtomicBool>) {
        self.lost = lost;
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// Returns the format that is taken of a camera, and says why.
fn negotiate(
    index: u32,
    camera: &mut nokhwa::Camera,
    size: Option<FrameSize>,
    rate: Option<FrameRate>,
) -> Result<(CameraFormat, Format), Failure> {
    let all = formats(camera).map_err(|error| Failure::device(format!("camera {index}: {error}")))?;
    let known: Vec<_> = all.iter().filter_map(|format| Some((*format, described(format)?))).collect();
    let listed: Vec<_> = known.iter().map(|(_, described)| described.clone()).collect();
    let (number, chosen) = choose(&listed, &NAMES, size, rate).ok_or_else(|| {
        let mut sizes: Vec<_> = listed.iter().map(|(_, size, _)| *size).collect();
        sizes.sort_by_key(|size| size.pixels());
        sizes.dedup();
        let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        Failure::usage(format!("camera {index} has no pictures of that size; it has {}", sizes.join(", ")))
    })?;
    tracing::info!("camera {index} {}", chosen.why);
    Ok((known[number].0, chosen.format))
}

/// Returns what the samples of a format mean.
fn colour_of(format: FrameFormat) -> ColourSpace {
    match format {
        FrameFormat::MJPEG => ColourSpace::JPEG,
        FrameFormat::NV12 | FrameFormat::YUYV => ColourSpace::BT601_LIMITED,
        FrameFormat::RAWRGB | FrameFormat::RAWBGR => ColourSpace::BT709_LIMITED,
        FrameFormat::GRAY => ColourSpace { range: Range::Full, ..ColourSpace::BT601_LIMITED },
    }
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
    use super::*;

    #[test]
    fn the_names_are_those_of_the_formats() {
        assert_eq!(FORMATS.map(|format| format.to_string()), NAMES);
    }
}
