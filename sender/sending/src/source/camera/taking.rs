//! An open camera and its pictures.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use common::units::Timestamp;
use net::clock;
use picture::frame::{ColourSpace, FrameRate, FrameSize, PixelFormat, Range};

use super::colour::{Meaning, bring};
use super::device::{Device, Filled, monotonic};
use super::layout::{Picture, SampleOrder, fit};
use super::modes::{self, Chosen, Mode};
use super::problem::{CameraError, OPEN, name};
use super::stream::Stream;
use crate::source::health::Unusable;
use crate::source::{JpegDecoder, Samples, SourceFrame, SourceInfo};

/// Pictures one after another that a driver may fail to fetch before the camera is opened anew.
const FAILURES_MAX: u32 = 3;
/// Age of a picture beyond which its time is not believed.
const AGE_MAX: Duration = Duration::from_secs(1);

/// A camera in a mode.
pub(super) struct OpenCamera {
    device: Arc<Device>,
    chosen: Chosen,
    layout: SampleOrder,
    picture: Picture,
    meaning: Meaning,
    stream: Option<Stream>,
    jpeg: JpegDecoder,
    /// Pictures that the driver could not fetch, since the last one that it could.
    failures: u32,
    /// The driver's time of the last picture.
    taken: Option<Duration>,
    /// Ours of it.
    captured: Timestamp,
    /// Time of the last picture, or of the start.
    last: Timestamp,
}

/// Outcome of a wait for a picture.
pub(super) enum Taken {
    /// A picture, and the size that it had.
    Picture(SourceFrame, FrameSize),
    /// A picture that cannot be used, and why.
    Unusable(Unusable, String),
    /// Nothing, for so long.
    Nothing(Duration),
}

/// Returns the device file of camera `index`.
pub(super) fn path(index: u32) -> PathBuf {
    format!("/dev/video{index}").into()
}

/// Opens a device that gives pictures; returns it with the name that it gives itself.
pub(super) fn device(index: u32) -> Result<(Device, String), CameraError> {
    let device = Device::open(&path(index)).map_err(|error| CameraError::of(OPEN, error))?;
    let can = device.capabilities().map_err(|error| CameraError::of(OPEN, error))?;
    match can {
        _ if can.has_planes_only => Err(CameraError::NoCamera("its pictures come in several planes")),
        _ if !can.captures => Err(CameraError::NoCamera("it gives no pictures")),
        _ if !can.streams => Err(CameraError::NoCamera("its memory cannot be mapped")),
        _ => Ok((device, can.card)),
    }
}

impl OpenCamera {
    /// Opens camera `index` in the mode nearest to what is wanted; whatever mode another program has left does not matter.
    pub(super) fn open(index: u32, size: Option<FrameSize>, rate: Option<FrameRate>) -> Result<Self, CameraError> {
        let (device, _) = device(index)?;
        let mut offers = modes::offers(&device, size.unwrap_or(FrameSize::USUAL))?;
        if !offers.iter().any(modes::Offer::is_known) {
            return Err(CameraError::Formats(modes::codes(&offers)));
        }
        let mut refused = None;
        while let Some(chosen) = modes::choose(&offers, size, rate) {
            let code = chosen.mode.code;
            match Self::agree(&device, chosen, size) {
                Ok((chosen, layout, picture, meaning)) => {
                    return Ok(Self {
                        device: Arc::new(device),
                        chosen,
                        layout,
                        picture,
                        meaning,
                        stream: None,
                        jpeg: JpegDecoder::default(),
                        failures: 0,
                        taken: None,
                        captured: Timestamp::default(),
                        last: clock::now(),
                    });
                }
                Err(error @ (CameraError::Busy | CameraError::Gone)) => return Err(error),
                // Another format may be right.
                Err(error) => refused = Some(error),
            }
            offers.retain(|offer| offer.code() != code);
        }
        Err(refused.unwrap_or_else(|| match size {
            Some(size) => CameraError::Sizes(size, modes::sizes(&offers)),
            None => CameraError::NoSize,
        }))
    }

    /// Has the driver take a mode, and looks at what it has made of it.
    fn agree(
        device: &Device,
        mut chosen: Chosen,
        asked: Option<FrameSize>,
    ) -> Result<(Chosen, SampleOrder, Picture, Meaning), CameraError> {
        let Mode { code, size, rate } = chosen.mode;
        let [width, height] = [size.width(), size.height()].map(|side| side as u32);
        let format =
            device.set_format(code, (width, height)).map_err(|error| CameraError::of("take a format", error))?;
        let other = || CameraError::Other {
            asked: format!("{} {size}", name(code)),
            given: format!("{} {}x{}", name(format.code), format.width, format.height),
        };
        let layout = SampleOrder::of(format.code).ok_or_else(other)?;
        let given = FrameSize::new(format.width, format.height).map_err(|_| other())?;
        if asked.is_some_and(|asked| asked != given) {
            return Err(other());
        }
        // Many drivers have one rate only, and some do not say which.
        let interval = device.set_interval((rate.denominator(), rate.numerator()));
        let given_rate = match interval.map_err(|error| CameraError::of("take a rate", error)) {
            Ok(interval) => modes::rate_of(interval).unwrap_or(rate),
            Err(error @ CameraError::Gone) => return Err(error),
            Err(_) => rate,
        };
        let mode = Mode { code: format.code, size: given, rate: given_rate };
        if mode != chosen.mode {
            let (name, rate) = (name(mode.code), modes::rate_text(mode.rate));
            chosen.why += &format!("; its driver makes it {name} {given} at {rate}");
            chosen.mode = mode;
        }
        Ok((chosen, layout, Picture::new(layout, given, &format), Meaning::of(layout, &format)))
    }

    /// Returns the sentence about the mode that is taken.
    pub(super) fn why(&self) -> &str {
        &self.chosen.why
    }

    pub(super) fn size(&self) -> FrameSize {
        self.chosen.mode.size
    }

    pub(super) fn rate(&self) -> FrameRate {
        self.chosen.mode.rate
    }

    /// Returns what the samples of a stream of these pictures mean.
    pub(super) fn colour(&self) -> ColourSpace {
        self.meaning.of_stream()
    }

    /// Switches it off until the next picture is taken.
    pub(super) fn rest(&mut self) {
        self.stream = None;
    }

    /// Takes the newest picture, for a stream of `info`; waits for one at most `limit`.
    pub(super) fn take(
        &mut self,
        limit: Duration,
        info: &SourceInfo,
        data: &mut Vec<u8>,
    ) -> Result<Taken, CameraError> {
        if self.stream.is_none() {
            let started = Stream::start(Arc::clone(&self.device));
            self.stream = Some(started.map_err(|error| CameraError::of("start", error))?);
            self.last = clock::now();
        }
        let interval = self.rate().interval();
        let Some(stream) = &mut self.stream else { return Ok(Taken::Nothing(Duration::ZERO)) };
        let behind = clock::now().since(self.last).as_nanos() / interval.as_nanos().max(1);
        let filled = match stream.take(limit).and_then(|filled| newest(stream, filled, interval, behind)) {
            Ok(Some(filled)) => filled,
            Ok(None) => return Ok(Taken::Nothing(clock::now().since(self.last))),
            Err(error) if error.raw_os_error() == Some(libc::EIO) && self.failures < FAILURES_MAX => {
                // It may be this picture only.
                self.failures += 1;
                std::thread::sleep(interval.min(limit));
                return Ok(Taken::Unusable(Unusable::Failed, format!("its driver fails to fetch it: {error}")));
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(CameraError::Driver { task: "give pictures", error });
            }
            Err(error) => return Err(CameraError::of("give pictures", error)),
        };
        (self.failures, self.last) = (0, clock::now());
        let capture = self.capture_time(&filled);
        let made = self.make(&filled, info, data);
        if let Some(stream) = &mut self.stream {
            stream.put_back(&filled).map_err(|error| CameraError::of("take its memory back", error))?;
        }
        Ok(match made {
            Ok((format, data, size)) => Taken::Picture(SourceFrame { format, data, capture, info: None }, size),
            Err((reason, text)) => Taken::Unusable(reason, text),
        })
    }

    /// Makes the samples that a stream of `info` takes of what the driver has filled.
    fn make(
        &mut self,
        filled: &Filled,
        info: &SourceInfo,
        data: &mut Vec<u8>,
    ) -> Result<(PixelFormat, Samples, FrameSize), (Unusable, String)> {
        let Some(stream) = &mut self.stream else { return Err((Unusable::Failed, "the camera is off".to_owned())) };
        if filled.bytes == 0 {
            return Err((Unusable::Empty, "it has no bytes".to_owned()));
        }
        if filled.is_flagged {
            return Err((Unusable::Flagged, "its driver says that it may be damaged".to_owned()));
        }
        stream.bytes(filled).map_err(|text| (Unusable::Short, text))?;
        let size = self.chosen.mode.size;
        if self.meaning.is(info.colour)
            && size == info.size
            && let Some((format, bytes)) =
                self.picture.as_it_is(filled.bytes).filter(|_| self.layout != SampleOrder::Jpeg)
            && let Some(lent) = stream.lend(filled, bytes)
        {
            return Ok((format, Samples::lent(lent), size));
        }
        let bytes = stream.bytes(filled).map_err(|text| (Unusable::Short, text))?;
        let (format, size, meaning) = if self.layout == SampleOrder::Jpeg {
            let decoded = self.jpeg.decode(bytes, data);
            let (format, size) = decoded.map_err(|fault| (Unusable::Damaged, fault.to_string()))?;
            (format, size, if format == PixelFormat::Rgb8 { Meaning::RGB } else { ColourSpace::JPEG.into() })
        } else {
            (self.picture.samples(bytes, data).map_err(|text| (Unusable::Short, text))?, size, self.meaning)
        };
        let format = bring(meaning, info.colour, format, size, data);
        if size != info.size {
            fit(format, size, info.size, if info.colour.range == Range::Full { 0 } else { 16 }, data);
        }
        Ok((format, std::mem::take(data).into(), size))
    }

    /// Returns the driver's time of the picture, if that is believable, on our clock.
    fn capture_time(&mut self, filled: &Filled) -> Timestamp {
        let (now, age) = (clock::now(), age(filled));
        let before = std::mem::replace(&mut self.taken, filled.taken);
        let is_later = filled.taken.is_some_and(|taken| before.is_none_or(|before| taken > before));
        let age = age.filter(|age| is_later && *age <= AGE_MAX).unwrap_or_default();
        let capture = Timestamp::from_us(now.as_us().saturating_sub(age.as_micros() as u64));
        // Never before the last one, whose time may not have been believed.
        self.captured = self.captured.max(capture);
        self.captured
    }
}

/// Returns the time since the picture was taken, by the driver's clock; none: it does not say, or a time to come.
fn age(filled: &Filled) -> Option<Duration> {
    monotonic()?.checked_sub(filled.taken?)
}

/// Passes over pictures that newer ones have followed: those that are old by their time or, where the driver does not tell it,
/// as many as fit into the time in which nobody took any.
fn newest(
    stream: &mut Stream,
    first: Option<Filled>,
    interval: Duration,
    behind: u128,
) -> std::io::Result<Option<Filled>> {
    let Some(mut newest) = first else { return Ok(None) };
    let mut passed = 0;
    loop {
        let is_old = match age(&newest) {
            Some(age) if age <= AGE_MAX => age > interval,
            _ => passed + 1 < behind,
        };
        if !is_old {
            return Ok(Some(newest));
        }
        let Ok(Some(newer)) = stream.dequeue() else { return Ok(Some(newest)) };
        stream.put_back(&newest)?;
        newest = newer;
        passed += 1;
    }
}
