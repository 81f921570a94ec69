//! Encoder and decoder by stage, with bytes and quality.

use std::time::Instant;

use anyhow::Result;
use kernels::{Decoder, Encoder, Picture, Target};
use picture::coded::ReceivedFrame;
use picture::run::coded_size;

use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::{BenchArgs, ComputeArgs};
use crate::options;

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    let mut table = Table::new(&[
        "backend",
        "device",
        "picture",
        "size",
        "upload_ms",
        "transform_ms",
        "code_ms",
        "encode_ms",
        "encode_device_ms",
        "decode_ms",
        "inverse_ms",
        "decode_device_ms",
        "bytes",
        "bit_per_pixel",
        "psnr_y_db",
    ]);
    table.note("device: time in which the device computed for a frame, transfers apart, by its own clock");
    table.note("encode_ms: wall time of the whole encoder; every frame has the same budget");
    let bpp = options::bits_per_pixel(args.bpp)?;
    for subject in Subject::all(args)? {
        let params = subject.params();
        let (choice, device) = (compute.backend, compute.device.as_deref());
        let mut encoder = Encoder::open(&params, (choice, device))?;
        let mut decoder = Decoder::open(&params, (choice, device))?;
        let picture = subject.info.picture(&subject.data)?;
        let mut out = Picture::decoded_from(&params);
        let target = Target::Bytes(options::bytes_per_frame(bpp, params.size));
        let mut bytes = 0;
        let stages: [_; 8] = medians(Limit::of(args), || {
            let start = Instant::now();
            let frame = encoder.encode(picture, target, None)?;
            let whole = start.elapsed();
            bytes = coded_size(&frame);
            decoder.decode(&ReceivedFrame::from(&frame), None, &mut out)?;
            let (forward, backward) = (encoder.times(), decoder.times());
            Ok([
                forward.upload,
                forward.transform,
                forward.code,
                whole,
                forward.device,
                backward.decode,
                backward.inverse,
                backward.device,
            ])
        })?;
        let backend = encoder.backend();
        table.note(format!("{}: {}, {}", subject.name, backend.kind, backend.reason));
        let pixels = params.size.pixels();
        let psnr = subject.psnr_luma(out.data()).map_or("-".to_owned(), |decibel| format!("{decibel:.2}"));
        table.plot(Axes {
            title: format!("Encoder and decoder, stage by stage: {}", backend.device),
            values: &["upload_ms", "transform_ms", "code_ms", "decode_ms", "inverse_ms"],
            ..Axes::TIMES
        });
        let mut row = vec![backend.kind.to_string(), backend.device.clone(), subject.name, params.size.to_string()];
        row.extend(stages.map(ms));
        row.extend([bytes.to_string(), format!("{:.4}", 8.0 * bytes as f64 / pixels as f64), psnr]);
        table.push(row);
    }
    Ok(table)
}
