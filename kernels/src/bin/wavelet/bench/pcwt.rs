//! The profile `pcwt`: bytes and times of whole pictures, as in table 5.2 of Ao 2014.

use std::time::Instant;

use anyhow::{Result, ensure};
use kernels::Picture;
use kernels::opencl::{Joining, OpenClPcwtEncoder};
use kernels::pcwt::{PcwtEncoder, open_pcwt_decoder, open_pcwt_encoder};

use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::{BenchArgs, ComputeArgs, TransformArgs};
use crate::{options, pcwt};

pub(crate) fn run(args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<Table> {
    let mut table =
        Table::new(&["backend", "device", "picture", "size", "bytes", "ratio", "joining", "encode_ms", "decode_ms"]);
    table.note("lossless; wall time from a picture in host memory to its code in host memory, and back".to_owned());
    let (choice, device) = (options::backend(compute.backend), compute.device.as_deref());
    for subject in Subject::all(args)? {
        let params = pcwt::stream_params(&subject.info, transform)?;
        let picture = subject.info.picture(&subject.data)?;
        let on_device = open_pcwt_encoder(&params, choice, device)?.backend().name == "opencl";
        let joinings = if on_device { &[Some(Joining::Serial), Some(Joining::Atomic)][..] } else { &[None] };
        for &joining in joinings {
            let mut encoder: Box<dyn PcwtEncoder> = match joining {
                Some(_) => Box::new(OpenClPcwtEncoder::open(&params, device, String::new(), joining)?),
                None => open_pcwt_encoder(&params, choice, device)?,
            };
            let mut decoder = open_pcwt_decoder(&params, choice, device)?;
            let mut out = Picture::decoded_from(&params);
            let mut bytes = 0;
            let [encode, decode] = medians(Limit::of(args), || {
                let start = Instant::now();
                let frame = encoder.encode(picture, 0)?;
                let encode = start.elapsed();
                bytes = frame.len();
                let start = Instant::now();
                decoder.decode(&frame, &mut out)?;
                Ok([encode, start.elapsed()])
            })?;
            ensure!(
                out.format() != subject.info.format || out.data() == subject.data,
                "{} came back changed",
                subject.name
            );
            let backend = encoder.backend();
            table.push(vec![
                backend.name.to_owned(),
                backend.device.clone(),
                subject.name.clone(),
                params.size.to_string(),
                bytes.to_string(),
                format!("{:.3}", subject.data.len() as f64 / bytes as f64),
                joining.map_or("-".to_owned(), |joining| format!("{joining:?}").to_lowercase()),
                ms(encode),
                ms(decode),
            ]);
        }
    }
    table.plot(Axes {
        title: "Profile pcwt, lossless".to_owned(),
        values: &["encode_ms", "decode_ms"],
        by: &["joining"],
        quantity: "time of a picture, ms",
        logarithmic: true,
        dashed: |_| None,
    });
    Ok(table)
}
