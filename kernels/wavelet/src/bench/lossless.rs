//! Pictures without loss by both profiles: bytes and times, for `pcwt` as in table 5.2 of Ao 2014.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kernels::{BackendInfo, Decoder, Encoder, Picture, PictureRef, Target};
use lab::pcwt::{Joining, open_joining_encoder, open_pcwt_decoder, open_pcwt_encoder};
use picture::coded::ReceivedFrame;
use picture::params::{CodecParams, Profile, StreamParams};

use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::{BenchArgs, ComputeArgs, TransformArgs};
use crate::pcwt;

/// A way to code a picture: makes a code of it, whose bytes are counted, and a picture of that; how long both took.
type RoundTrip<'a> = Box<dyn FnMut(&mut Picture, &mut usize) -> Result<[Duration; 2]> + 'a>;

pub(crate) fn run(args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<Table> {
    let columns =
        ["backend", "device", "profile", "picture", "size", "bytes", "ratio", "joining", "encode_ms", "decode_ms"];
    let mut table = Table::new(&columns);
    table.note("wall time from a picture in host memory to its code in host memory, and back");
    for subject in Subject::all(args)? {
        let params = pcwt::stream_params(&subject.info, transform)?;
        let picture = subject.info.picture(&subject.data)?;
        let quad = StreamParams { codec: CodecParams { profile: Profile::Quad, ..params.codec }, ..params };
        let mut ways = vec![("quad", None, by_quad(&quad, picture, compute)?)];
        for joining in joinings(&params, compute)? {
            ways.push(("pcwt", joining, by_pcwt(&params, picture, joining, compute)?));
        }
        for (profile, joining, (backend, mut pass)) in ways {
            let (mut out, mut bytes) = (Picture::decoded_from(&params), 0);
            let [encode, decode] = medians(Limit::of(args), || pass(&mut out, &mut bytes))?;
            let changed = out.format() == subject.info.format && out.data() != subject.data;
            ensure!(!changed, "{} came back changed by {profile}", subject.name);
            table.push(vec![
                backend.kind.to_string(),
                backend.device,
                profile.to_owned(),
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
        title: "Pictures without loss".to_owned(),
        values: &["encode_ms", "decode_ms"],
        by: &["profile", "joining"],
        quantity: "time of a picture, ms",
        ..Axes::TIMES
    });
    Ok(table)
}

/// Returns the ways of the back end in use to join the elements of a group; `None` where there is but one.
fn joinings(params: &StreamParams, compute: &ComputeArgs) -> Result<Vec<Option<Joining>>> {
    let encoder = open_pcwt_encoder(params, compute.backend, compute.device.as_deref())?;
    let on_device = encoder.backend().is_device();
    Ok(if on_device { vec![Some(Joining::Serial), Some(Joining::Atomic)] } else { vec![None] })
}

fn by_quad<'a>(
    params: &StreamParams,
    picture: PictureRef<'a>,
    compute: &ComputeArgs,
) -> Result<(BackendInfo, RoundTrip<'a>)> {
    let (choice, device) = (compute.backend, compute.device.as_deref());
    let mut encoder = Encoder::open(params, (choice, device))?;
    let mut decoder = Decoder::open(params, (choice, device))?;
    let backend = encoder.backend().clone();
    let pass = move |out: &mut Picture, bytes: &mut usize| {
        let start = Instant::now();
        let frame = encoder.encode(picture, Target::Lossless, None)?;
        let encode = start.elapsed();
        *bytes = frame.data.len();
        let received = ReceivedFrame::from(&frame);
        let start = Instant::now();
        decoder.decode(&received, None, out)?;
        Ok([encode, start.elapsed()])
    };
    Ok((backend, Box::new(pass)))
}

fn by_pcwt<'a>(
    params: &StreamParams,
    picture: PictureRef<'a>,
    joining: Option<Joining>,
    compute: &ComputeArgs,
) -> Result<(BackendInfo, RoundTrip<'a>)> {
    let (choice, device) = (compute.backend, compute.device.as_deref());
    let mut encoder = match joining {
        Some(joining) => open_joining_encoder(params, device, joining)?,
        None => open_pcwt_encoder(params, choice, device)?,
    };
    let mut decoder = open_pcwt_decoder(params, choice, device)?;
    let backend = encoder.backend().clone();
    let pass = move |out: &mut Picture, bytes: &mut usize| {
        let start = Instant::now();
        let frame = encoder.encode(picture, 0)?;
        let encode = start.elapsed();
        *bytes = frame.len();
        let start = Instant::now();
        decoder.decode(&frame, out)?;
        Ok([encode, start.elapsed()])
    };
    Ok((backend, Box::new(pass)))
}
