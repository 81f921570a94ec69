//! From the words of the command line or the configuration to a source.

use common::config::SenderConfig;
use picture::frame::{FrameRate, FrameSize};
use shell::exit::Failure;

use super::{FrameSource, SourceSpec, camera, file, pattern};

/// Opens the source that `spec` names; `config` gives what it leaves open.
pub fn open(spec: &SourceSpec, config: &SenderConfig) -> Result<Box<dyn FrameSource>, Failure> {
    let default_rate = || config.frame_rate.or(FrameRate::new(30, 1)).ok_or_else(|| Failure::usage("no frame rate"));
    Ok(match spec {
        SourceSpec::Camera { index, size, rate } => {
            let wanted = size.or(config.size);
            Box::new(camera::Camera::open(*index, wanted, rate.map_or_else(default_rate, Ok)?)?)
        }
        SourceSpec::Pattern { size, rate } => {
            let size = size.or(config.size).map_or_else(|| FrameSize::new(1280, 720), Ok).map_err(Failure::usage)?;
            Box::new(pattern::Pattern::new(size, rate.map_or_else(default_rate, Ok)?))
        }
        SourceSpec::File { layout, path, repeat, is_live, pace } => {
            file::open(*layout, path, *repeat, (*is_live, *pace), config.frame_rate, default_rate()?)?
        }
    })
}
