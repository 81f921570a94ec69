//! The whole coder of JPEG 2000 with the transform on each back end, and the transform's share of it: table I of Wong, Leung, Heng
//! and Wang (2007).

use std::time::{Duration, Instant};

use anyhow::Result;
use kernels::{BackendChoice, BackendInfo};
use lab::jpeg2000::{Encoder, Options, Source, Target};
use picture::frame::FrameSize;

use self::rivals::{HIGH_THROUGHPUT_STEP, Rivals, Run};
use super::samples::{Samples, repeat};
use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::{BenchArgs, ComputeArgs};
use crate::jpeg2000::of_picture;
use crate::options;

mod rivals;

/// So many bytes at least for a picture, however small: headers take a part of them.
const SMALLEST_BYTES: usize = 1024;

/// A code that is measured.
#[derive(Clone, Copy)]
struct Code {
    name: &'static str,
    is_high_throughput: bool,
    is_lossless: bool,
}

const CODES: [Code; 4] = [
    Code { name: "9/7", is_high_throughput: false, is_lossless: false },
    Code { name: "5/3", is_high_throughput: false, is_lossless: true },
    Code { name: "9/7 HT", is_high_throughput: true, is_lossless: false },
    Code { name: "5/3 HT", is_high_throughput: true, is_lossless: true },
];

const COLUMNS: [&str; 12] = [
    "backend",
    "device",
    "picture",
    "size",
    "code",
    "bytes",
    "transform_ms",
    "blocks_ms",
    "packets_ms",
    "total_ms",
    "transform_share",
    "program_ms",
];

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    let mut table = Table::new(&COLUMNS);
    table.note(
        "wall time from samples in host memory to the code-stream; transform: colour, planes and coefficients, on a device also the \
         quantiser and both copies; blocks and packets are the processor's always",
    );
    if !args.beside.is_empty() {
        table.note(
            "other programs: from a file of the picture to one of the code-stream; total: by their own account if they give one; program: \
             from the start of the program to its end",
        );
    }
    let backends = match compute.backend {
        BackendChoice::Auto if cfg!(feature = "opencl") => vec![BackendChoice::Cpu, BackendChoice::Opencl],
        one => vec![one],
    };
    for subject in Subject::all(args)? {
        let picture = of_picture(&subject.info, &subject.data);
        let bytes = options::bytes_per_frame(options::bits_per_pixel(args.bpp)?, subject.info.size).max(SMALLEST_BYTES);
        let rivals = Rivals::new(&args.beside, &subject)?;
        for code in CODES {
            let target = match code {
                Code { is_lossless: true, .. } => Target::Lossless,
                Code { is_high_throughput: true, .. } => Target::Step(HIGH_THROUGHPUT_STEP),
                _ => Target::Bytes(bytes),
            };
            let options = Options { is_high_throughput: code.is_high_throughput, ..Options::new(target) };
            let of = (subject.name.as_str(), subject.info.size, code.name);
            let mut length = 0;
            for &backend in &backends {
                let device = if backend == BackendChoice::Cpu { None } else { compute.device.as_deref() };
                let mut encoder = Encoder::open(picture.source(), &options, (backend, device))?;
                let stages = measure(&mut encoder, &picture.source(), Limit::of(args), &mut length)?;
                table.push(row(encoder.backend(), of, length, stages));
            }
            for rival in rivals.of(code.is_high_throughput, code.is_lossless, length)? {
                let runs = repeat(Limit::of(args), || rival.run())?;
                let median = |time: fn(&Run) -> Duration| runs.iter().map(time).collect::<Samples>().median();
                let bytes = runs.first().map_or(0, |run| run.bytes);
                let mut cells = vec![PROGRAM.to_owned(), rival.name()];
                cells.extend([of.0.to_owned(), of.1.to_string(), of.2.to_owned(), bytes.to_string()]);
                let none = || "-".to_owned();
                cells.extend([none(), none(), none(), ms(median(|run| run.own)), none(), ms(median(|run| run.whole))]);
                table.push(cells);
            }
        }
    }
    table.plot(Axes {
        title: "JPEG 2000, the whole coder and the transform in it".to_owned(),
        values: &["total_ms", "transform_ms"],
        by: &["code", "device"],
        quantity: "time of a picture, ms",
        ..Axes::TIMES
    });
    Ok(table)
}

/// Kind of a row of another program.
const PROGRAM: &str = "program";

/// Returns the medians of transform, blocks, packets and all of it.
fn measure(encoder: &mut Encoder, source: &Source<'_>, limit: Limit, length: &mut usize) -> Result<[Duration; 4]> {
    medians(limit, || {
        let start = Instant::now();
        encoder.transform(source.clone())?;
        let transform = start.elapsed();
        let blocks = encoder.blocks();
        let after_blocks = start.elapsed();
        *length = encoder.finish(&blocks)?.len();
        let total = start.elapsed();
        Ok([transform, after_blocks - transform, total - after_blocks, total])
    })
}

fn row(backend: &BackendInfo, of: (&str, FrameSize, &str), length: usize, stages: [Duration; 4]) -> Vec<String> {
    let [transform, _, _, total] = stages;
    let mut row = vec![
        backend.kind.to_string(),
        backend.device.clone(),
        of.0.to_owned(),
        of.1.to_string(),
        of.2.to_owned(),
        length.to_string(),
    ];
    row.extend(stages.map(ms));
    row.push(format!("{:.3}", transform.as_secs_f64() / total.as_secs_f64().max(1e-9)));
    row.push("-".to_owned());
    row
}
