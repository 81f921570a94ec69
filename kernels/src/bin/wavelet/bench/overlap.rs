//! The OpenCL encoder with its channels overlapping and with one after another.

use std::time::{Duration, Instant};

use anyhow::Result;
use common::coded::StepIndex;
use kernels::opencl::{OpenClEncoder, Stage};
use kernels::{Encoder, PictureRef, Target};

use super::{Axes, Limit, Subject, Table, medians, ms, require_opencl};
use crate::args::{BenchArgs, ComputeArgs};

/// A step of 8: one coding pass, at the rate of a good picture.
const STEP_INDEX: u8 = 56;

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    require_opencl("overlap", compute)?;
    let mut table = Table::new(&[
        "device",
        "size",
        "channels",
        "upload_ms",
        "transform_ms",
        "code_ms",
        "download_ms",
        "device_span_ms",
        "wall_ms",
        "wall_ratio",
    ]);
    table.note(
        "stages: time in which at least one command of it ran, by the device's clock; one coding pass".to_owned(),
    );
    table.note("wall_ratio: wall time against the channels one after another".to_owned());
    table.plot(Axes {
        title: "Channels one after another and overlapping".to_owned(),
        values: &["wall_ms"],
        by: &["channels"],
        quantity: "time of a frame, ms",
        logarithmic: true,
        dashed: |_| None,
    });
    for subject in Subject::all(args)? {
        let params = subject.params();
        let picture = PictureRef::new(subject.info.format, params.size, &subject.data)?;
        let mut encoder = OpenClEncoder::open(&params, compute.device.as_deref(), "measured".to_owned())?;
        let target = Target::Step(StepIndex::new(STEP_INDEX).unwrap_or(StepIndex::MAX));
        let mut serial_wall = None;
        for overlap in [false, true] {
            encoder.set_overlap(overlap);
            let [upload, transform, code, download, span, wall] = medians(Limit::of(args), || {
                let start = Instant::now();
                encoder.encode(picture, target)?;
                let wall = start.elapsed();
                let timeline = encoder.timeline();
                let busy = |stage| Duration::from_nanos(timeline.busy_ns(stage));
                let span = Duration::from_nanos(timeline.span_ns());
                let [upload, transform] = [busy(Stage::Upload), busy(Stage::Transform)];
                Ok([upload, transform, busy(Stage::Code), busy(Stage::Download), span, wall])
            })?;
            let serial = *serial_wall.get_or_insert(wall);
            table.push(vec![
                encoder.backend().device.clone(),
                params.size.to_string(),
                if overlap { "overlapping" } else { "one after another" }.to_owned(),
                ms(upload),
                ms(transform),
                ms(code),
                ms(download),
                ms(span),
                ms(wall),
                format!("{:.2}", wall.as_secs_f64() / serial.as_secs_f64().max(1e-9)),
            ]);
        }
    }
    Ok(table)
}
