//! `wavelet bench`: medians over several runs after a warm-up.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use common::frame::{FrameSize, PixelFormat};
use common::params::{CodecParams, StreamParams};
use kernels::{Decoder, Encoder};

use crate::args::{BackendName, BenchArgs, BenchKind, ComputeArgs};
use crate::io::{PictureInfo, Reader};
use crate::{options, picture};
use table::Table;

mod codec;
mod dwt;
mod overlap;
mod scene;
mod table;
mod transfer;

/// Runs before the measured ones.
const WARM_UP_RUNS: u32 = 3;

/// Measures and returns the table.
pub(crate) fn run(kind: BenchKind, args: &BenchArgs, compute: &ComputeArgs) -> Result<String> {
    let table = match kind {
        BenchKind::Dwt => dwt::run(args, compute)?,
        BenchKind::Codec => codec::run(args, compute)?,
        BenchKind::Transfer => transfer::run(args, compute)?,
        BenchKind::Overlap => overlap::run(args, compute)?,
    };
    if let Some(path) = &args.csv {
        std::fs::write(path, table.csv()).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(table.text())
}

/// A picture to measure with.
struct Subject {
    name: String,
    info: PictureInfo,
    data: Vec<u8>,
}

impl Subject {
    /// The picture asked for, or a synthetic 4:2:0 one of each size.
    fn all(args: &BenchArgs) -> Result<Vec<Self>> {
        if let Some(path) = &args.picture {
            ensure!(args.sizes.is_empty(), "--sizes and --picture cannot be used together");
            let mut reader = Reader::open(path)?;
            let data = reader.first(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Ok(vec![Self { name, info: reader.info(), data }]);
        }
        sizes(&args.sizes)?.into_iter().map(Self::synthetic).collect()
    }

    fn synthetic(size: FrameSize) -> Result<Self> {
        let data = scene::i420(size);
        Ok(Self { name: "synthetic".to_owned(), info: scene::info(size)?, data })
    }

    fn params(&self) -> StreamParams {
        picture::stream_params(&self.info, picture::own_chroma(self.info.format), CodecParams::default())
    }
}

/// The sizes named by `hd`, `square` and `WxH`; 1920x1080 if there are none.
fn sizes(names: &[String]) -> Result<Vec<FrameSize>> {
    let sides = |name: &str| -> Option<Vec<(u32, u32)>> {
        match name {
            "hd" => Some(vec![(1280, 720), (1920, 1080), (3840, 2160)]),
            "square" => Some(vec![(512, 512), (1024, 1024), (2048, 2048), (4096, 4096)]),
            _ => {
                let (width, height) = name.split_once('x')?;
                Some(vec![(width.parse().ok()?, height.parse().ok()?)])
            }
        }
    };
    let mut sizes = Vec::new();
    for name in names {
        let named =
            sides(name).with_context(|| format!("--sizes {name}: write hd, square or a size such as 1920x1080"))?;
        for (width, height) in named {
            sizes.push(FrameSize::new(width, height)?);
        }
    }
    if sizes.is_empty() {
        sizes.push(FrameSize::new(1920, 1080)?);
    }
    Ok(sizes)
}

/// Refuses a back end that has no device memory and no queues.
fn require_opencl(kind: &str, compute: &ComputeArgs) -> Result<()> {
    let possible = matches!(compute.backend, BackendName::Auto | BackendName::Opencl);
    ensure!(possible, "bench {kind} measures an OpenCL device: use --backend opencl");
    Ok(())
}

fn open_encoder(params: &StreamParams, compute: &ComputeArgs) -> Result<Box<dyn Encoder>> {
    Ok(kernels::open_encoder(params, options::backend(compute.backend), compute.device.as_deref())?)
}

fn open_decoder(params: &StreamParams, compute: &ComputeArgs) -> Result<Box<dyn Decoder>> {
    Ok(kernels::open_decoder(params, options::backend(compute.backend), compute.device.as_deref())?)
}

/// Calls `run` a few times unmeasured, then `runs` times, and returns the median of each of the durations.
fn medians<const N: usize>(runs: u32, mut run: impl FnMut() -> Result<[Duration; N]>) -> Result<[Duration; N]> {
    for _ in 0..WARM_UP_RUNS {
        run()?;
    }
    let mut samples = vec![Vec::with_capacity(runs as usize); N];
    for _ in 0..runs {
        for (list, duration) in samples.iter_mut().zip(run()?) {
            list.push(duration);
        }
    }
    let mut medians = [Duration::ZERO; N];
    for (median, list) in medians.iter_mut().zip(&mut samples) {
        list.sort_unstable();
        *median = list.get(list.len() / 2).copied().unwrap_or_default();
    }
    Ok(medians)
}

/// Milliseconds as text.
fn ms(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64() * 1e3)
}

/// Peak signal-to-noise ratio of the first `pixels` samples (luma of planar pictures), dB; infinite if equal.
fn psnr_luma(a: &[u8], b: &[u8], pixels: usize) -> f64 {
    let squares: u64 = a.iter().zip(b).take(pixels).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    10.0 * (255.0 * 255.0 * pixels as f64 / squares as f64).log10()
}

/// Whether the first samples of a picture are its luma plane.
fn is_planar(format: PixelFormat) -> bool {
    matches!(format, PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Grey8 | PixelFormat::Nv12)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn sizes_have_names() {
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(sizes(&names("hd,square,17x31")).unwrap().len(), 8);
        assert_eq!(sizes(&[]).unwrap(), [FrameSize::new(1920, 1080).unwrap()]);
        for wrong in ["", "x", "3", "3x", "-1x4", "0x4", "16385x1", "hdd"] {
            assert!(sizes(&names(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let mut next = 0;
        let [median] = medians(5, || {
            next += 1;
            Ok([Duration::from_secs(if next <= WARM_UP_RUNS.into() { 1000 } else { 20 - next })])
        })
        .unwrap();
        assert_eq!(median, Duration::from_secs(14));
    }

    #[test]
    fn psnr_of_a_difference_of_one() {
        assert!((psnr_luma(&[1, 2, 3, 9], &[2, 1, 4, 0], 3) - 48.131).abs() < 1e-3);
        assert!(psnr_luma(&[7], &[7], 1).is_infinite());
    }
}
