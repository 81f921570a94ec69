//! Frames in flight: every flow gives what the reference gives, whatever the depth, the stripes and the overlap.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use kernels::parts::reference::Quantiser;
use kernels::{BackendChoice, DeviceError, OpenError, PictureError, PictureRef};
use lab::opencl::{Flow, OpenClPipeline, PipelineError, PipelineParams};
use lab::{Values, open_transform};
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::StreamParams;

const FRAMES: usize = 5;

fn params(width: u32, height: u32, chroma: Chroma, flow: Flow) -> PipelineParams {
    let stream = StreamParams::new(FrameSize::new(width, height).unwrap(), chroma);
    PipelineParams { stream, flow, depth: 2, stripes: 1, overlap: true, timed: false }
}

fn picture(format: PixelFormat, size: FrameSize, frame: usize) -> Vec<u8> {
    (0..format.bytes(size)).map(|at| ((at * at * 7 + 31 * frame * at) % 83 + at / 61 % 150 + frame) as u8).collect()
}

/// Returns the reference's squares of each frame's picture.
fn squares(stream: &StreamParams, format: PixelFormat) -> Vec<Vec<Vec<f32>>> {
    let mut reference = open_transform(&stream.into(), BackendChoice::Reference, None).unwrap();
    let mut forward = |frame| {
        let data = picture(format, stream.size, frame);
        match reference.forward(PictureRef::new(format, stream.size, &data).unwrap()).unwrap() {
            Values::F32(squares) => squares,
            other => panic!("not f32: {other:?}"),
        }
    };
    (0..FRAMES).map(&mut forward).collect()
}

/// Returns rows of `width` values out of rows `pitch` apart.
fn rows(values: &[f32], pitch: usize, width: usize) -> Vec<f32> {
    values.chunks(pitch).flat_map(|row| &row[..width]).map(|value| value + 0.0).collect()
}

fn check_quantised(params: PipelineParams, format: PixelFormat) {
    let step = StepIndex::new(44).unwrap();
    let params = PipelineParams { flow: Flow::PictureToQuantised(format, step), ..params };
    let quantiser = Quantiser::new(step);
    let wanted: Vec<Vec<Vec<i32>>> = squares(&params.stream, format)
        .iter()
        .map(|frame| frame.iter().map(|square| square.iter().map(|&c| quantiser.quantise(c)).collect()).collect())
        .collect();
    let mut pipeline = OpenClPipeline::open(&params, None).unwrap();
    let mut results = Vec::new();
    for frame in 0..FRAMES {
        if frame >= params.depth {
            results.push(pipeline.collect().unwrap().unwrap().quantised().unwrap());
        }
        let data = picture(format, params.stream.size, frame);
        if frame % 2 == 0 {
            pipeline.picture_buffer().unwrap().copy_from_slice(&data);
            pipeline.submit().unwrap();
        } else {
            pipeline.submit_picture(PictureRef::new(format, params.stream.size, &data).unwrap()).unwrap();
        }
    }
    while let Some(collected) = pipeline.collect().unwrap() {
        results.push(collected.quantised().unwrap());
    }
    assert!(results == wanted, "{params:?}");
}

#[test]
fn quantised_coefficients_agree_at_any_depth_in_any_stripes() {
    let flow = Flow::PlanesToHost;
    for (width, height) in [(1, 1), (17, 31), (70, 45)] {
        for (depth, stripes, overlap) in [(1, 1, false), (1, 3, true), (2, 1, true), (2, 4, false), (3, 40, true)] {
            for (chroma, format) in [
                (Chroma::C444, PixelFormat::Rgb8),
                (Chroma::C420, PixelFormat::Rgb8),
                (Chroma::C420, PixelFormat::Nv12),
                (Chroma::C444, PixelFormat::I420),
                (Chroma::Grey, PixelFormat::Yuyv),
            ] {
                let params = params(width, height, chroma, flow);
                check_quantised(PipelineParams { depth, stripes, overlap, ..params }, format);
            }
        }
    }
}

#[test]
fn values_go_to_coefficients_and_back_side_by_side() {
    let format = PixelFormat::I444;
    let forward = params(66, 41, Chroma::C444, Flow::PlanesToHost);
    let (width, side) = (forward.stream.size.width(), 128);
    let wanted = squares(&forward.stream, format);
    let mut to = OpenClPipeline::open(&forward, None).unwrap();
    let mut back = OpenClPipeline::open(&PipelineParams { flow: Flow::HostToPlanes, ..forward }, None).unwrap();
    let mut reference = open_transform(&(&forward.stream).into(), BackendChoice::Reference, None).unwrap();
    for (frame, wanted) in wanted.iter().enumerate() {
        let data = picture(format, forward.stream.size, frame);
        for (channel, plane) in data.chunks(forward.stream.size.pixels()).enumerate() {
            let (buffer, pitch) = to.values_buffer(channel).unwrap();
            for (to, from) in buffer.chunks_mut(pitch).zip(plane.chunks(width)) {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = f32::from(from) - 128.0);
            }
            let (buffer, pitch) = back.values_buffer(channel).unwrap();
            for (to, from) in buffer.chunks_mut(pitch).zip(wanted[channel].chunks(side)) {
                to[..side].copy_from_slice(from);
            }
        }
        to.submit().unwrap();
        back.submit().unwrap();
        let Values::F32(planes) = reference.inverse(&Values::F32(wanted.clone())).unwrap() else { panic!("not f32") };
        let (coefficients, samples) = (to.collect().unwrap().unwrap(), back.collect().unwrap().unwrap());
        for channel in 0..3 {
            let (values, pitch) = coefficients.values(channel);
            assert_eq!(rows(values, pitch, side), rows(&wanted[channel], side, side));
            let (values, pitch) = samples.values(channel);
            assert_eq!(rows(values, pitch, width), rows(&planes[channel], width, width));
        }
    }
}

#[test]
fn a_full_pipeline_and_a_wrong_picture_are_refused() {
    let flow = Flow::PictureToHost(PixelFormat::Grey8);
    let params = params(8, 8, Chroma::Grey, flow);
    let mut pipeline = OpenClPipeline::open(&params, None).unwrap();
    let size = params.stream.size;
    let data = picture(PixelFormat::I444, size, 0);
    let wrong = PictureRef::new(PixelFormat::I444, size, &data).unwrap();
    assert!(matches!(pipeline.submit_picture(wrong), Err(PipelineError::Picture(PictureError::Format { .. }))));
    assert!(pipeline.collect().unwrap().is_none());
    pipeline.submit().unwrap();
    pipeline.submit().unwrap();
    assert_eq!(pipeline.submit(), Err(PipelineError::Full { depth: 2 }));
    assert!(pipeline.collect().unwrap().is_some());
    pipeline.submit().unwrap();
    let large = PipelineParams { depth: 1 << 20, ..params };
    let huge = StreamParams { size: FrameSize::new(16384, 16384).unwrap(), ..large.stream };
    let refused = OpenClPipeline::open(&PipelineParams { stream: huge, ..large }, None).err();
    assert!(matches!(refused, Some(OpenError::Device(DeviceError::OutOfMemory { .. }))), "{refused:?}");
}

#[test]
fn a_timed_pipeline_knows_its_commands() {
    let flow = Flow::PictureToHost(PixelFormat::I420);
    for (timed, commands) in [(true, true), (false, false)] {
        let params = PipelineParams { timed, ..params(64, 48, Chroma::C420, flow) };
        let mut pipeline = OpenClPipeline::open(&params, None).unwrap();
        pipeline.submit().unwrap();
        let timeline = pipeline.collect().unwrap().unwrap().timeline().unwrap();
        assert_eq!(!timeline.intervals.is_empty(), commands);
    }
}
