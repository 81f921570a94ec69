//! The limits of a device, checked before the buffers of an encoder, decoder or transform are allocated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ocl::core::MemFlags;

use super::{Device, Result, find};
use crate::{DeviceError, OpenError};

/// Returns what `open` makes on `device`, if the buffers that it asks for fit there: it runs first on a device that
/// only counts them.
pub(crate) fn open_within<T, E: From<DeviceError>>(
    device: &Arc<Device>,
    open: impl Fn(&Arc<Device>) -> Result<T, E>,
) -> Result<T, E> {
    let counted = Arc::new(Memory::default());
    drop(open(&Arc::new(device.counting(counted.clone())))?);
    #[cfg(test)]
    tests::note_count(&counted);
    open(device)
}

/// Opens within the limits of the device whose name contains `device`, or of the best one.
pub(crate) fn open_on<T>(
    device: Option<&str>,
    open: impl Fn(&Arc<Device>) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    open_within(&find(device)?, open)
}

/// Bytes of buffers to come.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    device_bytes: AtomicU64,
    /// Of host memory that the device reaches.
    pinned_bytes: AtomicU64,
}

impl Memory {
    /// Adds a buffer with these flags; an error if `device` cannot hold it besides those before. Host memory counts where
    /// it is the device's own.
    pub(super) fn add(&self, bytes: u64, flags: MemFlags, device: &Device) -> Result<()> {
        let is_pinned = flags.contains(MemFlags::ALLOC_HOST_PTR);
        let sum = if is_pinned { &self.pinned_bytes } else { &self.device_bytes };
        sum.fetch_add(bytes, Ordering::Relaxed);
        let [device_bytes, pinned_bytes] =
            [&self.device_bytes, &self.pinned_bytes].map(|sum| sum.load(Ordering::Relaxed));
        let pinned_bytes = if device.shares_host_memory { pinned_bytes } else { 0 };
        fits("altogether", device_bytes.saturating_add(pinned_bytes), device.info.memory_bytes)
    }
}

pub(super) fn fits(extent: &'static str, needed_bytes: u64, there_bytes: u64) -> Result<()> {
    if needed_bytes <= there_bytes {
        return Ok(());
    }
    Err(DeviceError::OutOfMemory { extent, needed_bytes, there_bytes })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use picture::frame::{Chroma, FrameSize};
    use picture::params::{Boundary, CodecParams, Profile, StreamParams, Wavelet};
    use picture::pyramid::BlockLayout;

    use super::*;
    use crate::DeviceInfo;
    use crate::opencl::lossless::decoder::OpenClLosslessDecoder;
    use crate::opencl::lossless::encoder::OpenClLosslessEncoder;
    use crate::opencl::motion::decoder::OpenClPredictedDecoder;
    use crate::opencl::motion::encoder::OpenClPredictedEncoder;
    use crate::opencl::pcwt::decoder::OpenClPcwtDecoder;
    use crate::opencl::pcwt::encoder::OpenClPcwtEncoder;
    use crate::opencl::quad::decoder::OpenClDecoder;
    use crate::opencl::quad::encoder::OpenClEncoder;
    use crate::opencl::transform::planes::OpenClPlanes;
    use crate::opencl::transform::whole::OpenClTransform;

    thread_local! {
        static COUNTED_BYTES: Cell<u64> = const { Cell::new(0) };
        static ALLOCATED_BYTES: Cell<u64> = const { Cell::new(0) };
    }

    /// Notes what this thread has counted.
    pub(super) fn note_count(memory: &Memory) {
        COUNTED_BYTES.set(memory.device_bytes.load(Ordering::Relaxed) + memory.pinned_bytes.load(Ordering::Relaxed));
    }

    /// Counts what this thread allocates.
    pub(crate) fn note_allocation(bytes: u64) {
        ALLOCATED_BYTES.set(ALLOCATED_BYTES.get() + bytes);
    }

    /// Returns the bytes that this thread has allocated since the last call.
    pub(crate) fn take_allocated() -> u64 {
        ALLOCATED_BYTES.replace(0)
    }

    #[test]
    fn both_limits_are_checked_with_numbers() {
        let (memory, device) = (Memory::default(), find(None).unwrap());
        [(400, MemFlags::READ_WRITE), (200, MemFlags::READ_WRITE), (1000, MemFlags::ALLOC_HOST_PTR)]
            .into_iter()
            .for_each(|(bytes, flags)| memory.add(bytes, flags, &device).unwrap());
        assert_eq!((memory.device_bytes.into_inner(), memory.pinned_bytes.into_inner()), (600, 1000));
        fits("altogether", 1600, 1600).unwrap();
        let text = fits("altogether", 1601, 1600).unwrap_err().to_string();
        assert!(text.contains("1601") && text.contains("1600") && text.contains("altogether"), "{text}");
    }

    fn params(width: u32, height: u32, chroma: Chroma, boundary: Boundary) -> StreamParams {
        StreamParams {
            codec: CodecParams { boundary, ..CodecParams::default() },
            ..StreamParams::new(FrameSize::new(width, height).unwrap(), chroma)
        }
    }

    /// Compares what was counted with what was allocated to open this.
    fn check_opened<T>(params: &StreamParams, opened: Result<T, OpenError>) {
        let opened = opened.unwrap();
        let allocated = take_allocated();
        assert!(
            allocated > 0 && allocated == COUNTED_BYTES.replace(0),
            "{}, {params:?}",
            std::any::type_name_of_val(&opened)
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_before_anything_is_allocated() {
        let device = find(None).unwrap();
        let info = DeviceInfo { memory_bytes: 4 << 20, ..device.info.clone() };
        let small = Arc::new(Device { info, ..Device::clone(&device) });
        let params = params(640, 361, Chroma::C420, Boundary::Symmetric);
        let layout = BlockLayout::new(&params);
        take_allocated();
        let refused = [
            open_within(&small, |device| OpenClDecoder::new(device, &params, layout.clone(), "")).err(),
            open_within(&small, |device| OpenClEncoder::new(device, &params, "")).err(),
            open_within(&small, |device| OpenClPredictedEncoder::new(device, &params, 32, "")).err(),
        ];
        assert_eq!(take_allocated(), 0);
        for refused in refused {
            assert!(matches!(refused, Some(OpenError::Device(DeviceError::OutOfMemory { .. }))), "{refused:?}");
        }
        let many = OpenClDecoder::new(&device, &params, BlockLayout::new(&params), "");
        assert!(many.is_ok() && take_allocated() > 4 << 20);
    }

    #[test]
    fn what_is_counted_is_what_is_allocated() {
        take_allocated();
        for (width, height, chroma, boundary) in [
            (1, 1, Chroma::Grey, Boundary::Symmetric),
            (17, 31, Chroma::C420, Boundary::Periodic),
            (640, 361, Chroma::C420, Boundary::Symmetric),
            (321, 240, Chroma::C444, Boundary::Zero),
        ] {
            let params = params(width, height, chroma, boundary);
            check_opened(&params, open_on(None, |device| OpenClEncoder::new(device, &params, "")));
            check_opened(
                &params,
                open_on(None, |device| OpenClDecoder::new(device, &params, BlockLayout::new(&params), "")),
            );
            check_opened(&params, open_on(None, |device| OpenClPredictedDecoder::new(device, &params, 3, "")));
            check_opened(&params, open_on(None, |device| OpenClPredictedEncoder::new(device, &params, 3, "")));
            check_opened(&params, open_on(None, |device| OpenClTransform::new(device, &params, "")));
            check_opened(&params, OpenClPlanes::<f32>::open(&(&params).into(), None, ""));
            let codec = CodecParams { wavelet: Wavelet::Cdf53, ..params.codec };
            let lossless = StreamParams { codec, ..params };
            check_opened(&lossless, open_on(None, |device| OpenClLosslessEncoder::new(device, &lossless, "")));
            check_opened(
                &lossless,
                open_on(None, |device| OpenClLosslessDecoder::new(device, &lossless, BlockLayout::new(&lossless), "")),
            );
            let codec = CodecParams { profile: Profile::Pcwt, ..codec };
            let trees = StreamParams { codec, ..params };
            check_opened(&trees, open_on(None, |device| OpenClPcwtEncoder::new(device, &trees, "", None)));
            check_opened(&trees, open_on(None, |device| OpenClPcwtDecoder::new(device, &trees, "")));
        }
    }
}
