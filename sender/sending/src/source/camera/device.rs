//! V4L2's calls on a device: the only file of the sender that names `v4l`, and the only one with `unsafe`.
//!
//! `v4l`'s own streams are not used: they panic when a driver refuses to stop, and hand out a buffer number without a look
//! at it. What a driver answers is copied into plain values here and believed nowhere else without a check.
#![allow(unsafe_code, reason = "drivers take pointers, and their memory is mapped")]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use memmap2::{Mmap, MmapOptions};
use v4l::v4l_sys::{
    v4l2_buffer, v4l2_capability, v4l2_fmtdesc, v4l2_format, v4l2_frmivalenum, v4l2_frmsizeenum, v4l2_requestbuffers,
    v4l2_streamparm,
};
use v4l::v4l2::{ioctl, vidioc};

/// Type of all buffers here: pictures that are taken (`V4L2_BUF_TYPE_VIDEO_CAPTURE`).
const CAPTURE: u32 = 1;
/// Memory of all buffers here: the driver's, mapped (`V4L2_MEMORY_MMAP`).
const MMAP: u32 = 1;
/// Says that the fields about colour are filled in (`V4L2_PIX_FMT_PRIV_MAGIC`).
const WITH_COLOUR: u32 = 0xfeed_cafe;
/// Most formats, sizes or intervals that are asked for: a driver may never come to the end of its list.
const LIST_MAX: u32 = 256;

/// A format's four letters.
pub(super) type Code = [u8; 4];

/// Numerator and denominator.
pub(super) type Fraction = (u32, u32);

/// An open video device.
#[derive(Debug)]
pub(super) struct Device(File);

/// Abilities of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// The name it gives itself.
    pub(super) card: String,
    /// True if it gives pictures of one plane.
    pub(super) captures: bool,
    /// True if it gives pictures, of several planes only.
    pub(super) has_planes_only: bool,
    /// True if its buffers can be mapped.
    pub(super) streams: bool,
}

/// Sizes that a format has, pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    One((u32, u32)),
    Steps { least: (u32, u32), most: (u32, u32), step: (u32, u32) },
}

/// Times between two pictures that a size has, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intervals {
    One(Fraction),
    Steps { least: Fraction, most: Fraction },
}

/// The format at which a driver is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PixFormat {
    pub(super) code: Code,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Bytes from one row of the first plane to the next; 0: not known.
    pub(super) bytes_per_line: u32,
    /// Bytes of a picture at most.
    pub(super) size_image: u32,
    pub(super) colorspace: u32,
    pub(super) ycbcr_enc: u32,
    pub(super) quantization: u32,
    pub(super) xfer_func: u32,
}

/// A buffer that the driver has filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) index: usize,
    pub(super) bytes: usize,
    /// True if the driver says that the picture may be damaged.
    pub(super) is_flagged: bool,
    /// Time at which it was taken, on the monotonic clock, if the driver uses that.
    pub(super) taken: Option<Duration>,
}

/// Structs of numbers that may all be zero.
///
/// # Safety
///
/// The all-zero value is valid, and every value that a driver writes.
unsafe trait Plain: Sized {
    fn zeroed() -> Self {
        // SAFETY: what the trait promises.
        unsafe { std::mem::zeroed() }
    }
}

// SAFETY: they hold integers, arrays and unions of integers, and pointers, which nothing here follows.
unsafe impl Plain for v4l2_capability {}
// SAFETY: as above.
unsafe impl Plain for v4l2_fmtdesc {}
// SAFETY: as above.
unsafe impl Plain for v4l2_frmsizeenum {}
// SAFETY: as above.
unsafe impl Plain for v4l2_frmivalenum {}
// SAFETY: as above.
unsafe impl Plain for v4l2_format {}
// SAFETY: as above.
unsafe impl Plain for v4l2_streamparm {}
// SAFETY: as above.
unsafe impl Plain for v4l2_requestbuffers {}
// SAFETY: as above.
unsafe impl Plain for v4l2_buffer {}
// SAFETY: as above.
unsafe impl Plain for i32 {}

impl Device {
    /// Opens the device `path`, whose calls do not wait.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).map(Self)
    }

    /// Makes a call of the number `request`, whose struct is `T`: each caller names both.
    fn call<T: Plain>(&self, request: vidioc::_IOC_TYPE, argument: &mut T) -> io::Result<()> {
        loop {
            // SAFETY: the number holds the size of `T`, which the driver reads and writes in place.
            match unsafe { ioctl(self.0.as_raw_fd(), request, std::ptr::from_mut(argument).cast::<c_void>()) } {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    pub(super) fn capabilities(&self) -> io::Result<Capabilities> {
        let mut answer = v4l2_capability::zeroed();
        self.call(vidioc::VIDIOC_QUERYCAP, &mut answer)?;
        // Those of this device, unless an old driver knows only those of the whole camera.
        let own = answer.capabilities & 0x8000_0000 != 0;
        let flags = if own { answer.device_caps } else { answer.capabilities };
        let (captures, planes) = (flags & 1 != 0, flags & 0x1000 != 0);
        let card = text(&answer.card);
        Ok(Capabilities { card, captures, has_planes_only: planes && !captures, streams: flags & 0x0400_0000 != 0 })
    }

    /// Returns the formats that the device has.
    pub(super) fn formats(&self) -> io::Result<Vec<Code>> {
        self.list(|device, index| {
            let mut answer = v4l2_fmtdesc { index, type_: CAPTURE, ..v4l2_fmtdesc::zeroed() };
            device.call(vidioc::VIDIOC_ENUM_FMT, &mut answer)?;
            Ok(answer.pixelformat.to_le_bytes())
        })
    }

    /// Returns the sizes of a format.
    pub(super) fn sizes(&self, code: Code) -> io::Result<Vec<Sizes>> {
        let pixel_format = u32::from_le_bytes(code);
        self.list(|device, index| {
            let mut answer = v4l2_frmsizeenum { index, pixel_format, ..v4l2_frmsizeenum::zeroed() };
            device.call(vidioc::VIDIOC_ENUM_FRAMESIZES, &mut answer)?;
            if answer.type_ == 1 {
                // SAFETY: both parts of the union are numbers.
                let one = unsafe { answer.__bindgen_anon_1.discrete };
                return Ok(Sizes::One((one.width, one.height)));
            }
            // SAFETY: as above.
            let all = unsafe { answer.__bindgen_anon_1.stepwise };
            let (least, most) = ((all.min_width, all.min_height), (all.max_width, all.max_height));
            Ok(Sizes::Steps { least, most, step: (all.step_width, all.step_height) })
        })
    }

    /// Returns the times between pictures that a format has in a size.
    pub(super) fn intervals(&self, code: Code, (width, height): (u32, u32)) -> io::Result<Vec<Intervals>> {
        let pixel_format = u32::from_le_bytes(code);
        self.list(|device, index| {
            let mut answer = v4l2_frmivalenum { index, pixel_format, width, height, ..v4l2_frmivalenum::zeroed() };
            device.call(vidioc::VIDIOC_ENUM_FRAMEINTERVALS, &mut answer)?;
            if answer.type_ == 1 {
                // SAFETY: both parts of the union are numbers.
                let one = unsafe { answer.__bindgen_anon_1.discrete };
                return Ok(Intervals::One((one.numerator, one.denominator)));
            }
            // SAFETY: as above.
            let all = unsafe { answer.__bindgen_anon_1.stepwise };
            let (least, most) = ((all.min.numerator, all.min.denominator), (all.max.numerator, all.max.denominator));
            Ok(Intervals::Steps { least, most })
        })
    }

    /// Returns what `item` gives for 0, 1, ... until the driver knows no more.
    fn list<T>(&self, item: impl Fn(&Self, u32) -> io::Result<T>) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        for index in 0..LIST_MAX {
            match item(self, index) {
                Ok(one) => found.push(one),
                Err(error) if index > 0 && error.raw_os_error() == Some(libc::EINVAL) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Asks for a format; returns the one that the driver takes, which may be another.
    pub(super) fn set_format(&self, code: Code, (width, height): (u32, u32)) -> io::Result<PixFormat> {
        let mut format = v4l2_format { type_: CAPTURE, ..v4l2_format::zeroed() };
        // Writing a part of a union reads nothing.
        format.fmt.pix = {
            // SAFETY: all of it is zero.
            let pix = unsafe { format.fmt.pix };
            v4l::v4l_sys::v4l2_pix_format {
                width,
                height,
                pixelformat: u32::from_le_bytes(code),
                priv_: WITH_COLOUR,
                ..pix
            }
        };
        self.call(vidioc::VIDIOC_S_FMT, &mut format)?;
        // SAFETY: for this type of buffers that is the part which the driver fills, and it is numbers.
        let (pix, ycbcr_enc) = unsafe { (format.fmt.pix, format.fmt.pix.__bindgen_anon_1.ycbcr_enc) };
        Ok(PixFormat {
            code: pix.pixelformat.to_le_bytes(),
            width: pix.width,
            height: pix.height,
            bytes_per_line: pix.bytesperline,
            size_image: pix.sizeimage,
            colorspace: pix.colorspace,
            ycbcr_enc,
            quantization: pix.quantization,
            xfer_func: pix.xfer_func,
        })
    }

    /// Asks for a time between two pictures; returns the one that the driver takes.
    pub(super) fn set_interval(&self, (numerator, denominator): Fraction) -> io::Result<Fraction> {
        let mut answer = v4l2_streamparm { type_: CAPTURE, ..v4l2_streamparm::zeroed() };
        answer.parm.capture = {
            // SAFETY: all of it is zero.
            let mut capture = unsafe { answer.parm.capture };
            capture.timeperframe.numerator = numerator;
            capture.timeperframe.denominator = denominator;
            capture
        };
        self.call(vidioc::VIDIOC_S_PARM, &mut answer)?;
        // SAFETY: for this type of buffers that is the part which the driver fills, and it is numbers.
        let taken = unsafe { answer.parm.capture.timeperframe };
        Ok((taken.numerator, taken.denominator))
    }

    /// Asks for `count` buffers, 0: frees them; returns how many there are.
    pub(super) fn request_buffers(&self, count: u32) -> io::Result<u32> {
        let mut answer = v4l2_requestbuffers { count, type_: CAPTURE, memory: MMAP, ..v4l2_requestbuffers::zeroed() };
        self.call(vidioc::VIDIOC_REQBUFS, &mut answer)?;
        Ok(answer.count)
    }

    fn buffer(index: u32) -> v4l2_buffer {
        v4l2_buffer { index, type_: CAPTURE, memory: MMAP, ..v4l2_buffer::zeroed() }
    }

    /// Maps a buffer, to be read.
    pub(super) fn map(&self, index: u32) -> io::Result<Mmap> {
        let mut answer = Self::buffer(index);
        self.call(vidioc::VIDIOC_QUERYBUF, &mut answer)?;
        // SAFETY: for this type of memory that is the part which the driver fills, and it is a number.
        let offset = unsafe { answer.m.offset };
        let mut options = MmapOptions::new();
        options.offset(offset.into()).len(answer.length as usize);
        // SAFETY: the driver writes to it only while it has the buffer, and no one reads it then (`stream.rs`).
        unsafe { options.map(&self.0) }
    }

    /// Gives a buffer to the driver.
    pub(super) fn queue(&self, index: usize) -> io::Result<()> {
        let index = u32::try_from(index).map_err(|_| ErrorKind::InvalidInput)?;
        self.call(vidioc::VIDIOC_QBUF, &mut Self::buffer(index))
    }

    /// Takes a buffer that the driver has filled; without one it fails with [`ErrorKind::WouldBlock`].
    pub(super) fn dequeue(&self) -> io::Result<Filled> {
        let mut answer = Self::buffer(0);
        self.call(vidioc::VIDIOC_DQBUF, &mut answer)?;
        let is_monotonic = answer.flags & 0xe000 == 0x2000;
        let (seconds, micros) = (answer.timestamp.tv_sec, answer.timestamp.tv_usec);
        let time = u64::try_from(seconds).ok().zip(u32::try_from(micros).ok().filter(|micros| *micros < 1_000_000));
        Ok(Filled {
            index: answer.index as usize,
            bytes: answer.bytesused as usize,
            is_flagged: answer.flags & 0x40 != 0,
            taken: time.filter(|_| is_monotonic).map(|(seconds, micros)| Duration::new(seconds, 1000 * micros)),
        })
    }

    /// Lets pictures come.
    pub(super) fn start(&self) -> io::Result<()> {
        self.call(vidioc::VIDIOC_STREAMON, &mut (CAPTURE as i32))
    }

    /// Lets no more pictures come, and takes all buffers back.
    pub(super) fn stop(&self) -> io::Result<()> {
        self.call(vidioc::VIDIOC_STREAMOFF, &mut (CAPTURE as i32))
    }

    /// Waits until the driver has something to tell, an error or a picture; false: not within `limit`.
    pub(super) fn wait(&self, limit: Duration) -> io::Result<bool> {
        let mut polled = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: it points to one valid struct, and the number is one.
        match unsafe { libc::poll(&raw mut polled, 1, ms) } {
            0 => Ok(false),
            1.. => Ok(true),
            _ => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
        }
    }
}

/// Returns the time now on the clock that drivers use; none: the system does not say.
pub(super) fn monotonic() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it points to a valid struct.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) } != 0;
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (!failed).then(|| Duration::new(seconds, nanos))
}

/// Returns the text in front of the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
