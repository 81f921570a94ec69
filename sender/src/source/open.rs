//! From the words of the command line or the configuration to a source.

use common::config::SenderConfig;
use picture::frame::{FrameRate, FrameSize};
use shell::exit::{Failure, Kind};

use super::{FrameSource, SourceSpec, camera, file, pattern, strip};
use crate::linktest::asked;

/// Opens the source that `spec` names; `config` gives what it leaves open.
pub fn open(spec: &SourceSpec, config: &SenderConfig) -> Result<Box<dyn FrameSource>, Failure> {
    let default_rate = || config.frame_rate.or(FrameRate::new(30, 1)).ok_or_else(|| Failure::usage("no frame rate"));
    let or_720p = |size: Option<FrameSize>| {
        size.or(config.size).map_or_else(|| FrameSize::new(1280, 720), Ok).map_err(Failure::usage)
    };
    Ok(match spec {
        SourceSpec::Camera { index, size, rate } => {
            Box::new(camera::Camera::open(*index, size.or(config.size), rate.or(config.frame_rate))?)
        }
        SourceSpec::Pattern { size, rate } => {
            Box::new(pattern::Pattern::new(or_720p(*size)?, rate.map_or_else(default_rate, Ok)?))
        }
        SourceSpec::Strip { size, rate } => {
            Box::new(strip::Strip::new(or_720p(*size)?, rate.map_or_else(default_rate, Ok)?))
        }
        SourceSpec::File { layout, path, repeat, is_live, pace } => {
            file::open(*layout, path, *repeat, (*is_live, *pace), config.frame_rate, default_rate()?)?
        }
    })
}

/// Opens as [`open`] does; a camera that is not there, or that another program has, is waited for. Its pictures then have the size
/// and rate asked for or the usual ones.
pub fn open_or_await(spec: &SourceSpec, config: &SenderConfig) -> Result<Box<dyn FrameSource>, Failure> {
    let failure = match open(spec, config) {
        Ok(source) => return Ok(source),
        Err(failure) => failure,
    };
    let &SourceSpec::Camera { index, .. } = spec else { return Err(failure) };
    if failure.kind != Kind::Device {
        return Err(failure);
    }
    tracing::warn!("{failure}; the call goes on without it until it is there");
    let (size, rate) = asked(config, spec)?;
    Ok(Box::new(camera::Camera::awaited(index, size, rate)))
}
