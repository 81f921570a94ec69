//! From the words of the command line or the configuration to a source.

use common::config::SenderConfig;
use net::failure::{Failure, Kind};
use picture::frame::{FrameRate, FrameSize};

use super::{FrameSource, SourceSpec, Speed, camera, file, nothing, pattern, strip};

/// Opens the source that `spec` names; `config` gives what it leaves open.
pub fn open(spec: &SourceSpec, config: &SenderConfig) -> Result<Box<dyn FrameSource>, Failure> {
    let (size, rate) = asked(spec, config);
    Ok(match spec {
        SourceSpec::Camera { index, size, rate } => {
            Box::new(camera::Camera::open(*index, size.or(config.size), rate.or(config.frame_rate))?)
        }
        SourceSpec::Pattern { .. } => Box::new(pattern::Pattern::new(size, rate)),
        SourceSpec::None => Box::new(nothing::Nothing::default()),
        SourceSpec::Strip { .. } => Box::new(strip::Strip::new(size, rate)),
        SourceSpec::File { layout, path, repeat, is_live, pace } => {
            let usual = config.frame_rate.unwrap_or(FrameRate::USUAL);
            file::open(*layout, path, *repeat, (*is_live, *pace), config.frame_rate, usual)?
        }
    })
}

/// Opens as [`open`] does; a camera that is not there, or that another program has, is waited for. Its pictures then
/// have the size and rate asked for or the usual ones.
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
    let (size, rate) = asked(spec, config);
    Ok(Box::new(camera::Camera::awaited(index, size, rate)))
}

/// Returns size and rate of the pictures asked for; the usual ones where a camera or file decides them.
pub fn asked(spec: &SourceSpec, config: &SenderConfig) -> (FrameSize, FrameRate) {
    let (size, rate) = match *spec {
        SourceSpec::Camera { size, rate, .. }
        | SourceSpec::Pattern { size, rate }
        | SourceSpec::Strip { size, rate } => (size, rate),
        SourceSpec::File { pace: Speed::Rate(rate), .. } => (None, Some(rate)),
        SourceSpec::File { .. } | SourceSpec::None => (None, None),
    };
    let size = size.or(config.size).unwrap_or(FrameSize::USUAL);
    (size, rate.or(config.frame_rate).unwrap_or(FrameRate::USUAL))
}
