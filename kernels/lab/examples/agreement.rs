//! Every scheme, wavelet, arithmetic, boundary and direction on an OpenCL device against the reference: prints one
//! table of the largest errors relative to the peak, and fails if any is too large.
//!
//! ```text
//! agreement [--device NAME] [--sizes 17x31,1919x1079,..]
//! ```

#[path = "../tests/agreement/mod.rs"]
mod agreement;

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use picture::frame::FrameSize;
use picture::params::{Levels, Padding};

use agreement::{Agreement, BOUNDARIES, Case, FILTERS, Reference};

const SIZES: &str = "1x1,1x7,2x2,17x31,640x360,1919x1079,2048x2048";

fn main() -> anyhow::Result<()> {
    let (mut device, mut sizes) = (None, SIZES.to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--device" => device = Some(value),
            "--sizes" => sizes = value,
            _ => bail!("`{argument}` is no option: there are --device and --sizes"),
        }
    }
    let mut bad = 0;
    println!(
        "| wavelet | element | boundary | scheme | forward | inverse | allowed | |\n|---|---|---|---|---|---|---|---|"
    );
    for (wavelet, element) in FILTERS {
        for boundary in BOUNDARIES {
            // By scheme, over all sizes and paddings.
            let mut worst: BTreeMap<String, Agreement> = BTreeMap::new();
            for size in sizes.split(',') {
                let size = parse(size)?;
                for padding in [Padding::Smooth, Padding::Zero] {
                    let case = Case { wavelet, element, boundary, padding, size, levels: Levels::Full };
                    let reference = Reference::new(case)?;
                    for scheme in case.schemes() {
                        let here = reference.compare(scheme, device.as_deref())?;
                        if !here.is_good() {
                            bad += 1;
                            eprintln!("{scheme} {case:?}: {here:?}");
                        }
                        worst.entry(scheme.to_string()).and_modify(|there| *there = there.worse(here)).or_insert(here);
                    }
                }
            }
            for (scheme, Agreement { forward, inverse, bound, is_equal }) in worst {
                let equal = if is_equal { "equal" } else { "" };
                println!(
                    "| {wavelet} | {element} | {boundary:?} | {scheme} | {forward:.1e} | {inverse:.1e} | {bound:.0e} | {equal} |"
                );
            }
        }
    }
    ensure!(bad == 0, "{bad} transforms differ more than they may");
    Ok(())
}

fn parse(size: &str) -> anyhow::Result<FrameSize> {
    let (width, height) = size.split_once('x').with_context(|| format!("`{size}` is no size such as 640x360"))?;
    FrameSize::new(width.parse()?, height.parse()?).with_context(|| format!("no picture has {size} pixels"))
}
