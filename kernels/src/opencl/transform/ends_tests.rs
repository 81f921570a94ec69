//! The finest level from and to the bytes of pictures, with the settings of all kinds of device, against the reference.
//! On any device: results do not depend on settings.

use std::sync::Arc;

use device::Device;
use device::settings::Tuning;
use device::timeline::Recorder;
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{Boundary, CodecParams, Padding, StreamParams};
use picture::pyramid::BlockLayout;

use super::channel::ChannelPipeline;
use super::ends::First;
use super::source::Convert;
use super::upload::{PicturePlace, Uploads};
use crate::opencl::find;
use crate::opencl::quad::decoder::OpenClDecoder;
use crate::reference::transform::open_transform as open_reference;
use crate::reference::{ReferenceDecoder, ReferenceEncoder};
use crate::{DeviceKind, FrameDecoder, FrameEncoder, Picture, Target, Values};

fn params(size: (u32, u32), chroma: Chroma, boundary: Boundary, padding: Padding) -> StreamParams {
    StreamParams {
        codec: CodecParams { boundary, padding, ..CodecParams::default() },
        ..StreamParams::new(FrameSize::new(size.0, size.1).unwrap(), chroma)
    }
}

/// Strips as on a processor; tiles and generated tiles as on graphics cards: small enough for several rows of
/// groups.
fn devices() -> Vec<Arc<Device>> {
    let device = find(None).unwrap();
    let narrow = Tuning { strip: 24, min_segment: 4, groups_per_unit: 64, ..Tuning::CPU };
    let tiles = Tuning { forward_tile: [64, 16, 8, 4, 2], small_level: 0, ..Tuning::GPU };
    let generated = Tuning { tile: [16, 16], small_level: 1 << 20, ..tiles.clone() };
    let mut all = [narrow, tiles, generated];
    all.iter_mut().for_each(|tuning| (tuning.block_group_size, tuning.blocks_per_group) = (1, 1));
    let kinds = [DeviceKind::Cpu, DeviceKind::Gpu, DeviceKind::Gpu];
    let of_kind = |(tuning, kind)| {
        let mut device = device.with_tuning(tuning);
        device.info.kind = kind;
        Arc::new(device)
    };
    all.into_iter().zip(kinds).map(of_kind).collect()
}

fn picture(format: PixelFormat, size: FrameSize) -> Picture {
    let samples = (0..format.bytes(size)).map(|at| ((at * at * 7 + 13 * at) % 83 + at / 61 % 150) as u8);
    Picture::from_data(format, size, samples.collect()).unwrap()
}

/// Returns the squares that a device makes of a picture that travels in so many stripes, twice: the second time it finds
/// what the first one left.
fn squares(device: &Arc<Device>, params: &StreamParams, picture: &Picture, stripes: usize) -> [Vec<Vec<f32>>; 2] {
    let (pipelines, _) = ChannelPipeline::all(device, params).unwrap();
    let mut uploads = Uploads::new(&pipelines, params, stripes).unwrap();
    let mut square = |pipeline: &ChannelPipeline| {
        let ChannelPipeline { queue, transform, side, .. } = pipeline;
        let mut bands = queue.pinned(transform.bands.len()).unwrap();
        queue.download(&transform.bands, &mut bands, transform.bands.len()).unwrap();
        queue.finish().unwrap();
        bands.values().chunks(transform.band_pitch).take(*side).flat_map(|row| &row[..*side]).copied().collect()
    };
    [(); 2].map(|()| {
        let (from, mut recorder) = (PicturePlace::Host(picture.as_ref()), Recorder::default());
        uploads.forward(&pipelines, from, true, &mut recorder, |_, _| Ok(())).unwrap();
        pipelines.iter().map(&mut square).collect()
    })
}

fn check_forward(params: &StreamParams, format: PixelFormat, devices: &[Arc<Device>]) {
    let picture = picture(format, params.size);
    let mut reference = open_reference(&params.into(), String::new());
    let Values::F32(expected) = reference.forward(picture.as_ref()).unwrap() else { unreachable!() };
    for device in devices {
        for stripes in [1, 4] {
            let found = squares(device, params, &picture, stripes);
            assert!(found.iter().all(|found| *found == expected), "{params:?} with {:?}", device.tuning);
        }
    }
}

#[test]
fn formats_are_read_by_all_schemes_in_any_stripes() {
    let devices = devices();
    for (size, chroma, format) in [
        ((203, 117), Chroma::C420, PixelFormat::I420),
        ((203, 117), Chroma::C420, PixelFormat::Nv12),
        ((203, 117), Chroma::C420, PixelFormat::Rgb8),
        ((132, 90), Chroma::C444, PixelFormat::Yuyv),
        ((132, 90), Chroma::C444, PixelFormat::I420),
    ] {
        check_forward(&params(size, chroma, Boundary::Symmetric, Padding::Smooth), format, &devices);
    }
}

#[test]
fn ugly_sizes_boundaries_and_paddings_are_read_by_all_schemes() {
    let devices = devices();
    for size in [(1, 1), (17, 31), (639, 359)] {
        check_forward(&params(size, Chroma::C420, Boundary::Symmetric, Padding::Smooth), PixelFormat::I420, &devices);
    }
    for (boundary, padding) in
        [(Boundary::Periodic, Padding::Smooth), (Boundary::Zero, Padding::Smooth), (Boundary::Symmetric, Padding::Zero)]
    {
        check_forward(&params((204, 120), Chroma::C420, boundary, padding), PixelFormat::Nv12, &devices[..2]);
    }
}

#[test]
fn bytes_are_written_by_all_schemes() {
    let devices = devices();
    for (size, chroma, boundary, padding) in [
        ((17, 31), Chroma::C420, Boundary::Symmetric, Padding::Zero),
        ((203, 117), Chroma::C420, Boundary::Symmetric, Padding::Smooth),
        ((132, 90), Chroma::C444, Boundary::Periodic, Padding::Smooth),
        ((131, 90), Chroma::Grey, Boundary::Zero, Padding::Zero),
    ] {
        let params = params(size, chroma, boundary, padding);
        let (layout, picture) = (BlockLayout::new(&params), picture(chroma.picture_format(), params.size));
        let target = Target::Step(StepIndex::new(40).unwrap());
        let frame = ReferenceEncoder::new(&params, String::new()).encode(picture.as_ref(), target).unwrap();
        let decode = |decoder: &mut dyn FrameDecoder| {
            let mut out = Picture::for_stream(chroma, params.size);
            decoder.decode(&(&frame).into(), &mut out).unwrap();
            out
        };
        let expected = decode(&mut ReferenceDecoder::new(&params, layout.clone(), String::new()));
        // Boundaries are in what the tests of transforms compare.
        let few = if boundary == Boundary::Symmetric { devices.len() } else { 2 };
        for device in &devices[..few] {
            let mut decoder = OpenClDecoder::new(device, &params, layout.clone(), "").unwrap();
            assert!(decode(&mut decoder) == expected, "{params:?} with {:?}", device.tuning);
        }
    }
}

#[test]
fn planes_of_bytes_go_to_no_other_plane() {
    let params = params((203, 117), Chroma::C420, Boundary::Symmetric, Padding::Smooth);
    let source =
        |channel, format| crate::opencl::transform::source::source(format, params.size, params.chroma, channel).convert;
    for device in devices() {
        let (pipelines, _) = ChannelPipeline::all(&device, &params).unwrap();
        for pipeline in &pipelines {
            let bytes = pipeline.queue.buffer(3 * params.size.pixels()).unwrap();
            let is_fused = |convert: Convert| First::new(pipeline, convert, &bytes, params.size).unwrap().is_fused();
            // The finest level of colour is more than the tail takes, and so is that of luma.
            assert!(is_fused(source(pipeline.channel, PixelFormat::I420)), "{:?}", device.tuning);
            assert!(!is_fused(source(pipeline.channel, PixelFormat::Rgb8)), "{:?}", device.tuning);
        }
    }
}
