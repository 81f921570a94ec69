//! Frames predicted from one another, stage by stage.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernels::{Decoder, Effort, Encoder, Picture, PictureRef, Target};
use picture::coded::ReceivedFrame;
use picture::frame::{FrameSize, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::run::coded_size;

use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::{BenchArgs, ComputeArgs};
use crate::options;

/// Distance by which the picture moves from one frame to the next, samples of chroma.
const MOVED: [usize; 2] = [3, 2];

/// Limit of a search that none reaches; with one a graphics card searches itself, as in a call.
const SEARCH_MAX: Duration = Duration::from_secs(10);

const COLUMNS: [&str; 16] = [
    "backend",
    "effort",
    "picture",
    "size",
    "motion_ms",
    "upload_ms",
    "compensate_ms",
    "transform_ms",
    "code_ms",
    "vectors_to_bytes_ms",
    "encode_ms",
    "decode_ms",
    "decode_compensate_ms",
    "inverse_ms",
    "bytes",
    "bit_per_pixel",
];

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    let mut table = Table::new(&COLUMNS);
    table.note(format!("the picture moves by {} samples across and {} down", 2 * MOVED[0], 2 * MOVED[1]));
    table.note("motion_ms: the search and the code of its vectors; a graphics card looks for them itself");
    table.note(
        "vectors_to_bytes_ms: from the vectors to the bytes of the whole frame; encode_ms: all, with the next state",
    );
    let bpp = options::bits_per_pixel(args.bpp)?;
    for subject in Subject::all(args)? {
        ensure!(
            subject.info.format == PixelFormat::I420,
            "{}: prediction is measured with 4:2:0 pictures",
            subject.name
        );
        let codec = CodecParams { profile: Profile::Predicted(1), ..CodecParams::default() };
        let params = StreamParams { codec, ..subject.params() };
        let later = moved(&subject.data, params.size);
        let pictures = [subject.info.picture(&subject.data)?, PictureRef::new(PixelFormat::I420, params.size, &later)?];
        let target = Target::Bytes(options::bytes_per_frame(bpp, params.size));
        for effort in [Effort::Low, Effort::Medium, Effort::High] {
            let (choice, device) = (compute.backend, compute.device.as_deref());
            let mut encoder = Encoder::open(&params, (choice, device))?;
            encoder.set_search(effort, Some(SEARCH_MAX));
            let mut decoder = Decoder::open(&params, (choice, device))?;
            encoder.encode(pictures[0], target, None)?;
            let state = encoder.state()?.context("a stream with states")?;
            let (mut out, mut bytes) = (Picture::decoded_from(&params), 0);
            let stages: [_; 10] = medians(Limit::of(args), || {
                let start = Instant::now();
                let frame = encoder.encode(pictures[1], target, Some((1, &state)))?;
                let encode = start.elapsed();
                ensure!(frame.reference > 0, "the frame is coded alone");
                bytes = coded_size(&frame);
                decoder.decode(&ReceivedFrame::from(&frame), Some(&state), &mut out)?;
                let (there, back) = (encoder.times(), decoder.times());
                Ok([
                    there.motion,
                    there.upload,
                    there.compensate,
                    there.transform,
                    there.code,
                    encoder.vectors_to_bytes(),
                    encode,
                    back.decode,
                    back.compensate,
                    back.inverse,
                ])
            })?;
            table.plot(Axes {
                title: "Predicted frames, stage by stage".to_owned(),
                values: &["motion_ms", "vectors_to_bytes_ms", "encode_ms", "decode_ms", "inverse_ms"],
                by: &["effort"],
                ..Axes::TIMES
            });
            let mut row = vec![
                encoder.backend().kind.to_string(),
                format!("{effort:?}").to_lowercase(),
                subject.name.clone(),
                params.size.to_string(),
            ];
            row.extend(stages.map(ms));
            row.extend([bytes.to_string(), format!("{:.4}", 8.0 * bytes as f64 / params.size.pixels() as f64)]);
            table.push(row);
        }
    }
    Ok(table)
}

/// Returns the samples of a 4:2:0 picture moved; what leaves it at one edge comes in at the other.
fn moved(data: &[u8], size: FrameSize) -> Vec<u8> {
    let (luma, chroma) = data.split_at(size.pixels());
    let half = size.halved();
    let chroma = chroma.chunks(half.pixels()).map(|plane| (plane, half, MOVED));
    let planes = std::iter::once((luma, size, MOVED.map(|samples| 2 * samples))).chain(chroma);
    let mut out = Vec::with_capacity(data.len());
    for (plane, size, [right, down]) in planes {
        let begin = out.len();
        out.extend_from_slice(plane);
        let plane = &mut out[begin..];
        plane.rotate_right((down * size.width()).min(plane.len()));
        plane.chunks_mut(size.width()).for_each(|row| row.rotate_right(right.min(row.len())));
    }
    out
}
