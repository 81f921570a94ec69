//! `devices` and `doctor`: what this machine has, and whether it is enough to send.

use common::config::{Prediction, SenderConfig};
use picture::frame::{ColourSpace, FrameRate, FrameSize};
use picture::params::StreamParams;
use receiver::cli::Resolved as Receiving;
use serde_json::json;
use shell::doctor::{self, Check, Status};
use shell::exit::Failure;
use shell::{devices, speed};

use crate::source::{self, Chosen, SourceSpec, asked, cameras};

/// Lists cameras with their formats, and the devices that can encode.
///
/// Of each camera it says which format a run would take that leaves the choice to the program: `--source camera:index=N`.
pub fn print_devices(config: &SenderConfig, as_json: bool) {
    let (cameras, found) = (cameras(config.size, config.frame_rate), kernels::devices());
    if as_json {
        let cameras: Vec<_> = cameras
            .iter()
            .map(|camera| {
                let format = |(name, size, fps): &(String, FrameSize, u32)| {
                    json!({ "format": name, "width": size.width(), "height": size.height(), "fps": fps })
                };
                let formats: Vec<_> = camera.formats.iter().map(format).collect();
                let chosen = camera.chosen.as_ref().map(|chosen| format(&chosen.format));
                let (index, name, problem) = (camera.index, &camera.name, &camera.problem);
                json!({ "index": index, "name": name, "formats": formats, "chosen": chosen, "problem": problem })
            })
            .collect();
        println!("{}", json!({ "cameras": cameras, "devices": devices::as_json(&found) }));
        return;
    }
    if cameras.is_empty() {
        println!("no cameras");
    }
    for camera in cameras {
        println!("camera {}: {}", camera.index, camera.name);
        for format in &camera.formats {
            let (name, size, fps) = format;
            let is_chosen = camera.chosen.as_ref().is_some_and(|chosen| chosen.format == *format);
            let mark = if is_chosen { "  <- is taken unless another is asked for" } else { "" };
            println!("  {name:6} {size} at {fps} frames a second{mark}");
        }
        if let Some(Chosen { why, .. }) = camera.chosen {
            println!("  {why}");
        }
        if let Some(problem) = camera.problem {
            println!("  {problem}");
        }
    }
    devices::print(&found);
}

/// Checks what sending needs, and a call, whose pictures go where `receiving` says; prints each outcome and what to do about it. A
/// failed check decides the exit code.
pub fn examine(
    config: &SenderConfig,
    spec: &SourceSpec,
    receiving: Option<&Receiving>,
    as_json: bool,
) -> Result<(), Failure> {
    let mut checks = doctor::shared(&config.shared);
    checks.push(match spec {
        SourceSpec::File { .. } => Check::of("source", file(config, spec)),
        _ => camera(spec),
    });
    if let Some(receiving) = receiving {
        let check = receiver::doctor::display(&receiving.config, &receiving.sinks);
        checks.push(match check.status {
            // Sending alone needs none.
            Status::Fail if !config.shared.share_port => {
                let advice =
                    "`sender call` shows the other side: start it on the desktop; sending alone needs no display";
                Check::new(check.name, Status::Warn, check.detail, Some(advice.to_owned()))
            }
            _ => check,
        });
    }
    checks.push(speed(config, spec)?);
    doctor::print(&checks, as_json)
}

/// Measures whether this machine codes the pictures that it is to send as fast as they come.
fn speed(config: &SenderConfig, spec: &SourceSpec) -> Result<Check, Failure> {
    let (size, frame_rate) = match (spec, planned(config, spec)) {
        (SourceSpec::File { path, .. }, _) if path.as_os_str() != "-" => match source::open(spec, config) {
            Ok(source) => (source.info().size, source.info().frame_rate),
            // Another line says why.
            Err(_) => asked(spec, config),
        },
        (_, Some(planned)) => planned,
        (_, None) => asked(spec, config),
    };
    let (chroma, colour, codec) = (config.chroma, ColourSpace::JPEG, config.codec);
    let params = StreamParams { frame_rate, colour, codec, ..StreamParams::new(size, chroma) };
    let does = if config.prediction != Prediction::Off { "codes without prediction" } else { "codes" };
    let measured = speed::coding(&config.shared, &params, config.rate.bytes_per_frame(frame_rate));
    Ok(speed::check(does, size, frame_rate, measured))
}

/// Fails if a run would end at once whatever network and devices do.
pub fn configured(config: &SenderConfig, spec: &SourceSpec) -> Result<(), Failure> {
    if config.shared.peers.is_empty() {
        return Err(Failure::usage(crate::run::NO_PEER));
    }
    doctor::configured(&config.shared)?;
    config.record.as_deref().map_or(Ok(()), doctor::recordable)?;
    file(config, spec).map(drop)
}

/// Reads the beginning of the file that `spec` names, if it names one. Standard input is left for a run.
fn file(config: &SenderConfig, spec: &SourceSpec) -> Result<String, Failure> {
    let SourceSpec::File { path, .. } = spec else { return Ok(String::new()) };
    if path.as_os_str() == "-" {
        return Ok("standard input".to_owned());
    }
    let info = source::open(spec, config)?.info();
    Ok(format!("{}: {} at {} frames a second", path.display(), info.size, info.frame_rate.as_f64()))
}

fn camera(spec: &SourceSpec) -> Check {
    let SourceSpec::Camera { index, .. } = spec else {
        return Check::new("source", Status::Ok, "no camera is asked for", None);
    };
    match cameras(None, None).into_iter().find(|camera| camera.index == *index) {
        Some(camera) => match camera.problem {
            None => Check::new("source", Status::Ok, format!("camera {index}: {}", camera.name), None),
            Some(problem) => {
                let advice = "close other programs that use it; add this user to the group video";
                Check::new("source", Status::Fail, format!("camera {index}: {problem}"), Some(advice.to_owned()))
            }
        },
        None => {
            let advice = "connect one, or use another source such as --source pattern";
            Check::new("source", Status::Fail, format!("there is no camera {index}"), Some(advice.to_owned()))
        }
    }
}

/// Returns size and rate of the pictures that a camera will give; none without it.
fn planned(config: &SenderConfig, spec: &SourceSpec) -> Option<(FrameSize, FrameRate)> {
    let SourceSpec::Camera { index, size, rate } = *spec else { return None };
    let found = cameras(size.or(config.size), rate.or(config.frame_rate));
    let (_, size, fps) = found.into_iter().find(|camera| camera.index == index)?.chosen?.format;
    Some((size, FrameRate::new(fps, 1)?))
}
