//! Every OpenCL call fails once, and from every call on the device is lost: always an error, and the next frame is
//! whole once the device works.

use std::fmt::Debug;
use std::sync::Arc;

use device::fault::{Fault, inject};
use device::settings::Tuning;
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams, Wavelet};
use picture::pyramid::BlockLayout;

use super::find;
use super::motion::encoder::OpenClPredictedEncoder;
use crate::coder::any_field;
use crate::coder::{Costs, Effort, State};
use crate::motion::dering::tests::any_dering;
use crate::motion::predictor::DeviceEncoder;
use crate::motion::search::Wanted;
use crate::{
    Backend, BackendChoice, ClipEncoder, CodecError, Decoder, DeviceError, EncodeError, Encoder, FrameDecoder,
    FrameEncoder, OpenError, Picture, Target,
};

fn params() -> StreamParams {
    StreamParams::new(FrameSize::new(68, 46).unwrap(), Chroma::C420)
}

/// Returns a picture of the stream with something in it.
fn picture(params: &StreamParams) -> Picture {
    let samples = (0..PixelFormat::I420.bytes(params.size)).map(|at| ((at * at) % 97 + at / 40 % 90) as u8);
    Picture::from_data(PixelFormat::I420, params.size, samples.collect()).unwrap()
}

/// Returns the picture with its samples moved by so many.
fn moved(picture: &Picture, by: usize) -> Picture {
    let mut moved = picture.clone();
    moved.data_mut().rotate_left(by);
    moved
}

/// Fails each of `run`'s calls once, then all from each on. `run` must fail whenever a call does, and otherwise give
/// what it gave at first.
fn fail_everywhere<T: PartialEq + Debug, E: CodecError>(run: impl FnMut() -> Result<T, E>) {
    fail_by(&[Fault::Once, Fault::From], run);
}

fn fail_by<T: PartialEq + Debug, E: CodecError>(faults: &[fn(usize) -> Fault], mut run: impl FnMut() -> Result<T, E>) {
    let expected = run().unwrap();
    for fault in faults {
        let mut calls = 0;
        loop {
            inject(fault(calls));
            let result = run();
            let struck = inject(Fault::Never);
            if !struck {
                assert_eq!(result.unwrap(), expected);
                break;
            }
            assert!(result.as_ref().is_err_and(E::is_of_device), "call {calls} failed, but: {result:?}");
            if calls % 16 == 0 {
                assert_eq!(run().unwrap(), expected, "after call {calls} failed");
            }
            calls += 1;
        }
        assert!(calls > 20, "only {calls} calls");
    }
    assert_eq!(run().unwrap(), expected);
}

/// Parameters of a lossy stream and of a lossless one, and what their frames are coded to.
fn streams() -> [(StreamParams, Target); 2] {
    let lossless = CodecParams { wavelet: Wavelet::Cdf53, ..CodecParams::default() };
    [
        (params(), Target::Step(StepIndex::new(40).unwrap())),
        (StreamParams { codec: lossless, ..params() }, Target::Lossless),
    ]
}

/// Returns the encoder, which does not go on with the processor.
fn encoder(params: &StreamParams) -> Box<dyn FrameEncoder> {
    crate::opencl::open_encoder(params, None, String::new()).unwrap()
}

fn decoder(params: &StreamParams) -> Box<dyn FrameDecoder> {
    crate::opencl::open_decoder(params, BlockLayout::new(params), None, String::new()).unwrap()
}

#[test]
fn an_encoder_survives_every_failure() {
    for (params, target) in streams() {
        let (mut encoder, picture) = (encoder(&params), picture(&params));
        fail_everywhere(|| encoder.encode(picture.as_ref(), target));
    }
}

#[test]
fn a_decoder_survives_every_failure() {
    for (params, target) in streams() {
        let frame = encoder(&params).encode(picture(&params).as_ref(), target).unwrap();
        let frame = ReceivedFrame::from(&frame);
        let mut decoder = decoder(&params);
        let mut out = Picture::for_stream(params.chroma, params.size);
        fail_everywhere(|| decoder.decode(&frame, &mut out).map(|()| out.data().to_vec()));
    }
}

/// Returns a stream with prediction, two states and the blocks and vectors of a frame between them.
fn predicted_stream() -> (StreamParams, [Picture; 2], CodedFrame) {
    let codec = CodecParams { profile: Profile::Predicted(2), ..CodecParams::default() };
    let params = StreamParams { codec, ..params() };
    let first = picture(&params);
    let mut encoder = ClipEncoder::open(&params, 1, Effort::Low, BackendChoice::Cpu).unwrap();
    let mut code = |picture: &Picture| {
        let frame = encoder.encode(picture.as_ref(), Target::Step(StepIndex::new(40).unwrap())).unwrap();
        (frame, encoder.state().unwrap().clone())
    };
    let ((_, first), (frame, second)) = (code(&first), code(&moved(&first, 40)));
    assert_eq!(frame.reference, 1);
    (params, [first, second], frame)
}

#[test]
fn a_decoder_of_predicted_frames_survives_every_failure() {
    let (params, [from, _], _) = predicted_stream();
    let inner = StreamParams { codec: CodecParams::default(), ..params };
    let step = Target::Step(StepIndex::new(40).unwrap());
    let frame = encoder(&inner).encode(picture(&params).as_ref(), step);
    let (frame, field) = (ReceivedFrame::from(&frame.unwrap()), any_field(params.size, 2, 5, 3));
    let mut decoder = crate::opencl::open_predicted_decoder(&inner, 2, None, String::new()).unwrap();
    let squares = any_dering(params.size, 1);
    let mut out = Picture::for_stream(params.chroma, params.size);
    fail_everywhere(|| {
        decoder.start(&frame, 0)?;
        decoder.finish((&field, &squares), (1, &from), 2, &mut out).map(|()| out.data().to_vec())
    });
}

#[test]
fn an_encoder_of_predicted_frames_survives_every_failure() {
    let (params, [from, _], _) = predicted_stream();
    let inner = StreamParams { codec: CodecParams::default(), ..params };
    let (picture, last) = (picture(&params), any_field(params.size, 2, 5, 3));
    let device = find(None).unwrap();
    let device = Arc::new(device.with_tuning(Tuning { search_group_size: 1, ..device.tuning.clone() }));
    let mut encoder = OpenClPredictedEncoder::new(&device, &inner, 2, "").unwrap();
    let squares = any_dering(params.size, 1);
    let mut out = Picture::for_stream(params.chroma, params.size);
    let costs = Costs::new().table();
    fail_everywhere(|| {
        encoder.bring(picture.as_ref())?;
        let (last, costs) = (Some(&last), costs.clone());
        let wanted = Wanted { last, costs, lambda: 100, looks_everywhere: true, passes: 1, rounds: 1 };
        let field = encoder.look(&wanted, (1, &from))?;
        encoder.predict(&field, (1, &from))?;
        let coded = encoder.code(Target::Step(StepIndex::new(40).unwrap()))?;
        let gains = encoder.state(2, &squares, &mut out)?;
        Ok::<_, EncodeError>((coded, DeviceEncoder::distances(&encoder), gains, out.data().to_vec()))
    });
}

/// Wherever the device is lost, its frames and states are those of the processor.
#[test]
fn frames_are_predicted_on_the_processor_when_the_device_is_lost() {
    let (params, _, _) = predicted_stream();
    let pictures = [0, 40, 80, 120].map(|by| moved(&picture(&params), by));
    let encode = |choice, lost_at: Option<usize>| {
        let mut encoder = ClipEncoder::open(&params, 1, Effort::Low, choice).unwrap();
        let mut code = |number: usize| {
            if let Some(call) = lost_at.filter(|_| number == 2) {
                inject(Fault::From(call));
            }
            let frame = encoder.encode(pictures[number].as_ref(), Target::Step(StepIndex::new(40).unwrap()));
            (frame.unwrap(), encoder.state().unwrap().clone())
        };
        let frames = [0, 1, 2, 3].map(&mut code);
        (frames, inject(Fault::Never), encoder.backend().clone())
    };
    let (wanted, _, _) = encode(BackendChoice::Cpu, None);
    assert_eq!(wanted.each_ref().map(|(frame, _)| frame.reference), [0, 1, 1, 1]);
    for lost_at in [None, Some(0), Some(3), Some(30), Some(60), Some(90), Some(110)] {
        let (frames, struck, backend) = encode(BackendChoice::Opencl, lost_at);
        assert!(frames == wanted, "{lost_at:?}");
        let kind = if lost_at.is_none() { Backend::Opencl } else { Backend::Cpu };
        assert_eq!((struck, backend.kind), (lost_at.is_some(), kind), "{lost_at:?}");
        assert!(lost_at.is_none() || backend.reason.contains("injected by a test"), "{}", backend.reason);
    }
}

#[test]
fn predicted_frames_go_on_with_the_processor_when_the_device_is_lost() {
    let (params, [from, to], frame) = predicted_stream();
    let frame = ReceivedFrame::from(&frame);
    for lost_at in [9, 0] {
        let mut decoder = Decoder::open(&params, BackendChoice::Opencl).unwrap();
        let (mut out, state) = (Picture::for_stream(params.chroma, params.size), State::new(from.clone()));
        let first = decoder.decode(&frame, Some(&state), &mut out).unwrap().unwrap();
        assert!(*first.picture() == to && out == to);
        assert_eq!(decoder.backend().kind, Backend::Opencl);
        let wanted = decoder.decode(&frame, Some(&first), &mut out).unwrap().unwrap();
        // The second time the processor computes already, and no call of the device is left to fail.
        for _ in 0..2 {
            inject(Fault::From(lost_at));
            out.data_mut().fill(0);
            let again = decoder.decode(&frame, Some(&first), &mut out).map(Option::unwrap);
            inject(Fault::Never);
            assert!(again.unwrap().picture() == wanted.picture() && out == *wanted.picture());
            assert_eq!(decoder.backend().kind, Backend::Cpu);
            assert!(decoder.backend().reason.contains("injected by a test"), "{}", decoder.backend().reason);
        }
    }
}

#[test]
fn opening_fails_with_an_error_at_every_call() {
    for (params, _) in streams() {
        let layout = || BlockLayout::new(&params);
        // It ends with the first failure, and compiles all programs each time.
        let fail = |open: &dyn Fn() -> Result<(), OpenError>| fail_by(&[Fault::From], open);
        fail(&|| crate::opencl::open_encoder(&params, None, String::new()).map(|_| ()));
        fail(&|| crate::opencl::open_decoder(&params, layout(), None, String::new()).map(|_| ()));
    }
    fail_everywhere(|| crate::opencl::open_predicted_decoder(&params(), 2, None, String::new()).map(|_| ()));
    fail_everywhere(|| crate::opencl::open_predicted_encoder(&params(), 2, None, String::new()).map(|_| ()));
}

#[test]
fn a_call_goes_on_with_the_processor_when_the_device_is_lost() {
    streams().into_iter().for_each(|(params, target)| goes_on(params, target));
}

fn goes_on(params: StreamParams, target: Target) {
    let picture = picture(&params);
    let mut encoder = Encoder::open(&params, BackendChoice::Opencl).unwrap();
    let mut decoder = Decoder::open(&params, BackendChoice::Opencl).unwrap();
    let mut out = Picture::for_stream(params.chroma, params.size);

    let coded = encoder.encode(picture.as_ref(), target, None).unwrap();
    let frame = ReceivedFrame::from(&coded);
    decoder.decode(&frame, None, &mut out).unwrap();
    assert_eq!([encoder.backend().kind, decoder.backend().kind], [Backend::Opencl; 2]);
    let shown = out.data().to_vec();

    // The second time the processor computes already, and no call of the device is left to fail.
    for lost_at in [7, 0] {
        inject(Fault::From(lost_at));
        assert_eq!(encoder.encode(picture.as_ref(), target, None).unwrap(), coded);
        inject(Fault::From(lost_at));
        out.data_mut().fill(0);
        decoder.decode(&frame, None, &mut out).unwrap();
        inject(Fault::Never);
        assert_eq!(out.data(), shown);
        for backend in [encoder.backend(), decoder.backend()] {
            assert_eq!(backend.kind, Backend::Cpu);
            assert!(backend.reason.contains("injected by a test"), "{}", backend.reason);
        }
    }
}

#[test]
fn a_device_asked_for_is_not_replaced_when_opening_fails() {
    inject(Fault::From(0));
    let opened = Encoder::open(&params(), BackendChoice::Opencl);
    inject(Fault::Never);
    assert!(matches!(opened.err(), Some(OpenError::Device(DeviceError::Failed { .. }))));
}
