//! Whatever this crate opens on a device allocates what was counted before, and survives the failure of every call.

use device::DeviceError;
use device::fault::{Fault, inject};
use device::memory::noted::{take_allocated, take_counted};
use kernels::parts::Transform;
use kernels::parts::opencl::open_on;
use kernels::{CodecError, Picture, TransformError};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{Boundary, CodecParams, Profile, StreamParams, Wavelet};

use super::planes::OpenClPlanes;
use super::whole::OpenClTransform;
use crate::pcwt::opencl::decoder::OpenClPcwtDecoder;
use crate::pcwt::opencl::encoder::OpenClPcwtEncoder;

/// Compares what was counted with what was allocated to open this.
fn check_opened<T, E: std::fmt::Debug>(params: &StreamParams, opened: Result<T, E>) {
    let opened = opened.unwrap();
    let (allocated, counted) = (take_allocated(), take_counted());
    assert!(allocated > 0 && allocated == counted, "{}, {params:?}", std::any::type_name_of_val(&opened));
}

#[test]
fn what_is_counted_is_what_is_allocated() {
    take_allocated();
    take_counted();
    for ((width, height), chroma, boundary) in [
        ((1, 1), Chroma::Grey, Boundary::Symmetric),
        ((17, 31), Chroma::C420, Boundary::Periodic),
        ((321, 240), Chroma::C444, Boundary::Zero),
    ] {
        let stream = StreamParams::new(FrameSize::new(width, height).unwrap(), chroma);
        let params = StreamParams { codec: CodecParams { boundary, ..stream.codec }, ..stream };
        check_opened(&params, open_on(None, |device| OpenClTransform::new(device, &params, "")));
        check_opened(&params, OpenClPlanes::<f32>::open(&(&params).into(), None, ""));
        let codec = CodecParams { wavelet: Wavelet::Cdf53, profile: Profile::Pcwt, ..params.codec };
        let trees = StreamParams { codec, ..params };
        check_opened(&trees, open_on(None, |device| OpenClPcwtEncoder::new(device, &trees, "", None)));
        check_opened(&trees, open_on(None, |device| OpenClPcwtDecoder::new(device, &trees, "")));
    }
}

#[test]
fn a_transform_survives_every_failure() {
    let params = StreamParams::new(FrameSize::new(68, 46).unwrap(), Chroma::C420);
    let samples = (0..PixelFormat::I420.bytes(params.size)).map(|at| ((at * at) % 97 + at / 40 % 90) as u8);
    let picture = Picture::from_data(PixelFormat::I420, params.size, samples.collect()).unwrap();
    let mut transform = open_on(None, |device| OpenClTransform::new(device, &params, "")).unwrap();
    let mut run = || {
        let squares = transform.forward(picture.as_ref())?;
        let planes = transform.inverse(&squares)?;
        Ok::<_, TransformError>((squares, planes))
    };
    let expected = run().unwrap();
    for fault in [Fault::Once, Fault::From] {
        let mut calls = 0;
        loop {
            inject(fault(calls));
            let result = run();
            if !inject(Fault::Never) {
                assert_eq!(result.unwrap(), expected);
                break;
            }
            let is_told = matches!(result, Err(TransformError::Device(DeviceError::Failed { .. })));
            assert!(is_told && result.is_err_and(|error| error.is_of_device()), "call {calls} failed");
            calls += 1;
        }
        assert!(calls > 20, "only {calls} calls");
    }
    assert_eq!(run().unwrap(), expected);
}
