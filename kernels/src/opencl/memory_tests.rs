//! Everything that is opened on a device allocates as many bytes as were counted before.

use std::sync::Arc;

use device::memory::noted::{take_allocated, take_counted};
use device::open_within;
use device::{Device, DeviceError};
use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, CodecParams, StreamParams, Wavelet};
use picture::pyramid::BlockLayout;

use crate::OpenError;
use crate::opencl::lossless::decoder::OpenClLosslessDecoder;
use crate::opencl::lossless::encoder::OpenClLosslessEncoder;
use crate::opencl::motion::decoder::OpenClPredictedDecoder;
use crate::opencl::motion::encoder::OpenClPredictedEncoder;
use crate::opencl::quad::decoder::OpenClDecoder;
use crate::opencl::quad::encoder::OpenClEncoder;
use crate::opencl::{find, open_on};

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
    assert!(allocated > 0 && allocated == take_counted(), "{}, {params:?}", std::any::type_name_of_val(&opened));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_allocated() {
    let device = find(None).unwrap();
    let mut small = Device::clone(&device);
    small.info.memory_bytes = 4 << 20;
    let small = Arc::new(small);
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
        let codec = CodecParams { wavelet: Wavelet::Cdf53, ..params.codec };
        let lossless = StreamParams { codec, ..params };
        check_opened(&lossless, open_on(None, |device| OpenClLosslessEncoder::new(device, &lossless, "")));
        check_opened(
            &lossless,
            open_on(None, |device| OpenClLosslessDecoder::new(device, &lossless, BlockLayout::new(&lossless), "")),
        );
    }
}
