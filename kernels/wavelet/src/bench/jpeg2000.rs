//! The whole coder of JPEG 2000 with the transform on each back end, and the transform's share of it: table I of Wong, Leung, Heng
//! and Wang (2007).

use std::time::Instant;

use anyhow::Result;
use kernels::BackendChoice;
use lab::jpeg2000::{Encoder, Options, Target};

use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::{BenchArgs, ComputeArgs};
use crate::jpeg2000::of_picture;
use crate::options;

/// So many bytes at least for a picture, however small: headers take a part of them.
const SMALLEST_BYTES: usize = 1024;

/// The quantiser's step of Part 15, whose blocks have no passes to leave out: about a bit per pixel.
const HIGH_THROUGHPUT_STEP: f64 = 8.0;

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    let columns = [
        "backend",
        "device",
        "picture",
        "size",
        "code",
        "bytes",
        "planes_ms",
        "transform_ms",
        "blocks_ms",
        "packets_ms",
        "total_ms",
        "transform_share",
    ];
    let mut table = Table::new(&columns);
    table.note("wall time from samples in host memory to the code-stream, by stage; blocks and packets are the processor's always");
    let backends = match compute.backend {
        BackendChoice::Auto if cfg!(feature = "opencl") => vec![BackendChoice::Cpu, BackendChoice::Opencl],
        one => vec![one],
    };
    for subject in Subject::all(args)? {
        let image = of_picture(&subject.info, &subject.data);
        let bytes = options::bytes_per_frame(options::bits_per_pixel(args.bpp)?, subject.info.size).max(SMALLEST_BYTES);
        let codes = [
            ("9/7", Target::Bytes(bytes), false),
            ("5/3", Target::Lossless, false),
            ("9/7 HT", Target::Step(HIGH_THROUGHPUT_STEP), true),
            ("5/3 HT", Target::Lossless, true),
        ];
        for (code, target, is_high_throughput) in codes {
            for &backend in &backends {
                let device = if backend == BackendChoice::Cpu { None } else { compute.device.as_deref() };
                let options = Options { is_high_throughput, ..Options::new(target) };
                let mut encoder = Encoder::open(&image, &options, (backend, device))?;
                let mut length = 0;
                let stages = medians(Limit::of(args), || {
                    let start = Instant::now();
                    let planes = encoder.planes(&image);
                    let after_planes = start.elapsed();
                    let squares = encoder.transform(planes)?;
                    let after_transform = start.elapsed();
                    let blocks = encoder.blocks(&squares);
                    let after_blocks = start.elapsed();
                    length = encoder.finish(&blocks)?.len();
                    let total = start.elapsed();
                    let [transform, coded] = [after_transform - after_planes, after_blocks - after_transform];
                    Ok([after_planes, transform, coded, total - after_blocks, total])
                })?;
                let [_, transform, _, _, total] = stages;
                let info = encoder.backend();
                let mut row = vec![
                    info.map(|info| info.kind.to_string()).unwrap_or_default(),
                    info.map(|info| info.device.clone()).unwrap_or_default(),
                    subject.name.clone(),
                    subject.info.size.to_string(),
                    code.to_owned(),
                    length.to_string(),
                ];
                row.extend(stages.map(ms));
                row.push(format!("{:.3}", transform.as_secs_f64() / total.as_secs_f64().max(1e-9)));
                table.push(row);
            }
        }
    }
    table.plot(Axes {
        title: "JPEG 2000, the whole coder and the transform in it".to_owned(),
        values: &["total_ms", "transform_ms"],
        by: &["code", "backend"],
        quantity: "time of a picture, ms",
        ..Axes::TIMES
    });
    Ok(table)
}
