//! Forward and inverse transform, as the encoder and the decoder run them.

use anyhow::Result;
use common::coded::{ReceivedFrame, StepIndex};
use kernels::{Picture, PictureRef, Target};

use super::samples::{Samples, repeat};
use super::{Axes, Limit, Subject, Table, ms, open_decoder, open_encoder};
use crate::args::{BenchArgs, ComputeArgs};

/// Step that leaves the block coder little to do.
const STEP_INDEX: u8 = 56;

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    let mut table = Table::new(&[
        "backend",
        "device",
        "picture",
        "size",
        "forward_ms",
        "inverse_ms",
        "inverse_mean_ms",
        "inverse_p95_ms",
        "runs",
        "forward_mpixel_s",
    ]);
    table.note(
        "colour conversion and all levels of all channels; forward without upload, inverse with rounding".to_owned(),
    );
    table.plot(Axes {
        title: "Wavelet transform".to_owned(),
        values: &["forward_ms", "inverse_ms"],
        by: &[],
        quantity: "time of a frame, ms",
        logarithmic: true,
    });
    for subject in Subject::all(args)? {
        let params = subject.params();
        let mut encoder = open_encoder(&params, compute)?;
        let mut decoder = open_decoder(&params, compute)?;
        let picture = PictureRef::new(subject.info.format, params.size, &subject.data)?;
        let mut out = Picture::for_stream(params.chroma, params.size);
        let target = Target::Step(StepIndex::new(STEP_INDEX).unwrap_or(StepIndex::MAX));
        let runs = repeat(Limit::of(args), || {
            let frame = encoder.encode(picture, target)?;
            decoder.decode(&ReceivedFrame::from(&frame), &mut out)?;
            Ok((encoder.times().transform, decoder.times().inverse))
        })?;
        let forward: Samples = runs.iter().map(|run| run.0).collect();
        let inverse: Samples = runs.iter().map(|run| run.1).collect();
        let backend = encoder.backend();
        let rate = params.size.pixels() as f64 / 1e6 / forward.median().as_secs_f64().max(1e-9);
        table.push(vec![
            backend.name.to_owned(),
            backend.device.clone(),
            subject.name,
            params.size.to_string(),
            ms(forward.median()),
            ms(inverse.median()),
            ms(inverse.mean()),
            ms(inverse.p95()),
            inverse.runs().to_string(),
            format!("{rate:.0}"),
        ]);
    }
    Ok(table)
}
