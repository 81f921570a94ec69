//! Total size of the buffers of an encoder, decoder or transform, known before the first one is allocated.

use ocl::core::OclPrm;

use super::Device;
use crate::DeviceError;
use crate::opencl::device::Result;

/// A list of buffers to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    device_bytes: u64,
    pinned_bytes: u64,
    largest_bytes: u64,
}

impl Memory {
    /// Adds device memory for each of these numbers of values.
    pub(crate) fn buffers<T: OclPrm>(&mut self, lens: &[usize]) {
        for &len in lens {
            self.device_bytes += self.buffer::<T>(len);
        }
    }

    /// Adds host memory that the device reaches for each of these numbers of values.
    pub(crate) fn pinned<T: OclPrm>(&mut self, lens: &[usize]) {
        for &len in lens {
            self.pinned_bytes += self.buffer::<T>(len);
        }
    }

    fn buffer<T: OclPrm>(&mut self, len: usize) -> u64 {
        let bytes = (len.max(1) as u64).saturating_mul(size_of::<T>() as u64);
        self.largest_bytes = self.largest_bytes.max(bytes);
        bytes
    }

    /// Returns an error if `device` cannot hold all of it. Host memory counts where it is the device's own.
    pub(crate) fn check(&self, device: &Device) -> Result<()> {
        let pinned_bytes = if device.shares_host_memory { self.pinned_bytes } else { 0 };
        fits("altogether", self.device_bytes.saturating_add(pinned_bytes), device.info.memory_bytes)?;
        fits("in one piece", self.largest_bytes, device.largest_buffer_bytes())
    }

    /// Returns the all bytes, for comparison with what was allocated.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.device_bytes + self.pinned_bytes
    }
}

fn fits(extent: &'static str, needed_bytes: u64, there_bytes: u64) -> Result<()> {
    if needed_bytes <= there_bytes {
        return Ok(());
    }
    Err(DeviceError::OutOfMemory { extent, needed_bytes, there_bytes })
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::cell::Cell;
    use std::sync::Arc;

    use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
    use picture::params::{Boundary, CodecParams, StreamParams, Wavelet};
    use picture::pyramid::BlockLayout;

    use super::*;
    use crate::opencl::device;
    use crate::opencl::lossless::channel::Plan;
    use crate::opencl::lossless::decoder::OpenClLosslessDecoder;
    use crate::opencl::lossless::encoder::OpenClLosslessEncoder;
    use crate::opencl::motion::decoder::OpenClPredictedDecoder;
    use crate::opencl::motion::encoder::OpenClPredictedEncoder;
    use crate::opencl::quad::decoder::OpenClDecoder;
    use crate::opencl::quad::encoder::OpenClEncoder;
    use crate::opencl::transform::whole::OpenClTransform;

    thread_local! {
        static ALLOCATED_BYTES: Cell<u64> = const { Cell::new(0) };
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
        let mut memory = Memory::default();
        memory.buffers::<u32>(&[100, 50]);
        memory.pinned::<u8>(&[1000]);
        assert_eq!((memory.device_bytes, memory.pinned_bytes, memory.largest_bytes), (600, 1000, 1000));
        fits("altogether", 1600, 1600).unwrap();
        let text = fits("altogether", 1601, 1600).unwrap_err().to_string();
        assert!(text.contains("1601") && text.contains("1600") && text.contains("altogether"), "{text}");
    }

    fn params(width: u32, height: u32, chroma: Chroma, boundary: Boundary) -> StreamParams {
        StreamParams {
            size: FrameSize::new(width, height).unwrap(),
            frame_rate: FrameRate::new(30, 1).unwrap(),
            chroma,
            colour: ColourSpace::BT709_LIMITED,
            codec: CodecParams { boundary, ..CodecParams::default() },
        }
    }

    fn lossless_plans_what_it_allocates(device: &Arc<Device>, params: StreamParams) {
        let codec = CodecParams { wavelet: Wavelet::Cdf53, ..params.codec };
        let (params, layout) = (StreamParams { codec, ..params }, BlockLayout::new(&params));
        let plans = Plan::all(device, &params, layout.pyramids()).unwrap();
        take_allocated();
        let _encoder = OpenClLosslessEncoder::open(&params, None, String::new()).unwrap();
        let planned = OpenClLosslessEncoder::memory(&params, &layout, &plans).bytes();
        assert_eq!(planned, take_allocated(), "{params:?}");
        let _decoder = OpenClLosslessDecoder::open(&params, layout.clone(), None, String::new()).unwrap();
        let planned = OpenClLosslessDecoder::memory(&params, &layout, &plans).bytes();
        assert_eq!(planned, take_allocated(), "{params:?}");
    }

    #[test]
    fn what_is_planned_is_what_is_allocated() {
        let device = device::find(None).unwrap();
        for (width, height, chroma, boundary) in [
            (1, 1, Chroma::Grey, Boundary::Symmetric),
            (17, 31, Chroma::C420, Boundary::Periodic),
            (640, 361, Chroma::C420, Boundary::Symmetric),
            (321, 240, Chroma::C444, Boundary::Zero),
        ] {
            let params = params(width, height, chroma, boundary);
            take_allocated();
            let _encoder = OpenClEncoder::open(&params, None, String::new()).unwrap();
            assert_eq!(OpenClEncoder::memory(&device, &params).unwrap().bytes(), take_allocated(), "{params:?}");
            let _decoder = OpenClDecoder::open(&params, None, String::new()).unwrap();
            assert_eq!(
                OpenClDecoder::memory(&device, &params, &BlockLayout::new(&params)).unwrap().bytes(),
                take_allocated(),
                "{params:?}"
            );
            let _predicted = OpenClPredictedDecoder::open(&params, 3, None, String::new()).unwrap();
            let planned = OpenClPredictedDecoder::memory(&device, &params, &BlockLayout::new(&params), 3).unwrap();
            assert_eq!(planned.bytes(), take_allocated(), "{params:?}");
            let _predicting = OpenClPredictedEncoder::open(&params, 3, None, String::new()).unwrap();
            let planned = OpenClPredictedEncoder::memory(&device, &params, 3).unwrap();
            assert_eq!(planned.bytes(), take_allocated(), "{params:?}");
            lossless_plans_what_it_allocates(&device, params);
            let _transform = OpenClTransform::open(&(&params).into(), None, String::new()).unwrap();
            assert_eq!(OpenClTransform::memory(&device, &params).unwrap().bytes(), take_allocated(), "{params:?}");
        }
    }
}
