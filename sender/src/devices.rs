//! `devices` and `doctor`: what this machine has, and whether it is enough to send.

use common::config::SenderConfig;
use serde_json::json;
use shell::devices;
use shell::doctor::{self, Check, Status};
use shell::exit::Failure;

use crate::source::{self, SourceSpec, cameras};

/// Lists cameras with their formats, and the devices that can encode.
pub fn print_devices(as_json: bool) {
    let (cameras, found) = (cameras(), kernels::devices());
    if as_json {
        let cameras: Vec<_> = cameras
            .iter()
            .map(|camera| {
                let format = |(name, size, fps): &(String, picture::frame::FrameSize, u32)| {
                    json!({ "format": name, "width": size.width(), "height": size.height(), "fps": fps })
                };
                let formats: Vec<_> = camera.formats.iter().map(format).collect();
                json!({ "index": camera.index, "name": camera.name, "formats": formats, "problem": camera.problem })
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
        for (name, size, fps) in &camera.formats {
            println!("  {name:6} {size} at {fps} frames a second");
        }
        if let Some(problem) = camera.problem {
            println!("  {problem}");
        }
    }
    devices::print(&found);
}

/// Checks what sending needs, prints each outcome and what to do about it; a failed check decides the exit code.
pub fn examine(config: &SenderConfig, spec: &SourceSpec, as_json: bool) -> Result<(), Failure> {
    let mut checks = doctor::shared(&config.shared);
    checks.push(match spec {
        SourceSpec::File { .. } => Check::of("source", file(config, spec)),
        _ => camera(spec),
    });
    doctor::print(&checks, as_json)
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
    match cameras().into_iter().find(|camera| camera.index == *index) {
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
