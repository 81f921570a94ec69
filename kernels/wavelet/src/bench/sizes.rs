//! The sizes of pictures that are measured.

use anyhow::{Context, Result};
use picture::frame::FrameSize;

/// The sizes of films that Eskildsen et al. (2012) measured, appendix A.
const HD: [(u32, u32); 6] = [(852, 480), (1280, 720), (1920, 1080), (3840, 2160), (4520, 2540), (7680, 4320)];
/// Their square sizes.
const SQUARE: [(u32, u32); 6] = [(256, 256), (512, 512), (1024, 1024), (2048, 2048), (4096, 4096), (8192, 8192)];

/// Returns the sizes named by `hd`, `square` and `WxH`; those of `default` if there is no name.
pub(crate) fn sizes(names: &[String], default: &str) -> Result<Vec<FrameSize>> {
    let default = [default.to_owned()];
    let names = if names.is_empty() { &default } else { names };
    let mut sizes = Vec::new();
    for name in names {
        let named =
            named(name).with_context(|| format!("--sizes {name}: write hd, square or a size such as 1920x1080"))?;
        for (width, height) in named {
            sizes.push(FrameSize::new(width, height)?);
        }
    }
    Ok(sizes)
}

fn named(name: &str) -> Option<Vec<(u32, u32)>> {
    match name {
        "hd" => Some(HD.to_vec()),
        "square" => Some(SQUARE.to_vec()),
        _ => {
            let (width, height) = name.split_once('x')?;
            Some(vec![(width.parse().ok()?, height.parse().ok()?)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_names() {
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let all = sizes(&names("hd,square,17x31"), "hd").unwrap();
        assert_eq!(all.len(), 13);
        assert_eq!(all[5].to_string(), "7680x4320");
        assert_eq!(all[11].to_string(), "8192x8192");
        assert_eq!(sizes(&[], "1920x1080").unwrap(), [FrameSize::new(1920, 1080).unwrap()]);
        for wrong in ["", "x", "3", "3x", "-1x4", "0x4", "16385x1", "hdd"] {
            assert!(sizes(&names(wrong), "hd").is_err(), "{wrong}");
        }
    }
}
