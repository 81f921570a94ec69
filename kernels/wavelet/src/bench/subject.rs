//! The pictures that the coder is measured with.

use std::path::Path;

use anyhow::{Result, ensure};
use picture::frame::{FrameSize, PixelFormat};
use picture::params::{CodecParams, StreamParams};
use picture::psnr::psnr_db;

use super::{scene, sizes::sizes};
use crate::args::BenchArgs;
use crate::io::{PictureInfo, Reader};
use crate::stream;

/// A picture to measure with.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) info: PictureInfo,
    pub(crate) data: Vec<u8>,
}

impl Subject {
    /// Returns the pictures asked for, or a synthetic 4:2:0 one of each size.
    pub(crate) fn all(args: &BenchArgs) -> Result<Vec<Self>> {
        if !args.picture.is_empty() {
            ensure!(args.sizes.is_empty(), "--sizes and --picture cannot be used together");
            return args.picture.iter().map(|path| Self::read(path)).collect();
        }
        sizes(&args.sizes, "1920x1080")?.into_iter().map(Self::synthetic).collect()
    }

    fn read(path: &Path) -> Result<Self> {
        let mut reader = Reader::open(path)?;
        let data = reader.first(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, info: reader.info(), data })
    }

    fn synthetic(size: FrameSize) -> Result<Self> {
        let data = scene::i420(size);
        Ok(Self { name: "synthetic".to_owned(), info: scene::info(size), data })
    }

    /// Returns the stream that the picture is coded as.
    pub(crate) fn params(&self) -> StreamParams {
        stream::stream_params(&self.info, stream::own_chroma(self.info.format), CodecParams::default())
    }

    /// Returns the peak signal-to-noise ratio of the luma of a decoded picture, dB; nothing for packed formats.
    pub(crate) fn psnr_luma(&self, decoded: &[u8]) -> Option<f64> {
        use PixelFormat::{Grey8, I420, I444, Nv12};
        let planar = matches!(self.info.format, I420 | I444 | Grey8 | Nv12);
        planar.then(|| psnr_db(&self.data[..self.info.size.pixels()], decoded))
    }
}
